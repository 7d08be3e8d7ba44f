//! Rows that were fetched in the order of the table, handed on in that of the index.

use crate::error::Result;
use crate::params::{BATCH_BYTES, BATCH_ROWS};
use crate::run::row_fetch::Fetched;
use arrow_array::Array;
use arrow_select::interleave::interleave;
use leafline_types::{Batch, MysqlError};

/// Rows as they were fetched.
#[derive(Default)]
pub(crate) struct FetchedBatches {
    parts: Vec<Fetched>,
    bytes: usize,
    examined: usize,
}

impl FetchedBatches {
    /// Adds rows that were fetched.
    pub fn add(&mut self, fetched: Fetched) {
        self.examined += fetched.examined;
        self.bytes +=
            fetched.batch.columns.iter().map(|column| column.get_array_memory_size()).sum::<usize>();
        self.parts.push(fetched);
    }

    /// How many locators have been looked up.
    pub fn examined(&self) -> usize {
        self.examined
    }

    /// There is no room for more.
    pub fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES
    }

    /// All of them, by the positions of their locators.
    pub fn in_order(self) -> InOrder {
        let rows = |(part, fetched): (usize, &Fetched)| {
            let rows = fetched.positions.iter().enumerate();
            rows.map(move |(row, position)| (*position, part, row)).collect::<Vec<_>>()
        };
        let mut order: Vec<(u32, usize, usize)> = self.parts.iter().enumerate().flat_map(rows).collect();
        let is_sorted = order.is_sorted();
        order.sort_unstable();
        InOrder { parts: self.parts, is_sorted, order, next: 0 }
    }
}

/// Fetched rows, and the order they are handed on in.
pub(crate) struct InOrder {
    parts: Vec<Fetched>,
    /// The parts follow each other in this order, and so do their rows.
    is_sorted: bool,
    /// Position of the locator, part, row.
    order: Vec<(u32, usize, usize)>,
    next: usize,
}

impl InOrder {
    /// The next rows and the positions of their locators; `None` when there are no more.
    pub fn next(&mut self) -> Result<Option<(Batch, Vec<u32>)>> {
        if self.is_sorted {
            let part = self.parts.get_mut(self.next).map(std::mem::take);
            self.next += 1;
            return Ok(part.map(|Fetched { batch, positions, .. }| (batch, positions)));
        }
        let end = self.order.len().min(self.next + BATCH_ROWS);
        let picked = &self.order[self.next..end];
        self.next = end;
        if picked.is_empty() {
            return Ok(None);
        }
        let places: Vec<(usize, usize)> = picked.iter().map(|(_, part, row)| (*part, *row)).collect();
        let width = self.parts[0].batch.columns.len();
        let column = |column: usize| {
            let parts: Vec<&dyn Array> = self
                .parts
                .iter()
                .filter_map(|part| part.batch.columns.get(column).map(AsRef::as_ref))
                .collect();
            interleave(&parts, &places).map_err(MysqlError::internal)
        };
        let columns = (0..width).map(column).collect::<std::result::Result<_, _>>()?;
        let positions: Vec<u32> = picked.iter().map(|(position, _, _)| *position).collect();
        Ok(Some((Batch { columns, rows: positions.len() }, positions)))
    }
}
