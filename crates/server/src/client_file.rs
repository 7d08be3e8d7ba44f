//! Reads files of the client: LOAD DATA LOCAL INFILE.
//!
//! While the statement runs the server asks for a file, and the client sends it in packets of any size. The statement's answer
//! follows.
//!
//! | from | packet |
//! |---|---|
//! | server | 0xFB, the name of the file |
//! | client | bytes of the file, any number of times |
//! | client | an empty packet: the end of the file, or there is no file |
//!
//! The server cannot stop the client. When the statement fails early, the server reads and drops the rest of the file, so that
//! both sides agree on the next packet.

use leafline_protocol::WireError;
use leafline_protocol::packet::PacketStream;
use leafline_protocol::reply::put_file_request;
use leafline_sql::ClientFiles;
use leafline_types::MysqlError;
use std::io::{self, Read, Write};

/// The files of a client that runs a statement.
pub(crate) struct FilesOfClient<'p, S> {
    packets: &'p mut PacketStream<S>,
    /// The current packet. `at` is the number of its bytes that were read.
    packet: Vec<u8>,
    at: usize,
    /// The server has asked for a file, and not all of it has come.
    coming: bool,
    broken: Option<WireError>,
}

impl<'p, S: Read + Write> FilesOfClient<'p, S> {
    pub(crate) fn new(packets: &'p mut PacketStream<S>) -> FilesOfClient<'p, S> {
        FilesOfClient { packets, packet: Vec::new(), at: 0, coming: false, broken: None }
    }

    /// Ends the statement: reads and drops the rest of its file.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn finish(mut self) -> Result<(), WireError> {
        while self.coming && self.broken.is_none() {
            self.next_packet();
        }
        self.broken.map_or(Ok(()), Err)
    }

    fn next_packet(&mut self) {
        self.at = 0;
        match self.packets.read(&mut self.packet) {
            Ok(true) => self.coming = !self.packet.is_empty(),
            Ok(false) => self.broken = Some(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Err(error) => self.broken = Some(error),
        }
    }
}

impl<S: Read + Write> ClientFiles for FilesOfClient<'_, S> {
    fn open(&mut self, path: &str) -> Result<Box<dyn Read + '_>, MysqlError> {
        let asked = self.packets.write(|out| put_file_request(out, path));
        match asked {
            Ok(()) => self.coming = true,
            Err(error) => self.broken = Some(error),
        }
        Ok(Box::new(self))
    }
}

impl<S: Read + Write> Read for &mut FilesOfClient<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.packet.len() && self.coming && self.broken.is_none() {
            self.next_packet();
        }
        if self.broken.is_some() {
            // `finish` returns the error to the connection.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let rest = self.packet.get(self.at..).unwrap_or_default();
        let bytes = rest.len().min(buffer.len());
        if let (Some(space), Some(read)) = (buffer.get_mut(..bytes), rest.get(..bytes)) {
            space.copy_from_slice(read);
        }
        self.at += bytes;
        Ok(bytes)
    }
}
