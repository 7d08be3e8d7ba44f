//! Compressed packets: a layer below the packets, which the handshake agrees on and which begins after it.
//!
//! | bytes | field |
//! |---|---|
//! | 0..3 | length of the contents after this header, little-endian |
//! | 3 | sequence number, from 0 with each command |
//! | 4..7 | length before compression; 0 if the contents are not compressed |
//! | 7.. | contents: packets, or parts of them |
//!
//! The packets inside have sequence numbers of their own. Clients count these in different ways, so only the numbers of this
//! layer are checked. With each answer both layers begin with the same number.

use crate::capability as cap;
use crate::error::WireError;
use leafline_types::MysqlError;
use std::io::{self, Read};

/// Fewest bytes that are compressed.
const LEAST: usize = 50;
/// Longest contents of a compressed packet, before compression.
const LONGEST: usize = 0xff_ffff;
const HEADER: usize = 7;

/// An algorithm of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// zlib, at its usual level.
    Zlib,
    /// Zstandard at a level, 1 to 22.
    Zstd(u8),
}

/// The level of zlib.
pub const ZLIB_LEVEL: u8 = 6;
/// The level of Zstandard that a client asks for.
const ZSTD_LEVEL: u8 = 7;

impl Algorithm {
    /// Returns the algorithm of a connection with these common capabilities: zlib if it has both.
    pub fn agreed(capabilities: u32) -> Option<Algorithm> {
        match capabilities {
            bits if bits & cap::COMPRESS != 0 => Some(Algorithm::Zlib),
            bits if bits & cap::ZSTD != 0 => Some(Algorithm::Zstd(ZSTD_LEVEL)),
            _ => None,
        }
    }

    /// Returns the algorithm's name in `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd(_) => "zstd",
        }
    }

    /// Returns the level of compression.
    pub fn level(self) -> u8 {
        match self {
            Algorithm::Zlib => ZLIB_LEVEL,
            Algorithm::Zstd(level) => level,
        }
    }

    fn compress(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Algorithm::Zlib => Ok(miniz_oxide::deflate::compress_to_vec_zlib(bytes, ZLIB_LEVEL)),
            Algorithm::Zstd(level) => zstd::bulk::compress(bytes, level.into()),
        }
    }

    /// Uncompresses to exactly `length` bytes; `None` if that fails.
    fn uncompress(self, bytes: &[u8], length: usize) -> Option<Vec<u8>> {
        let made = match self {
            Algorithm::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, length).ok(),
            Algorithm::Zstd(_) => zstd::bulk::decompress(bytes, length).ok(),
        };
        made.filter(|made| made.len() == length)
    }
}

/// The layer of compressed packets over a stream.
pub struct Compression {
    algorithm: Algorithm,
    sequence: u8,
    /// Uncompressed bytes. `at` is the number of them that were read.
    inflated: Vec<u8>,
    at: usize,
}

impl Compression {
    /// Begins the layer with number 0.
    pub fn new(algorithm: Algorithm) -> Compression {
        Compression { algorithm, sequence: 0, inflated: Vec::new(), at: 0 }
    }

    /// Returns the number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Numbers packets from zero: the next packet is the first of a command.
    pub fn begin_command(&mut self) {
        self.sequence = 0;
    }

    /// Numbers packets from one: the next packet is an answer without a command.
    pub fn begin_unasked_answer(&mut self) {
        self.sequence = 1;
    }

    /// Appends packets. Compresses them where that makes them shorter.
    ///
    /// # Errors
    /// Errors of the compression library.
    pub fn put(&mut self, packets: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        for part in packets.chunks(LONGEST) {
            let compressed = if part.len() < LEAST { None } else { Some(self.algorithm.compress(part)?) };
            let (contents, length) = match &compressed {
                Some(compressed) if compressed.len() < part.len() => (&compressed[..], part.len()),
                _ => (part, 0),
            };
            out.extend(contents.len().to_le_bytes().iter().take(3));
            out.push(self.sequence);
            self.sequence = self.sequence.wrapping_add(1);
            out.extend(length.to_le_bytes().iter().take(3));
            out.extend_from_slice(contents);
        }
        Ok(())
    }

    /// Reads some bytes of packets. Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// `Io`; `Protocol` with 1156 if a packet's number is not the next, 1157 if a packet cannot be uncompressed.
    pub fn read(&mut self, stream: &mut impl Read, buffer: &mut [u8]) -> Result<usize, WireError> {
        while self.at == self.inflated.len() {
            if !self.read_packet(stream)? {
                return Ok(0);
            }
        }
        let rest = self.inflated.get(self.at..).unwrap_or_default();
        let bytes = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        self.at += bytes;
        if self.at == self.inflated.len() {
            // Frees the memory of a long packet while the connection waits.
            self.inflated = Vec::new();
            self.at = 0;
        }
        Ok(bytes)
    }

    fn read_packet(&mut self, stream: &mut impl Read) -> Result<bool, WireError> {
        let mut header = Vec::with_capacity(HEADER);
        stream.take(HEADER as u64).read_to_end(&mut header)?;
        let [a, b, c, sequence, x, y, z] = match <[u8; HEADER]>::try_from(&header[..]) {
            Ok(header) => header,
            Err(_) if header.is_empty() => return Ok(false),
            Err(_) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        };
        if sequence != self.sequence {
            return Err(WireError::Protocol(MysqlError::packets_out_of_order()));
        }
        self.sequence = self.sequence.wrapping_add(1);
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        // The buffer grows as bytes arrive, because the length is only the client's claim.
        let mut contents = Vec::new();
        if stream.take(length as u64).read_to_end(&mut contents)? < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.at = 0;
        self.inflated = match u32::from_le_bytes([x, y, z, 0]) as usize {
            0 => contents,
            length => self
                .algorithm
                .uncompress(&contents, length)
                .ok_or_else(|| WireError::Protocol(MysqlError::cannot_uncompress_packet()))?,
        };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_whatever_its_length() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3), Algorithm::Zstd(22)] {
            for length in [0, 1, LEAST - 1, LEAST, 70_000, LONGEST + 1] {
                let bytes: Vec<u8> = (0..length).map(|n| (n / 100) as u8).collect();
                let (mut writer, mut out) = (Compression::new(algorithm), Vec::new());
                writer.put(&bytes, &mut out).expect("compressed");
                assert_eq!(out.len() < length, length >= LEAST, "{algorithm:?} {length}: {}", out.len());
                let (mut reader, mut read) = (Compression::new(algorithm), Vec::new());
                let mut stream = &out[..];
                let mut buffer = [0; 1000];
                loop {
                    match reader.read(&mut stream, &mut buffer).expect("as it was written") {
                        0 => break,
                        n => read.extend_from_slice(&buffer[..n]),
                    }
                }
                assert!(read == bytes, "{algorithm:?} {length}");
                assert_eq!(reader.sequence(), writer.sequence());
            }
        }
    }

    #[test]
    fn what_is_not_compressed_so_is_refused() {
        let code = |algorithm, bytes: &[u8]| {
            let mut stream = bytes;
            match Compression::new(algorithm).read(&mut stream, &mut [0; 10]) {
                Err(WireError::Protocol(error)) => error.code,
                Err(WireError::Io(_)) => 1,
                Ok(_) => 0,
            }
        };
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3)] {
            let mut sound = Vec::new();
            Compression::new(algorithm).put(&[7; 1000], &mut sound).expect("compressed");
            assert_eq!(code(algorithm, &sound), 0);
            assert_eq!(code(algorithm, &sound[..sound.len() - 1]), 1);
            assert_eq!(code(algorithm, &sound[..6]), 1);
            for (at, byte) in [(3, 1), (4, 0xe7), (5, 4), (6, 1), (9, 0xff)] {
                let mut damaged = sound.clone();
                assert_ne!(std::mem::replace(&mut damaged[at], byte), byte);
                assert_eq!(
                    code(algorithm, &damaged),
                    if at == 3 { 1156 } else { 1157 },
                    "{algorithm:?} {at}"
                );
            }
            assert_eq!(code(algorithm, &[3, 0, 0, 0, 0, 0, 0, 1, 2, 3]), 0, "as it was");
            assert_eq!(code(algorithm, &[3, 0, 0, 0, 9, 0, 0, 1, 2, 3]), 1157);
        }
    }
}
