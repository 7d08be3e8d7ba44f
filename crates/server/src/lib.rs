//! The server of Leafline: serves clients of the MySQL protocol, monitors and browsers.
//!
//! | module | is |
//! |---|---|
//! | [`tls`], `login` | certificates; the login of a client, and delays after failed logins |
//! | `transport` | a client's bytes, in clear or under TLS |
//! | `client_file` | files that the client sends for LOAD DATA LOCAL |
//! | `connection` | one client: commands and results |
//! | `convert` | a session's state in the types of `leafline_protocol` |
//! | [`console`], [`metrics`], `http` | the activity of a database, for a browser and for a monitor |
//! | [`listener`] | TCP and the Unix socket; a thread per connection; stopping |
//! | `watcher` | ends statements whose client has gone |

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
mod x509;

pub use console::Console;
pub use listener::{Listeners, Server, ServerError, ServerOptions};
pub use login::Log;
pub use metrics::Metrics;
pub use tls::{Tls, TlsError};
