//! Aggregation: after it, expressions see nothing but group keys and aggregates.
//!
//! Every expression above the grouping is rewritten: what equals a group key becomes that key, aggregates get their
//! numbers. A column that is left over is an error under ONLY_FULL_GROUP_BY (1055, or 1140 without GROUP BY), unless
//! the keys determine it (module `dependency`): then it becomes a key itself, which changes no group. Where there is
//! no GROUP BY, or ONLY_FULL_GROUP_BY is off, "any value of the group" is what MySQL promises; it is the least one.

use std::collections::BTreeSet;

use leafline_types::MysqlError;
use leafline_types::aggregate::{AggregateCall, AggregateFunction};
use leafline_types::expr::{Expr, ExprKind, build};

use super::dependency;
use super::scope::{Block, FIRST_AGGREGATE, FIRST_WINDOW};
use crate::bound::{
    Aggregation, BlockColumn, BoundAggregate, ColumnId, ColumnOrigin, GroupKey, JoinTree, OrderKey,
};

/// Group keys have numbers from here on until all of them are known.
const FIRST_KEY: ColumnId = FIRST_AGGREGATE / 2;

/// Where an expression stands, for errors: a number and a clause.
struct Place {
    number: usize,
    clause: &'static str,
}

/// Rewrites what stands above the grouping; `None` when the block does not aggregate.
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
    let mut keys: Vec<Expr> = Vec::new();
    for key in &block.group_by {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let mut items = std::mem::take(&mut block.items);
    let mut calls = std::mem::take(&mut block.window_calls);
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
    for (position, call) in calls.iter_mut().enumerate() {
        let number = FIRST_WINDOW + position;
        let item = items.iter().position(|item| item.expr.columns().contains(&number));
        let place = Place { number: item.unwrap_or(0) + 1, clause: "SELECT list" };
        let mut result = Ok(());
        call.for_each_expr_mut(&mut |expr| {
            if result.is_ok() {
                result = grouping.rewrite(expr, &place);
            }
        });
        result?;
    }
    let keys = grouping.keys;
    let aggregation = numbered(block, keys, written);
    let first = first_numbers(&aggregation);
    let above =
        items.iter_mut().map(|i| &mut i.expr).chain(having).chain(order_by.iter_mut().map(|k| &mut k.expr));
    above.for_each(|expr| renumber(expr, first));
    calls.iter_mut().for_each(|call| call.for_each_expr_mut(&mut |expr| renumber(expr, first)));
    block.items = items;
    block.window_calls = calls;
    Ok(Some(aggregation))
}

struct Grouping<'g> {
    block: &'g mut Block,
    from: Option<&'g JoinTree>,
    filter: &'g [Expr],
    /// The keys of GROUP BY, then those they determine.
    keys: Vec<Expr>,
    /// How many of the keys are written in GROUP BY.
    written: usize,
    only_full_group_by: bool,
    /// The columns that the keys determine, once they are needed.
    determined: Option<BTreeSet<ColumnId>>,
}

impl Grouping<'_> {
    fn rewrite(&mut self, expr: &mut Expr, place: &Place) -> Result<(), MysqlError> {
        if let Some(key) = self.keys.iter().position(|key| key == expr) {
            *expr = build::column(FIRST_KEY + key, expr.ty.clone());
            return Ok(());
        }
        if let ExprKind::Column(column) = expr.kind {
            if column < FIRST_KEY {
                *expr = self.ungrouped(column, place)?;
            }
            return Ok(());
        }
        if let ExprKind::Call { function, .. } = &expr.kind
            && function.definition().name == "ANY_VALUE"
        {
            // What is inside may be ungrouped.
            let only_full = std::mem::replace(&mut self.only_full_group_by, false);
            let result = self.rewrite_children(expr, place);
            self.only_full_group_by = only_full;
            return result;
        }
        self.rewrite_children(expr, place)
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

    /// What stands for a column that is no key.
    fn ungrouped(&mut self, column: ColumnId, place: &Place) -> Result<Expr, MysqlError> {
        let determined = self.is_determined(column);
        if !determined && self.only_full_group_by {
            let name = self.block.full_name(column);
            return Err(if self.written == 0 {
                MysqlError::nonaggregated_column(place.number, place.clause, name)
            } else {
                MysqlError::not_in_group_by(place.number, place.clause, name)
            });
        }
        let reference = self.block.reference(column);
        if determined && self.written > 0 {
            self.keys.push(reference.clone());
            return Ok(build::column(FIRST_KEY + self.keys.len() - 1, reference.ty));
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
    let mut aggregation = Aggregation { keys: Vec::new(), aggregates: Vec::new() };
    for (position, expr) in keys.into_iter().enumerate() {
        let out = block.columns.len();
        block.columns.push(BlockColumn { origin: ColumnOrigin::GroupKey(position), ty: expr.ty.clone() });
        aggregation.keys.push(GroupKey { expr, out, dependent: position >= written });
    }
    for (position, call) in std::mem::take(&mut block.aggregates).into_iter().enumerate() {
        let out = block.columns.len();
        block.columns.push(BlockColumn { origin: ColumnOrigin::Aggregate(position), ty: call.ty.clone() });
        aggregation.aggregates.push(BoundAggregate { call, out });
    }
    aggregation
}

/// The final numbers of the first key and the first aggregate.
fn first_numbers(aggregation: &Aggregation) -> (ColumnId, ColumnId) {
    let key = aggregation.keys.first().map(|k| k.out);
    let aggregate = aggregation.aggregates.first().map(|a| a.out);
    (key.unwrap_or(0), aggregate.unwrap_or(0))
}

fn renumber(expr: &mut Expr, first: (ColumnId, ColumnId)) {
    if let ExprKind::Column(column) = &mut expr.kind {
        if *column >= FIRST_WINDOW {
            // Numbered when all other columns are.
        } else if *column >= FIRST_AGGREGATE {
            *column = first.1 + (*column - FIRST_AGGREGATE);
        } else if *column >= FIRST_KEY {
            *column = first.0 + (*column - FIRST_KEY);
        }
    }
    expr.for_each_child_mut(&mut |child| renumber(child, first));
}
