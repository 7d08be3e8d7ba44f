//! Rows by locator: many at a time, in the order of the clustered index, whose missing leaves are read in one batch
//! (multi-range read); or one by one.

use crate::error::{AccessError, Result};
use crate::params::BATCH_BYTES;
use crate::path::AccessPath;
use crate::run::context::ScanContext;
use crate::run::locators::Locators;
use leafline_table::{LocatorBatch, RowDecoder, RowRef, row_decoder};
use leafline_types::{Batch, DecodedRows};
use std::cell::Cell;

/// Fetches rows of one table.
pub(crate) struct RowFetch {
    decoder: RowDecoder,
    /// How many columns it decodes.
    width: usize,
}

/// Fetched rows.
#[derive(Default)]
pub(crate) struct Fetched {
    /// The columns, one row per locator that still has a row, in the order of the positions asked for.
    pub batch: Batch,
    /// Per row of the batch, the position of its locator.
    pub positions: Vec<u32>,
    /// How many of the positions asked for were looked up: fewer than all if their rows have large values.
    pub examined: usize,
}

impl RowFetch {
    /// Decodes `columns`, the first of the path's.
    pub fn new(path: &AccessPath, columns: &[usize]) -> Result<RowFetch> {
        Ok(RowFetch { decoder: row_decoder(&path.table, columns)?, width: columns.len() })
    }

    /// Whether it decodes so many columns.
    pub fn decodes(&self, columns: usize) -> bool {
        self.width >= columns
    }

    /// The rows of some locators, whose positions are given in the order of these; or, where the path does not fetch in batches, in
    /// any. They are counted where it is for an index that they are fetched.
    pub fn fetch(
        &self,
        path: &AccessPath,
        locators: &Locators,
        positions: &[u32],
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Fetched> {
        let mut wanted = LocatorBatch::default();
        // Several entries may name one row: it is looked up once and delivered for each.
        let mut shared: Vec<usize> = Vec::with_capacity(positions.len());
        let mut last: Option<&[u8]> = None;
        for (at, position) in positions.iter().enumerate() {
            let locator = locators.get(*position as usize);
            if last != Some(locator) {
                wanted.push(locator);
                shared.push(at);
                last = Some(locator);
            }
        }
        let mut decoded = DecodedRows::new(&self.decoder, positions.len());
        let mut delivered = Vec::with_capacity(positions.len());
        let mut error = None;
        let examined = Cell::new(positions.len());
        let mut row = |number: usize, row: Option<RowRef<'_>>| {
            let (Some(row), None) = (row, &error) else { return };
            let start = shared[number];
            let end = shared.get(number + 1).copied().unwrap_or(positions.len());
            if decoded.missing_bytes() >= BATCH_BYTES {
                examined.set(examined.get().min(start));
                return;
            }
            for position in &positions[start..end] {
                if let Err(failed) = decoded.push(&self.decoder, row.key, row.payload) {
                    error = Some(failed);
                    return;
                }
                delivered.push(*position);
            }
        };
        if path.batched {
            cx.view.fetch(&path.table, &wanted, &mut row)?;
        } else {
            let mut alone = LocatorBatch::new();
            for at in 0..wanted.len() {
                if examined.get() < positions.len() {
                    break;
                }
                alone.clear();
                alone.push(wanted.get(at));
                cx.view.fetch(&path.table, &alone, &mut |_, found| row(at, found))?;
            }
        }
        if let Some(error) = error {
            return Err(AccessError::Codec(error));
        }
        if path.fetches() {
            let rows = delivered.len() as u64;
            cx.counters.leafline_rows_fetched += rows;
            if path.batched && positions.len() > 1 {
                cx.counters.handler_read_rnd += rows;
            }
        }
        let columns = cx.view.complete(&path.table, decoded)?;
        Ok(Fetched {
            batch: Batch { columns, rows: delivered.len() },
            positions: delivered,
            examined: examined.get(),
        })
    }
}
