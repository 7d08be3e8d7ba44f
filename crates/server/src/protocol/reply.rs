//! OK, EOF and error packets.

use super::bytes::{put_length, put_string};
use super::capability as cap;
use super::status;
use leafline_sql::session::StateChange;
use leafline_types::{Charset, MysqlError};

/// What an OK packet tells.
#[derive(Clone, Debug, Default)]
pub struct Ok<'a> {
    /// Rows affected.
    pub affected: u64,
    /// The AUTO_INCREMENT value generated.
    pub last_insert_id: u64,
    /// Server status.
    pub status: u16,
    /// How many warnings.
    pub warnings: u16,
    /// The information string.
    pub info: &'a str,
    /// What has changed of the session, for a client that is told.
    pub changes: &'a [StateChange],
}

impl Ok<'_> {
    /// Appends the packet that says a statement without rows is done.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.put_with_header(0x00, out);
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
            let mut told = Vec::new();
            self.changes.iter().for_each(|change| put_change(&mut told, change));
            put_string(out, &told);
        }
    }

    /// Appends the packet that ends rows: an OK with another header, or an EOF for clients without DEPRECATE_EOF.
    pub fn put_end_of_rows(&self, capabilities: u32, out: &mut Vec<u8>) {
        if capabilities & cap::DEPRECATE_EOF != 0 {
            self.put_with_header(0xfe, out);
        } else {
            self.put_eof(out);
        }
    }

    /// Appends an EOF packet.
    pub fn put_eof(&self, out: &mut Vec<u8>) {
        out.push(0xfe);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
    }
}

/// Appends what has changed: its kind, and with their length the strings that tell it.
fn put_change(out: &mut Vec<u8>, change: &StateChange) {
    let (kind, strings) = match change {
        StateChange::Variable(name, value) => (0, vec![*name, value]),
        StateChange::Schema(name) => (1, vec![name.as_str()]),
        StateChange::State => (2, vec!["1"]),
        StateChange::Transaction(state) => (5, vec![state.as_str()]),
    };
    out.push(kind);
    let mut told = Vec::new();
    strings.into_iter().for_each(|text| put_string(&mut told, text.as_bytes()));
    put_string(out, &told);
}

/// Appends an error packet.
pub fn put_error(out: &mut Vec<u8>, error: &MysqlError) {
    out.push(0xff);
    out.extend_from_slice(&error.code.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(&error.sqlstate);
    put_message(out, error);
}

/// Appends the error packet with its message in a character set.
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

/// Appends the error packet that comes in place of the greeting: it has no SQLSTATE, which the client does not expect yet.
pub fn put_early_error(out: &mut Vec<u8>, error: &MysqlError) {
    out.push(0xff);
    out.extend_from_slice(&error.code.to_le_bytes());
    put_message(out, error);
}

fn put_message(out: &mut Vec<u8>, error: &MysqlError) {
    let mut end = error.message.len().min(512);
    while !error.message.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&error.message.as_bytes()[..end]);
}
