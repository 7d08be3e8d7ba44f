//! What ends a connection.

use leafline_types::MysqlError;
use std::io;

/// A failure of the connection: nothing more can be said to the other side, or one last error.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection broke.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other side broke the protocol. A client is told so, then the connection ends.
    #[error("{0}")]
    Protocol(MysqlError),
}
