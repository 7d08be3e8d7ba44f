//! Checking a table: the structure of its trees, and that rows and entries agree.
//!
//! | module | is |
//! |---|---|
//! | `structure` | every node of every tree; nothing else is read of a tree that is damaged |
//! | `contents` | rows against entries and entries against rows, by sums |
//! | `compare` | what does not agree, by name |
//! | `overflow` | rows against the values that are stored outside them |
//! | `parallel` | pieces of work for several threads |
//!
//! Rows and entries are compared at one snapshot, so that commits can go on. First cheaply: each index is read once,
//! in its own order or that of its pages, and the sum of the hashes of its entries is compared with that of the entries derived from the
//! rows. Only where the sums differ are the entries derived from the rows sorted, and merged with those of the index, to
//! name what is wrong.

mod compare;
mod contents;
mod overflow;
mod parallel;
mod partitions;
mod structure;

pub(crate) use contents::Sum;

use crate::catalog::{IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::read::ReadView;
use crate::txn::write_set::WriteSet;
use leafline_btree::{BtreeError, NodeProgress, ReadAheadSettings};
use leafline_storage::PageNo;
pub use leafline_types::words::CheckDepth;
use leafline_types::{CancelToken, OverflowRef};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Faults reported per table, at most.
const MAX_FAULTS: usize = 100;

/// How a table is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckOptions {
    /// How much.
    pub depth: CheckDepth,
    /// Threads that work on it.
    pub threads: usize,
    /// How it reads ahead.
    pub read_ahead: ReadAheadSettings,
}

impl Default for CheckOptions {
    /// Everything but values that no index has, with a thread for each core.
    fn default() -> CheckOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        CheckOptions { depth: CheckDepth::default(), threads, read_ahead: ReadAheadSettings::default() }
    }
}

/// Something that is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFault {
    /// Name of the index, if it is about one.
    pub index: Option<String>,
    /// The page, if it is about one.
    pub page: Option<PageNo>,
    /// What is wrong, as text.
    pub what: String,
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.index, self.page) {
            (Some(index), Some(page)) => write!(f, "index {index}, page {page}: {}", self.what),
            (Some(index), None) => write!(f, "index {index}: {}", self.what),
            (None, Some(page)) => write!(f, "page {page}: {}", self.what),
            (None, None) => f.write_str(&self.what),
        }
    }
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableCheck {
    /// What is wrong, the first so many.
    pub faults: Vec<TableFault>,
    /// Number of faults that are not listed.
    pub unlisted: u64,
    /// Indexes that something is wrong with, by position in the table; 0 is the clustered one.
    pub damaged: Vec<usize>,
    /// Whether the number of rows is not the one that is counted, in a table that is sound otherwise.
    pub miscounted: bool,
    /// What the check of its table of overflow values has found, if it has found anything.
    pub overflow: Option<Box<TableCheck>>,
}

impl TableCheck {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds what is wrong with the values that are stored outside the rows.
    fn join_overflow(&mut self, found: TableCheck) {
        if found.is_sound() {
            return;
        }
        for fault in &found.faults {
            let what = format!("values outside the rows: {}", fault.what);
            self.faults.push(TableFault { what, ..fault.clone() });
        }
        self.unlisted += found.unlisted;
        self.overflow = Some(Box::new(found));
    }

    fn note(&mut self, table: &TableDef, index: Option<&IndexDef>, page: Option<PageNo>, what: String) {
        if let Some(index) = index
            && let Some(position) = table.indexes.iter().position(|found| found.id == index.id)
            && !self.damaged.contains(&position)
        {
            self.damaged.push(position);
        }
        match self.faults.len() < MAX_FAULTS {
            true => self.faults.push(TableFault { index: index.map(|index| index.name.clone()), page, what }),
            false => self.unlisted += 1,
        }
    }
}

/// A check that is going on.
struct Check<'a> {
    view: &'a ReadView,
    table: &'a Arc<TableDef>,
    options: CheckOptions,
    progress: &'a NodeProgress<'a>,
    found: TableCheck,
    /// What is outside the rows.
    outside: Vec<OverflowRef>,
}

impl Engine {
    /// Checks a table. Returns what is wrong with it, nothing if it is sound.
    ///
    /// # Errors
    /// As [`check_table_with`](Self::check_table_with).
    pub fn check_table(self: &Arc<Self>, table: &Arc<TableDef>) -> Result<Vec<String>> {
        let check = self.check_table_with(table, CheckOptions::default(), &|_| (), &CancelToken::new())?;
        Ok(check.faults.iter().map(ToString::to_string).collect())
    }

    /// Checks a table, while others go on using it. `progress` is called with the number of pages since the last call; in
    /// all there are about as many as [`pages_to_check`](Self::pages_to_check) says.
    ///
    /// # Errors
    /// What the store returns, except for damage, which is reported; `DefinitionChanged`; 1317 or 3024 once `cancel` says so.
    pub fn check_table_with(
        self: &Arc<Self>,
        table: &Arc<TableDef>,
        options: CheckOptions,
        progress: &(dyn Fn(u64) + Sync),
        cancel: &CancelToken,
    ) -> Result<TableCheck> {
        cancel.check()?;
        if table.is_partitioned() {
            return self.check_partitions(table, options, progress, cancel);
        }
        let progress = |pages| {
            progress(pages);
            if cancel.reason().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (snapshot, rows, overflow) = {
            let _closed = self.gates.close(table.id);
            self.store.wait_durable(self.store.log_end())?;
            let overflow = table.overflow.map(|_| self.overflow_table(table)).transpose()?;
            let parts = overflow.as_ref().map_or(0, |overflow| self.row_count(overflow.id));
            (self.snapshot(), self.row_count(table.id), overflow.map(|overflow| (overflow, parts)))
        };
        let view = ReadView::new(self.clone(), snapshot, Arc::new(WriteSet::default().into()), 0)
            .with_read_ahead(options.read_ahead);
        let mut check = Check::new(&view, table, options, &progress);
        check.structure()?;
        cancel.check()?;
        if options.depth > CheckDepth::Quick {
            check.contents(rows)?;
            // What was read in part does not agree.
            cancel.check()?;
        }
        let (mut found, outside) = (check.found, check.outside);
        if let Some((overflow, parts)) = overflow {
            let mut check = Check::new(&view, &overflow, options, &progress);
            check.structure()?;
            if options.depth > CheckDepth::Quick {
                check.contents(parts)?;
                cancel.check()?;
            }
            let sound = check.found.is_sound();
            found.join_overflow(check.found);
            if sound && found.is_sound() && options.depth > CheckDepth::Quick {
                overflow::compare(&view, table, &outside, parts, options, &mut found)?;
            }
        }
        found.damaged.sort_unstable();
        Ok(found)
    }

    /// Pages that a check of the table reads, about.
    pub fn pages_to_check(&self, table: &TableDef, depth: CheckDepth) -> u64 {
        let times = if depth == CheckDepth::Quick { 1 } else { 2 };
        if let Some(partitioning) = &table.partitioning {
            let partitions = partitioning.partitions.iter();
            return partitions.map(|partition| self.pages_to_check(&partition.table, depth)).sum();
        }
        let overflow = table.overflow.and_then(|_| self.overflow_table(table).ok());
        let tables = [Some(table), overflow.as_deref()];
        let of_table =
            |id| tables.iter().flatten().any(|table| table.indexes.iter().any(|index| index.tree == id));
        let segments = self.store.segments();
        segments.iter().filter(|info| of_table(info.id)).map(|info| info.pages * times).sum()
    }
}

impl<'a> Check<'a> {
    fn new(
        view: &'a ReadView,
        table: &'a Arc<TableDef>,
        options: CheckOptions,
        progress: &'a NodeProgress<'a>,
    ) -> Check<'a> {
        Check { view, table, options, progress, found: TableCheck::default(), outside: Vec::new() }
    }

    fn fault(&mut self, index: &IndexDef, what: String) {
        self.found.note(self.table, Some(index), None, what);
    }

    /// Takes a result that must not end the check: damage is a fault of the index.
    fn tolerate<T>(&mut self, index: &IndexDef, result: Result<T>) -> Result<Option<T>> {
        match result.map_err(damage) {
            Ok(value) => Ok(Some(value)),
            Err(Ok((page, what))) => {
                self.found.note(self.table, Some(index), page, what);
                Ok(None)
            }
            Err(Err(error)) => Err(error),
        }
    }
}

/// Page and reason, if the error says that something on disk is not what it should be; else the error.
pub(crate) fn damage(error: TableError) -> Result<(Option<PageNo>, String), TableError> {
    match error {
        TableError::Corrupt(what) | TableError::Internal(what) => Ok((None, what)),
        TableError::IndexQuarantined { .. } | TableError::TableQuarantined { .. } => {
            Ok((None, error.to_string()))
        }
        TableError::Tree(BtreeError::Corrupt { page, what }) => Ok((Some(page), what)),
        TableError::Storage(leafline_storage::StorageError::Corrupt { page, reason }) => {
            Ok((Some(page), reason))
        }
        TableError::Storage(error) if error.is_damage() => Ok((None, error.to_string())),
        TableError::Sql(error) => Ok((None, error.message)),
        other => Err(other),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
