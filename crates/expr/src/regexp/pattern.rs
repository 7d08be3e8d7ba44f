//! Compiled patterns.
//!
//! The crate `regex` searches in time proportional to the text, whatever the pattern, and therefore lacks constructs
//! that need backtracking: back-references, look-ahead and look-behind, possessive quantifiers and atomic groups.
//! Patterns with these go to [`super::backtrack`]. In ICU `$` and `\Z` also match before a line end that is the last
//! character: a text that ends with one goes to [`super::backtrack`], too. [`super::rewrite`] translates the others.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::backtrack::{Program, Spans};
use super::long_text::{Found, LONG_TEXT, LongSearch};
use super::rewrite::{Flags, NEST_LIMIT, Rewriter, SIZE_LIMIT, error_of};
use super::syntax;
use crate::characters::offset;
use leafline_types::error::{MysqlError, errno};
use leafline_types::output::room_for;
use leafline_types::statement::CancelTicker;

/// An upper bound for the memory of a pattern's tree, in bytes for each byte of the pattern.
const TREE_BYTES: usize = 400;
/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// None for a pattern that needs backtracking whatever the text.
    linear: Option<Regex>,
    /// The pattern in the crate's syntax.
    rewritten: String,
    /// The pattern for long texts, made on first use; None if it has none.
    long: OnceLock<Option<LongSearch>>,
    /// Whether the pattern tests for the end of the text.
    asks_for_end: bool,
    /// The backtracking program, made on first use.
    program: OnceLock<Result<Program, MysqlError>>,
    text: String,
    flags: Flags,
}

impl Compiled {
    /// Compiles a pattern. Errors are MySQL's 3685 to 3700, 1235, and 1041 if memory for a long pattern is lacking.
    pub(crate) fn new(pattern: &str, flags: Flags) -> Result<Compiled, MysqlError> {
        if pattern.is_empty() {
            return Err(MysqlError::regexp_illegal_argument());
        }
        room_for(pattern.len().saturating_mul(TREE_BYTES))?;
        let mut rewriter = Rewriter::new(pattern, flags);
        let linear = match rewriter.run() {
            Ok(()) => Some(linear(&rewriter.out, flags).map_err(|e| error_of(&e, pattern))?),
            Err(error) if error.code == errno::ER_NOT_SUPPORTED_YET => None,
            Err(error) => return Err(error),
        };
        let compiled = Compiled {
            linear,
            rewritten: rewriter.out,
            long: OnceLock::new(),
            asks_for_end: rewriter.asks_for_end,
            program: OnceLock::new(),
            text: pattern.to_owned(),
            flags,
        };
        if compiled.linear.is_none() {
            compiled.program()?;
        }
        Ok(compiled)
    }

    fn program(&self) -> Result<&Program, MysqlError> {
        let made =
            self.program.get_or_init(|| Program::new(&syntax::parse(&self.text, self.flags)?, self.flags));
        made.as_ref().map_err(MysqlError::clone)
    }

    /// Returns the matcher that does not backtrack, if it finds the same as ICU in this text.
    fn linear_for(&self, text: &[u8]) -> Option<&Regex> {
        let ends_a_line = match text {
            [.., b'\n' | 0x0B | 0x0C | b'\r'] => true,
            [.., 0xC2, 0x85] | [.., 0xE2, 0x80, 0xA8 | 0xA9] => !self.flags.bytes,
            _ => false,
        };
        self.linear.as_ref().filter(|_| !(self.asks_for_end && ends_a_line))
    }

    /// Returns begin and end of the leftmost match from `at` on.
    ///
    /// # Errors
    /// 3698 and 3699 from backtracking; 1317 or 3024 if the statement has to end.
    pub(crate) fn find(
        &self,
        text: &[u8],
        at: usize,
        steps: &mut CancelTicker<'_>,
    ) -> Result<Option<(usize, usize)>, MysqlError> {
        match self.linear_for(text) {
            Some(regex) => {
                if let Found::Match(found) = self.find_in_long(text, at, steps)? {
                    return Ok(found);
                }
                let found = regex.find_at(text, at).map(|found| (found.start(), found.end()));
                steps.take(1 + found.map_or(text.len(), |found| found.1) - at)?;
                Ok(found)
            }
            None => {
                Ok(self.program()?.find(text, at, steps)?.and_then(|spans| spans.first().copied().flatten()))
            }
        }
    }

    /// Searches a long text from `at` on.
    fn find_in_long(
        &self,
        text: &[u8],
        at: usize,
        steps: &mut CancelTicker<'_>,
    ) -> Result<Found, MysqlError> {
        if text.len().saturating_sub(at) <= LONG_TEXT {
            return Ok(Found::Unknown);
        }
        match self.long.get_or_init(|| LongSearch::new(&self.rewritten, self.flags)) {
            Some(search) => search.find(text, at, steps),
            None => Ok(Found::Unknown),
        }
    }

    /// Returns the leftmost match from `at` on, like [`find`](Self::find), with its groups.
    pub(crate) fn captures(
        &self,
        text: &[u8],
        at: usize,
        steps: &mut CancelTicker<'_>,
    ) -> Result<Option<Spans>, MysqlError> {
        match self.linear_for(text) {
            Some(regex) => {
                let at = match self.find_in_long(text, at, steps)? {
                    Found::Match(None) => return Ok(None),
                    // Searching again from the begin of the match finds its groups.
                    Found::Match(Some((begin, _))) => begin,
                    Found::Unknown => at,
                };
                let found = regex.captures_at(text, at);
                let end =
                    found.as_ref().and_then(|found| found.get(0)).map_or(text.len(), |whole| whole.end());
                steps.take(1 + end - at)?;
                Ok(found.map(|found| {
                    found.iter().map(|part| part.map(|part| (part.start(), part.end()))).collect()
                }))
            }
            None => self.program()?.find(text, at, steps),
        }
    }

    /// Returns the number of a named group.
    pub(crate) fn group(&self, name: &str) -> Option<usize> {
        match &self.linear {
            Some(regex) => regex.capture_names().position(|known| known == Some(name)),
            None => {
                let names = &self.program().ok()?.names;
                names.iter().find(|(known, _)| known == name).map(|(_, group)| *group)
            }
        }
    }

    /// Returns where to look for the match after this one: behind it, and at least a character further.
    pub(crate) fn after(&self, text: &[u8], (begin, end): (usize, usize)) -> Option<usize> {
        if begin < end {
            return Some(end);
        }
        let rest = text.get(end..).filter(|rest| !rest.is_empty())?;
        Some(end + offset(rest, self.flags.bytes, 1))
    }
}

fn linear(rewritten: &str, flags: Flags) -> Result<Regex, regex::Error> {
    RegexBuilder::new(rewritten)
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.multi_line)
        .unicode(!flags.bytes)
        .size_limit(SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::CancelToken;
    use rand::Rng;

    const PLAIN: Flags = Flags {
        ignore_case: false,
        multi_line: false,
        dot_matches_all: false,
        unix_lines: false,
        bytes: false,
    };

    /// Returns the first match.
    fn found<'t>(pattern: &str, flags: Flags, text: &'t str) -> Option<&'t str> {
        let compiled = Compiled::new(pattern, flags).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let cancel = CancelToken::new();
        let mut steps = CancelTicker::new(&cancel, 1 << 18);
        let found =
            compiled.find(text.as_bytes(), 0, &mut steps).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        found.map(|(begin, end)| &text[begin..end])
    }

    /// Examples of ICU's user guide and of the manuals of those it follows (Perl, Java).
    #[test]
    fn patterns_that_backtrack_match_as_in_icu() {
        let i = Flags { ignore_case: true, ..PLAIN };
        let m = Flags { multi_line: true, ..PLAIN };
        for (pattern, flags, text, expected) in [
            (r"(\w)\1", PLAIN, "hello", Some("ll")),
            (r"(\w+) \1", i, "the The end", Some("the The")),
            (r"(a)(b)?\2", PLAIN, "ab", None),
            (r"(a)(b)?\2", PLAIN, "abb", Some("abb")),
            (r"(?<x>[ab])-\k<x>", PLAIN, "a-b b-b", Some("b-b")),
            (r"foo(?=bar)", PLAIN, "foofoobar", Some("foo")),
            (r"foo(?!bar)", PLAIN, "foobar foobaz", Some("foo")),
            (r"(?!foobar)\bfoo\w*", PLAIN, "foobar foobaz", Some("foobaz")),
            (r"(?<=\$)\d+", PLAIN, "5 $42", Some("42")),
            (r"(?<!\$)\b\d+", PLAIN, "$5 42", Some("42")),
            (r"(?<=a|bc)x", PLAIN, "bx bcx", Some("x")),
            (r"(?<=a{1,3}b)c", PLAIN, "aabc", Some("c")),
            (r"(?<=^|,)[^,]*(?=,|$)", PLAIN, "ab,c", Some("ab")),
            (r"a++a", PLAIN, "aaa", None),
            (r"a*+b", PLAIN, "aaab", Some("aaab")),
            (r"(?>a+)a", PLAIN, "aaaa", None),
            (r"(?>a|ab)c", PLAIN, "abc", None),
            (r"(?>ab|a)c", PLAIN, "abc", Some("abc")),
            (r"x(?i)B(?-i)c", PLAIN, "xbC xbc", Some("xbc")),
            (r"(?s)a.b", PLAIN, "a\nb", Some("a\nb")),
            (r"(?x) a b # comment", PLAIN, "ab", Some("ab")),
            (r"(?s:a.)b.", PLAIN, "a\nb\n a\nbc", Some("a\nbc")),
            (r"^(?=.*\d)(?=.*[a-z])\w{4,8}$", PLAIN, "abc1", Some("abc1")),
            (r"^(?=.*\d)(?=.*[a-z])\w{4,8}$", PLAIN, "abcd", None),
            (r"^(?!.*(.).*\1)[a-z]+$", PLAIN, "abcde", Some("abcde")),
            (r"^(?!.*(.).*\1)[a-z]+$", PLAIN, "abcda", None),
            (r"(?=(a+))a*b\1", PLAIN, "baaabac", Some("aba")),
            (r"(?:(a)|b)*\1", PLAIN, "abaa", Some("abaa")),
            (r"(?<!x)(a*?)b", PLAIN, "xaab", Some("ab")),
            (r"(a|ab)(?=c)c", PLAIN, "abc", Some("abc")),
            (r"(?=a)(?:a?)*b", PLAIN, "aaab", Some("aaab")),
            (r"\X", PLAIN, "e\u{301}x", Some("e\u{301}")),
            (r"b$", PLAIN, "ab\n", Some("b")),
            (r"b\z", PLAIN, "ab\n", None),
            (r"b\Z", PLAIN, "ab\r\n", Some("b")),
            (r"b$", PLAIN, "b\nc", None),
            (r"(?=b)b$", m, "b\nc", Some("b")),
            (r"(?<=\n)^c", m, "b\nc", Some("c")),
            (r"(?<=é)Ü", i, "éü", Some("ü")),
            (r"(ß)\1", i, "ßß", Some("ßß")),
            (r"(É)\1", i, "éÉ", Some("éÉ")),
            (r"[[:alpha:]&&[^b]]++", PLAIN, "bac", Some("ac")),
            (r"\Qa.b\E(?=c)", PLAIN, "axbc a.bc", Some("a.b")),
        ] {
            assert_eq!(found(pattern, flags, text), expected, "{pattern} in {text:?}");
        }
    }

    #[test]
    fn both_matchers_find_the_same() {
        let mut rng = crate::testing::rng("both_matchers_find_the_same");
        let cancel = CancelToken::new();
        let parts =
            ["a", "b", "ab", ".", "[ab]", "[^a]", "(a|b)", "(?:a|ab)", "(a*)", "(b?)", "^", "$", r"\b", "é"];
        let repeats = ["", "", "", "*", "+", "?", "*?", "+?", "{1,2}", "{2}"];
        for _ in 0..crate::testing::iterations(2000) {
            let mut pick = |list: &[&'static str]| list[rng.random_range(0..list.len())];
            let mut pattern = String::new();
            for _ in 0..4 {
                let part = pick(&parts);
                pattern.push_str(part);
                if !matches!(part, "^" | "$" | r"\b") {
                    pattern.push_str(pick(&repeats));
                }
            }
            let text: String = (0..8).map(|_| pick(&["a", "b", "é", " "])).collect();
            let compiled = Compiled::new(&pattern, PLAIN).unwrap();
            let program = Program::new(&syntax::parse(&pattern, PLAIN).unwrap(), PLAIN).unwrap();
            let mut steps = CancelTicker::new(&cancel, 1 << 18);
            let spans = program.find(text.as_bytes(), 0, &mut steps).unwrap();
            let other = compiled.linear.as_ref().unwrap().captures(text.as_bytes());
            let other = other.map(|found| found.get(0).map(|whole| (whole.start(), whole.end())).unwrap());
            assert_eq!(spans.and_then(|spans| spans[0]), other, "{pattern} in {text:?}");
        }
    }

    #[test]
    fn a_search_is_bounded_and_cancelled() {
        let cancel = CancelToken::new();
        let text = "a".repeat(40);
        let find = |pattern: &str, text: &str| {
            let compiled = Compiled::new(pattern, PLAIN).unwrap();
            compiled.find(text.as_bytes(), 0, &mut CancelTicker::new(&cancel, 1 << 10)).map(|_| ())
        };
        assert_eq!(find(r"(?=a)(a*)*(a*)*(a*)*b\1", &text).unwrap_err().code, 3699);
        assert_eq!(find(r"(?=a)(?:a|b)*c", &"a".repeat(1 << 20)).unwrap_err().code, 3698);
        cancel.cancel(leafline_types::statement::CancelReason::QueryKilled);
        assert_eq!(find(r"(?=a)(a*)*(a*)*(a*)*b", &text).unwrap_err().code, 1317);
    }

    #[test]
    fn patterns_mean_what_icu_means() {
        let cases = [
            ("a.c", "abc", true),
            ("a.c", "a\u{2028}c", false),
            (r"\Qa.b\E+", "a.bb", true),
            (r"^\h\R$", "\t\r\n", true),
            ("[[:alpha:]]+", "é", true),
            ("[]a]", "]", true),
            ("a(?#comment)b", "ab", true),
            (r"^\cA$", "\u{1}", true),
            (r"^\0101$", "A", true),
            ("^a{2,3}$", "aaa", true),
            (r"\.", "a", false),
            ("a~b", "a~b", true),
        ];
        for (pattern, text, matches) in cases {
            assert_eq!(found(pattern, PLAIN, text).is_some(), matches, "{pattern} of {text:?}");
        }
        assert!(found("a.c", Flags { dot_matches_all: true, ..PLAIN }, "a\nc").is_some());
        assert!(found("^b", Flags { multi_line: true, ..PLAIN }, "a\nb").is_some());
        assert!(found("B", Flags { ignore_case: true, ..PLAIN }, "b").is_some());
    }

    #[test]
    fn wrong_and_unsupported_patterns_have_mysqls_error_numbers() {
        let cases = [
            ("", 3685),
            ("(a", 3691),
            ("a)", 3691),
            ("[a", 3696),
            ("[z-a]", 3697),
            ("a{3,2}", 3693),
            ("a{x}", 3692),
            ("*", 3688),
            ("a\\", 3689),
            (r"(a)\2", 3694),
            ("(?=a", 3691),
            ("(?<!a*)b", 3695),
            ("(?<=(a)\\1)b", 3695),
            ("(?w)a", 1235),
            ("(?=(?:(?:xy){100}){100}){2}", 3700),
            ("(((((((((x{100}){100}){100}){100}){100}){100}))))", 3698),
        ];
        for (pattern, code) in cases {
            assert_eq!(Compiled::new(pattern, PLAIN).err().map(|e| e.code), Some(code), "{pattern}");
        }
    }
}
