//! A small client of the protocol for tests: text statements, rows as text, errors by number.

use leafline_protocol::capability as cap;
use leafline_protocol::client::{self, ClientError, Duplex, TlsRequest};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// An answer of the server.
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

/// The facts that a client gives to be let in.
#[derive(Clone, Copy)]
pub struct Login<'l> {
    pub user: &'l str,
    pub password: &'l str,
    /// The plugin that the client begins with.
    pub plugin: &'l str,
    /// TLS, with a server that has this certificate.
    pub tls: Option<&'l Path>,
    /// The files of the client's own certificate and of its key, for TLS.
    pub identity: Option<(&'l Path, &'l Path)>,
    /// The client is on the server's machine, over a Unix socket.
    pub is_unix: bool,
    /// The capabilities of the client beyond the usual.
    pub capabilities: u32,
    /// The number of its collation.
    pub collation: u8,
    /// The connection attributes, if it sends any.
    pub attributes: &'l [(&'l str, &'l str)],
}

impl Default for Login<'_> {
    fn default() -> Self {
        Login {
            user: "root",
            password: "",
            plugin: "caching_sha2_password",
            tls: None,
            identity: None,
            is_unix: false,
            capabilities: 0,
            collation: 0,
            attributes: &[],
        }
    }
}

impl<'l> Login<'l> {
    fn whole(&self) -> client::Login<'l> {
        let identity = self.identity;
        let with = |certificate| TlsRequest { host: "localhost", authority: Some(certificate), identity };
        let tls = self.tls.map(with);
        let usual = cap::LOCAL_FILES | cap::MULTI_STATEMENTS | cap::MULTI_RESULTS;
        client::Login {
            user: self.user,
            password: self.password,
            database: None,
            plugin: Some(self.plugin),
            tls,
            is_private: self.is_unix,
            capabilities: self.capabilities | usual,
            collation: self.collation,
            attributes: self.attributes,
        }
    }
}

/// A connection.
pub struct Client {
    client: client::Client,
    welcome: Vec<u8>,
    /// Of a connection over TCP.
    socket: Option<TcpStream>,
}

fn broken(error: ClientError) -> io::Error {
    match error {
        ClientError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
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
    pub fn over(stream: Box<dyn Duplex>, login: &Login<'_>) -> io::Result<Client> {
        let client = client::Client::log_in(stream, &login.whole()).map_err(broken)?;
        let welcome = client.packet().to_vec();
        Ok(Client { client, welcome, socket: None })
    }

    /// The packet that the client was let in by.
    pub fn welcome(&self) -> &[u8] {
        &self.welcome
    }

    /// Becomes another user: COM_CHANGE_USER.
    pub fn change_user(&mut self, login: &Login<'_>) -> io::Result<()> {
        self.client.change_user(&login.whole()).map_err(broken)
    }

    /// Runs one statement.
    pub fn query(&mut self, sql: &str) -> io::Result<Answer> {
        owned(self.client.query(sql))
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
        self.client.send(code, body).map_err(broken)
    }

    /// Sends a file that the server wants, in these pieces, and its end.
    pub fn send_file(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        self.client.send_file(pieces).map_err(broken)
    }

    /// Sends bytes that are no packet.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.client.packets().stream_mut();
        stream.write_all(bytes)?;
        stream.flush()
    }

    /// Sends nothing any more.
    pub fn end_sending(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Reads a packet.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        self.client.read().map(<[u8]>::to_vec).map_err(broken)
    }

    /// Reads the answer to a command.
    pub fn answer(&mut self) -> io::Result<Answer> {
        owned(self.client.answer())
    }

    /// The protocol's client.
    pub fn inner(&mut self) -> &mut client::Client {
        &mut self.client
    }
}

/// Reads an answer to its end.
fn owned(answer: Result<client::Answer<'_>, ClientError>) -> io::Result<Answer> {
    let all = || -> Result<Answer, ClientError> {
        let mut rows = match answer? {
            client::Answer::Done(done) => return Ok(Answer::Done(done.affected)),
            client::Answer::WantsFile(name) => return Ok(Answer::WantsFile(name)),
            client::Answer::Rows(rows) => rows,
        };
        let (mut places, mut all) = (Vec::new(), Vec::new());
        while rows.next(&mut places)? {
            let bytes = rows.bytes();
            let text = |place| String::from_utf8_lossy(&bytes[place]).into_owned();
            all.push(places.iter().cloned().map(|place| place.map(text)).collect());
        }
        Ok(Answer::Rows(all))
    };
    match all() {
        Ok(answer) => Ok(answer),
        Err(ClientError::Server(error)) => Ok(Answer::Error(error.code, error.message)),
        Err(error) => Err(broken(error)),
    }
}
