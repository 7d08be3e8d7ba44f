//! A connection to a server: statements as text, answers row by row.

use super::address::Address;
use super::auth;
use super::packets::{Duplex, Fields, Packets};
use super::tls;
use crate::failure::Failure;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::net::UnixStream;

// Capabilities, with the values of the protocol.
const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 4;
const CONNECT_WITH_DB: u32 = 8;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
/// `utf8mb4_general_ci`, which every server knows.
const COLLATION: u8 = 45;
const COM_QUERY: u8 = 3;

/// A connection.
pub struct Client {
    packets: Packets,
    payload: Vec<u8>,
    /// Nobody listens: a socket of this machine, or TLS.
    is_private: bool,
    address: String,
    /// What the server calls itself: its version.
    pub version: String,
    /// The number of the connection, as SHOW PROCESSLIST has it.
    pub id: u64,
}

/// What a server sends in answer to a statement. Its rows have to be read to the end before the next statement.
pub struct Answer<'c> {
    client: &'c mut Client,
    /// Columns of the rows; none for a statement that gives none.
    pub columns: usize,
    is_over: bool,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// A server that is not there, or lets nobody in.
    pub fn connect(address: &Address) -> Result<Client, Failure> {
        let failed = |error| Failure::io(format!("cannot connect to {address}"), error);
        let stream: Box<dyn Duplex> = match &address.socket {
            Some(path) => Box::new(UnixStream::connect(path).map_err(failed)?),
            None => {
                let stream = TcpStream::connect((address.host.as_str(), address.port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                Box::new(stream)
            }
        };
        let mut client = Client {
            packets: Packets::new(stream),
            is_private: address.socket.is_some(),
            payload: Vec::new(),
            address: address.to_string(),
            version: String::new(),
            id: 0,
        };
        client.greet(address)?;
        Ok(client)
    }

    fn greet(&mut self, address: &Address) -> Result<(), Failure> {
        self.read()?;
        let greeting = self.payload.clone();
        let mut fields = Fields(&greeting);
        if fields.byte() != Some(10) {
            return Err(self.strange("it speaks another protocol"));
        }
        self.version = String::from_utf8_lossy(fields.until_zero()).into_owned();
        self.id = fields.number(4).unwrap_or_default();
        let mut nonce = fields.bytes(8).unwrap_or_default().to_vec();
        fields.byte();
        let offered = fields.number(2).unwrap_or_default();
        // Collation, status, capabilities, the length of what follows, and ten zeros.
        fields.bytes(1 + 2 + 2 + 1 + 10);
        nonce.extend_from_slice(fields.bytes(12).unwrap_or_default());
        fields.until_zero();
        let plugin = match fields.until_zero() {
            b"caching_sha2_password" => &b"caching_sha2_password"[..],
            _ => b"mysql_native_password",
        };
        let proof = auth::answer(plugin, &address.password, &nonce).unwrap_or_default();
        let mut capabilities =
            LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH;
        if address.database.is_some() {
            capabilities |= CONNECT_WITH_DB;
        }
        if !self.is_private && offered & u64::from(SSL) != 0 {
            capabilities |= SSL;
        } else if address.authority.is_some() {
            return Err(self.strange("it offers no TLS, so nobody vouches for it"));
        }
        let mut login = capabilities.to_le_bytes().to_vec();
        login.extend((1u32 << 30).to_le_bytes());
        login.push(COLLATION);
        login.extend([0; 23]);
        if capabilities & SSL != 0 {
            self.send(&login)?;
            let authority = address.authority.as_deref();
            let upgraded = self.packets.upgrade(|stream| tls::encrypted(stream, &address.host, authority));
            upgraded.map_err(|error| self.lost(error))?;
            self.is_private = true;
        }
        login.extend(address.user.bytes().chain([0, proof.len() as u8]).chain(proof));
        if let Some(database) = &address.database {
            login.extend(database.bytes().chain([0]));
        }
        login.extend(plugin.iter().chain(&[0]));
        self.send(&login)?;
        self.prove(address, plugin.to_vec(), nonce)
    }

    /// The rest of the log-in, until the server is content.
    fn prove(&mut self, address: &Address, mut plugin: Vec<u8>, mut nonce: Vec<u8>) -> Result<(), Failure> {
        loop {
            self.read()?;
            let message = self.payload.clone();
            match message.split_first() {
                Some((0, _)) => return Ok(()),
                Some((0xff, _)) => return Err(self.refusal()),
                Some((0xfe, rest)) if !rest.is_empty() => {
                    let mut fields = Fields(rest);
                    plugin = fields.until_zero().to_vec();
                    nonce = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
                    let proof = auth::answer(&plugin, &address.password, &nonce).ok_or_else(|| {
                        let plugin = String::from_utf8_lossy(&plugin).into_owned();
                        self.strange(&format!("the account logs in by {plugin}, which is not supported here"))
                    })?;
                    self.send(&proof)?;
                }
                // The server knows the password.
                Some((1, [3])) if plugin == b"caching_sha2_password" => {}
                Some((1, [4])) if plugin == b"caching_sha2_password" => {
                    match self.is_private {
                        true => self.send(&[address.password.as_bytes(), &[0]].concat())?,
                        false => self.send(&[2])?,
                    };
                }
                Some((1, key)) if plugin == b"caching_sha2_password" => {
                    let secret = auth::enciphered(&address.password, &nonce, key);
                    let secret = secret.ok_or_else(|| self.strange("its public key is none"))?;
                    self.send(&secret)?;
                }
                _ => return Err(self.strange("its part of the log-in is not understood")),
            }
        }
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The server's, with its number; the connection's.
    pub fn query(&mut self, sql: &str) -> Result<Answer<'_>, Failure> {
        self.packets.begin();
        self.send(&[&[COM_QUERY], sql.as_bytes()].concat())?;
        self.read()?;
        let columns = match self.payload.first() {
            Some(0) => 0,
            Some(0xff) => return Err(self.refusal()),
            // LOAD DATA LOCAL: nothing here asks for it.
            Some(0xfb) | None => return Err(self.strange("it asks for a file")),
            Some(_) => {
                Fields(&self.payload).length().flatten().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
            }
        };
        // What is known of the columns, and the end of it.
        for _ in 0..columns + usize::from(columns > 0) {
            self.read()?;
            if self.payload.first() == Some(&0xff) {
                return Err(self.refusal());
            }
        }
        Ok(Answer { client: self, columns, is_over: columns == 0 })
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.packets.read(&mut self.payload).map_err(|error| self.lost(error))
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        self.packets.write(payload).map_err(|error| self.lost(error))
    }

    fn lost(&self, error: io::Error) -> Failure {
        Failure::io(format!("the connection to {} is lost", self.address), error)
    }

    fn strange(&self, what: &str) -> Failure {
        Failure::Message(format!("the server at {} cannot be used: {what}", self.address))
    }

    /// The error that the server has sent.
    fn refusal(&self) -> Failure {
        let mut fields = Fields(self.payload.get(1..).unwrap_or_default());
        let code = fields.number(2).unwrap_or_default();
        let text = match fields.0.split_first() {
            Some((b'#', rest)) => rest.get(5..).unwrap_or_default(),
            _ => fields.0,
        };
        let text = String::from_utf8_lossy(text);
        Failure::Server { address: self.address.clone(), code: code as u16, text: text.into_owned() }
    }
}

impl Answer<'_> {
    /// Reads the next row: where in [`bytes`](Self::bytes) its values are, `None` for NULL. False if there are no more.
    ///
    /// # Errors
    /// The server's; the connection's.
    pub fn next(&mut self, cells: &mut Vec<Option<Range<usize>>>) -> Result<bool, Failure> {
        cells.clear();
        if self.is_over {
            return Ok(false);
        }
        self.client.read()?;
        let payload = &self.client.payload;
        match payload.first() {
            Some(0xff) => {
                self.is_over = true;
                return Err(self.client.refusal());
            }
            Some(0xfe) if payload.len() < 9 => {
                self.is_over = true;
                return Ok(false);
            }
            _ => {}
        }
        let mut fields = Fields(payload);
        for _ in 0..self.columns {
            let cell = fields.string().ok_or_else(|| self.client.strange("a row ends too early"))?;
            let end = payload.len() - fields.0.len();
            cells.push(cell.map(|bytes| end - bytes.len()..end));
        }
        Ok(true)
    }

    /// The bytes of the row.
    pub fn bytes(&self) -> &[u8] {
        &self.client.payload
    }
}
