//! Patterns: from the syntax of ICU, which MySQL 8 has, to that of the `regex` crate.
//!
//! That crate searches in time proportional to the text, whatever the pattern, and therefore lacks what needs
//! backtracking: back-references, looking ahead or behind, possessive quantifiers and atomic groups are error 1235. What
//! both have and write alike is passed on; what they write differently is rewritten here:
//!
//! | ICU            | becomes                                                          |
//! |----------------|------------------------------------------------------------------|
//! | `.`            | all but line ends, of which ICU has five                         |
//! | `\Q..\E`       | the characters                                                   |
//! | `\h \H \R \Z`  | classes of characters; `\Z` is the end                           |
//! | `\e \cX \0ooo` | the character                                                    |
//! | `(?#..)`       | nothing                                                          |
//!
//! `$` is the end of the text, and not before a line end that is the last character, as ICU has it.

use regex::bytes::{Regex, RegexBuilder};

use crate::error::MysqlError;

/// How a pattern is meant, as match types (`'c'`, `'i'`, `'m'`, `'n'`, `'u'`) and the collation say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// `^` and `$` are at lines too.
    pub multi_line: bool,
    /// `.` is a line end too.
    pub dot_matches_all: bool,
    /// Only a line feed is a line end.
    pub unix_lines: bool,
    /// Text and pattern are bytes.
    pub bytes: bool,
}

/// The most memory of one compiled pattern.
const SIZE_LIMIT: usize = 4 << 20;
/// The most nesting of groups in a pattern.
const NEST_LIMIT: u32 = 100;

/// Makes a pattern ready. Errors are MySQL's 3685 to 3698, and 1235.
pub(super) fn compile(pattern: &str, flags: Flags) -> Result<Regex, MysqlError> {
    if pattern.is_empty() {
        return Err(MysqlError::regexp_illegal_argument());
    }
    let rewritten = Rewriter { rest: pattern, flags, out: String::new() }.run()?;
    RegexBuilder::new(&rewritten)
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.multi_line)
        .unicode(!flags.bytes)
        .size_limit(SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
        .map_err(|e| error_of(&e, pattern))
}

/// MySQL's error for one of the crate's.
fn error_of(e: &regex::Error, pattern: &str) -> MysqlError {
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

struct Rewriter<'p> {
    rest: &'p str,
    flags: Flags,
    out: String,
}

/// ICU's line ends, as members of a class.
const LINE_ENDS: &str = r"\n\r\x{0B}\x{0C}\x{85}\x{2028}\x{2029}";

impl Rewriter<'_> {
    fn run(mut self) -> Result<String, MysqlError> {
        while let Some(c) = self.take() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '.' => self.any(),
                '(' => self.group()?,
                '*' | '+' | '?' | '}' => self.quantifier(c)?,
                '{' => self.interval()?,
                c => self.out.push(c),
            }
        }
        Ok(self.out)
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn any(&mut self) {
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

    /// `(`, and what may follow it to make a group of another kind.
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

    /// `{n}`, `{n,}`, `{n,m}`: a brace is nothing else.
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

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), MysqlError> {
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
            'Z' if !in_class => self.out.push_str(r"\z"),
            'e' => self.out.push_str(r"\x1B"),
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
            // What is no letter stands for itself.
            c if !c.is_ascii_alphanumeric() => self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            c => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        Ok(())
    }

    /// A bracket expression, with those inside it.
    fn class(&mut self) -> Result<(), MysqlError> {
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.take();
            self.out.push('^');
        }
        // A bracket at once is a member.
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
                // These join sets in the crate, not in ICU.
                '~' => self.out.push_str(r"\~"),
                c => self.out.push(c),
            }
        }
        Err(MysqlError::regexp_unclosed_bracket())
    }
}

/// `[:name:]`: classes of Unicode, not of ASCII.
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

    const PLAIN: Flags = Flags {
        ignore_case: false,
        multi_line: false,
        dot_matches_all: false,
        unix_lines: false,
        bytes: false,
    };

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
            let regex = compile(pattern, PLAIN).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert_eq!(regex.is_match(text.as_bytes()), matches, "{pattern} of {text:?}");
        }
        assert!(compile("a.c", Flags { dot_matches_all: true, ..PLAIN }).unwrap().is_match(b"a\nc"));
        assert!(compile("^b", Flags { multi_line: true, ..PLAIN }).unwrap().is_match(b"a\nb"));
        assert!(compile("B", Flags { ignore_case: true, ..PLAIN }).unwrap().is_match(b"b"));
    }

    #[test]
    fn what_is_wrong_or_not_supported_has_mysqls_number() {
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
            (r"(a)\1", 1235),
            ("(?=a)", 1235),
            ("(?<!a)b", 1235),
            ("a*+", 1235),
            ("(?>a)", 1235),
            ("(?s)a", 1235),
            ("(((((((((x{100}){100}){100}){100}){100}){100}))))", 3698),
        ];
        for (pattern, code) in cases {
            assert_eq!(compile(pattern, PLAIN).err().map(|e| e.code), Some(code), "{pattern}");
        }
    }
}
