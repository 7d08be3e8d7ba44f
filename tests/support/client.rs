//! A small client of the protocol: text statements, rows as text, errors by number.

#[path = "login.rs"]
mod login;

use leafline_server::protocol::bytes::{NULL, Reader, put_terminated};
use leafline_server::protocol::command;
use leafline_server::protocol::packet::PacketStream;
pub use login::Login;
use login::{converse, log_in};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection's bytes.
pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// Packets over them.
pub type Packets = PacketStream<Box<dyn Stream>>;

/// What the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Done: rows affected.
    Done(u64),
    /// Rows, values as text.
    Rows(Vec<Vec<Option<String>>>),
    /// An error: number and message.
    Error(u16, String),
    /// It wants a file of that name.
    WantsFile(String),
}

/// A connection.
pub struct Client {
    packets: Packets,
    welcome: Vec<u8>,
    /// Of a connection over TCP.
    socket: Option<TcpStream>,
}

pub(super) fn broken(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

impl Client {
    /// Connects and logs in.
    pub fn connect(address: SocketAddr, user: &str, password: &str) -> io::Result<Client> {
        Client::log_in(address, &Login { user, password, ..Login::default() })
    }

    /// Connects and logs in by all that a login can be.
    pub fn log_in(address: SocketAddr, login: &Login<'_>) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let socket = Some(stream.try_clone()?);
        Ok(Client { socket, ..Client::over(Box::new(stream), login)? })
    }

    /// Logs in over a stream.
    pub fn over(stream: Box<dyn Stream>, login: &Login<'_>) -> io::Result<Client> {
        let (packets, verdict) = log_in(stream, login)?;
        match verdict.first() {
            Some(0x00) => Ok(Client { packets, welcome: verdict, socket: None }),
            Some(0xff) => Err(broken(format!("{:?}", error(&verdict)?))),
            _ => Err(broken("neither let in nor turned away")),
        }
    }

    /// The packet that the client was let in by.
    pub fn welcome(&self) -> &[u8] {
        &self.welcome
    }

    /// Becomes another user: COM_CHANGE_USER.
    pub fn change_user(&mut self, login: &Login<'_>) -> io::Result<()> {
        let mut body = Vec::new();
        put_terminated(&mut body, login.user);
        body.extend_from_slice(&[0, 0, 45, 0]);
        put_terminated(&mut body, login.plugin);
        self.send(command::CHANGE_USER, &body)?;
        let verdict = converse(&mut self.packets, login, Vec::new())?;
        match verdict.first() {
            Some(0x00) => Ok(()),
            _ => Err(broken(format!("{:?}", error(&verdict)?))),
        }
    }

    /// Runs one statement.
    pub fn query(&mut self, sql: &str) -> io::Result<Answer> {
        self.send(command::QUERY, sql.as_bytes())?;
        self.answer()
    }

    /// Runs one statement that must succeed.
    pub fn run(&mut self, sql: &str) -> Answer {
        match self.query(sql) {
            Ok(Answer::Error(code, message)) => panic!("{sql}: ERROR {code}: {message}"),
            Ok(answer) => answer,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// The rows of a query that must succeed.
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        match self.run(sql) {
            Answer::Rows(rows) => rows,
            other => panic!("{sql}: {other:?}"),
        }
    }

    /// Sends a command without waiting for its answer.
    pub fn send(&mut self, code: u8, body: &[u8]) -> io::Result<()> {
        self.packets.begin_command();
        self.packets
            .write(|out| {
                out.push(code);
                out.extend_from_slice(body);
            })
            .map_err(broken)?;
        self.packets.flush().map_err(broken)
    }

    /// Sends a file that the server wants, in these pieces, and its end.
    pub fn send_file(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        for piece in pieces.iter().chain([&&b""[..]]) {
            self.packets.write(|out| out.extend_from_slice(piece)).map_err(broken)?;
        }
        self.packets.flush().map_err(broken)
    }

    /// Sends bytes that are no packet.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.packets.stream_mut().write_all(bytes)?;
        self.packets.stream_mut().flush()
    }

    /// Sends nothing any more.
    pub fn end_sending(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Reads a packet.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut packet = Vec::new();
        match self.packets.read(&mut packet) {
            Ok(true) => Ok(packet),
            Ok(false) => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Err(error) => Err(broken(error)),
        }
    }

    /// Reads the answer to a command.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let packet = self.read()?;
        let mut reader = Reader::new(&packet);
        match packet.first() {
            Some(0x00) => {
                reader.u8().map_err(broken)?;
                Ok(Answer::Done(reader.length().map_err(broken)?))
            }
            Some(0xff) => error(&packet),
            Some(0xfb) => Ok(Answer::WantsFile(String::from_utf8_lossy(&packet[1..]).into_owned())),
            Some(_) => {
                let columns = reader.length().map_err(broken)?;
                for _ in 0..columns {
                    self.read()?;
                }
                self.read_rows(columns)
            }
            None => Err(broken("an empty packet")),
        }
    }

    fn read_rows(&mut self, columns: u64) -> io::Result<Answer> {
        let mut rows = Vec::new();
        loop {
            let packet = self.read()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 0xff_ffff => return Ok(Answer::Rows(rows)),
                Some(0xff) => return error(&packet),
                _ => {}
            }
            let mut rest = &packet[..];
            let mut row = Vec::new();
            for _ in 0..columns {
                if let Some((&NULL, after)) = rest.split_first() {
                    rest = after;
                    row.push(None);
                    continue;
                }
                let mut reader = Reader::new(rest);
                let value = reader.string().map_err(broken)?;
                row.push(Some(String::from_utf8_lossy(value).into_owned()));
                rest = reader.rest();
            }
            rows.push(row);
        }
    }
}

fn error(packet: &[u8]) -> io::Result<Answer> {
    let mut reader = Reader::new(packet);
    reader.u8().map_err(broken)?;
    let code = reader.u16().map_err(broken)?;
    // Before the greeting there is no SQLSTATE.
    if packet.get(3) == Some(&b'#') {
        reader.take(6).map_err(broken)?;
    }
    Ok(Answer::Error(code, String::from_utf8_lossy(reader.rest()).into_owned()))
}
