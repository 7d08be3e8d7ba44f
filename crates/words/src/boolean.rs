//! The lexers of queries: InnoDB's for boolean mode and for natural language mode.

/// A token of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token<'q> {
    /// An operator.
    Symbol(char),
    /// Digits.
    Number(&'q str),
    /// Other text without spaces.
    Term(&'q str),
    /// The text between two quotes.
    Phrase(&'q str),
    /// The end of the query.
    End,
}

/// Splits a query into tokens. No text is wrong: what fits nothing is left out.
pub(crate) struct Lexer<'q> {
    rest: &'q str,
    is_boolean: bool,
}

impl<'q> Lexer<'q> {
    pub(crate) fn new(text: &'q str, is_boolean: bool) -> Lexer<'q> {
        Lexer { rest: text, is_boolean }
    }

    fn ends_term(&self, c: char) -> bool {
        matches!(c, '"' | ' ' | '\n' | '%') || self.is_boolean && is_operator(c)
    }

    /// Takes the first `length` bytes.
    fn take(&mut self, length: usize) -> &'q str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Returns the next token.
    pub(crate) fn next(&mut self) -> Token<'q> {
        loop {
            let Some(first) = self.rest.chars().next() else { return Token::End };
            let of_run = |ends: &dyn Fn(char) -> bool| self.rest.find(ends).unwrap_or(self.rest.len());
            let spaces = of_run(&|c| !matches!(c, ' ' | '\t'));
            let term = of_run(&|c| self.ends_term(c));
            if spaces > 0 && spaces >= term {
                self.take(spaces);
                continue;
            }
            if self.is_boolean && is_operator(first) {
                self.take(first.len_utf8());
                return Token::Symbol(first);
            }
            if first == '"'
                && let Some(behind) = self.rest.get(1..)
                && let Some(end) = behind.find(['"', '\n']).filter(|&end| behind[end..].starts_with('"'))
            {
                let quoted = self.take(end + 2);
                return Token::Phrase(quoted.trim_matches('"'));
            }
            if term == 0 {
                self.take(first.len_utf8());
                continue;
            }
            return match self.take(term) {
                "*" => Token::Symbol('*'),
                digits if self.is_boolean && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    Token::Number(digits)
                }
                term => Token::Term(term),
            };
        }
    }
}

fn is_operator(c: char) -> bool {
    matches!(c, '*' | '(' | ')' | '+' | '-' | '<' | '>' | '~' | '@')
}
