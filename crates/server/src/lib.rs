//! The MySQL protocol server of Leafline.
//!
//! | module | is |
//! |---|---|
//! | [`protocol`] | packets and what is in them |
//! | `auth` | `mysql_native_password` |
//! | `client_file` | LOAD DATA LOCAL: the client sends a file |
//! | `connection` | one client: handshake, commands, results |
//! | [`listener`] | TCP and the Unix socket; a thread per connection; stopping |
//! | `watcher` | statements whose client has gone are ended |

mod auth;
mod client_file;
mod connection;
pub mod listener;
pub mod protocol;
mod watcher;

pub use listener::{Listeners, Server, ServerError};
