//! Commands: the first byte of what a client sends once it is let in.

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
/// Multi-statements on or off.
pub const SET_OPTION: u8 = 0x1b;
/// The next rows of a cursor.
pub const STMT_FETCH: u8 = 0x1c;
/// Back to how the session began.
pub const RESET_CONNECTION: u8 = 0x1f;
