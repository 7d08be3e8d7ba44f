//! Translates patterns from ICU's syntax, which MySQL 8 uses, to that of the `regex` crate.
//!
//! The crate searches in time proportional to the text, whatever the pattern, and therefore lacks constructs that
//! need backtracking: back-references, look-ahead and look-behind, possessive quantifiers and atomic groups. Patterns
//! with these go to [`super::backtrack`]. Constructs that both write alike are passed on; others are rewritten here:
//!
//! | ICU            | becomes                                                          |
//! |----------------|------------------------------------------------------------------|
//! | `.`            | all characters except line ends, of which ICU has five           |
//! | `\Q..\E`       | the characters                                                   |
//! | `\h \H \R \Z`  | classes of characters; `\Z` is the end                           |
//! | `\e \cX \0ooo` | the character                                                    |
//! | `(?#..)`       | nothing                                                          |
//!
//! In ICU `$` and `\Z` also match before a line end that is the last character: a text that ends with one goes to
//! [`super::backtrack`], too.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::backtrack::{Program, Spans};
use super::long_text::{Found, LONG_TEXT, LongSearch};
use super::syntax;
use leafline_types::error::{MysqlError, errno};
use leafline_types::output::room_for;
use leafline_types::statement::CancelTicker;

/// The options of a pattern, from match types (`'c'`, `'i'`, `'m'`, `'n'`, `'u'`) and the collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    /// Upper and lower case are equal.
    pub ignore_case: bool,
    /// `^` and `$` also match at lines.
    pub multi_line: bool,
    /// `.` also matches a line end.
    pub dot_matches_all: bool,
    /// Only a line feed is a line end.
    pub unix_lines: bool,
    /// Text and pattern are bytes.
    pub bytes: bool,
}

/// The most memory of one compiled pattern in bytes.
pub(super) const SIZE_LIMIT: usize = 4 << 20;
/// An upper bound for the memory of a pattern's tree, in bytes for each byte of the pattern.
const TREE_BYTES: usize = 400;
/// The deepest nesting of groups in a pattern.
pub(super) const NEST_LIMIT: u32 = 100;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Compiled {
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
    pub(super) fn new(pattern: &str, flags: Flags) -> Result<Compiled, MysqlError> {
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
    pub(super) fn find(
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
    pub(super) fn captures(
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
    pub(super) fn group(&self, name: &str) -> Option<usize> {
        match &self.linear {
            Some(regex) => regex.capture_names().position(|known| known == Some(name)),
            None => {
                let names = &self.program().ok()?.names;
                names.iter().find(|(known, _)| known == name).map(|(_, group)| *group)
            }
        }
    }

    /// Returns where to look for the match after this one: behind it, and at least a character further.
    pub(super) fn after(&self, text: &[u8], (begin, end): (usize, usize)) -> Option<usize> {
        if begin < end {
            return Some(end);
        }
        let rest = text.get(end..).filter(|rest| !rest.is_empty())?;
        Some(end + super::super::args::offset(rest, self.flags.bytes, 1))
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

/// Returns MySQL's error for one of the crate's.
pub(super) fn error_of(e: &regex::Error, pattern: &str) -> MysqlError {
    let regex::Error::Syntax(text) = e else { return MysqlError::regexp_too_large() };
    let about = |what: &str| text.contains(what);
    if about("unclosed group") || about("unopened group") {
        MysqlError::regexp_mismatched_parenthesis()
    } else if about("unclosed character class") {
        MysqlError::regexp_unclosed_bracket()
    } else if about("invalid character class range") {
        MysqlError::regexp_invalid_range()
    } else if about("unrecognized escape") || about("incomplete escape") {
        MysqlError::regexp_bad_escape()
    } else if about("invalid repetition count range") {
        MysqlError::regexp_max_below_min()
    } else if about("repetition") && !about("missing expression") {
        MysqlError::regexp_bad_interval()
    } else if about("look-around") {
        MysqlError::not_supported("looking ahead or behind in regular expressions")
    } else if about("backreferences") {
        MysqlError::not_supported("back-references in regular expressions")
    } else if about("exceeds") || about("nest") {
        MysqlError::regexp_too_large()
    } else {
        MysqlError::regexp_syntax(1, pattern.chars().count())
    }
}

pub(super) struct Rewriter<'p> {
    rest: &'p str,
    flags: Flags,
    out: String,
    asks_for_end: bool,
}

/// ICU's line ends, as members of a class.
pub(super) const LINE_ENDS: &str = r"\n\r\x{0B}\x{0C}\x{85}\x{2028}\x{2029}";

impl<'p> Rewriter<'p> {
    pub(super) fn new(pattern: &'p str, flags: Flags) -> Rewriter<'p> {
        Rewriter { rest: pattern, flags, out: String::new(), asks_for_end: false }
    }

    /// Returns the rest of the pattern, and the rewritten part.
    pub(super) fn into_parts(self) -> (&'p str, String) {
        (self.rest, self.out)
    }

    fn run(&mut self) -> Result<(), MysqlError> {
        while let Some(c) = self.take() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '.' => self.any(),
                '(' => self.group()?,
                '*' | '+' | '?' | '}' => self.quantifier(c)?,
                '{' => self.interval()?,
                '$' => {
                    self.asks_for_end = true;
                    self.out.push('$');
                }
                c => self.out.push(c),
            }
        }
        Ok(())
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    pub(super) fn any(&mut self) {
        match (self.flags.dot_matches_all, self.flags.unix_lines || self.flags.bytes) {
            (true, _) => self.out.push_str("(?s:.)"),
            (false, true) => self.out.push_str(r"[^\n]"),
            (false, false) => {
                self.out.push_str("[^");
                self.out.push_str(LINE_ENDS);
                self.out.push(']');
            }
        }
    }

    /// Rewrites `(` and what may follow it to make a group of another kind.
    fn group(&mut self) -> Result<(), MysqlError> {
        let Some(kind) = self.rest.strip_prefix('?') else {
            self.out.push('(');
            return Ok(());
        };
        let refused =
            |what: &str| Err(MysqlError::not_supported(format_args!("{what} in regular expressions")));
        if let Some(comment) = kind.strip_prefix('#') {
            let end = comment.find(')').ok_or_else(MysqlError::regexp_mismatched_parenthesis)?;
            self.rest = &comment[end + 1..];
            return Ok(());
        }
        if ["=", "!", "<=", "<!"].iter().any(|look| kind.starts_with(look)) {
            return refused("looking ahead or behind");
        }
        if kind.starts_with('>') {
            return refused("atomic groups");
        }
        let letters = kind.find([':', ')', '<']).unwrap_or(kind.len());
        if kind[..letters].contains(['s', 'u', 'w', 'x']) {
            return refused("the flags s, u, w and x");
        }
        self.out.push('(');
        Ok(())
    }

    fn quantifier(&mut self, c: char) -> Result<(), MysqlError> {
        self.out.push(c);
        if self.rest.starts_with('?') {
            self.take();
            self.out.push('?');
        } else if self.rest.starts_with('+') {
            return Err(MysqlError::not_supported("possessive quantifiers in regular expressions"));
        }
        Ok(())
    }

    /// Rewrites `{n}`, `{n,}`, `{n,m}`; a brace has no other use.
    fn interval(&mut self) -> Result<(), MysqlError> {
        let Some(end) = self.rest.find('}') else { return Err(MysqlError::regexp_bad_interval()) };
        let body = &self.rest[..end];
        let (least, most) = body.split_once(',').unwrap_or((body, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if least.is_empty() || !digits(least) || !digits(most) {
            return Err(MysqlError::regexp_bad_interval());
        }
        self.out.push('{');
        self.out.push_str(body);
        self.rest = &self.rest[end + 1..];
        self.quantifier('}')
    }

    /// Rewrites what follows a backslash.
    pub(super) fn escape(&mut self, in_class: bool) -> Result<(), MysqlError> {
        let Some(c) = self.take() else { return Err(MysqlError::regexp_bad_escape()) };
        match c {
            'Q' => {
                let end = self.rest.find("\\E").unwrap_or(self.rest.len());
                self.out.push_str(&regex::escape(&self.rest[..end]));
                self.rest = self.rest[end..].strip_prefix("\\E").unwrap_or("");
            }
            'E' => {}
            'h' if in_class => self.out.push_str(r"\t\p{Zs}"),
            'h' => self.out.push_str(r"[\t\p{Zs}]"),
            'H' if !in_class => self.out.push_str(r"[^\t\p{Zs}]"),
            'R' if !in_class => {
                self.out.push_str(r"(?:\r\n|[");
                self.out.push_str(LINE_ENDS);
                self.out.push_str("])");
            }
            'Z' if !in_class => {
                self.asks_for_end = true;
                self.out.push_str(r"\z");
            }
            'e' => self.out.push_str(r"\x1B"),
            'x' if self.rest.starts_with('{') => {
                let digits = self.rest.get(1..).and_then(|rest| rest.split_once('}'));
                let digits = digits.filter(|(digits, _)| (1..=6).contains(&digits.len()));
                let code = digits.and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok());
                let (Some((_, rest)), Some(c)) = (digits, code.and_then(char::from_u32)) else {
                    return Err(MysqlError::regexp_bad_escape());
                };
                self.rest = rest;
                self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(c)));
            }
            'c' => {
                let Some(letter) = self.take() else { return Err(MysqlError::regexp_bad_escape()) };
                self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(letter) & 0x1F));
            }
            '0' => {
                let digits = self.rest.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
                let code = u32::from_str_radix(&self.rest[..digits], 8);
                let Ok(code @ 0..=0xFF) = code else { return Err(MysqlError::regexp_bad_escape()) };
                self.rest = &self.rest[digits..];
                self.out.push_str(&format!(r"\x{{{code:X}}}"));
            }
            '1'..='9' | 'k' => {
                return Err(MysqlError::not_supported("back-references in regular expressions"));
            }
            'G' | 'X' | 'N' | 'H' | 'R' | 'Z' => {
                return Err(MysqlError::not_supported(format_args!("\\{c} in regular expressions")));
            }
            // A character that is not alphanumeric stands for itself.
            c if !c.is_ascii_alphanumeric() => self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            c => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        Ok(())
    }

    /// Rewrites a bracket expression, with those inside it.
    pub(super) fn class(&mut self) -> Result<(), MysqlError> {
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.take();
            self.out.push('^');
        }
        // A bracket directly behind the opening one is a member.
        if self.rest.starts_with(']') {
            self.take();
            self.out.push_str(r"\]");
        }
        let mut depth = 1;
        while let Some(c) = self.take() {
            match c {
                '\\' => self.escape(true)?,
                '[' if self.rest.starts_with(':') => {
                    let end = self.rest.find(":]").ok_or_else(MysqlError::regexp_unclosed_bracket)?;
                    let name = &self.rest[1..end];
                    self.out.push_str(named_class(name).ok_or_else(MysqlError::regexp_illegal_argument)?);
                    self.rest = &self.rest[end + 2..];
                }
                '[' => {
                    depth += 1;
                    self.out.push('[');
                }
                ']' => {
                    depth -= 1;
                    self.out.push(']');
                    if depth == 0 {
                        return Ok(());
                    }
                }
                // These combine sets in the crate, not in ICU.
                '~' => self.out.push_str(r"\~"),
                c => self.out.push(c),
            }
        }
        Err(MysqlError::regexp_unclosed_bracket())
    }
}

/// Returns the Unicode class for `[:name:]`, which is not limited to ASCII.
fn named_class(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "alpha" => r"\p{Alphabetic}",
        "lower" => r"\p{Lowercase}",
        "upper" => r"\p{Uppercase}",
        "digit" => r"\p{Nd}",
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "space" => r"\p{White_Space}",
        "blank" => r"\t\p{Zs}",
        "cntrl" => r"\p{Cc}",
        "punct" => r"\p{P}",
        "xdigit" => r"0-9A-Fa-f\x{FF10}-\x{FF19}\x{FF21}-\x{FF26}\x{FF41}-\x{FF46}",
        "graph" => r"\p{L}\p{M}\p{N}\p{P}\p{S}",
        "print" => r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}",
        "word" => r"\w",
        _ => return None,
    })
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
