//! Reads records of comma-separated values, RFC 4180: a field in quotes may contain separators, ends of lines and
//! doubled quotes.
//!
//! An empty field is NULL, two quotes are an empty string. Lines end in LF or CR LF. Empty lines are ignored, unless
//! there is one column: then they are its NULL.

use std::io::{self, BufRead};

/// The most bytes of a field.
const LONGEST: usize = 1 << 30;

/// The records of a file.
pub struct Records<R> {
    input: R,
    separator: u8,
    /// The line of the current record, from 1.
    pub line: u64,
    /// The line behind it.
    next_line: u64,
    is_begun: bool,
    /// The number of fields of the first record; 0 before it.
    columns: usize,
}

/// A record: its fields one after another, and for each its end and whether it is not NULL.
#[derive(Default, Debug)]
pub struct Record {
    bytes: Vec<u8>,
    ends: Vec<(usize, bool)>,
}

impl Record {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Iterates over the fields in order; `None` for NULL.
    pub fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |(end, is_there)| {
            let field = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            is_there.then_some(field)
        })
    }

    fn end_field(&mut self, was_quoted: bool) {
        let start = self.ends.last().map_or(0, |(end, _)| *end);
        self.ends.push((self.bytes.len(), was_quoted || self.bytes.len() > start));
    }
}

impl<R: BufRead> Records<R> {
    pub fn new(input: R, separator: u8) -> Records<R> {
        Records { input, separator, line: 0, next_line: 1, is_begun: false, columns: 0 }
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        let byte = self.input.fill_buf()?.first().copied();
        if byte.is_some() {
            self.input.consume(1);
        }
        self.next_line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// Reads the next record; returns false if there is none.
    ///
    /// # Errors
    /// Errors of reading; `UnexpectedEof` within quotes; `InvalidData` for text behind closing quotes.
    pub fn read(&mut self, record: &mut Record) -> io::Result<bool> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.skip_mark()?;
        }
        loop {
            record.bytes.clear();
            record.ends.clear();
            self.line = self.next_line;
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            while self.field(record)? {}
            let is_empty = matches!(&record.ends[..], [(0, false)]);
            if !is_empty || self.columns == 1 {
                if self.columns == 0 {
                    self.columns = record.len();
                }
                return Ok(true);
            }
        }
    }

    /// Skips the byte order mark with which some programs begin UTF-8.
    fn skip_mark(&mut self) -> io::Result<()> {
        if self.input.fill_buf()?.first() == Some(&0xef) {
            let mut mark = [0; 3];
            self.input.read_exact(&mut mark)?;
            if mark != [0xef, 0xbb, 0xbf] {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not UTF-8 with a mark"));
            }
        }
        Ok(())
    }

    /// Reads a field; returns whether another follows in the record.
    fn field(&mut self, record: &mut Record) -> io::Result<bool> {
        let is_quoted = self.input.fill_buf()?.first() == Some(&b'"');
        if is_quoted {
            self.next()?;
            loop {
                let Some(byte) = self.next()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
                if byte == b'"' {
                    if self.input.fill_buf()?.first() != Some(&b'"') {
                        break;
                    }
                    self.next()?;
                }
                record.bytes.push(byte);
                if record.bytes.len() > LONGEST {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
            }
        }
        loop {
            match self.next()? {
                Some(byte) if byte == self.separator => {
                    record.end_field(is_quoted);
                    return Ok(true);
                }
                None | Some(b'\n') => {
                    record.end_field(is_quoted);
                    return Ok(false);
                }
                Some(b'\r') if matches!(self.input.fill_buf()?.first(), None | Some(b'\n')) => {}
                Some(_) if is_quoted => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "something stands between a closing quote and the separator",
                    ));
                }
                Some(byte) => record.bytes.push(byte),
            }
            if record.bytes.len() > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> io::Result<Vec<(u64, Vec<Option<String>>)>> {
        let mut records = Records::new(io::BufReader::with_capacity(1, text.as_bytes()), b',');
        let (mut record, mut found) = (Record::default(), Vec::new());
        while records.read(&mut record)? {
            let fields = record.fields().map(|field| field.map(|f| String::from_utf8(f.to_vec()).unwrap()));
            found.push((records.line, fields.collect()));
        }
        Ok(found)
    }

    #[test]
    fn fields_may_have_anything_in_quotes_and_null_is_nothing() {
        let text = "a,b\r\n\"1,\"\"2\"\"\r\n\",\n\n,\"\"\nlast,x";
        let some = |text: &str| Some(text.to_owned());
        let expected = vec![
            (1, vec![some("a"), some("b")]),
            (2, vec![some("1,\"2\"\r\n"), None]),
            (5, vec![None, some("")]),
            (6, vec![some("last"), some("x")]),
        ];
        assert_eq!(records(text).unwrap(), expected);
        assert_eq!(records("\"a").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(records("\"a\"b,").unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(
            records("\na\r\n1\r\n\r\n\"\"\r\n").unwrap(),
            [(2, some("a")), (3, some("1")), (4, None), (5, some(""))]
                .map(|(line, field)| (line, vec![field]))
        );
        assert_eq!(records("").unwrap(), []);
    }
}
