//! Writes and reads overflow values as part of a transaction.
//!
//! The lock on a row covers the overflow values it refers to: their parts are written without locks of their own.

use super::Transaction;
use super::unique::{CommittedRow, check_clustered};
use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::clustered_entry;
use crate::mvcc::RegisteredSnapshot;
use crate::overflow;
use crate::overflow::{
    NewRow, bytes_outside, joined, part_key, part_of_payload, part_rows, parts, values_of_row,
};
use crate::write_set::{NOW, State, WriteSet};
use leafline_types::Value;
use parking_lot::RwLock;
use std::sync::Arc;

/// Everything that a transaction searches to find the current state of a row.
pub(super) struct CurrentRows<'a> {
    pub(super) core: &'a Core,
    pub(super) snapshot: &'a RegisteredSnapshot,
    pub(super) writes: &'a RwLock<WriteSet>,
}

impl CurrentRows<'_> {
    /// The row under a clustered key: as the transaction wrote it, or as it was committed last.
    fn payload(&self, table: &TableDef, key: &[u8]) -> Result<State> {
        if let Some(state) = self.writes.read().row(table.id, key, NOW)? {
            return Ok(state);
        }
        Ok(match check_clustered(self.core, table, key, self.snapshot)? {
            CommittedRow::Present(payload) | CommittedRow::PresentUnseen(payload) => Some(payload),
            CommittedRow::Absent | CommittedRow::DeletedUnseen => None,
        })
    }

    /// The values of a locked row.
    pub(super) fn values(&self, table: &TableDef, key: &[u8], payload: &[u8]) -> Result<Vec<Value>> {
        values_of_row(table, (key, payload), |reference| {
            let overflow = overflow::overflow_table(self.core, table)?;
            joined(&overflow, &self.core.limits, reference, |key, value| {
                if let Some(payload) = self.payload(&overflow, key)? {
                    value.extend_from_slice(part_of_payload(&overflow, &payload)?);
                }
                Ok(())
            })
        })
    }
}

impl Transaction {
    /// The values of a locked row.
    pub(super) fn present_values(
        &mut self,
        table: &TableDef,
        key: &[u8],
        payload: &[u8],
    ) -> Result<Vec<Value>> {
        let snapshot = self.snapshot();
        CurrentRows { core: &self.core, snapshot: &snapshot, writes: &self.writes }
            .values(table, key, payload)
    }

    /// The current payload of a row of a table with overflow values.
    pub(super) fn present_payload(&mut self, table: &TableDef, key: &[u8]) -> Result<Arc<[u8]>> {
        let snapshot = self.snapshot();
        let current = CurrentRows { core: &self.core, snapshot: &snapshot, writes: &self.writes };
        let payload = current.payload(table, key)?;
        payload.ok_or_else(|| TableError::Internal("a row that is locked is not there".into()))
    }

    /// Replaces a row with another one, together with their overflow values.
    pub(super) fn put_row_at(
        &mut self,
        table: &Arc<TableDef>,
        key: &[u8],
        before: State,
        after: Option<(&NewRow, &[Value])>,
    ) -> Result<()> {
        let payload: State = after.map(|(new, _)| new.entry.payload.as_slice().into());
        self.put(table, key, before.clone(), payload)?;
        if table.overflow.is_none() {
            return Ok(());
        }
        self.delete_values(table, before.as_deref(), after.map(|(new, _)| new.entry.payload.as_slice()))?;
        if let Some((new, row)) = after {
            self.put_values(table, new, row)?;
        }
        Ok(())
    }

    fn put_values(&mut self, table: &TableDef, new: &NewRow, row: &[Value]) -> Result<()> {
        if new.values.is_empty() {
            return Ok(());
        }
        let overflow = overflow::overflow_table(&self.core, table)?;
        let limits = self.core.limits;
        for (column, id) in &new.values {
            let bytes = bytes_outside(row, *column);
            for part in part_rows(&limits, *id, bytes) {
                let entry = clustered_entry(&overflow, &part, 0)?;
                self.put(&overflow, &entry.key, None, Some(entry.payload.into()))?;
            }
        }
        Ok(())
    }

    /// Deletes the overflow values that only the old row refers to.
    pub(super) fn delete_values(
        &mut self,
        table: &TableDef,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<()> {
        let format = &table.clustered().format;
        let outside = |payload: Option<&[u8]>| payload.map_or(Ok(Vec::new()), |row| format.overflow(row));
        let (before, after) = (outside(before)?, outside(after)?);
        for (_, reference) in before {
            if after.iter().any(|(_, kept)| kept.id == reference.id) {
                continue;
            }
            let overflow = overflow::overflow_table(&self.core, table)?;
            for part in 0..parts(&self.core.limits, &reference) {
                let key = part_key(&overflow, reference.id, part)?;
                let payload = self.present_payload(&overflow, &key)?;
                self.put(&overflow, &key, Some(payload), None)?;
            }
        }
        Ok(())
    }
}
