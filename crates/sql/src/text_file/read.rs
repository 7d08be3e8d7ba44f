//! Finds the fields of lines as MySQL does. A field that begins with the quote ends with a quote before a
//! terminator, and a quote within it is doubled. The escape character takes the meaning from the next
//! character or gives it another one.

use leafline_syntax::TextFormat;
use leafline_types::Charset;
use std::io::{self, Read};

/// Size of a read, in bytes.
const CHUNK: usize = 64 << 10;

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The line or the file has no more fields.
    Missing,
    /// NULL: `\N`, or the bare word NULL where fields are enclosed.
    Null,
    /// Text.
    Text,
}

/// Reads the fields of a file, line by line.
pub(crate) struct LineReader<'f, R> {
    format: &'f TextFormat,
    /// Empty if lines end with the terminator of fields.
    line_end: &'f [u8],
    input: R,
    buffer: Vec<u8>,
    at: usize,
    /// True until the text of `LINES STARTING BY` was found.
    before_start: bool,
    at_line_end: bool,
    most_bytes: usize,
    /// The character set of the text.
    charset: Charset,
}

impl<'f, R: Read> LineReader<'f, R> {
    /// Reads `input`; a field may have `most_bytes` bytes.
    pub(crate) fn new(input: R, format: &'f TextFormat, most_bytes: usize) -> LineReader<'f, R> {
        let line_end = if format.line_end == format.field_end { &[][..] } else { &format.line_end };
        LineReader {
            format,
            line_end,
            input,
            buffer: Vec::new(),
            at: 0,
            before_start: !format.line_start.is_empty(),
            at_line_end: false,
            most_bytes,
            charset: Charset::Utf8mb4,
        }
    }

    /// Sets the character set of the text: in some, the second byte of a character equals an ASCII character.
    pub(crate) fn in_charset(self, charset: Charset) -> Self {
        LineReader { charset, ..self }
    }

    /// Takes the character that begins with `first` if its other bytes may look like ASCII. Returns true if
    /// it did.
    fn take_character(&mut self, first: u8, out: &mut Vec<u8>) -> io::Result<bool> {
        if first.is_ascii() || !self.charset.has_ascii_within() {
            return Ok(false);
        }
        self.at -= 1;
        self.fill(self.charset.max_bytes() as usize)?;
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let len = self.charset.first_len(rest).min(rest.len());
        out.extend_from_slice(rest.get(..len).unwrap_or(rest));
        self.at += len;
        Ok(true)
    }

    /// Reads until the buffer holds `bytes` unread bytes, or the file ends.
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        while self.buffer.len() - self.at < bytes {
            self.buffer.drain(..self.at);
            self.at = 0;
            let before = self.buffer.len();
            self.buffer.resize(before + CHUNK, 0);
            let read = match self.buffer.get_mut(before..) {
                Some(space) => self.input.read(space),
                None => Ok(0),
            };
            self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        self.fill(1)?;
        let byte = self.buffer.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Skips `text` if it comes next.
    fn accept(&mut self, text: &[u8]) -> io::Result<bool> {
        if text.is_empty() {
            return Ok(false);
        }
        self.fill(text.len())?;
        let stands = self.buffer.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        if stands {
            self.at += text.len();
        }
        Ok(stands)
    }

    /// Reads the next field of the line into `out`.
    ///
    /// # Errors
    /// Errors of reading; `FileTooLarge` for a field with too many bytes.
    pub(crate) fn field(&mut self, out: &mut Vec<u8>) -> io::Result<Field> {
        out.clear();
        if self.at_line_end {
            return Ok(Field::Missing);
        }
        while self.before_start {
            if self.accept(&self.format.line_start)? {
                self.before_start = false;
            } else if self.next()?.is_none() {
                self.at_line_end = true;
                return Ok(Field::Missing);
            }
        }
        self.fill(1)?;
        let Some(&first) = self.buffer.get(self.at) else {
            self.at_line_end = true;
            return Ok(Field::Missing);
        };
        let quote = self.format.quote.filter(|quote| *quote == first);
        self.at += usize::from(quote.is_some());
        let mut escaped_n = false;
        let enclosed = self.rest_of_field(quote, out, &mut escaped_n)?;
        let is_word = !enclosed && self.format.quote.is_some() && out == b"NULL";
        // Without an escape character NULL is written as the word.
        let is_word = is_word || (!enclosed && self.format.escape.is_none() && out == b"NULL");
        let is_null = is_word || (escaped_n && out.len() == 1);
        Ok(if is_null { Field::Null } else { Field::Text })
    }

    /// Reads the field up to its terminator. Returns true if the field was enclosed.
    fn rest_of_field(
        &mut self,
        quote: Option<u8>,
        out: &mut Vec<u8>,
        escaped_n: &mut bool,
    ) -> io::Result<bool> {
        loop {
            if out.len() > self.most_bytes {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            if quote.is_none() {
                if self.accept(self.line_end)? {
                    self.at_line_end = true;
                    return Ok(false);
                }
                if self.accept(&self.format.field_end)? {
                    return Ok(false);
                }
            }
            let Some(byte) = self.next()? else {
                self.at_line_end = true;
                // A field whose first quote is never closed is not enclosed.
                if let Some(quote) = quote {
                    out.insert(0, quote);
                }
                return Ok(false);
            };
            if self.take_character(byte, out)? {
                continue;
            }
            if Some(byte) == self.format.escape && self.format.escape != self.format.quote {
                match self.next()? {
                    Some(next) => {
                        *escaped_n |= next == b'N';
                        out.push(unescaped(next));
                    }
                    None => out.push(byte),
                }
            } else if Some(byte) == quote {
                if self.accept(&[byte])? {
                    out.push(byte);
                } else if self.accept(self.line_end)? {
                    self.at_line_end = true;
                    return Ok(true);
                } else if self.accept(&self.format.field_end)? {
                    return Ok(true);
                } else {
                    self.fill(1)?;
                    if self.at == self.buffer.len() {
                        self.at_line_end = true;
                        return Ok(true);
                    }
                    out.push(byte);
                }
            } else {
                out.push(byte);
            }
        }
    }

    /// Goes to the next line. Returns true if the current one had more fields.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn end_line(&mut self) -> io::Result<bool> {
        self.before_start = !self.format.line_start.is_empty();
        if std::mem::take(&mut self.at_line_end) || self.line_end.is_empty() {
            return Ok(false);
        }
        let mut more = false;
        while !self.accept(self.line_end)? {
            match self.next()? {
                None => break,
                byte if byte == self.format.escape => {
                    self.next()?;
                }
                Some(_) => {}
            }
            more = true;
        }
        Ok(more)
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'0' => 0,
        b'b' => 8,
        b'Z' => 26,
        byte => byte,
    }
}
