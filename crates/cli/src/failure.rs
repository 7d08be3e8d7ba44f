//! The reasons for which a verb ends early.

use leafline::{Error, MysqlError};
use std::io;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Reported already, or nothing to report: a statement's error, a reader that has gone.
    #[error("")]
    Silent,
    /// Interrupted by a signal, as from Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The embedded database failed.
    #[error(transparent)]
    Database(#[from] Error),
    /// A statement of the program itself failed.
    #[error(transparent)]
    Sql(#[from] MysqlError),
    /// A server returned an error.
    #[error("the server at {address} says: {text} ({code})")]
    Server {
        /// The server's address.
        address: String,
        /// MySQL's error number.
        code: u16,
        /// The server's message.
        text: String,
    },
    /// A file or the terminal failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or the task in which the program failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// Any other reason, as a whole sentence.
    #[error("{0}")]
    Message(String),
}

impl Failure {
    /// Makes an I/O error with what the program was doing.
    pub fn io(what: impl Into<String>, source: io::Error) -> Failure {
        Failure::Io { what: what.into(), source }
    }

    /// Converts the error of a failed write to standard output or error: a reader that has gone away is not an error
    /// to report.
    pub fn output(source: io::Error) -> Failure {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Failure::Silent,
            _ => Failure::io("cannot write", source),
        }
    }

    /// Returns the exit code of the process: 130 after Ctrl-C, the convention of shells.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Failure::Interrupted) { 130 } else { 1 }
    }
}
