//! DISTINCT in an aggregate: which rows bring arguments that their group has not had.

use std::collections::HashSet;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_select::take::take;

use super::{EncodedKeys, Groups, KeyEncoder};
use crate::error::MysqlError;
use crate::expr::{Datum, Expr};

/// The arguments that groups have had.
#[derive(Debug)]
pub(super) struct Distinct {
    encoder: KeyEncoder,
    keys: EncodedKeys,
    /// The group's number and the key.
    seen: HashSet<Box<[u8]>>,
    bytes: usize,
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
            seen: HashSet::new(),
            bytes: 0,
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
            if !self.seen.contains(entry.as_slice()) {
                self.bytes += entry.len();
                self.seen.insert(entry.as_slice().into());
                fresh_groups.push(group);
                fresh_rows.push(row as u32);
            }
        }
        Ok(FirstSeen { groups: fresh_groups, rows: fresh_rows.into() })
    }

    pub(super) fn clear(&mut self) {
        self.seen = HashSet::new();
        self.bytes = 0;
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes + self.seen.capacity() * (size_of::<Box<[u8]>>() + 1)
    }
}
