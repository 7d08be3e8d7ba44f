//! The client's part of the handshake: TLS, both plugins, the switch between them, and compression.

use super::tls::{self, TlsRequest};
use super::{Client, ClientError, Duplex, MAX_PACKET, READ_BUFFER, auth};
use crate::capability as cap;
use crate::command;
use crate::compression::Algorithm;
use crate::handshake::{
    CACHING_SHA2_PASSWORD, FAST_OK, Greeting, HandshakeResponse, MORE_DATA, NATIVE_PASSWORD, PUBLIC_KEY,
    SEND_PASSWORD, SWITCH, Switch,
};
use crate::packet::PacketStream;
use crate::reply::{self, read_error};
use std::io;

/// Capabilities that this client asks for if the server has them.
const WANTED: u32 = cap::LONG_FLAG
    | cap::TRANSACTIONS
    | cap::MULTI_RESULTS
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC
    | cap::DEPRECATE_EOF;
/// Capabilities that every server must have, even if its greeting leaves them out, as MariaDB's leaves out LONG_PASSWORD.
const REQUIRED: u32 = cap::LONG_PASSWORD | cap::PROTOCOL_41 | cap::SECURE_CONNECTION;
/// `utf8mb4_general_ci`, which every server knows.
const COLLATION: u8 = 45;

/// The account and the options of a log-in.
#[derive(Clone, Copy)]
pub struct Login<'l> {
    /// The account.
    pub user: &'l str,
    /// The account's password.
    pub password: &'l str,
    /// The database to begin with.
    pub database: Option<&'l str>,
    /// The plugin to begin with; `None` takes the one that the server proposes.
    pub plugin: Option<&'l str>,
    /// Encrypts the connection; `None` leaves it in clear.
    pub tls: Option<TlsRequest<'l>>,
    /// The connection is a socket of this machine, which others cannot listen to.
    pub is_private: bool,
    /// Further capabilities to ask for. COMPRESS and ZSTD compress the connection.
    pub capabilities: u32,
    /// The number of the collation of the client's text.
    pub collation: u8,
    /// Connection attributes.
    pub attributes: &'l [(&'l str, &'l str)],
}

impl Default for Login<'_> {
    fn default() -> Self {
        Login {
            user: "",
            password: "",
            database: None,
            plugin: None,
            tls: None,
            is_private: false,
            capabilities: 0,
            collation: COLLATION,
            attributes: &[],
        }
    }
}

impl Client {
    /// Logs in over a stream: reads the greeting, begins TLS, proves the password, and begins compression.
    ///
    /// # Errors
    /// The server turns the client away, the connection breaks, or the client does not support the server.
    pub fn log_in(stream: Box<dyn Duplex>, login: &Login<'_>) -> Result<Client, ClientError> {
        let mut client = Client {
            packets: PacketStream::with_read_buffer(stream, MAX_PACKET, READ_BUFFER),
            packet: Vec::new(),
            capabilities: 0,
            is_private: login.is_private,
            version: String::new(),
            connection_id: 0,
        };
        let packet = client.read()?;
        if packet.first() == Some(&reply::ERROR) {
            return Err(ClientError::Server(read_error(packet)?));
        }
        let greeting =
            Greeting::read(packet).map_err(|_| ClientError::Unusable("it speaks another protocol".into()))?;
        let tls = client.tls_of(login, &greeting)?;
        let mut response = login.response(&greeting);
        if let Some(tls) = tls {
            response.capabilities |= cap::SSL;
            client.write(|out| response.put_beginning(out))?;
            client.encrypt(&tls)?;
        }
        client.write(|out| response.put(out))?;
        client.capabilities = response.capabilities;
        let plugin = response.plugin.unwrap_or_default();
        client.prove(login.password, plugin, greeting.challenge)?;
        if let Some(algorithm) = response.compression {
            client.packets.compress(algorithm);
        }
        client.version = greeting.version;
        client.connection_id = greeting.connection_id;
        Ok(client)
    }

    /// Changes the user: COM_CHANGE_USER.
    ///
    /// # Errors
    /// As [`Client::log_in`]. The server ends the connection after an error.
    pub fn change_user(&mut self, login: &Login<'_>) -> Result<(), ClientError> {
        let plugin = login.plugin.unwrap_or(CACHING_SHA2_PASSWORD).to_owned();
        // The challenge of the greeting is used up. The server sends another one.
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            authentication: Vec::new(),
            plugin: Some(plugin.clone()),
            ..login.response_of(self.capabilities)
        };
        let mut body = Vec::new();
        response.put_change_user(&mut body);
        self.send(command::CHANGE_USER, &body)?;
        self.prove(login.password, plugin, Vec::new())
    }

    /// Returns the options of TLS if the connection uses it. Fails if the log-in names an authority and the server has no TLS.
    fn tls_of<'l>(
        &self,
        login: &Login<'l>,
        greeting: &Greeting,
    ) -> Result<Option<TlsRequest<'l>>, ClientError> {
        match login.tls {
            Some(tls) if tls.authority.is_some() && greeting.capabilities & cap::SSL == 0 => {
                Err(ClientError::Unusable("it offers no TLS, so nobody vouches for it".into()))
            }
            tls => Ok(tls.filter(|_| greeting.capabilities & cap::SSL != 0)),
        }
    }

    fn encrypt(&mut self, tls: &TlsRequest<'_>) -> Result<(), ClientError> {
        // Anybody may have sent bytes that came in clear.
        if !self.packets.take_unread().is_empty() {
            return Err(ClientError::Unusable("it speaks before the connection is encrypted".into()));
        }
        let clear: Box<dyn Duplex> = std::mem::replace(self.packets.stream_mut(), Box::new(io::empty()));
        *self.packets.stream_mut() = tls::encrypted(clear, tls)?;
        self.is_private = true;
        Ok(())
    }

    /// Answers the server's requests about the password until the server lets the client in.
    fn prove(
        &mut self,
        password: &str,
        mut plugin: String,
        mut challenge: Vec<u8>,
    ) -> Result<(), ClientError> {
        let is_private = self.is_private;
        loop {
            let packet = self.read()?;
            let proof = match packet {
                [reply::OK, ..] => return Ok(()),
                [reply::ERROR, ..] => return Err(ClientError::Server(read_error(packet)?)),
                [SWITCH, _, ..] => {
                    Switch { plugin, challenge } = Switch::read(packet)?;
                    auth::answer(&plugin, password, &challenge).ok_or_else(|| {
                        let what = format!("the account logs in by {plugin}, which is not supported here");
                        ClientError::Unusable(what)
                    })?
                }
                [MORE_DATA, data @ ..] if plugin == CACHING_SHA2_PASSWORD => match data {
                    [FAST_OK] => continue,
                    [SEND_PASSWORD] if is_private => [password.as_bytes(), &[0]].concat(),
                    [SEND_PASSWORD] => vec![PUBLIC_KEY],
                    key => auth::enciphered(password, &challenge, key)
                        .ok_or_else(|| ClientError::Unusable("its public key is none".into()))?,
                },
                _ => {
                    let what = "its part of the log-in is not understood";
                    return Err(ClientError::Unusable(what.into()));
                }
            };
            self.write(|out| out.extend_from_slice(&proof))?;
        }
    }
}

impl Login<'_> {
    /// Makes the response to a greeting.
    fn response(&self, greeting: &Greeting) -> HandshakeResponse {
        let plugin = match self.plugin {
            Some(plugin) => plugin,
            None if greeting.plugin == CACHING_SHA2_PASSWORD => CACHING_SHA2_PASSWORD,
            None => NATIVE_PASSWORD,
        };
        let mut wanted = WANTED | self.capabilities;
        if self.database.is_some() {
            wanted |= cap::CONNECT_WITH_DB;
        }
        if !self.attributes.is_empty() {
            wanted |= cap::CONNECT_ATTRS;
        }
        HandshakeResponse {
            authentication: auth::answer(plugin, self.password, &greeting.challenge).unwrap_or_default(),
            plugin: Some(plugin.into()),
            ..self.response_of(wanted & greeting.capabilities | REQUIRED)
        }
    }

    /// Makes the response without the proof of the password.
    fn response_of(&self, capabilities: u32) -> HandshakeResponse {
        let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
        HandshakeResponse {
            capabilities,
            collation: self.collation.into(),
            user: self.user.into(),
            authentication: Vec::new(),
            database: self.database.map(Into::into),
            plugin: None,
            compression: Algorithm::agreed(capabilities),
            attributes: self.attributes.iter().map(owned).collect(),
        }
    }
}
