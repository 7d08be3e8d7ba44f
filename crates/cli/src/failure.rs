//! What ends a verb early.

use leafline::{Error, MysqlError};
use std::io;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Said already, or nothing to say: a statement's error, a reader that is gone.
    #[error("")]
    Silent,
    /// Stopped by a signal, as Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The database.
    #[error(transparent)]
    Database(#[from] Error),
    /// A statement of the program's own.
    #[error(transparent)]
    Sql(#[from] MysqlError),
    /// A server that was asked.
    #[error("the server at {address} says: {text} ({code})")]
    Server {
        /// Where it is.
        address: String,
        /// MySQL's error number.
        code: u16,
        /// What it says.
        text: String,
    },
    /// A file, or the terminal.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else, in a whole sentence.
    #[error("{0}")]
    Message(String),
}

impl Failure {
    /// An I/O error with what was being done.
    pub fn io(what: impl Into<String>, source: io::Error) -> Failure {
        Failure::Io { what: what.into(), source }
    }

    /// What a failed write to standard output or error means: a reader that has gone away is no error to report.
    pub fn output(source: io::Error) -> Failure {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Failure::Silent,
            _ => Failure::io("cannot write", source),
        }
    }

    /// What the process exits with: 130 after Ctrl-C, as shells have it.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Failure::Interrupted) { 130 } else { 1 }
    }
}
