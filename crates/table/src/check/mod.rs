//! Checking a table: the structure of its trees, and the agreement of rows and entries.
//!
//! | module | contents |
//! |---|---|
//! | `structure` | every node of every tree; a tree with a damaged structure is not read further |
//! | `contents` | rows against entries and entries against rows, by sums |
//! | `compare` | the differences, by name |
//! | `overflow` | rows against overflow values |
//! | `partitions` | partitions, and the rows that belong to another one |
//! | `parallel` | pieces of work for several threads |
//!
//! Rows and entries are compared at one snapshot, so that commits can go on. The first comparison is cheap:
//! each index is read once, in its own order or that of its pages, and the sum of its entries' hashes is
//! compared with the sum for the entries derived from the rows. Only if the sums differ are the derived
//! entries sorted and merged with those of the index, to name the differences.

mod compare;
mod contents;
mod overflow;
mod parallel;
mod partitions;
mod structure;

pub(crate) use contents::Sum;

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::maintenance::Maintenance;
use crate::read::ReadView;
use crate::write_set::WriteSet;
use leafline_btree::{BtreeError, NodeProgress, ReadAheadSettings};
use leafline_storage::PageNo;
pub use leafline_types::words::CheckDepth;
use leafline_types::{CancelToken, OverflowRef};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The maximum number of faults reported per table.
const MAX_FAULTS: usize = 100;

/// The options of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckOptions {
    /// The depth of the check.
    pub depth: CheckDepth,
    /// The number of threads that work on it.
    pub threads: usize,
    /// The settings for reading ahead.
    pub read_ahead: ReadAheadSettings,
}

impl Default for CheckOptions {
    /// The default depth, with a thread for each core.
    fn default() -> CheckOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        CheckOptions { depth: CheckDepth::default(), threads, read_ahead: ReadAheadSettings::default() }
    }
}

/// A fault in a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFault {
    /// The name of the index, if the fault is in one.
    pub index: Option<String>,
    /// The page, if the fault is on one.
    pub page: Option<PageNo>,
    /// A description of the fault.
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

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableCheck {
    /// The faults found, up to a maximum number.
    pub faults: Vec<TableFault>,
    /// The number of faults that are not listed.
    pub unlisted: u64,
    /// The positions of the damaged indexes in the table; 0 is the clustered index.
    pub damaged: Vec<usize>,
    /// Whether the counter of rows is wrong in a table that is otherwise sound.
    pub miscounted: bool,
    /// The result of checking the overflow table, if that has faults.
    pub overflow: Option<Box<TableCheck>>,
}

impl TableCheck {
    /// Returns whether there are no faults.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds the faults of the overflow table.
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

/// A running check.
struct Check<'a> {
    view: &'a ReadView,
    table: &'a Arc<TableDef>,
    options: CheckOptions,
    progress: &'a NodeProgress<'a>,
    found: TableCheck,
    /// References to the overflow values of the rows.
    outside: Vec<OverflowRef>,
}

impl Maintenance {
    /// Checks a table. Returns descriptions of its faults, empty if it is sound.
    ///
    /// # Errors
    /// The errors of [`check_table_with`](Self::check_table_with).
    pub fn check_table(&self, table: &Arc<TableDef>) -> Result<Vec<String>> {
        let check = self.check_table_with(table, CheckOptions::default(), &|_| (), &CancelToken::new())?;
        Ok(check.faults.iter().map(ToString::to_string).collect())
    }

    /// Checks a table while others go on using it. `progress` is called with the number of pages read since
    /// the last call; their sum is about [`pages_to_check`](Self::pages_to_check).
    ///
    /// # Errors
    /// Errors of the store, except for damage, which is reported as a fault; `DefinitionChanged`; 1317 or
    /// 3024 once `cancel` is cancelled.
    pub fn check_table_with(
        &self,
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
            let _closed = self.core.gates.close(table.id);
            self.core.store.wait_durable(self.core.store.log_end())?;
            let overflow =
                table.overflow.map(|_| crate::overflow::overflow_table(&self.core, table)).transpose()?;
            let parts = overflow.as_ref().map_or(0, |overflow| self.core.row_count(overflow.id));
            (self.core.snapshot(), self.core.row_count(table.id), overflow.map(|overflow| (overflow, parts)))
        };
        let view = ReadView::new(self.core.clone(), snapshot, Arc::new(WriteSet::default().into()), 0)
            .with_read_ahead(options.read_ahead);
        let mut check = Check::new(&view, table, options, &progress);
        check.structure()?;
        cancel.check()?;
        if options.depth > CheckDepth::Quick {
            check.contents(rows)?;
            // A partial read would not agree with the counter.
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

    /// The approximate number of pages that a check of the table reads.
    pub fn pages_to_check(&self, table: &TableDef, depth: CheckDepth) -> u64 {
        let times = if depth == CheckDepth::Quick { 1 } else { 2 };
        if let Some(partitioning) = &table.partitioning {
            let partitions = partitioning.partitions.iter();
            return partitions.map(|partition| self.pages_to_check(&partition.table, depth)).sum();
        }
        let overflow = table.overflow.and_then(|_| crate::overflow::overflow_table(&self.core, table).ok());
        let tables = [Some(table), overflow.as_deref()];
        let of_table =
            |id| tables.iter().flatten().any(|table| table.indexes.iter().any(|index| index.tree == id));
        let segments = self.core.store.segments();
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

    /// Turns an error that must not end the check into a fault of the index, because it reports damage.
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

/// The page and the reason if the error reports damage on disk; otherwise the error itself.
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
