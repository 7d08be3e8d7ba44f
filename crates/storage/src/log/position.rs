//! The mapping of LSNs to places in the log files.
//!
//! | encoded bytes | field |
//! |---|---|
//! | 0..8 | sequence number of the file |
//! | 8..16 | byte offset of a batch in it |
//! | 16..24 | LSN of the first group wanted, in that batch or later |

use crate::device::BLOCK;
use crate::ids::Lsn;
use std::collections::VecDeque;

/// The place where a reader starts: a batch, and the LSN of the first group wanted, in that batch or a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogPosition {
    /// Sequence number of the file, `wal/<sequence>.log`.
    pub sequence: u64,
    /// Byte offset of a batch in the file.
    pub offset: u64,
    /// LSN of the first group wanted. It is the start of a group.
    pub lsn: Lsn,
}

impl LogPosition {
    /// Bytes of the encoded form.
    pub const ENCODED: usize = 24;

    /// Returns the encoded form, as in the table above.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::ENCODED] {
        let mut out = [0; Self::ENCODED];
        out[..8].copy_from_slice(&self.sequence.to_le_bytes());
        out[8..16].copy_from_slice(&self.offset.to_le_bytes());
        out[16..].copy_from_slice(&self.lsn.0.to_le_bytes());
        out
    }

    /// Reads the encoded form.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::ENCODED]) -> LogPosition {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        LogPosition { sequence: word(0), offset: word(8), lsn: Lsn(word(16)) }
    }
}

/// A place where a batch begins: the first batch of a file, or one some way after the last mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    /// LSN of the batch's first byte.
    pub start: Lsn,
    pub sequence: u64,
    pub offset: u64,
    /// Bytes of file before the mark, counted from an arbitrary origin: the difference of two marks is the bytes between them.
    pub at: u64,
}

/// The marks of the files in use, in order. They map LSNs to places sparsely.
#[derive(Clone, Default, Debug)]
pub(super) struct Marks(VecDeque<Mark>);

impl Marks {
    /// Adds marks after the others.
    pub fn extend(&mut self, marks: Vec<Mark>) {
        marks.into_iter().for_each(|mark| self.push(mark));
    }

    /// Returns the place to start reading at for `lsn`, which is durable.
    pub fn find(&self, lsn: Lsn) -> Option<Mark> {
        // A batch that only starts at `lsn` need not be durable. The first batch of a file is an exception: the header of the file stands in for it.
        let usable = |mark: &&Mark| mark.start < lsn || mark.start == lsn && mark.offset == BLOCK as u64;
        let end = self.0.partition_point(|mark| mark.start <= lsn);
        self.0.iter().take(end).rev().find(usable).copied()
    }

    /// Returns the last mark at or before `lsn`.
    pub fn last_before(&self, lsn: Lsn) -> Option<Mark> {
        let end = self.0.partition_point(|mark| mark.start <= lsn);
        end.checked_sub(1).and_then(|last| self.0.get(last)).copied()
    }

    /// Returns the first mark at or after the byte `at`.
    pub fn first_after(&self, at: u64) -> Option<Mark> {
        self.0.get(self.0.partition_point(|mark| mark.at < at)).copied()
    }

    /// Adds a mark after the others. Removes marks of later LSNs first: recovery has dropped the part of the log that they are of.
    pub fn push(&mut self, mark: Mark) {
        while self.0.back().is_some_and(|last| last.start > mark.start) {
            self.0.pop_back();
        }
        self.0.push_back(mark);
    }

    /// Returns the offset of the last mark in its file.
    pub fn last_offset(&self) -> Option<u64> {
        self.0.back().map(|mark| mark.offset)
    }

    /// Removes the marks of files before `sequence`.
    pub fn remove_before(&mut self, sequence: u64) {
        while self.0.front().is_some_and(|mark| mark.sequence < sequence) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_encoded_and_read_back() {
        let position = LogPosition { sequence: 3, offset: 1 << 40, lsn: Lsn(u64::MAX - 1) };
        assert_eq!(LogPosition::decode(&position.encode()), position);
    }

    #[test]
    fn a_reader_starts_at_a_batch_that_is_durable_whenever_its_lsn_is() {
        let block = BLOCK as u64;
        let mark = |start, sequence, offset| Mark { start: Lsn(start), sequence, offset, at: start };
        let mut marks = Marks::default();
        marks.extend(vec![
            mark(10, 1, block),
            mark(20, 1, 4 * block),
            mark(30, 2, block),
            mark(30, 3, block),
        ]);
        assert_eq!(marks.find(Lsn(9)), None);
        assert_eq!(marks.find(Lsn(10)), Some(mark(10, 1, block)));
        assert_eq!(marks.find(Lsn(20)), Some(mark(10, 1, block)), "the batch at 20 may be lost");
        assert_eq!(marks.find(Lsn(21)), Some(mark(20, 1, 4 * block)));
        assert_eq!(marks.find(Lsn(31)), Some(mark(30, 3, block)));
        marks.remove_before(2);
        assert_eq!(marks.last_before(Lsn(29)), None);
        assert_eq!(marks.first_after(0), Some(mark(30, 2, block)));
    }
}
