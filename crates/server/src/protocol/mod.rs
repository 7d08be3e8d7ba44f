//! The client/server protocol, version 10, as the MySQL 8.0 manual describes it ("MySQL Client/Server Protocol").
//!
//! Everything read from a client is bounds-checked: a packet that ends early is error 1835, and the connection ends.

pub mod binary;
pub mod bytes;
pub mod capability;
pub mod column;
pub mod compression;
pub mod handshake;
pub mod packet;
pub mod reply;

/// Commands, the first byte of what a client sends.
pub mod command {
    /// The client ends the connection.
    pub const QUIT: u8 = 0x01;
    /// USE.
    pub const INIT_DB: u8 = 0x02;
    /// A statement as text.
    pub const QUERY: u8 = 0x03;
    /// The columns of a table (deprecated; the `mysql` client's completion uses it).
    pub const FIELD_LIST: u8 = 0x04;
    /// A line about the server.
    pub const STATISTICS: u8 = 0x09;
    /// Are you there?
    pub const PING: u8 = 0x0e;
    /// Log in again as somebody else.
    pub const CHANGE_USER: u8 = 0x11;
    /// Prepare a statement.
    pub const STMT_PREPARE: u8 = 0x16;
    /// Run a prepared statement.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// A part of a parameter of a prepared statement.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// Forget a prepared statement.
    pub const STMT_CLOSE: u8 = 0x19;
    /// Forget the parts of parameters.
    pub const STMT_RESET: u8 = 0x1a;
    /// The next rows of a cursor.
    pub const STMT_FETCH: u8 = 0x1c;
    /// Multi-statements on or off.
    pub const SET_OPTION: u8 = 0x1b;
    /// Back to how the session began.
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Bits of the server status.
pub mod status {
    use leafline_sql::Session;
    use leafline_sql::session::settings::Modes;

    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 0x0001;
    /// `autocommit=1`.
    pub const AUTOCOMMIT: u16 = 0x0002;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 0x0008;
    /// The statement's rows are fetched by COM_STMT_FETCH.
    pub const CURSOR_EXISTS: u16 = 0x0040;
    /// There are no more of them.
    pub const LAST_ROW_SENT: u16 = 0x0080;
    /// The answer tells what has changed of the session.
    pub const STATE_CHANGED: u16 = 0x4000;
    /// `NO_BACKSLASH_ESCAPES`.
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;

    /// Those of a session between two statements.
    pub fn of(session: &Session) -> u16 {
        let mut bits = 0;
        if session.in_transaction() {
            bits |= IN_TRANSACTION;
        }
        if session.autocommit() {
            bits |= AUTOCOMMIT;
        }
        if session.settings().sql_mode.has(Modes::NO_BACKSLASH_ESCAPES) {
            bits |= NO_BACKSLASH_ESCAPES;
        }
        bits
    }
}
