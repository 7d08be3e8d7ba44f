//! Rows on disk: the spill files of sorts, joins, grouping and DISTINCT when memory runs out.
//!
//! Files lie under `temp` in the directory of the database. Dropping a file removes it; after a crash the next open does. Each
//! file that is being written has buffers of about 300 KB, which are not counted.

use super::batch_size::copy_failed;
use super::row_keys::RowKeys;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use crate::params::BATCH_BYTES;
use crate::params::{MIN_SORT_BYTES, SORT_PART, SPILL_PARTITIONS};
use arrow_array::ArrayRef;
use arrow_select::take::take;
use hashbrown::DefaultHashBuilder;
use leafline_expr::aggregate::EncodedKeys;
use leafline_table::TableError;
use leafline_table::run::{EntrySource, Merge, RunFile, RunReader, RunWriter, Sorter};
use leafline_types::column::spilled::{RowReader, push_row};
use leafline_types::{Batch, ExprType, MysqlError};
use std::hash::BuildHasher;
use std::sync::Arc;

fn failed(error: TableError) -> MysqlError {
    MysqlError::from(error)
}

/// Writes rows one after another. The first row creates the file.
#[derive(Default)]
pub(super) struct SpillWriter {
    writer: Option<RunWriter>,
    bytes: Vec<u8>,
    rows: u64,
    blocks: Vec<BlockStart>,
}

/// The start of a block of rows: its first row, and the position in the file.
#[derive(Clone, Copy)]
struct BlockStart {
    row: u64,
    offset: u64,
}

/// Rows that were read together, and the mark of each.
pub(super) struct SpilledBlock {
    pub first: u64,
    pub batch: Batch,
    pub marks: Vec<bool>,
}

/// Rows in a file, which can be read repeatedly.
#[derive(Clone)]
pub(super) struct SpillFile {
    run: Option<Arc<RunFile>>,
    types: Arc<[ExprType]>,
    rows: u64,
    blocks: Arc<[BlockStart]>,
}

/// Reads the rows of a file in order.
pub(super) struct SpillReader {
    reader: Option<RunReader>,
    rows: RowReader,
}

impl SpillWriter {
    pub fn push(
        &mut self,
        batch: &Batch,
        row: usize,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        self.push_marked(false, batch, row, cx)
    }

    /// Writes a row with a mark; reading the row by its number returns the mark.
    pub fn push_marked(
        &mut self,
        mark: bool,
        batch: &Batch,
        row: usize,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        self.bytes.clear();
        push_row(&batch.columns, row, &mut self.bytes);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                cx.counters.created_tmp_files += 1;
                none.insert(cx.view.core().temporary_run().map_err(failed)?)
            }
        };
        let key: &[u8] = if mark { &[1] } else { &[] };
        if let Some(offset) = writer.push(key, &self.bytes).map_err(failed)? {
            self.blocks.push(BlockStart { row: self.rows, offset });
        }
        self.rows += 1;
        // Free a large buffer: many writers may exist at once.
        if self.bytes.capacity() > BATCH_BYTES {
            self.bytes = Vec::new();
        }
        Ok(())
    }

    /// Ends the file. `types` are the types of the rows' columns.
    pub fn finish(self, types: &Arc<[ExprType]>) -> Result<SpillFile, MysqlError> {
        let run = self.writer.map(|writer| writer.finish().map(Arc::new)).transpose().map_err(failed)?;
        Ok(SpillFile { run, types: types.clone(), rows: self.rows, blocks: self.blocks.into() })
    }
}

impl SpillFile {
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes of memory of the index that finds rows by their numbers.
    pub fn index_bytes(&self) -> usize {
        self.blocks.len() * size_of::<BlockStart>()
    }

    /// Returns the rows that were written together with row number `row`.
    pub fn around(&self, row: u64) -> Result<SpilledBlock, MysqlError> {
        let at = self.blocks.partition_point(|block| block.row <= row).saturating_sub(1);
        let (Some(run), Some(start)) = (&self.run, self.blocks.get(at)) else {
            return Err(MysqlError::internal("a row of an empty file"));
        };
        let end = self.blocks.get(at + 1).map_or(run.bytes(), |next| next.offset);
        let mut rows = RowReader::new(self.types.iter().map(|ty| &ty.sql));
        let (mut marks, mut pushed) = (Vec::new(), Ok(()));
        let mut take = |key: &[u8], row: &[u8]| {
            marks.push(!key.is_empty());
            if pushed.is_ok() {
                pushed = rows.push(row);
            }
        };
        run.read_blocks(start.offset, end, &mut take).map_err(failed)?;
        pushed?;
        Ok(SpilledBlock { first: start.row, batch: rows.finish(), marks })
    }

    pub fn read(&self) -> BoxedOperator {
        let rows = RowReader::new(self.types.iter().map(|ty| &ty.sql));
        Box::new(SpillReader { reader: self.run.clone().map(RunReader::new), rows })
    }
}

impl Operator for SpillReader {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        cx.eval.cancel.check()?;
        while self.rows.rows() < BATCH_ROWS && self.rows.bytes() < BATCH_BYTES {
            let Some(reader) = &mut self.reader else { break };
            let Some((_, row)) = reader.next().map_err(failed)? else { break };
            self.rows.push(row)?;
        }
        let batch = self.rows.finish();
        Ok((batch.rows > 0).then_some(batch))
    }
}

/// Spreads rows over files by the hash of their keys: equal keys go to one file. Each spreading uses another hash.
pub(super) struct Partitions {
    hasher: DefaultHashBuilder,
    writers: Vec<SpillWriter>,
    types: Arc<[ExprType]>,
}

impl Partitions {
    /// Makes partitions for rows with columns of these types.
    pub fn new(types: &Arc<[ExprType]>) -> Partitions {
        Partitions::beside(&DefaultHashBuilder::default(), types, SPILL_PARTITIONS)
    }

    /// Makes partitions with the number of files and the hash of `other`.
    pub fn like(other: &Partitions, types: &Arc<[ExprType]>) -> Partitions {
        Partitions::beside(&other.hasher, types, other.writers.len())
    }

    /// Makes a single file for all rows.
    pub fn single(types: &Arc<[ExprType]>) -> Partitions {
        Partitions::beside(&DefaultHashBuilder::default(), types, 1)
    }

    fn beside(hasher: &DefaultHashBuilder, types: &Arc<[ExprType]>, count: usize) -> Partitions {
        let writers = (0..count).map(|_| SpillWriter::default()).collect();
        Partitions { hasher: hasher.clone(), writers, types: types.clone() }
    }

    pub fn push(
        &mut self,
        key: &[u8],
        batch: &Batch,
        row: usize,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        let at = self.hasher.hash_one(key) as usize % self.writers.len().max(1);
        match self.writers.get_mut(at) {
            Some(writer) => writer.push(batch, row, cx),
            None => Err(MysqlError::internal("no file to write a row to")),
        }
    }

    pub fn finish(self) -> Result<Vec<SpillFile>, MysqlError> {
        let Partitions { writers, types, .. } = self;
        writers.into_iter().map(|writer| writer.finish(&types)).collect()
    }
}

/// Sorts entries on disk by keys; equal keys are ordered by number.
pub(super) struct EntrySort {
    sorter: Sorter,
    key: Vec<u8>,
    pushed: u64,
}

/// The key, number and payload of an entry.
type Numbered<'e> = (&'e [u8], u64, &'e [u8]);

/// Sorted entries on disk.
pub(super) struct SortedEntries(Merge<'static>);

impl EntrySort {
    pub fn new(cx: &mut ExecutionContext<'_>) -> EntrySort {
        cx.counters.created_tmp_files += 1;
        cx.counters.sort_merge_passes += 1;
        let memory = (cx.memory.limit() / SORT_PART).max(MIN_SORT_BYTES);
        let sorter = cx.view.core().sorter(memory as u64);
        EntrySort { sorter, key: Vec::new(), pushed: 0 }
    }

    /// Adds an entry, numbered in the order of the calls. The parts of a key are concatenated; no key may be a prefix of another.
    pub fn push(&mut self, key: &[&[u8]], payload: &[u8]) -> Result<(), MysqlError> {
        self.pushed += 1;
        self.push_numbered(key, self.pushed, payload)
    }

    pub fn push_numbered(&mut self, key: &[&[u8]], number: u64, payload: &[u8]) -> Result<(), MysqlError> {
        self.key.clear();
        key.iter().for_each(|part| self.key.extend_from_slice(part));
        self.key.extend_from_slice(&number.to_be_bytes());
        self.sorter.push(&self.key, payload).map_err(failed)
    }

    pub fn finish(self) -> Result<SortedEntries, MysqlError> {
        self.sorter.finish().map(SortedEntries).map_err(failed)
    }
}

impl SortedEntries {
    pub fn next(&mut self) -> Result<Option<Numbered<'_>>, MysqlError> {
        let Some((key, payload)) = self.0.next().map_err(failed)? else { return Ok(None) };
        match key.split_last_chunk::<8>() {
            Some((key, number)) => Ok(Some((key, u64::from_be_bytes(*number), payload))),
            None => Err(MysqlError::internal("a sorted entry without a number")),
        }
    }
}

/// Sorts rows on disk by keys; rows with equal keys keep the order of their arrival.
pub(super) struct DiskSort {
    sort: EntrySort,
    types: Arc<[ExprType]>,
    row: Vec<u8>,
}

/// Sorted rows on disk.
pub(super) struct DiskSorted {
    entries: SortedEntries,
    rows: RowReader,
    skip: u64,
    left: u64,
}

impl DiskSort {
    /// Makes a sort for rows with columns of these types.
    pub fn new(types: &Arc<[ExprType]>, cx: &mut ExecutionContext<'_>) -> DiskSort {
        DiskSort { sort: EntrySort::new(cx), types: types.clone(), row: Vec::new() }
    }

    pub fn push(&mut self, key: &[u8], batch: &Batch, row: usize) -> Result<(), MysqlError> {
        self.row.clear();
        push_row(&batch.columns, row, &mut self.row);
        self.sort.push(&[key], &self.row)
    }

    /// Adds all rows of a batch.
    pub fn push_all(&mut self, keys: &EncodedKeys, batch: &Batch) -> Result<(), MysqlError> {
        (0..batch.rows).try_for_each(|row| self.push(keys.get(row), batch, row))
    }

    /// Adds the remaining rows of an operator.
    pub fn push_rest(
        &mut self,
        input: &mut BoxedOperator,
        encoder: &mut RowKeys,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        while let Some((batch, keys)) = encoder.next(input, cx)? {
            self.push_all(keys, &batch)?;
        }
        Ok(())
    }

    /// Returns the rows in order: the rows after the first `skip`, at most `count`.
    pub fn finish(self, skip: u64, count: u64) -> Result<DiskSorted, MysqlError> {
        let rows = RowReader::new(self.types.iter().map(|ty| &ty.sql));
        Ok(DiskSorted { entries: self.sort.finish()?, rows, skip, left: count })
    }
}

impl Operator for DiskSorted {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        cx.eval.cancel.check()?;
        while self.rows.rows() < BATCH_ROWS && self.rows.bytes() < BATCH_BYTES && self.left > 0 {
            let Some((.., row)) = self.entries.next()? else { break };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.left -= 1;
            self.rows.push(row)?;
        }
        let batch = self.rows.finish();
        Ok((batch.rows > 0).then_some(batch))
    }
}

/// Returns some rows of a batch.
pub(super) fn picked(batch: &Batch, rows: &[u32]) -> Result<Batch, MysqlError> {
    let indices = arrow_array::UInt32Array::from_iter_values(rows.iter().copied());
    let pick = |column: &ArrayRef| take(column, &indices, None).map_err(copy_failed);
    Ok(Batch { columns: batch.columns.iter().map(pick).collect::<Result<_, _>>()?, rows: rows.len() })
}
