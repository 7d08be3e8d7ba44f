//! Queries in boolean mode of an index with n-grams.
//!
//! They have the syntax of MyISAM: operators count only behind a space or another operator, and no text is wrong. A word
//! becomes the phrase of its n-grams. A word that is shorter and ends with `*` stays the beginning of n-grams.

use crate::syntax::{Node, Operator};
use crate::tokens::{is_word_character, length, ngrams};

/// The most groups within each other.
const MAX_DEPTH: usize = 500;

/// A list, phrase or group that is not closed yet.
struct Open {
    operator: Operator,
    nodes: Vec<Node>,
    /// The n-grams of a phrase.
    grams: Option<Vec<String>>,
}

impl Open {
    fn new(operator: Operator, is_phrase: bool) -> Open {
        Open { operator, nodes: Vec::new(), grams: is_phrase.then(Vec::new) }
    }

    fn push(&mut self, operator: Operator, node: Node) {
        self.nodes.push(match operator {
            Operator::None => node,
            _ => Node::List(vec![Node::Operator(operator), node]),
        });
    }
}

/// The signs before a word.
#[derive(Default)]
struct Signs {
    required: i8,
    weight: i32,
    negated: bool,
}

impl Signs {
    /// Takes a sign; returns false for another character.
    fn take(&mut self, c: char) -> bool {
        match c {
            '+' => self.required = 1,
            '=' => self.required = 0,
            '-' => self.required = -1,
            '>' => self.weight += 1,
            '<' => self.weight -= 1,
            '~' => self.negated = !self.negated,
            _ => return false,
        }
        true
    }

    fn operator(&self) -> Operator {
        match (self.required, self.weight, self.negated) {
            (1, ..) => Operator::Exist,
            (-1, ..) => Operator::Ignore,
            (_, 1.., _) => Operator::Increase,
            (_, ..=-1, _) => Operator::Decrease,
            (.., true) => Operator::Negate,
            _ => Operator::None,
        }
    }
}

/// Parses a query; returns nothing if parentheses do not match.
pub(crate) fn parse(text: &str, size: usize) -> Option<Node> {
    let mut open = vec![Open::new(Operator::None, false)];
    let mut rest = text;
    let mut previous = ' ';
    let mut signs = Signs::default();
    while let Some(c) = rest.chars().next() {
        let in_phrase = open.last().is_some_and(|last| last.grams.is_some());
        if is_word_character(c) {
            let end = rest.find(|c| !is_word_character(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            let is_prefix = behind.starts_with('*');
            rest = if is_prefix { behind.get(1..).unwrap_or_default() } else { behind };
            previous = 'A';
            let operator = std::mem::take(&mut signs).operator();
            let last = open.last_mut()?;
            match &mut last.grams {
                Some(grams) => grams.extend(grams_of(word, size)),
                None if is_prefix && length(word) < size => {
                    last.push(operator, Node::Term { word: word.to_owned(), wildcard: true });
                }
                None => last.push(operator, Node::Grams(grams_of(word, size))),
            }
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '"' | ')' if in_phrase == (c == '"') => {
                let closed = open.pop()?;
                let node = match closed.grams {
                    Some(grams) => Node::Grams(grams),
                    None => Node::Group(closed.nodes),
                };
                open.last_mut()?.push(closed.operator, node);
                signs = Signs::default();
            }
            '(' | '"' if !in_phrase && open.len() < MAX_DEPTH => {
                open.push(Open::new(std::mem::take(&mut signs).operator(), c == '"'));
            }
            _ if !in_phrase && previous == ' ' && signs.take(c) => {}
            _ => {
                previous = c;
                signs = Signs::default();
            }
        }
    }
    if open.last()?.grams.is_some() {
        let closed = open.pop()?;
        open.last_mut()?.push(closed.operator, Node::Grams(closed.grams.unwrap_or_default()));
    }
    let root = open.pop().filter(|_| open.is_empty())?;
    Some(Node::List(root.nodes))
}

/// Returns the n-grams of a word, or the word if it is shorter.
fn grams_of(word: &str, size: usize) -> Vec<String> {
    let grams: Vec<String> = ngrams(word, size).map(str::to_owned).collect();
    if grams.is_empty() { vec![word.to_owned()] } else { grams }
}
