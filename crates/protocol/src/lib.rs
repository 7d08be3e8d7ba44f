//! The MySQL client/server protocol, version 10, as the MySQL 8.0 manual describes it ("MySQL Client/Server Protocol").
//!
//! | module | holds |
//! |---|---|
//! | [`packet`], [`compression`] | packets on a byte stream; the compressed layer below them; [`WireError`], which ends both |
//! | [`bytes`] | the integers and strings that packets are made of |
//! | [`capability`], [`command`], [`status`] | flags and command bytes |
//! | [`handshake`] | greeting, the client's response, requests to switch the plugin, COM_CHANGE_USER |
//! | [`reply`] | OK, EOF, error, and the request for a file |
//! | [`mod@column`] | column definitions and type bytes |
//! | [`text`], [`binary`] | rows as text, and as values of their types; parameters |
//! | [`prepared`] | packets about prepared statements |
//! | `client` (feature) | the client's half: log-in with TLS and both plugins, statements, rows |
//!
//! Each packet has one writer and one reader, next to each other. Reading checks all bounds: a packet that ends early is error
//! 1835, never a panic. The crate depends on values and errors (`leafline-types`), and knows no session and no socket.
//!
//! The crate `mysql_common` (0.38) does not replace this one, because it is made for clients: it reads OK packets and writes
//! COM_STMT_EXECUTE, where a server does the reverse, and lacks query attributes. It holds rows and parameters in a `Value` of
//! its own, with an allocation for each string, where the server writes from Arrow columns and row blocks straight into the
//! packet. Even without features it depends on regex, serde, uuid, num-bigint, bytes, base64 and flate2.

pub mod binary;
pub mod bytes;
pub mod capability;
#[cfg(feature = "client")]
pub mod client;
pub mod column;
pub mod command;
pub mod compression;
mod error;
pub mod handshake;
pub mod packet;
pub mod prepared;
pub mod reply;
pub mod status;
pub mod text;

pub use error::WireError;
