//! Points in time, read from text; never from a clock.

/// Seconds since 1970-01-01 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub i64);

impl Instant {
    /// `2026-01-31T08:00:00Z`, with a fraction or an offset if need be; without an offset it is UTC. None for anything else.
    pub fn parse(text: &str) -> Option<Instant> {
        let text = text.trim();
        let (date, time) = text.split_once(['T', ' '])?;
        let mut parts = date.splitn(3, '-').map(number);
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        let cut = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(cut);
        let clock = clock.split_once(['.', ',']).map_or(clock, |(whole, _)| whole);
        let mut parts = clock.splitn(3, ':').map(number);
        let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
        let in_range = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !in_range {
            return None;
        }
        let days = days_since_epoch(year, month, day);
        Some(Instant(days * 86_400 + hour * 3_600 + minute * 60 + second - offset(zone)?))
    }

    pub fn minutes_since(self, earlier: Instant) -> i64 {
        (self.0 - earlier.0).div_euclid(60)
    }
}

fn number(digits: &str) -> Option<i64> {
    let plain = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = (number(digits.get(..2)?)?, if digits.len() > 2 { number(digits.get(2..)?)? } else { 0 });
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Days of the proleptic Gregorian calendar, counted in years that begin in March, so that a leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_utc() {
        assert_eq!(Instant::parse("1970-01-01T00:00:00Z"), Some(Instant(0)));
        assert_eq!(Instant::parse("2000-02-29T12:00:00.25Z"), Some(Instant(951_825_600)));
        assert_eq!(Instant::parse("2026-01-31T10:00:00+02:00"), Instant::parse("2026-01-31T08:00:00"));
        assert_eq!(Instant::parse("2026-01-31 03:30:00-0430"), Instant::parse("2026-01-31T08:00:00Z"));
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in [
            "",
            "now",
            "2026-01-31",
            "2026-13-01T00:00:00Z",
            "2026-01-31T25:00:00Z",
            "2026-01-31T08:00:00+é",
            "T",
            "2026-01-31T08:00:00+9",
        ] {
            assert_eq!(Instant::parse(text), None, "{text}");
        }
    }
}
