//! A client of the MySQL protocol, for verbs that read from a server: statements as text, rows one by one.
//!
//! | module | is |
//! |---|---|
//! | `address` | where a server is, and who asks: `mysql://user:password@host:port/database` |
//! | `auth` | how a password is proved |
//! | `packets` | packets, and the numbers and strings in them |
//! | `tls` | encrypted connections |
//! | `client` | a connection |
//!
//! A library has more than this takes (pools, prepared statements, binary logs, URLs in full), and builds longer than the rest of Leafline's
//! dependencies together.

mod address;
mod auth;
mod client;
mod packets;
mod tls;

pub use address::Address;
pub use client::{Answer, Client};
