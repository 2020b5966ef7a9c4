//! The run's time as templates see it. Computed from the request: nothing here reads a clock.

/// `now` (`2026-01-31T08:00:00Z`) in a strftime format. Directives without a meaning here stay as they are.
pub(crate) fn strftime(format: &str, now: &str) -> String {
    let part = |from: usize, to: usize| now.get(from..to).unwrap_or("00");
    let mut text = String::with_capacity(format.len() + 8);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => text.push_str(part(0, 4)),
            Some('y') => text.push_str(part(2, 4)),
            Some('m') => text.push_str(part(5, 7)),
            Some('d') => text.push_str(part(8, 10)),
            Some('H') => text.push_str(part(11, 13)),
            Some('M') => text.push_str(part(14, 16)),
            Some('S') => text.push_str(part(17, 19)),
            Some('f') => text.push_str("000000"),
            Some('F') => text.push_str(part(0, 10)),
            Some('T') => text.push_str(part(11, 19)),
            Some('j') => text.push_str(&day_of_year(now)),
            Some('Z') => text.push_str("UTC"),
            Some('z') => text.push_str("+0000"),
            Some('%') | None => text.push('%'),
            Some(other) => {
                text.push('%');
                text.push(other);
            }
        }
    }
    text
}

fn day_of_year(now: &str) -> String {
    let number = |from, to| now.get(from..to).and_then(|s: &str| s.parse::<u32>().ok()).unwrap_or_default();
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let months = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: u32 = months.iter().take(month.saturating_sub(1) as usize).sum();
    format!("{:03}", before + day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_directives() {
        let now = "2024-03-01T08:09:10Z";
        assert_eq!(strftime("%Y%m%d_%H%M%S", now), "20240301_080910");
        assert_eq!(strftime("%y-%j %F %T 100%% %Q%", now), "24-061 2024-03-01 08:09:10 100% %Q%");
        assert_eq!(strftime("%Y", ""), "00");
    }
}
