//! Ages from run ids and ISO times, without a clock.

const DAY: i64 = 24 * 60 * 60;

/// Seconds since 1970 of `2026-01-31T08:00:00Z` or of a run id (`2026_01_31t08_00_00_000001`; the fraction may be missing); both in UTC.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let numbers: Vec<i64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map_while(|part| part.parse().ok())
        .take(6)
        .collect();
    let &[year, month, day, hour, minute, second] = numbers.as_slice() else { return None };
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    in_range.then(|| days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// Whole days between two times, when both can be read.
pub(crate) fn days_between(earlier: &str, later: &str) -> Option<i64> {
    Some((seconds(later)? - seconds(earlier)?).div_euclid(DAY))
}

/// Days since 1970-01-01 in the Gregorian calendar; the year is counted from March so that the leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_and_iso_times_measure_the_same() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-03-01T00:00:01Z"), Some(951_868_801));
        assert_eq!(seconds("2026_01_31t08_00_00_000001"), seconds("2026-01-31T08:00:00Z"));
        assert_eq!(seconds("2026_01_31t08_00_00"), seconds("2026-01-31T08:00:00Z"), "a run id that lost its fraction");
        assert_eq!(days_between("2026_01_31t08_00_00_000001", "2026-03-02T07:59:59Z"), Some(29));
        assert_eq!(days_between("2026_01_31t08_00_00_000001", "2026-03-02T08:00:00Z"), Some(30));
        assert_eq!(seconds("R1"), None);
        assert_eq!(seconds("99999999999999999999_1_1t1_1_1"), None);
    }
}
