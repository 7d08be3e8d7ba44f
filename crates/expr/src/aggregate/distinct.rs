//! DISTINCT in an aggregate: which rows bring arguments that their group has not had.
//!
//! The arguments that groups have had are kept. When there is no more room, they are *closed*: those known stay known, and rows with
//! others are left out, for whoever has closed them to bring them again when the known ones are forgotten.

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
    /// The group's number and the key.
    seen: KeyTable,
    closed: bool,
    /// The rows of the last batch that were left out, and their keys.
    left_out: (Vec<u32>, KeyBuffer),
}

/// Rows of a batch, and their groups.
pub(super) struct FirstSeen {
    pub groups: Vec<u32>,
    rows: UInt32Array,
}

impl FirstSeen {
    /// Their places in the batch.
    pub(super) fn rows(&self) -> Vec<u32> {
        self.rows.values().to_vec()
    }

    /// These rows of a column.
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

    /// The rows without NULL whose arguments are new to their group.
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

    /// From now on no arguments are added to those known.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The rows of the last batch that were left out, with a key that equal ones have.
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
