//! LIKE: `%` matches any text, `_` any one character; any other character matches itself, or a character with the
//! same weights under the collation. Because characters are compared one by one, `ß` is not LIKE `ss` although it may
//! equal it. Trailing spaces count under every collation.
//!
//! A pattern is split at its `%` into segments. The first must begin the text, the last end it, and the others follow
//! each other anywhere between; taking the leftmost place for each is enough. A segment matches a fixed number of
//! characters, so that the last one is compared at one place only. Finding the others takes time proportional to the
//! text, except for segments with `_` between other characters, which may take that time for each character of the
//! segment.

use std::convert::Infallible;

use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::statement::{CancelTicker, CancelToken};

/// Texts of up to this many characters are compared at each place: a table of their repeats would not pay.
const FEW: usize = 32;

/// Bytes that are examined between two checks for cancellation.
const BYTES_BETWEEN_CHECKS: usize = 1 << 18;

/// An upper bound for the memory of a compiled pattern, in bytes for each byte of the pattern.
const READY_BYTES: usize = 100;

/// A compiled LIKE pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikePattern {
    segments: Vec<Segment>,
    compare: Comparison,
}

/// The comparison of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// Characters of a binary string are bytes.
    Bytes,
    /// Characters compare by their bytes.
    Characters,
    /// Characters compare by the weights of this collation.
    Weights(Collation),
}

/// A piece of a pattern without `%`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Segment {
    items: Vec<Item>,
    /// The number of characters it matches.
    characters: usize,
    /// The search for its only text, if that is long and compared by weights.
    repeats: Option<Repeats>,
    /// The places where its first text can begin, if that is compared by weights.
    starts: Option<Starts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// These bytes.
    Text(Vec<u8>),
    /// This many characters.
    Any(usize),
}

/// The table of Knuth, Morris and Pratt for a text: where its characters begin, and the end; and for each character,
/// how many characters ending with it are also the first of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Repeats {
    begins: Vec<u32>,
    repeated: Vec<u32>,
}

/// For each byte, whether it begins a character that may equal the first of a text: the ASCII characters that do, and
/// the first bytes of all longer characters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Starts(Box<[bool; 256]>);

impl LikePattern {
    /// Asks for the memory that compiling a long pattern takes.
    ///
    /// # Errors
    /// 1041 if it is lacking.
    pub(crate) fn room_for(pattern: &[u8]) -> Result<(), MysqlError> {
        room_for(pattern.len().saturating_mul(READY_BYTES))
    }

    /// Compiles a pattern. An escape character makes the next one literal; at the end of a pattern it stands for
    /// itself.
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
                // Several `%` in a row are as one.
                b"%" if !escaped && last > 0 && segments[last].items.is_empty() => {}
                b"%" if !escaped => segments.push(Segment::default()),
                b"_" if !escaped => segments[last].push_any(),
                _ => segments[last].push_text(character),
            }
        }
        if let Comparison::Weights(collation) = compare
            && let [_, middle @ .., _] = segments.as_mut_slice()
        {
            middle.iter_mut().for_each(|segment| segment.prepare(collation));
        }
        LikePattern { segments, compare }
    }

    /// Whether a text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let Ok(matched) = self.run(text, &mut |_| Ok::<(), Infallible>(()));
        matched
    }

    /// Whether a text of any length matches.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end.
    pub fn matches_unless(&self, text: &[u8], cancel: &CancelToken) -> Result<bool, MysqlError> {
        let mut steps = CancelTicker::new(cancel, BYTES_BETWEEN_CHECKS);
        self.run(text, &mut |bytes| steps.take(bytes))
    }

    /// Whether a text matches; passes the numbers of examined bytes to `tick`.
    fn run<E>(&self, text: &[u8], tick: &mut impl FnMut(usize) -> Result<(), E>) -> Result<bool, E> {
        let [first, middle @ .., last] = self.segments.as_slice() else {
            return Ok(self.segments[0].match_at(text, self.compare, tick)? == Some(text.len()));
        };
        let Some(mut at) = first.match_at(text, self.compare, tick)? else { return Ok(false) };
        for segment in middle {
            match segment.find(&text[at..], self.compare, tick)? {
                Some(end) => at += end,
                None => return Ok(false),
            }
        }
        last.ends(&text[at..], self.compare, tick)
    }

    /// Returns the bytes with which every matching text begins, and whether the pattern has no wildcard, so that only
    /// these bytes match.
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

/// Returns how many bytes at the start of `text` match the characters of `expected`; None if they do not match.
#[inline]
fn match_text<E>(
    text: &[u8],
    expected: &[u8],
    compare: Comparison,
    tick: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<usize>, E> {
    let Comparison::Weights(collation) = compare else {
        return Ok(text.starts_with(expected).then_some(expected.len()));
    };
    let (mut rest, mut wanted) = (text, expected);
    while !wanted.is_empty() {
        if rest.is_empty() {
            return Ok(None);
        }
        let (character, after) = rest.split_at(first_len(rest, false));
        let (other, left) = wanted.split_at(first_len(wanted, false));
        if !collation.same_character(character, other) {
            return Ok(None);
        }
        tick(character.len())?;
        (rest, wanted) = (after, left);
    }
    Ok(Some(text.len() - rest.len()))
}

/// Returns the length of the first character of a text that is not empty.
fn first_len(text: &[u8], bytewise: bool) -> usize {
    if bytewise {
        return 1;
    }
    1 + text[1..].iter().take_while(|&&b| b & 0xC0 == 0x80).count()
}

/// Returns the length of the first `characters` characters; None if there are fewer.
fn len_of(text: &[u8], characters: usize, compare: Comparison) -> Option<usize> {
    if compare == Comparison::Bytes {
        return (characters <= text.len()).then_some(characters);
    }
    let mut at = 0;
    for _ in 0..characters {
        if at == text.len() {
            return None;
        }
        at += first_len(&text[at..], false);
    }
    Some(at)
}

/// Returns where the last `characters` characters begin; None if there are fewer.
fn start_of_last(text: &[u8], characters: usize, compare: Comparison) -> Option<usize> {
    if compare == Comparison::Bytes {
        return text.len().checked_sub(characters);
    }
    let mut at = text.len();
    for _ in 0..characters {
        at = text[..at].iter().rposition(|&b| b & 0xC0 != 0x80)?;
    }
    Some(at)
}

impl Segment {
    fn push_any(&mut self) {
        self.characters += 1;
        match self.items.last_mut() {
            Some(Item::Any(n)) => *n += 1,
            _ => self.items.push(Item::Any(1)),
        }
    }

    fn push_text(&mut self, character: &[u8]) {
        self.characters += 1;
        match self.items.last_mut() {
            Some(Item::Text(text)) => text.extend_from_slice(character),
            _ => self.items.push(Item::Text(character.to_vec())),
        }
    }

    /// Prepares the segment for searches under a collation with weights.
    fn prepare(&mut self, collation: Collation) {
        let (_, items, _) = self.parts();
        let [Item::Text(text), rest @ ..] = items else { return };
        let repeats =
            if rest.is_empty() && self.characters > FEW { Repeats::of(text, collation) } else { None };
        self.starts = Some(Starts::of(text, collation));
        self.repeats = repeats;
    }

    /// Splits the segment into the characters before the first text, the items from the first text to the last, and
    /// the characters behind it.
    fn parts(&self) -> (usize, &[Item], usize) {
        let (before, rest) = match self.items.as_slice() {
            [Item::Any(count), rest @ ..] => (*count, rest),
            items => (0, items),
        };
        match rest {
            [rest @ .., Item::Any(count)] => (before, rest, *count),
            rest => (before, rest, 0),
        }
    }

    /// Returns where the segment ends if it begins at the start of `text`.
    #[inline]
    fn match_at<E>(
        &self,
        text: &[u8],
        compare: Comparison,
        tick: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        match_items(&self.items, text, compare, tick)
    }

    /// Returns where the leftmost occurrence ends.
    fn find<E>(
        &self,
        text: &[u8],
        compare: Comparison,
        tick: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let (before, items, behind) = self.parts();
        let Some(begin) = len_of(text, before, compare) else { return Ok(None) };
        tick(begin)?;
        let found = match (items, compare, &self.repeats) {
            ([], ..) => Some(0),
            ([Item::Text(wanted)], Comparison::Bytes | Comparison::Characters, _) => {
                let place = find_bytes(&text[begin..], wanted);
                tick(place.unwrap_or(text.len()))?;
                place.map(|place| place + wanted.len())
            }
            ([Item::Text(wanted)], Comparison::Weights(collation), Some(repeats)) => {
                repeats.find(&text[begin..], wanted, collation, tick)?
            }
            _ => find_items((items, self.starts.as_ref()), &text[begin..], compare, tick)?,
        };
        let Some(end) = found.map(|len| begin + len) else { return Ok(None) };
        Ok(len_of(&text[end..], behind, compare).map(|len| end + len))
    }

    /// Whether the segment matches the end of `text`.
    fn ends<E>(
        &self,
        text: &[u8],
        compare: Comparison,
        tick: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        match start_of_last(text, self.characters, compare) {
            Some(start) => Ok(self.match_at(&text[start..], compare, tick)? == Some(text.len() - start)),
            None => Ok(false),
        }
    }
}

/// Returns where the items end if they begin at the start of `text`.
#[inline]
fn match_items<E>(
    items: &[Item],
    text: &[u8],
    compare: Comparison,
    tick: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<usize>, E> {
    let mut at = 0;
    for item in items {
        let len = match item {
            Item::Text(expected) => match_text(&text[at..], expected, compare, tick)?,
            Item::Any(count) => len_of(&text[at..], *count, compare),
        };
        let Some(len) = len else { return Ok(None) };
        at += len;
    }
    tick(at)?;
    Ok(Some(at))
}

/// Returns where the leftmost occurrence of the items ends. The first item is a text; each place where it can begin
/// is tried.
fn find_items<E>(
    (items, starts): (&[Item], Option<&Starts>),
    text: &[u8],
    compare: Comparison,
    tick: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<usize>, E> {
    let mut at = 0;
    loop {
        let place = match (items, compare, starts) {
            ([Item::Text(head), ..], Comparison::Bytes | Comparison::Characters, _) => {
                find_bytes(&text[at..], head)
            }
            (_, _, Some(starts)) => starts.find(&text[at..]),
            _ => Some(0),
        };
        let Some(place) = place else { return Ok(None) };
        tick(place)?;
        at += place;
        if let Some(len) = match_items(items, &text[at..], compare, tick)? {
            return Ok(Some(at + len));
        }
        if at == text.len() {
            return Ok(None);
        }
        let len = first_len(&text[at..], compare == Comparison::Bytes);
        tick(len)?;
        at += len;
    }
}

impl Starts {
    fn of(text: &[u8], collation: Collation) -> Starts {
        let first = &text[..first_len(text, false)];
        Starts(Box::new(std::array::from_fn(|byte| match byte as u8 {
            ascii @ 0..0x80 => collation.same_character(&[ascii], first),
            0x80..0xc0 => false,
            0xc0.. => true,
        })))
    }

    /// Returns the first place where the text can begin.
    fn find(&self, text: &[u8]) -> Option<usize> {
        text.iter().position(|byte| self.0[usize::from(*byte)])
    }
}

impl Repeats {
    /// Makes the table; `None` for a text that is too long.
    fn of(text: &[u8], collation: Collation) -> Option<Repeats> {
        let mut begins = vec![0];
        let mut at = 0;
        while at < text.len() {
            at += first_len(&text[at..], false);
            begins.push(u32::try_from(at).ok()?);
        }
        let mut repeats = Repeats { begins, repeated: vec![0] };
        let mut matched = 0;
        for number in 1..repeats.begins.len() - 1 {
            matched = repeats.next(matched, repeats.character(text, number), text, collation);
            repeats.repeated.push(matched as u32);
        }
        Some(repeats)
    }

    fn character<'t>(&self, text: &'t [u8], number: usize) -> &'t [u8] {
        &text[self.begins[number] as usize..self.begins[number + 1] as usize]
    }

    /// Returns how many of the first characters of `wanted` match after `character`, if `matched` (but not all) did
    /// before it.
    fn next(&self, mut matched: usize, character: &[u8], wanted: &[u8], collation: Collation) -> usize {
        while !collation.same_character(character, self.character(wanted, matched)) {
            if matched == 0 {
                return 0;
            }
            matched = self.repeated[matched - 1] as usize;
        }
        matched + 1
    }

    /// Returns where `wanted`, whose table this is, first ends.
    fn find<E>(
        &self,
        text: &[u8],
        wanted: &[u8],
        collation: Collation,
        tick: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let (mut at, mut matched) = (0, 0);
        while matched < self.repeated.len() {
            if at == text.len() {
                return Ok(None);
            }
            let len = first_len(&text[at..], false);
            matched = self.next(matched, &text[at..at + len], wanted, collation);
            at += len;
            tick(len)?;
        }
        Ok(Some(at))
    }
}

/// Returns where `needle` first occurs, in time proportional to the text; at once for the empty one.
pub(crate) fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, needle)
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

    /// Matches by the definition, without optimizations.
    fn slowly(text: &[&str], pattern: &[&str], same: &dyn Fn(&str, &str) -> bool) -> bool {
        match (text, pattern) {
            (text, ["%", rest @ ..]) => (0..=text.len()).any(|at| slowly(&text[at..], rest, same)),
            ([_, text @ ..], ["_", pattern @ ..]) => slowly(text, pattern, same),
            ([a, text @ ..], [b, pattern @ ..]) => same(a, b) && slowly(text, pattern, same),
            (text, pattern) => text.is_empty() && pattern.is_empty(),
        }
    }

    #[test]
    fn random_patterns_match_what_they_mean() {
        use rand::Rng;
        use rand::seq::IndexedRandom;
        let mut rng = crate::testing::rng("random_patterns_match_what_they_mean");
        let collations = [
            Collation::Utf8mb4Bin,
            Collation::Utf8mb4_0900AiCi,
            Collation::Utf8mb4GeneralCi,
            Collation::Binary,
        ];
        for _ in 0..crate::testing::iterations(20_000) {
            let collation = *collations.choose(&mut rng).unwrap();
            let binary = collation == Collation::Binary;
            let mut chosen = |from: &[&'static str], most: usize| -> Vec<&'static str> {
                (0..rng.random_range(0..=most)).map(|_| *from.choose(&mut rng).unwrap()).collect()
            };
            let text = chosen(if binary { &["a", "b"] } else { &["a", "A", "é", "b"] }, 60);
            let mut pattern = chosen(&["a", "b", "b", "_", "%"], 6);
            // Long repeated texts, for which the table is used.
            if pattern.len() == 3 {
                pattern = [&["%"][..], &["a"; FEW + 2], &["b"], &pattern, &["%"]].concat();
            }
            let text =
                if pattern.len() > FEW { [vec!["a"; FEW + 5], vec!["b"], text].concat() } else { text };
            let same = |a: &str, b: &str| match collation.is_weighted() {
                true => collation.same_character(a.as_bytes(), b.as_bytes()),
                false => a == b,
            };
            let like = LikePattern::new(pattern.concat().as_bytes(), None, collation);
            let expected = slowly(&text, &pattern, &same);
            let (text, pattern) = (text.concat(), pattern.concat());
            assert_eq!(like.matches(text.as_bytes()), expected, "{collation}: {text:?} LIKE {pattern:?}");
            let unless = like.matches_unless(text.as_bytes(), &CancelToken::new());
            assert_eq!(unless.ok(), Some(expected));
        }
    }

    /// Returns whether the text matches, and how many bytes were examined.
    fn looked_at(text: &str, pattern: &str, collation: Collation) -> (bool, usize) {
        let mut bytes = 0;
        let pattern = LikePattern::new(pattern.as_bytes(), Some('\\'), collation);
        let Ok(matched) = pattern.run(text.as_bytes(), &mut |seen| {
            bytes += seen;
            Ok::<(), Infallible>(())
        });
        (matched, bytes)
    }

    #[test]
    fn examined_bytes_are_in_proportion_to_the_text() {
        let text = "a".repeat(20_000);
        let half = "a".repeat(5_000);
        for collation in [Collation::Binary, Collation::Utf8mb4Bin, Collation::Utf8mb4_0900AiCi] {
            for pattern in [
                format!("%{half}b%{half}%"),
                format!("%{half}b"),
                format!("%_{half}b_%"),
                "%a".repeat(5_000) + "b",
            ] {
                let (matched, bytes) = looked_at(&text, &pattern, collation);
                assert!(!matched && bytes < 100_000, "{collation}: {bytes}");
            }
        }
    }

    #[test]
    fn a_statement_that_has_to_end_looks_no_further() {
        let cancel = CancelToken::new();
        cancel.cancel(leafline_types::statement::CancelReason::QueryKilled);
        let text = "ab".repeat(BYTES_BETWEEN_CHECKS);
        for collation in [Collation::Utf8mb4Bin, Collation::Utf8mb4_0900AiCi] {
            for pattern in ["%b_bb_b%".to_owned(), format!("%{}c%", "ab".repeat(FEW)), text.clone()] {
                let pattern = LikePattern::new(pattern.as_bytes(), None, collation);
                let result = pattern.matches_unless(text.as_bytes(), &cancel);
                if let Err(error) = &result {
                    assert_eq!(error.code, 1317);
                }
                assert!(result.is_err(), "{collation}: {result:?}");
            }
        }
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
