//! The client's part of the handshake: TLS, both plugins, the request to switch between them, compression.

use super::{Client, ClientError, Duplex, MAX_PACKET, READ_BUFFER, auth, tls};
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
use std::path::Path;

/// What this client asks for of every server.
const WANTED: u32 =
    cap::LONG_FLAG | cap::TRANSACTIONS | cap::PLUGIN_AUTH | cap::PLUGIN_AUTH_LENENC | cap::DEPRECATE_EOF;
/// What every server has to be able to do, whether it says so or not: MariaDB leaves out LONG_PASSWORD.
const REQUIRED: u32 = cap::LONG_PASSWORD | cap::PROTOCOL_41 | cap::SECURE_CONNECTION;
/// `utf8mb4_general_ci`, which every server knows.
const COLLATION: u8 = 45;

/// What a client says of itself to be let in.
#[derive(Clone, Copy)]
pub struct Login<'l> {
    /// The account.
    pub user: &'l str,
    /// Its password.
    pub password: &'l str,
    /// The database to begin with.
    pub database: Option<&'l str>,
    /// The plugin to begin with; the one that the server proposes if there is none.
    pub plugin: Option<&'l str>,
    /// Encrypts the connection, if there is one.
    pub tls: Option<TlsRequest<'l>>,
    /// The connection is a socket of this machine, where nobody listens.
    pub is_private: bool,
    /// Capabilities to ask for beyond those of every client. COMPRESS and ZSTD compress.
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

/// How a connection is encrypted.
#[derive(Clone, Copy)]
pub struct TlsRequest<'l> {
    /// The name that the server's certificate has to have.
    pub host: &'l str,
    /// A file of certificates, one of which has to have signed the server's, or to be it. Without one any certificate is taken, and TLS
    /// is left out if the server does not offer it.
    pub authority: Option<&'l Path>,
}

impl Client {
    /// Logs in over a stream.
    ///
    /// # Errors
    /// The server turns the client away; the connection breaks; the server is none that this client can use.
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

    /// Becomes another user: COM_CHANGE_USER.
    ///
    /// # Errors
    /// As [`Client::log_in`]; the server ends the connection then.
    pub fn change_user(&mut self, login: &Login<'_>) -> Result<(), ClientError> {
        let plugin = login.plugin.unwrap_or(CACHING_SHA2_PASSWORD).to_owned();
        // The challenge of the greeting is used up: the server sends another one.
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

    /// Decides on TLS.
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
        // Nobody knows who has sent it.
        if !self.packets.take_unread().is_empty() {
            return Err(ClientError::Unusable("it speaks before the connection is encrypted".into()));
        }
        let clear: Box<dyn Duplex> = std::mem::replace(self.packets.stream_mut(), Box::new(io::empty()));
        *self.packets.stream_mut() = tls::encrypted(clear, tls.host, tls.authority)?;
        self.is_private = true;
        Ok(())
    }

    /// Proves the password, until the server has let the client in.
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
    /// Responds to a greeting.
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

    /// The response but for the proof of the password.
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
