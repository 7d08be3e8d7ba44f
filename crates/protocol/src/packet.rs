//! Packets on a byte stream.
//!
//! | bytes | field |
//! |---|---|
//! | 0..3 | length of the payload, little-endian |
//! | 3 | sequence number, from 0 with each command |
//! | 4.. | payload |
//!
//! A payload of 2^24 - 1 bytes or more goes in pieces; a piece shorter than that is the last.

use crate::compression::{Algorithm, Compression};
use crate::error::WireError;
use leafline_types::MysqlError;
use leafline_types::memory::server;
use leafline_types::statement::CancelToken;
use std::io::{self, BufRead, BufReader, Read, Write};

/// Longest payload of one piece.
const PIECE: usize = 0xff_ffff;
/// Bytes that a server reads at once: most commands are shorter, and take one call.
const READ_BUFFER: usize = 4 << 10;
/// Bytes that are read at once of a packet that was compressed.
const READ_PIECE: usize = 64 << 10;
/// Bytes that are buffered before they are written.
const WRITE_BUFFER: usize = 64 << 10;

/// A packet of so many bytes is only read if the process has the memory.
const LARGE_PACKET: usize = 1 << 20;

/// Packets both ways over one stream.
pub struct PacketStream<S> {
    stream: BufReader<S>,
    /// Under the packets, once it is agreed on.
    compression: Option<Compression>,
    sequence: u8,
    /// Packets to be written, framed.
    out: Vec<u8>,
    /// Where the packet that is being built begins in `out`.
    open: usize,
    max_packet: usize,
    /// Bytes of packets read and written since they were last taken.
    traffic: (u64, u64),
    /// Who says that a client that reads nothing has been waited for long enough.
    cancel: CancelToken,
    /// How many timeouts of the stream in a row are waited for it in any case.
    patience: u64,
}

impl<S: Read + Write> PacketStream<S> {
    /// Lays packets over `stream`; one of more than `max_packet` bytes is refused.
    pub fn new(stream: S, max_packet: usize) -> PacketStream<S> {
        PacketStream::with_read_buffer(stream, max_packet, READ_BUFFER)
    }

    /// Lays packets over `stream`, from which as many as `read_buffer` bytes are read at once.
    pub fn with_read_buffer(stream: S, max_packet: usize, read_buffer: usize) -> PacketStream<S> {
        let cancel = CancelToken::new();
        let stream = BufReader::with_capacity(read_buffer, stream);
        let out = Vec::with_capacity(4096);
        PacketStream {
            stream,
            compression: None,
            sequence: 0,
            out,
            open: 0,
            max_packet,
            traffic: (0, 0),
            cancel,
            patience: u64::MAX,
        }
    }

    /// From now on `cancel` ends a wait for the client, which was let in.
    pub fn let_in(&mut self, cancel: CancelToken) {
        self.cancel = cancel;
    }

    /// From now on packets go compressed, both ways.
    pub fn compress(&mut self, algorithm: Algorithm) {
        self.compression = Some(Compression::new(algorithm));
    }

    /// Refuses larger packets than these from now on.
    pub fn set_max_packet(&mut self, bytes: usize) {
        self.max_packet = bytes;
    }

    /// Has a client that reads nothing waited for until so many writes in a row have timed out.
    pub fn set_patience(&mut self, timeouts: u64) {
        self.patience = timeouts;
    }

    /// Gives the stream.
    pub fn stream(&self) -> &S {
        self.stream.get_ref()
    }

    /// Gives the stream, to be told something.
    pub fn stream_mut(&mut self) -> &mut S {
        self.stream.get_mut()
    }

    /// Takes the bytes that were read and not used: another layer goes over the stream.
    pub fn take_unread(&mut self) -> Vec<u8> {
        let unread = self.stream.buffer().to_vec();
        self.stream.consume(unread.len());
        unread
    }

    /// Reads the next packet into `packet`, writing what is buffered first. False at the end of the stream.
    ///
    /// # Errors
    /// `Io`; `Protocol` with 1153 if it is too large, 1041 if the process has no memory for it, 1156 if its number is not the next.
    pub fn read(&mut self, packet: &mut Vec<u8>) -> Result<bool, WireError> {
        self.flush()?;
        packet.clear();
        loop {
            let mut header = [0; 4];
            match self.read_some(&mut header)? {
                0 if packet.is_empty() => return Ok(false),
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => self.read_all(header.get_mut(n..).unwrap_or_default())?,
            }
            let [a, b, c, sequence] = header;
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            // Under compression the numbers are those of what is around packets.
            if self.compression.is_none() {
                if sequence != self.sequence {
                    return Err(WireError::Protocol(MysqlError::packets_out_of_order()));
                }
                self.sequence = self.sequence.wrapping_add(1);
            }
            if packet.len() + length > self.max_packet {
                return Err(WireError::Protocol(MysqlError::packet_too_large()));
            }
            if packet.len() + length >= LARGE_PACKET {
                // A buffer that grows is copied into one of twice its size.
                server::ask(2 * (packet.len() + length)).map_err(WireError::Protocol)?;
            }
            self.read_payload(length, packet)?;
            self.traffic.0 += 4 + length as u64;
            if length < PIECE {
                return Ok(true);
            }
        }
    }

    /// Reads some bytes; none at the end of the stream. With a timeout, a process that is stopped and continued, or traced, is
    /// interrupted in waiting for them.
    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, WireError> {
        loop {
            let read = match &mut self.compression {
                None => self.stream.read(buffer).map_err(WireError::Io),
                Some(compression) => {
                    let read = compression.read(&mut self.stream, buffer);
                    self.sequence = compression.sequence();
                    read
                }
            };
            match read {
                Err(WireError::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Fills `buffer`.
    fn read_all(&mut self, mut buffer: &mut [u8]) -> Result<(), WireError> {
        while !buffer.is_empty() {
            match self.read_some(buffer)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => buffer = buffer.get_mut(n..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Reads `length` bytes behind what `packet` has. Memory is taken as they arrive: a length is but a claim.
    fn read_payload(&mut self, length: usize, packet: &mut Vec<u8>) -> Result<(), WireError> {
        if self.compression.is_none() {
            let read = Read::take(&mut self.stream, length as u64).read_to_end(packet)?;
            return if read < length {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
            } else {
                Ok(())
            };
        }
        let end = packet.len() + length;
        while packet.len() < end {
            let begin = packet.len();
            packet.resize(end.min(begin + READ_PIECE), 0);
            self.read_all(packet.get_mut(begin..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Gives the bytes of packets that were read and written since this was last asked.
    pub fn take_traffic(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.traffic)
    }

    /// Numbers packets from zero: the next one read or written is the first of a command.
    pub fn begin_command(&mut self) {
        self.sequence = 0;
        if let Some(compression) = &mut self.compression {
            compression.begin_command();
        }
    }

    /// Numbers packets from one: the next one written is an answer, though nothing was asked.
    pub fn begin_unasked_answer(&mut self) {
        self.begin_command();
        self.sequence = 1;
        if let Some(compression) = &mut self.compression {
            compression.begin_unasked_answer();
        }
    }

    /// Writes one packet whose payload `build` appends.
    ///
    /// # Errors
    /// `Io`.
    pub fn write(&mut self, build: impl FnOnce(&mut Vec<u8>)) -> Result<(), WireError> {
        self.open = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        build(&mut self.out);
        let length = self.out.len() - self.open - 4;
        if length >= PIECE {
            self.write_pieces()?;
        } else {
            self.frame(length);
        }
        if self.out.len() >= WRITE_BUFFER {
            self.write_out()?;
        }
        Ok(())
    }

    fn frame(&mut self, length: usize) {
        let [a, b, c, _] = (length as u32).to_le_bytes();
        let header = [a, b, c, self.sequence];
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(place) = self.out.get_mut(self.open..self.open + 4) {
            place.copy_from_slice(&header);
        }
    }

    /// The packet at the end of the buffer is too long for one piece.
    fn write_pieces(&mut self) -> Result<(), WireError> {
        // Taken, not copied: it may be long.
        let whole = std::mem::take(&mut self.out);
        let (before, packet) = whole.split_at(self.open);
        self.out.extend_from_slice(before);
        let payload = packet.get(4..).unwrap_or_default();
        let mut pieces: Vec<&[u8]> = payload.chunks(PIECE).collect();
        if payload.len().is_multiple_of(PIECE) {
            pieces.push(&[]);
        }
        for piece in pieces {
            self.open = self.out.len();
            self.out.extend_from_slice(&[0; 4]);
            self.frame(piece.len());
            self.out.extend_from_slice(piece);
            self.write_out()?;
        }
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), WireError> {
        if let Some(compression) = &mut self.compression
            && !self.out.is_empty()
        {
            let mut compressed = Vec::with_capacity(self.out.len() / 2);
            compression.put(&self.out, &mut compressed)?;
            self.out = compressed;
        }
        self.traffic.1 += self.out.len() as u64;
        let mut done = 0;
        let mut timeouts = 0;
        while let Some(rest) = self.out.get(done..).filter(|rest| !rest.is_empty()) {
            match self.stream.get_mut().write(rest) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => {
                    done += written;
                    timeouts = 0;
                }
                Err(error) => self.bear(error, &mut timeouts)?,
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Nothing could be written. Returns if it is to be tried again.
    fn bear(&self, error: io::Error, timeouts: &mut u64) -> Result<(), WireError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            // The client reads nothing: unless the statement is to end, it is waited for. (`TimedOut` is the end of a deadline, which TLS may
            // meet here while it has still to shake hands.)
            io::ErrorKind::WouldBlock if self.cancel.reason().is_none() && *timeouts + 1 < self.patience => {
                *timeouts += 1;
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    /// Writes what is buffered, here and in the stream.
    ///
    /// # Errors
    /// `Io`.
    pub fn flush(&mut self) -> Result<(), WireError> {
        self.write_out()?;
        if let Some(compression) = &self.compression {
            // As MySQL and its clients count them.
            self.sequence = compression.sequence();
        }
        let mut timeouts = 0;
        while let Err(error) = self.stream.get_mut().flush() {
            self.bear(error, &mut timeouts)?;
        }
        // Most connections wait most of the time: what a long packet took is not theirs meanwhile.
        if self.out.capacity() > 2 * WRITE_BUFFER {
            self.out = Vec::with_capacity(4096);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// What is written can be read; every other call is interrupted.
    #[derive(Default)]
    struct Loop(VecDeque<u8>, bool);

    impl Loop {
        fn interrupt(&mut self) -> io::Result<()> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        }
    }

    impl Read for Loop {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupt()?;
            self.0.read(buffer)
        }
    }

    impl Write for Loop {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            self.interrupt()?;
            self.0.write(buffer)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn packets_of_any_length_read_back_as_written() {
        let mut stream = PacketStream::new(Loop::default(), 64 << 20);
        for length in [0, 1, 70_000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE] {
            let payload: Vec<u8> = (0..length).map(|i| i as u8).collect();
            stream.begin_command();
            stream.write(|out| out.extend_from_slice(&payload)).expect("a loop");
            stream.flush().expect("a loop");
            stream.begin_command();
            let mut read = Vec::new();
            assert!(stream.read(&mut read).expect("a packet"));
            assert!(read == payload, "length {length}");
        }
        assert!(!stream.read(&mut Vec::new()).expect("the end"));
    }

    #[test]
    fn packets_of_any_length_go_through_compression() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(1)] {
            let (mut near, mut far) =
                (PacketStream::new(Loop::default(), 64 << 20), PacketStream::new(Loop::default(), 64 << 20));
            near.compress(algorithm);
            far.compress(algorithm);
            for length in [0, 1, 70_000, PIECE, 2 * PIECE + 5] {
                let payload: Vec<u8> = (0..length).map(|i| (i / 7) as u8).collect();
                near.begin_command();
                near.write(|out| out.extend_from_slice(b"before")).expect("a loop");
                near.write(|out| out.extend_from_slice(&payload)).expect("a loop");
                near.flush().expect("a loop");
                std::mem::swap(near.stream_mut(), far.stream_mut());
                far.begin_command();
                let mut read = Vec::new();
                assert!(far.read(&mut read).expect("a packet"));
                assert_eq!(read, b"before");
                assert!(far.read(&mut read).expect("a packet"));
                assert!(read == payload, "{algorithm:?} {length}");
                let next = far.compression.as_ref().map(Compression::sequence);
                assert_eq!(
                    Some(far.sequence),
                    next,
                    "what is written now has the number that clients look for"
                );
                std::mem::swap(near.stream_mut(), far.stream_mut());
            }
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let code = |bytes: &[u8]| {
            let mut stream = PacketStream::new(Loop(bytes.iter().copied().collect(), false), 100);
            match stream.read(&mut Vec::new()) {
                Err(WireError::Protocol(error)) => error.code,
                Err(WireError::Io(_)) => 1,
                Ok(_) => 0,
            }
        };
        assert_eq!(code(&[1, 0, 0, 0, 7]), 0);
        assert_eq!(code(&[1, 0, 0, 5, 7]), 1156);
        assert_eq!(code(&[0xff, 0xff, 0xff, 0]), 1153);
        assert_eq!(code(&[2, 0, 0, 0, 7]), 1);
        assert_eq!(code(&[2, 0]), 1);
    }
}
