//! Parses ICU patterns that need backtracking into trees.
//!
//! The crate `regex-syntax` reads what stands for one character (classes, escapes, letters without regard to case),
//! in the form that [`super::rewrite`] writes; this parser reads ICU's operators around that. See ICU's user guide,
//! Regular Expressions.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, HirKind};

use super::rewrite::{Flags, LINE_ENDS, Rewriter, error_of};
use leafline_types::error::MysqlError;

/// A set of characters: ranges of code points, or of bytes, in order.
pub(super) type Set = Box<[(u32, u32)]>;

/// A part of a pattern.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Matches the empty text.
    Empty,
    Char(u32),
    Set(Set),
    Assert(Assertion),
    /// A group with its number, counted from 1.
    Group(Box<Node>, usize),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
        how: Repetition,
    },
    Look {
        node: Box<Node>,
        ahead: bool,
        negated: bool,
    },
    Atomic(Box<Node>),
    BackReference {
        group: usize,
        ignore_case: bool,
    },
}

/// The amount that a repetition takes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetition {
    /// As much as possible.
    Greedy,
    /// As little as possible.
    Lazy,
    /// As much as possible, and never gives any back.
    Possessive,
}

/// A condition on a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    /// `\A`, and `^`.
    TextStart,
    /// `\z`.
    TextEnd,
    /// `\Z`, and `$`: the end, or before a line end that is the last character.
    LastLineEnd,
    /// `^` with the flag m.
    LineStart,
    /// `$` with the flag m.
    LineEnd,
    /// `\b`
    WordBoundary,
    /// `\B`
    NoWordBoundary,
    /// `\G`: where the search began.
    SearchStart,
}

/// A pattern as a tree, the number of its groups, and their names.
#[derive(Debug)]
pub(super) struct Tree {
    pub root: Node,
    pub groups: usize,
    pub names: Vec<(String, usize)>,
}

/// The deepest nesting of groups.
const MAX_DEPTH: usize = 60;
/// The most quantifiers in a row.
const MAX_OPERATORS: usize = 4;

/// Parses a pattern.
///
/// # Errors
/// MySQL's 3688 to 3697, and 1235.
pub(super) fn parse(pattern: &str, flags: Flags) -> Result<Tree, MysqlError> {
    let scope = Scope { flags, comments: false };
    let mut parser = Parser {
        whole: pattern,
        rest: pattern,
        scope,
        groups: 0,
        names: Vec::new(),
        references: Vec::new(),
        depth: 0,
    };
    let root = parser.alternatives()?;
    if !parser.rest.is_empty() {
        return Err(MysqlError::regexp_mismatched_parenthesis());
    }
    if parser.references.iter().any(|group| *group > parser.groups) {
        return Err(MysqlError::regexp_invalid_back_reference());
    }
    Ok(Tree { root, groups: parser.groups, names: parser.names })
}

#[derive(Debug, Clone, Copy)]
struct Scope {
    flags: Flags,
    /// Whether white space and text after a `#` are ignored.
    comments: bool,
}

struct Parser<'p> {
    whole: &'p str,
    rest: &'p str,
    scope: Scope,
    groups: usize,
    names: Vec<(String, usize)>,
    references: Vec<usize>,
    depth: usize,
}

impl<'p> Parser<'p> {
    fn wrong<T>(&self) -> Result<T, MysqlError> {
        let before = &self.whole[..self.whole.len() - self.rest.len()];
        Err(MysqlError::regexp_syntax(1, before.chars().count().max(1)))
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn accept(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_comments(&mut self) {
        while self.scope.comments {
            let trimmed = self.rest.trim_start();
            if let Some(comment) = trimmed.strip_prefix('#') {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else {
                self.rest = trimmed;
                return;
            }
        }
    }

    fn deeper(&mut self) -> Result<(), MysqlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(MysqlError::regexp_too_large()) } else { Ok(()) }
    }

    /// Parses alternatives up to a `)` or the end. Flags set inside apply up to there.
    fn alternatives(&mut self) -> Result<Node, MysqlError> {
        self.deeper()?;
        let around = self.scope;
        let mut all = vec![self.sequence()?];
        while self.accept("|") {
            all.push(self.sequence()?);
        }
        self.scope = around;
        self.depth -= 1;
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Alternate(all) })
    }

    fn sequence(&mut self) -> Result<Node, MysqlError> {
        let mut parts = Vec::new();
        loop {
            self.skip_comments();
            if self.rest.is_empty() || self.rest.starts_with(['|', ')']) {
                break;
            }
            let part = self.atom(&mut parts)?;
            if let Some(part) = part {
                parts.push(self.repeated(part)?);
            }
        }
        Ok(joined(parts))
    }

    /// Parses what one operator may follow; None for a construct that only sets flags or is ignored. Quoted text
    /// except for its last character goes to `parts`.
    fn atom(&mut self, parts: &mut Vec<Node>) -> Result<Option<Node>, MysqlError> {
        let start = self.rest;
        let Some(c) = self.take() else { return Ok(None) };
        let flags = self.scope.flags;
        Ok(Some(match c {
            '(' => return self.group(),
            '[' => {
                self.rest = start;
                self.one_character(|rewriter| {
                    rewriter.take();
                    rewriter.class()
                })?
            }
            '.' => any(flags)?,
            '^' if flags.multi_line => Node::Assert(Assertion::LineStart),
            '^' => Node::Assert(Assertion::TextStart),
            '$' if flags.multi_line => Node::Assert(Assertion::LineEnd),
            '$' => Node::Assert(Assertion::LastLineEnd),
            '*' | '+' | '?' => return self.wrong(),
            '{' => return Err(MysqlError::regexp_bad_interval()),
            '\\' => return self.escape(start, parts),
            c => literal(c, flags)?,
        }))
    }

    /// Parses a class or escape, which the rewriter reads and `regex-syntax` understands.
    fn one_character(
        &mut self,
        read: impl FnOnce(&mut Rewriter<'p>) -> Result<(), MysqlError>,
    ) -> Result<Node, MysqlError> {
        let mut rewriter = Rewriter::new(self.rest, self.scope.flags);
        read(&mut rewriter)?;
        let (rest, text) = rewriter.into_parts();
        self.rest = rest;
        set_of(&text, self.scope.flags)
    }

    fn escape(&mut self, start: &'p str, parts: &mut Vec<Node>) -> Result<Option<Node>, MysqlError> {
        let flags = self.scope.flags;
        let Some(c) = self.rest.chars().next() else { return Err(MysqlError::regexp_bad_escape()) };
        let assertion = match c {
            'A' => Some(Assertion::TextStart),
            'z' => Some(Assertion::TextEnd),
            'Z' => Some(Assertion::LastLineEnd),
            'b' => Some(Assertion::WordBoundary),
            'B' => Some(Assertion::NoWordBoundary),
            'G' => Some(Assertion::SearchStart),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.take();
            return Ok(Some(Node::Assert(assertion)));
        }
        match c {
            'Q' => {
                self.take();
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.rest = rest;
                let mut nodes = quoted.chars().map(|c| literal(c, flags)).collect::<Result<Vec<_>, _>>()?;
                let last = nodes.pop();
                parts.extend(nodes);
                Ok(last)
            }
            'E' => {
                self.take();
                Ok(None)
            }
            'R' => {
                self.take();
                let pair = Node::Concat(vec![Node::Char(0x0D), Node::Char(0x0A)]);
                let one = set_of(&format!("[{LINE_ENDS}]"), flags)?;
                Ok(Some(Node::Atomic(Box::new(Node::Alternate(vec![pair, one])))))
            }
            'X' => {
                self.take();
                Ok(Some(grapheme(flags)?))
            }
            '1'..='9' => Ok(Some(self.number())),
            'k' => {
                self.take();
                let name = self.rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
                let Some((name, rest)) = name else { return Err(MysqlError::regexp_bad_escape()) };
                let Some((_, group)) = self.names.iter().find(|(known, _)| known == name) else {
                    return Err(MysqlError::regexp_invalid_back_reference());
                };
                self.rest = rest;
                Ok(Some(Node::BackReference { group: *group, ignore_case: flags.ignore_case }))
            }
            _ => {
                self.rest = start;
                self.one_character(|rewriter| {
                    rewriter.take();
                    rewriter.escape(false)
                })
                .map(Some)
            }
        }
    }

    /// Parses `\n`: at least one digit, and as many as form the number of a group opened so far.
    fn number(&mut self) -> Node {
        let mut group = 0;
        while let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if group > 0 && longer > self.groups {
                break;
            }
            group = longer;
            self.take();
        }
        self.references.push(group);
        Node::BackReference { group, ignore_case: self.scope.flags.ignore_case }
    }

    /// Parses what follows a `(`.
    fn group(&mut self) -> Result<Option<Node>, MysqlError> {
        if self.accept("?#") {
            let Some((_, rest)) = self.rest.split_once(')') else {
                return Err(MysqlError::regexp_mismatched_parenthesis());
            };
            self.rest = rest;
            return Ok(None);
        }
        for (sign, ahead, negated) in
            [("?=", true, false), ("?!", true, true), ("?<=", false, false), ("?<!", false, true)]
        {
            if self.accept(sign) {
                let node = Box::new(self.inside()?);
                return Ok(Some(Node::Look { node, ahead, negated }));
            }
        }
        if self.accept("?>") {
            return Ok(Some(Node::Atomic(Box::new(self.inside()?))));
        }
        if self.accept("?<") {
            let Some((name, rest)) = self.rest.split_once('>') else { return self.wrong() };
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|b| b.is_ascii_alphanumeric());
            if !is_name || self.names.iter().any(|(known, _)| known == name) {
                return self.wrong();
            }
            self.groups += 1;
            let number = self.groups;
            self.names.push((name.to_owned(), number));
            self.rest = rest;
            return Ok(Some(Node::Group(Box::new(self.inside()?), number)));
        }
        if self.accept("?") {
            return self.flags();
        }
        self.groups += 1;
        let number = self.groups;
        Ok(Some(Node::Group(Box::new(self.inside()?), number)))
    }

    fn inside(&mut self) -> Result<Node, MysqlError> {
        let node = self.alternatives()?;
        if self.accept(")") { Ok(node) } else { Err(MysqlError::regexp_mismatched_parenthesis()) }
    }

    /// Parses `(?flags-flags)`, for the rest of the enclosing group, or `(?flags-flags:..)`.
    fn flags(&mut self) -> Result<Option<Node>, MysqlError> {
        let around = self.scope;
        let mut on = true;
        loop {
            let letter = self.take();
            let flags = &mut self.scope.flags;
            match letter {
                Some('-') => on = false,
                Some('i') => flags.ignore_case = on,
                Some('m') => flags.multi_line = on,
                Some('s') => flags.dot_matches_all = on,
                Some('d') => flags.unix_lines = on,
                Some('x') => self.scope.comments = on,
                // With or without the flag, word boundaries here are those of letters and digits.
                Some('w') => return Err(MysqlError::not_supported("the flag w in regular expressions")),
                Some(')') => return Ok(None),
                Some(':') => {
                    let node = self.inside()?;
                    self.scope = around;
                    return Ok(Some(node));
                }
                _ => return self.wrong(),
            }
        }
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node, MysqlError> {
        let mut operators = 0;
        loop {
            self.skip_comments();
            let (least, most) = match self.rest.chars().next() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => {
                    let Some((body, rest)) = self.rest[1..].split_once('}') else {
                        return Err(MysqlError::regexp_bad_interval());
                    };
                    let bounds = interval(body)?;
                    self.rest = rest;
                    node = self.repetition(node, bounds);
                    operators += 1;
                    if operators > MAX_OPERATORS {
                        return Err(MysqlError::regexp_too_large());
                    }
                    continue;
                }
                _ => return Ok(node),
            };
            self.take();
            node = self.repetition(node, (least, most));
            operators += 1;
            if operators > MAX_OPERATORS {
                return Err(MysqlError::regexp_too_large());
            }
        }
    }

    fn repetition(&mut self, node: Node, (least, most): (u32, Option<u32>)) -> Node {
        let how = match () {
            () if self.accept("?") => Repetition::Lazy,
            () if self.accept("+") => Repetition::Possessive,
            () => Repetition::Greedy,
        };
        Node::Repeat { node: Box::new(node), least, most, how }
    }
}

/// Concatenates parts.
fn joined(mut parts: Vec<Node>) -> Node {
    match parts.len() {
        0 => Node::Empty,
        1 => parts.remove(0),
        _ => Node::Concat(parts),
    }
}

/// Parses `n`, `n,` and `n,m`.
fn interval(body: &str) -> Result<(u32, Option<u32>), MysqlError> {
    let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
        true => digits.parse::<u32>().map_err(|_| MysqlError::regexp_bad_interval()),
        false => Err(MysqlError::regexp_bad_interval()),
    };
    let (least, most) = match body.split_once(',') {
        None => (number(body)?, Some(number(body)?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    match most {
        Some(most) if most < least => Err(MysqlError::regexp_max_below_min()),
        most => Ok((least, most)),
    }
}

/// Returns a character that stands for itself.
fn literal(c: char, flags: Flags) -> Result<Node, MysqlError> {
    if flags.bytes && u32::from(c) > 0x7F {
        // Such bytes are written as escapes.
        return Ok(Node::Concat(c.to_string().bytes().map(|b| Node::Char(b.into())).collect()));
    }
    match flags.ignore_case {
        true => set_of(&regex_syntax::escape(c.encode_utf8(&mut [0; 4])), flags),
        false => Ok(Node::Char(c.into())),
    }
}

fn any(flags: Flags) -> Result<Node, MysqlError> {
    let mut rewriter = Rewriter::new("", flags);
    rewriter.any();
    set_of(&rewriter.into_parts().1, flags)
}

/// Returns `\X`: a character and the marks on it.
fn grapheme(flags: Flags) -> Result<Node, MysqlError> {
    let pair = Node::Concat(vec![Node::Char(0x0D), Node::Char(0x0A)]);
    let marks = Node::Repeat {
        node: Box::new(set_of(r"[\p{M}\x{200D}]", flags)?),
        least: 0,
        most: None,
        how: Repetition::Possessive,
    };
    let marked = Node::Concat(vec![set_of(r"(?s:.)", flags)?, marks]);
    Ok(Node::Atomic(Box::new(Node::Alternate(vec![pair, marked]))))
}

/// Returns the characters of a class, given in the syntax of `regex-syntax`.
fn set_of(text: &str, flags: Flags) -> Result<Node, MysqlError> {
    let parsed = ParserBuilder::new()
        .unicode(!flags.bytes)
        .utf8(!flags.bytes)
        .case_insensitive(flags.ignore_case)
        .build()
        .parse(text);
    let hir = parsed.map_err(|e| error_of(&regex::Error::Syntax(e.to_string()), text))?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            Ok(Node::Set(class.iter().map(|range| (range.start().into(), range.end().into())).collect()))
        }
        HirKind::Class(Class::Bytes(class)) => {
            Ok(Node::Set(class.iter().map(|range| (range.start().into(), range.end().into())).collect()))
        }
        HirKind::Literal(bytes) if flags.bytes => {
            Ok(joined(bytes.0.iter().map(|b| Node::Char((*b).into())).collect()))
        }
        HirKind::Literal(bytes) => {
            let text = String::from_utf8_lossy(&bytes.0);
            Ok(joined(text.chars().map(|c| Node::Char(c.into())).collect()))
        }
        HirKind::Empty => Ok(Node::Empty),
        _ => Err(MysqlError::regexp_bad_escape()),
    }
}
