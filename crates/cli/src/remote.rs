//! Connections to a server: the protocol's client, whose errors say which server they are about.

use super::address::Address;
use super::failure::Failure;
use leafline_protocol::client::{self, ClientError, Duplex, Login, TlsRequest};
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::net::UnixStream;

/// A connection.
pub struct Client {
    client: client::Client,
    address: String,
}

/// A server's answer to a statement. All rows of all its results have to be read before the next statement.
pub struct Answer<'c> {
    /// None of a statement that gives none.
    rows: Option<client::Rows<'c>>,
    address: &'c str,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// A server that is not there, or lets nobody in.
    pub fn connect(address: &Address) -> Result<Client, Failure> {
        let failed = |error: io::Error| Failure::io(format!("cannot connect to {address}"), error);
        let stream: Box<dyn Duplex> = match &address.socket {
            Some(path) => Box::new(UnixStream::connect(path).map_err(failed)?),
            None => {
                let stream = TcpStream::connect((address.host.as_str(), address.port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                Box::new(stream)
            }
        };
        let tls = TlsRequest { host: &address.host, authority: address.authority.as_deref(), identity: None };
        let login = Login {
            user: &address.user,
            password: &address.password,
            database: address.database.as_deref(),
            tls: address.socket.is_none().then_some(tls),
            is_private: address.socket.is_some(),
            ..Login::default()
        };
        let address = address.to_string();
        let client = client::Client::log_in(stream, &login).map_err(|error| failure(&address, error))?;
        Ok(Client { client, address })
    }

    /// The version that the server names.
    pub fn version(&self) -> &str {
        self.client.version()
    }

    /// The number of the connection, as SHOW PROCESSLIST has it.
    pub fn id(&self) -> u64 {
        self.client.connection_id().into()
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The server's, with its number; the connection's.
    pub fn query(&mut self, sql: &str) -> Result<Answer<'_>, Failure> {
        let address = &self.address;
        let rows = match self.client.query(sql).map_err(|error| failure(address, error))? {
            client::Answer::Done(_) => None,
            client::Answer::Rows(rows) => Some(rows),
            client::Answer::WantsFile(_) => {
                return Err(wants_file(address));
            }
        };
        Ok(Answer { rows, address })
    }
}

impl Answer<'_> {
    /// Reads the next row: where in [`bytes`](Self::bytes) its values are, `None` for NULL. False if there are no more.
    ///
    /// # Errors
    /// The server's; the connection's.
    pub fn next(&mut self, places: &mut Vec<Option<Range<usize>>>) -> Result<bool, Failure> {
        match &mut self.rows {
            Some(rows) => rows.next(places).map_err(|error| failure(self.address, error)),
            None => Ok(false),
        }
    }

    /// Goes on to the next result of the statement, and skips the rest of this one. False if there is none with rows.
    ///
    /// # Errors
    /// The server's; the connection's.
    pub fn next_result(&mut self) -> Result<bool, Failure> {
        let Some(rows) = self.rows.take() else { return Ok(false) };
        match rows.next_result().map_err(|error| failure(self.address, error))? {
            Some(client::Answer::Rows(rows)) => self.rows = Some(rows),
            Some(client::Answer::Done(_)) | None => {}
            Some(client::Answer::WantsFile(_)) => return Err(wants_file(self.address)),
        }
        Ok(self.rows.is_some())
    }

    /// The bytes of the row.
    pub fn bytes(&self) -> &[u8] {
        self.rows.as_ref().map_or(&[], client::Rows::bytes)
    }
}

fn wants_file(address: &str) -> Failure {
    failure(address, ClientError::Unusable("it asks for a file".into()))
}

fn failure(address: &str, error: ClientError) -> Failure {
    match error {
        ClientError::Io(error) => Failure::io(format!("the connection to {address} is lost"), error),
        ClientError::Server(error) => {
            Failure::Server { address: address.to_owned(), code: error.code, text: error.message }
        }
        ClientError::Unusable(what) => {
            Failure::Message(format!("the server at {address} cannot be used: {what}"))
        }
    }
}
