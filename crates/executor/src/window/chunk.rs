//! A chunk of a window's input: whole partitions, except that the first may continue one of the preceding chunk, and the last may
//! continue in the next.
//!
//! The rows of a chunk are numbered from 0 and come in blocks, which are in memory only while they are used. A chunk that fits
//! into memory is one block. Any other chunk is in a file: then it is no more than one partition, and only the blocks read last
//! are in memory. A reader holds its current block in a [`Cursor`] of its own.

use super::place::{Place, places};
use crate::params::{MAX_WINDOW_BLOCKS, MIN_WINDOW_BLOCKS, WINDOW_BLOCK_BYTES, WINDOW_BLOCKS_PART};
use crate::spill::{SpillFile, SpilledBlock};
use crate::{ExecutionContext, batch_bytes};
use arrow_array::ArrayRef;
use leafline_planner::window::Reach;
use leafline_types::memory::MemoryBudget;
use leafline_types::statement::CancelToken;
use leafline_types::{Batch, MysqlError, SqlType};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The rows at which partitions and peer groups begin.
#[derive(Default)]
pub(super) struct Starts {
    partitions: Vec<bool>,
    /// For each row, whether a peer group begins there; a partition begins one too.
    peers: Vec<bool>,
}

impl Starts {
    pub fn add(&mut self, partitions: &[bool], peers: &[bool]) {
        self.partitions.extend_from_slice(partitions);
        self.peers.extend(partitions.iter().zip(peers).map(|(partition, peer)| *partition || *peer));
    }

    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.partitions.capacity() + self.peers.capacity()
    }

    /// Returns how many of the first rows can be computed when each needs `reach`.
    pub fn known(&self, reach: Reach) -> usize {
        let last_start = |starts: &[bool]| starts.iter().rposition(|start| *start).unwrap_or(0);
        match reach {
            Reach::Row => self.len(),
            Reach::Peers => last_start(&self.peers),
            Reach::Partition => last_start(&self.partitions),
        }
    }

    pub fn take_first(&mut self, rows: usize) -> Starts {
        let partitions = self.partitions.split_off(rows);
        let peers = self.peers.split_off(rows);
        std::mem::replace(self, Starts { partitions, peers })
    }

    /// Whether the first row continues a partition.
    pub fn go_on(&self) -> bool {
        self.partitions.first() == Some(&false)
    }

    /// Returns for each row whether a peer group begins there.
    pub fn peers(&self) -> &[bool] {
        &self.peers
    }
}

/// Rows that are in memory together.
pub(super) struct Block {
    rows: Range<usize>,
    bytes: usize,
    columns: Vec<ArrayRef>,
    starts: Starts,
    /// For columns that frames compare: the values on their scale.
    places: Vec<OnceLock<Vec<Option<Place>>>>,
}

impl Block {
    pub fn new(first: usize, batch: Batch, starts: Starts) -> Block {
        let places = batch.columns.iter().map(|_| OnceLock::new()).collect();
        let bytes = batch_bytes(&batch);
        Block { rows: first..first + batch.rows, bytes, columns: batch.columns, starts, places }
    }

    /// Returns the range of row numbers.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    pub fn column(&self, column: usize) -> Result<&ArrayRef, MysqlError> {
        self.columns.get(column).ok_or_else(|| MysqlError::internal("a column that a window does not have"))
    }

    /// Returns the values of a column of this type, on the scale of their order.
    pub fn places(&self, column: usize, ty: &SqlType) -> Result<&[Option<Place>], MysqlError> {
        let values = self.column(column)?;
        match self.places.get(column) {
            Some(known) => Ok(known.get_or_init(|| places(values, ty))),
            None => Ok(&[]),
        }
    }

    pub fn starts_partition(&self, row: usize) -> bool {
        self.starts.partitions.get(row - self.rows.start).copied().unwrap_or(true)
    }

    pub fn starts_peers(&self, row: usize) -> bool {
        self.starts.peers.get(row - self.rows.start).copied().unwrap_or(true)
    }

    /// Returns the runs of rows of one partition each.
    pub fn partitions(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut next = self.rows.start;
        std::iter::from_fn(move || {
            let start = next;
            next = next_start(&self.starts.partitions, self.rows.clone(), start + 1);
            (start < self.rows.end).then_some(start..next)
        })
    }
}

/// Returns the first start from row `from` on, or the end of the rows.
fn next_start(starts: &[bool], rows: Range<usize>, from: usize) -> usize {
    let later = starts.get(from - rows.start..).unwrap_or_default();
    later.iter().position(|start| *start).map_or(rows.end, |at| from + at)
}

/// Rows that are computed together.
pub(super) enum Chunk {
    Memory(Arc<Block>),
    File(FileChunk),
}

/// Rows of one partition, in a file.
pub(super) struct FileChunk {
    file: SpillFile,
    rows: usize,
    /// The first row continues a partition.
    goes_on: bool,
    /// All rows are peers.
    all_peers: bool,
    /// The blocks read last, the latest first.
    recent: VecDeque<Arc<Block>>,
    most_recent: usize,
    /// Maximum bytes of these blocks, except the latest.
    most_bytes: usize,
    cancel: CancelToken,
}

impl FileChunk {
    pub fn new(file: SpillFile, goes_on: bool, all_peers: bool, cx: &ExecutionContext<'_>) -> FileChunk {
        FileChunk {
            rows: file.rows() as usize,
            file,
            goes_on,
            all_peers,
            recent: VecDeque::new(),
            most_recent: most_blocks(cx.memory),
            most_bytes: cx.memory.limit() / WINDOW_BLOCKS_PART,
            cancel: cx.eval.cancel.clone(),
        }
    }

    /// Returns the bytes that the chunk may hold in memory.
    pub fn memory_bytes(&self) -> usize {
        self.file.index_bytes() + self.most_recent * WINDOW_BLOCK_BYTES
    }

    fn block(&mut self, row: usize) -> Result<Arc<Block>, MysqlError> {
        if let Some(at) = self.recent.iter().position(|block| block.rows.contains(&row))
            && let Some(block) = self.recent.remove(at)
        {
            self.recent.push_front(block.clone());
            return Ok(block);
        }
        self.cancel.check()?;
        let SpilledBlock { first, batch, marks } = self.file.around(row as u64)?;
        let mut partitions = vec![false; batch.rows];
        if let (0, false, Some(start)) = (first, self.goes_on, partitions.first_mut()) {
            *start = true;
        }
        let block = Arc::new(Block::new(first as usize, batch, Starts { partitions, peers: marks }));
        if !block.rows.contains(&row) {
            return Err(MysqlError::internal("a row that its file does not have"));
        }
        self.recent.truncate(self.most_recent.saturating_sub(1));
        let mut bytes = block.bytes;
        // Blocks of long values are larger than others.
        let kept = self.recent.iter().take_while(|recent| {
            bytes += recent.bytes;
            bytes <= self.most_bytes
        });
        let kept = kept.count();
        self.recent.truncate(kept);
        self.recent.push_front(block.clone());
        Ok(block)
    }
}

fn most_blocks(memory: &MemoryBudget) -> usize {
    (memory.limit() / WINDOW_BLOCKS_PART / WINDOW_BLOCK_BYTES).clamp(MIN_WINDOW_BLOCKS, MAX_WINDOW_BLOCKS)
}

impl Chunk {
    pub fn rows(&self) -> usize {
        match self {
            Chunk::Memory(block) => block.rows.end,
            Chunk::File(file) => file.rows,
        }
    }

    /// Returns the block of a row.
    pub fn block(&mut self, row: usize) -> Result<Arc<Block>, MysqlError> {
        match self {
            Chunk::Memory(block) => Ok(block.clone()),
            Chunk::File(file) => file.block(row),
        }
    }
}

/// The current block of a reader that goes through the rows.
#[derive(Default)]
pub(super) struct Cursor {
    block: Option<Arc<Block>>,
}

impl Cursor {
    /// Moves to the block of a row of the chunk.
    pub fn at(&mut self, row: usize, chunk: &mut Chunk) -> Result<&Arc<Block>, MysqlError> {
        let block = match self.block.take().filter(|block| block.rows.contains(&row)) {
            Some(block) => block,
            None => chunk.block(row)?,
        };
        Ok(self.block.insert(block))
    }
}

/// Finds the partitions and the peers of rows that are asked for in order.
#[derive(Default)]
pub(super) struct PartitionAndPeers {
    partition: Range<usize>,
    peers: Range<usize>,
    cursor: Cursor,
}

impl PartitionAndPeers {
    /// Returns the rows of a row's partition, as far as they are in the chunk.
    pub fn partition(&mut self, row: usize, chunk: &mut Chunk) -> Result<Range<usize>, MysqlError> {
        if row >= self.partition.end {
            let end = match chunk {
                Chunk::File(file) => file.rows,
                Chunk::Memory(block) => next_start(&block.starts.partitions, block.rows(), row + 1),
            };
            self.partition = row..end;
        }
        Ok(self.partition.clone())
    }

    /// Returns the peers of a row in its partition.
    pub fn peers(&mut self, row: usize, chunk: &mut Chunk) -> Result<Range<usize>, MysqlError> {
        if row < self.peers.end {
            return Ok(self.peers.clone());
        }
        let mut end = match chunk {
            Chunk::File(FileChunk { all_peers: true, rows, .. }) => *rows,
            _ => row + 1,
        };
        while end < chunk.rows() {
            let block = self.cursor.at(end, chunk)?;
            let start = next_start(&block.starts.peers, block.rows(), end);
            end = start;
            if start < block.rows.end {
                break;
            }
        }
        self.peers = row..end;
        Ok(self.peers.clone())
    }
}
