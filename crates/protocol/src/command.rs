//! Commands: the first byte of each packet that begins a client's request after the log-in.

/// The client ends the connection.
pub const QUIT: u8 = 0x01;
/// Changes the current database, like USE.
pub const INIT_DB: u8 = 0x02;
/// Runs a statement that is sent as text.
pub const QUERY: u8 = 0x03;
/// Lists the columns of a table (deprecated; the `mysql` client uses it to complete names).
pub const FIELD_LIST: u8 = 0x04;
/// Asks for a line of figures about the server.
pub const STATISTICS: u8 = 0x09;
/// Checks that the server answers.
pub const PING: u8 = 0x0e;
/// Logs in again as another user.
pub const CHANGE_USER: u8 = 0x11;
/// Prepares a statement.
pub const STMT_PREPARE: u8 = 0x16;
/// Executes a prepared statement.
pub const STMT_EXECUTE: u8 = 0x17;
/// Sends a part of a parameter of a prepared statement.
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
/// Drops a prepared statement.
pub const STMT_CLOSE: u8 = 0x19;
/// Drops the parts of parameters, and the cursor.
pub const STMT_RESET: u8 = 0x1a;
/// Allows several statements in a query, or forbids them.
pub const SET_OPTION: u8 = 0x1b;
/// Fetches the next rows of a cursor.
pub const STMT_FETCH: u8 = 0x1c;
/// Resets the session to its state after the log-in.
pub const RESET_CONNECTION: u8 = 0x1f;
