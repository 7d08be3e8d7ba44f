//! Time zones: distances from UTC. Names of zones would need tables that are not there.

/// The most minutes west and east of UTC.
const RANGE: std::ops::RangeInclusive<i32> = -839..=840;

/// The minutes ahead of UTC that `[+|-]hh:mm` says, between -13:59 and +14:00. None for anything else.
pub fn parse_offset(text: &str) -> Option<i32> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'+') => (false, &text[1..]),
        Some(b'-') => (true, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits =
        |s: &str, most: usize| (1..=most).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours, 2) || !digits(minutes, 2) {
        return None;
    }
    let hours: i32 = hours.parse().ok()?;
    let minutes: i32 = minutes.parse().ok()?;
    let total = if negative { -(hours * 60 + minutes) } else { hours * 60 + minutes };
    (minutes <= 59 && RANGE.contains(&total)).then_some(total)
}
