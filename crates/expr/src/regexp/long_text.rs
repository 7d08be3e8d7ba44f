//! Searches long texts with checks for cancellation.
//!
//! The `regex` crate searches a text without interruption. For a long text this module runs the same pattern as a
//! lazy DFA, byte by byte: forward for the end of the leftmost match, then backward from there for its beginning.
//! Patterns that a DFA cannot decide, such as Unicode word boundaries, are left to the crate.

use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::rewrite::{Flags, NEST_LIMIT, SIZE_LIMIT};
use leafline_types::error::MysqlError;
use leafline_types::output::BYTES_BETWEEN_CHECKS;
use leafline_types::statement::CancelTicker;

/// Texts of more bytes than this are long.
pub(super) const LONG_TEXT: usize = 1 << 20;

/// Bytes between two checks for cancellation. A byte may cost time proportional to the pattern's states.
const BYTES_AT_ONCE: usize = 1024;

/// A pattern as two lazy DFAs.
#[derive(Debug)]
pub(super) struct LongSearch {
    forward: DFA,
    backward: DFA,
    /// The states that the last search has made, for the next one.
    caches: Mutex<Option<Box<(Cache, Cache)>>>,
}

/// The result of a search.
pub(super) enum Found {
    /// Begin and end of the leftmost match, if there is one.
    Match(Option<(usize, usize)>),
    /// The DFA cannot decide.
    Unknown,
}

/// The end of a run, and the last place at which it was in a match.
enum DfaResult {
    Ended(Option<usize>),
    Unknown,
}

impl LongSearch {
    /// Compiles a pattern; None if it has no DFA.
    pub(super) fn new(rewritten: &str, flags: Flags) -> Option<LongSearch> {
        let syntax = syntax::Config::new()
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .unicode(!flags.bytes)
            .utf8(false)
            .nest_limit(NEST_LIMIT);
        let nfa = thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_LIMIT));
        let config = DFA::config().unicode_word_boundary(true);
        let forward =
            DFA::builder().syntax(syntax).thompson(nfa.clone()).configure(config.clone()).build(rewritten);
        let backward = DFA::builder()
            .syntax(syntax)
            .thompson(nfa.reverse(true))
            .configure(config.match_kind(MatchKind::All))
            .build(rewritten);
        Some(LongSearch { forward: forward.ok()?, backward: backward.ok()?, caches: Mutex::new(None) })
    }

    /// Searches from `at` on.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end.
    pub(super) fn find(
        &self,
        text: &[u8],
        at: usize,
        steps: &mut CancelTicker<'_>,
    ) -> Result<Found, MysqlError> {
        let known = self.caches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut caches =
            known.unwrap_or_else(|| Box::new((self.forward.create_cache(), self.backward.create_cache())));
        let found = self.find_with(text, at, &mut caches, steps);
        *self.caches.lock().unwrap_or_else(PoisonError::into_inner) = Some(caches);
        found
    }

    fn find_with(
        &self,
        text: &[u8],
        at: usize,
        (forward, backward): &mut (Cache, Cache),
        steps: &mut CancelTicker<'_>,
    ) -> Result<Found, MysqlError> {
        let end = match self.match_end(text, at, forward, steps)? {
            DfaResult::Unknown => return Ok(Found::Unknown),
            DfaResult::Ended(None) => return Ok(Found::Match(None)),
            DfaResult::Ended(Some(end)) => end,
        };
        Ok(match self.match_begin(text, (at, end), backward, steps)? {
            DfaResult::Ended(Some(begin)) => Found::Match(Some((begin, end))),
            _ => Found::Unknown,
        })
    }

    /// Returns the end of the leftmost match. A state is recognized as a match's one byte late.
    fn match_end(
        &self,
        text: &[u8],
        at: usize,
        cache: &mut Cache,
        steps: &mut CancelTicker<'_>,
    ) -> Result<DfaResult, MysqlError> {
        let dfa = &self.forward;
        let input = Input::new(text).range(at..);
        let Ok(mut state) = dfa.start_state_forward(cache, &input) else { return Ok(DfaResult::Unknown) };
        let mut end = None;
        let mut place = at;
        for piece in text.get(at..).unwrap_or_default().chunks(BYTES_AT_ONCE) {
            steps.take(BYTES_BETWEEN_CHECKS)?;
            for byte in piece {
                match dfa.next_state(cache, state, *byte) {
                    Ok(next) => state = next,
                    Err(_) => return Ok(DfaResult::Unknown),
                }
                match tag(state) {
                    Tag::None => {}
                    Tag::Match => end = Some(place),
                    Tag::Dead => return Ok(DfaResult::Ended(end)),
                    Tag::Quit => return Ok(DfaResult::Unknown),
                }
                place += 1;
            }
        }
        Ok(match dfa.next_eoi_state(cache, state).map(tag) {
            Ok(Tag::Match) => DfaResult::Ended(Some(text.len())),
            Ok(Tag::None | Tag::Dead) => DfaResult::Ended(end),
            Ok(Tag::Quit) | Err(_) => DfaResult::Unknown,
        })
    }

    /// Returns the begin of a match that ends at `end`: the first possible one from `at` on.
    fn match_begin(
        &self,
        text: &[u8],
        (at, end): (usize, usize),
        cache: &mut Cache,
        steps: &mut CancelTicker<'_>,
    ) -> Result<DfaResult, MysqlError> {
        let dfa = &self.backward;
        let input = Input::new(text).range(at..end).anchored(Anchored::Yes);
        let Ok(mut state) = dfa.start_state_reverse(cache, &input) else { return Ok(DfaResult::Unknown) };
        let mut begin = None;
        let mut place = end;
        for piece in text.get(at..end).unwrap_or_default().rchunks(BYTES_AT_ONCE) {
            steps.take(BYTES_BETWEEN_CHECKS)?;
            for byte in piece.iter().rev() {
                match dfa.next_state(cache, state, *byte) {
                    Ok(next) => state = next,
                    Err(_) => return Ok(DfaResult::Unknown),
                }
                match tag(state) {
                    Tag::None => {}
                    Tag::Match => begin = Some(place),
                    Tag::Dead => return Ok(DfaResult::Ended(begin)),
                    Tag::Quit => return Ok(DfaResult::Unknown),
                }
                place -= 1;
            }
        }
        // Like the crate, takes the byte before the searched part into account.
        let last = match at.checked_sub(1).and_then(|before| text.get(before)) {
            Some(byte) => dfa.next_state(cache, state, *byte),
            None => dfa.next_eoi_state(cache, state),
        };
        Ok(match last.map(tag) {
            Ok(Tag::Match) => DfaResult::Ended(Some(at)),
            Ok(Tag::None | Tag::Dead) => DfaResult::Ended(begin),
            Ok(Tag::Quit) | Err(_) => DfaResult::Unknown,
        })
    }
}

/// The kind of a state.
enum Tag {
    None,
    Match,
    Dead,
    Quit,
}

#[inline]
fn tag(state: LazyStateID) -> Tag {
    match state.is_tagged() {
        false => Tag::None,
        true if state.is_match() => Tag::Match,
        true if state.is_dead() => Tag::Dead,
        true if state.is_quit() => Tag::Quit,
        true => Tag::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::{CancelReason, CancelToken};
    use regex::bytes::RegexBuilder;

    const FLAGS: Flags = Flags {
        ignore_case: true,
        multi_line: false,
        dot_matches_all: false,
        unix_lines: false,
        bytes: false,
    };

    #[test]
    fn a_long_text_is_searched_as_the_crate_does() {
        let cancel = CancelToken::new();
        let texts = ["", "a", "xaab", "aXbAbb\nab", "\u{e9}aé\u{e9}b", "cab ab  abc", "bbbbaab"];
        let patterns = [
            "a",
            "a*",
            "a+b",
            "(a|ab)(c|bcd)?",
            "^a",
            "b$",
            "(?m)^a",
            "x?",
            "[^a]+",
            "é",
            "a.b",
            "(a*)*b",
            "ab\\z",
            "\\Aab",
            "(?:)",
            "b|a",
            "aa|a",
        ];
        for pattern in patterns {
            let crates = RegexBuilder::new(pattern).case_insensitive(true).build().unwrap();
            let ours = LongSearch::new(pattern, FLAGS).unwrap();
            for text in texts {
                for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                    let wanted = crates.find_at(text.as_bytes(), at).map(|m| (m.start(), m.end()));
                    let mut steps = CancelTicker::new(&cancel, 1);
                    match ours.find(text.as_bytes(), at, &mut steps).unwrap() {
                        Found::Match(found) => assert_eq!(found, wanted, "{pattern} in {text:?} at {at}"),
                        Found::Unknown => panic!("{pattern} in {text:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_search_ends_with_its_statement_and_leaves_words_of_unicode_to_the_crate() {
        let cancel = CancelToken::new();
        let words = LongSearch::new("\\bé", FLAGS).unwrap();
        assert!(matches!(
            words.find("aé".as_bytes(), 0, &mut CancelTicker::new(&cancel, 1)),
            Ok(Found::Unknown)
        ));
        cancel.cancel(CancelReason::QueryKilled);
        let search = LongSearch::new("[ab]*a[ab]{200}c", FLAGS).unwrap();
        let text = "ab".repeat(LONG_TEXT);
        let stopped = search.find(text.as_bytes(), 0, &mut CancelTicker::new(&cancel, BYTES_BETWEEN_CHECKS));
        assert_eq!(stopped.err().map(|error| error.code), Some(1317));
    }
}
