//! The grammar of queries.
//!
//! Words and phrases in quotes may have an operator before them, in boolean mode, and may be grouped by parentheses. The tree has
//! the shape that InnoDB's grammar gives it, because the evaluation depends on the shape: when a group begins, everything before
//! it on its level becomes a list of its own.
//!
//! ```text
//! query  := item*                        item   := [prefix] term ['*'] | [prefix] phrase ['@' number]
//! prefix := '+' | '-' | '<' | '>' | '~'           | [prefix] '(' query ')'
//! ```

use crate::boolean::{Lexer, Token};
use crate::mode::MatchMode;
use crate::rules::{WordParser, WordRules};
use crate::tokens::{length, words};
use leafline_types::MysqlError;

/// The most groups of a query. They bound the depth of the tree.
const MAX_GROUPS: usize = 500;

/// An operator before a word, a phrase or a group.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Operator {
    /// None: the document may contain it.
    #[default]
    None,
    /// `+`: the document must contain it.
    Exist,
    /// `-`: the document must not contain it.
    Ignore,
    /// `~`: it makes the ranking worse, if the document is found already.
    Negate,
    /// `>`: it makes the ranking better.
    Increase,
    /// `<`: it makes the ranking worse.
    Decrease,
}

impl Operator {
    /// Returns the operator that a character stands for.
    pub(crate) fn of(c: char) -> Option<Operator> {
        Some(match c {
            '+' => Operator::Exist,
            '-' => Operator::Ignore,
            '~' => Operator::Negate,
            '>' => Operator::Increase,
            '<' => Operator::Decrease,
            _ => return None,
        })
    }
}

/// A node of the tree.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Node {
    /// A word, or the beginning of words.
    Term {
        /// The word.
        word: String,
        /// A `*` follows.
        wildcard: bool,
    },
    /// A phrase.
    Phrase {
        /// The text between the quotes.
        text: String,
        /// `@distance`.
        distance: Option<u64>,
    },
    /// A sequence of n-grams.
    Grams(Vec<String>),
    /// The operator of the nodes that follow in the list.
    Operator(Operator),
    /// Several nodes.
    List(Vec<Node>),
    /// A group: nodes in parentheses.
    Group(Vec<Node>),
}

/// Parses a query of an index that has words.
///
/// # Errors
/// 1064 as InnoDB words it; 128 for a query that is nested too deeply.
pub(crate) fn parse(text: &str, mode: MatchMode, rules: &WordRules) -> Result<Option<Node>, MysqlError> {
    let mut lexer = Lexer::new(text, mode == MatchMode::Boolean);
    let token = lexer.next();
    let (min, max) = match rules.parser() {
        WordParser::Words { min, max } => (usize::from(min), usize::from(max)),
        WordParser::Ngram(size) => (0, size.into()),
    };
    let mut parser = Parser { lexer, token, min, max, groups: 0 };
    parser.items(0)
}

/// Returns the error for a query that is nested too deeply.
pub(crate) fn too_deep() -> MysqlError {
    MysqlError::with_message(128, "Table handler out of memory")
}

struct Parser<'q> {
    lexer: Lexer<'q>,
    token: Token<'q>,
    min: usize,
    max: usize,
    /// The number of groups so far.
    groups: usize,
}

impl<'q> Parser<'q> {
    fn advance(&mut self) -> Token<'q> {
        std::mem::replace(&mut self.token, self.lexer.next())
    }

    fn unexpected(&self, expected: &str) -> MysqlError {
        let token = match self.token {
            Token::Symbol(c) => format!("'{c}'"),
            Token::Number(_) => "FTS_NUMB".to_owned(),
            Token::Term(_) => "FTS_TERM".to_owned(),
            Token::Phrase(_) => "FTS_TEXT".to_owned(),
            Token::End => "$end".to_owned(),
        };
        let expecting = if expected.is_empty() { "" } else { ", expecting " };
        MysqlError::with_message(1064, format!("syntax error, unexpected {token}{expecting}{expected}"))
    }

    /// Parses items up to the end, or up to a `)` if `depth` is not zero. Returns nothing if there are none.
    fn items(&mut self, depth: usize) -> Result<Option<Node>, MysqlError> {
        let mut list: Option<Node> = None;
        loop {
            let prefix = match self.token {
                Token::End if depth == 0 => return Ok(list),
                Token::Symbol(')') if depth > 0 => return Ok(list),
                Token::End => return Err(self.unexpected("")),
                Token::Symbol(')' | '@') => {
                    return Err(self.unexpected(if depth == 0 { "$end" } else { "" }));
                }
                Token::Symbol(c) => Operator::of(c),
                _ => None,
            };
            if prefix.is_some() {
                self.advance();
            }
            if self.token == Token::Symbol('(') {
                self.advance();
                self.groups += 1;
                if self.groups > MAX_GROUPS {
                    return Err(too_deep());
                }
                let inner = self.items(depth + 1)?;
                self.advance();
                let group = inner.map(|inner| Node::Group(vec![inner]));
                let before = list.take();
                let nodes = before.into_iter().chain(prefixed(prefix, group));
                list = Some(Node::List(nodes.collect()));
                continue;
            }
            let item = self.item(prefix.is_some())?;
            let nodes = prefixed(prefix, item);
            match &mut list {
                Some(Node::List(list)) => list.extend(nodes),
                _ => list = Some(Node::List(nodes.into_iter().collect())),
            }
        }
    }

    /// Parses a term or a phrase.
    fn item(&mut self, after_prefix: bool) -> Result<Option<Node>, MysqlError> {
        if let Token::Phrase(text) = self.token {
            self.advance();
            let mut distance = None;
            if self.token == Token::Symbol('@') {
                self.advance();
                let Token::Number(number) = self.token else { return Err(self.unexpected("FTS_NUMB")) };
                distance = number.parse().ok().filter(|&distance: &u64| distance != u64::MAX);
                self.advance();
            }
            let text = text.to_owned();
            return Ok((!text.is_empty()).then_some(Node::Phrase { text, distance }));
        }
        let mut expected = if after_prefix { "" } else { "$end" };
        while self.token == Token::Symbol('*') {
            self.advance();
            expected = "FTS_TERM or FTS_NUMB or '*'";
        }
        let (Token::Term(written) | Token::Number(written)) = self.token else {
            return Err(self.unexpected(expected));
        };
        self.advance();
        let mut term = self.term(written);
        if self.token == Token::Symbol('*') {
            self.advance();
            let last = match &mut term {
                Some(Node::List(words)) => words.last_mut(),
                other => other.as_mut(),
            };
            if let Some(Node::Term { wildcard, .. }) = last {
                *wildcard = true;
            }
        }
        Ok(term)
    }

    /// Returns the words of a term: a list if there are several. Words behind the first must not be too short.
    fn term(&self, written: &str) -> Option<Node> {
        let mut found = Vec::new();
        for word in words(written) {
            let length = length(word);
            if length <= self.max && (found.is_empty() || length >= self.min) {
                found.push(Node::Term { word: word.to_owned(), wildcard: false });
            }
        }
        if found.len() > 1 { Some(Node::List(found)) } else { found.pop() }
    }
}

/// Returns a node with its operator.
fn prefixed(prefix: Option<Operator>, node: Option<Node>) -> Option<Node> {
    match prefix {
        Some(operator) => Some(Node::List(std::iter::once(Node::Operator(operator)).chain(node).collect())),
        None => node,
    }
}
