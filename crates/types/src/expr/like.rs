//! LIKE: `%` is any text, `_` any one character, all else itself, or a character of the same weights under the collation. As
//! characters are compared one by one, `ß` is not LIKE `ss` where it is equal to it. Trailing spaces count under every
//! collation.
//!
//! A pattern is cut at its `%` into segments without one. The first must begin the text, the last end it, the others
//! follow each other anywhere between; taking the leftmost place for each is enough.

use crate::collation::Collation;

/// A LIKE pattern made ready for matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikePattern {
    segments: Vec<Segment>,
    compare: Comparison,
}

/// How characters are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// A character is a byte: of binary strings.
    Bytes,
    /// By their bytes.
    Characters,
    /// By the weights of this collation.
    Weights(Collation),
}

/// A piece of a pattern without `%`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Segment {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// These bytes.
    Text(Vec<u8>),
    /// So many characters.
    Any(usize),
}

impl LikePattern {
    /// From the text of a pattern. An escape character makes the next one itself; the last of a pattern is itself.
    pub fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> Self {
        let compare = match collation {
            Collation::Binary => Comparison::Bytes,
            weighted if weighted.is_weighted() => Comparison::Weights(weighted),
            _ => Comparison::Characters,
        };
        let bytewise = compare == Comparison::Bytes;
        let mut segments = vec![Segment::default()];
        let mut rest = pattern;
        let mut escape_bytes = [0; 4];
        let escape = escape.map(|c| c.encode_utf8(&mut escape_bytes).as_bytes());
        while !rest.is_empty() {
            let (mut character, after) = rest.split_at(first_len(rest, bytewise));
            rest = after;
            let escaped = Some(character) == escape && !rest.is_empty();
            if escaped {
                (character, rest) = rest.split_at(first_len(rest, bytewise));
            }
            let last = segments.len() - 1;
            match character {
                b"%" if !escaped => segments.push(Segment::default()),
                b"_" if !escaped => segments[last].push_any(),
                _ => segments[last].push_text(character),
            }
        }
        LikePattern { segments, compare }
    }

    /// Whether a text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let [first, middle @ .., last] = self.segments.as_slice() else {
            return self.segments[0].match_at(text, self.compare) == Some(text.len());
        };
        let Some(mut at) = first.match_at(text, self.compare) else { return false };
        for segment in middle {
            match segment.find(text, at, self.compare) {
                Some(end) => at = end,
                None => return false,
            }
        }
        last.ends(&text[at..], self.compare)
    }

    /// The bytes with which every text that matches begins, and whether those are all there is to match: the
    /// pattern has no wildcard.
    pub fn literal_prefix(&self) -> (&[u8], bool) {
        let prefix: &[u8] = match self.segments[0].items.first() {
            Some(Item::Text(text)) => text,
            _ => &[],
        };
        let only_text = matches!(self.segments[0].items.as_slice(), [] | [Item::Text(_)]);
        (prefix, only_text && self.segments.len() == 1)
    }

    /// Whether it is a text and then `%`.
    pub fn is_prefix(&self) -> bool {
        match self.segments.as_slice() {
            [first, rest @ ..] => {
                !rest.is_empty()
                    && rest.iter().all(|segment| segment.items.is_empty())
                    && matches!(first.items.as_slice(), [] | [Item::Text(_)])
            }
            [] => false,
        }
    }
}

/// How much of the start of `text` the characters of `expected` are, if they are there.
#[inline]
fn match_text(text: &[u8], expected: &[u8], compare: Comparison) -> Option<usize> {
    let Comparison::Weights(collation) = compare else {
        return text.starts_with(expected).then_some(expected.len());
    };
    let (mut rest, mut wanted) = (text, expected);
    while !wanted.is_empty() {
        if rest.is_empty() {
            return None;
        }
        let (character, after) = rest.split_at(first_len(rest, false));
        let (other, left) = wanted.split_at(first_len(wanted, false));
        if !collation.same_character(character, other) {
            return None;
        }
        (rest, wanted) = (after, left);
    }
    Some(text.len() - rest.len())
}

/// The length of the first character of a text that is not empty.
fn first_len(text: &[u8], bytewise: bool) -> usize {
    if bytewise {
        return 1;
    }
    1 + text[1..].iter().take_while(|&&b| b & 0xC0 == 0x80).count()
}

impl Segment {
    fn push_any(&mut self) {
        match self.items.last_mut() {
            Some(Item::Any(n)) => *n += 1,
            _ => self.items.push(Item::Any(1)),
        }
    }

    fn push_text(&mut self, character: &[u8]) {
        match self.items.last_mut() {
            Some(Item::Text(text)) => text.extend_from_slice(character),
            _ => self.items.push(Item::Text(character.to_vec())),
        }
    }

    /// Where the segment ends if it begins at the start of `text`.
    #[inline]
    fn match_at(&self, text: &[u8], compare: Comparison) -> Option<usize> {
        let mut at = 0;
        for item in &self.items {
            match item {
                Item::Text(expected) => {
                    at += match_text(&text[at..], expected, compare)?;
                }
                Item::Any(count) => {
                    for _ in 0..*count {
                        if at == text.len() {
                            return None;
                        }
                        at += first_len(&text[at..], compare == Comparison::Bytes);
                    }
                }
            }
        }
        Some(at)
    }

    /// Where the leftmost occurrence at or after `from` ends.
    fn find(&self, text: &[u8], from: usize, compare: Comparison) -> Option<usize> {
        let mut at = from;
        loop {
            if let (Some(Item::Text(head)), Comparison::Bytes | Comparison::Characters) =
                (self.items.first(), compare)
            {
                at += find_bytes(&text[at..], head)?;
            }
            if let Some(len) = self.match_at(&text[at..], compare) {
                return Some(at + len);
            }
            if at == text.len() {
                return None;
            }
            at += first_len(&text[at..], compare == Comparison::Bytes);
        }
    }

    /// Whether it is the end of `text`.
    fn ends(&self, text: &[u8], compare: Comparison) -> bool {
        match self.items.as_slice() {
            [] => true,
            [Item::Text(tail)] if !matches!(compare, Comparison::Weights(_)) => text.ends_with(tail),
            _ => {
                let mut at = 0;
                loop {
                    if self.match_at(&text[at..], compare) == Some(text.len() - at) {
                        return true;
                    }
                    if at == text.len() {
                        return false;
                    }
                    at += first_len(&text[at..], compare == Comparison::Bytes);
                }
            }
        }
    }
}

/// Where `needle` first occurs; the empty one at once.
pub(crate) fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    let Some((&first, rest)) = needle.split_first() else { return Some(0) };
    let mut at = 0;
    loop {
        at += text.get(at..)?.iter().position(|&b| b == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern.as_bytes(), Some('\\'), Collation::Utf8mb4Bin).matches(text.as_bytes())
    }

    #[test]
    fn wildcards_match_as_in_mysql() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("a", "a", true),
            ("a ", "a", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a__c", false),
            ("abc", "%%%c%", true),
            ("abc", "_%_%_", true),
            ("ab", "_%_%_", false),
            ("aéc", "a_c", true),
            ("aéc", "a__c", false),
            ("aab", "%ab", true),
            ("aab", "a%ab", true),
            ("ab", "ab%ab", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("a\\", "a\\", true),
            ("a_", "a\\_", true),
            ("xaxbxc", "%a%b%c", true),
            ("xaxbxcx", "%a%b%c", false),
            ("éé", "%_é", true),
            ("mississippi", "%iss%ip_i", true),
        ] {
            assert_eq!(like(text, pattern), expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn bytes_are_characters_of_binary_strings() {
        let p = LikePattern::new(b"a__c", None, Collation::Binary);
        assert!(p.matches("aéc".as_bytes()));
    }

    #[test]
    fn characters_of_the_same_weights_match() {
        for (collation, text, pattern, expected) in [
            (Collation::Utf8mb4_0900AiCi, "Ábc", "aBC", true),
            (Collation::Utf8mb4_0900AiCi, "xÁbcy", "%ab%Y", true),
            (Collation::Utf8mb4_0900AiCi, "strasse", "straße", false),
            (Collation::Utf8mb4_0900AiCi, "STRAßE", "stra_e", true),
            (Collation::Utf8mb4_0900AiCi, "a ", "a", false),
            (Collation::Utf8mb4_0900AsCi, "é", "e", false),
            (Collation::Utf8mb4_0900AsCs, "É", "é", false),
            (Collation::Utf8mb4GeneralCi, "ß", "S", true),
            (Collation::Utf8mb4GeneralCi, "a ", "A", false),
            (Collation::Utf8mb4GeneralCi, "éa", "%É_", true),
            (Collation::Utf8mb4GeneralCi, "😀", "😁", true),
            (Collation::Utf8mb4UnicodeCi, "😀", "😁", false),
            (Collation::Latin1SwedishCi, "über", "Y%", true),
        ] {
            let p = LikePattern::new(pattern.as_bytes(), Some('\\'), collation);
            assert_eq!(p.matches(text.as_bytes()), expected, "{collation}: {text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn escape_may_be_any_character_or_none() {
        let p = LikePattern::new("a|%|é".as_bytes(), Some('|'), Collation::Utf8mb4Bin);
        assert!(p.matches("a%é".as_bytes()) && !p.matches("axé".as_bytes()));
        let p = LikePattern::new("aé%".as_bytes(), Some('é'), Collation::Utf8mb4Bin);
        assert!(p.matches(b"a%") && !p.matches(b"ab"));
        let p = LikePattern::new(b"a\\%", None, Collation::Utf8mb4Bin);
        assert!(p.matches(b"a\\bc") && !p.matches(b"a%"));
    }

    #[test]
    fn prefix_ends_at_the_first_wildcard() {
        let prefix = |p: &str| {
            let p = LikePattern::new(p.as_bytes(), Some('\\'), Collation::Utf8mb4Bin);
            let (prefix, whole) = p.literal_prefix();
            (String::from_utf8(prefix.to_vec()).unwrap(), whole)
        };
        assert_eq!(prefix("ab%c"), ("ab".into(), false));
        assert_eq!(prefix("a_c"), ("a".into(), false));
        assert_eq!(prefix("a\\_c"), ("a_c".into(), true));
        assert_eq!(prefix("%"), (String::new(), false));
        assert_eq!(prefix(""), (String::new(), true));
    }
}
