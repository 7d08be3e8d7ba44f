//! The handshake: the server's greeting and the client's answer.
//!
//! Greeting: protocol version 10 | server version, zero | connection id u32 | challenge, 8 bytes, zero | capabilities, low
//! u16 | collation u8 | status u16 | capabilities, high u16 | length of the challenge + 1 | 10 zeros | challenge, 12 bytes,
//! zero | plugin, zero.
//!
//! A client that wants TLS sends the first 32 bytes of its answer, begins TLS, and then sends all of it.
//!
//! Answer: capabilities u32 | largest packet u32 | collation u8 | 23 zeros | user, zero | answer to the challenge |
//! database, zero, if CONNECT_WITH_DB | plugin, zero, if PLUGIN_AUTH | attributes with their length, if CONNECT_ATTRS | level u8, if ZSTD.

use super::bytes::{Reader, put_terminated};
use super::capability as cap;
use super::compression::Algorithm;
use leafline_sql::session::ConnectAttributes;
use leafline_types::MysqlError;

/// The collation that the greeting names: utf8mb4_bin, a number that every client knows.
const GREETING_COLLATION: u8 = 46;

/// What the greeting says.
pub struct Greeting<'a> {
    /// `version`.
    pub version: &'a str,
    /// Number of the connection.
    pub connection_id: u64,
    /// 20 bytes, none of them zero.
    pub challenge: &'a [u8],
    /// What the server can do.
    pub capabilities: u32,
    /// Server status.
    pub status: u16,
    /// The authentication plugin.
    pub plugin: &'a str,
}

impl Greeting<'_> {
    /// Appends the greeting.
    pub fn put(&self, out: &mut Vec<u8>) {
        let (first, second) = self.challenge.split_at(self.challenge.len().min(8));
        out.push(10);
        put_terminated(out, self.version);
        out.extend_from_slice(&(self.connection_id as u32).to_le_bytes());
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
        put_terminated(out, self.plugin);
    }
}

/// What the client answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What both can do.
    pub capabilities: u32,
    /// The number of the collation that the client's text has.
    pub collation: u16,
    /// The user's name.
    pub user: String,
    /// The answer to the challenge.
    pub authentication: Vec<u8>,
    /// The database to begin with.
    pub database: Option<String>,
    /// The plugin that the client used.
    pub plugin: Option<String>,
    /// How packets are compressed once the client is let in.
    pub compression: Option<Algorithm>,
    /// The connection attributes that the client sent: names and values.
    pub attributes: ConnectAttributes,
}

/// The level of Zstandard of a client that does not say one it could have.
const ZSTD_LEVEL: u8 = 3;

/// Bytes of the answer that come before TLS.
const BEFORE_TLS: usize = 32;

/// Whether the client wants TLS before it says more.
pub fn is_tls_request(packet: &[u8]) -> bool {
    packet.len() == BEFORE_TLS && Reader::new(packet).u32().is_ok_and(|bits| bits & cap::SSL != 0)
}

impl Answer {
    /// Reads the client's answer to what was `offered`.
    ///
    /// # Errors
    /// 1043 if it cannot be understood, or the client is older than the protocol of MySQL 4.1.
    pub fn read(packet: &[u8], offered: u32) -> Result<Answer, MysqlError> {
        Self::parse(packet, offered).map_err(|_| MysqlError::bad_handshake())
    }

    fn parse(packet: &[u8], offered: u32) -> Result<Answer, MysqlError> {
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
            let name = reader.terminated().unwrap_or_else(|_| reader.rest());
            plugin = Some(text(name)?);
        }
        let mut attributes = Vec::new();
        if capabilities & cap::CONNECT_ATTRS != 0 && !reader.is_empty() {
            attributes = read_attributes(reader.string()?)?;
        }
        let compression = match capabilities {
            bits if bits & cap::COMPRESS != 0 => Some(Algorithm::Zlib),
            bits if bits & cap::ZSTD != 0 => {
                let level = reader.u8().ok().filter(|level| (1..=22).contains(level));
                Some(Algorithm::Zstd(level.unwrap_or(ZSTD_LEVEL)))
            }
            _ => None,
        };
        Ok(Answer {
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

/// What COM_CHANGE_USER says; its first byte, the command, is already read.
///
/// # Errors
/// 1043 if it cannot be understood.
pub fn read_change_user(packet: &[u8], capabilities: u32) -> Result<Answer, MysqlError> {
    let parse = || -> Result<Answer, MysqlError> {
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
        Ok(Answer {
            capabilities,
            collation,
            user,
            authentication,
            database,
            plugin,
            compression,
            attributes,
        })
    };
    parse().map_err(|_| MysqlError::bad_handshake())
}

/// Names and values, each with its length.
fn read_attributes(bytes: &[u8]) -> Result<ConnectAttributes, MysqlError> {
    let mut reader = Reader::new(bytes);
    let mut attributes = Vec::new();
    while !reader.is_empty() {
        let (name, value) = (reader.string()?, reader.string()?);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        attributes.push((text(name), text(value)));
    }
    Ok(attributes)
}

/// Appends what a plugin tells the client while it logs in.
pub fn put_more_data(out: &mut Vec<u8>, data: &[u8]) {
    out.push(0x01);
    out.extend_from_slice(data);
}

/// Appends the request to authenticate by another plugin.
pub fn put_switch(out: &mut Vec<u8>, plugin: &str, challenge: &[u8]) {
    out.push(0xfe);
    put_terminated(out, plugin);
    out.extend_from_slice(challenge);
    out.push(0);
}

fn text(bytes: &[u8]) -> Result<String, MysqlError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| MysqlError::bad_handshake())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_packet(database: Option<&str>) -> Vec<u8> {
        let mut packet = Vec::new();
        let with_database = if database.is_some() { cap::CONNECT_WITH_DB } else { 0 };
        let capabilities =
            cap::PROTOCOL_41 | cap::PLUGIN_AUTH | cap::SECURE_CONNECTION | cap::SSL | with_database;
        packet.extend_from_slice(&capabilities.to_le_bytes());
        packet.extend_from_slice(&[0; 28]);
        put_terminated(&mut packet, "root");
        packet.extend_from_slice(&[3, 7, 8, 9]);
        if let Some(database) = database {
            put_terminated(&mut packet, database);
        }
        put_terminated(&mut packet, "mysql_native_password");
        packet
    }

    #[test]
    fn an_answer_is_understood() {
        let answer = Answer::read(&answer_packet(Some("test")), cap::OFFERED).expect("an answer");
        assert_eq!((answer.user.as_str(), answer.database.as_deref()), ("root", Some("test")));
        assert_eq!(answer.authentication, vec![7, 8, 9]);
        assert_eq!(answer.plugin.as_deref(), Some("mysql_native_password"));
        assert_eq!(answer.capabilities & cap::SSL, 0, "only what is offered");
    }

    #[test]
    fn compression_is_that_of_the_flags_zlib_first() {
        let answer = |flags: u32, behind: &[u8]| {
            let mut packet = answer_packet(None);
            let capabilities = u32::from_le_bytes(packet[..4].try_into().expect("four bytes")) | flags;
            packet[..4].copy_from_slice(&capabilities.to_le_bytes());
            packet.extend_from_slice(behind);
            Answer::read(&packet, cap::OFFERED | cap::COMPRESS | cap::ZSTD).map(|answer| answer.compression)
        };
        assert_eq!(answer(0, &[]), Ok(None));
        assert_eq!(answer(cap::COMPRESS | cap::ZSTD, &[9]), Ok(Some(Algorithm::Zlib)));
        assert_eq!(answer(cap::ZSTD, &[9]), Ok(Some(Algorithm::Zstd(9))));
        assert_eq!(
            answer(cap::ZSTD | cap::CONNECT_ATTRS, &[4, 1, b'a', 1, b'b', 22]),
            Ok(Some(Algorithm::Zstd(22)))
        );
        assert_eq!(answer(cap::ZSTD, &[99]), Ok(Some(Algorithm::Zstd(3))));
    }

    #[test]
    fn a_wish_for_tls_is_the_beginning_of_an_answer() {
        let packet = answer_packet(None);
        assert!(is_tls_request(&packet[..32]));
        assert!(!is_tls_request(&packet) && !is_tls_request(&packet[..31]) && !is_tls_request(&[0; 32]));
    }

    #[test]
    fn an_answer_cut_anywhere_does_not_panic() {
        let packet = answer_packet(None);
        for end in 0..packet.len() {
            if let Err(error) = Answer::read(&packet[..end], cap::OFFERED) {
                assert_eq!(error.code, 1043, "cut at {end}");
            }
        }
        assert!(Answer::read(&[], cap::OFFERED).is_err());
        assert!(Answer::read(&[0; 64], cap::OFFERED).is_err(), "before the protocol of 4.1");
    }
}
