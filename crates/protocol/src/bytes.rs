//! Writes integers and strings of packets to a buffer, and reads them from a packet with every length checked.
//!
//! A *length-encoded* integer is one byte up to 250, or `fc` + 2, `fd` + 3, `fe` + 8 bytes, little-endian; `fb` is NULL
//! in rows.

use leafline_types::MysqlError;
use std::borrow::Cow;

/// NULL in a row of the text protocol.
pub const NULL: u8 = 0xfb;

/// Appends a length-encoded integer.
#[inline]
pub fn put_length(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=250 => out.push(n as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&n.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a string after its length.
#[inline]
pub fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a string and the zero byte that ends it. Leaves out zero bytes within the string.
pub fn put_terminated(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|&b| b != 0));
    out.push(0);
}

/// Reads a packet from its start.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Begins at the first byte of `packet`.
    pub fn new(packet: &'a [u8]) -> Reader<'a> {
        Reader(packet)
    }

    /// Returns how many bytes are left.
    pub fn remaining(&self) -> usize {
        self.0.len()
    }

    /// Takes all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Returns whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next `n` bytes.
    ///
    /// # Errors
    /// 1835 if fewer are left, as for every method below.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], MysqlError> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(MysqlError::malformed_packet)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MysqlError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| MysqlError::malformed_packet())
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, MysqlError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Reads an integer of two bytes.
    pub fn u16(&mut self) -> Result<u16, MysqlError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads an integer of four bytes.
    pub fn u32(&mut self) -> Result<u32, MysqlError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads an integer of eight bytes.
    pub fn u64(&mut self) -> Result<u64, MysqlError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a length-encoded integer.
    pub fn length(&mut self) -> Result<u64, MysqlError> {
        Ok(match self.u8()? {
            n @ 0..=250 => n.into(),
            0xfc => self.u16()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => self.u64()?,
            _ => return Err(MysqlError::malformed_packet()),
        })
    }

    /// Reads a string after its length.
    pub fn string(&mut self) -> Result<&'a [u8], MysqlError> {
        let length = self.length()?;
        self.take(usize::try_from(length).map_err(|_| MysqlError::malformed_packet())?)
    }

    /// Reads a value of a text row: a string after its length, or NULL.
    pub fn nullable_string(&mut self) -> Result<Option<&'a [u8]>, MysqlError> {
        if let Some((&NULL, rest)) = self.0.split_first() {
            self.0 = rest;
            return Ok(None);
        }
        self.string().map(Some)
    }

    /// Reads a string after its length as text, with replacement characters where it is not UTF-8.
    pub fn text(&mut self) -> Result<Cow<'a, str>, MysqlError> {
        self.string().map(String::from_utf8_lossy)
    }

    /// Reads a string up to the zero byte that ends it.
    pub fn terminated(&mut self) -> Result<&'a [u8], MysqlError> {
        let end = self.0.iter().position(|&b| b == 0).ok_or_else(MysqlError::malformed_packet)?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_back_as_written() {
        for n in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_length(&mut out, n);
            assert_eq!(Reader::new(&out).length(), Ok(n));
            for cut in 0..out.len() {
                assert_eq!(
                    Reader::new(&out[..cut]).length().map_err(|e| e.code),
                    Err(1835),
                    "{n} cut at {cut}"
                );
            }
        }
        assert!(Reader::new(&[0xff]).length().is_err());
    }

    #[test]
    fn a_string_longer_than_its_packet_is_refused() {
        let mut out = Vec::new();
        put_string(&mut out, b"abc");
        assert_eq!(Reader::new(&out).string(), Ok(&b"abc"[..]));
        assert!(Reader::new(&out[..3]).string().is_err());
        assert!(Reader::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).string().is_err());
        assert_eq!(Reader::new(&[NULL, 1, b'a']).nullable_string(), Ok(None));
        assert_eq!(Reader::new(&[1, b'a']).nullable_string(), Ok(Some(&b"a"[..])));
        assert!(Reader::new(&[]).nullable_string().is_err());
        assert!(Reader::new(b"abc").terminated().is_err());
        assert_eq!(Reader::new(b"abc\0d").terminated(), Ok(&b"abc"[..]));
    }
}
