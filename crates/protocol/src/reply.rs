//! Answers without rows, or after the last row: OK, EOF and error packets, and the request for a file.
//!
//! OK: 00 (fe after rows) | affected rows, length-encoded | AUTO_INCREMENT value, length-encoded | status u16 | warnings u16 |
//! information, a string | if the status has STATE_CHANGED: changes, a string of: kind u8, a string of strings.
//!
//! EOF: fe | warnings u16 | status u16. Error: ff | code u16 | '#' and 5 characters of SQLSTATE | message. File: fb | its name.

use crate::bytes::{Reader, put_length, put_string};
use crate::capability as cap;
use crate::status;
use leafline_types::{Charset, MysqlError};
use std::borrow::Cow;

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of the packet that ends rows: an OK or, for clients without DEPRECATE_EOF, an EOF.
pub const END: u8 = 0xfe;
/// First byte of an error packet.
pub const ERROR: u8 = 0xff;
/// First byte of the request for a file of the client.
pub const FILE: u8 = 0xfb;

/// Longest message of an error, in bytes.
const MAX_MESSAGE: usize = 512;
/// Kinds of changes of a session.
const VARIABLE: u8 = 0;
const SCHEMA: u8 = 1;
const STATE: u8 = 2;
const TRANSACTION: u8 = 5;

/// An OK packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Number of affected rows.
    pub affected: u64,
    /// The generated AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// Server status.
    pub status: u16,
    /// Number of warnings.
    pub warnings: u16,
    /// The information string.
    pub info: Cow<'a, str>,
    /// Changes of the session, for a client with SESSION_TRACK.
    pub changes: Vec<StateChange<'a>>,
}

/// A change of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange<'a> {
    /// A system variable has a new value.
    Variable {
        /// The variable's name.
        name: Cow<'a, str>,
        /// The new value.
        value: Cow<'a, str>,
    },
    /// The current database has changed to this one.
    Schema(Cow<'a, str>),
    /// The state of the session has changed, so that it differs from a new session's.
    State,
    /// The state of the open transaction, in MySQL's form: a character for each kind of access.
    Transaction(Cow<'a, str>),
}

impl OkPacket<'_> {
    /// Appends the packet that ends a statement without rows.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.put_with_header(OK, out);
    }

    fn put_with_header(&self, header: u8, out: &mut Vec<u8>) {
        out.push(header);
        put_length(out, self.affected);
        put_length(out, self.last_insert_id);
        let changed = if self.changes.is_empty() { 0 } else { status::STATE_CHANGED };
        out.extend_from_slice(&(self.status | changed).to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if changed != 0 || !self.info.is_empty() {
            put_string(out, self.info.as_bytes());
        }
        if changed != 0 {
            let mut changes = Vec::new();
            self.changes.iter().for_each(|change| change.put(&mut changes));
            put_string(out, &changes);
        }
    }

    /// Appends the packet that ends rows: an OK with another header, or an EOF for clients without DEPRECATE_EOF.
    pub fn put_end_of_rows(&self, capabilities: u32, out: &mut Vec<u8>) {
        if capabilities & cap::DEPRECATE_EOF != 0 {
            self.put_with_header(END, out);
        } else {
            self.put_eof(out);
        }
    }

    /// Appends an EOF packet.
    pub fn put_eof(&self, out: &mut Vec<u8>) {
        out.push(END);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
    }
}

impl<'a> OkPacket<'a> {
    /// Reads an OK packet, or the packet that ends rows.
    ///
    /// # Errors
    /// 1835 if the packet ends early or is of another kind.
    pub fn read(packet: &'a [u8], capabilities: u32) -> Result<OkPacket<'a>, MysqlError> {
        let mut reader = Reader::new(packet);
        match reader.u8()? {
            OK | END if capabilities & cap::DEPRECATE_EOF != 0 => {}
            OK => {}
            END => {
                let (warnings, status) = (reader.u16()?, reader.u16()?);
                return Ok(OkPacket { warnings, status, ..OkPacket::default() });
            }
            _ => return Err(MysqlError::malformed_packet()),
        }
        let (affected, last_insert_id) = (reader.length()?, reader.length()?);
        let (status, warnings) = (reader.u16()?, reader.u16()?);
        let mut ok = OkPacket { affected, last_insert_id, status, warnings, ..OkPacket::default() };
        // Servers leave out empty fields. Some end the packet with the information string without a length.
        if capabilities & cap::SESSION_TRACK == 0 && status & status::STATE_CHANGED == 0 {
            let mut whole = reader;
            ok.info = match whole.text() {
                Ok(info) if whole.is_empty() => info,
                _ => String::from_utf8_lossy(reader.rest()),
            };
            return Ok(ok);
        }
        if !reader.is_empty() {
            ok.info = reader.text()?;
        }
        if status & status::STATE_CHANGED != 0 {
            let mut changes = Reader::new(reader.string()?);
            while !changes.is_empty() {
                ok.changes.extend(StateChange::read(&mut changes)?);
            }
        }
        Ok(ok)
    }
}

impl<'a> StateChange<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        let (kind, strings) = match self {
            StateChange::Variable { name, value } => (VARIABLE, [Some(&**name), Some(&**value)]),
            StateChange::Schema(name) => (SCHEMA, [Some(&**name), None]),
            StateChange::State => (STATE, [Some("1"), None]),
            StateChange::Transaction(state) => (TRANSACTION, [Some(&**state), None]),
        };
        out.push(kind);
        let mut data = Vec::new();
        strings.into_iter().flatten().for_each(|text| put_string(&mut data, text.as_bytes()));
        put_string(out, &data);
    }

    /// Reads a change; `None` for an unknown kind.
    fn read(reader: &mut Reader<'a>) -> Result<Option<StateChange<'a>>, MysqlError> {
        let kind = reader.u8()?;
        let mut data = Reader::new(reader.string()?);
        Ok(Some(match kind {
            VARIABLE => StateChange::Variable { name: data.text()?, value: data.text()? },
            SCHEMA => StateChange::Schema(data.text()?),
            STATE => StateChange::State,
            TRANSACTION => StateChange::Transaction(data.text()?),
            _ => return Ok(None),
        }))
    }
}

/// Appends an error packet.
pub fn put_error(out: &mut Vec<u8>, error: &MysqlError) {
    out.push(ERROR);
    out.extend_from_slice(&error.code.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(&error.sqlstate);
    put_message(out, error);
}

/// Appends an error packet with its message in `charset`.
pub fn put_error_in(out: &mut Vec<u8>, error: &MysqlError, charset: Option<Charset>) {
    let start = out.len();
    put_error(out, error);
    if let Some(charset) = charset
        && let Some(message) = out.get(start + 9..)
        && let Ok(text) = std::str::from_utf8(message)
    {
        let encoded = charset.encode(text);
        out.truncate(start + 9);
        out.extend_from_slice(&encoded);
    }
}

/// Appends an error packet in place of the greeting. It has no SQLSTATE, because clients expect none there.
pub fn put_early_error(out: &mut Vec<u8>, error: &MysqlError) {
    out.push(ERROR);
    out.extend_from_slice(&error.code.to_le_bytes());
    put_message(out, error);
}

fn put_message(out: &mut Vec<u8>, error: &MysqlError) {
    let mut end = error.message.len().min(MAX_MESSAGE);
    while !error.message.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&error.message.as_bytes()[..end]);
}

/// Reads an error packet, with or without SQLSTATE.
///
/// # Errors
/// 1835 if the packet ends early or is of another kind.
pub fn read_error(packet: &[u8]) -> Result<MysqlError, MysqlError> {
    let mut reader = Reader::new(packet);
    if reader.u8()? != ERROR {
        return Err(MysqlError::malformed_packet());
    }
    let code = reader.u16()?;
    let mut sqlstate = *b"HY000";
    let rest = reader.rest();
    let message = match rest.split_first_chunk::<6>() {
        Some(([b'#', state @ ..], message)) => {
            sqlstate = *state;
            message
        }
        _ => rest,
    };
    Ok(MysqlError { code, sqlstate, message: String::from_utf8_lossy(message).into_owned(), details: None })
}

/// Appends the request for a file of the client, for LOAD DATA LOCAL.
pub fn put_file_request(out: &mut Vec<u8>, name: &str) {
    out.push(FILE);
    out.extend_from_slice(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ok_reads_back_as_written_and_is_refused_where_it_is_cut() {
        let changes = vec![
            StateChange::Variable { name: "time_zone".into(), value: "+02:00".into() },
            StateChange::Schema("d".into()),
            StateChange::State,
            StateChange::Transaction("T_______".into()),
        ];
        let plain = OkPacket {
            affected: 300,
            last_insert_id: 7,
            status: status::AUTOCOMMIT,
            warnings: 2,
            info: "Rows matched: 1".into(),
            changes: Vec::new(),
        };
        let mut packet = Vec::new();
        plain.put(&mut packet);
        assert_eq!(OkPacket::read(&packet, cap::DEPRECATE_EOF), Ok(plain.clone()));
        let changed = OkPacket { changes, status: plain.status | status::STATE_CHANGED, ..plain.clone() };
        let mut packet = Vec::new();
        changed.put(&mut packet);
        assert_eq!(OkPacket::read(&packet, cap::SESSION_TRACK), Ok(changed));
        for end in 0..packet.len() {
            let cut = OkPacket::read(&packet[..end], cap::SESSION_TRACK);
            assert_eq!(cut.map_err(|error| error.code), Err(1835), "cut at {end}");
        }
        for capabilities in [0, cap::DEPRECATE_EOF] {
            let mut packet = Vec::new();
            plain.put_end_of_rows(capabilities, &mut packet);
            let read = OkPacket::read(&packet, capabilities).expect("the end of rows");
            assert_eq!((read.status, read.warnings), (plain.status, 2));
        }
        assert!(OkPacket::read(&[1, 0, 0, 0, 0, 0, 0], 0).is_err());
    }

    #[test]
    fn an_error_reads_back_as_written_with_and_without_its_state() {
        let error = MysqlError::malformed_packet();
        let (mut late, mut early) = (Vec::new(), Vec::new());
        put_error(&mut late, &error);
        put_early_error(&mut early, &error);
        assert_eq!(read_error(&late), Ok(error.clone()));
        assert_eq!(read_error(&early), Ok(MysqlError { sqlstate: *b"HY000", ..error.clone() }));
        assert_eq!(read_error(&late[..3]).map(|error| error.message), Ok(String::new()));
        assert!(read_error(&late[..2]).is_err() && read_error(&[0; 9]).is_err());
        let long = MysqlError { message: "\u{e9}".repeat(400), ..error };
        let mut packet = Vec::new();
        put_error(&mut packet, &long);
        assert_eq!(read_error(&packet).map(|error| error.message.len()), Ok(MAX_MESSAGE));
    }
}
