//! Lookup join: finds, for each outer row, the matching rows of a table through an index.
//!
//! The join collects outer rows in batches that grow, so that a LIMIT needs few lookups and a long join sorts many keys at a
//! time. The access path looks up the keys of a batch in index order, evaluates its conditions with the outer row at hand, and
//! returns rows with the number of the outer row that each belongs to. For semi and anti joins the path stops at the first match.

use super::batch_size::{RowBytes, copy_failed};
use super::gather::batch_bytes;
use super::limit::slice;
use super::runtime_filters::RuntimeFilters;
use super::spill::picked;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use crate::params::BATCH_BYTES;
use crate::params::{BATCH_GROWTH, FIRST_OUTER_ROWS, ORDERED_OUTER_ROWS};
use arrow_array::{Array, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat;
use arrow_select::take::take;
use leafline_access::{Demand, JoinType, PathScan, ScanBatch};
use leafline_expr::Selection;
use leafline_planner::plan;
use leafline_planner::plan::locator_type;
use leafline_types::column::arrow_type;
use leafline_types::memory::Held;
use leafline_types::{Batch, MysqlError};
use std::collections::VecDeque;
use std::sync::Arc;

/// Returns the maximum number of outer rows that are looked up at a time.
fn most(inner: &plan::Scan, keep_order: bool) -> usize {
    match (inner.path.batched, keep_order) {
        (false, _) => 1,
        (true, true) => ORDERED_OUTER_ROWS,
        (true, false) => BATCH_ROWS,
    }
}

/// Returns the number of outer rows of the first lookup.
fn first_goal(inner: &plan::Scan, keep_order: bool) -> usize {
    match inner.demand {
        Demand::All => most(inner, keep_order),
        Demand::Unknown | Demand::Rows(_) => FIRST_OUTER_ROWS,
    }
}

pub(super) struct LookupJoin {
    outer: BoxedOperator,
    inner: Arc<plan::Scan>,
    filters: Arc<RuntimeFilters>,
    scan: PathScan,
    /// The scan has its runtime filters.
    narrowed: bool,
    join_type: JoinType,
    keep_order: bool,
    goal: usize,
    /// Outer rows that were read and not joined yet.
    waiting: VecDeque<Batch>,
    waiting_rows: usize,
    /// Bytes of the waiting rows, and of rows joined since the last time that none waited.
    waiting_bytes: usize,
    outer_done: bool,
    current: Option<OuterBatch>,
    ready: VecDeque<Joined>,
    held: Held,
    /// Number of outer rows looked up, and of entries examined for them.
    looked_up: u64,
}

/// Outer rows whose matches are being looked up.
struct OuterBatch {
    outer: Batch,
    bytes: RowBytes,
    matched: Vec<bool>,
}

impl LookupJoin {
    pub fn new(
        outer: BoxedOperator,
        inner: &Arc<plan::Scan>,
        join_type: JoinType,
        keep_order: bool,
        filters: &Arc<RuntimeFilters>,
    ) -> LookupJoin {
        LookupJoin {
            outer,
            inner: inner.clone(),
            filters: filters.clone(),
            scan: PathScan::new(&inner.path),
            narrowed: false,
            join_type,
            keep_order,
            goal: first_goal(inner, keep_order),
            waiting: VecDeque::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            outer_done: false,
            current: None,
            ready: VecDeque::new(),
            held: Held::default(),
            looked_up: 0,
        }
    }

    /// Returns the type of the join, and whether the order of the outer rows is kept.
    pub fn kind(&self) -> (JoinType, bool) {
        (self.join_type, self.keep_order)
    }

    /// Whether the lookups exceed `most` and outer rows remain. The last rows are still looked up if they are fewer than `most`.
    pub fn is_over(&self, most: u64) -> bool {
        let is_end = self.outer_done && (self.waiting_rows as u64) < most;
        self.looked_up > most && self.waiting_rows > 0 && !is_end
    }

    /// Returns the outer rows that were not looked up.
    pub fn rest(mut self, cx: &ExecutionContext<'_>) -> Result<Rest, MysqlError> {
        self.held.set(0, cx.memory)?;
        Ok(Rest { waiting: self.waiting, outer: (!self.outer_done).then_some(self.outer) })
    }

    /// Reads outer rows until `rows` of them wait, or there are no more.
    fn read_outer(&mut self, rows: usize, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let most = BATCH_BYTES.max(cx.memory.share());
        while !self.outer_done
            && self.waiting_rows < rows
            && (self.waiting_rows == 0 || self.waiting_bytes < most)
        {
            match self.outer.next(cx)? {
                Some(batch) => {
                    self.waiting_rows += batch.rows;
                    self.waiting_bytes += batch_bytes(&batch);
                    self.waiting.push_back(batch);
                }
                None => self.outer_done = true,
            }
        }
        Ok(())
    }

    /// Collects the next outer rows to look up, at most `most_rows`.
    fn next_outer(
        &mut self,
        most_rows: u64,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Option<Batch>, MysqlError> {
        let goal = self.goal.min(usize::try_from(most_rows).unwrap_or(usize::MAX)).max(1);
        self.read_outer(goal, cx)?;
        if self.waiting_rows == 0 {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        let mut rows = 0;
        while rows < goal
            && let Some(batch) = self.waiting.pop_front()
        {
            let taken = batch.rows.min(goal - rows);
            if taken < batch.rows {
                self.waiting.push_front(slice(&batch, taken, batch.rows - taken));
            }
            rows += taken;
            pieces.push(slice(&batch, 0, taken));
        }
        self.waiting_rows -= rows;
        if self.waiting_rows == 0 {
            self.waiting_bytes = 0;
        }
        self.goal = (self.goal * BATCH_GROWTH).min(most(&self.inner, self.keep_order));
        joined_pieces(pieces).map(Some)
    }

    fn begin(&mut self, outer: Batch, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        // A single batch is the minimum, so that it is held even without room.
        self.held.fits(batch_bytes(&outer), cx.memory);
        cx.count_loops(&self.inner, outer.rows);
        self.looked_up += outer.rows as u64;
        if !std::mem::replace(&mut self.narrowed, true) {
            let filters = self.filters.of(&self.inner);
            self.scan.narrow(&self.inner.path, filters, self.inner.examined, &mut cx.scan());
        }
        let inner = outer.clone();
        let demand = self.inner.demand;
        let first_only = !self.join_type.delivers_partners();
        let start = |cx: &mut ExecutionContext<'_>| {
            Ok(self.scan.start_for(inner, first_only, demand, &mut cx.scan())?)
        };
        cx.measured(&self.inner, |()| 0, start)?;
        self.current =
            Some(OuterBatch { matched: vec![false; outer.rows], bytes: RowBytes::of(&outer), outer });
        Ok(())
    }

    /// Returns the next rows of the current lookups.
    fn found(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<ScanBatch>, MysqlError> {
        let rows = |found: &Option<ScanBatch>| found.as_ref().map_or(0, |found| found.batch.rows);
        let examined = cx.counters.leafline_entries_examined;
        let found = cx.measured(&self.inner, rows, |cx| Ok(self.scan.next(&mut cx.scan())?))?;
        self.looked_up += cx.counters.leafline_entries_examined.saturating_sub(examined);
        if let (Some(found), Some(current)) = (&found, &mut self.current) {
            for tag in &found.tags {
                if let Some(matched) = current.matched.get_mut(*tag as usize) {
                    *matched = true;
                }
            }
        }
        Ok(found)
    }

    /// Returns the outer rows that have a match or, for an anti join, have none.
    fn kept(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while self.found(cx)?.is_some() {}
        let Some(OuterBatch { outer, matched, .. }) = self.current.take() else { return Ok(None) };
        let wanted = self.join_type == JoinType::Semi;
        let kept = BooleanBuffer::collect_bool(outer.rows, |row| matched[row] == wanted);
        let selection = Selection::from_bits(kept);
        if selection.count() == 0 { Ok(None) } else { selection.apply(&outer).map(Some) }
    }

    /// Collects all rows of the current lookups, in the order of the outer rows.
    fn found_in_order(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let mut pieces = Vec::new();
        let mut tags = Vec::new();
        while let Some(found) = self.found(cx)? {
            tags.extend_from_slice(&found.tags);
            self.held.grow(batch_bytes(&found.batch), cx.memory)?;
            pieces.push(found.batch);
        }
        let Some(current) = self.current.take() else { return Ok(()) };
        if self.join_type == JoinType::LeftOuter {
            let alone = current.alone();
            if !alone.is_empty() {
                pieces.push(self.nulls(alone.len()));
                tags.extend(alone);
            }
        }
        if pieces.is_empty() {
            return Ok(());
        }
        let inner = joined_pieces(pieces)?;
        let mut order: Vec<u32> = (0..tags.len() as u32).collect();
        order.sort_by_key(|row| tags.get(*row as usize).copied());
        let inner_bytes = RowBytes::of(&inner);
        let mut order = order.as_slice();
        while !order.is_empty() {
            let (rows, _) = order.split_at(inner_bytes.first_of(order.iter().map(|row| *row as usize)));
            let mut tags: Vec<u32> = rows.iter().filter_map(|row| tags.get(*row as usize).copied()).collect();
            tags.truncate(current.bytes.first_of(tags.iter().map(|tag| *tag as usize)));
            let (rows, rest) = order.split_at(tags.len());
            order = rest;
            let inner = Inner::Rows(inner.clone(), rows.to_vec());
            self.ready.push_back(Joined { outer: current.outer.clone(), tags, inner });
        }
        Ok(())
    }

    fn nulls(&self, rows: usize) -> Batch {
        let path = &self.inner.path;
        let delivered = path.columns.iter().take(path.delivered);
        let columns = delivered
            .filter_map(|column| path.table.columns.get(*column))
            .map(|column| new_null_array(&arrow_type(&column.ty), rows))
            .chain(path.deliver_locators.then(|| new_null_array(&arrow_type(&locator_type().sql), rows)))
            .collect();
        Batch { columns, rows }
    }
}

/// A batch whose columns are copied when it is asked for, so that long values are copied a batch at a time.
struct Joined {
    outer: Batch,
    /// The outer row of each joined row.
    tags: Vec<u32>,
    inner: Inner,
}

/// The inner rows of such a batch.
enum Inner {
    All(Batch),
    Rows(Batch, Vec<u32>),
}

impl Joined {
    fn batch(self) -> Result<Batch, MysqlError> {
        let inner = match self.inner {
            Inner::All(batch) => batch,
            Inner::Rows(batch, rows) => picked(&batch, &rows)?,
        };
        beside(&self.outer, &self.tags, inner)
    }
}

impl OuterBatch {
    /// Joins outer rows, by number, with inner rows to their right, in batches of limited bytes.
    fn deliver(&self, tags: &[u32], inner: &Batch, ready: &mut VecDeque<Joined>) {
        let mut begin = 0;
        while let Some(rest) = tags.get(begin..).filter(|rest| !rest.is_empty()) {
            let rows = self.bytes.first_of(rest.iter().map(|row| *row as usize));
            let tags = rest[..rows].to_vec();
            let inner = Inner::All(slice(inner, begin, rows));
            ready.push_back(Joined { outer: self.outer.clone(), tags, inner });
            begin += rows;
        }
    }

    /// Returns the outer rows without match.
    fn alone(&self) -> Vec<u32> {
        (0..).zip(&self.matched).filter(|(_, matched)| !**matched).map(|(row, _)| row).collect()
    }
}

impl LookupJoin {
    /// Returns the next rows, until the lookups reach the limit ([`Self::is_over`]).
    pub fn next_within(
        &mut self,
        most: u64,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(joined) = self.ready.pop_front() {
                return joined.batch().map(Some);
            }
            if self.current.is_none() {
                if self.looked_up > most {
                    self.read_outer(1, cx)?;
                }
                if self.is_over(most) {
                    return Ok(None);
                }
                let Some(outer) = self.next_outer(most, cx)? else { return Ok(None) };
                self.begin(outer, cx)?;
            }
            if !self.join_type.delivers_partners() {
                if let Some(kept) = self.kept(cx)? {
                    return Ok(Some(kept));
                }
                continue;
            }
            if self.keep_order {
                self.found_in_order(cx)?;
                continue;
            }
            if let Some(found) = self.found(cx)? {
                let current = self.current.as_ref().expect("rows were found for the present outer rows");
                if !current.bytes.has_long() {
                    return beside(&current.outer, &found.tags, found.batch).map(Some);
                }
                current.deliver(&found.tags, &found.batch, &mut self.ready);
                continue;
            }
            let Some(current) = self.current.take() else { continue };
            if self.join_type == JoinType::LeftOuter {
                let alone = current.alone();
                if !alone.is_empty() {
                    current.deliver(&alone, &self.nulls(alone.len()), &mut self.ready);
                }
            }
        }
    }
}

impl Operator for LookupJoin {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        self.next_within(u64::MAX, cx)
    }

    fn reset(&mut self) -> bool {
        self.goal = first_goal(&self.inner, self.keep_order);
        self.waiting.clear();
        self.waiting_rows = 0;
        self.waiting_bytes = 0;
        self.outer_done = false;
        self.current = None;
        self.ready.clear();
        self.held = Held::default();
        self.looked_up = 0;
        self.scan.reset();
        self.narrowed = false;
        self.outer.reset()
    }
}

/// The outer rows that were not looked up.
pub(super) struct Rest {
    pub waiting: VecDeque<Batch>,
    /// The rows that the outer operator still delivers, if any.
    pub outer: Option<BoxedOperator>,
}

impl Operator for Rest {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        match (self.waiting.pop_front(), &mut self.outer) {
            (Some(batch), _) => Ok(Some(batch)),
            (None, Some(outer)) => outer.next(cx),
            (None, None) => Ok(None),
        }
    }
}

/// Returns outer rows, by number, with inner rows to their right.
pub(super) fn beside(outer: &Batch, tags: &[u32], inner: Batch) -> Result<Batch, MysqlError> {
    let rows = UInt32Array::from_iter_values(tags.iter().copied());
    let mut columns = Vec::with_capacity(outer.columns.len() + inner.columns.len());
    for column in &outer.columns {
        columns.push(take(column, &rows, None).map_err(copy_failed)?);
    }
    columns.extend(inner.columns);
    Ok(Batch { columns, rows: inner.rows })
}

/// Concatenates batches of equal columns.
pub(super) fn joined_pieces(mut pieces: Vec<Batch>) -> Result<Batch, MysqlError> {
    if pieces.len() == 1 {
        return Ok(pieces.swap_remove(0));
    }
    let rows = pieces.iter().map(|piece| piece.rows).sum();
    let width = pieces.first().map_or(0, |piece| piece.columns.len());
    let columns = (0..width)
        .map(|column| {
            let arrays: Vec<&dyn Array> =
                pieces.iter().filter_map(|piece| piece.columns.get(column).map(AsRef::as_ref)).collect();
            concat(&arrays).map_err(copy_failed)
        })
        .collect::<Result<_, _>>()?;
    Ok(Batch { columns, rows })
}
