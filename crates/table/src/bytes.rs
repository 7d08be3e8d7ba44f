//! Reading and writing the bytes of this crate's records: little-endian, with every read checked.

use crate::error::{Result, TableError};

/// Builds a record.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter(Vec<u8>);

impl ByteWriter {
    pub(crate) fn with_capacity(bytes: usize) -> ByteWriter {
        ByteWriter(Vec::with_capacity(bytes))
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut ByteWriter {
        self.0.push(value);
        self
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut ByteWriter {
        self.u8(u8::from(value))
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut ByteWriter {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut ByteWriter {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut ByteWriter {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn i64(&mut self, value: i64) -> &mut ByteWriter {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes a length (u32) and the bytes. Everything written here is far below 4 GiB: rows, keys, names.
    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut ByteWriter {
        self.u32(value.len() as u32);
        self.0.extend_from_slice(value);
        self
    }

    /// Writes an integer that is usually small: seven bits a byte, the lowest first; all bytes except the
    /// last have the highest bit set.
    pub(crate) fn short(&mut self, mut value: u64) -> &mut ByteWriter {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8)
    }

    /// Writes a length, as [`short`](Self::short) does, and the bytes.
    pub(crate) fn short_bytes(&mut self, value: &[u8]) -> &mut ByteWriter {
        self.short(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn string(&mut self, value: &str) -> &mut ByteWriter {
        self.bytes(value.as_bytes())
    }
}

/// Decodes a record.
#[derive(Debug)]
pub(crate) struct ByteReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Makes a reader of `bytes`, which are a `what`.
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { what, rest: bytes }
    }

    /// The error for invalid contents.
    pub(crate) fn damaged(&self, why: impl std::fmt::Display) -> TableError {
        TableError::Corrupt(format!("{}: {why}", self.what))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(self.damaged("it ends too early")),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.damaged(format!("{other} for a truth value"))),
        }
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.take()?))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take_slice(length)
    }

    pub(crate) fn short(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged("an integer of more than 64 bits"))
    }

    pub(crate) fn short_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.short()?;
        self.take_slice(usize::try_from(length).unwrap_or(usize::MAX))
    }

    pub(crate) fn take_slice(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(length) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(self.damaged("it ends too early")),
        }
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.damaged("a name is not UTF-8"))
    }

    /// Reads the format byte, which must be `known`. Formats are numbered from 1.
    pub(crate) fn format(&mut self, known: u8) -> Result<()> {
        match self.u8()? {
            found if found == known => Ok(()),
            0 => Err(self.damaged("it has no format")),
            found => Err(TableError::OtherFormat { what: self.what, found, known }),
        }
    }

    /// Returns whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged("bytes are left over")) }
    }
}
