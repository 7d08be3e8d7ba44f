//! The lexer: from text to tokens.
//!
//! Lexing never fails. Text that cannot begin a token, and a token that does not end (a string without its closing
//! quote), become a token of kind [`TokenKind::Invalid`]. No rule of the grammar accepts it, so the parser reports
//! the error at its place. Tokens neither borrow nor own anything. The parser decodes a token's value from its source
//! text when it needs the value (module `literal`).
//!
//! Comments: `# ..`, `-- ..` (a space or control character must follow the dashes), `/* .. */`.
//! `/*! .. */` and `/*!50000 .. */` are executed when the version is not above [`EXECUTED_VERSION`], or is [`OWN_VERSION`].
//! `/*+ .. */` is a token directly after SELECT, INSERT, REPLACE, UPDATE and DELETE, a comment elsewhere.

use super::ast::Span;
use super::lex_mode::LexMode;

/// The version of version comments that are executed here and skipped by MySQL and MariaDB, for features that only
/// this server has.
pub const OWN_VERSION: u32 = 99_990;
/// The highest version of the version comments that are executed: the MySQL version whose grammar the parser follows.
pub const EXECUTED_VERSION: u32 = 80_036;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The kind.
    pub kind: TokenKind,
    /// The place of its source, quotes and prefixes included.
    pub span: Span,
}

/// Kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An unquoted word: keyword or identifier.
    Word,
    /// An identifier in backticks (or double quotes under ANSI_QUOTES).
    QuotedIdent,
    /// A string in single quotes (or double quotes).
    String,
    /// `N'..'`.
    NationalString,
    /// `x'..'` or `0x..`.
    Hex,
    /// `b'..'` or `0b..`.
    Bit,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// Digits with an exponent.
    Float,
    /// `?`.
    Parameter,
    /// `@name`, `@'name'`, ``@`name` ``.
    UserVariable,
    /// `/*+ .. */` where hints are allowed.
    Hint,
    /// An operator or punctuation mark.
    Symbol(Symbol),
    /// Text that is not a token.
    Invalid,
    /// The end of the text.
    End,
}

/// Operators and punctuation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Symbol {
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Semicolon,
    Dot,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Ampersand,
    AndAnd,
    Pipe,
    OrOr,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    ShiftLeft,
    ShiftRight,
    Assign,
    AtAt,
    Colon,
    Arrow,
    ArrowText,
}

/// All tokens of `sql`; the last one is [`TokenKind::End`].
pub fn tokenize(sql: &str, mode: LexMode) -> Vec<Token> {
    let mut lexer = Lexer::new(sql, mode);
    let mut tokens = Vec::with_capacity(sql.len() / 5 + 2);
    loop {
        let token = lexer.next_token();
        tokens.push(token);
        if token.kind == TokenKind::End {
            return tokens;
        }
    }
}

/// Reads one token after another.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    position: usize,
    mode: LexMode,
    /// Whether the lexer is inside `/*! .. */`, so that the next `*/` ends the comment.
    in_version_comment: bool,
    previous: Option<Token>,
}

pub(super) fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

impl<'a> Lexer<'a> {
    pub(super) fn new(sql: &'a str, mode: LexMode) -> Self {
        Lexer { sql, bytes: sql.as_bytes(), position: 0, mode, in_version_comment: false, previous: None }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    pub(super) fn next_token(&mut self) -> Token {
        let unfinished = self.skip_blanks();
        let start = unfinished.unwrap_or(self.position);
        let kind = if unfinished.is_some() {
            self.position = self.bytes.len();
            TokenKind::Invalid
        } else if self.position >= self.bytes.len() {
            TokenKind::End
        } else {
            self.scan(start)
        };
        let token = Token { kind, span: Span { start: start as u32, end: self.position as u32 } };
        self.previous = Some(token);
        token
    }

    /// Skips white space and comments. Returns `Some(start)` for a comment that never ends.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            let start = self.position;
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.position += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && (self.peek(2) <= b' ') => self.skip_line(),
                b'*' if self.in_version_comment && self.peek(1) == b'/' => {
                    self.in_version_comment = false;
                    self.position += 2;
                }
                b'/' if self.peek(1) == b'*' => {
                    if self.peek(2) == b'!' && !self.in_version_comment {
                        if !self.enter_version_comment() {
                            return Some(start);
                        }
                    } else if self.peek(2) == b'+' && self.hint_may_follow() {
                        return None;
                    } else if !self.skip_to_comment_end(2) {
                        return Some(start);
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.position < self.bytes.len() && self.peek(0) != b'\n' {
            self.position += 1;
        }
    }

    /// Moves past the next `*/`, searching from `opening` bytes ahead. Returns false if there is none.
    fn skip_to_comment_end(&mut self, opening: usize) -> bool {
        let rest = self.bytes.get(self.position + opening..).unwrap_or(&[]);
        match rest.windows(2).position(|pair| pair == b"*/") {
            Some(at) => {
                self.position += opening + at + 2;
                true
            }
            None => false,
        }
    }

    /// At `/*!`: enters the comment if its version is executed, otherwise moves past it. Returns false if it never
    /// ends.
    fn enter_version_comment(&mut self) -> bool {
        let digits = (3..9).take_while(|&i| self.peek(i).is_ascii_digit()).count();
        let digits = if digits >= 5 { digits } else { 0 };
        let version = self.sql.get(self.position + 3..self.position + 3 + digits).unwrap_or("");
        let executed = version.parse::<u32>().map_or(true, |v| v <= EXECUTED_VERSION || v == OWN_VERSION);
        if executed {
            let rest = self.bytes.get(self.position + 3 + digits..).unwrap_or(&[]);
            if !rest.windows(2).any(|pair| pair == b"*/") {
                return false;
            }
            self.position += 3 + digits;
            self.in_version_comment = true;
            true
        } else {
            self.skip_to_comment_end(3 + digits)
        }
    }

    fn hint_may_follow(&self) -> bool {
        let Some(previous) = self.previous.filter(|t| t.kind == TokenKind::Word) else { return false };
        let word = previous.span.text(self.sql);
        ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"].iter().any(|k| word.eq_ignore_ascii_case(k))
    }

    fn scan(&mut self, start: usize) -> TokenKind {
        let byte = self.peek(0);
        match byte {
            b'\'' => self.quoted(0, b'\'', TokenKind::String),
            b'"' if self.mode.ansi_quotes => self.quoted(0, b'"', TokenKind::QuotedIdent),
            b'"' => self.quoted(0, b'"', TokenKind::String),
            b'`' => self.quoted(0, b'`', TokenKind::QuotedIdent),
            b'n' | b'N' if self.peek(1) == b'\'' => self.quoted(1, b'\'', TokenKind::NationalString),
            b'x' | b'X' if self.peek(1) == b'\'' => self.quoted_digits(TokenKind::Hex),
            b'b' | b'B' if self.peek(1) == b'\'' => self.quoted_digits(TokenKind::Bit),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !self.follows_name(start) => self.number(),
            b'@' => self.variable(),
            b'/' if self.peek(1) == b'*' => {
                // Only a hint gets here: skip_blanks() has taken every other comment.
                if self.skip_to_comment_end(3) { TokenKind::Hint } else { self.rest_is_invalid() }
            }
            b'?' => {
                self.position += 1;
                TokenKind::Parameter
            }
            _ if is_word_byte(byte) => self.word(),
            _ => self.symbol(),
        }
    }

    /// Returns whether a name or a closing quote comes directly before, so that `.5` begins with a qualified name's
    /// dot.
    fn follows_name(&self, start: usize) -> bool {
        self.previous.is_some_and(|t| {
            t.span.end as usize == start && matches!(t.kind, TokenKind::Word | TokenKind::QuotedIdent)
        })
    }

    fn rest_is_invalid(&mut self) -> TokenKind {
        self.position = self.bytes.len();
        TokenKind::Invalid
    }

    /// Reads a quoted token whose opening quote is `prefix` bytes ahead.
    fn quoted(&mut self, prefix: usize, quote: u8, kind: TokenKind) -> TokenKind {
        let escapes = quote != b'`' && kind != TokenKind::QuotedIdent && !self.mode.no_backslash_escapes;
        let mut at = self.position + prefix + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            let found =
                if escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
            let Some(found) = found else { return self.rest_is_invalid() };
            at += found;
            if self.bytes.get(at) == Some(&quote) && self.bytes.get(at + 1) != Some(&quote) {
                self.position = at + 1;
                return kind;
            }
            at += 2;
        }
    }

    /// Reads `x'..'` or `b'..'`.
    fn quoted_digits(&mut self, kind: TokenKind) -> TokenKind {
        let body = self.bytes.get(self.position + 2..).unwrap_or(&[]);
        let Some(length) = body.iter().position(|&b| b == b'\'') else { return self.rest_is_invalid() };
        let digits = body.get(..length).unwrap_or(&[]);
        let valid = match kind {
            TokenKind::Hex => length % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit),
            _ => digits.iter().all(|b| matches!(b, b'0' | b'1')),
        };
        self.position += length + 3;
        if valid { kind } else { TokenKind::Invalid }
    }

    fn word(&mut self) -> TokenKind {
        while is_word_byte(self.peek(0)) {
            self.position += 1;
        }
        TokenKind::Word
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.position += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        let start = self.position;
        if self.previous.is_some_and(|t| {
            t.kind == TokenKind::Symbol(Symbol::Dot) && t.span.end as usize == start && start > 1
        }) {
            return self.word(); // `t.1a`: after a dot a name may begin with a digit
        }
        if let Some(kind) = self.prefixed_number() {
            return kind;
        }
        self.skip_digits();
        if self.peek(0) != b'.' && !matches!(self.peek(0), b'e' | b'E') {
            if is_word_byte(self.peek(0)) {
                return self.word(); // `1st` is a name
            }
            return TokenKind::Integer;
        }
        let mut kind = TokenKind::Decimal;
        let mut exponent_only = true;
        if self.peek(0) == b'.' {
            exponent_only = false;
            self.position += 1;
            self.skip_digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.position += 1 + sign;
                self.skip_digits();
                kind = TokenKind::Float;
                if exponent_only && sign == 0 && is_word_byte(self.peek(0)) {
                    return self.word(); // `1e5x` is a name
                }
            } else if exponent_only {
                return self.word(); // `1e` is a name
            }
        }
        kind
    }

    /// Reads `0x1F` or `0b01`; `None` if the text is neither.
    fn prefixed_number(&mut self) -> Option<TokenKind> {
        if self.peek(0) != b'0' {
            return None;
        }
        let (is_digit, kind): (fn(&u8) -> bool, TokenKind) = match self.peek(1) {
            b'x' => (u8::is_ascii_hexdigit, TokenKind::Hex),
            b'b' => (|b| matches!(b, b'0' | b'1'), TokenKind::Bit),
            _ => return None,
        };
        let rest = self.bytes.get(self.position + 2..).unwrap_or(&[]);
        let length = rest.iter().take_while(|b| is_digit(b)).count();
        if length == 0 || rest.get(length).is_some_and(|&b| is_word_byte(b)) {
            return None;
        }
        self.position += 2 + length;
        Some(kind)
    }

    fn variable(&mut self) -> TokenKind {
        match self.peek(1) {
            b'@' => {
                self.position += 2;
                TokenKind::Symbol(Symbol::AtAt)
            }
            quote @ (b'\'' | b'"' | b'`') => self.quoted(1, quote, TokenKind::UserVariable),
            b if is_word_byte(b) || b == b'.' => {
                self.position += 1;
                while is_word_byte(self.peek(0)) || self.peek(0) == b'.' {
                    self.position += 1;
                }
                TokenKind::UserVariable
            }
            _ => {
                self.position += 1;
                TokenKind::Invalid
            }
        }
    }

    fn symbol(&mut self) -> TokenKind {
        use Symbol::*;
        let (symbol, length) = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'<', b'=', b'>') => (NullSafeEq, 3),
            (b'-', b'>', b'>') => (ArrowText, 3),
            (b'<', b'=', _) => (Le, 2),
            (b'<', b'>', _) | (b'!', b'=', _) => (Ne, 2),
            (b'<', b'<', _) => (ShiftLeft, 2),
            (b'>', b'=', _) => (Ge, 2),
            (b'>', b'>', _) => (ShiftRight, 2),
            (b'-', b'>', _) => (Arrow, 2),
            (b':', b'=', _) => (Assign, 2),
            (b'&', b'&', _) => (AndAnd, 2),
            (b'|', b'|', _) => (OrOr, 2),
            (b'(', ..) => (LeftParen, 1),
            (b')', ..) => (RightParen, 1),
            (b'{', ..) => (LeftBrace, 1),
            (b'}', ..) => (RightBrace, 1),
            (b',', ..) => (Comma, 1),
            (b';', ..) => (Semicolon, 1),
            (b'.', ..) => (Dot, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', ..) => (Minus, 1),
            (b'*', ..) => (Star, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'^', ..) => (Caret, 1),
            (b'~', ..) => (Tilde, 1),
            (b'!', ..) => (Bang, 1),
            (b'&', ..) => (Ampersand, 1),
            (b'|', ..) => (Pipe, 1),
            (b'=', ..) => (Eq, 1),
            (b'<', ..) => (Lt, 1),
            (b'>', ..) => (Gt, 1),
            (b':', ..) => (Colon, 1),
            _ => {
                self.position += 1;
                return TokenKind::Invalid;
            }
        };
        self.position += length;
        TokenKind::Symbol(symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<(TokenKind, &str)> {
        let tokens = tokenize(sql, LexMode::default());
        tokens.iter().take(tokens.len() - 1).map(|t| (t.kind, t.span.text(sql))).collect()
    }

    #[test]
    fn numbers_keep_their_exactness() {
        use TokenKind::*;
        let cases = [
            ("12", Integer),
            ("1.5", Decimal),
            (".5", Decimal),
            ("1.", Decimal),
            ("1e3", Float),
            ("1.5E-3", Float),
            ("0x1F", Hex),
            ("0b101", Bit),
            ("x'00ff'", Hex),
            ("b'01'", Bit),
            ("1st", Word),
            ("1e", Word),
            ("0xyz", Word),
            ("x'0'", Invalid),
            ("b'2'", Invalid),
        ];
        for (sql, kind) in cases {
            assert_eq!(kinds(sql), [(kind, sql)], "{sql}");
        }
    }

    #[test]
    fn a_dot_after_a_name_does_not_start_a_number() {
        use TokenKind::*;
        assert_eq!(kinds("t.1a"), [(Word, "t"), (Symbol(super::Symbol::Dot), "."), (Word, "1a")]);
        assert_eq!(kinds("a .5"), [(Word, "a"), (Decimal, ".5")]);
    }

    #[test]
    fn strings_take_escapes_and_doubled_quotes() {
        assert_eq!(
            kinds(r"'it''s' 'a\'b' "),
            [(TokenKind::String, "'it''s'"), (TokenKind::String, r"'a\'b'")]
        );
        assert_eq!(kinds("'open"), [(TokenKind::Invalid, "'open")]);
        assert_eq!(kinds(r"'open\"), [(TokenKind::Invalid, r"'open\")]);
        assert_eq!(kinds("`a``b`"), [(TokenKind::QuotedIdent, "`a``b`")]);
    }

    #[test]
    fn double_quotes_follow_the_sql_mode() {
        let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
        assert_eq!(tokenize("\"a\"", ansi)[0].kind, TokenKind::QuotedIdent);
        assert_eq!(tokenize("\"a\"", LexMode::default())[0].kind, TokenKind::String);
        let plain = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        assert_eq!(tokenize(r"'a\' 1", plain).len(), 3);
    }

    #[test]
    fn comments_are_skipped_and_version_comments_executed() {
        let words = |sql| kinds(sql).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(words("a -- b\nc # d\ne /* f */ g"), ["a", "c", "e", "g"]);
        assert_eq!(words("1--1"), ["1", "-", "-", "1"]);
        assert_eq!(
            words("a /*! b */ c /*!40101 d */ /*!99999 e */ /*!99990 f */ /*M! g */"),
            ["a", "b", "c", "d", "f"]
        );
        assert_eq!(kinds("a /* b"), [(TokenKind::Word, "a"), (TokenKind::Invalid, "/* b")]);
        assert_eq!(words("/*!40101 SET x */ */"), ["SET", "x", "*", "/"]);
    }

    #[test]
    fn hints_are_tokens_only_where_they_are_allowed() {
        assert_eq!(kinds("SELECT /*+ X */ 1")[1], (TokenKind::Hint, "/*+ X */"));
        assert_eq!(kinds("SELECT 1 /*+ X */").len(), 2);
    }

    #[test]
    fn variables_take_quoted_names() {
        assert_eq!(
            kinds("@a.b @'x y' @@global"),
            [
                (TokenKind::UserVariable, "@a.b"),
                (TokenKind::UserVariable, "@'x y'"),
                (TokenKind::Symbol(Symbol::AtAt), "@@"),
                (TokenKind::Word, "global")
            ]
        );
    }
}
