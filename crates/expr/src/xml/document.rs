//! A document as a list of nodes in document order.
//!
//! A node knows its parent and the end of its subtree, so that its descendants are a range of the list. Attributes
//! are children of their element, before its content; their values, like text, are text nodes below them. Node 0 is
//! the root, which contains everything.

use std::ops::Range;

use leafline_types::error::MysqlError;
use leafline_types::memory::MemoryBudget;
use leafline_types::statement::CancelTicker;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The root, an element, or a declaration.
    Element,
    /// An attribute.
    Attribute,
    /// Text, or the value of an attribute.
    Text,
}

/// A node. Places are bytes of the document's text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) parent: u32,
    /// The number of the first node behind its subtree.
    pub(crate) end_of_subtree: u32,
    name: (u32, u32),
    place: (u32, u32),
}

/// The limits of the work on a document: counts its memory, and checks for cancellation.
#[derive(Debug)]
pub(crate) struct Bounds<'c> {
    pub(crate) steps: CancelTicker<'c>,
    memory: &'c MemoryBudget,
    held: usize,
}

impl<'c> Bounds<'c> {
    /// Makes limits of which nothing is used.
    pub(crate) fn new(steps: CancelTicker<'c>, memory: &'c MemoryBudget) -> Bounds<'c> {
        Bounds { steps, memory, held: 0 }
    }

    /// Takes memory for `count` more values of type `T`; all of it is returned at the end.
    ///
    /// # Errors
    /// 1038 if the statement may not have that much; 1317 or 3024 if it has to end.
    pub(crate) fn grow<T>(&mut self, count: usize) -> Result<(), MysqlError> {
        let bytes = count * size_of::<T>();
        self.memory.take(bytes)?;
        self.held += bytes;
        self.steps.take(bytes)
    }
}

impl Drop for Bounds<'_> {
    fn drop(&mut self) {
        self.memory.give_back(self.held);
    }
}

/// Why there is no document.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The text is not XML; the text of warning 1525.
    Malformed(String),
    /// The statement ends with this error.
    Error(MysqlError),
}

impl From<MysqlError> for Failure {
    fn from(error: MysqlError) -> Failure {
        Failure::Error(error)
    }
}

/// A document.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    text: &'t [u8],
    nodes: Vec<Node>,
}

impl<'t> Document<'t> {
    /// Reads a document.
    pub(crate) fn parse(text: &'t [u8], bounds: &mut Bounds<'_>) -> Result<Document<'t>, Failure> {
        let root = Node {
            kind: Kind::Element,
            parent: 0,
            end_of_subtree: 0,
            name: (0, 0),
            place: (0, place(text.len())),
        };
        let scanner = Scanner { text, at: 0 };
        let mut reader = Reader { scanner, nodes: vec![root], open: vec![0], bounds };
        reader.read()?;
        let mut nodes = reader.nodes;
        nodes[0].end_of_subtree = place(nodes.len());
        Ok(Document { text, nodes })
    }

    /// Returns a node.
    pub(crate) fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// Returns the name of an element or attribute, or the text of a text node.
    pub(crate) fn name(&self, number: u32) -> &'t [u8] {
        let (begin, end) = self.node(number).name;
        &self.text[begin as usize..end as usize]
    }

    /// Returns where the node is in the text, with its tags, or with its name and the quotes of its value.
    pub(crate) fn place(&self, number: u32) -> Range<usize> {
        let (begin, end) = self.node(number).place;
        begin as usize..end as usize
    }

    /// Returns the numbers of a node's children, attributes among them.
    pub(crate) fn children(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.node(number).end_of_subtree;
        let first = (number + 1 < end).then_some(number + 1);
        std::iter::successors(first, move |child| {
            let next = self.node(*child).end_of_subtree;
            (next < end).then_some(next)
        })
    }
}

fn place(at: usize) -> u32 {
    // Values are shorter: `max_allowed_packet` is at most 1 GiB.
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A token of XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Name,
    Quoted,
    Comment,
    CharacterData,
    /// One of `?=/<>!`.
    Sign(u8),
    Unknown,
}

impl Token {
    /// Returns its name in messages.
    fn message_name(self) -> String {
        match self {
            Token::End => "END-OF-INPUT".into(),
            Token::Name => "IDENT".into(),
            Token::Quoted => "STRING".into(),
            Token::Comment => "COMMENT".into(),
            Token::CharacterData => "CDATA".into(),
            Token::Sign(sign) => format!("'{}'", char::from(sign)),
            Token::Unknown => "unknown token".into(),
        }
    }
}

/// Reads tokens.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

const COMMENT: &[u8] = b"<!--";
const CHARACTER_DATA: &[u8] = b"<![CDATA[";

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

impl Scanner<'_> {
    /// Returns the place of `wanted` from the current one on, or the end.
    fn find(&self, wanted: &[u8]) -> Option<usize> {
        memchr::memmem::find(&self.text[self.at..], wanted).map(|found| self.at + found)
    }

    /// Reads the next token, and returns it with the place of its content.
    fn next(&mut self) -> (Token, Range<usize>) {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        let (begin, rest) = (self.at, &self.text[self.at..]);
        let Some(first) = rest.first() else { return (Token::End, begin..begin) };
        if rest.starts_with(COMMENT) {
            self.at = self.find(b"-->").map_or(self.text.len(), |found| found + 3);
            return (Token::Comment, begin..self.at);
        }
        if rest.starts_with(CHARACTER_DATA) {
            let found = self.find(b"]]>");
            self.at = found.map_or(self.text.len(), |found| found + 3);
            return (Token::CharacterData, begin + CHARACTER_DATA.len()..found.unwrap_or(self.at));
        }
        self.at += 1;
        match first {
            b'?' | b'=' | b'/' | b'<' | b'>' | b'!' => (Token::Sign(*first), begin..self.at),
            b'"' | b'\'' => {
                let end = memchr::memchr(*first, &self.text[self.at..]).map(|found| self.at + found);
                let content = self.at..end.unwrap_or(self.text.len());
                self.at = end.map_or(self.text.len(), |end| end + 1);
                (Token::Quoted, content)
            }
            first if begins_name(*first) => {
                self.at = begin + rest.iter().take_while(|byte| continues_name(**byte)).count();
                (Token::Name, begin..self.at)
            }
            _ => (Token::Unknown, begin..self.at),
        }
    }
}

/// Makes nodes of tokens.
struct Reader<'t, 'b, 'c> {
    scanner: Scanner<'t>,
    nodes: Vec<Node>,
    /// The open nodes, outermost first; the root is always among them.
    open: Vec<u32>,
    bounds: &'b mut Bounds<'c>,
}

impl Reader<'_, '_, '_> {
    fn read(&mut self) -> Result<(), Failure> {
        let text = self.scanner.text;
        while self.scanner.at < text.len() {
            let begin = self.scanner.at;
            if text[begin] == b'<' {
                self.tag(begin)?;
                continue;
            }
            let end = memchr::memchr(b'<', &text[begin..]).map_or(text.len(), |found| begin + found);
            self.scanner.at = end;
            self.text(begin..end)?;
        }
        if self.open.len() > 1 {
            return Err(self.malformed("unexpected END-OF-INPUT".into()));
        }
        Ok(())
    }

    /// Reads a tag, a comment, character data or a declaration, which begins at `begin`.
    fn tag(&mut self, begin: usize) -> Result<(), Failure> {
        let (token, content) = self.scanner.next();
        match token {
            Token::Comment => return Ok(()),
            Token::CharacterData => return self.text(content),
            _ => {}
        }
        let (mut token, mut content) = self.scanner.next();
        if token == Token::Sign(b'/') {
            return self.end_tag();
        }
        let declaration = match token {
            Token::Sign(sign @ (b'!' | b'?')) => {
                (token, content) = self.scanner.next();
                Some(sign)
            }
            _ => None,
        };
        if token != Token::Name {
            return Err(self.unexpected(token, "ident or '/' wanted"));
        }
        let element = self.begin(Kind::Element, content, begin)?;
        let mut token = self.attributes(declaration == Some(b'!'))?;
        let mut is_closed = declaration.is_some();
        if token == Token::Sign(b'/') {
            is_closed = true;
            token = self.scanner.next().0;
        }
        if declaration == Some(b'?') {
            if token != Token::Sign(b'?') {
                return Err(self.unexpected(token, "'?' wanted"));
            }
            token = self.scanner.next().0;
        }
        if token != Token::Sign(b'>') {
            return Err(self.unexpected(token, "'>' wanted"));
        }
        if is_closed {
            self.end(element);
        }
        Ok(())
    }

    /// Reads the attributes of a tag, and returns the token behind them. In a declaration, strings may stand alone.
    fn attributes(&mut self, is_declaration: bool) -> Result<Token, Failure> {
        let mut next = self.scanner.next();
        loop {
            let (token, name) = next;
            match token {
                Token::Quoted if is_declaration => {
                    next = self.scanner.next();
                    continue;
                }
                Token::Name => {}
                token => return Ok(token),
            }
            let begin = name.start;
            let attribute = self.begin(Kind::Attribute, name, begin)?;
            next = self.scanner.next();
            if next.0 == Token::Sign(b'=') {
                let (token, value) = self.scanner.next();
                if !matches!(token, Token::Name | Token::Quoted) {
                    return Err(self.unexpected(token, "ident or string wanted"));
                }
                self.text(value)?;
                next = self.scanner.next();
                self.end_at(attribute, self.end_of_attribute(begin));
                continue;
            }
            self.end_at(attribute, begin + self.nodes[attribute as usize].length());
            // As in MySQL, a second name right behind one without a value is skipped.
            if next.0 == Token::Name {
                next = self.scanner.next();
            }
        }
    }

    /// Returns where an attribute ends whose value was the last node made.
    fn end_of_attribute(&self, begin: usize) -> usize {
        let value = self.nodes.last().map_or(begin, |node| node.name.1 as usize);
        let quoted = matches!(self.scanner.text.get(value), Some(b'"' | b'\''));
        if quoted { value + 1 } else { value }
    }

    fn end_tag(&mut self) -> Result<(), Failure> {
        let (token, name) = self.scanner.next();
        if token != Token::Name {
            return Err(self.unexpected(token, "ident wanted"));
        }
        let text = self.scanner.text;
        let shown = |name: &[u8]| format!("'</{}>'", String::from_utf8_lossy(name));
        let name = &text[name];
        let innermost = self.open.last().copied().unwrap_or(0);
        let (begin, end) = self.nodes[innermost as usize].name;
        let wanted = &text[begin as usize..end as usize];
        if innermost == 0 || wanted != name {
            let wanted = if innermost == 0 { "END-OF-INPUT".into() } else { shown(wanted) };
            return Err(self.malformed(format!("{} unexpected ({wanted} wanted)", shown(name))));
        }
        let token = self.scanner.next().0;
        if token != Token::Sign(b'>') {
            return Err(self.unexpected(token, "'>' wanted"));
        }
        self.end(innermost);
        Ok(())
    }

    fn add(&mut self, kind: Kind, name: Range<usize>, begin: usize) -> Result<u32, Failure> {
        self.bounds.grow::<Node>(1)?;
        let number = place(self.nodes.len());
        let parent = self.open.last().copied().unwrap_or(0);
        let (name, place) = ((place(name.start), place(name.end)), (place(begin), place(name.end)));
        self.nodes.push(Node { kind, parent, end_of_subtree: number + 1, name, place });
        Ok(number)
    }

    fn begin(&mut self, kind: Kind, name: Range<usize>, begin: usize) -> Result<u32, Failure> {
        let number = self.add(kind, name, begin)?;
        self.open.push(number);
        Ok(number)
    }

    fn text(&mut self, content: Range<usize>) -> Result<(), Failure> {
        self.bounds.steps.take(content.len())?;
        let begin = content.start;
        self.add(Kind::Text, content, begin).map(|_| ())
    }

    /// Ends the innermost node before the next token.
    fn end(&mut self, number: u32) {
        self.end_at(number, self.scanner.at);
    }

    fn end_at(&mut self, number: u32, at: usize) {
        self.open.pop();
        let end_of_subtree = place(self.nodes.len());
        let node = &mut self.nodes[number as usize];
        (node.end_of_subtree, node.place.1) = (end_of_subtree, place(at));
    }

    fn unexpected(&self, token: Token, wanted: &str) -> Failure {
        self.malformed(format!("{} unexpected ({wanted})", token.message_name()))
    }

    fn malformed(&self, what: String) -> Failure {
        let before = &self.scanner.text[..self.scanner.at];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = self.scanner.at - memchr::memrchr(b'\n', before).unwrap_or(0) + 1;
        Failure::Malformed(format!("parse error at line {line} pos {column}: {what}"))
    }
}

impl Node {
    /// Returns the length in bytes of its name or text.
    fn length(&self) -> usize {
        (self.name.1 - self.name.0) as usize
    }
}
