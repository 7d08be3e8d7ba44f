//! The client's half of the protocol: log-in, commands, answers, rows one by one.
//!
//! | module | holds |
//! |---|---|
//! | `log_in` | the client's part of the handshake |
//! | `auth` | the proof of a password |
//! | `tls` | encryption |
//!
//! A [`Client`] works over any [`Duplex`] stream. It sends one command at a time. An answer with rows must be read to its end
//! before the next command, and CALL has several answers: [`Rows::next_result`].

mod auth;
mod log_in;
mod tls;

pub use log_in::Login;
pub use tls::TlsRequest;

use crate::bytes::Reader;
use crate::capability as cap;
use crate::column::ColumnDefinition;
use crate::command;
use crate::error::WireError;
use crate::packet::PacketStream;
use crate::prepared::Prepared;
use crate::reply::{self, OkPacket, read_error};
use crate::status;
use crate::text::read_row;
use leafline_types::MysqlError;
use std::io::{self, Read, Write};
use std::ops::Range;

/// Bytes that are read at once: rows come in large numbers.
const READ_BUFFER: usize = 256 << 10;
/// Most bytes of a packet: rows have at most 1 GiB on either side.
const MAX_PACKET: usize = 1 << 30;
/// Length that tells rows from their end: the end packet is shorter, and a row with the same first byte is longer, because its
/// first value has 2^24 bytes or more.
const END_OF_ROWS: usize = 0xff_ffff;

/// A byte stream in both directions.
pub trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

/// Packets over a connection.
pub type Packets = PacketStream<Box<dyn Duplex>>;

/// An error of the client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection is broken.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The server has answered with an error.
    #[error("{0}")]
    Server(MysqlError),
    /// The server breaks the protocol, or asks for something that this client does not support.
    #[error("{0}")]
    Unusable(String),
}

impl From<WireError> for ClientError {
    fn from(error: WireError) -> ClientError {
        match error {
            WireError::Io(error) => ClientError::Io(error),
            WireError::Protocol(error) => ClientError::from(error),
        }
    }
}

/// Converts errors of reading packets. An error that the server sends is [`ClientError::Server`].
impl From<MysqlError> for ClientError {
    fn from(error: MysqlError) -> ClientError {
        ClientError::Unusable(error.message)
    }
}

/// A connection after the log-in.
pub struct Client {
    packets: Packets,
    packet: Vec<u8>,
    capabilities: u32,
    is_private: bool,
    version: String,
    connection_id: u32,
}

/// A server's answer to a command.
pub enum Answer<'c> {
    /// The command is done, without rows.
    Done(OkPacket<'c>),
    /// Rows follow.
    Rows(Rows<'c>),
    /// The server asks for the client's file of this name: [`Client::send_file`].
    WantsFile(String),
}

/// Rows of the text protocol. The caller must read them to the end before the next command.
pub struct Rows<'c> {
    client: &'c mut Client,
    columns: Vec<ColumnDefinition>,
    is_over: bool,
    /// Server status at the end of the rows.
    status: u16,
}

impl Client {
    /// Returns the version that the server's greeting names.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the number of the connection in SHOW PROCESSLIST.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Returns the packet that was read last. After the log-in it is the OK packet.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Returns the stream of packets, for commands without a method here.
    pub fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The server's error; errors of the connection.
    pub fn query(&mut self, sql: &str) -> Result<Answer<'_>, ClientError> {
        self.send(command::QUERY, sql.as_bytes())?;
        self.answer()
    }

    /// Sends a command. The caller reads its answer.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn send(&mut self, code: u8, body: &[u8]) -> Result<(), ClientError> {
        self.packets.begin_command();
        self.packets.write(|out| {
            out.push(code);
            out.extend_from_slice(body);
        })?;
        Ok(self.packets.flush()?)
    }

    /// Reads the answer to the command, or the next answer of several statements.
    ///
    /// # Errors
    /// The server's error; errors of the connection; a malformed answer.
    pub fn answer(&mut self) -> Result<Answer<'_>, ClientError> {
        self.read()?;
        let mut reader = Reader::new(&self.packet);
        match self.packet.first() {
            Some(&reply::OK) => Ok(Answer::Done(OkPacket::read(&self.packet, self.capabilities)?)),
            Some(&reply::ERROR) => Err(ClientError::Server(read_error(&self.packet)?)),
            Some(&reply::FILE) => {
                reader.u8()?;
                Ok(Answer::WantsFile(String::from_utf8_lossy(reader.rest()).into_owned()))
            }
            _ => {
                let count = reader.length()?;
                let columns = self.read_definitions(count)?;
                Ok(Answer::Rows(Rows { client: self, columns, is_over: false, status: 0 }))
            }
        }
    }

    /// Prepares a statement. Returns its number and counts, and the definitions of its parameters and columns.
    ///
    /// # Errors
    /// The server's error; errors of the connection.
    pub fn prepare(
        &mut self,
        sql: &str,
    ) -> Result<(Prepared, Vec<ColumnDefinition>, Vec<ColumnDefinition>), ClientError> {
        self.send(command::STMT_PREPARE, sql.as_bytes())?;
        self.read()?;
        if self.packet.first() == Some(&reply::ERROR) {
            return Err(ClientError::Server(read_error(&self.packet)?));
        }
        let prepared = Prepared::read(&self.packet)?;
        let parameters = self.read_definitions(prepared.parameters.into())?;
        let columns = self.read_definitions(prepared.columns.into())?;
        Ok((prepared, parameters, columns))
    }

    /// Reads column definitions, and the EOF packet that follows them without DEPRECATE_EOF.
    fn read_definitions(&mut self, count: u64) -> Result<Vec<ColumnDefinition>, ClientError> {
        let mut columns = Vec::new();
        for _ in 0..count {
            self.read()?;
            if self.packet.first() == Some(&reply::ERROR) {
                return Err(ClientError::Server(read_error(&self.packet)?));
            }
            columns.push(ColumnDefinition::read(&mut Reader::new(&self.packet))?);
        }
        if count > 0 && self.capabilities & cap::DEPRECATE_EOF == 0 {
            self.read()?;
        }
        Ok(columns)
    }

    /// Sends the pieces of a file that the server asks for, and its end. The statement's answer follows.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn send_file(&mut self, pieces: &[&[u8]]) -> Result<(), ClientError> {
        for piece in pieces.iter().chain([&&b""[..]]) {
            self.packets.write(|out| out.extend_from_slice(piece))?;
        }
        Ok(self.packets.flush()?)
    }

    /// Reads the next packet.
    ///
    /// # Errors
    /// Errors of the connection; `UnexpectedEof` at its end.
    pub fn read(&mut self) -> Result<&[u8], ClientError> {
        match self.packets.read(&mut self.packet)? {
            true => Ok(&self.packet),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    fn write(&mut self, build: impl FnOnce(&mut Vec<u8>)) -> Result<(), ClientError> {
        self.packets.write(build)?;
        Ok(self.packets.flush()?)
    }
}

impl<'c> Rows<'c> {
    /// Returns the definitions of the columns.
    pub fn columns(&self) -> &[ColumnDefinition] {
        &self.columns
    }

    /// Reads the next row. `places` gets the ranges of its values in [`bytes`](Self::bytes), `None` for NULL. Returns false after
    /// the last row.
    ///
    /// # Errors
    /// The server's error; errors of the connection.
    pub fn next(&mut self, places: &mut Vec<Option<Range<usize>>>) -> Result<bool, ClientError> {
        places.clear();
        if self.is_over {
            return Ok(false);
        }
        let capabilities = self.client.capabilities;
        let packet = self.client.read()?;
        self.is_over = match packet.first() {
            Some(&reply::ERROR) => true,
            Some(&reply::END) => packet.len() < END_OF_ROWS,
            _ => false,
        };
        match packet.first() {
            Some(&reply::ERROR) => Err(ClientError::Server(read_error(packet)?)),
            _ if self.is_over => {
                self.status = OkPacket::read(packet, capabilities)?.status;
                Ok(false)
            }
            _ => {
                read_row(packet, self.columns.len(), places)?;
                Ok(true)
            }
        }
    }

    /// Returns the server status that came with the end of the rows; 0 before.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Reads the remaining rows, and then the next result of the statement; `None` if there is none. The last
    /// result of CALL is always [`Answer::Done`].
    ///
    /// # Errors
    /// The server's error, which ends the results; errors of the connection.
    pub fn next_result(mut self) -> Result<Option<Answer<'c>>, ClientError> {
        let mut places = Vec::new();
        while self.next(&mut places)? {}
        match self.status & status::MORE_RESULTS {
            0 => Ok(None),
            _ => self.client.answer().map(Some),
        }
    }

    /// Returns the bytes of the row.
    pub fn bytes(&self) -> &[u8] {
        &self.client.packet
    }
}

#[cfg(test)]
mod tests;
