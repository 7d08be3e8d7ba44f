//! The error type of this crate, and its translation into MySQL's error numbers.

use crate::key_text::KeyText;
use leafline_btree::BtreeError;
use leafline_storage::StorageError;
use leafline_types::error::errno;
use leafline_types::{CodecError, MysqlError};
use std::io::ErrorKind;

/// `Result` with a [`TableError`].
pub type Result<T, E = TableError> = std::result::Result<T, E>;

/// An error of tables or transactions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// An error of the storage layer.
    #[error(transparent)]
    Storage(StorageError),
    /// An error of a tree.
    #[error(transparent)]
    Tree(BtreeError),
    /// A value cannot be encoded or decoded, or MySQL's rules do not allow a definition; contains MySQL's
    /// error.
    #[error("{0}")]
    Sql(MysqlError),
    /// The foreign key of another table forbids the operation. The error names that table, which not every
    /// user may know of.
    #[error("{error}")]
    ReferredTo {
        /// MySQL's error.
        error: MysqlError,
        /// The database and name of the table with the foreign key.
        child: (String, String),
    },
    /// A row with the same key exists already (1062).
    #[error("Duplicate entry '{entry}' for key '{table}.{index}'")]
    DuplicateEntry {
        /// The key's values.
        entry: KeyText,
        /// The name of the table.
        table: String,
        /// The name of the index.
        index: String,
        /// The clustered key of the existing row.
        locator: Vec<u8>,
    },
    /// A commit that the snapshot does not see has changed the row (1213). If nobody has seen a result of
    /// the statement, it can be run again under a newer snapshot, with the locks it holds. Otherwise the
    /// transaction must be run again.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    WriteConflict,
    /// Two or more transactions waited for each other, and this one was chosen as the victim (1213). It
    /// must be rolled back, which releases its locks; then it can be run again.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    /// Another transaction held a lock for longer than the limit (1205).
    #[error("Lock wait timeout exceeded; try restarting transaction")]
    LockWaitTimeout,
    /// Another transaction holds a lock, and the statement does not wait (3572).
    #[error("Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.")]
    LockNotAvailable,
    /// The locks need more memory than there is (1206).
    #[error("The total number of locks exceeds the lock table size")]
    LockTableFull,
    /// The definition of the table is newer than the snapshot, or is not in force any more (1412).
    #[error("Table definition has changed, please retry transaction")]
    DefinitionChanged,
    /// Old row versions that the snapshot needs were given up, because neither memory nor temporary space
    /// was available (1412, as in InnoDB when the history of a read view is gone). The transaction can be
    /// run again.
    #[error("Old versions of rows were given up for lack of temporary space; please retry transaction")]
    SnapshotTooOld,
    /// One transaction has written a row, or an entry of an index, too often (1197).
    #[error("the transaction's writes to one row are {size} bytes together; they may be {limit}")]
    TransactionTooLarge {
        /// The size of the writes in bytes.
        size: u64,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// A write in a read-only transaction (1792).
    #[error("Cannot execute statement in a READ ONLY transaction.")]
    ReadOnlyTransaction,
    /// A secondary index is quarantined: recovery could not bring it up to date (1712, as in InnoDB when an
    /// index is marked corrupt). It cannot be read, nor can its table be written, until a repair has
    /// rebuilt it or it is dropped.
    #[error(
        "Index {index} is corrupted: it lacks changes of table '{table}', and is to be repaired ('leafline repair') or dropped"
    )]
    IndexQuarantined {
        /// The name of the index.
        index: String,
        /// The database and name of the table.
        table: String,
    },
    /// The rows of a table are quarantined: recovery could not bring them up to date (1877, as in InnoDB
    /// when a table is marked corrupt). The table cannot be used until it is repaired, truncated or
    /// dropped.
    #[error(
        "Operation cannot be performed. The table '{table}' is missing, corrupt or contains bad data: not all changes could be \
         made to it; it is to be repaired ('leafline repair')"
    )]
    TableQuarantined {
        /// The database and name of the table.
        table: String,
    },
    /// A page is damaged without which the database cannot be opened: a space map, the segment directory,
    /// or the catalog.
    #[error(
        "the database cannot be opened: {0}; a page is damaged that says what the others are. 'leafline repair \
         DIR --into NEW' writes what is left of it to a new database"
    )]
    NotOpened(Box<TableError>),
    /// Another version of this program has written something on disk in a format that this version does not
    /// read.
    #[error(
        "the database was written by {} version of Leafline: a {what} has format {found}, and this one reads format \
         {known}; that version can dump it for this one to load",
        if found < known { "an older" } else { "a newer" }
    )]
    OtherFormat {
        /// The kind of object.
        what: &'static str,
        /// Its format.
        found: u8,
        /// The format that this program reads.
        known: u8,
    },
    /// Something on disk contradicts what this crate writes.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// A rule of this crate is violated, which is a bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl TableError {
    /// Makes the error that names a table whose foreign key refers to another table.
    pub(crate) fn referred_to(error: MysqlError, database: &str, table: &str) -> TableError {
        TableError::ReferredTo { error, child: (database.to_owned(), table.to_owned()) }
    }

    /// Returns whether something on disk cannot be read or is invalid; the rest of the database may be
    /// sound.
    pub fn is_damage(&self) -> bool {
        match self {
            TableError::Corrupt(_)
            | TableError::Tree(BtreeError::Corrupt { .. })
            | TableError::IndexQuarantined { .. }
            | TableError::TableQuarantined { .. }
            | TableError::NotOpened(_) => true,
            TableError::Storage(error) => error.is_damage(),
            _ => false,
        }
    }

    /// Returns whether the disk is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        matches!(self, TableError::Storage(StorageError::DiskFull))
    }
}

impl From<StorageError> for TableError {
    fn from(error: StorageError) -> TableError {
        TableError::Storage(error)
    }
}

impl From<MysqlError> for TableError {
    fn from(error: MysqlError) -> TableError {
        TableError::Sql(error)
    }
}

impl From<BtreeError> for TableError {
    fn from(error: BtreeError) -> TableError {
        match error {
            BtreeError::Storage(error) => TableError::Storage(error),
            other => TableError::Tree(other),
        }
    }
}

impl From<CodecError> for TableError {
    fn from(error: CodecError) -> TableError {
        match error {
            // The reader has an older definition than the writer.
            CodecError::UnknownVersion(_) => TableError::DefinitionChanged,
            error => TableError::Sql(error.into()),
        }
    }
}

impl From<TableError> for MysqlError {
    fn from(error: TableError) -> MysqlError {
        let text = error.to_string();
        match error {
            TableError::Sql(error) | TableError::ReferredTo { error, .. } => error,
            TableError::DuplicateEntry { entry, table, index, .. } => {
                MysqlError::duplicate_entry(&entry.to_string(), &format!("{table}.{index}"))
            }
            TableError::WriteConflict | TableError::Deadlock => MysqlError::deadlock(),
            TableError::LockWaitTimeout => MysqlError::lock_wait_timeout(),
            TableError::LockNotAvailable => MysqlError::lock_not_available(),
            TableError::LockTableFull => MysqlError::lock_table_full(),
            TableError::DefinitionChanged => MysqlError::table_definition_changed(),
            TableError::SnapshotTooOld => MysqlError::with_message(errno::ER_TABLE_DEF_CHANGED, text),
            TableError::TransactionTooLarge { .. } => MysqlError::with_message(1197, text),
            TableError::ReadOnlyTransaction => MysqlError::read_only_transaction(),
            TableError::Storage(StorageError::DiskFull) => {
                MysqlError::with_message(errno::ER_DISK_FULL, "Disk full; nothing was changed")
            }
            TableError::Storage(StorageError::DiskFullAtCreation { .. }) => {
                MysqlError::with_message(errno::ER_DISK_FULL, text)
            }
            TableError::Storage(StorageError::BackupIo { source, .. }) => {
                let full = matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
                let code = if full { errno::ER_DISK_FULL } else { errno::ER_ERROR_ON_WRITE };
                MysqlError::with_message(code, text)
            }
            TableError::Storage(StorageError::Backup { .. }) => MysqlError::unknown_error(text),
            TableError::IndexQuarantined { .. } => MysqlError::with_message(errno::ER_INDEX_CORRUPT, text),
            TableError::TableQuarantined { .. } => MysqlError::with_message(errno::ER_TABLE_CORRUPT, text),
            TableError::Corrupt(_)
            | TableError::NotOpened(_)
            | TableError::Tree(BtreeError::Corrupt { .. })
            | TableError::Storage(StorageError::Corrupt { .. }) => {
                MysqlError::with_message(errno::ER_CRASHED_ON_USAGE, text)
            }
            TableError::Storage(_) | TableError::Tree(_) | TableError::OtherFormat { .. } => {
                MysqlError::with_message(errno::ER_GET_ERRNO, text)
            }
            TableError::Internal(_) => MysqlError::internal(text),
        }
    }
}
