//! Builds the trees of several secondary indexes at once from their sorted entries, in threads.

use super::control::{BuildControl, STEP};
use super::format::TreeWriter;
use super::merge_ahead::with_merged;
use super::new_builder;
use crate::catalog::{IndexDef, LaidOut, TableDef};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::{duplicate_entry, locator_of_entry, unique_prefix};
use crate::new_table::NewTrees;
use crate::run::{EntrySource, Sorter};
use leafline_btree::{BulkBuilder, Tree};
use leafline_storage::worker::ThreadName;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One tree to build.
struct Job<'a> {
    /// The position of the index among all.
    number: usize,
    index: &'a IndexDef,
    parts: Vec<Sorter>,
    builder: BulkBuilder,
}

/// The data that the jobs of a build share.
struct Jobs<'a> {
    core: &'a Core,
    table: &'a TableDef,
    /// The clustered tree from whose rows the entries were made.
    rows: &'a Tree,
    control: &'a BuildControl,
    /// Whether there are threads that merge while the jobs write.
    merges_ahead: bool,
    waiting: Mutex<Vec<Job<'a>>>,
    /// The first job that failed; the jobs after it need not be finished.
    failed: AtomicUsize,
    built: Mutex<Vec<(usize, Result<LaidOut>)>>,
}

/// Builds the trees of `indexes`, whose entries, made from the rows of one tree, were sorted in parts.
/// Returns each tree with its layout.
///
/// # Errors
/// `DuplicateEntry` of the first index with duplicates; errors of the store.
pub(crate) fn build_secondaries(
    core: &Core,
    table: &TableDef,
    indexes: &[Arc<IndexDef>],
    (parts, rows): (Vec<Vec<Sorter>>, &Tree),
    control: &BuildControl,
    new: &mut NewTrees,
) -> Result<Vec<LaidOut>> {
    let mut waiting = Vec::with_capacity(indexes.len());
    for (number, (index, parts)) in indexes.iter().zip(parts).enumerate() {
        let (_, builder) = new_builder(core, index.leaf_format(), new)?;
        waiting.push(Job { number, index, parts, builder });
    }
    // Threads take jobs from the end.
    waiting.reverse();
    let threads = control.threads.min(indexes.len().saturating_sub(1));
    let jobs = Jobs {
        core,
        table,
        rows,
        control,
        merges_ahead: control.threads >= 2 * indexes.len().max(1) - 1,
        waiting: Mutex::new(waiting),
        failed: AtomicUsize::new(usize::MAX),
        built: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let helper = ThreadName::Build.builder();
            // Fewer threads suffice, or the caller alone.
            if helper.spawn_scoped(scope, || jobs.work()).is_err() {
                break;
            }
        }
        jobs.work();
    });
    let mut built = jobs.built.into_inner();
    built.sort_by_key(|(number, _)| *number);
    built.into_iter().map(|(_, tree)| tree).collect()
}

impl Jobs<'_> {
    fn work(&self) {
        loop {
            let next = self.waiting.lock().pop();
            let Some(job) = next else { return };
            let number = job.number;
            let tree = self.build(job);
            if tree.is_err() {
                self.failed.fetch_min(number, Ordering::Relaxed);
            }
            self.built.lock().push((number, tree));
        }
    }

    fn build(&self, job: Job<'_>) -> Result<LaidOut> {
        let Job { number, index, parts, builder } = job;
        let page_size = self.core.store.page_size();
        let mut tree = TreeWriter::new(builder, self.table.packing_of(index), page_size);
        // Entries that one thread sorted are few.
        let in_thread = self.merges_ahead && parts.len() > 1;
        with_merged(parts, in_thread, |entries| self.put(number, index, entries, &mut tree))?;
        tree.finish(self.core)
    }

    /// Puts all entries of an index into its tree.
    fn put(
        &self,
        number: usize,
        index: &IndexDef,
        entries: &mut dyn EntrySource,
        tree: &mut TreeWriter,
    ) -> Result<()> {
        let mut last: Vec<u8> = Vec::new();
        let mut count = 0u64;
        while let Some((key, payload)) = entries.next()? {
            count += 1;
            if count.is_multiple_of(STEP) {
                self.control.cancel.check()?;
                self.control.progress.add(STEP);
                if self.failed.load(Ordering::Relaxed) < number {
                    return Err(TableError::Internal("another index was not built".into()));
                }
            }
            if let Some(prefix) = unique_prefix(index, key)? {
                if prefix == last {
                    let mut locator = Vec::new();
                    locator_of_entry(index, key, &mut locator)?;
                    let row = self.rows.get(&locator, |row| row.map(|row| row.payload.to_vec()))?;
                    let row = row
                        .ok_or_else(|| TableError::Internal("an entry of a row that is not there".into()))?;
                    return Err(duplicate_entry(self.table, index, (&locator, &row), &locator));
                }
                last.clear();
                last.extend_from_slice(prefix);
            }
            tree.push(key, payload)?;
        }
        Ok(())
    }
}
