//! Capability flags: what client and server can do, as they agree in the handshake.

/// Set by every client of MySQL.
pub const LONG_PASSWORD: u32 = 1;
/// Affected rows are those found, not those changed.
pub const FOUND_ROWS: u32 = 1 << 1;
/// 16-bit column flags.
pub const LONG_FLAG: u32 = 1 << 2;
/// The handshake names a database.
pub const CONNECT_WITH_DB: u32 = 1 << 3;
/// Packets are compressed by zlib.
pub const COMPRESS: u32 = 1 << 5;
/// The client sends files that the server asks for.
pub const LOCAL_FILES: u32 = 1 << 7;
/// The protocol of MySQL 4.1; required.
pub const PROTOCOL_41: u32 = 1 << 9;
/// An interactive client.
pub const INTERACTIVE: u32 = 1 << 10;
/// TLS after the handshake's first half.
pub const SSL: u32 = 1 << 11;
/// Status flags tell of transactions.
pub const TRANSACTIONS: u32 = 1 << 13;
/// Authentication of MySQL 4.1.
pub const SECURE_CONNECTION: u32 = 1 << 15;
/// Several statements in one query.
pub const MULTI_STATEMENTS: u32 = 1 << 16;
/// Several results of one query.
pub const MULTI_RESULTS: u32 = 1 << 17;
/// Several results of a prepared statement.
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
/// Authentication by plugin.
pub const PLUGIN_AUTH: u32 = 1 << 19;
/// The client tells attributes of itself.
pub const CONNECT_ATTRS: u32 = 1 << 20;
/// The authentication answer has a length of any size.
pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// The client is told what changes of its session.
pub const SESSION_TRACK: u32 = 1 << 23;
/// Rows end with an OK packet, and there is no EOF packet behind columns.
pub const DEPRECATE_EOF: u32 = 1 << 24;
/// Packets are compressed by Zstandard.
pub const ZSTD: u32 = 1 << 26;
/// Statements may come with attributes.
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// The flags that the server offers whatever its settings are.
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
