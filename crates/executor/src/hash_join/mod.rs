//! Hash join: joins rows of two inputs with equal keys. The build side is held in memory and the probe side streams past it. The
//! module [`spilled`] handles a build side that does not fit.
//!
//! Semi and anti joins deliver probe rows alone.
//!
//! Without keys every pair of rows is a candidate: joins without an index or an equality run like this.

mod spilled;

use super::batch_size::{RowBytes, copy_failed};
use super::gather::{RowRef, RowStore, batch_bytes};
use super::limit::slice;
use super::runtime_filters::RuntimeFilters;
use super::spill::SpillFile;
use super::{BATCH_ROWS, BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::BATCH_BYTES;
use arrow_array::UInt32Array;
use arrow_buffer::BooleanBuffer;
use arrow_select::take::take;
use leafline_access::params::MAX_FILTER_VALUES;
use leafline_access::{FilterValues, JoinType, RuntimeFilter};
use leafline_expr::aggregate::KeyTable;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::{Datum, Expr, Selection, evaluate_filter, evaluate_first};
use leafline_planner::plan::{self, Node};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError, value_at};
use std::sync::Arc;

/// End of a chain of build rows.
const NO_ROW: u32 = u32::MAX;

pub(super) struct HashJoin {
    shape: Arc<Shape>,
    probe: BoxedOperator,
    build: Option<BoxedOperator>,
    /// The build input after all of it was read.
    built: Option<BoxedOperator>,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    table: BuildTable,
    current: Option<ProbeState>,
    held: Held,
    /// The runtime filters to set once the build side is read.
    told: Vec<plan::KeyFilter>,
    filters: Arc<RuntimeFilters>,
    /// The operator that delivers the rows, once memory has run out.
    spilled: Option<BoxedOperator>,
    /// How many times the rows were spread over files.
    depth: usize,
    /// The probe rows, if they come from a file.
    probe_file: Option<SpillFile>,
    /// The probe rows of that file that have matched, if the file is read more than once.
    noted: Option<MatchedRows>,
}

/// The keys, conditions and types of a hash join.
#[derive(Clone)]
struct Shape {
    probe_keys: Vec<Expr>,
    build_keys: Vec<Expr>,
    null_safe: Arc<[bool]>,
    conditions: Arc<[Expr]>,
    join_type: JoinType,
    probe_types: Arc<[ExprType]>,
    build_types: Arc<[ExprType]>,
    /// The rows come in the order of the probe rows.
    keep_order: bool,
}

/// Marks the probe rows that have matched, by their numbers in the file.
struct MatchedRows {
    matched: Vec<bool>,
    /// The number of the current batch's first row, and the number after its last row.
    first: usize,
    next: usize,
}

impl MatchedRows {
    /// Moves to the next batch, which has `rows` rows.
    fn begin(&mut self, rows: usize) {
        self.first = self.next;
        self.next += rows;
    }

    /// Marks a row of the current batch as matched.
    fn add(&mut self, row: usize) {
        self.matched[self.first + row] = true;
    }

    fn has(&self, row: usize) -> bool {
        self.matched[self.first + row]
    }
}

impl HashJoin {
    pub fn new(
        probe: BoxedOperator,
        build: BoxedOperator,
        join: &plan::HashJoin,
        filters: &Arc<RuntimeFilters>,
    ) -> HashJoin {
        let shape = Shape {
            probe_keys: join.keys.iter().map(|(probe, _)| probe.clone()).collect(),
            build_keys: join.keys.iter().map(|(_, build)| build.clone()).collect(),
            null_safe: join.null_safe.clone(),
            conditions: join.conditions.clone(),
            join_type: join.join_type,
            probe_types: join.probe.types.clone(),
            build_types: join.build.types.clone(),
            keep_order: join.keep_order,
        };
        let (told, filters) = (join.filters.clone(), filters.clone());
        HashJoin { told, filters, ..HashJoin::with(probe, build, Arc::new(shape)) }
    }

    /// Makes the join for the remaining outer rows of a lookup join, with these types, join type and order.
    pub fn going_on(
        probe: BoxedOperator,
        build: BoxedOperator,
        join: &plan::HashFallback,
        (probe_types, join_type, keep_order): (Arc<[ExprType]>, JoinType, bool),
    ) -> HashJoin {
        let shape = Shape {
            probe_keys: join.keys.iter().map(|(probe, _)| probe.clone()).collect(),
            build_keys: join.keys.iter().map(|(_, build)| build.clone()).collect(),
            null_safe: join.null_safe.clone(),
            conditions: join.conditions.clone(),
            join_type,
            probe_types,
            build_types: join.build.types.clone(),
            keep_order,
        };
        HashJoin::with(probe, build, Arc::new(shape))
    }

    fn with(probe: BoxedOperator, build: BoxedOperator, shape: Arc<Shape>) -> HashJoin {
        HashJoin {
            encoder: KeyEncoder::new(shape.probe_keys.iter().map(|key| &key.ty)),
            shape,
            probe,
            build: Some(build),
            built: None,
            keys: EncodedKeys::default(),
            table: BuildTable::default(),
            current: None,
            held: Held::default(),
            told: Vec::new(),
            filters: Arc::default(),
            spilled: None,
            depth: 0,
            probe_file: None,
            noted: None,
        }
    }

    /// Encodes the keys of a batch of one of the inputs.
    fn encode(
        &mut self,
        batch: &Batch,
        is_build: bool,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Joinable, MysqlError> {
        let exprs = if is_build { &self.shape.build_keys } else { &self.shape.probe_keys };
        encode(&self.encoder, exprs, &self.shape.null_safe, batch, &mut self.keys, cx)
    }

    /// Reads as much of the build side as fits, and returns the rest.
    fn read_build(
        &mut self,
        mut input: BoxedOperator,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Option<BoxedOperator>, MysqlError> {
        self.told.iter().for_each(|filter| self.filters.set(filter.number, None));
        let mut bytes = 0;
        while let Some(batch) = input.next(cx)? {
            let joinable = self.encode(&batch, true, cx)?;
            bytes += batch_bytes(&batch);
            self.table.add(batch, &self.keys, &joinable)?;
            cx.eval.cancel.check()?;
            if !self.held.fits(bytes + self.table.memory_bytes(), cx.memory) {
                return Ok(Some(input));
            }
        }
        self.built = Some(input);
        self.tell(bytes, cx);
        self.table.null_row = Some(self.table.store.push_null_row(&self.shape.build_types));
        Ok(None)
    }

    /// Sets the runtime filters for scans below the probe side. `bytes` is the size of the build side.
    fn tell(&mut self, mut bytes: usize, cx: &ExecutionContext<'_>) {
        for filter in &self.told {
            let found = self.table.filter(filter);
            bytes += found.as_ref().map_or(0, RuntimeFilter::memory_bytes);
            // Without room for a filter the join does without it.
            if !self.held.fits(bytes + self.table.memory_bytes(), cx.memory) {
                return;
            }
            self.filters.set(filter.number, found);
        }
    }

    /// Returns the pairs of the next probe rows, at most a batch of them.
    fn pairs(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Pairs>, MysqlError> {
        loop {
            if self.current.is_none() {
                let Some(batch) = self.probe.next(cx)? else { return Ok(None) };
                let joinable = self.encode(&batch, false, cx)?;
                if let Some(noted) = &mut self.noted {
                    noted.begin(batch.rows);
                }
                let heads =
                    (0..batch.rows)
                        .map(|row| {
                            if joinable.contains(row) { self.table.head(self.keys.get(row)) } else { NO_ROW }
                        })
                        .collect();
                let later = self.shape.join_type == JoinType::LeftOuter && !self.shape.conditions.is_empty();
                let matched = if later { vec![false; batch.rows] } else { Vec::new() };
                let bytes = RowBytes::of(&batch);
                self.current = Some(ProbeState { matched, batch, bytes, heads, row: 0, alone: true });
            }
            let inline_nulls =
                self.shape.join_type == JoinType::LeftOuter && self.shape.conditions.is_empty();
            let Some(probing) = &mut self.current else { return Ok(None) };
            let mut pairs = Pairs::default();
            let is_long = probing.bytes.has_long() || self.table.store.has_long();
            while probing.row < probing.batch.rows
                && pairs.probe.len() < BATCH_ROWS
                && pairs.bytes < BATCH_BYTES
            {
                let head = &mut probing.heads[probing.row];
                if *head != NO_ROW {
                    pairs.probe.push(probing.row as u32);
                    let partner = self.table.rows[*head as usize];
                    pairs.build.push(partner);
                    if is_long {
                        pairs.bytes += probing.bytes.get(probing.row) + self.table.store.row_bytes(partner);
                    }
                    *head = self.table.next[*head as usize];
                    probing.alone = false;
                    continue;
                }
                if let (true, Some(null_row)) = (probing.alone && inline_nulls, self.table.null_row) {
                    pairs.probe.push(probing.row as u32);
                    pairs.build.push(null_row);
                    pairs.bytes += probing.bytes.get(probing.row);
                }
                probing.row += 1;
                probing.alone = true;
            }
            if !pairs.probe.is_empty() {
                return Ok(Some(pairs));
            }
            if let Some(null_row) = self.table.null_row {
                let alone = std::mem::take(&mut probing.matched);
                let alone =
                    alone.iter().enumerate().filter(|(_, matched)| !**matched).map(|(row, _)| row as u32);
                pairs.probe.extend(alone);
                pairs.build.resize(pairs.probe.len(), null_row);
                if !pairs.probe.is_empty() {
                    pairs.without_partner = true;
                    return Ok(Some(pairs));
                }
            }
            self.current = None;
        }
    }

    fn joined(&self, probe: &Batch, pairs: &Pairs) -> Result<Batch, MysqlError> {
        let indices = UInt32Array::from_iter_values(pairs.probe.iter().copied());
        let mut columns = Vec::with_capacity(probe.columns.len() + self.shape.build_types.len());
        for column in &probe.columns {
            columns.push(take(column, &indices, None).map_err(copy_failed)?);
        }
        columns.extend(self.table.store.gather(&pairs.build)?);
        Ok(Batch { columns, rows: pairs.probe.len() })
    }
}

impl HashJoin {
    /// Returns the probe rows of the next batches that have a match or, for an anti join, have none.
    fn kept(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(batch) = self.probe.next(cx)? {
            cx.eval.cancel.check()?;
            let matched = self.partners(&batch, cx)?;
            let wanted = self.shape.join_type == JoinType::Semi;
            let kept = BooleanBuffer::collect_bool(batch.rows, |row| matched[row] == wanted);
            let selection = Selection::from_bits(kept);
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns for each probe row whether it has a match.
    fn partners(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<Vec<bool>, MysqlError> {
        let joinable = self.encode(batch, false, cx)?;
        let head = |row| if joinable.contains(row) { self.table.head(self.keys.get(row)) } else { NO_ROW };
        let heads: Vec<u32> = (0..batch.rows).map(head).collect();
        if self.shape.conditions.is_empty() {
            return Ok(heads.iter().map(|head| *head != NO_ROW).collect());
        }
        self.matched(batch, &heads, cx)
    }

    /// Returns for each probe row whether the conditions hold with some row of its chain. The first attempts evaluate few
    /// candidates of each row, later ones more and more, because one match is enough.
    fn matched(
        &self,
        batch: &Batch,
        heads: &[u32],
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Vec<bool>, MysqlError> {
        let mut matched = vec![false; batch.rows];
        let mut open: Vec<(u32, u32)> =
            (0..).zip(heads.iter().copied()).filter(|(_, head)| *head != NO_ROW).collect();
        let bytes = RowBytes::of(batch);
        let mut tried = 1;
        while !open.is_empty() {
            let mut begun = 0;
            while begun < open.len() {
                cx.eval.cancel.check()?;
                let mut pairs = Pairs::default();
                for (row, next) in open.iter_mut().skip(begun) {
                    for _ in 0..tried {
                        if *next == NO_ROW {
                            break;
                        }
                        pairs.probe.push(*row);
                        let partner = self.table.rows[*next as usize];
                        pairs.build.push(partner);
                        pairs.bytes += bytes.get(*row as usize) + self.table.store.row_bytes(partner);
                        *next = self.table.next[*next as usize];
                        if pairs.bytes >= BATCH_BYTES {
                            break;
                        }
                    }
                    begun += 1;
                    if pairs.probe.len() >= BATCH_ROWS || pairs.bytes >= BATCH_BYTES {
                        break;
                    }
                }
                let joined = self.joined(batch, &pairs)?;
                for pair in evaluate_filter(&self.shape.conditions, &joined, &mut cx.eval)?.indices() {
                    matched[pairs.probe[pair] as usize] = true;
                }
            }
            open.retain(|(row, next)| *next != NO_ROW && !matched[*row as usize]);
            tried = (tried * 4).min(BATCH_ROWS);
        }
        Ok(matched)
    }
}

impl Build for plan::HashJoin {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let (probe, build) = (builder.build(&self.probe), builder.build(&self.build));
        Box::new(HashJoin::new(probe, build, self, builder.filters))
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if let Some(build) = self.build.take()
            && let Some(rest) = self.read_build(build, cx)?
        {
            self.spilled = Some(spilled::spilled(self, rest, cx)?);
        }
        if let Some(spilled) = &mut self.spilled {
            return spilled.next(cx);
        }
        if matches!(self.shape.join_type, JoinType::Inner | JoinType::Semi) && self.table.rows.is_empty() {
            return Ok(None);
        }
        if !self.shape.join_type.delivers_partners() {
            return self.kept(cx);
        }
        while let Some(pairs) = self.pairs(cx)? {
            cx.eval.cancel.check()?;
            let Some(probing) = &self.current else { return Ok(None) };
            let mut batch = self.joined(&probing.batch, &pairs)?;
            if !pairs.without_partner {
                let selection = evaluate_filter(&self.shape.conditions, &batch, &mut cx.eval)?;
                if let Some(noted) = &mut self.noted {
                    selection.indices().into_iter().for_each(|pair| noted.add(pairs.probe[pair] as usize));
                }
                if let Some(probing) = self.current.as_mut().filter(|probing| !probing.matched.is_empty()) {
                    for pair in selection.indices() {
                        probing.matched[pairs.probe[pair] as usize] = true;
                    }
                }
                if selection.count() == 0 {
                    continue;
                }
                batch = selection.apply(&batch)?;
            }
            return Ok(Some(batch));
        }
        Ok(None)
    }

    fn reset(&mut self) -> bool {
        self.build = self.build.take().or_else(|| self.built.take());
        self.table = BuildTable::default();
        self.current = None;
        self.held = Held::default();
        self.spilled.is_none() && self.probe.reset() && self.build.as_mut().is_some_and(|build| build.reset())
    }
}

/// Encodes the keys of a batch and returns which rows can match at all: NULL equals nothing, except for `<=>`.
fn encode(
    encoder: &KeyEncoder,
    exprs: &[Expr],
    null_safe: &[bool],
    batch: &Batch,
    keys: &mut EncodedKeys,
    cx: &mut ExecutionContext<'_>,
) -> Result<Joinable, MysqlError> {
    let mut without: Vec<u32> = Vec::new();
    keys.clear();
    let mut done = 0;
    while done < batch.rows {
        // Long values are encoded a piece at a time.
        let rest = slice(batch, done, batch.rows - done);
        let (columns, rows) = evaluate_first(exprs.iter(), &rest, &mut cx.eval)?;
        for (value, null_safe) in columns.iter().zip(null_safe) {
            match value {
                _ if *null_safe => {}
                Datum::Scalar(value) if value.is_null() => return Ok(Joinable::None),
                Datum::Array(array) => {
                    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
                        let null_rows = (0..rows).filter(|row| nulls.is_null(*row));
                        without.extend(null_rows.map(|row| (done + row) as u32));
                    }
                }
                Datum::Scalar(_) => {}
            }
        }
        encoder.append(&columns, rows, keys)?;
        done += rows;
    }
    without.sort_unstable();
    Ok(if without.is_empty() { Joinable::All } else { Joinable::AllBut(without) })
}

enum Joinable {
    All,
    None,
    AllBut(Vec<u32>),
}

impl Joinable {
    fn contains(&self, row: usize) -> bool {
        match self {
            Joinable::All => true,
            Joinable::None => false,
            Joinable::AllBut(rows) => rows.binary_search(&(row as u32)).is_err(),
        }
    }
}

/// The build side: rows chained by key.
#[derive(Default)]
struct BuildTable {
    store: RowStore,
    keys: KeyTable,
    /// For each key, its first row and its last.
    heads: Vec<(u32, u32)>,
    /// For each row, the next one with the same key.
    next: Vec<u32>,
    rows: Vec<RowRef>,
    null_row: Option<RowRef>,
}

impl BuildTable {
    fn add(&mut self, batch: Batch, keys: &EncodedKeys, joinable: &Joinable) -> Result<(), MysqlError> {
        let rows = batch.rows;
        let number = self.store.push(batch);
        for row in (0..rows).filter(|row| joinable.contains(*row)) {
            let position = u32::try_from(self.rows.len()).map_err(MysqlError::internal)?;
            self.rows.push(RowRef { batch: number, row: row as u32 });
            self.next.push(NO_ROW);
            let key = self.keys.find_or_insert(keys.get(row)) as usize;
            match self.heads.get_mut(key) {
                Some((_, last)) => {
                    self.next[*last as usize] = position;
                    *last = position;
                }
                None => self.heads.push((position, position)),
            }
        }
        Ok(())
    }

    /// Makes a runtime filter of the keys, if there are not too many.
    fn filter(&self, filter: &plan::KeyFilter) -> Option<RuntimeFilter> {
        if self.heads.len() > MAX_FILTER_VALUES {
            return None;
        }
        let mut values = FilterValues::new(&filter.table, filter.column, filter.domain)?;
        for (first, _) in &self.heads {
            let row = self.rows.get(*first as usize)?;
            let batch = self.store.batches().get(row.batch as usize)?;
            let (column, ty) = (batch.columns.get(filter.build)?, &filter.ty);
            if !values.add(value_at(column, row.row as usize, ty)) {
                return None;
            }
        }
        Some(values.finish())
    }

    fn head(&self, key: &[u8]) -> u32 {
        self.keys.find(key).map_or(NO_ROW, |key| self.heads[key as usize].0)
    }

    fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes()
            + self.heads.capacity() * size_of::<(u32, u32)>()
            + self.next.capacity() * size_of::<u32>()
            + self.rows.capacity() * size_of::<RowRef>()
    }
}

/// A probe batch in progress.
struct ProbeState {
    batch: Batch,
    bytes: RowBytes,
    /// For each row, the next build row to pair it with.
    heads: Vec<u32>,
    /// For preserved rows that conditions decide on: whether a pair has matched. Rows without match follow the other rows of
    /// their batch.
    matched: Vec<bool>,
    row: usize,
    /// The row has not matched yet.
    alone: bool,
}

/// Candidates for joined rows.
#[derive(Default)]
struct Pairs {
    probe: Vec<u32>,
    build: Vec<RowRef>,
    /// The bytes of long rows.
    bytes: usize,
    without_partner: bool,
}
