//! Aggregation: expressions above it see only group keys and aggregates.
//!
//! Every expression above the grouping is rewritten: a part that equals a group key becomes that key, and aggregates get their
//! numbers. A remaining column is an error under ONLY_FULL_GROUP_BY (1055, or 1140 without GROUP BY), unless the keys determine
//! it (module `dependency`): then it becomes a key itself, which changes no group. Without GROUP BY, or with ONLY_FULL_GROUP_BY
//! off, MySQL promises "any value of the group"; this module takes the least one. WITH ROLLUP also makes groups by fewer keys.
//! Omitted keys are NULL in these groups, so that a key determines only itself.

use std::collections::BTreeSet;

use leafline_expr::aggregate::{AggregateCall, AggregateFunction};
use leafline_expr::{ArithmeticOp, CompareOp, Expr, ExprKind, build};
use leafline_types::{ExprType, MysqlError, SqlType, Value};

use super::dependency;
use super::expression::{Bound, ExpressionBinder};
use super::numbering::{FIRST_AGGREGATE, FIRST_GROUPING, FIRST_WINDOW, Numbering};
use super::scope::{Block, Clause, Item};
use crate::bound::{
    Aggregation, BlockColumn, BoundAggregate, ColumnId, ColumnOrigin, GroupKey, JoinTree, OrderKey, Rollup,
};
use leafline_syntax::ast;

/// Provisional number of the first group key, until all keys are known.
const FIRST_KEY: ColumnId = FIRST_AGGREGATE / 2;

/// Provisional number of the column with the number of keys that a group of WITH ROLLUP is made by.
const LEVEL: ColumnId = FIRST_AGGREGATE - 1;

fn level_type() -> ExprType {
    ExprType::numeric(SqlType::BIGINT, false)
}

/// Maximum number of arguments of GROUPING(): its value has a bit for each.
const MAX_GROUPING_ARGUMENTS: usize = 64;

/// The place of an expression for error messages: a number and a clause.
struct Place {
    number: usize,
    clause: &'static str,
}

/// Rewrites the expressions above the grouping; `None` when the block does not aggregate.
pub(super) fn aggregate(
    block: &mut Block,
    from: Option<&JoinTree>,
    filter: &[Expr],
    having: &mut [Expr],
    order_by: &mut [OrderKey],
    only_full_group_by: bool,
) -> Result<Option<Aggregation>, MysqlError> {
    if block.group_by.is_empty() && block.aggregates.is_empty() {
        return Ok(None);
    }
    let mut items = std::mem::take(&mut block.items);
    let mut calls = std::mem::take(&mut block.window_calls);
    let keys = block.group_by.clone();
    let written = keys.len();
    let mut grouping = Grouping { block, from, filter, keys, written, only_full_group_by, determined: None };
    for (position, item) in items.iter_mut().enumerate() {
        grouping.rewrite(&mut item.expr, &Place { number: position + 1, clause: "SELECT list" })?;
    }
    for condition in having.iter_mut() {
        grouping.rewrite(condition, &Place { number: 1, clause: "HAVING clause" })?;
    }
    for (position, key) in order_by.iter_mut().enumerate() {
        grouping.rewrite(&mut key.expr, &Place { number: position + 1, clause: "ORDER BY clause" })?;
    }
    let places = places_of_windows(&items, calls.len());
    for (call, item) in calls.iter_mut().zip(places) {
        let place = Place { number: item + 1, clause: "SELECT list" };
        let mut result = Ok(());
        call.for_each_expr_mut(&mut |expr| {
            if result.is_ok() {
                result = grouping.rewrite(expr, &place);
            }
        });
        result?;
    }
    let keys = grouping.keys.into_values();
    let aggregation = numbered(block, keys, written);
    let first = first_numbers(&aggregation);
    let above =
        items.iter_mut().map(|i| &mut i.expr).chain(having).chain(order_by.iter_mut().map(|k| &mut k.expr));
    above.for_each(|expr| renumber(expr, &first));
    calls.iter_mut().for_each(|call| call.for_each_expr_mut(&mut |expr| renumber(expr, &first)));
    block.items = items;
    block.window_calls = calls;
    Ok(Some(aggregation))
}

/// For each window function, returns the first entry of the select list that contains it, or the first entry.
fn places_of_windows(items: &[Item], calls: usize) -> Vec<usize> {
    let mut places = vec![0; calls];
    for (position, item) in items.iter().enumerate().rev() {
        for number in item.expr.columns() {
            if let Some(place) = number.checked_sub(FIRST_WINDOW).and_then(|call| places.get_mut(call)) {
                *place = position;
            }
        }
    }
    places
}

struct Grouping<'g> {
    block: &'g mut Block,
    from: Option<&'g JoinTree>,
    filter: &'g [Expr],
    /// The keys of GROUP BY, then the columns they determine.
    keys: Numbering<Expr>,
    /// Number of keys that are written in GROUP BY.
    written: usize,
    only_full_group_by: bool,
    /// The columns that the keys determine; computed on first use.
    determined: Option<BTreeSet<ColumnId>>,
}

impl Grouping<'_> {
    fn rewrite(&mut self, expr: &mut Expr, place: &Place) -> Result<(), MysqlError> {
        if let Some(key) = self.keys.number(expr) {
            *expr = build::column(FIRST_KEY + key, expr.ty.clone());
            return Ok(());
        }
        if let Some(key) = self.key_with_all_digits(expr) {
            *expr = key;
            return Ok(());
        }
        if let ExprKind::Column(column) = expr.kind {
            let grouping = column.checked_sub(FIRST_GROUPING).filter(|_| column < FIRST_KEY);
            if let Some(call) = grouping {
                *expr = self.grouping(call)?;
            } else if column < FIRST_KEY {
                *expr = self.ungrouped(column, place)?;
            }
            return Ok(());
        }
        if let ExprKind::Call { function, .. } = &expr.kind
            && function.definition().name == "ANY_VALUE"
        {
            // The argument of ANY_VALUE may read ungrouped columns.
            let only_full = std::mem::replace(&mut self.only_full_group_by, false);
            let result = self.rewrite_children(expr, place);
            self.only_full_group_by = only_full;
            return result;
        }
        self.rewrite_children(expr, place)
    }

    /// Returns the key for a quotient with all digits when the key is the quotient as clients see it, because groups have the
    /// visible digits only.
    fn key_with_all_digits(&self, expr: &Expr) -> Option<Expr> {
        let SqlType::Decimal { .. } = expr.ty.sql else { return None };
        let (number, key) = (0..).zip(self.keys.iter()).find(|(_, key)| {
            matches!(key.ty.sql, SqlType::Decimal { .. })
                && key.ty.sql.scale() < expr.ty.sql.scale()
                && build::without_rounding((*key).clone()) == *expr
        })?;
        let column = build::column(FIRST_KEY + number, key.ty.clone());
        Some(Expr { kind: ExprKind::Cast { operand: Box::new(column) }, ty: expr.ty.clone() })
    }

    fn rewrite_children(&mut self, expr: &mut Expr, place: &Place) -> Result<(), MysqlError> {
        let mut result = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.rewrite(child, place);
            }
        });
        result
    }

    /// Returns the value of a call of GROUPING(): a bit for each key, the first key highest, that says whether the group omits
    /// the key.
    fn grouping(&self, call: usize) -> Result<Expr, MysqlError> {
        let keys = self.block.groupings.get(call).map(Vec::as_slice).unwrap_or_default();
        let level = build::column(LEVEL, level_type());
        let mut value: Option<Expr> = None;
        for (number, key) in keys.iter().enumerate() {
            let position = self.block.group_by.number(key);
            let position = position.and_then(|at| self.block.group_positions.get(at));
            let position = position.ok_or_else(|| MysqlError::grouping_argument_not_key(number + 1))?;
            let left_out = build::compare(
                CompareOp::Le,
                level.clone(),
                build::literal(Value::Int(i64::try_from(*position).unwrap_or(i64::MAX))),
            )?;
            value = Some(match value {
                Some(value) => {
                    let doubled =
                        build::arithmetic(ArithmeticOp::Multiply, value, build::literal(Value::Int(2)))?;
                    build::arithmetic(ArithmeticOp::Add, doubled, left_out)?
                }
                None => left_out,
            });
        }
        value.ok_or_else(MysqlError::invalid_group_function)
    }

    /// Returns the replacement of a column that is not a key.
    fn ungrouped(&mut self, column: ColumnId, place: &Place) -> Result<Expr, MysqlError> {
        // Omitted keys determine nothing.
        let determined = !self.block.rollup && self.is_determined(column);
        if !determined && self.only_full_group_by {
            let name = self.block.full_name(column);
            return Err(if self.written == 0 {
                MysqlError::nonaggregated_column(place.number, place.clause, name)
            } else {
                MysqlError::not_in_group_by(place.number, place.clause, name)
            });
        }
        let reference = self.block.column(column);
        if determined && self.written > 0 {
            let ty = reference.ty.clone();
            return Ok(build::column(FIRST_KEY + self.keys.insert(reference).0, ty));
        }
        let any = AggregateCall::new(AggregateFunction::Min, false, vec![reference])?;
        Ok(self.block.aggregate(any))
    }

    fn is_determined(&mut self, column: ColumnId) -> bool {
        let (block, from, filter) = (&*self.block, self.from, self.filter);
        self.determined.get_or_insert_with(|| dependency::determined(block, from, filter)).contains(&column)
    }
}

/// Gives keys and aggregates their final numbers.
fn numbered(block: &mut Block, keys: Vec<Expr>, written: usize) -> Aggregation {
    let mut aggregation = Aggregation { keys: Vec::new(), aggregates: Vec::new(), rollup: None };
    if block.rollup {
        let level = block.columns.len();
        block.columns.push(BlockColumn { origin: ColumnOrigin::Level, ty: level_type() });
        let positions = std::mem::take(&mut block.group_positions);
        aggregation.rollup = Some(Rollup { written: block.group_keys_written, positions, level });
    }
    for (position, expr) in keys.into_iter().enumerate() {
        let out = block.columns.len();
        let nullable = expr.ty.nullable || block.rollup;
        let ty = ExprType { nullable, ..expr.ty.clone() };
        block.columns.push(BlockColumn { origin: ColumnOrigin::GroupKey(position), ty });
        aggregation.keys.push(GroupKey { expr, out, dependent: position >= written });
    }
    for (position, call) in std::mem::take(&mut block.aggregates).into_values().into_iter().enumerate() {
        let out = block.columns.len();
        block.columns.push(BlockColumn { origin: ColumnOrigin::Aggregate(position), ty: call.ty.clone() });
        aggregation.aggregates.push(BoundAggregate { call, out });
    }
    aggregation
}

/// The final numbers of the level, the first key and the first aggregate.
struct FirstNumbers {
    level: ColumnId,
    key: ColumnId,
    aggregate: ColumnId,
}

fn first_numbers(aggregation: &Aggregation) -> FirstNumbers {
    FirstNumbers {
        level: aggregation.rollup.as_ref().map_or(0, |rollup| rollup.level),
        key: aggregation.keys.first().map_or(0, |key| key.out),
        aggregate: aggregation.aggregates.first().map_or(0, |aggregate| aggregate.out),
    }
}

fn renumber(expr: &mut Expr, first: &FirstNumbers) {
    if let ExprKind::Column(column) = &mut expr.kind {
        if *column >= FIRST_WINDOW {
            // The other columns are numbered first.
        } else if *column >= FIRST_AGGREGATE {
            *column = first.aggregate + (*column - FIRST_AGGREGATE);
        } else if *column == LEVEL {
            *column = first.level;
        } else if *column >= FIRST_KEY {
            *column = first.key + (*column - FIRST_KEY);
        }
    }
    expr.for_each_child_mut(&mut |child| renumber(child, first));
}

impl ExpressionBinder<'_, '_, '_> {
    /// Binds `GROUPING(keys)`.
    pub(super) fn grouping(&mut self, keys: &[ast::Expr]) -> Bound {
        let allowed = matches!(self.clause, Clause::FieldList | Clause::Having | Clause::Order);
        if !allowed || !self.block.rollup || self.block.in_aggregate {
            return Err(MysqlError::invalid_group_function());
        }
        if keys.len() > MAX_GROUPING_ARGUMENTS {
            return Err(MysqlError::too_many_arguments("GROUPING", keys.len(), MAX_GROUPING_ARGUMENTS));
        }
        let keys = self.list(keys)?;
        self.block.groupings.push(keys);
        Ok(build::column(FIRST_GROUPING + self.block.groupings.len() - 1, level_type()))
    }
}
