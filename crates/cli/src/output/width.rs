//! Computes how many columns of a terminal a text takes.
//!
//! Two: East Asian scripts, full-width forms and emoji (the blocks of Unicode's EastAsianWidth W and F, whole). None:
//! combining marks, joiners, variation selectors. One: everything else. Terminals agree on this much.

/// Blocks whose characters take two columns, ascending.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115F),
    (0x231A, 0x231B),
    (0x23E9, 0x23EC),
    (0x2E80, 0x303E),
    (0x3041, 0x33FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA000, 0xA4CF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE6F),
    (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x17000, 0x18DFF),
    (0x1B000, 0x1B2FF),
    (0x1F300, 0x1F64F),
    (0x1F680, 0x1F6FF),
    (0x1F900, 0x1F9FF),
    (0x1FA70, 0x1FAFF),
    (0x20000, 0x3FFFD),
];

/// Ranges of characters that take no column, ascending.
const ZERO: &[(u32, u32)] = &[
    (0x0300, 0x036F),
    (0x0483, 0x0489),
    (0x0591, 0x05BD),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x093A, 0x093A),
    (0x093C, 0x093C),
    (0x0941, 0x0948),
    (0x094D, 0x094D),
    (0x0E31, 0x0E31),
    (0x0E34, 0x0E3A),
    (0x0E47, 0x0E4E),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x200B, 0x200F),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xE0100, 0xE01EF),
];

/// Returns how many columns `text`, which has no control characters, takes.
pub fn display_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char_width).sum() }
}

fn char_width(c: char) -> usize {
    if within(c, ZERO) {
        0
    } else if within(c, WIDE) {
        2
    } else {
        1
    }
}

fn within(c: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(c);
    let after = ranges.partition_point(|(first, _)| *first <= code);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| code <= *last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_measured() {
        for (text, width) in [
            ("", 0),
            ("abc", 3),
            ("é", 1),
            ("e\u{301}", 1),
            ("日本語", 6),
            ("한글", 4),
            ("Ａ", 2),
            ("🚀", 2),
            ("ｱ", 1),
        ] {
            assert_eq!(display_width(text), width, "{text}");
        }
    }

    #[test]
    fn ranges_ascend() {
        for table in [WIDE, ZERO] {
            assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].0) && table.iter().all(|(a, b)| a <= b));
        }
    }
}
