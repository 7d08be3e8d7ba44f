//! Packets on a byte stream.
//!
//! | bytes | field |
//! |---|---|
//! | 0..3 | length of the payload, little-endian |
//! | 3 | sequence number, from 0 with each command |
//! | 4.. | payload |
//!
//! A payload of 2^24 - 1 bytes or more is sent in pieces of that length. A shorter piece, possibly empty, is the last.

use crate::compression::{Algorithm, Compression};
use crate::error::WireError;
use leafline_types::MysqlError;
use leafline_types::memory::server;
use leafline_types::statement::CancelToken;
use std::io::{self, BufRead, BufReader, Read, Write};

/// Longest payload of one piece.
const PIECE: usize = 0xff_ffff;
/// Bytes that a server reads at once. Most commands are shorter and take one system call.
const READ_BUFFER: usize = 4 << 10;
/// Bytes of a compressed packet's contents that are read at once.
const READ_PIECE: usize = 64 << 10;
/// Bytes that are buffered before they are written.
const WRITE_BUFFER: usize = 64 << 10;

/// Bytes of a packet from which on the server's memory limit is asked before the packet is read.
const LARGE_PACKET: usize = 1 << 20;

/// Packets in both directions over one stream.
pub struct PacketStream<S> {
    stream: BufReader<S>,
    /// The compressed layer, once it has begun.
    compression: Option<Compression>,
    sequence: u8,
    /// Packets to be written, framed.
    out: Vec<u8>,
    /// Start of the current packet in `out`.
    open: usize,
    max_packet: usize,
    /// Bytes of packets read and written since the last [`take_traffic`](Self::take_traffic).
    traffic: (u64, u64),
    /// Ends a wait for a client that reads nothing.
    cancel: CancelToken,
    /// Timeouts of writes in a row after which the wait ends in any case.
    patience: u64,
}

impl<S: Read + Write> PacketStream<S> {
    /// Makes a stream of packets over `stream`. Refuses packets of more than `max_packet` bytes.
    pub fn new(stream: S, max_packet: usize) -> PacketStream<S> {
        PacketStream::with_read_buffer(stream, max_packet, READ_BUFFER)
    }

    /// Makes a stream of packets that reads up to `read_buffer` bytes at once.
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

    /// Notes that the client was let in: from now on `cancel` ends a wait for it.
    pub fn let_in(&mut self, cancel: CancelToken) {
        self.cancel = cancel;
    }

    /// Begins the compressed layer in both directions.
    pub fn compress(&mut self, algorithm: Algorithm) {
        self.compression = Some(Compression::new(algorithm));
    }

    /// Refuses packets of more than `bytes` from now on.
    pub fn set_max_packet(&mut self, bytes: usize) {
        self.max_packet = bytes;
    }

    /// Ends a wait for a client that reads nothing after `timeouts` timeouts of writes in a row.
    pub fn set_patience(&mut self, timeouts: u64) {
        self.patience = timeouts;
    }

    /// Returns the stream.
    pub fn stream(&self) -> &S {
        self.stream.get_ref()
    }

    /// Returns the stream, to change its settings.
    pub fn stream_mut(&mut self) -> &mut S {
        self.stream.get_mut()
    }

    /// Takes the bytes that were read and not used. A new layer over the stream has to read them again.
    pub fn take_unread(&mut self) -> Vec<u8> {
        let unread = self.stream.buffer().to_vec();
        self.stream.consume(unread.len());
        unread
    }

    /// Writes buffered packets, then reads the next packet into `packet`. Returns false at the end of the stream.
    ///
    /// # Errors
    /// `Io`; `Protocol` with 1153 if the packet is too large, 1041 if the server has no memory for it, 1156 if its number is not the
    /// next.
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
            // The compressed layer checks its own numbers instead.
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
                // A growing buffer is copied into one of twice its size.
                server::ask(2 * (packet.len() + length)).map_err(WireError::Protocol)?;
            }
            self.read_payload(length, packet)?;
            self.traffic.0 += 4 + length as u64;
            if length < PIECE {
                return Ok(true);
            }
        }
    }

    /// Reads some bytes. Returns 0 at the end of the stream. Reads again after an interruption: with a timeout, stopping and
    /// continuing or tracing the process interrupts a read.
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

    /// Reads until `buffer` is full.
    fn read_all(&mut self, mut buffer: &mut [u8]) -> Result<(), WireError> {
        while !buffer.is_empty() {
            match self.read_some(buffer)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => buffer = buffer.get_mut(n..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Appends `length` bytes of the stream to `packet`. The buffer grows as bytes arrive, because the length is only the client's
    /// claim.
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

    /// Takes the numbers of bytes of packets that were read and written since the last call.
    pub fn take_traffic(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.traffic)
    }

    /// Numbers packets from zero: the next packet is the first of a command.
    pub fn begin_command(&mut self) {
        self.sequence = 0;
        if let Some(compression) = &mut self.compression {
            compression.begin_command();
        }
    }

    /// Numbers packets from one: the next packet is an answer without a command.
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

    /// Splits the packet at the end of the buffer, which is too long for one piece, and writes the pieces.
    fn write_pieces(&mut self) -> Result<(), WireError> {
        // The buffer is taken, because a copy of a long packet is expensive.
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

    /// Decides after a failed write: returns `Ok` to try again, or the error.
    fn bear(&self, error: io::Error, timeouts: &mut u64) -> Result<(), WireError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            // The client reads nothing: wait for it, unless the statement is to end. (`TimedOut` is the deadline of the log-in,
            // which TLS may meet here during its handshake.)
            io::ErrorKind::WouldBlock if self.cancel.reason().is_none() && *timeouts + 1 < self.patience => {
                *timeouts += 1;
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    /// Writes the buffered packets, and flushes the stream.
    ///
    /// # Errors
    /// `Io`.
    pub fn flush(&mut self) -> Result<(), WireError> {
        self.write_out()?;
        if let Some(compression) = &self.compression {
            // Packets take the number of the compressed layer, as in MySQL and its clients.
            self.sequence = compression.sequence();
        }
        let mut timeouts = 0;
        while let Err(error) = self.stream.get_mut().flush() {
            self.bear(error, &mut timeouts)?;
        }
        // Frees the memory of a long packet, because most connections wait most of the time.
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

    /// A stream that returns the written bytes. Every other call is interrupted.
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
