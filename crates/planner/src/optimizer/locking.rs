//! Plans the operator that locks rows, for FOR UPDATE, FOR SHARE, UPDATE and DELETE.

use super::block_node::{BlockNode, bind, locator_column, node};
use super::settings::OptimizerContext;
use crate::bound::{BoundSelect, RelationSource};
use crate::plan::{LimitValue, LockRows, LockedTable, Operator, RowLimit};
use leafline_expr::{Expr, fold};
use leafline_types::MysqlError;

/// Returns the relations whose rows are locked.
pub(super) fn locked_relations(select: &BoundSelect) -> impl Iterator<Item = usize> + '_ {
    let relations = select.relations.iter().enumerate();
    relations.filter(|(_, relation)| relation.lock.is_some()).map(|(at, _)| at)
}

/// The row locking of a block.
pub(super) struct Locking {
    /// The conditions that the newest version of a row must meet to be taken; `None` if that version cannot be taken.
    pub recheck: Option<Vec<Expr>>,
    /// The output has the locators of the locked rows after the select list.
    pub deliver_locators: bool,
}

/// Returns the conditions of a block whose only table is locked and whose rows are delivered unchanged. The conditions are taken
/// before subqueries in them become joins.
pub(super) fn rechecked(select: &BoundSelect) -> Option<Vec<Expr>> {
    let groups = select.aggregation.is_some() || select.distinct || !select.windows.is_empty();
    match &select.relations[..] {
        [only] if !groups && only.lock.is_some() => Some(select.filter.clone()),
        _ => None,
    }
}

/// Locks the rows of the locked relations, if there are any. With `limit`, no more rows are locked than are delivered.
pub(super) fn lock_rows(
    rows: BlockNode,
    select: &BoundSelect,
    recheck: Option<&[Expr]>,
    limit: Option<RowLimit>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<BlockNode, MysqlError> {
    let mut tables = Vec::new();
    for (at, relation) in select.relations.iter().enumerate() {
        let (Some(lock), RelationSource::Base(table)) = (relation.lock, &relation.source) else { continue };
        let locator = locator_column(select, at);
        let locator = rows.layout.iter().position(|column| *column == locator);
        let locator = locator.expect("rows that are locked have locators");
        let of_table = |(position, column): (usize, &usize)| {
            let inside = relation.columns.contains(column);
            inside.then(|| (position, column - relation.columns.start))
        };
        let columns = rows.layout.iter().enumerate().filter_map(of_table).collect();
        let alias = relation.alias.as_str().into();
        tables.push(LockedTable { table: table.clone(), alias, locator, columns, lock });
    }
    if tables.is_empty() {
        return Ok(rows);
    }
    let recheck = match (recheck, select.relations.first()) {
        (Some(recheck), Some(only)) => {
            let layout: Vec<usize> = only.columns.clone().collect();
            let bound = recheck.iter().map(|condition| bind(&fold(condition.clone(), cx.eval)?, &layout));
            Some(bound.collect::<Result<_, MysqlError>>()?)
        }
        _ => None,
    };
    let BlockNode { node: input, layout } = rows;
    let (types, mut estimate) = (input.types.to_vec(), input.estimate);
    if let Some(Some(LimitValue::Constant(count))) = limit.as_ref().map(|limit| limit.count) {
        estimate.rows = estimate.rows.min(count as f64);
    }
    let operator = Operator::LockRows(Box::new(LockRows { input, tables: tables.into(), recheck, limit }));
    Ok(BlockNode { node: node(operator, types, estimate.rows, estimate.cost_us), layout })
}
