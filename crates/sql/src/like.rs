//! Patterns of SHOW .. LIKE and of the names of hosts and databases in grants.

/// Matches `text` with a pattern of SHOW: without case; `\` escapes.
pub(crate) fn like(text: &str, pattern: &str) -> bool {
    like_exactly(&text.to_lowercase(), &pattern.to_lowercase())
}

/// Matches `text` with a pattern character by character; `\` escapes.
pub(crate) fn like_exactly(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    // Position for the next attempt after a mismatch: after the last `%`, which takes one more character.
    let (mut t, mut p, mut resume) = (0, 0, None);
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('%') => {
                resume = Some((t, p + 1));
                p += 1;
                continue;
            }
            Some('_') => 1,
            Some('\\') if p + 1 < pattern.len() => 2 * usize::from(pattern.get(p + 1) == text.get(t)),
            literal => usize::from(literal == text.get(t)),
        };
        match (step, resume) {
            (0, None) => return false,
            (0, Some((from, after))) => {
                resume = Some((from + 1, after));
                (t, p) = (from + 1, after);
            }
            (step, _) => (t, p) = (t + 1, p + step),
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|&c| c == '%')
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn patterns_match_as_in_mysql() {
        for (value, pattern) in [
            ("Handler_read_key", "handler%"),
            ("abc", "abc"),
            ("abc", "a_c"),
            ("", "%"),
            ("aXbXc", "%x%c"),
            ("a_b", r"a\_b"),
            ("aab", "%ab"),
            (r"a\", r"a\"),
        ] {
            assert!(like(value, pattern), "{value} LIKE {pattern}");
        }
        for (value, pattern) in
            [("abc", "ab"), ("abc", "a_"), ("", "_"), ("axb", r"a\_b"), ("abc", ""), ("aXb", "%x")]
        {
            assert!(!like(value, pattern), "{value} NOT LIKE {pattern}");
        }
    }
}
