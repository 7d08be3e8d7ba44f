//! Bits of the server status, which OK and EOF packets carry.

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
/// `NO_BACKSLASH_ESCAPES`.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
/// The answer tells what has changed of the session.
pub const STATE_CHANGED: u16 = 0x4000;
