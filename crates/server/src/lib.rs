//! The server of Leafline: clients of the MySQL protocol, monitors and browsers.
//!
//! | module | is |
//! |---|---|
//! | [`tls`], `login` | certificates; how a client is let in, and slowed down |
//! | `transport` | a client's bytes, in clear or under TLS |
//! | `client_file` | LOAD DATA LOCAL: the client sends a file |
//! | `connection` | one client: commands, results |
//! | `convert` | what a session tells, as `leafline_protocol` has it |
//! | [`console`], [`metrics`], `http` | what a database does, in a browser and for a monitor |
//! | [`listener`] | TCP and the Unix socket; a thread per connection; stopping |
//! | `watcher` | statements whose client has gone are ended |

mod client_file;
mod connection;
pub mod console;
mod convert;
mod http;
pub mod listener;
mod login;
pub mod metrics;
mod private_file;
pub mod tls;
mod transport;
mod watcher;

pub use console::Console;
pub use listener::{Listeners, Server, ServerError, ServerOptions};
pub use login::Log;
pub use metrics::Metrics;
pub use tls::{Tls, TlsError};
