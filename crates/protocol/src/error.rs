//! Errors that end a connection.

use leafline_types::MysqlError;
use std::io;

/// A failure of the connection, after which the other side gets at most one last error.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection is broken.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other side breaks the protocol. The server sends a client this error, then ends the connection.
    #[error("{0}")]
    Protocol(MysqlError),
}
