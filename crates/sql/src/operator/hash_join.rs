//! Rows of two inputs with equal keys. One input is held in memory, the other streams past it.
//!
//! For semi and anti joins, rows of the streaming input pass or do not, without those of the other.
//!
//! Without keys every pair of rows is a candidate: that is how joins run for which there is neither an index nor an equality.

use super::gather::{RowRef, RowStore, batch_bytes};
use super::key_table::KeyTable;
use super::memory::Held;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use crate::plan;
use arrow_array::UInt32Array;
use arrow_buffer::BooleanBuffer;
use arrow_select::take::take;
use leafline_access::JoinRows;
use leafline_types::aggregate::{EncodedKeys, KeyEncoder};
use leafline_types::expr::{Datum, Expr, Selection, evaluate, evaluate_filter};
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

/// End of a chain of build rows.
const NO_ROW: u32 = u32::MAX;

pub(super) struct HashJoin {
    probe: BoxedOperator,
    build: Option<BoxedOperator>,
    probe_keys: Vec<Expr>,
    build_keys: Vec<Expr>,
    null_safe: Arc<[bool]>,
    conditions: Arc<[Expr]>,
    rows: JoinRows,
    build_types: Arc<[ExprType]>,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    table: Built,
    current: Option<Probing>,
    held: Held,
}

impl HashJoin {
    pub fn new(probe: BoxedOperator, build: BoxedOperator, join: &plan::HashJoin) -> HashJoin {
        HashJoin {
            probe,
            build: Some(build),
            probe_keys: join.keys.iter().map(|(probe, _)| probe.clone()).collect(),
            build_keys: join.keys.iter().map(|(_, build)| build.clone()).collect(),
            null_safe: join.null_safe.clone(),
            conditions: join.conditions.clone(),
            rows: join.rows,
            build_types: join.build.types.clone(),
            encoder: KeyEncoder::new(join.keys.iter().map(|(probe, _)| &probe.ty)),
            keys: EncodedKeys::default(),
            table: Built::default(),
            current: None,
            held: Held::default(),
        }
    }

    fn read_build(
        &mut self,
        mut input: BoxedOperator,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        let mut bytes = 0;
        while let Some(batch) = input.next(cx)? {
            let joinable =
                encode(&self.encoder, &self.build_keys, &self.null_safe, &batch, &mut self.keys, cx)?;
            bytes += batch_bytes(&batch);
            self.table.add(batch, &self.keys, &joinable)?;
            self.held.set(bytes + self.table.memory_bytes(), cx.memory)?;
            cx.eval.cancel.check()?;
        }
        self.table.null_row = Some(self.table.store.push_null_row(&self.build_types));
        Ok(())
    }

    /// The pairs of the next probe rows, at most a batch of them.
    fn pairs(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Pairs>, MysqlError> {
        loop {
            if self.current.is_none() {
                let Some(batch) = self.probe.next(cx)? else { return Ok(None) };
                let joinable =
                    encode(&self.encoder, &self.probe_keys, &self.null_safe, &batch, &mut self.keys, cx)?;
                let heads =
                    (0..batch.rows)
                        .map(|row| {
                            if joinable.contains(row) { self.table.head(self.keys.get(row)) } else { NO_ROW }
                        })
                        .collect();
                let later = self.rows == JoinRows::AllOuter && !self.conditions.is_empty();
                let matched = if later { vec![false; batch.rows] } else { Vec::new() };
                self.current = Some(Probing { matched, batch, heads, row: 0, alone: true });
            }
            let inline_nulls = self.rows == JoinRows::AllOuter && self.conditions.is_empty();
            let Some(probing) = &mut self.current else { return Ok(None) };
            let mut pairs = Pairs::default();
            while probing.row < probing.batch.rows && pairs.probe.len() < BATCH_ROWS {
                let head = &mut probing.heads[probing.row];
                if *head != NO_ROW {
                    pairs.probe.push(probing.row as u32);
                    pairs.build.push(self.table.rows[*head as usize]);
                    *head = self.table.next[*head as usize];
                    probing.alone = false;
                    continue;
                }
                if let (true, Some(null_row)) = (probing.alone && inline_nulls, self.table.null_row) {
                    pairs.probe.push(probing.row as u32);
                    pairs.build.push(null_row);
                }
                probing.row += 1;
                probing.alone = true;
            }
            if !pairs.probe.is_empty() {
                return Ok(Some(pairs));
            }
            if let Some(null_row) = self.table.null_row {
                let alone = std::mem::take(&mut probing.matched);
                for (row, _) in alone.iter().enumerate().filter(|(_, matched)| !**matched) {
                    pairs.probe.push(row as u32);
                    pairs.build.push(null_row);
                }
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
        let mut columns = Vec::with_capacity(probe.columns.len() + self.build_types.len());
        for column in &probe.columns {
            columns.push(take(column, &indices, None).map_err(MysqlError::internal)?);
        }
        columns.extend(self.table.store.gather(&pairs.build)?);
        Ok(Batch { columns, rows: pairs.probe.len() })
    }
}

impl HashJoin {
    /// The probe rows of the next batches that have a partner or, for an anti join, have none.
    fn kept(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(batch) = self.probe.next(cx)? {
            cx.eval.cancel.check()?;
            let joinable =
                encode(&self.encoder, &self.probe_keys, &self.null_safe, &batch, &mut self.keys, cx)?;
            let head =
                |row| if joinable.contains(row) { self.table.head(self.keys.get(row)) } else { NO_ROW };
            let heads: Vec<u32> = (0..batch.rows).map(head).collect();
            let matched = if self.conditions.is_empty() {
                heads.iter().map(|head| *head != NO_ROW).collect()
            } else {
                self.matched(&batch, &heads, cx)?
            };
            let wanted = self.rows == JoinRows::Semi;
            let kept = BooleanBuffer::collect_bool(batch.rows, |row| matched[row] == wanted);
            let selection = Selection::from_bits(kept);
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }

    /// For each probe row, whether the conditions hold with some row of its chain. Few candidates of each are tried first, then
    /// more and more, as one partner is enough.
    fn matched(
        &self,
        batch: &Batch,
        heads: &[u32],
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Vec<bool>, MysqlError> {
        let mut matched = vec![false; batch.rows];
        let mut open: Vec<(u32, u32)> =
            (0..).zip(heads.iter().copied()).filter(|(_, head)| *head != NO_ROW).collect();
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
                        pairs.build.push(self.table.rows[*next as usize]);
                        *next = self.table.next[*next as usize];
                    }
                    begun += 1;
                    if pairs.probe.len() >= BATCH_ROWS {
                        break;
                    }
                }
                let joined = self.joined(batch, &pairs)?;
                for pair in evaluate_filter(&self.conditions, &joined, &mut cx.eval)?.indices() {
                    matched[pairs.probe[pair] as usize] = true;
                }
            }
            open.retain(|(row, next)| *next != NO_ROW && !matched[*row as usize]);
            tried = (tried * 4).min(BATCH_ROWS);
        }
        Ok(matched)
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if let Some(build) = self.build.take() {
            self.read_build(build, cx)?;
        }
        if matches!(self.rows, JoinRows::Matching | JoinRows::Semi) && self.table.rows.is_empty() {
            return Ok(None);
        }
        if !self.rows.delivers_partners() {
            return self.kept(cx);
        }
        while let Some(pairs) = self.pairs(cx)? {
            cx.eval.cancel.check()?;
            let Some(probing) = &self.current else { return Ok(None) };
            let mut batch = self.joined(&probing.batch, &pairs)?;
            if !pairs.without_partner {
                let selection = evaluate_filter(&self.conditions, &batch, &mut cx.eval)?;
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
}

/// Encodes the keys of a batch; tells which rows can have a partner at all: NULL equals nothing, unless asked to.
fn encode(
    encoder: &KeyEncoder,
    exprs: &[Expr],
    null_safe: &[bool],
    batch: &Batch,
    keys: &mut EncodedKeys,
    cx: &mut ExecutionContext<'_>,
) -> Result<Joinable, MysqlError> {
    let mut columns = Vec::with_capacity(exprs.len());
    let mut without: Vec<u32> = Vec::new();
    for (expr, null_safe) in exprs.iter().zip(null_safe) {
        let value = evaluate(expr, batch, &mut cx.eval)?;
        if !null_safe {
            match &value {
                Datum::Scalar(value) if value.is_null() => return Ok(Joinable::None),
                Datum::Array(array) => {
                    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
                        without.extend((0..batch.rows as u32).filter(|row| nulls.is_null(*row as usize)));
                    }
                }
                Datum::Scalar(_) => {}
            }
        }
        columns.push(value);
    }
    encoder.encode(&columns, batch.rows, keys)?;
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
struct Built {
    store: RowStore,
    keys: KeyTable,
    /// Per key, the first row and the last.
    heads: Vec<(u32, u32)>,
    /// Per row, the next one with the same key.
    next: Vec<u32>,
    rows: Vec<RowRef>,
    null_row: Option<RowRef>,
}

impl Built {
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
struct Probing {
    batch: Batch,
    /// Per row, the next build row to pair it with.
    heads: Vec<u32>,
    /// Rows kept without partner that conditions decide on: those for which one held. They are delivered behind the
    /// others of their batch.
    matched: Vec<bool>,
    row: usize,
    /// No partner was found for the row yet.
    alone: bool,
}

/// Candidates for joined rows.
#[derive(Default)]
struct Pairs {
    probe: Vec<u32>,
    build: Vec<RowRef>,
    without_partner: bool,
}
