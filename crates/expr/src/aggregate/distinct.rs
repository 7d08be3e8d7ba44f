//! DISTINCT in an aggregate: finds the rows whose arguments are new to their group.
//!
//! It keeps the arguments that groups have had. When memory runs out, the caller *closes* it: known arguments stay
//! known, and rows with others are left out. The caller keeps those rows and passes them again after the known
//! arguments are forgotten.

use arrow_array::{ArrayRef, UInt32Array};
use arrow_select::take::take;

use super::{EncodedKeys, Groups, KeyBuffer, KeyEncoder, KeyTable};
use crate::{Datum, Expr};
use leafline_types::error::MysqlError;

/// The arguments that groups have had.
#[derive(Debug)]
pub(super) struct Distinct {
    encoder: KeyEncoder,
    keys: EncodedKeys,
    /// Keys of a group's number and the arguments.
    seen: KeyTable,
    closed: bool,
    /// The rows of the last batch that were left out, and their keys.
    left_out: (Vec<u32>, KeyBuffer),
}

/// Some rows of a batch, and their groups.
pub(super) struct FirstSeen {
    pub groups: Vec<u32>,
    rows: UInt32Array,
}

impl FirstSeen {
    /// Returns their places in the batch.
    pub(super) fn rows(&self) -> Vec<u32> {
        self.rows.values().to_vec()
    }

    /// Selects these rows of a column.
    pub(super) fn take(&self, array: &ArrayRef) -> Result<ArrayRef, MysqlError> {
        take(array, &self.rows, None).map_err(MysqlError::internal)
    }
}

impl Distinct {
    pub(super) fn new(args: &[Expr]) -> Self {
        Distinct {
            encoder: KeyEncoder::new(args.iter().map(|a| &a.ty)),
            keys: EncodedKeys::default(),
            seen: KeyTable::default(),
            closed: false,
            left_out: Default::default(),
        }
    }

    /// Returns the rows without NULL whose arguments are new to their group.
    pub(super) fn first_seen(
        &mut self,
        groups: Groups<'_>,
        rows: usize,
        args: &[Datum],
    ) -> Result<FirstSeen, MysqlError> {
        self.encoder.encode(args, rows, &mut self.keys)?;
        self.left_out.0.clear();
        self.left_out.1.clear();
        let (mut fresh_groups, mut fresh_rows) = (Vec::new(), Vec::new());
        let mut entry = Vec::new();
        for row in 0..rows {
            if self.keys.has_null(row) {
                continue;
            }
            let group = groups.of(row) as u32;
            entry.clear();
            entry.extend_from_slice(&group.to_ne_bytes());
            entry.extend_from_slice(self.keys.get(row));
            if self.closed {
                if self.seen.find(&entry).is_none() {
                    self.left_out.0.push(row as u32);
                    self.left_out.1.push(&entry);
                }
                continue;
            }
            let known = self.seen.len();
            if self.seen.find_or_insert(&entry) as usize == known {
                fresh_groups.push(group);
                fresh_rows.push(row as u32);
            }
        }
        Ok(FirstSeen { groups: fresh_groups, rows: fresh_rows.into() })
    }

    /// Adds no further arguments to the known ones.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Returns the rows of the last batch that were left out, each with its key, which equal arguments of a group
    /// share.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let (rows, keys) = &self.left_out;
        rows.iter().enumerate().map(|(at, row)| (*row, keys.get(at)))
    }

    /// Forgets all arguments.
    pub(super) fn clear(&mut self) {
        self.seen = KeyTable::default();
        self.closed = false;
    }

    pub(super) fn memory(&self) -> usize {
        self.seen.memory_bytes()
    }
}
