//! The MySQL protocol server of Leafline.
//!
//! | module | is |
//! |---|---|
//! | [`protocol`] | packets and what is in them |
//! | `auth` | `mysql_native_password` |
//! | `connection` | one client: handshake, commands, results |
//! | [`listener`] | TCP and the Unix socket; a thread per connection; stopping |

mod auth;
mod connection;
pub mod listener;
pub mod protocol;

pub use listener::{Listeners, Server, ServerError};
