//! Converts the rows of an old table for the tables that store the new one.
//!
//! The rows are those of a view: nobody changes them meanwhile, or changes are applied afterwards (`super::rebuilt_rows`).
//! They come in the order of their keys. A heap may request another order; rows that come later are placed after
//! them.

use super::Rebuild;
use super::row_numbers::{AssignedNumbers, NumberMap, NumberMapWriter, Numbering};
use crate::build::{BuildControl, SeenRow, SnapshotSource};
use crate::catalog::{IndexPart, IndexSpecPart, TableDef, key_part};
use crate::error::{Result, TableError};
use crate::index::entry::row_id_of;
use crate::partition::Targets;
use crate::read::ReadView;
use crate::run::{EntrySource, Sorter};
use leafline_types::{MysqlError, encode_part};
use std::sync::Arc;

/// A running conversion.
pub(super) struct Conversion<'a, 'r, 'e> {
    pub(super) numbering: Numbering<'a>,
    pub(super) rebuild: &'a mut Rebuild<'r>,
    pub(super) view: &'a ReadView,
    pub(super) control: &'a BuildControl,
    pub(super) targets: &'a mut Targets<'e>,
    /// Whether rows keep their hidden row ids.
    pub(super) keeps_row_ids: bool,
    /// Records the numbers that rows are given.
    pub(super) given: Option<&'a mut NumberMap<'e>>,
}

impl Conversion<'_, '_, '_> {
    /// Converts the rows of `old`.
    ///
    /// # Errors
    /// Errors of the converter and of the store; 1317.
    pub(super) fn run(&mut self, old: &Arc<TableDef>) -> Result<()> {
        old.stored().try_for_each(|stored| self.table(stored))
    }

    fn table(&mut self, old: &Arc<TableDef>) -> Result<()> {
        let keeps_order = self.rebuild.order.is_empty() || !self.numbering.table.has_hidden_row_id();
        let mut given = match &mut self.given {
            Some(given) => Some(given.begin(keeps_order)?),
            None => None,
        };
        match keeps_order {
            true => {
                let mut rows = SnapshotSource::new(self.view, old)?;
                while let Some((key, payload)) = rows.next()? {
                    self.row(old, (key, payload), &mut given)?;
                }
            }
            false => self.in_order(old, &mut given)?,
        }
        match (&mut self.given, given) {
            (Some(all), Some(of_table)) => all.end(of_table, &self.control.cancel),
            _ => Ok(()),
        }
    }

    /// Converts rows in the requested order.
    fn in_order(&mut self, old: &Arc<TableDef>, given: &mut Option<NumberMapWriter>) -> Result<()> {
        let order = order_parts(old, &self.rebuild.order)?;
        let mut sorter = Sorter::new(&self.numbering.core.env, self.control.memory_bytes);
        let mut position = 0u64;
        let mut rows = SnapshotSource::new(self.view, old)?;
        while let Some((key, payload)) = rows.next()? {
            self.control.cancel.check()?;
            let row = SeenRow { view: self.view, key, payload }.values(old)?;
            let mut place = Vec::new();
            for part in &order {
                if let (Some(column), Some(value)) = (old.columns.get(part.column), row.get(part.column)) {
                    encode_part(&key_part(column, part), value, &mut place)?;
                }
            }
            place.extend_from_slice(&position.to_be_bytes());
            let mut entry = (key.len() as u32).to_le_bytes().to_vec();
            entry.extend_from_slice(key);
            entry.extend_from_slice(payload);
            sorter.push(&place, &entry)?;
            position += 1;
        }
        let mut sorted = sorter.finish()?;
        while let Some((_, entry)) = sorted.next()? {
            let damaged = || TableError::Internal("a sorted row is not as it was".into());
            let (len, entry) = entry.split_first_chunk::<4>().ok_or_else(damaged)?;
            let split = entry.split_at_checked(u32::from_le_bytes(*len) as usize);
            self.row(old, split.ok_or_else(damaged)?, given)?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        old: &TableDef,
        (key, payload): (&[u8], &[u8]),
        given: &mut Option<NumberMapWriter>,
    ) -> Result<()> {
        let row = SeenRow { view: self.view, key, payload }.values(old)?;
        let mut row = self.rebuild.converter.convert(row)?;
        let number = self.numbering.number(&mut row, 0);
        let row_id = self.targets.push(&row, self.keeps_row_ids.then(|| row_id_of(key)).transpose()?)?;
        if let Some(given) = given {
            given.push(key, AssignedNumbers { row_id, number })?;
        }
        self.control.progress.add(1);
        Ok(())
    }
}

fn order_parts(table: &TableDef, order: &[IndexSpecPart]) -> Result<Vec<IndexPart>> {
    let part = |part: &IndexSpecPart| match table.column(&part.column) {
        Some(column) => Ok(IndexPart { column, descending: part.descending, prefix: None }),
        None => Err(MysqlError::unknown_column(&part.column, "order clause").into()),
    };
    order.iter().map(part).collect()
}
