//! Reads a script of SQL as a stream: it may be larger than memory, and so may one of its INSERTs.
//!
//! Statements end at the delimiter outside of quotes and comments; `DELIMITER` changes it, as in MySQL's clients. Without it,
//! semicolons in the body of a stored program belong to the program.

use leafline_syntax::{LexMode, is_open_program};
use leafline_types::Charset;
use memchr::{memchr_iter, memchr3};
use std::io::{self, Read};

/// Bytes per read.
const CHUNK: usize = 256 << 10;
/// The most bytes of a statement that is read as a whole, or of one value.
pub const LONGEST: usize = 1 << 30;

/// The content of an `UnexpectedEof` for a comment without an end: its line.
#[derive(Debug, thiserror::Error)]
#[error("the comment that begins in line {0} has no end")]
struct OpenComment(u64);

/// Whether an error means that a comment has no end.
pub fn is_open_comment(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<OpenComment>())
}

/// The script.
pub struct Script<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    is_at_end: bool,
    /// The line of the next byte, from 1.
    pub line: u64,
    delimiter: Vec<u8>,
}

impl<R: Read> Script<R> {
    pub fn new(input: R) -> Script<R> {
        let delimiter = b";".to_vec();
        Script { input, buffer: Vec::new(), at: 0, is_at_end: false, line: 1, delimiter }
    }

    /// Returns the next `bytes` bytes, or fewer if the script ends.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.at < bytes && !self.is_at_end {
            if self.at > 0 {
                self.buffer.drain(..self.at);
                self.at = 0;
            }
            let before = self.buffer.len();
            self.buffer.resize(before + bytes.max(CHUNK), 0);
            let space = self.buffer.get_mut(before..).unwrap_or_default();
            let read = self.input.read(space);
            self.buffer.truncate(before + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => self.is_at_end = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let rest = self.rest();
        Ok(rest.get(..bytes).unwrap_or(rest))
    }

    /// Returns the next byte without consuming it.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn next(&mut self) -> io::Result<Option<u8>> {
        match self.buffer.get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None => Ok(self.peek(1)?.first().copied()),
        }
    }

    /// Returns the buffered bytes.
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Skips buffered bytes.
    pub fn skip(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.buffer.len());
        let passed = self.buffer.get(self.at..end).unwrap_or_default();
        self.line += match passed {
            [byte] => u64::from(*byte == b'\n'),
            many => memchr_iter(b'\n', many).count() as u64,
        };
        self.at = end;
    }

    /// Appends buffered bytes to `into` and skips them.
    fn take(&mut self, bytes: usize, into: &mut Vec<u8>) {
        let end = (self.at + bytes).min(self.buffer.len());
        into.extend_from_slice(self.buffer.get(self.at..end).unwrap_or_default());
        self.skip(bytes);
    }

    /// Skips blanks.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn skip_blanks(&mut self) -> io::Result<()> {
        while self.next()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.skip(1);
        }
        Ok(())
    }

    /// Skips what stands between statements: blanks, comments without a meaning, empty statements, commands of
    /// MySQL's clients.
    ///
    /// # Errors
    /// Errors of reading; `UnexpectedEof` for a comment without an end ([`is_open_comment`]).
    pub fn skip_to_statement(&mut self) -> io::Result<()> {
        loop {
            self.skip_blanks()?;
            let delimiter = self.delimiter.clone();
            let start = self.peek(delimiter.len().max(16))?;
            if start.starts_with(&delimiter) {
                self.skip(delimiter.len());
            } else if start.starts_with(b"#") || is_dashes(start) {
                self.skip_line()?;
            } else if start.starts_with(b"/*M!999999\\-") || (start.starts_with(b"/*") && !is_executed(start))
            {
                self.skip_comment()?;
            } else if start.get(..10).is_some_and(|word| word.eq_ignore_ascii_case(b"DELIMITER ")) {
                let mut line = Vec::new();
                self.take_line(&mut line)?;
                let delimiter = line.get(10..).unwrap_or_default().trim_ascii();
                if !delimiter.is_empty() {
                    self.delimiter = delimiter.to_vec();
                }
            } else {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        self.take_line(&mut Vec::new())
    }

    /// Appends the rest of the line, and skips its end.
    fn take_line(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        while self.next()?.is_some() {
            let end = memchr::memchr(b'\n', self.rest());
            let length = end.unwrap_or(self.rest().len());
            self.take(length, into);
            if end.is_some() {
                self.skip(1);
                break;
            }
        }
        Ok(())
    }

    /// Takes a comment to the end of the line, or the end alone if the statement keeps no comments.
    fn take_comment_line(&mut self, statement: &mut Vec<u8>) -> io::Result<()> {
        match keeps_comments(statement) {
            true => self.take_line(statement)?,
            false => self.skip_line()?,
        }
        statement.push(b'\n');
        Ok(())
    }

    fn skip_comment(&mut self) -> io::Result<()> {
        self.pass_comment(&mut |script, bytes| {
            script.skip(bytes);
            Ok(())
        })
    }

    fn take_comment(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        self.pass_comment(&mut |script, bytes| {
            script.take(bytes, into);
            if into.len() > LONGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
        })
    }

    /// Calls `pass` with the number of the next bytes of a comment, again and again; it skips or takes them.
    fn pass_comment(&mut self, pass: &mut dyn FnMut(&mut Self, usize) -> io::Result<()>) -> io::Result<()> {
        let first = self.line;
        pass(self, 2)?;
        while !self.peek(2)?.is_empty() {
            if self.rest().starts_with(b"*/") {
                return pass(self, 2);
            }
            pass(self, 1)?;
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, OpenComment(first)))
    }

    /// Reads a statement as a whole, without its delimiter. The end of the script ends the last one; `None` if there
    /// is no more.
    ///
    /// # Errors
    /// Errors of reading; `FileTooLarge`; `UnexpectedEof` if the script ends within a quoted text or a comment.
    pub fn statement(&mut self, charset: Charset, mode: LexMode) -> io::Result<Option<Vec<u8>>> {
        let mut statement = Vec::new();
        let delimiter = self.delimiter.clone();
        let first = delimiter.first().copied().unwrap_or(b';');
        let mut part = 0;
        while let Some(byte) = self.next()? {
            if statement.len() > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            match byte {
                b'\'' | b'"' | b'`' => self.take_quoted((byte, charset), mode, &mut statement)?,
                byte if byte == first && self.peek(delimiter.len())?.starts_with(&delimiter) => {
                    self.skip(delimiter.len());
                    if delimiter != b";" || !is_open(&mut statement, part, mode) {
                        return Ok(Some(statement));
                    }
                    part = statement.len();
                }
                b'#' => self.take_comment_line(&mut statement)?,
                b'-' if is_dashes(self.peek(3)?) => self.take_comment_line(&mut statement)?,
                b'/' if self.peek(4)?.starts_with(b"/*") && !is_executed(self.peek(4)?) => {
                    match keeps_comments(&statement) {
                        true => self.take_comment(&mut statement)?,
                        false => {
                            self.skip_comment()?;
                            statement.push(b' ');
                        }
                    }
                }
                0x80.. if charset.has_ascii_within() => self.take_character(charset, &mut statement)?,
                byte => {
                    statement.push(byte);
                    self.skip(1);
                }
            }
        }
        let is_empty = statement.iter().all(u8::is_ascii_whitespace);
        Ok((!is_empty).then_some(statement))
    }

    /// Takes a character of a set whose second bytes may be ASCII bytes.
    fn take_character(&mut self, charset: Charset, into: &mut Vec<u8>) -> io::Result<()> {
        let length = charset.first_len(self.peek(charset.max_bytes() as usize)?);
        self.take(length, into);
        Ok(())
    }

    /// Takes a quoted text unchanged.
    fn take_quoted(
        &mut self,
        (quote, charset): (u8, Charset),
        mode: LexMode,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        let escape = if quote == b'`' || mode.no_backslash_escapes { quote } else { b'\\' };
        self.take(1, into);
        loop {
            if self.next()?.is_none() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if into.len() > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut found = memchr3(quote, escape, quote, self.rest());
            if charset.has_ascii_within() {
                let ascii = self.rest().iter().take_while(|byte| byte.is_ascii()).count();
                if found.is_none_or(|found| ascii < found) && ascii < self.rest().len() {
                    self.take(ascii, into);
                    self.take_character(charset, into)?;
                    continue;
                }
                found = found.filter(|found| *found <= ascii);
            }
            self.take(found.unwrap_or(self.rest().len()), into);
            match found.map(|_| self.rest().first().copied()) {
                Some(Some(byte)) if byte == quote => {
                    self.take(1, into);
                    return Ok(());
                }
                Some(Some(_)) => {
                    self.peek(2)?;
                    self.take(2, into);
                }
                _ => {}
            }
        }
    }

    /// Reads the value of a quoted text. A doubled quote stands for one; a backslash makes the next character
    /// literal, or gives it another meaning, unless the mode makes it an ordinary character.
    ///
    /// # Errors
    /// The errors of [`statement`](Self::statement).
    pub fn text(&mut self, mode: LexMode, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        let Some(quote) = self.next()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let escape = if mode.no_backslash_escapes { quote } else { b'\\' };
        self.skip(1);
        loop {
            if self.next()?.is_none() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if into.len() > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let found = memchr3(quote, escape, quote, self.rest());
            self.take(found.unwrap_or(self.rest().len()), into);
            if found.is_none() {
                continue;
            }
            let two = self.peek(2)?;
            match (two.first().copied(), two.get(1).copied()) {
                (Some(byte), Some(next)) if byte == quote && next == quote => {
                    into.push(quote);
                    self.skip(2);
                }
                (Some(byte), _) if byte == quote => {
                    self.skip(1);
                    return Ok(());
                }
                (_, Some(next)) => {
                    match next {
                        b'0' => into.push(0),
                        b'b' => into.push(8),
                        b'n' => into.push(b'\n'),
                        b'r' => into.push(b'\r'),
                        b't' => into.push(b'\t'),
                        b'Z' => into.push(0x1a),
                        // LIKE handles these escapes later.
                        b'%' | b'_' => into.extend_from_slice(&[b'\\', next]),
                        other => into.push(other),
                    }
                    self.skip(2);
                }
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

/// Adds a semicolon to a statement if it belongs to the body of a stored program, and returns whether it does.
fn is_open(statement: &mut Vec<u8>, part: usize, mode: LexMode) -> bool {
    let start = statement.trim_ascii_start();
    let begins = |word: &[u8]| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if ![&b"CREATE"[..], b"ALTER", b"/*"].into_iter().any(begins) {
        return false;
    }
    statement.push(b';');
    // Bytes of other character sets stand in names, strings and comments, where they do not count.
    let is_open = match std::str::from_utf8(statement) {
        Ok(text) => is_open_program(text, part, mode),
        Err(_) => {
            let ascii = statement.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { 'x' });
            is_open_program(&ascii.collect::<String>(), part, mode)
        }
    };
    if !is_open {
        statement.pop();
    }
    is_open
}

/// Whether a statement that begins like this keeps its comments, because it may define a stored program, whose text they belong to.
fn keeps_comments(statement: &[u8]) -> bool {
    let start = statement.trim_ascii_start();
    start.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"CREATE"))
}

/// Whether it begins a comment to the end of the line.
fn is_dashes(start: &[u8]) -> bool {
    start.starts_with(b"--")
        && start.get(2).is_none_or(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// Whether a comment contains text that is executed.
fn is_executed(start: &[u8]) -> bool {
    [&b"/*!"[..], b"/*M!", b"/*+"].iter().any(|mark| start.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time.
    struct Slow<'s>(&'s [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    fn statements(script: &str) -> io::Result<Vec<(u64, String)>> {
        let mut script = Script::new(Slow(script.as_bytes()));
        let mut found = Vec::new();
        loop {
            script.skip_to_statement()?;
            let line = script.line;
            match script.statement(Charset::Utf8mb4, LexMode::default())? {
                Some(text) => found.push((line, String::from_utf8(text).unwrap())),
                None => return Ok(found),
            }
        }
    }

    #[test]
    fn statements_end_at_the_delimiter() {
        let script = "/*M!999999\\- enable the sandbox mode */\n-- a; b\n;\nSELECT ';\\'', \";\", `;` /* ; */ -- ;\n ;\n/*!40101 SET a=1 */;\nDELIMITER ;;\nCREATE TRIGGER t BEGIN a; END;;\ndelimiter ;\nlast";
        let expected = [
            (4, "SELECT ';\\'', \";\", `;`   \n "),
            (6, "/*!40101 SET a=1 */"),
            (8, "CREATE TRIGGER t BEGIN a; END"),
            (10, "last"),
        ];
        assert_eq!(statements(script).unwrap(), expected.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(statements("SELECT 'a").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        // Comments are a part of stored programs.
        let program = "CREATE FUNCTION f() RETURNS INT\nBEGIN -- it's ;\n  /* ; */ RETURN 1; # one;\nEND";
        let script = format!("DELIMITER ;;\n{program};;\nSELECT 1 -- one\n;;");
        let expected = [(2, program.to_owned()), (6, "SELECT 1 \n".to_owned())];
        assert_eq!(statements(&script).unwrap(), expected);
        assert_eq!(statements(" -- only\n/* comments */ # and /*").unwrap(), []);
        for (script, line) in [(" -- only\n/* comments", 2), ("SELECT 1\n\n + /*; 2*", 3), ("/*", 1)] {
            let error = statements(script).unwrap_err();
            let text = format!("the comment that begins in line {line} has no end");
            assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::UnexpectedEof, text));
        }
    }

    #[test]
    fn programs_end_at_their_ends_without_a_delimiter() {
        let script =
            "CREATE PROCEDURE p() BEGIN\nSELECT 'é;'; SELECT 2; END; SELECT 3;\nDELIMITER //\nSELECT 4;//";
        let expected = [
            (1, "CREATE PROCEDURE p() BEGIN\nSELECT 'é;'; SELECT 2; END"),
            (2, "SELECT 3"),
            (4, "SELECT 4;"),
        ];
        assert_eq!(statements(script).unwrap(), expected.map(|(line, text)| (line, text.to_owned())));
        let mut script = Script::new(&b"CREATE PROCEDURE p() BEGIN SELECT '\xe9'; END; x"[..]);
        let text = script.statement(Charset::Latin1, LexMode::default()).unwrap().unwrap();
        assert!(text.ends_with(b"; END"), "{text:?}");
    }

    #[test]
    fn texts_are_unescaped() {
        for (written, value) in [
            (r"'a\'b''c\\\n\0\Z\q\%'", &b"a'b'c\\\n\0\x1aq\\%"[..]),
            (r#""a""b'c""#, br#"a"b'c"#),
            ("''", b""),
        ] {
            let mut script = Script::new(Slow(written.as_bytes()));
            let mut text = Vec::new();
            script.text(LexMode::default(), &mut text).unwrap();
            assert_eq!(text, value, "{written}");
        }
        let mut script = Script::new(&b"'a\\'"[..]);
        let mut text = Vec::new();
        let mode = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        script.text(mode, &mut text).unwrap();
        assert_eq!(text, b"a\\");
    }
}
