//! The one error type of this crate, and its place among MySQL's error numbers.

use crate::catalog::TableDef;
use crate::index::KeyText;
use leafline_btree::BtreeError;
use leafline_storage::StorageError;
use leafline_types::error::errno;
use leafline_types::{CodecError, MysqlError};
use std::io::ErrorKind;

/// `Result` with a [`TableError`].
pub type Result<T, E = TableError> = std::result::Result<T, E>;

/// What can go wrong with tables and transactions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The storage layer failed.
    #[error(transparent)]
    Storage(StorageError),
    /// A tree failed.
    #[error(transparent)]
    Tree(BtreeError),
    /// A value could not be encoded or decoded, or a definition is not one MySQL accepts; carries MySQL's error.
    #[error("{0}")]
    Sql(MysqlError),
    /// What the foreign key of another table keeps from being done. The error tells of that table, of which not everybody may know.
    #[error("{error}")]
    ReferredTo {
        /// MySQL's error.
        error: MysqlError,
        /// The table with the key: its database, and its name.
        child: (String, String),
    },
    /// A row with the same key is there already (1062).
    #[error("Duplicate entry '{entry}' for key '{table}.{index}'")]
    DuplicateEntry {
        /// The key's values.
        entry: KeyText,
        /// Name of the table.
        table: String,
        /// Name of the index.
        index: String,
        /// Clustered key of the row that is in the way.
        locator: Vec<u8>,
    },
    /// The row was changed by a commit that the snapshot does not see (1213). A statement that nobody has seen a result of
    /// can be run again under a newer snapshot, with the locks it has; else the transaction has to be.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    WriteConflict,
    /// Two transactions or more waited for each other, and this one was chosen to give up (1213). It has to be rolled
    /// back, which releases its locks; then it can be tried again.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    /// Another transaction held a lock for longer than the limit (1205).
    #[error("Lock wait timeout exceeded; try restarting transaction")]
    LockWaitTimeout,
    /// Another transaction holds a lock, and waiting was not wanted (3572).
    #[error("Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.")]
    LockNotAvailable,
    /// More rows are locked than there is memory for (1206).
    #[error("The total number of locks exceeds the lock table size")]
    LockTableFull,
    /// The definition of the table is newer than the snapshot, or older than the one in force (1412).
    #[error("Table definition has changed, please retry transaction")]
    DefinitionChanged,
    /// Old versions of rows that the snapshot needs were given up, because there was neither memory nor temporary space for
    /// them (1412, as InnoDB has it where the history that a read view needs is gone). The transaction can be tried again.
    #[error("Old versions of rows were given up for lack of temporary space; please retry transaction")]
    SnapshotTooOld,
    /// One row, or one entry of an index, was written too often by one transaction (1197).
    #[error("the transaction's writes to one row are {size} bytes together; they may be {limit}")]
    TransactionTooLarge {
        /// Bytes of the writes.
        size: u64,
        /// Bytes they may have.
        limit: u64,
    },
    /// A write in a transaction that may only read (1792).
    #[error("Cannot execute statement in a READ ONLY transaction.")]
    ReadOnlyTransaction,
    /// A secondary index is quarantined: recovery could not bring it up to date (1712, as InnoDB has it where an index is marked
    /// corrupt). It cannot be read, nor can its table be written to, until a repair has built it anew, or it is dropped.
    #[error(
        "Index {index} is corrupted: it lacks changes of table '{table}', and is to be repaired ('leafline repair') or dropped"
    )]
    IndexQuarantined {
        /// Name of the index.
        index: String,
        /// Name of the table, with its database.
        table: String,
    },
    /// The rows of a table are quarantined: recovery could not bring them up to date (1877, as InnoDB has it where a table is
    /// marked corrupt). The table cannot be used until it is repaired, truncated or dropped.
    #[error(
        "Operation cannot be performed. The table '{table}' is missing, corrupt or contains bad data: not all changes could be \
         made to it; it is to be repaired ('leafline repair')"
    )]
    TableQuarantined {
        /// Name of the table, with its database.
        table: String,
    },
    /// A page that a database cannot be opened without is damaged: a space map, the segment directory, or the catalog.
    #[error(
        "the database cannot be opened: {0}; a page is damaged that says what the others are. 'leafline repair \
         DIR --into NEW' writes what is left of it to a new database"
    )]
    NotOpened(Box<TableError>),
    /// Something on disk was written by another version of this program, in a format that this one does not read.
    #[error(
        "the database was written by {} version of Leafline: a {what} has format {found}, and this one reads format \
         {known}; that version can dump it for this one to load",
        if found < known { "an older" } else { "a newer" }
    )]
    OtherFormat {
        /// What it is.
        what: &'static str,
        /// Its format.
        found: u8,
        /// The one that this program reads.
        known: u8,
    },
    /// Something on disk contradicts what this crate wrote there.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// A rule of this crate does not hold: a bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl TableError {
    /// An error that tells of a table whose foreign key refers to another.
    pub(crate) fn referred_to(error: MysqlError, child: &TableDef) -> TableError {
        TableError::ReferredTo { error, child: (child.database.clone(), child.name.clone()) }
    }

    /// Whether something on disk cannot be read, or is not what it must be; the rest of the database may well be sound.
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

    /// Whether the disk is full.
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
            // Who reads has an older definition than who wrote.
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
