//! Files that carry a table to another database: its definition and its rows at one moment.
//!
//! The file is a header and frames. The checksum of a frame depends on everything before it, so a damaged,
//! lost, repeated or misplaced frame is found. Integers are little-endian, checksums CRC-32C; a *string* is a
//! u32 length and the bytes.
//!
//! | header | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 8 | magic `LEAFTABL` |
//! | 8 | 4 | format: 1 |
//! | 12 | 4 | checksum of bytes 0..12 |
//!
//! | frame | bytes | field |
//! |------:|------:|-------|
//! | 0 | 4 | bytes of the payload |
//! | 4 | 4 | checksum of length and payload, seeded with the checksum of the previous frame, or of the header for the first one |
//! | 8 | | payload: kind u8, then by kind |
//!
//! | kind | frame | payload |
//! |-----:|-------|---------|
//! | 1 | definition, the first | strings: name of the table, its CREATE TABLE statement without foreign keys, as under an empty `sql_mode` and in UTC; number of columns u32; each: string, its line of the definition |
//! | 2 | rows | one after the other: u32 length and the bytes of [`RowCodec`] |
//! | 3 | end, the last; nothing follows | number of rows u64 |
//!
//! Generated columns are not among the columns.

mod rows;

pub(crate) use rows::RowCodec;

use crate::text_file::{read_error, write_error};
use leafline_types::MysqlError;
use std::io::{ErrorKind, Read, Write};

const MAGIC: &[u8; 8] = b"LEAFTABL";
const FORMAT: u32 = 1;
const DEFINITION: u8 = 1;
const ROWS: u8 = 2;
const END: u8 = 3;
/// Bytes of rows in a full frame.
const FRAME: usize = 256 << 10;

/// The definition that a file carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Definition {
    /// Name of the table.
    pub(crate) name: String,
    /// The CREATE TABLE statement.
    pub(crate) create: String,
    /// Lines of the definition of the columns that rows have values of.
    pub(crate) columns: Vec<String>,
}

/// Writes a file of a table.
pub(crate) struct TableWriter<'p, W> {
    out: W,
    path: &'p str,
    sum: u32,
    frame: Vec<u8>,
    rows: u64,
}

impl<'p, W: Write> TableWriter<'p, W> {
    /// Writes the header and the definition.
    pub(crate) fn new(out: W, path: &'p str, definition: &Definition) -> Result<Self, MysqlError> {
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&FORMAT.to_le_bytes());
        let sum = crc32c::crc32c(&header);
        header.extend_from_slice(&sum.to_le_bytes());
        let mut writer = TableWriter { out, path, sum, frame: vec![DEFINITION], rows: 0 };
        writer.write(&header)?;
        for text in [&definition.name, &definition.create] {
            writer.string(text)?;
        }
        writer.number(definition.columns.len())?;
        for line in &definition.columns {
            writer.string(line)?;
        }
        writer.end_frame(ROWS)?;
        Ok(writer)
    }

    /// Adds a row in the form of [`RowCodec`].
    pub(crate) fn row(&mut self, row: &[u8]) -> Result<(), MysqlError> {
        self.number(row.len())?;
        self.frame.extend_from_slice(row);
        self.rows += 1;
        if self.frame.len() >= FRAME { self.end_frame(ROWS) } else { Ok(()) }
    }

    /// Ends the file, without making it durable.
    pub(crate) fn finish(mut self) -> Result<W, MysqlError> {
        self.end_frame(END)?;
        let rows = self.rows;
        self.frame.extend_from_slice(&rows.to_le_bytes());
        self.end_frame(END)?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), MysqlError> {
        self.out.write_all(bytes).map_err(|error| write_error(self.path, &error))
    }

    fn number(&mut self, number: usize) -> Result<(), MysqlError> {
        let number = u32::try_from(number).map_err(|_| MysqlError::not_supported("rows of 4 GiB"))?;
        self.frame.extend_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), MysqlError> {
        self.number(text.len())?;
        self.frame.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Writes the frame unless it is empty, and begins one of `kind`.
    fn end_frame(&mut self, kind: u8) -> Result<(), MysqlError> {
        let frame = std::mem::replace(&mut self.frame, vec![kind]);
        if frame.len() == 1 {
            return Ok(());
        }
        let length = u32::try_from(frame.len()).map_err(|_| MysqlError::not_supported("rows of 4 GiB"))?;
        self.sum = frame_sum(self.sum, length, &frame);
        let sum = self.sum;
        self.write(&[length.to_le_bytes(), sum.to_le_bytes()].concat())?;
        self.write(&frame)
    }
}

fn frame_sum(before: u32, length: u32, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(before, &length.to_le_bytes()), payload)
}

/// Reads a file of a table and verifies all of it.
pub(crate) struct TableReader<'p, R> {
    input: R,
    path: &'p str,
    sum: u32,
    frame: Vec<u8>,
    /// Offset of the next row in the frame.
    at: usize,
    rows: u64,
    definition: Definition,
    ended: bool,
}

impl<'p, R: Read> TableReader<'p, R> {
    /// Reads the header and the definition.
    ///
    /// # Errors
    /// 1033 if the file is not a table's, has another format or is damaged; 1024 if it cannot be read.
    pub(crate) fn new(mut input: R, path: &'p str) -> Result<Self, MysqlError> {
        let mut header = [0; 16];
        fill(&mut input, &mut header, path)?;
        let word = |at: usize| u32_at(&header, at).unwrap_or_default();
        if header.get(..8) != Some(MAGIC.as_slice()) {
            return Err(damaged(path, "it is no exported table"));
        }
        let sum = word(12);
        if crc32c::crc32c(&header[..12]) != sum {
            return Err(damaged(path, "its header is damaged"));
        }
        if word(8) != FORMAT {
            return Err(damaged(path, &format!("its format is {}, {FORMAT} is known", word(8))));
        }
        let definition = Definition { name: String::new(), create: String::new(), columns: Vec::new() };
        let frame = Vec::new();
        let mut reader = TableReader { input, path, sum, frame, at: 0, rows: 0, definition, ended: false };
        if reader.next_frame()? != DEFINITION {
            return Err(damaged(path, "it does not begin with a definition"));
        }
        let mut body = reader.frame.get(1..).unwrap_or_default();
        let (name, create) = (string(&mut body), string(&mut body));
        let columns: Option<Vec<String>> =
            number(&mut body).and_then(|count| (0..count).map(|_| string(&mut body)).collect());
        match (name, create, columns) {
            (Some(name), Some(create), Some(columns)) if body.is_empty() => {
                reader.definition = Definition { name, create, columns };
            }
            _ => return Err(damaged(path, "its definition is malformed")),
        }
        reader.at = reader.frame.len();
        Ok(reader)
    }

    /// The definition.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The bytes of the next row; `None` after the last row, once the end frame was verified.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub(crate) fn next_row(&mut self) -> Result<Option<&[u8]>, MysqlError> {
        while self.at >= self.frame.len() {
            if self.ended {
                return Ok(None);
            }
            match self.next_frame()? {
                ROWS => self.at = 1,
                END => self.end()?,
                _ => return Err(damaged(self.path, "a part is of an unknown kind")),
            }
        }
        let mut rest = self.frame.get(self.at..).unwrap_or_default();
        let row = number(&mut rest).and_then(|length| rest.get(..length as usize));
        let Some(row) = row else { return Err(damaged(self.path, "a row is malformed")) };
        self.at += 4 + row.len();
        self.rows += 1;
        Ok(Some(row))
    }

    fn end(&mut self) -> Result<(), MysqlError> {
        let rows = self.frame.get(1..).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        if rows != Some(self.rows) {
            return Err(damaged(self.path, "rows are missing"));
        }
        let mut more = [0];
        match self.input.read(&mut more) {
            Ok(0) => {}
            Ok(_) => return Err(damaged(self.path, "something follows its end")),
            Err(error) => return Err(read_error(self.path, &error)),
        }
        self.ended = true;
        self.at = self.frame.len();
        Ok(())
    }

    /// Reads a frame and returns its kind.
    fn next_frame(&mut self) -> Result<u8, MysqlError> {
        let mut head = [0; 8];
        fill(&mut self.input, &mut head, self.path)?;
        let (length, sum) = (u32_at(&head, 0).unwrap_or_default(), u32_at(&head, 4).unwrap_or_default());
        // Reading allocates as many bytes as the file has, whatever the length field says.
        self.frame.clear();
        let read = (&mut self.input).take(length.into()).read_to_end(&mut self.frame);
        read.map_err(|error| read_error(self.path, &error))?;
        if self.frame.len() as u64 != u64::from(length) || frame_sum(self.sum, length, &self.frame) != sum {
            return Err(damaged(self.path, "a part of it is damaged or missing"));
        }
        self.sum = sum;
        self.frame.first().copied().ok_or_else(|| damaged(self.path, "a part of it is empty"))
    }
}

fn fill(input: &mut impl Read, buffer: &mut [u8], path: &str) -> Result<(), MysqlError> {
    input.read_exact(buffer).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => damaged(path, "its end is missing"),
        _ => read_error(path, &error),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let number = u32_at(rest, 0)?;
    *rest = rest.get(4..)?;
    Some(number)
}

fn string(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)? as usize;
    let (bytes, others) = rest.split_at_checked(length)?;
    *rest = others;
    String::from_utf8(bytes.to_vec()).ok()
}

/// Error 1033.
pub(crate) fn damaged(path: &str, what: &str) -> MysqlError {
    MysqlError::incorrect_file(path, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        let columns = vec!["`a` int".into(), "`b` text".into()];
        Definition { name: "t".into(), create: "CREATE TABLE t (..)".into(), columns }
    }

    fn file(rows: &[&[u8]]) -> Vec<u8> {
        let mut writer = TableWriter::new(Vec::new(), "f", &definition()).unwrap();
        rows.iter().for_each(|row| writer.row(row).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, MysqlError> {
        let mut reader = TableReader::new(bytes, "f")?;
        assert_eq!(reader.definition(), &definition());
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row()? {
            rows.push(row.to_vec());
        }
        Ok(rows)
    }

    #[test]
    fn what_is_written_is_read_and_no_changed_byte_or_lost_end_goes_unnoticed() {
        let long = vec![7; FRAME + 100];
        let rows: &[&[u8]] = &[b"one", b"", &long, b"last"];
        let whole = file(rows);
        assert_eq!(read(&whole).unwrap(), rows);
        assert_eq!(read(&file(&[])).unwrap(), Vec::<Vec<u8>>::new());
        let small = file(&rows[..2]);
        for at in 0..small.len() {
            let mut changed = small.clone();
            for bit in 0..8 {
                changed[at] ^= 1 << bit;
                assert_eq!(read(&changed).unwrap_err().code, 1033, "byte {at}, bit {bit}");
                changed[at] ^= 1 << bit;
            }
            assert_eq!(read(&small[..at]).unwrap_err().code, 1033, "cut at {at}");
        }
        assert_eq!(read(&[&small[..], b"x"].concat()).unwrap_err().code, 1033);
    }
}
