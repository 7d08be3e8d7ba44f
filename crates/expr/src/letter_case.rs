//! Converts characters to upper and lower case by Unicode's simple (one to one) mappings of version 9.0, the version
//! of MySQL's collations.

/// Returns the character in upper case.
pub(crate) fn to_upper(c: char) -> char {
    let c32 = u32::from(c);
    match c32 {
        // Where the full mapping is two letters, the simple one is the title case letter, with the iota below.
        0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7 => shifted(c, 8),
        0x1fb3 | 0x1fc3 | 0x1ff3 => shifted(c, 9),
        _ => simple(c, c.to_uppercase()),
    }
}

/// Returns the character in lower case.
pub(crate) fn to_lower(c: char) -> char {
    // The full mapping keeps a separate dot.
    if c == 'İ' { 'i' } else { simple(c, c.to_lowercase()) }
}

fn shifted(c: char, by: u32) -> char {
    char::from_u32(u32::from(c) + by).unwrap_or(c)
}

fn simple(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    match (mapped.len(), mapped.next()) {
        (1, Some(other)) if !is_newer(c) && !is_newer(other) => other,
        _ => c,
    }
}

/// Whether the character got its pair after version 9.0.
fn is_newer(c: char) -> bool {
    matches!(u32::from(c),
        0x1c89..=0x1c8a | 0x1c90..=0x1cbf | 0x2c2f | 0x2c5f | 0xa7b8..=0xa7f6
        | 0x1_0570..=0x1_05bf | 0x1_0d50..=0x1_0d8f | 0x1_6e40..=0x1_6edf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_change_one_to_one() {
        let upper = |text: &str| text.chars().map(to_upper).collect::<String>();
        let lower = |text: &str| text.chars().map(to_lower).collect::<String>();
        assert_eq!(upper("aßéïıſŉǆǅᾀᾗᾳῃῳﬁ𐐨"), "AßÉÏISŉǄǄᾈᾟᾼῌῼﬁ𐐀");
        assert_eq!(lower("AẞÉİIΣǄǅᾈᾼ𐐀K"), "aßéiiσǆǆᾀᾳ𐐨k");
        // Georgian, Medefaidrin, and Latin letters of later versions.
        assert_eq!(upper("აꟃ\u{16e60}ɂʂ"), "აꟃ\u{16e60}Ɂʂ");
        assert_eq!(lower("ᲐꟂ\u{16e40}Ɂ"), "ᲐꟂ\u{16e40}ɂ");
        // Cherokee has both cases since version 8.
        assert_eq!((upper("ꭰ"), lower("Ꭰ")), ("Ꭰ".into(), "ꭰ".into()));
    }
}
