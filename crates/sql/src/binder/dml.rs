//! INSERT, UPDATE and DELETE.

use std::sync::Arc;

use leafline_table::{LockStrength, LockWait, TableDef};
use leafline_types::MysqlError;

use super::scope::{Block, Clause, Item, Scope, qualified};
use super::{Binder, literal, select};
use crate::bound::{
    BoundDelete, BoundInsert, BoundLimit, BoundSelect, BoundUpdate, ColumnOrigin, InsertRows, JoinTree,
    NewValue, OrderKey, RelationSource, RowLocking,
};
use crate::parser::ast::{
    self, Assignment, Delete, ExprKind, Ident, Insert, InsertSource, OrderItem, TableReference, Update,
};

/// The table that UPDATE or DELETE changes, bound.
struct Target {
    block: Block,
    scope: Scope,
    from: JoinTree,
    table: Arc<TableDef>,
}

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<BoundInsert, MysqlError> {
        let table = self.table(&insert.table)?;
        let columns = match &insert.columns {
            Some(columns) => insert_columns(&table, columns)?,
            None => (0..table.columns.len()).collect(),
        };
        match &insert.source {
            InsertSource::Values(rows) => self.insert_values(insert, table, columns, rows),
            InsertSource::Query(query) => {
                let query = self.query(query)?;
                if query.output.len() != columns.len() {
                    return Err(MysqlError::wrong_value_count(1));
                }
                Ok(BoundInsert { table, columns, rows: InsertRows::Select(Box::new(query)) })
            }
        }
    }

    fn insert_values(
        &mut self,
        insert: &Insert,
        table: Arc<TableDef>,
        mut columns: Vec<usize>,
        rows: &[Vec<ast::Expr>],
    ) -> Result<BoundInsert, MysqlError> {
        // `VALUES ()` without a column list is a row of defaults.
        if insert.columns.is_none() && rows.iter().all(Vec::is_empty) {
            columns.clear();
        }
        let mut block = Block::default();
        let target =
            TableReference::Table { name: insert.table.clone(), alias: None, index_hints: Vec::new() };
        let (_, scope) = self.reference(&mut block, &target)?;
        block.in_aggregate = true;
        let mut bound = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            if row.len() != columns.len() {
                return Err(MysqlError::wrong_value_count(number + 1));
            }
            let values = row.iter().zip(&columns);
            bound.push(
                values
                    .map(|(value, &column)| {
                        let value = self.new_value(&mut block, &scope, &table, column, value)?;
                        match &value {
                            NewValue::Expr(expr) if !expr.columns().is_empty() => {
                                Err(MysqlError::not_supported("columns in VALUES"))
                            }
                            _ => Ok(value),
                        }
                    })
                    .collect::<Result<Vec<_>, _>>()?,
            );
        }
        Ok(BoundInsert { table, columns, rows: InsertRows::Values(bound) })
    }

    /// A value for a column: DEFAULT, or an expression.
    fn new_value(
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
        let takes_numbers = table.columns.get(column).is_some_and(|c| c.ty.is_numeric());
        if takes_numbers && let Some(number) = literal::bytes_as_number(value)? {
            return Ok(NewValue::Expr(number));
        }
        Ok(NewValue::Expr(self.expression(block, scope, Clause::FieldList, value)?))
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<BoundUpdate, MysqlError> {
        let mut target = self.target(&update.table)?;
        target.block.in_aggregate = true;
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            assignments.push(self.assignment(&mut target, assignment)?);
        }
        target.block.in_aggregate = false;
        let table = target.table.clone();
        let rows =
            self.target_rows(target, update.filter.as_ref(), &update.order_by, update.limit.as_ref())?;
        Ok(BoundUpdate { rows, table, assignments })
    }

    fn assignment(
        &mut self,
        target: &mut Target,
        assignment: &Assignment,
    ) -> Result<(usize, NewValue), MysqlError> {
        let Target { block, scope, table, .. } = target;
        let found = block.find(scope, Clause::FieldList, &assignment.column)?;
        let ordinal = match found.and_then(|id| block.columns.get(id)).map(|c| c.origin) {
            Some(ColumnOrigin::Relation { ordinal, .. }) => ordinal,
            _ => {
                let name = qualified(&assignment.column);
                return Err(MysqlError::unknown_column(name, Clause::FieldList.name()));
            }
        };
        Ok((ordinal, self.new_value(block, scope, table, ordinal, &assignment.value)?))
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> Result<BoundDelete, MysqlError> {
        let target = self.target(&delete.table)?;
        let table = target.table.clone();
        let rows =
            self.target_rows(target, delete.filter.as_ref(), &delete.order_by, delete.limit.as_ref())?;
        Ok(BoundDelete { rows, table })
    }

    fn target(&mut self, reference: &TableReference) -> Result<Target, MysqlError> {
        let mut block = Block::default();
        let (from, scope) = self.reference(&mut block, reference)?;
        match block.relations.as_slice() {
            [only] => match &only.source {
                RelationSource::Base(table) => {
                    let table = table.clone();
                    Ok(Target { block, scope, from, table })
                }
                RelationSource::Derived(_) => Err(MysqlError::not_supported("changing a derived table")),
            },
            _ => Err(MysqlError::not_supported("changing several tables")),
        }
    }

    /// The rows to change, all columns of the table.
    fn target_rows(
        &mut self,
        target: Target,
        filter: Option<&ast::Expr>,
        order_by: &[OrderItem],
        limit: Option<&ast::Expr>,
    ) -> Result<BoundSelect, MysqlError> {
        let Target { mut block, scope, from, .. } = target;
        let filter = self.conditions(&mut block, &scope, Clause::Where, filter)?;
        block.in_aggregate = true;
        let order_by: Vec<OrderKey> = self.order_by(&mut block, &scope, order_by)?;
        let limit = limit.map(|count| self.limit_value(count)).transpose()?;
        block.items = (0..block.columns.len())
            .map(|id| Item {
                expr: block.reference(id),
                name: block.names.get(id).cloned().unwrap_or_default(),
                aliased: false,
            })
            .collect();
        let mut rows = select::finished(block, Some(from), filter, Vec::new(), order_by, true)?;
        let lock = RowLocking { strength: LockStrength::Update, wait: LockWait::Wait };
        rows.relations.iter_mut().for_each(|relation| relation.lock = Some(lock));
        rows.limit = limit.map(|count| BoundLimit { offset: None, count });
        Ok(rows)
    }
}

/// The positions of the columns of an INSERT. Error 1054 for an unknown one, 1110 for one named twice.
fn insert_columns(table: &TableDef, names: &[Ident]) -> Result<Vec<usize>, MysqlError> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let Some(column) = table.column(&name.value) else {
            return Err(MysqlError::unknown_column(&name.value, Clause::FieldList.name()));
        };
        if columns.contains(&column) {
            return Err(MysqlError::column_specified_twice(&name.value));
        }
        columns.push(column);
    }
    Ok(columns)
}
