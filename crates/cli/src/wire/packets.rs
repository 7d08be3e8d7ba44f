//! Packets: a length of three bytes, a number, the payload; one of 2^24 - 1 bytes is continued by the next.

use std::io::{self, BufReader, Read, Write};

/// Bytes of the payload of a packet that is continued.
const FULL: usize = (1 << 24) - 1;
/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;
/// Most bytes of a message: rows have at most 1 GiB on either side.
const MOST: usize = 1 << 30;

/// A connection: bytes in either direction.
pub trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

/// A connection, packet by packet.
pub struct Packets {
    stream: BufReader<Box<dyn Duplex>>,
    number: u8,
}

impl Packets {
    pub fn new(stream: Box<dyn Duplex>) -> Packets {
        Packets { stream: BufReader::with_capacity(BUFFER, stream), number: 0 }
    }

    /// Goes on over another connection that is made of this one, on which nothing waits to be read.
    ///
    /// # Errors
    /// Those of `f`; the connection is of no use then.
    pub fn upgrade(
        &mut self,
        f: impl FnOnce(Box<dyn Duplex>) -> io::Result<Box<dyn Duplex>>,
    ) -> io::Result<()> {
        let nothing: Box<dyn Duplex> = Box::new(io::empty());
        let stream = std::mem::replace(&mut self.stream, BufReader::new(nothing));
        self.stream = BufReader::with_capacity(BUFFER, f(stream.into_inner())?);
        Ok(())
    }

    /// A command begins: packets are numbered from zero.
    pub fn begin(&mut self) {
        self.number = 0;
    }

    /// Reads a message into `payload`.
    ///
    /// # Errors
    /// Those of the connection; `InvalidData` for packets out of order, or too much of them.
    pub fn read(&mut self, payload: &mut Vec<u8>) -> io::Result<()> {
        payload.clear();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            let [a, b, c, number] = header;
            if number != self.number {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "packets out of order"));
            }
            self.number = self.number.wrapping_add(1);
            let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            if payload.len() + length > MOST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of more than 1 GiB"));
            }
            let read = (&mut self.stream).take(length as u64).read_to_end(payload)?;
            if read < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if length < FULL {
                return Ok(());
            }
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut rest = payload;
        loop {
            let (part, after) = rest.split_at(rest.len().min(FULL));
            let [a, b, c, _] = u32::try_from(part.len()).unwrap_or_default().to_le_bytes();
            let output = self.stream.get_mut();
            output.write_all(&[&[a, b, c, self.number], part].concat())?;
            self.number = self.number.wrapping_add(1);
            rest = after;
            if part.len() < FULL {
                return self.stream.get_mut().flush();
            }
        }
    }
}

/// Reads the parts of a payload. What is not there is `None`.
#[derive(Clone, Copy)]
pub struct Fields<'p>(pub &'p [u8]);

impl<'p> Fields<'p> {
    pub fn bytes(&mut self, length: usize) -> Option<&'p [u8]> {
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// A number of so many bytes, the least first.
    pub fn number(&mut self, length: usize) -> Option<u64> {
        Some(self.bytes(length)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Up to a zero byte, or to the end.
    pub fn until_zero(&mut self) -> &'p [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (part, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        part
    }

    /// A number whose first byte says how long it is; `Some(None)` is NULL.
    pub fn length(&mut self) -> Option<Option<u64>> {
        Some(Some(match self.byte()? {
            0xfb => return Some(None),
            0xfc => self.number(2)?,
            0xfd => self.number(3)?,
            0xfe => self.number(8)?,
            small => u64::from(small),
        }))
    }

    /// A string behind its length; `Some(None)` is NULL.
    pub fn string(&mut self) -> Option<Option<&'p [u8]>> {
        match self.length()? {
            None => Some(None),
            Some(length) => self.bytes(usize::try_from(length).ok()?).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Read for Shared {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_messages_go_in_several_packets() {
        for length in [0, 1, FULL - 1, FULL, FULL + 5] {
            let sent = Shared::default();
            let message: Vec<u8> = (0..length).map(|at| at as u8).collect();
            Packets::new(Box::new(sent.clone())).write(&message).unwrap();
            let bytes = sent.0.lock().unwrap().clone();
            let mut received = Vec::new();
            let mut packets = Packets::new(Box::new(io::Cursor::new(bytes.clone())));
            packets.read(&mut received).unwrap();
            assert!(received == message, "{length}");
            // What ends in the middle is no message.
            let cut = bytes[..bytes.len() - 1].to_vec();
            let mut packets = Packets::new(Box::new(io::Cursor::new(cut)));
            assert!(packets.read(&mut received).is_err(), "{length}");
        }
    }

    #[test]
    fn fields_end_where_the_payload_does() {
        let mut fields = Fields(&[3, b'a', b'b', b'c', 0xfb, 0xfc, 2, 0, b'x', b'y', 0xfe, 9]);
        assert_eq!(fields.string(), Some(Some(&b"abc"[..])));
        assert_eq!(fields.string(), Some(None));
        assert_eq!(fields.string(), Some(Some(&b"xy"[..])));
        assert_eq!(fields.string(), None);
        let mut text = Fields(b"one\0two");
        assert_eq!((text.until_zero(), text.until_zero(), text.byte()), (&b"one"[..], &b"two"[..], None));
    }
}
