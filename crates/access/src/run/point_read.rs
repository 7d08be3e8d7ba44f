//! Reads the few rows of one key range without operators: a row by its key, or the rows of a value.
//!
//! A [`PointRead`] goes from the values of the parameters to a key, and from index entries to rows as values. It evaluates no
//! expression, makes no columns, and keeps its buffers from one execution to the next. It delivers all rows at once, or says
//! that a [`PathScan`](crate::PathScan) has to read them: a scan evaluates conditions, and fetches many rows in few sweeps.

use crate::counters::Counters;
use crate::error::{AccessError, Result};
use crate::params::{POINT_READ_BYTES, POINT_READ_ENTRIES};
use crate::path::{AccessPath, ScanOrder};
use crate::run::leap_scan::{count_entries, count_entry};
use leafline_invariant::invariant;
use leafline_table::{
    Direction, EntryRef, EntrySlice, EntryStep, EntryVisitor, LocatorBatch, ReadView, RowDecoder, RowRef,
    SliceBound, entry_decoder, locator_of, row_decoder,
};
use leafline_types::key::prefix_successor;
use leafline_types::{CancelToken, RowBlock, Value, extend_short};
use std::sync::Arc;

/// A reader of the few rows of a path, with its buffers. It can be used again.
pub struct PointRead {
    path: Arc<AccessPath>,
    /// Decodes entries on a covering path, rows otherwise.
    decoder: RowDecoder,
    /// The values of the bounds.
    values: Vec<Value>,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    /// The range may have many entries: they are taken a slice at a time.
    by_slices: bool,
    key: Vec<u8>,
    locator: Vec<u8>,
    locators: LocatorBatch,
}

/// The target that the values of the bounds lead to.
enum Target {
    Nothing,
    /// The row under the key `lower`.
    Row,
    /// The entries from `lower` to `upper`.
    Range,
}

impl PointRead {
    /// Makes a reader of the delivered columns at `output` of a path that is [simple enough](AccessPath::is_point_readable).
    ///
    /// # Errors
    /// If the definition of the table is damaged.
    pub fn new(path: &Arc<AccessPath>, output: &[usize]) -> Result<PointRead> {
        invariant!(path.is_point_readable(), "a point read of a path that needs a scan");
        let columns: Vec<usize> = output.iter().map(|at| path.columns[..path.delivered][*at]).collect();
        let decoder = match path.fetches() {
            true => row_decoder(&path.table, &columns)?,
            false => entry_decoder(&path.index, &columns)?,
        };
        Ok(PointRead {
            path: path.clone(),
            decoder,
            values: Vec::new(),
            lower: Vec::new(),
            upper: None,
            by_slices: false,
            key: Vec::new(),
            locator: Vec::new(),
            locators: LocatorBatch::default(),
        })
    }

    /// Reads the first `most` rows for these values of the parameters, or all if there are fewer. False if a scan has to read them;
    /// then `rows` are of no use, and nothing was counted.
    ///
    /// # Errors
    /// The errors of reading the table; 1317 and 3024 if the statement is to end.
    pub fn read(
        &mut self,
        parameters: &[Value],
        most: usize,
        view: &ReadView,
        cancel: &CancelToken,
        counters: &mut Counters,
        rows: &mut RowBlock,
    ) -> Result<bool> {
        rows.clear(self.decoder.types().len());
        cancel.check()?;
        if most == 0 {
            return Ok(true);
        }
        match self.target(parameters) {
            None => Ok(false),
            Some(Target::Nothing) => Ok(true),
            Some(Target::Row) => {
                counters.handler_read_key += 1;
                self.row(view, rows)?;
                view.complete_block(&self.path.table, rows, self.decoder.types())?;
                Ok(true)
            }
            Some(Target::Range) => self.range(most, view, cancel, counters, rows),
        }
    }

    /// Computes the bounds from the values. `None` if they are not one exact range.
    fn target(&mut self, parameters: &[Value]) -> Option<Target> {
        let constraint = &self.path.constraint;
        self.values.clear();
        for value in constraint.values() {
            self.values.push(value.known(parameters)?.clone());
        }
        match constraint.equal_key(&self.values, &mut self.lower) {
            Some(false) => return Some(Target::Nothing),
            Some(true) if self.path.is_clustered() && self.path.is_unique_lookup() => {
                let whole = constraint.used_parts() == self.path.index.key_parts.len();
                return whole.then_some(Target::Row);
            }
            Some(true) => {
                self.upper = prefix_successor(&self.lower);
                self.by_slices = self.lower.is_empty();
                return Some(Target::Range);
            }
            None => {}
        }
        let mut bounds = constraint.instantiate(&self.values);
        if !bounds.exact || bounds.has_key_filter() {
            return None;
        }
        match (bounds.ranges.pop(), bounds.ranges.is_empty()) {
            (None, _) => Some(Target::Nothing),
            (Some(range), true) => {
                let whole = range.equal.parts == self.path.index.key_parts.len();
                (self.lower, self.upper) = (range.lower, range.upper);
                if whole && self.path.is_clustered() && self.path.is_unique_lookup() {
                    return Some(Target::Row);
                }
                self.by_slices = true;
                Some(Target::Range)
            }
            (Some(_), false) => None,
        }
    }

    /// Reads the row under the key `lower`.
    fn row(&self, view: &ReadView, rows: &mut RowBlock) -> Result<()> {
        let decoder = &self.decoder;
        view.row(&self.path.table, &self.lower, |row| {
            row.map_or(Ok(()), |row| decoder.append_row(row.key, row.payload, rows))
        })?
        .map_err(AccessError::Codec)
    }

    fn range(
        &mut self,
        most: usize,
        view: &ReadView,
        cancel: &CancelToken,
        counters: &mut Counters,
        rows: &mut RowBlock,
    ) -> Result<bool> {
        let path = self.path.clone();
        let fetches = path.fetches();
        let mut cursor = view.entries(&path.table, &path.index)?;
        let mut taker = RowCollector {
            path: &path,
            decoder: &self.decoder,
            reads_keys: fetches || self.decoder.reads_keys(),
            lower: &self.lower,
            upper: self.upper.as_deref(),
            by_slices: self.by_slices,
            most,
            examined: 0,
            is_over: false,
            is_large: false,
            error: None,
            key: &mut self.key,
            locator: &mut self.locator,
            locators: &mut self.locators,
            rows,
        };
        taker.locators.clear();
        let direction = taker.direction();
        cursor.read_only_in(&[(taker.lower, taker.upper)])?;
        match direction {
            Direction::Forward => cursor.seek(taker.lower),
            Direction::Reverse => cursor.seek_before(taker.upper),
        }
        let mut visits = 0;
        while cursor.visit_with(direction, &mut taker)? {
            cancel.check()?;
            visits += 1;
            if visits == 1 {
                cursor.read_ahead(direction, taker.lower, taker.upper);
            }
        }
        let (examined, is_short) = (taker.examined, taker.is_short());
        if let Some(error) = taker.error {
            return Err(error);
        }
        if !is_short {
            return Ok(false);
        }
        if fetches {
            self.fetch(view, rows)?;
        } else {
            view.complete_block(&path.table, rows, self.decoder.types())?;
        }
        counters.leafline_covering_lookups += cursor.take_rows_visited();
        counters.leafline_read_ahead_pages += cursor.pages_ahead();
        count_entry(&path, direction, counters);
        count_entries(&path, (true, examined < most), examined as u64, direction, counters);
        if fetches {
            counters.leafline_rows_fetched += rows.rows() as u64;
            if self.locators.len() > 1 {
                counters.handler_read_rnd += rows.rows() as u64;
            }
        }
        Ok(true)
    }

    /// Fetches the rows of the locators, in the order of the entries.
    fn fetch(&mut self, view: &ReadView, rows: &mut RowBlock) -> Result<()> {
        let (table, decoder) = (&self.path.table, &self.decoder);
        if self.locators.len() == 1 {
            self.lower.clear();
            self.lower.extend_from_slice(self.locators.get(0));
            self.row(view, rows)?;
            return Ok(view.complete_block(table, rows, decoder.types())?);
        }
        let order = self.locators.sort();
        let mut places = Vec::with_capacity(order.len());
        let mut error = None;
        let mut deliver = |number: usize, row: Option<RowRef<'_>>| {
            let (Some(row), None) = (row, &error) else { return };
            match decoder.append_row(row.key, row.payload, rows) {
                Ok(()) => places.extend(order.get(number)),
                Err(failed) => error = Some(failed),
            }
        };
        view.fetch(table, &self.locators, &mut deliver)?;
        error.map_or(Ok(()), |error| Err(AccessError::Codec(error)))?;
        view.complete_block(table, rows, decoder.types())?;
        if self.path.order != ScanOrder::Any {
            rows.sort_by(&places);
        }
        Ok(())
    }
}

/// Takes the entries of a range, under the latches of their leaves.
struct RowCollector<'s> {
    path: &'s AccessPath,
    decoder: &'s RowDecoder,
    reads_keys: bool,
    lower: &'s [u8],
    upper: Option<&'s [u8]>,
    /// Entries are taken a slice at a time.
    by_slices: bool,
    /// Number of entries that are wanted.
    most: usize,
    examined: usize,
    /// An entry beyond the range was seen.
    is_over: bool,
    /// The rows have more than [`POINT_READ_BYTES`].
    is_large: bool,
    error: Option<AccessError>,
    key: &'s mut Vec<u8>,
    locator: &'s mut Vec<u8>,
    locators: &'s mut LocatorBatch,
    rows: &'s mut RowBlock,
}

impl RowCollector<'_> {
    fn direction(&self) -> Direction {
        match self.path.order {
            ScanOrder::Any | ScanOrder::Forward => Direction::Forward,
            ScanOrder::Reverse => Direction::Reverse,
        }
    }

    /// Returns whether all wanted entries were taken, and they were few.
    fn is_short(&self) -> bool {
        !self.is_large && (self.is_over || self.examined == self.most || self.examined < POINT_READ_ENTRIES)
    }

    fn take(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        self.examined += 1;
        if self.path.fetches() {
            locator_of(&self.path.index, key, self.locator)?;
            self.locators.push(self.locator);
            return Ok(());
        }
        self.decoder.append_row(key, payload, self.rows).map_err(AccessError::Codec)
    }

    /// Returns how to go on after entries were taken. The visit stops at the last wanted entry: the next one may be on another page.
    fn after(&mut self, taken: Result<()>) -> EntryStep {
        if let Err(error) = taken {
            self.error = Some(error);
            return EntryStep::Stop;
        }
        self.is_large = self.rows.string_bytes() > POINT_READ_BYTES;
        if self.examined == self.most || self.is_large { EntryStep::Stop } else { EntryStep::Next }
    }
}

impl EntryVisitor for RowCollector<'_> {
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        self.is_over = match self.direction() {
            Direction::Forward => self.upper.is_some_and(|upper| entry.key >= upper),
            Direction::Reverse => entry.key < self.lower,
        };
        if self.is_over || self.examined == POINT_READ_ENTRIES {
            return EntryStep::Stop;
        }
        let taken = self.take(entry.key, entry.payload);
        self.after(taken)
    }

    fn slice_bound(&self) -> Option<SliceBound<'_>> {
        let entries =
            self.most.min(POINT_READ_ENTRIES).checked_sub(self.examined).filter(|left| *left > 0)?;
        let until = match self.direction() {
            Direction::Forward => self.upper,
            Direction::Reverse => Some(self.lower).filter(|lower| !lower.is_empty()),
        };
        self.by_slices.then_some(SliceBound { entries, until, counted: false })
    }

    fn visit_slice(&mut self, slice: &EntrySlice<'_>) -> EntryStep {
        let mut key = std::mem::take(self.key);
        let taken = slice.entries.iter().try_for_each(|(suffix, payload)| {
            if self.reads_keys {
                key.clear();
                key.extend_from_slice(slice.prefix);
                extend_short(&mut key, suffix);
            }
            self.take(&key, payload)
        });
        *self.key = key;
        self.after(taken)
    }
}
