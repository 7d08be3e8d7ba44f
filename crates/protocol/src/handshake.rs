//! Packets of the handshake: the server's greeting, the client's response, the switch of plugins and more data of a plugin.
//!
//! Greeting: protocol version 10 | server version, zero | connection id u32 | challenge, 8 bytes, zero | capabilities, low
//! u16 | collation u8 | status u16 | capabilities, high u16 | length of the challenge + 1 | 10 zeros | challenge, 12 bytes,
//! zero | plugin, zero.
//!
//! A client that wants TLS sends the first 32 bytes of its response, begins TLS, and then sends all of it.
//!
//! Response: capabilities u32 | largest packet u32 | collation u8 | 23 zeros | user, zero | answer to the challenge |
//! database, zero, if CONNECT_WITH_DB | plugin, zero, if PLUGIN_AUTH | attributes with their length, if CONNECT_ATTRS | level u8, if ZSTD.
//!
//! COM_CHANGE_USER: user, zero | answer with its length u8 | database, zero | collation u16 | plugin, zero, if PLUGIN_AUTH | attributes
//! with their length, if CONNECT_ATTRS.
//!
//! Switch: fe | plugin, zero | challenge, zero. More data of a plugin: 01 | the data.

use crate::bytes::{Reader, put_string, put_terminated};
use crate::capability as cap;
use crate::compression::Algorithm;
use leafline_types::MysqlError;

/// The plugin that answers a challenge with SHA-1.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// The plugin that answers a challenge with SHA-256.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";

/// `caching_sha2_password` to its client: the answer is right.
pub const FAST_OK: u8 = 0x03;
/// `caching_sha2_password` to its client: the password itself is needed.
pub const SEND_PASSWORD: u8 = 0x04;
/// A client to `caching_sha2_password`: the public key is needed.
pub const PUBLIC_KEY: u8 = 0x02;

/// First byte of the request to authenticate by another plugin.
pub const SWITCH: u8 = 0xfe;
/// First byte of a packet with more data of a plugin.
pub const MORE_DATA: u8 = 0x01;

const PROTOCOL_VERSION: u8 = 10;
/// The collation of the greeting: utf8mb4_bin, which every client knows.
const GREETING_COLLATION: u8 = 46;
/// Bytes of the challenge before the capabilities.
const FIRST_PART: usize = 8;
/// Bytes of the largest packet, in a client's response.
const LARGEST_PACKET: u32 = 1 << 30;
/// The level of Zstandard for a client that sends no valid level.
const ZSTD_LEVEL: u8 = 3;
/// Bytes of the response that a client sends before TLS.
const BEFORE_TLS: usize = 32;

/// The server's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The version of the server.
    pub version: String,
    /// Number of the connection.
    pub connection_id: u32,
    /// 20 bytes, none of them zero.
    pub challenge: Vec<u8>,
    /// The server's capabilities.
    pub capabilities: u32,
    /// Server status.
    pub status: u16,
    /// The authentication plugin to begin with.
    pub plugin: String,
}

impl Greeting {
    /// Appends the greeting.
    pub fn put(&self, out: &mut Vec<u8>) {
        let (first, second) = self.challenge.split_at(self.challenge.len().min(FIRST_PART));
        out.push(PROTOCOL_VERSION);
        put_terminated(out, &self.version);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(first);
        out.push(0);
        out.extend_from_slice(&(self.capabilities as u16).to_le_bytes());
        out.push(GREETING_COLLATION);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&((self.capabilities >> 16) as u16).to_le_bytes());
        out.push(self.challenge.len() as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(second);
        out.push(0);
        put_terminated(out, &self.plugin);
    }

    /// Reads the greeting. Servers without authentication plugins leave out its end.
    ///
    /// # Errors
    /// 1043 if the greeting is of another protocol, or ends early.
    pub fn read(packet: &[u8]) -> Result<Greeting, MysqlError> {
        Greeting::parse(packet).map_err(|_| MysqlError::bad_handshake())
    }

    fn parse(packet: &[u8]) -> Result<Greeting, MysqlError> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != PROTOCOL_VERSION {
            return Err(MysqlError::bad_handshake());
        }
        let version = String::from_utf8_lossy(reader.terminated()?).into_owned();
        let connection_id = reader.u32()?;
        let mut challenge = reader.take(FIRST_PART)?.to_vec();
        reader.u8()?;
        let low = reader.u16()?;
        reader.u8()?;
        let status = reader.u16()?;
        let capabilities = u32::from(reader.u16()?) << 16 | u32::from(low);
        reader.take(1 + 10)?;
        challenge.extend_from_slice(up_to_zero(&mut reader));
        let plugin = String::from_utf8_lossy(up_to_zero(&mut reader)).into_owned();
        Ok(Greeting { version, connection_id, challenge, capabilities, status, plugin })
    }
}

/// The client's response to the greeting, or its COM_CHANGE_USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeResponse {
    /// The common capabilities of client and server.
    pub capabilities: u32,
    /// The number of the collation of the client's text.
    pub collation: u16,
    /// The user's name.
    pub user: String,
    /// The answer to the challenge.
    pub authentication: Vec<u8>,
    /// The database to begin with.
    pub database: Option<String>,
    /// The plugin that the client used.
    pub plugin: Option<String>,
    /// The compression of packets after the log-in.
    pub compression: Option<Algorithm>,
    /// The connection attributes that the client sent: names and values.
    pub attributes: Vec<(String, String)>,
}

/// Returns whether the packet is the beginning of a response that asks for TLS.
pub fn is_tls_request(packet: &[u8]) -> bool {
    packet.len() == BEFORE_TLS && Reader::new(packet).u32().is_ok_and(|bits| bits & cap::SSL != 0)
}

impl HandshakeResponse {
    /// Appends the beginning of the response, which asks for TLS if the capabilities have SSL.
    pub fn put_beginning(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
        out.push(u8::try_from(self.collation).unwrap_or_default());
        out.extend_from_slice(&[0; 23]);
    }

    /// Appends the response.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.put_beginning(out);
        put_terminated(out, &self.user);
        if self.has(cap::PLUGIN_AUTH_LENENC) {
            put_string(out, &self.authentication);
        } else {
            self.put_short_authentication(out);
        }
        if self.has(cap::CONNECT_WITH_DB) {
            put_terminated(out, self.database.as_deref().unwrap_or_default());
        }
        self.put_plugin_and_attributes(out);
        if let Some(algorithm @ Algorithm::Zstd(_)) = self.compression {
            out.push(algorithm.level());
        }
    }

    /// Appends the body of COM_CHANGE_USER.
    pub fn put_change_user(&self, out: &mut Vec<u8>) {
        put_terminated(out, &self.user);
        self.put_short_authentication(out);
        put_terminated(out, self.database.as_deref().unwrap_or_default());
        out.extend_from_slice(&self.collation.to_le_bytes());
        self.put_plugin_and_attributes(out);
    }

    /// Appends the authentication answer after a length of one byte. Both plugins' answers are shorter than 256 bytes.
    fn put_short_authentication(&self, out: &mut Vec<u8>) {
        let length = self.authentication.len().min(usize::from(u8::MAX));
        out.push(length as u8);
        out.extend(self.authentication.iter().take(length));
    }

    fn put_plugin_and_attributes(&self, out: &mut Vec<u8>) {
        if self.has(cap::PLUGIN_AUTH) {
            put_terminated(out, self.plugin.as_deref().unwrap_or_default());
        }
        if self.has(cap::CONNECT_ATTRS) {
            let mut all = Vec::new();
            for (name, value) in &self.attributes {
                put_string(&mut all, name.as_bytes());
                put_string(&mut all, value.as_bytes());
            }
            put_string(out, &all);
        }
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    /// Reads the client's response to a greeting that `offered` these capabilities.
    ///
    /// # Errors
    /// 1043 if the response is malformed, or the client is older than the protocol of MySQL 4.1.
    pub fn read(packet: &[u8], offered: u32) -> Result<HandshakeResponse, MysqlError> {
        Self::parse(packet, offered).map_err(|_| MysqlError::bad_handshake())
    }

    fn parse(packet: &[u8], offered: u32) -> Result<HandshakeResponse, MysqlError> {
        let mut reader = Reader::new(packet);
        let capabilities = reader.u32()? & offered;
        if capabilities & cap::PROTOCOL_41 == 0 {
            return Err(MysqlError::bad_handshake());
        }
        reader.take(4)?;
        let collation = reader.u8()?.into();
        reader.take(23)?;
        let user = text(reader.terminated()?)?;
        let authentication = if capabilities & cap::PLUGIN_AUTH_LENENC != 0 {
            reader.string()?
        } else if capabilities & cap::SECURE_CONNECTION != 0 {
            let length = reader.u8()?;
            reader.take(length.into())?
        } else {
            reader.terminated()?
        };
        let authentication = authentication.to_vec();
        let mut database = None;
        if capabilities & cap::CONNECT_WITH_DB != 0 && !reader.is_empty() {
            database = Some(text(reader.terminated()?)?).filter(|name| !name.is_empty());
        }
        let mut plugin = None;
        if capabilities & cap::PLUGIN_AUTH != 0 && !reader.is_empty() {
            // Some clients leave out the zero byte.
            plugin = Some(text(up_to_zero(&mut reader))?);
        }
        let mut attributes = Vec::new();
        if capabilities & cap::CONNECT_ATTRS != 0 && !reader.is_empty() {
            attributes = read_attributes(reader.string()?)?;
        }
        let compression = Algorithm::agreed(capabilities).map(|algorithm| match algorithm {
            Algorithm::Zlib => algorithm,
            Algorithm::Zstd(_) => {
                let level = reader.u8().ok().filter(|level| (1..=22).contains(level));
                Algorithm::Zstd(level.unwrap_or(ZSTD_LEVEL))
            }
        });
        Ok(HandshakeResponse {
            capabilities,
            collation,
            user,
            authentication,
            database,
            plugin,
            compression,
            attributes,
        })
    }

    /// Reads the body of COM_CHANGE_USER.
    ///
    /// # Errors
    /// 1043 if the packet is malformed.
    pub fn read_change_user(packet: &[u8], capabilities: u32) -> Result<HandshakeResponse, MysqlError> {
        Self::parse_change_user(packet, capabilities).map_err(|_| MysqlError::bad_handshake())
    }

    fn parse_change_user(packet: &[u8], capabilities: u32) -> Result<HandshakeResponse, MysqlError> {
        let mut reader = Reader::new(packet);
        let user = text(reader.terminated()?)?;
        let length = reader.u8()?;
        let authentication = reader.take(length.into())?.to_vec();
        let database = Some(text(reader.terminated()?)?).filter(|name| !name.is_empty());
        let (mut plugin, mut collation, mut attributes) = (None, 0, Vec::new());
        if !reader.is_empty() {
            collation = reader.u16()?;
            if capabilities & cap::PLUGIN_AUTH != 0 && !reader.is_empty() {
                plugin = Some(text(reader.terminated()?)?);
            }
            if capabilities & cap::CONNECT_ATTRS != 0 && !reader.is_empty() {
                attributes = read_attributes(reader.string()?)?;
            }
        }
        let compression = None;
        Ok(HandshakeResponse {
            capabilities,
            collation,
            user,
            authentication,
            database,
            plugin,
            compression,
            attributes,
        })
    }
}

/// Reads names and values, each after its length.
fn read_attributes(bytes: &[u8]) -> Result<Vec<(String, String)>, MysqlError> {
    let mut reader = Reader::new(bytes);
    let mut attributes = Vec::new();
    while !reader.is_empty() {
        attributes.push((reader.text()?.into_owned(), reader.text()?.into_owned()));
    }
    Ok(attributes)
}

/// Appends a packet with more data of a plugin.
pub fn put_more_data(out: &mut Vec<u8>, data: &[u8]) {
    out.push(MORE_DATA);
    out.extend_from_slice(data);
}

/// The request to authenticate by another plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The plugin to switch to.
    pub plugin: String,
    /// The challenge for that plugin.
    pub challenge: Vec<u8>,
}

impl Switch {
    /// Appends the request.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(SWITCH);
        put_terminated(out, &self.plugin);
        out.extend_from_slice(&self.challenge);
        out.push(0);
    }

    /// Reads the request.
    ///
    /// # Errors
    /// 1043 if the packet is no such request, or asks for the password hash of MySQL before 4.1.
    pub fn read(packet: &[u8]) -> Result<Switch, MysqlError> {
        let Some((&SWITCH, rest)) = packet.split_first() else {
            return Err(MysqlError::bad_handshake());
        };
        let mut reader = Reader::new(rest);
        let plugin = reader.terminated().map_err(|_| MysqlError::bad_handshake())?;
        let rest = reader.rest();
        let challenge = rest.strip_suffix(&[0]).unwrap_or(rest).to_vec();
        Ok(Switch { plugin: String::from_utf8_lossy(plugin).into_owned(), challenge })
    }
}

/// Takes the bytes up to the next zero byte, and that byte. Takes all bytes if there is none.
fn up_to_zero<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    reader.terminated().unwrap_or_else(|_| reader.rest())
}

fn text(bytes: &[u8]) -> Result<String, MysqlError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| MysqlError::bad_handshake())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(capabilities: u32) -> HandshakeResponse {
        let capabilities = capabilities | cap::PROTOCOL_41 | cap::PLUGIN_AUTH | cap::SECURE_CONNECTION;
        let with = |capability: u32| capabilities & capability != 0;
        HandshakeResponse {
            capabilities,
            collation: 45,
            user: "root".into(),
            authentication: vec![7, 8, 9],
            database: with(cap::CONNECT_WITH_DB).then(|| "test".into()),
            plugin: Some(NATIVE_PASSWORD.into()),
            compression: Algorithm::agreed(capabilities),
            attributes: with(cap::CONNECT_ATTRS).then(|| ("a".into(), "b".into())).into_iter().collect(),
        }
    }

    fn put(response: &HandshakeResponse) -> Vec<u8> {
        let mut packet = Vec::new();
        response.put(&mut packet);
        packet
    }

    const OFFERED: u32 = cap::OFFERED | cap::COMPRESS | cap::ZSTD;

    #[test]
    fn a_greeting_reads_back_as_written_and_is_refused_where_it_is_cut() {
        let greeting = Greeting {
            version: "8.4.0-leafline".into(),
            connection_id: 7,
            challenge: (1..=20).collect(),
            capabilities: OFFERED,
            status: 2,
            plugin: CACHING_SHA2_PASSWORD.into(),
        };
        let mut packet = Vec::new();
        greeting.put(&mut packet);
        assert_eq!(Greeting::read(&packet), Ok(greeting.clone()));
        for end in 0..packet.len() {
            match Greeting::read(&packet[..end]) {
                Ok(read) => assert_eq!(read.capabilities, OFFERED, "cut at {end}"),
                Err(error) => assert_eq!(error.code, 1043, "cut at {end}"),
            }
        }
        packet[0] = 9;
        assert!(Greeting::read(&packet).is_err());
    }

    #[test]
    fn a_response_reads_back_as_written() {
        for capabilities in [
            0,
            cap::CONNECT_WITH_DB,
            cap::PLUGIN_AUTH_LENENC | cap::CONNECT_ATTRS,
            cap::CONNECT_WITH_DB | cap::CONNECT_ATTRS | cap::COMPRESS,
        ] {
            let response = response(capabilities);
            assert_eq!(HandshakeResponse::read(&put(&response), OFFERED), Ok(response.clone()));
            let mut packet = Vec::new();
            response.put_change_user(&mut packet);
            let read = HandshakeResponse::read_change_user(&packet, response.capabilities);
            assert_eq!(read, Ok(HandshakeResponse { compression: None, ..response }));
        }
        let asked = put(&response(cap::SSL));
        let read = HandshakeResponse::read(&asked, cap::OFFERED).expect("a response");
        assert_eq!(read.capabilities & cap::SSL, 0, "only what is offered");
    }

    #[test]
    fn compression_is_that_of_the_flags_zlib_first() {
        let agreed = |flags: u32, level: &[u8]| {
            let mut sent = response(flags);
            sent.compression = None;
            let packet = [put(&sent), level.to_vec()].concat();
            HandshakeResponse::read(&packet, OFFERED).map(|read| read.compression)
        };
        assert_eq!(agreed(0, &[]), Ok(None));
        assert_eq!(agreed(cap::COMPRESS | cap::ZSTD, &[9]), Ok(Some(Algorithm::Zlib)));
        assert_eq!(agreed(cap::ZSTD, &[9]), Ok(Some(Algorithm::Zstd(9))));
        assert_eq!(agreed(cap::ZSTD | cap::CONNECT_ATTRS, &[22]), Ok(Some(Algorithm::Zstd(22))));
        assert_eq!(agreed(cap::ZSTD, &[99]), Ok(Some(Algorithm::Zstd(3))));
    }

    #[test]
    fn a_wish_for_tls_is_the_beginning_of_a_response() {
        let mut beginning = Vec::new();
        response(cap::SSL).put_beginning(&mut beginning);
        assert!(is_tls_request(&beginning));
        let whole = put(&response(cap::SSL));
        assert!(!is_tls_request(&whole) && !is_tls_request(&whole[..31]) && !is_tls_request(&[0; 32]));
    }

    #[test]
    fn a_response_cut_anywhere_does_not_panic() {
        let packet = put(&response(cap::CONNECT_WITH_DB | cap::CONNECT_ATTRS));
        for end in 0..packet.len() {
            if let Err(error) = HandshakeResponse::read(&packet[..end], cap::OFFERED) {
                assert_eq!(error.code, 1043, "cut at {end}");
            }
        }
        assert!(HandshakeResponse::read(&[], cap::OFFERED).is_err());
        assert!(HandshakeResponse::read(&[0; 64], cap::OFFERED).is_err(), "before the protocol of 4.1");
    }

    #[test]
    fn a_switch_reads_back_as_written() {
        let switch = Switch { plugin: NATIVE_PASSWORD.into(), challenge: (1..=20).collect() };
        let mut packet = Vec::new();
        switch.put(&mut packet);
        assert_eq!(Switch::read(&packet), Ok(switch));
        assert!(Switch::read(&[SWITCH]).is_err(), "of a server before 4.1");
        assert!(Switch::read(&packet[..9]).is_err() && Switch::read(&[]).is_err());
    }
}
