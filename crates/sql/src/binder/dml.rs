//! UPDATE and DELETE, of one table or several.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafline_table::{LockStrength, LockWait, TableDef};
use leafline_types::MysqlError;
use leafline_types::expr::build;

use super::scope::{Block, Clause, Item, Scope, qualified};
use super::{Binder, literal, select};
use crate::bound::{
    BoundAssignment, BoundDelete, BoundLimit, BoundSelect, BoundUpdate, ChangedTable, ColumnId, ColumnOrigin,
    JoinTree, NewValue, OrderKey, RelationSource, RowLocking,
};
use crate::parser::ast::{self, Assignment, Delete, ExprKind, OrderItem, TableName, TableReference, Update};

/// The tables of UPDATE or DELETE, bound.
struct Tables {
    block: Block,
    scope: Scope,
    from: JoinTree,
}

/// An assignment to a column of a block.
struct BlockAssignment {
    relation: usize,
    column: usize,
    value: NewValue,
}

impl Binder<'_> {
    /// A value for a column: DEFAULT, or an expression.
    pub(super) fn new_value(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        table: &TableDef,
        column: usize,
        value: &ast::Expr,
    ) -> Result<NewValue, MysqlError> {
        if matches!(value.kind, ExprKind::Default(None)) {
            return Ok(NewValue::Default);
        }
        if let Some(column) = table.columns.get(column).filter(|column| column.generated.is_some()) {
            return Err(MysqlError::value_for_generated_column(&column.name, &table.name));
        }
        let takes_numbers = table.columns.get(column).is_some_and(|c| c.ty.is_numeric());
        if takes_numbers && let Some(number) = literal::bytes_as_number(value)? {
            return Ok(NewValue::Expr(number));
        }
        // A quotient has more digits than it shows.
        Ok(NewValue::Expr(build::all_digits(self.expression(block, scope, Clause::FieldList, value)?)))
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<BoundUpdate, MysqlError> {
        let mut tables = self.tables(&update.tables)?;
        let hints = self.hints(&mut tables.block, &update.hints, 1);
        let several = tables.block.relations.len() > 1;
        if several && !update.order_by.is_empty() {
            return Err(MysqlError::wrong_usage("UPDATE", "ORDER BY"));
        }
        if several && update.limit.is_some() {
            return Err(MysqlError::wrong_usage("UPDATE", "LIMIT"));
        }
        tables.block.in_aggregate = true;
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            assignments.push(self.assignment(&mut tables, assignment)?);
        }
        tables.block.in_aggregate = false;
        let relations: BTreeSet<usize> = assignments.iter().map(|assignment| assignment.relation).collect();
        let targets = self.targets(&tables.block, &relations)?;
        check_moved_rows(&tables.block, &relations, &targets, &assignments)?;
        let mut outputs = target_columns(&tables.block, &relations);
        for assignment in &assignments {
            if let NewValue::Expr(expr) = &assignment.value {
                let others = expr.columns().into_iter().filter(|column| !outputs.contains(column));
                outputs.extend(others.collect::<Vec<_>>());
            }
        }
        let position =
            |column: ColumnId| outputs.iter().position(|output| *output == column).unwrap_or_default();
        let assignments = assignments
            .into_iter()
            .map(|assignment| BoundAssignment {
                target: relations.iter().position(|at| *at == assignment.relation).unwrap_or_default(),
                column: assignment.column,
                value: match assignment.value {
                    NewValue::Expr(expr) => NewValue::Expr(expr.map_columns(&mut |column| position(column))),
                    NewValue::Default => NewValue::Default,
                },
            })
            .collect();
        let (filter, order_by, limit) = (update.filter.as_ref(), &update.order_by, update.limit.as_ref());
        let mut rows = self.rows_to_change(tables, &relations, &outputs, filter, order_by, limit)?;
        rows.straight_join |= hints.fixed_order;
        rows.hints = hints;
        let foreign = self.foreign_keys(targets.iter().map(|target| &target.table))?;
        Ok(BoundUpdate { ignore: update.ignore, rows, targets, assignments, foreign })
    }

    fn assignment(
        &mut self,
        tables: &mut Tables,
        assignment: &Assignment,
    ) -> Result<BlockAssignment, MysqlError> {
        let Tables { block, scope, .. } = tables;
        let found = block.find(scope, Clause::FieldList, &assignment.column)?;
        let Some(ColumnOrigin::Relation { relation, ordinal }) =
            found.and_then(|id| block.columns.get(id)).map(|column| column.origin)
        else {
            let name = qualified(&assignment.column);
            return Err(MysqlError::unknown_column(name, Clause::FieldList.name()));
        };
        let Some(target) = block.relations.get(relation) else {
            return Err(MysqlError::internal("a column of no table"));
        };
        let RelationSource::Base(table) = &target.source else {
            return Err(MysqlError::non_updatable_table(&target.alias, "UPDATE"));
        };
        let table = table.clone();
        let value = self.new_value(block, scope, &table, ordinal, &assignment.value)?;
        Ok(BlockAssignment { relation, column: ordinal, value })
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> Result<BoundDelete, MysqlError> {
        let mut tables = self.tables(&delete.tables)?;
        let hints = self.hints(&mut tables.block, &delete.hints, 1);
        let mut relations = BTreeSet::new();
        if delete.targets.is_empty() {
            relations.insert(0);
        }
        for name in &delete.targets {
            let relation = self.delete_target(&tables.block, name)?;
            if !relations.insert(relation) {
                return Err(MysqlError::not_unique_table(&name.name.value));
            }
        }
        let targets = self.targets(&tables.block, &relations)?;
        let outputs = target_columns(&tables.block, &relations);
        let (filter, order_by, limit) = (delete.filter.as_ref(), &delete.order_by, delete.limit.as_ref());
        let mut rows = self.rows_to_change(tables, &relations, &outputs, filter, order_by, limit)?;
        rows.straight_join |= hints.fixed_order;
        rows.hints = hints;
        let foreign = self.foreign_keys(targets.iter().map(|target| &target.table))?;
        Ok(BoundDelete { ignore: delete.ignore, rows, targets, foreign })
    }

    /// The relation that DELETE calls by this name.
    fn delete_target(&self, block: &Block, name: &TableName) -> Result<usize, MysqlError> {
        let unknown = || MysqlError::unknown_table_in(&name.name.value, "MULTI DELETE");
        let is_named = |alias: &str, database: &str| {
            let wanted = name.database.as_ref().map(|wanted| wanted.value.as_str());
            alias == name.name.value && wanted.is_none_or(|wanted| wanted == database)
        };
        let at = block.relations.iter().position(|r| is_named(&r.alias, &r.database)).ok_or_else(unknown)?;
        match block.relations.get(at).map(|relation| &relation.source) {
            Some(RelationSource::Base(_)) => Ok(at),
            _ => Err(MysqlError::non_updatable_table(&name.name.value, "DELETE")),
        }
    }

    /// The tables of these relations, whose columns are the first outputs.
    fn targets(&self, block: &Block, relations: &BTreeSet<usize>) -> Result<Vec<ChangedTable>, MysqlError> {
        let mut first = 0;
        let mut targets = Vec::with_capacity(relations.len());
        for relation in relations.iter().filter_map(|at| block.relations.get(*at)) {
            let RelationSource::Base(table) = &relation.source else {
                return Err(MysqlError::non_updatable_table(&relation.alias, "DELETE"));
            };
            targets.push(ChangedTable { table: table.clone(), first, rules: self.row_rules(table)? });
            first += relation.columns.len();
        }
        Ok(targets)
    }

    fn tables(&mut self, references: &[TableReference]) -> Result<Tables, MysqlError> {
        let mut block = Block::default();
        match self.from(&mut block, references)? {
            Some((from, scope)) => Ok(Tables { block, scope, from }),
            None => Err(MysqlError::no_tables_used()),
        }
    }

    /// The rows to change: the columns `outputs` of the block.
    fn rows_to_change(
        &mut self,
        tables: Tables,
        relations: &BTreeSet<usize>,
        outputs: &[ColumnId],
        filter: Option<&ast::Expr>,
        order_by: &[OrderItem],
        limit: Option<&ast::Expr>,
    ) -> Result<BoundSelect, MysqlError> {
        let Tables { mut block, scope, from } = tables;
        let filter = self.conditions(&mut block, &scope, Clause::Where, filter)?;
        block.in_aggregate = true;
        let order_by: Vec<OrderKey> = self.order_by(&mut block, &scope, order_by)?;
        let limit = limit.map(|count| self.limit_value(count)).transpose()?;
        let name = |id: ColumnId| block.names.get(id).cloned().unwrap_or_default();
        let item = |&id: &ColumnId| Item { expr: block.reference(id), name: name(id), aliased: false };
        block.items = outputs.iter().map(item).collect();
        let mut rows = select::finished(block, Some(from), filter, Vec::new(), order_by, true)?;
        let lock = RowLocking { strength: LockStrength::Update, wait: LockWait::Wait };
        for (at, relation) in rows.relations.iter_mut().enumerate() {
            relation.lock = relations.contains(&at).then_some(lock);
        }
        rows.limit = limit.map(|count| BoundLimit { offset: None, count });
        Ok(rows)
    }
}

fn target_columns(block: &Block, relations: &BTreeSet<usize>) -> Vec<ColumnId> {
    let found = relations.iter().filter_map(|at| block.relations.get(*at));
    found.flat_map(|relation| relation.columns.clone()).collect()
}

/// Error 1706: a table that is changed under two names, where rows of it get another primary key.
fn check_moved_rows(
    block: &Block,
    relations: &BTreeSet<usize>,
    targets: &[ChangedTable],
    assignments: &[BlockAssignment],
) -> Result<(), MysqlError> {
    let named = || relations.iter().filter_map(|at| Some((*at, block.relations.get(*at)?))).zip(targets);
    for ((_, first), of_first) in named() {
        for ((at, second), of_second) in named() {
            if Arc::ptr_eq(&of_first.table, &of_second.table) && first.alias != second.alias {
                let parts = of_second.table.primary_key().unwrap_or_default();
                let moves = |a: &BlockAssignment| {
                    a.relation == at && parts.iter().any(|part| part.column == a.column)
                };
                if assignments.iter().any(moves) {
                    return Err(MysqlError::multi_update_key_conflict(&first.alias, &second.alias));
                }
            }
        }
    }
    Ok(())
}
