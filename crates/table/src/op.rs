//! Operations: the changes of a commit to trees, and their form in its record.
//!
//! A commit's record contains every operation in full: the tree, the key, and the new contents. Nothing that is
//! applied again after a crash is derived from a page, because the pages may already contain any part of the commit.
//!
//! # Records
//! Integers are little-endian; `short` ones have seven bits a byte, the lowest first, and all but the last byte have the highest bit set;
//! `bytes` is a short length and that many bytes.
//!
//! Commit (kind 1):
//!
//! | field        | type                                                                                     |
//! |--------------|------------------------------------------------------------------------------------------|
//! | format       | u8, 3                                                                                     |
//! | ts           | u64                                                                                       |
//! | next object  | u64: numbers from here on were never used for a database, table or index                  |
//! | counters     | u32 count, each: table u64, rows i64 (change), next row id u64, next AUTO_INCREMENT u64   |
//! | operations   | u32 count, each: tag u8, then by tag                                                      |
//! | 1 put row    | table short, tree short, key bytes, payload bytes                                         |
//! | 2 delete row | table short, tree short, key bytes                                                       |
//! | 3 put entry  | tree short, key bytes, payload bytes                                                      |
//! | 4 drop entry | tree short, key bytes                                                                     |
//!
//! End (kind 2): format u8 (3), ts u64. It says that everything in the commit's record is on the pages, as far as the
//! log goes.
//!
//! A commit with too many operations for one record stores them in a file: see [`crate::op_run`].

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::TableId;
use crate::error::Result;
use leafline_btree::CommitTs;
use leafline_storage::SegmentId;

/// The kind of a commit record.
pub(crate) const COMMIT_RECORD: u8 = 1;
/// The kind of an end record.
pub(crate) const END_RECORD: u8 = 2;
const FORMAT: u8 = 3;

/// The size of an end record in bytes.
pub(crate) const END_RECORD_BYTES: usize = 9;

/// One change of one tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Puts a row with this payload.
    PutRow { table: TableId, tree: SegmentId, key: Vec<u8>, payload: Vec<u8> },
    /// Deletes a row.
    DeleteRow { table: TableId, tree: SegmentId, key: Vec<u8> },
    /// Puts an entry of a secondary index with this payload.
    PutEntry { tree: SegmentId, key: Vec<u8>, payload: Vec<u8> },
    /// Deletes an entry of a secondary index.
    DropEntry { tree: SegmentId, key: Vec<u8> },
}

impl Op {
    /// The tree it changes.
    pub(crate) fn tree(&self) -> SegmentId {
        match self {
            Op::PutRow { tree, .. }
            | Op::DeleteRow { tree, .. }
            | Op::PutEntry { tree, .. }
            | Op::DropEntry { tree, .. } => *tree,
        }
    }

    /// The key it changes.
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Op::PutRow { key, .. }
            | Op::DeleteRow { key, .. }
            | Op::PutEntry { key, .. }
            | Op::DropEntry { key, .. } => key,
        }
    }

    /// The length of the new payload in bytes.
    pub(crate) fn payload_len(&self) -> usize {
        match self {
            Op::PutRow { payload, .. } | Op::PutEntry { payload, .. } => payload.len(),
            Op::DeleteRow { .. } | Op::DropEntry { .. } => 0,
        }
    }

    /// The maximum size of the operation in a record, in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        // A tag, two numbers, two lengths.
        31 + self.key().len() + self.payload_len()
    }

    pub(crate) fn encode(&self, out: &mut ByteWriter) {
        match self {
            Op::PutRow { table, tree, key, payload } => {
                out.u8(1).short(table.0).short(tree.0).short_bytes(key).short_bytes(payload);
            }
            Op::DeleteRow { table, tree, key } => {
                out.u8(2).short(table.0).short(tree.0).short_bytes(key);
            }
            Op::PutEntry { tree, key, payload } => {
                out.u8(3).short(tree.0).short_bytes(key).short_bytes(payload);
            }
            Op::DropEntry { tree, key } => {
                out.u8(4).short(tree.0).short_bytes(key);
            }
        }
    }

    pub(crate) fn decode(from: &mut ByteReader<'_>) -> Result<Op> {
        Ok(match from.u8()? {
            1 => Op::PutRow {
                table: TableId(from.short()?),
                tree: SegmentId(from.short()?),
                key: from.short_bytes()?.to_vec(),
                payload: from.short_bytes()?.to_vec(),
            },
            2 => Op::DeleteRow {
                table: TableId(from.short()?),
                tree: SegmentId(from.short()?),
                key: from.short_bytes()?.to_vec(),
            },
            3 => Op::PutEntry {
                tree: SegmentId(from.short()?),
                key: from.short_bytes()?.to_vec(),
                payload: from.short_bytes()?.to_vec(),
            },
            4 => Op::DropEntry { tree: SegmentId(from.short()?), key: from.short_bytes()?.to_vec() },
            tag => return Err(from.damaged(format!("operation tag {tag}"))),
        })
    }
}

/// The change that a commit makes to the counters of one table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CounterChange {
    pub(crate) table: TableId,
    /// The change of the number of rows.
    pub(crate) rows: i64,
    /// The first unused row id.
    pub(crate) next_row_id: u64,
    /// The first unused AUTO_INCREMENT value.
    pub(crate) next_auto_increment: u64,
}

/// The size of a [`CounterChange`] in a record, in bytes.
pub(crate) const COUNTER_BYTES: usize = 32;

pub(crate) fn encode_counters(counters: &[CounterChange], out: &mut ByteWriter) {
    out.u32(counters.len() as u32);
    for counter in counters {
        out.u64(counter.table.0).i64(counter.rows).u64(counter.next_row_id).u64(counter.next_auto_increment);
    }
}

pub(crate) fn decode_counters(from: &mut ByteReader<'_>) -> Result<Vec<CounterChange>> {
    let mut counters = Vec::new();
    for _ in 0..from.u32()? {
        counters.push(CounterChange {
            table: TableId(from.u64()?),
            rows: from.i64()?,
            next_row_id: from.u64()?,
            next_auto_increment: from.u64()?,
        });
    }
    Ok(counters)
}

/// The contents of a commit record.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct CommitRecord {
    pub(crate) ts: CommitTs,
    pub(crate) next_object: u64,
    pub(crate) counters: Vec<CounterChange>,
    pub(crate) ops: Vec<Op>,
}

impl CommitRecord {
    /// The maximum size of the record in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        25 + self.counters.len() * COUNTER_BYTES + self.ops.iter().map(Op::encoded_len).sum::<usize>()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::with_capacity(self.encoded_len());
        out.u8(FORMAT).u64(self.ts.0).u64(self.next_object);
        encode_counters(&self.counters, &mut out);
        out.u32(self.ops.len() as u32);
        for op in &self.ops {
            op.encode(&mut out);
        }
        out.finish()
    }

    /// Puts the timestamp into an encoded record of this kind, or of a commit by reference. The timestamp is known
    /// only together with the record's place in the log.
    pub(crate) fn set_ts(payload: &mut [u8], ts: CommitTs) {
        if let Some(place) = payload.get_mut(1..9) {
            place.copy_from_slice(&ts.0.to_le_bytes());
        }
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<CommitRecord> {
        let mut from = ByteReader::new("commit record", payload);
        from.format(FORMAT)?;
        let (ts, next_object) = (CommitTs(from.u64()?), from.u64()?);
        let counters = decode_counters(&mut from)?;
        let mut ops = Vec::new();
        for _ in 0..from.u32()? {
            ops.push(Op::decode(&mut from)?);
        }
        from.end()?;
        Ok(CommitRecord { ts, next_object, counters, ops })
    }
}

/// Encodes an end record.
pub(crate) fn encode_end(ts: CommitTs) -> Vec<u8> {
    let mut out = ByteWriter::with_capacity(END_RECORD_BYTES);
    out.u8(FORMAT).u64(ts.0);
    out.finish()
}

/// Decodes an end record: the commit that it ends.
pub(crate) fn decode_end(payload: &[u8]) -> Result<CommitTs> {
    let mut from = ByteReader::new("end record", payload);
    from.format(FORMAT)?;
    let ts = CommitTs(from.u64()?);
    from.end()?;
    Ok(ts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> CommitRecord {
        let (table, tree) = (TableId(3), SegmentId(4));
        CommitRecord {
            ts: CommitTs(77),
            next_object: 9,
            counters: vec![CounterChange { table, rows: -2, next_row_id: 5, next_auto_increment: 6 }],
            ops: vec![
                Op::PutRow { table, tree, key: b"a".into(), payload: b"xyz".into() },
                Op::DeleteRow { table, tree, key: b"b".into() },
                Op::PutEntry { tree, key: b"c".into(), payload: Vec::new() },
                Op::DropEntry { tree, key: Vec::new() },
            ],
        }
    }

    #[test]
    fn records_survive_encoding() {
        let record = record();
        let mut bytes = CommitRecord { ts: CommitTs(0), ..record.clone() }.encode();
        CommitRecord::set_ts(&mut bytes, record.ts);
        assert!(bytes.len() <= record.encoded_len());
        assert_eq!(CommitRecord::decode(&bytes).unwrap(), record);
        assert_eq!(decode_end(&encode_end(CommitTs(5))).unwrap(), CommitTs(5));
        assert_eq!(encode_end(CommitTs(5)).len(), END_RECORD_BYTES);
    }

    #[test]
    fn every_cut_of_a_record_is_an_error() {
        let bytes = record().encode();
        for length in 0..bytes.len() {
            assert!(CommitRecord::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(CommitRecord::decode(&longer).is_err());
    }
}
