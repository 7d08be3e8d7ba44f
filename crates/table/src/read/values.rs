//! Overflow values, as a view sees them.

use super::{LocatorBatch, ReadView};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::index::words_entry::{TextsOutside, texts_outside};
use crate::overflow;
use crate::overflow::{checked, part_key, part_of_payload, parts};
use arrow_array::ArrayRef;
use leafline_types::memory::server;
use leafline_types::{DecodedRows, OverflowRef, RowBlock, SqlType};
use std::collections::BTreeMap;
use std::sync::Arc;

impl ReadView {
    /// Completes the decoded columns of rows of `table` with their overflow values. The caller holds no latch.
    ///
    /// # Errors
    /// `Corrupt` if an overflow value does not match its reference; errors of the store.
    pub fn complete(&self, table: &TableDef, rows: DecodedRows) -> Result<Vec<ArrayRef>> {
        rows.finish(|missing| {
            let references: Vec<OverflowRef> = missing.iter().map(|missing| missing.reference).collect();
            self.overflow_values(table, &references)
        })
    }

    /// Puts the overflow values of rows of `table` into a block of these rows, whose columns have these types. The
    /// caller holds no latch.
    ///
    /// # Errors
    /// The errors of [`complete`](Self::complete).
    pub fn complete_block(&self, table: &TableDef, rows: &mut RowBlock, types: &[SqlType]) -> Result<()> {
        if rows.missing().is_empty() {
            return Ok(());
        }
        let references: Vec<OverflowRef> = rows.missing().iter().map(|missing| missing.reference).collect();
        let values = self.overflow_values(table, &references)?;
        Ok(rows.complete(&values, types)?)
    }

    /// Reads the texts of a row of `table` that some indexes are derived from and that are stored outside it. The caller holds no
    /// latch.
    pub(crate) fn texts_outside(
        &self,
        table: &TableDef,
        indexes: &[Arc<IndexDef>],
        payload: &[u8],
    ) -> Result<TextsOutside> {
        texts_outside(table, indexes, payload, |reference| {
            let mut values = self.overflow_values(table, std::slice::from_ref(reference))?;
            values.pop().ok_or_else(|| TableError::Internal("a value was not fetched".into()))
        })
    }

    /// Reads overflow values of `table`, in the order of their numbers.
    ///
    /// # Errors
    /// The errors of [`complete`](Self::complete).
    pub fn overflow_values(&self, table: &TableDef, references: &[OverflowRef]) -> Result<Vec<Vec<u8>>> {
        // Twice the size, because each value is copied into a column.
        let bytes: usize = references.iter().map(|reference| reference.len as usize).sum();
        server::ask(bytes.saturating_mul(2))?;
        let overflow = overflow::overflow_table(&self.core, table)?;
        let mut values: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut wanted = LocatorBatch::default();
        let mut ids = Vec::new();
        let by_id: BTreeMap<u64, &OverflowRef> =
            references.iter().map(|reference| (reference.id, reference)).collect();
        for (id, reference) in &by_id {
            values.insert(*id, Vec::with_capacity(reference.len as usize));
            for part in 0..parts(&self.core.limits, reference) {
                wanted.push(&part_key(&overflow, *id, part)?);
                ids.push(*id);
            }
        }
        let mut error = None;
        self.fetch(&overflow, &wanted, &mut |number, row| {
            let (Some(row), Some(value)) = (row, ids.get(number).and_then(|id| values.get_mut(id))) else {
                return;
            };
            match part_of_payload(&overflow, row.payload) {
                Ok(bytes) => value.extend_from_slice(bytes),
                Err(failed) => error = Some(failed),
            }
        })?;
        error.map_or(Ok(()), Err)?;
        let is_once = by_id.len() == references.len();
        let value_of = |reference: &OverflowRef| {
            let value = match is_once {
                true => values.remove(&reference.id),
                false => values.get(&reference.id).cloned(),
            };
            checked(reference, value.ok_or_else(|| TableError::Internal("a value was not fetched".into()))?)
        };
        references.iter().map(value_of).collect()
    }
}
