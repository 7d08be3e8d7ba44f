//! Writing and reading the values that are stored outside their rows, as part of a transaction.
//!
//! Whoever changes a row has it locked, and with it the values that it refers to: their parts are written without locks.

use super::unique::{Probe, check_clustered};
use super::write_set::{NOW, State, WriteSet};
use super::{RegisteredSnapshot, Transaction};
use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::clustered_entry;
use crate::overflow;
use crate::overflow::{
    NewRow, bytes_outside, joined, part_key, part_of_payload, part_rows, parts, values_of_row,
};
use leafline_types::Value;
use parking_lot::RwLock;
use std::sync::Arc;

/// What a transaction looks through to see a row as it is now.
pub(super) struct Present<'a> {
    pub(super) core: &'a Core,
    pub(super) snapshot: &'a RegisteredSnapshot,
    pub(super) writes: &'a RwLock<WriteSet>,
}

impl Present<'_> {
    /// The row under a clustered key: as the transaction wrote it, or as it was committed last.
    fn payload(&self, table: &TableDef, key: &[u8]) -> Result<State> {
        if let Some(state) = self.writes.read().row(table.id, key, NOW)? {
            return Ok(state);
        }
        Ok(match check_clustered(self.core, table, key, self.snapshot)? {
            Probe::Present(payload) | Probe::PresentUnseen(payload) => Some(payload),
            Probe::Absent | Probe::DeletedUnseen => None,
        })
    }

    /// The values of a row that is locked.
    pub(super) fn values(&self, table: &TableDef, key: &[u8], payload: &[u8]) -> Result<Vec<Value>> {
        values_of_row(table, (key, payload), |reference| {
            let overflow = overflow::overflow_table(&self.core, table)?;
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
    /// The values of a row that is locked.
    pub(super) fn present_values(
        &mut self,
        table: &TableDef,
        key: &[u8],
        payload: &[u8],
    ) -> Result<Vec<Value>> {
        let snapshot = self.snapshot();
        Present { core: &self.core, snapshot: &snapshot, writes: &self.writes }.values(table, key, payload)
    }

    /// A row of a table some of whose values are outside their rows, as it is now.
    pub(super) fn present_payload(&mut self, table: &TableDef, key: &[u8]) -> Result<Arc<[u8]>> {
        let snapshot = self.snapshot();
        let present = Present { core: &self.core, snapshot: &snapshot, writes: &self.writes };
        let payload = present.payload(table, key)?;
        payload.ok_or_else(|| TableError::Internal("a row that is locked is not there".into()))
    }

    /// Puts a row in the place of another one, with the values outside them.
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

    /// Deletes what only the row as it was refers to.
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
