//! The operations of a large commit, in a file: `commits/<number>`.
//!
//! The file is a run (see [`crate::run`]) with an entry for each operation, ascending by tree and key. It is durable
//! before the commit record that names it is appended, and is removed once the end record is durable. When the
//! database is opened, files that no commit in doubt names are removed.
//!
//! | part of an entry | bytes |
//! |---|---|
//! | key | tree u64 big-endian, key |
//! | payload | tag u8 as in the commit record; table u64 (tags 1 and 2); payload (tags 1 and 3) |
//!
//! # Records
//! Integers are little-endian.
//!
//! | field | type, in the record of a commit by reference (kind 3) | in a progress record (kind 4) |
//! |-------------|------------------------------------------------|-------------------------------------------------|
//! | format      | u8, 1                                          | u8, 1                                           |
//! | ts          | u64                                            | u64                                             |
//! | run         | number u64, bytes of the file u64              | the same                                        |
//! | next object | u64                                            |                                                 |
//! | counters    | as in a commit record                          |                                                 |
//! | position    |                                                | offset of a block u64, entries in it u32        |
//!
//! A progress record says that the operations before its position are on the pages, as far as the log goes. From then
//! on it replaces the commit's own record: recovery needs nothing of the log before it.

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::op::{COUNTER_BYTES, CounterChange, Op, decode_counters, encode_counters};
use crate::run::{RunFile, RunWriter, io_error};
use leafline_btree::CommitTs;
use leafline_storage::device::{AlignedBuf, BLOCK};
use leafline_storage::{Env, GROUP_OVERHEAD, SegmentId};
use std::sync::Arc;

/// The kind of the record of a commit by reference.
pub(crate) const REFERENCE_RECORD: u8 = 3;
/// The kind of a progress record.
pub(crate) const PROGRESS_RECORD: u8 = 4;
const FORMAT: u8 = 1;
/// The log bytes of a progress record, or of an end record.
pub(crate) const PROGRESS_LOG_BYTES: usize = 37 + GROUP_OVERHEAD;

/// The directory of the files.
pub(crate) const DIRECTORY: &str = "commits";

/// The name of a run of operations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RunName {
    pub(crate) number: u64,
    /// The size of the file in bytes.
    pub(crate) bytes: u64,
}

/// A position in a run of operations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RunPosition {
    /// The offset of a block in the file.
    pub(crate) block: u64,
    /// The number of the block's entries before the position.
    pub(crate) entries: u32,
}

/// The record of a commit by reference.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct ReferenceRecord {
    pub(crate) ts: CommitTs,
    pub(crate) run: RunName,
    pub(crate) next_object: u64,
    pub(crate) counters: Vec<CounterChange>,
}

impl ReferenceRecord {
    /// The size of the record in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        37 + self.counters.len() * COUNTER_BYTES
    }

    /// Encodes the record. The timestamp can be set later: [`CommitRecord::set_ts`](crate::op::CommitRecord::set_ts).
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::with_capacity(self.encoded_len());
        out.u8(FORMAT).u64(self.ts.0).u64(self.run.number).u64(self.run.bytes).u64(self.next_object);
        encode_counters(&self.counters, &mut out);
        out.finish()
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<ReferenceRecord> {
        let mut from = ByteReader::new("record of a commit by reference", payload);
        from.format(FORMAT)?;
        let ts = CommitTs(from.u64()?);
        let run = RunName { number: from.u64()?, bytes: from.u64()? };
        let next_object = from.u64()?;
        let counters = decode_counters(&mut from)?;
        from.end()?;
        Ok(ReferenceRecord { ts, run, next_object, counters })
    }
}

/// The progress of a commit by reference.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ProgressRecord {
    pub(crate) ts: CommitTs,
    pub(crate) run: RunName,
    /// The operations before this position are applied.
    pub(crate) position: RunPosition,
}

impl ProgressRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).u64(self.ts.0).u64(self.run.number).u64(self.run.bytes);
        out.u64(self.position.block).u32(self.position.entries);
        out.finish()
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<ProgressRecord> {
        let mut from = ByteReader::new("progress record", payload);
        from.format(FORMAT)?;
        let ts = CommitTs(from.u64()?);
        let run = RunName { number: from.u64()?, bytes: from.u64()? };
        let position = RunPosition { block: from.u64()?, entries: from.u32()? };
        from.end()?;
        Ok(ProgressRecord { ts, run, position })
    }
}

impl Op {
    /// Encodes the operation as an entry of a run.
    pub(crate) fn to_entry(&self, key: &mut Vec<u8>, entry: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&self.tree().0.to_be_bytes());
        key.extend_from_slice(self.key());
        entry.clear();
        match self {
            Op::PutRow { table, payload, .. } => {
                entry.push(1);
                entry.extend_from_slice(&table.0.to_le_bytes());
                entry.extend_from_slice(payload);
            }
            Op::DeleteRow { table, .. } => {
                entry.push(2);
                entry.extend_from_slice(&table.0.to_le_bytes());
            }
            Op::PutEntry { payload, .. } => {
                entry.push(3);
                entry.extend_from_slice(payload);
            }
            Op::DropEntry { .. } => entry.push(4),
        }
    }

    /// Decodes the operation of an entry of a run.
    pub(crate) fn from_entry(key: &[u8], entry: &[u8]) -> Result<Op> {
        let damaged = || TableError::Corrupt("an operation in a run is malformed".into());
        let (tree, key) = key.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (tree, key) = (SegmentId(u64::from_be_bytes(*tree)), key.to_vec());
        let (tag, rest) = entry.split_first().ok_or_else(damaged)?;
        let with_table = || -> Result<(TableId, &[u8])> {
            let (table, payload) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            Ok((TableId(u64::from_le_bytes(*table)), payload))
        };
        Ok(match tag {
            1 => {
                let (table, payload) = with_table()?;
                Op::PutRow { table, tree, key, payload: payload.to_vec() }
            }
            2 => Op::DeleteRow { table: with_table()?.0, tree, key },
            3 => Op::PutEntry { tree, key, payload: rest.to_vec() },
            4 => Op::DropEntry { tree, key },
            _ => return Err(damaged()),
        })
    }
}

fn file_name(number: u64) -> String {
    format!("{DIRECTORY}/{number}")
}

/// A run of operations.
pub(crate) struct OpRun {
    file: RunFile,
    number: u64,
}

impl OpRun {
    /// Makes a writer of a new run; `number` was never used before.
    pub(crate) fn create(env: &Arc<dyn Env>, number: u64) -> Result<RunWriter> {
        let new = !env.exists(DIRECTORY).map_err(|error| io_error("look for", DIRECTORY, error))?;
        let writer = RunWriter::create_in(env, DIRECTORY, file_name(number), number)?;
        if new {
            env.sync_dir("").map_err(|error| io_error("sync", ".", error))?;
        }
        Ok(writer)
    }

    /// Takes a run that was written.
    pub(crate) fn new(file: RunFile, number: u64) -> OpRun {
        OpRun { file, number }
    }

    /// Opens a run that the log names.
    pub(crate) fn open(env: &Arc<dyn Env>, name: RunName) -> Result<OpRun> {
        let file = RunFile::open(env, file_name(name.number), name.number, name.bytes)?;
        Ok(OpRun { file, number: name.number })
    }

    pub(crate) fn name(&self) -> RunName {
        RunName { number: self.number, bytes: self.file.bytes() }
    }

    /// Makes the run durable. From here on it stays until [`remove`](Self::remove).
    pub(crate) fn keep(&mut self) -> Result<()> {
        self.file.make_durable()?;
        self.file.keep();
        Ok(())
    }

    /// Removes the run, which nobody will ask for any more.
    pub(crate) fn remove(self, env: &dyn Env) {
        drop(self.file);
        remove_run(env, self.number);
    }

    /// Reads the run from a position on.
    pub(crate) fn read_from(&self, position: RunPosition) -> OpReader<'_> {
        OpReader {
            file: &self.file,
            buffer: AlignedBuf::zeroed(BLOCK),
            next: position.block,
            skip: position.entries,
        }
    }
}

/// Removes a run that nobody will ask for any more.
pub(crate) fn remove_run(env: &dyn Env, number: u64) {
    // If this fails, the next open removes the file.
    let _ = env.remove(&file_name(number));
}

/// Removes the existing runs for which `needed` returns false. No commit may be in doubt.
pub(crate) fn remove_leftovers(env: &dyn Env, needed: &dyn Fn(u64) -> bool) -> Result<()> {
    let failed = |error| io_error("clear", DIRECTORY, error);
    if !env.exists(DIRECTORY).map_err(failed)? {
        return Ok(());
    }
    for name in env.list(DIRECTORY).map_err(failed)? {
        if name.parse().is_ok_and(|run| !needed(run)) {
            env.remove(&format!("{DIRECTORY}/{name}")).map_err(failed)?;
        }
    }
    Ok(())
}

/// Reads a run of operations, one block at a time.
pub(crate) struct OpReader<'a> {
    file: &'a RunFile,
    buffer: AlignedBuf,
    next: u64,
    skip: u32,
}

/// Consecutive operations.
pub(crate) struct OpBlock {
    pub(crate) ops: Vec<Op>,
    /// The position of the first operation.
    pub(crate) first: RunPosition,
}

impl OpReader<'_> {
    /// The operations of the next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<OpBlock>> {
        let Some(mut block) = self.file.read_block(self.next, &mut self.buffer)? else { return Ok(None) };
        let first = RunPosition { block: self.next, entries: std::mem::take(&mut self.skip) };
        self.next = block.next;
        let mut ops = Vec::new();
        let mut skip = first.entries;
        while let Some((key, payload)) = block.next_entry(&self.buffer)? {
            if skip > 0 {
                skip -= 1;
            } else {
                ops.push(Op::from_entry(key, payload)?);
            }
        }
        Ok(Some(OpBlock { ops, first }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_entries_survive_encoding() {
        let run = RunName { number: 8, bytes: 70_000 };
        let counters =
            vec![CounterChange { table: TableId(3), rows: -2, next_row_id: 5, next_auto_increment: 6 }];
        let record = ReferenceRecord { ts: CommitTs(7), run, next_object: 9, counters };
        let bytes = record.encode();
        assert!(bytes.len() <= record.encoded_len());
        assert_eq!(ReferenceRecord::decode(&bytes).unwrap(), record);
        let progress =
            ProgressRecord { ts: CommitTs(7), run, position: RunPosition { block: 4096, entries: 11 } };
        let progress_bytes = progress.encode();
        assert_eq!(progress_bytes.len() + GROUP_OVERHEAD, PROGRESS_LOG_BYTES);
        assert_eq!(ProgressRecord::decode(&progress_bytes).unwrap(), progress);
        for length in 0..bytes.len() {
            assert!(ReferenceRecord::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
        for length in 0..progress_bytes.len() {
            assert!(ProgressRecord::decode(&progress_bytes[..length]).is_err(), "cut at {length}");
        }
        let (table, tree) = (TableId(3), SegmentId(4));
        let (mut key, mut entry) = (Vec::new(), Vec::new());
        for op in [
            Op::PutRow { table, tree, key: b"a".into(), payload: b"xyz".into() },
            Op::DeleteRow { table, tree, key: b"b".into() },
            Op::PutEntry { tree, key: b"c".into(), payload: Vec::new() },
            Op::DropEntry { tree, key: Vec::new() },
        ] {
            op.to_entry(&mut key, &mut entry);
            assert_eq!(Op::from_entry(&key, &entry).unwrap(), op);
        }
        assert!(Op::from_entry(b"short", &[4]).is_err() && Op::from_entry(&key, &[9]).is_err());
    }
}
