//! Capability flags, on which client and server agree in the handshake.

/// Every client of MySQL sets this flag.
pub const LONG_PASSWORD: u32 = 1;
/// Affected rows count the rows found instead of the rows changed.
pub const FOUND_ROWS: u32 = 1 << 1;
/// Column flags have 16 bits.
pub const LONG_FLAG: u32 = 1 << 2;
/// The handshake names a database.
pub const CONNECT_WITH_DB: u32 = 1 << 3;
/// Packets are compressed by zlib.
pub const COMPRESS: u32 = 1 << 5;
/// The client sends files that the server asks for.
pub const LOCAL_FILES: u32 = 1 << 7;
/// The client speaks the protocol of MySQL 4.1. The server requires it.
pub const PROTOCOL_41: u32 = 1 << 9;
/// The client is interactive: `interactive_timeout` holds instead of `wait_timeout`.
pub const INTERACTIVE: u32 = 1 << 10;
/// TLS begins after the first 32 bytes of the client's response.
pub const SSL: u32 = 1 << 11;
/// Status flags have the state of the transaction.
pub const TRANSACTIONS: u32 = 1 << 13;
/// The authentication answer is that of MySQL 4.1 and has a length.
pub const SECURE_CONNECTION: u32 = 1 << 15;
/// A query may have several statements.
pub const MULTI_STATEMENTS: u32 = 1 << 16;
/// A query may have several results.
pub const MULTI_RESULTS: u32 = 1 << 17;
/// A prepared statement may have several results.
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
/// The handshake names an authentication plugin.
pub const PLUGIN_AUTH: u32 = 1 << 19;
/// The client sends connection attributes.
pub const CONNECT_ATTRS: u32 = 1 << 20;
/// The authentication answer has a length-encoded length.
pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// OK packets report changes of the session.
pub const SESSION_TRACK: u32 = 1 << 23;
/// Rows end with an OK packet, and no EOF packet follows column definitions.
pub const DEPRECATE_EOF: u32 = 1 << 24;
/// Packets are compressed by Zstandard.
pub const ZSTD: u32 = 1 << 26;
/// Statements may have query attributes.
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// Flags that the server offers under any settings.
pub const OFFERED: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | CONNECT_WITH_DB
    | LOCAL_FILES
    | PROTOCOL_41
    | INTERACTIVE
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC
    | SESSION_TRACK
    | DEPRECATE_EOF
    | QUERY_ATTRIBUTES;
