//! Finds the first place of a string in another under a collation with weights, in time proportional to the length of
//! the text.
//!
//! As in MySQL, a match has as many bytes in the character set as the part that is searched for, so a window of that
//! many bytes moves over the text. A polynomial (Karp and Rabin) sums the window's weights on each level; a character
//! is added at one end and removed at the other. Only a window whose sums equal the part's is compared.

use std::hash::{BuildHasher, RandomState};

use super::Collation;
use super::weights::Level;
use crate::error::MysqlError;
use crate::statement::CancelTicker;

/// Parts of up to this many bytes are compared at each place.
const FEW: usize = 16;

/// The modulus of the sums, a prime.
const MODULUS: u64 = (1 << 61) - 1;

fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let (low, high) = (product as u64 & MODULUS, (product >> 61) as u64);
    let sum = low + high;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

/// The sum of a window's weights on one level.
struct Sum {
    level: &'static Level,
    base: u64,
    sum: u64,
    /// The powers of the base that belong to the first weight of the window, and to the weight behind its end.
    first: u64,
    next: u64,
    /// The sum of the part, times the power of the window's first weight.
    wanted: u64,
}

impl Sum {
    /// Makes the sum of an empty window, which searches for `part`.
    fn new(
        level: &'static Level,
        base: u64,
        part: &[u8],
        steps: &mut CancelTicker<'_>,
    ) -> Result<Sum, MysqlError> {
        let mut sum = Sum { level, base, sum: 0, first: 1, next: 1, wanted: 0 };
        for character in characters(part) {
            sum.add(character);
            steps.take(character.len())?;
        }
        Ok(Sum { level, base, sum: 0, first: 1, next: 1, wanted: sum.sum })
    }

    fn add(&mut self, character: &[u8]) {
        for w in self.level.weights(character) {
            // Adding 1 makes a weight of zero count.
            self.sum = plus(self.sum, times(u64::from(w) + 1, self.next));
            self.next = times(self.next, self.base);
        }
    }

    fn remove(&mut self, character: &[u8]) {
        for w in self.level.weights(character) {
            self.sum = plus(self.sum, MODULUS - times(u64::from(w) + 1, self.first));
            self.first = times(self.first, self.base);
            self.wanted = times(self.wanted, self.base);
        }
    }
}

/// Iterates over the characters of a text.
fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (character, after) = rest.split_at_checked(first_len(rest))?;
        rest = after;
        (!character.is_empty()).then_some(character)
    })
}

/// Returns the length of the first character; 0 if the text is empty.
fn first_len(text: &[u8]) -> usize {
    match text.split_first() {
        Some((_, rest)) => 1 + rest.iter().take_while(|byte| **byte & 0xc0 == 0x80).count(),
        None => 0,
    }
}

impl Collation {
    /// Returns the byte offset at which `part` first occurs in `text`. As in MySQL, a match has as many bytes in the
    /// collation's character set as `part`: in UTF-8 `é` does not match `e`, in latin1 it does.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end.
    pub fn find(
        self,
        text: &[u8],
        part: &[u8],
        steps: &mut CancelTicker<'_>,
    ) -> Result<Option<usize>, MysqlError> {
        let Some(weights) = self.weights() else { return Ok(memchr::memmem::find(text, part)) };
        let charset = self.charset();
        let mut wanted = 0;
        for character in characters(part) {
            wanted += charset.width(character);
            steps.take(character.len())?;
        }
        let mut sums = Vec::new();
        if part.len() > FEW {
            let base = (RandomState::new().hash_one(text.len()) >> 3).max(1 << 32);
            for level in weights.levels {
                sums.push(Sum::new(level, base, part, steps)?);
            }
        }
        // The bounds of the window, and its length in bytes of the character set.
        let (mut start, mut end, mut width) = (0, 0, 0);
        loop {
            // Extends the window as far as it stays no longer than the part.
            while let len @ 1.. = first_len(&text[end..]) {
                let character = &text[end..end + len];
                let more = charset.width(character);
                if width + more > wanted {
                    break;
                }
                sums.iter_mut().for_each(|sum| sum.add(character));
                (end, width) = (end + len, width + more);
                steps.take(len)?;
            }
            if width == wanted && sums.iter().all(|sum| sum.sum == sum.wanted) {
                steps.take(part.len().min(FEW))?;
                if weights.same(&text[start..end], part) {
                    return Ok(Some(start));
                }
            }
            if end == text.len() {
                return Ok(None);
            }
            let len = first_len(&text[start..]);
            let first = &text[start..start + len];
            if start == end {
                // The first character is longer than the part.
                end += len;
            } else {
                sums.iter_mut().for_each(|sum| sum.remove(first));
                width -= charset.width(first);
            }
            start += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{CancelReason, CancelToken};
    use rand::Rng;

    /// Searches by comparing at each place.
    fn by_definition(collation: Collation, text: &[u8], part: &[u8]) -> Option<usize> {
        let weights = collation.weights()?;
        let charset = collation.charset();
        let width = |text: &[u8]| characters(text).map(|c| charset.width(c)).sum::<usize>();
        let boundary = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
        let boundaries: Vec<usize> = (0..=text.len()).filter(boundary).collect();
        let wanted = width(part);
        boundaries.iter().enumerate().find_map(|(number, &at)| {
            let mut found = 0;
            let mut ends = boundaries[number..].windows(2);
            while found < wanted {
                let [from, to] = *ends.next()? else { return None };
                found += charset.width(&text[from..to]);
                if found == wanted {
                    return weights.same(&text[at..to], part).then_some(at);
                }
            }
            (wanted == 0).then_some(at)
        })
    }

    #[test]
    fn the_window_finds_what_the_definition_finds() {
        let mut rng = crate::testing::rng("the_window_finds_what_the_definition_finds");
        let cancel = CancelToken::new();
        let weighted: Vec<Collation> = Collation::ALL.into_iter().filter(|c| c.is_weighted()).collect();
        let alphabet = ['a', 'A', 'á', 'b', 'ß', 's', 'S', ' ', '\u{301}', '\0', '가', '😀', 'ﷺ'];
        let mut found = 0;
        for _ in 0..3000 {
            let collation = weighted[rng.random_range(0..weighted.len())];
            let used = rng.random_range(1..=alphabet.len());
            let mut text = |most: usize| -> String {
                let length = rng.random_range(0..=most);
                (0..length).map(|_| alphabet[rng.random_range(0..used)]).collect()
            };
            let (whole, mut part) = (text(120), text(30));
            if rng.random_bool(0.5) && !whole.is_empty() {
                let boundaries: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
                let from = boundaries[rng.random_range(0..boundaries.len())];
                part = whole[from..].to_uppercase();
            }
            let mut steps = CancelTicker::new(&cancel, 1 << 18);
            let place = collation.find(whole.as_bytes(), part.as_bytes(), &mut steps).unwrap();
            assert_eq!(
                place,
                by_definition(collation, whole.as_bytes(), part.as_bytes()),
                "{collation} {whole:?} {part:?}"
            );
            found += usize::from(place.is_some() && part.len() > FEW);
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn found_characters_may_be_longer_in_utf8() {
        let cancel = CancelToken::new();
        for (collation, text, part, expected) in [
            ("latin1_swedish_ci", "xà", "a", Some(1)),
            ("latin1_swedish_ci", "a", "à", Some(0)),
            ("latin1_general_ci", "éà", "A", None),
            ("utf8mb4_general_ci", "xàa", "a", Some(3)),
            ("ucs2_general_ci", "xà", "A", Some(1)),
            ("gbk_chinese_ci", "中a", "A", Some(3)),
        ] {
            let collation = Collation::from_name(collation).unwrap();
            let mut steps = CancelTicker::new(&cancel, 1 << 18);
            let found = collation.find(text.as_bytes(), part.as_bytes(), &mut steps).unwrap();
            assert_eq!(found, expected, "{collation} {text} {part}");
        }
    }

    #[test]
    fn a_statement_that_has_to_end_looks_no_further() {
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::QueryKilled);
        let (text, part) = (vec![b'a'; 1 << 20], [vec![b'A'; 1 << 16], vec![b'b']].concat());
        let mut steps = CancelTicker::new(&cancel, 1 << 18);
        let stopped = Collation::Utf8mb4_0900AiCi.find(&text, &part, &mut steps);
        assert_eq!(stopped.unwrap_err().code, 1317);
    }
}
