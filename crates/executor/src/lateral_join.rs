//! LATERAL: joins each outer row with the rows of a query that depends on it.
//!
//! The query's operators are built anew for each outer row and release their memory after it. Joined rows are collected in
//! batches that grow, so that a LIMIT runs the query for few rows.

use super::batch_size::RowBytes;
use super::gather::batch_bytes;
use super::limit::slice;
use super::lookup_join::{beside, joined_pieces};
use super::subplans::within;
use super::{BATCH_ROWS, BoxedOperator, Build, Builder, ExecutionContext, Operator, build};
use crate::params::BATCH_BYTES;
use crate::params::{BATCH_GROWTH, FIRST_JOINED_ROWS};
use leafline_access::JoinType;
use leafline_expr::{Datum, evaluate, evaluate_filter};
use leafline_planner::plan::{self, Node};
use leafline_types::column::nulls;
use leafline_types::memory::Held;
use leafline_types::{Batch, MysqlError, Value};

pub(super) struct LateralJoin {
    outer: BoxedOperator,
    join: plan::LateralJoin,
    profiled: bool,
    current: Option<OuterRow>,
    goal: usize,
    held: Held,
}

/// A batch of outer rows, and the next row that the query runs for.
struct OuterRow {
    batch: Batch,
    bytes: RowBytes,
    captures: Vec<Datum>,
    row: usize,
    /// The running query, the values that it depends on, and whether it has delivered a row.
    running: Option<(BoxedOperator, Vec<Value>, bool)>,
    /// Rows of the query that are not joined yet, because the outer row is long.
    rest: Option<Batch>,
    /// The bytes that the query's operators hold.
    held: usize,
}

/// Returns the bytes held by operators; results that subqueries remember are excluded.
fn held(cx: &ExecutionContext<'_>) -> usize {
    cx.memory.used().saturating_sub(cx.subplans.remembered())
}

impl LateralJoin {
    pub fn new(outer: BoxedOperator, join: &plan::LateralJoin, profiled: bool) -> LateralJoin {
        let join = join.clone();
        LateralJoin { outer, join, profiled, current: None, goal: FIRST_JOINED_ROWS, held: Held::default() }
    }

    /// Returns the next rows of the current batch; `None` when the query has run for all of it.
    fn joined(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let Some(current) = &mut self.current else { return Ok(None) };
        loop {
            let Some((inner, values, matched)) = &mut current.running else {
                if current.row == current.batch.rows {
                    return Ok(None);
                }
                let row = current.row;
                let captures = current.captures.iter().zip(self.join.captures.iter());
                let values = captures.map(|(capture, expr)| capture.value(row, &expr.ty.sql)).collect();
                current.row += 1;
                current.running = Some((build(&self.join.inner, self.profiled), values, false));
                continue;
            };
            let row = (current.row - 1) as u32;
            let found = match current.rest.take() {
                Some(rest) => Some(rest),
                None => {
                    let before = held(cx);
                    let found = step(inner, values, cx)?;
                    // Operators may give memory back before their end.
                    current.held = (current.held + held(cx)).saturating_sub(before);
                    found
                }
            };
            if let Some(mut found) = found {
                let tags = vec![row; current.bytes.first_of(std::iter::repeat_n(row as usize, found.rows))];
                if tags.len() < found.rows {
                    current.rest = Some(slice(&found, tags.len(), found.rows - tags.len()));
                    found = slice(&found, 0, tags.len());
                }
                let mut joined = beside(&current.batch, &tags, found)?;
                if !self.join.conditions.is_empty() {
                    joined = evaluate_filter(&self.join.conditions, &joined, &mut cx.eval)?.apply(&joined)?;
                }
                *matched |= joined.rows > 0;
                if joined.rows > 0 {
                    return Ok(Some(joined));
                }
                continue;
            }
            let alone = !*matched && self.join.join_type == JoinType::LeftOuter;
            current.running = None;
            cx.memory.give_back(std::mem::take(&mut current.held));
            if alone {
                let columns = self.join.inner.types.iter().map(|ty| nulls(&ty.sql, 1)).collect();
                return beside(&current.batch, &[row], Batch { columns, rows: 1 }).map(Some);
            }
        }
    }
}

/// Returns the next rows of the query.
fn step(
    inner: &mut BoxedOperator,
    values: &[Value],
    cx: &mut ExecutionContext<'_>,
) -> Result<Option<Batch>, MysqlError> {
    let mut within = ExecutionContext {
        eval: within(&mut cx.eval, values),
        view: cx.view,
        counters: &mut *cx.counters,
        locks: cx.locks,
        memory: cx.memory,
        subplans: cx.subplans,
        profile: cx.profile.as_deref_mut(),
        piece: None,
        budget: cx.budget,
    };
    let found = inner.next(&mut within);
    cx.budget = within.budget;
    let state = std::mem::take(&mut within.eval.state);
    cx.eval.state = state;
    found
}

impl Build for plan::LateralJoin {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(LateralJoin::new(builder.build(&self.outer), self, builder.profiled))
    }
}

impl Operator for LateralJoin {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let (mut pieces, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while rows < self.goal && bytes < BATCH_BYTES {
            if self.current.is_none() {
                let Some(batch) = self.outer.next(cx)? else { break };
                let mut captures = Vec::with_capacity(self.join.captures.len());
                for capture in self.join.captures.iter() {
                    captures.push(evaluate(capture, &batch, &mut cx.eval)?);
                }
                self.held.set(batch_bytes(&batch), cx.memory)?;
                let bytes = RowBytes::of(&batch);
                self.current =
                    Some(OuterRow { batch, bytes, captures, row: 0, running: None, rest: None, held: 0 });
            }
            match self.joined(cx)? {
                Some(batch) => {
                    rows += batch.rows;
                    bytes += batch_bytes(&batch);
                    pieces.push(batch);
                }
                None => self.current = None,
            }
        }
        self.goal = (self.goal * BATCH_GROWTH).min(BATCH_ROWS);
        if pieces.is_empty() {
            return Ok(None);
        }
        joined_pieces(pieces).map(Some)
    }
}
