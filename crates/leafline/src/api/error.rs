//! The errors of the embedded API.

use leafline_types::MysqlError;
use leafline_types::error::errno;
use std::io;
use std::path::PathBuf;

/// `Result` with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the database or of its use. [`code`](Error::code) and [`sqlstate`](Error::sqlstate) are MySQL's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A statement failed, or the database could not be opened or closed.
    #[error("{}", .0.message)]
    Sql(#[from] MysqlError),
    /// The database is open already, in this process or in another.
    #[error("the database in {} is already open, here or in another process", .path.display())]
    AlreadyOpen {
        /// Its directory.
        path: PathBuf,
    },
    /// The directory holds files but no database, so none is created there.
    #[error("{} is not empty and holds no Leafline database", .path.display())]
    NotADatabase {
        /// The directory.
        path: PathBuf,
    },
    /// There is no database, and none is to be created.
    #[error("there is no database in {}", .path.display())]
    NotFound {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be used.
    #[error("cannot open {}: {source}", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The row does not have the column that was asked for.
    #[error("there is no column {0} in the result")]
    NoSuchColumn(String),
    /// The value does not convert to the type that was asked for.
    #[error("column '{column}' holds {found}, which does not fit {wanted}")]
    WrongType {
        /// The column.
        column: String,
        /// The value and its type.
        found: String,
        /// The type asked for.
        wanted: &'static str,
    },
    /// A prepared statement was used with a connection other than its own.
    #[error("the statement was prepared by another connection")]
    ForeignStatement,
}

impl Error {
    /// Returns MySQL's error number.
    pub fn code(&self) -> u16 {
        match self {
            Error::Sql(error) => error.code,
            Error::AlreadyOpen { .. } => CANNOT_LOCK,
            Error::NotADatabase { .. } | Error::NotFound { .. } | Error::Io { .. } => CANNOT_OPEN,
            Error::NoSuchColumn(_) => errno::ER_BAD_FIELD_ERROR,
            Error::WrongType { .. } => errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
            Error::ForeignStatement => errno::ER_UNKNOWN_STMT_HANDLER,
        }
    }

    /// Returns the SQLSTATE: five characters.
    pub fn sqlstate(&self) -> &str {
        match self {
            Error::Sql(error) => error.state(),
            Error::NoSuchColumn(_) => "42S22",
            _ => "HY000",
        }
    }

    /// Returns the message, without number and SQLSTATE.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

/// `ER_CANT_LOCK`: only returned when opening, so that no client sees it.
const CANNOT_LOCK: u16 = 1015;
/// `ER_CANT_OPEN_FILE`: only returned when opening, so that no client sees it.
const CANNOT_OPEN: u16 = 1016;
