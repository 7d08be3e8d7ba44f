//! The MySQL client/server protocol, version 10, as the MySQL 8.0 manual describes it ("MySQL Client/Server Protocol").
//!
//! | module | holds |
//! |---|---|
//! | [`packet`], [`compression`] | packets on a byte stream; the compressed layer below them; [`WireError`] ends either |
//! | [`bytes`] | the integers and strings that packets are made of |
//! | [`capability`], [`command`], [`status`] | flags and command bytes |
//! | [`handshake`] | greeting, the client's response, requests to switch the plugin, COM_CHANGE_USER |
//! | [`reply`] | OK, EOF, error, and the request for a file |
//! | [`mod@column`] | column definitions and type bytes |
//! | [`text`], [`binary`] | rows as text, and as values of their types; parameters |
//! | [`prepared`] | what goes to and fro about a prepared statement |
//! | `client` (feature) | the client's half: log-in with TLS and both plugins, statements, rows |
//!
//! Each packet has one writer and one reader, side by side. Everything that comes from the network is bounds-checked: a packet that
//! ends early is error 1835, never a panic. The crate knows values and errors (`leafline-types`), and no session and no socket.
//!
//! `mysql_common` (0.38) does not carry this: it is made for clients. It reads OK packets and writes COM_STMT_EXECUTE, of which a server
//! does the reverse, and has no query attributes. Its rows and parameters are a `Value` of its own, an allocation for each string, where
//! the server writes from Arrow columns and row blocks straight into the packet. And with all features off it brings regex, serde, uuid,
//! num-bigint, bytes, base64 and flate2 to these 3,600 lines.

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
