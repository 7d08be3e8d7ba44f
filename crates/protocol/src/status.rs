//! Bits of the server status in OK and EOF packets.

/// A transaction is open.
pub const IN_TRANSACTION: u16 = 0x0001;
/// `autocommit=1`.
pub const AUTOCOMMIT: u16 = 0x0002;
/// Another result follows.
pub const MORE_RESULTS: u16 = 0x0008;
/// A cursor keeps the rows of the statement for COM_STMT_FETCH.
pub const CURSOR_EXISTS: u16 = 0x0040;
/// The cursor has sent its last row.
pub const LAST_ROW_SENT: u16 = 0x0080;
/// The row has the OUT and INOUT parameters of a prepared CALL.
pub const PS_OUT_PARAMS: u16 = 0x1000;
/// `NO_BACKSLASH_ESCAPES`.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
/// The answer has changes of the session.
pub const STATE_CHANGED: u16 = 0x4000;
