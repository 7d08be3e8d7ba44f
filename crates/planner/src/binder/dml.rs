//! UPDATE and DELETE of one or several tables.

use std::collections::{BTreeMap, BTreeSet};

use leafline_expr::build::CastTarget;
use leafline_expr::{Expr, build};
use leafline_table::{IndexPart, LockStrength, LockWait, TableDef};
use leafline_types::{Collation, MysqlError};

use super::scope::{Block, Clause, Scope, qualified};
use super::target_read::Target;
use super::view_changes::{Asked, Expansion, Verb, origin};
use super::{Binder, literal, select};
use crate::bound::{
    BoundAssignment, BoundDelete, BoundLimit, BoundOutput, BoundSelect, BoundUpdate, ChangedTable, ColumnId,
    JoinTree, NewValue, OrderKey, Relation, RelationSource, RowLocking, ViewCheck,
};
use leafline_syntax::ast::{
    self, Assignment, Delete, ExprKind, OrderItem, TableName, TableReference, Update,
};
use leafline_syntax::{Privilege, Privileges};

/// The bound tables of UPDATE or DELETE.
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

/// The change after views have been replaced by their relations.
struct Changed {
    rows: BoundSelect,
    /// The expressions that the change needs, over the columns of the block.
    needed: Vec<Expr>,
    /// The views that rows are changed through.
    views: Vec<Expansion>,
    /// The conditions of these views, with the position of the view.
    checks: Vec<(usize, ViewCheck)>,
}

impl Changed {
    /// Returns the view that a relation came from.
    fn view_of(&self, relation: usize) -> Option<usize> {
        self.views.iter().position(|view| view.relations.contains(&relation))
    }

    /// Returns the statement's name for a relation, or for the view that it came from. `names` holds the names of the other
    /// relations.
    fn name_of<'n>(&'n self, relation: usize, names: &'n BTreeMap<usize, String>) -> &'n str {
        match self.view_of(relation).and_then(|view| self.views.get(view)) {
            Some(view) => &view.alias,
            None => names.get(&relation).map_or("", String::as_str),
        }
    }
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
        // A quotient keeps more digits than clients see.
        let value = build::without_rounding(self.expression(block, scope, Clause::FieldList, value)?);
        let takes_bytes = table.columns.get(column).is_some_and(|c| c.ty.is_bytes());
        if takes_bytes && value.ty.sql.is_character() && !value.ty.collation.charset().is_utf8() {
            // Keep the bytes that the text has in its character set.
            return Ok(NewValue::Expr(build::cast(value, CastTarget::Binary(None), Collation::Binary)?));
        }
        Ok(NewValue::Expr(value))
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<BoundUpdate, MysqlError> {
        let is_one = matches!(&update.tables[..], [TableReference::Table { .. }]);
        (self.changes, self.changes_some) = (Privilege::Update.into(), !is_one);
        let mut tables = self.tables(&update.tables)?;
        let hints = self.hints(&mut tables.block, &update.hints, 1);
        refuse_order_and_limit(update, tables.block.relations.len())?;
        tables.block.in_aggregate = true;
        let (mut needed, mut values) = (Vec::new(), Vec::new());
        for assignment in &update.assignments {
            needed.push(tables.block.reference(self.assigned(&tables, assignment)?));
        }
        let named =
            needed.iter().filter_map(Expr::as_column).filter_map(|column| tables.block.relation_of(column));
        let named: BTreeSet<usize> = named.map(|(relation, _)| relation).collect();
        self.check_read(&tables.block, &named)?;
        for (assignment, column) in update.assignments.iter().zip(&needed) {
            values.push(self.assignment(&mut tables, assignment, column)?);
        }
        tables.block.in_aggregate = false;
        needed.extend(values.iter().filter_map(|value| match value {
            NewValue::Expr(expr) => Some(expr.clone()),
            NewValue::Default => None,
        }));
        if update.limit.is_some() {
            self.note_incomplete_keys(&tables.block, &named);
        }
        let (filter, order_by, limit) = (update.filter.as_ref(), &update.order_by, update.limit.as_ref());
        let rows = self.rows_to_change(tables, needed, filter, order_by, limit)?;
        let names = names_of(&rows, &named);
        let asked = Asked {
            whole: Privileges::NONE,
            columns: (0..values.len()).map(|at| (at, Privilege::Update)).collect(),
        };
        let mut changed = self.without_views(rows, &named, &asked)?;
        refuse_order_and_limit(update, changed.rows.relations.len())?;
        let assignments = block_assignments(&mut changed, values)?;
        let relations: BTreeSet<usize> = assignments.iter().map(|assignment| assignment.relation).collect();
        for (at, view) in changed.views.iter().enumerate() {
            if relations.iter().filter(|relation| changed.view_of(**relation) == Some(at)).count() > 1 {
                return Err(MysqlError::change_of_several_tables_of_view(view.name()));
            }
        }
        let mut targets = self.targets(&changed, &relations, &names, Verb::Update)?;
        check_moved_rows(&changed, &relations, &targets, &assignments, &names)?;
        let read = assignments.iter().filter_map(|assignment| match &assignment.value {
            NewValue::Expr(expr) => Some(expr),
            NewValue::Default => None,
        });
        let outputs = outputs(&changed, &relations, read);
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
        for check in targets.iter_mut().flat_map(|target| &mut target.view_checks) {
            check.condition = check.condition.map_columns(&mut |column| position(column));
        }
        let mut rows = locking(changed.rows, &relations, outputs);
        rows.straight_join |= hints.fixed_order;
        rows.hints = hints;
        let foreign = self.foreign_keys(targets.iter().map(|target| &target.table))?;
        Ok(BoundUpdate { ignore: update.ignore, rows, targets, assignments, foreign })
    }

    /// Finds the column of the block that an assignment names.
    ///
    /// # Errors
    /// 1054 if there is none; 1142 and 1143 if it may not be changed.
    fn assigned(&self, tables: &Tables, assignment: &Assignment) -> Result<ColumnId, MysqlError> {
        let Tables { block, scope, .. } = tables;
        let found = block.find(scope, Clause::FieldList, &assignment.column)?;
        let Some((id, (relation, ordinal))) = found.and_then(|id| Some((id, block.relation_of(id)?))) else {
            let name = qualified(&assignment.column);
            return Err(MysqlError::unknown_column(name, Clause::FieldList.name()));
        };
        let Some(target) = block.relations.get(relation) else {
            return Err(MysqlError::internal("a column of no table"));
        };
        let name = &assignment.column.column.value;
        self.stored_column(target, ordinal, (name, Verb::Update))?;
        self.check_changed(target, Verb::Update)?;
        let name = block.names.get(id).map_or("", String::as_str);
        self.check_column(&target.granted, Privilege::Update, (name, target.name()))?;
        Ok(id)
    }

    /// Binds the value of an assignment to a column of the block.
    fn assignment(
        &mut self,
        tables: &mut Tables,
        assignment: &Assignment,
        column: &Expr,
    ) -> Result<NewValue, MysqlError> {
        let Tables { block, scope, .. } = tables;
        let found = column.as_column().and_then(|id| block.relation_of(id));
        let found = found.and_then(|(at, ordinal)| Some((block.relations.get(at)?, ordinal)));
        let Some((target, ordinal)) = found else {
            return Err(MysqlError::internal("a column of no table"));
        };
        let name = &assignment.column.column.value;
        let (table, column) = self.stored_column(target, ordinal, (name, Verb::Update))?;
        let table = table.clone();
        self.new_value(block, scope, &table, column, &assignment.value)
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> Result<BoundDelete, MysqlError> {
        // In MySQL a DELETE that lists its targets also reads them.
        let is_one = delete.targets.is_empty();
        self.changes = if is_one { Privilege::Delete.into() } else { Privileges::NONE };
        let mut tables = self.tables(&delete.tables)?;
        let hints = self.hints(&mut tables.block, &delete.hints, 1);
        let mut relations = BTreeSet::new();
        if delete.targets.is_empty() {
            relations.insert(0);
        }
        for name in &delete.targets {
            let relation = delete_target(&tables.block, name)?;
            if !relations.insert(relation) {
                return Err(MysqlError::not_unique_table(&name.name.value));
            }
        }
        for relation in relations.iter().filter_map(|at| tables.block.relations.get(*at)) {
            self.check_changed(relation, Verb::Delete)?;
        }
        if delete.limit.is_some() {
            self.note_incomplete_keys(&tables.block, &relations);
        }
        let (filter, order_by, limit) = (delete.filter.as_ref(), &delete.order_by, delete.limit.as_ref());
        let rows = self.rows_to_change(tables, Vec::new(), filter, order_by, limit)?;
        let names = names_of(&rows, &relations);
        let asked = Asked { whole: Privilege::Delete.into(), columns: Vec::new() };
        let changed = self.without_views(rows, &relations, &asked)?;
        if let Some(view) = changed.views.iter().find(|view| view.relations.len() > 1) {
            return Err(MysqlError::delete_from_join_view(view.name()));
        }
        let mut targets = self.targets(&changed, &relations, &names, Verb::Delete)?;
        targets.iter_mut().for_each(|target| target.view_checks.clear());
        let outputs = target_columns(&changed.rows, &relations);
        let mut rows = locking(changed.rows, &relations, outputs);
        rows.straight_join |= hints.fixed_order;
        rows.hints = hints;
        let foreign = self.foreign_keys(targets.iter().map(|target| &target.table))?;
        Ok(BoundDelete { ignore: delete.ignore, rows, targets, foreign })
    }

    /// Returns the tables of these relations, whose columns are the first outputs. `names` holds the statement's names for them.
    fn targets(
        &mut self,
        changed: &Changed,
        relations: &BTreeSet<usize>,
        names: &BTreeMap<usize, String>,
        verb: Verb,
    ) -> Result<Vec<ChangedTable>, MysqlError> {
        let mut first = 0;
        let mut targets = Vec::with_capacity(relations.len());
        for (at, relation) in relations.iter().filter_map(|at| Some((*at, changed.rows.relations.get(*at)?)))
        {
            let view = changed.view_of(at);
            let of_view = view.and_then(|view| changed.views.get(view));
            let alias = changed.name_of(at, names);
            let RelationSource::Base(table) = &relation.source else {
                return Err(MysqlError::non_updatable_table(alias, verb.name()));
            };
            let target = Target { alias, view: of_view.map(|view| &*view.view) };
            let needed = changed.needed.iter().find_map(|expr| self.expression_reads(expr, table.id));
            if let Some(reader) = needed.or_else(|| self.subqueries_read(&changed.rows, table.id)) {
                return Err(target.is_read(&reader, verb));
            }
            let of_view = changed.checks.iter().filter(|(of, _)| view == Some(*of));
            self.note_triggers(table);
            targets.push(ChangedTable {
                table: table.clone(),
                first,
                rules: self.row_rules(table)?,
                view_checks: of_view.map(|(_, check)| check.clone()).collect(),
            });
            first += relation.columns.len();
        }
        Ok(targets)
    }

    /// Returns the block with the views among these relations replaced by their relations.
    fn without_views(
        &self,
        mut rows: BoundSelect,
        relations: &BTreeSet<usize>,
        asked: &Asked,
    ) -> Result<Changed, MysqlError> {
        let wanted = rows.output.len();
        let mut views = Vec::new();
        for at in relations {
            views.extend(self.expand(&mut rows, *at, asked)?);
        }
        let of_view = |(at, view): (usize, &Expansion)| {
            view.checks(&rows).into_iter().map(move |check| (at, check)).collect::<Vec<_>>()
        };
        let checks = views.iter().enumerate().flat_map(of_view).collect();
        let needed = std::mem::take(&mut rows.output).into_iter().take(wanted).map(|output| output.expr);
        Ok(Changed { needed: needed.collect(), rows, views, checks })
    }

    /// With LIMIT: adds note 1355 for a view that lacks a whole key of its table, so that the changed rows are not determined.
    fn note_incomplete_keys(&mut self, block: &Block, relations: &BTreeSet<usize>) {
        for relation in relations.iter().filter_map(|at| block.relations.get(*at)) {
            let mut shown = BTreeSet::new();
            let mut of_table = None;
            for ordinal in 0..relation.columns.len() {
                if let Ok((table, column)) = self.stored_column(relation, ordinal, ("", Verb::Update)) {
                    shown.insert(column);
                    of_table = Some(table.clone());
                }
            }
            let whole = |table: &TableDef| {
                let keys = table.indexes.iter().filter(|index| index.is_unique());
                let part_shown = |part: &IndexPart| {
                    let nullable = table.columns.get(part.column).is_none_or(|column| column.nullable);
                    shown.contains(&part.column) && !nullable && part.prefix.is_none()
                };
                let known = table.columns.iter().filter(|column| !column.is_hidden());
                keys.into_iter().any(|key| key.parts.iter().all(part_shown)) || shown.len() == known.count()
            };
            if relation.view.is_some() && !of_table.is_some_and(|table| whole(&table)) {
                self.warnings.push(MysqlError::view_without_key());
            }
        }
    }

    /// Checks that a table or view may be changed.
    ///
    /// # Errors
    /// 1142.
    fn check_changed(&self, relation: &Relation, verb: Verb) -> Result<(), MysqlError> {
        match relation.granted.somewhere().has(verb.privilege()) {
            true => Ok(()),
            false => Err(self.context.access.table_denied(verb.name(), relation.name())),
        }
    }

    /// Checks that the tables and views outside these relations may be read.
    ///
    /// # Errors
    /// 1142.
    fn check_read(&self, block: &Block, changed: &BTreeSet<usize>) -> Result<(), MysqlError> {
        let others = block.relations.iter().enumerate().filter(|(at, _)| !changed.contains(at));
        match others
            .map(|(_, relation)| relation)
            .find(|other| !other.granted.somewhere().has(Privilege::Select))
        {
            Some(relation) => {
                Err(self.context.access.table_denied(Privilege::Select.name(), relation.name()))
            }
            None => Ok(()),
        }
    }

    /// Binds the tables of the statement, with the privileges that `changes` asks for.
    fn tables(&mut self, references: &[TableReference]) -> Result<Tables, MysqlError> {
        let mut block = Block::default();
        let from = self.from(&mut block, references);
        (self.changes, self.changes_some) = (Privileges::NONE, false);
        match from? {
            Some((from, scope)) => Ok(Tables { block, scope, from }),
            None => Err(MysqlError::no_tables_used()),
        }
    }

    /// Makes the block that delivers `needed` for the rows to change.
    fn rows_to_change(
        &mut self,
        tables: Tables,
        needed: Vec<Expr>,
        filter: Option<&ast::Expr>,
        order_by: &[OrderItem],
        limit: Option<&ast::Expr>,
    ) -> Result<BoundSelect, MysqlError> {
        let Tables { mut block, scope, from } = tables;
        let filter = self.conditions(&mut block, &scope, Clause::Where, filter)?;
        block.in_aggregate = true;
        let order_by: Vec<OrderKey> = self.order_by(&mut block, &scope, order_by)?;
        let limit = limit.map(|count| self.limit_value(count)).transpose()?;
        let mut rows = select::finished(block, Some(from), filter, Vec::new(), order_by, true)?;
        rows.output = needed.into_iter().map(BoundOutput::unnamed).collect();
        rows.limit = limit.map(|count| BoundLimit { offset: None, count });
        Ok(rows)
    }
}

/// Raises error 1221 for ORDER BY and LIMIT of an UPDATE of several tables.
fn refuse_order_and_limit(update: &Update, relations: usize) -> Result<(), MysqlError> {
    if relations > 1 && !update.order_by.is_empty() {
        return Err(MysqlError::wrong_usage("UPDATE", "ORDER BY"));
    }
    if relations > 1 && update.limit.is_some() {
        return Err(MysqlError::wrong_usage("UPDATE", "LIMIT"));
    }
    Ok(())
}

/// Returns the relation that DELETE calls by this name.
fn delete_target(block: &Block, name: &TableName) -> Result<usize, MysqlError> {
    let is_named = |relation: &Relation| {
        let wanted = name.database.as_ref().map(|wanted| wanted.value.as_str());
        relation.alias == name.name.value && wanted.is_none_or(|wanted| wanted == relation.database)
    };
    let found = block.relations.iter().position(is_named);
    found.ok_or_else(|| MysqlError::unknown_table_in(&name.name.value, "MULTI DELETE"))
}

/// Returns the names of some relations.
fn names_of(rows: &BoundSelect, relations: &BTreeSet<usize>) -> BTreeMap<usize, String> {
    let named = relations.iter().filter_map(|at| Some((*at, rows.relations.get(*at)?.alias.clone())));
    named.collect()
}

/// Binds the assignments of an UPDATE. The needed expressions start with the columns; the values that are expressions follow.
fn block_assignments(
    changed: &mut Changed,
    values: Vec<NewValue>,
) -> Result<Vec<BlockAssignment>, MysqlError> {
    let mut needed = changed.needed.iter().cloned();
    let columns: Vec<Expr> = needed.by_ref().take(values.len()).collect();
    let mut assignments = Vec::with_capacity(values.len());
    for (column, value) in columns.iter().zip(values) {
        let origin = column.as_column().and_then(|column| origin(&changed.rows, column));
        let (relation, column) = origin.ok_or_else(|| MysqlError::internal("a column of no table"))?;
        let value = match value {
            NewValue::Expr(expr) => NewValue::Expr(needed.next().unwrap_or(expr)),
            NewValue::Default => NewValue::Default,
        };
        assignments.push(BlockAssignment { relation, column, value });
    }
    Ok(assignments)
}

/// Returns the delivered columns: all columns of the changed tables, then further columns that expressions and views read.
fn outputs<'e>(
    changed: &'e Changed,
    relations: &BTreeSet<usize>,
    read: impl Iterator<Item = &'e Expr>,
) -> Vec<ColumnId> {
    let mut outputs = target_columns(&changed.rows, relations);
    for expr in read.chain(changed.checks.iter().map(|(_, check)| &check.condition)) {
        let others = expr.columns().into_iter().filter(|column| !outputs.contains(column));
        outputs.extend(others.collect::<Vec<_>>());
    }
    outputs
}

fn target_columns(rows: &BoundSelect, relations: &BTreeSet<usize>) -> Vec<ColumnId> {
    let found = relations.iter().filter_map(|at| rows.relations.get(*at));
    found.flat_map(|relation| relation.columns.clone()).collect()
}

/// Returns the block with these columns as outputs, locking the rows of these relations and of no others.
fn locking(mut rows: BoundSelect, relations: &BTreeSet<usize>, outputs: Vec<ColumnId>) -> BoundSelect {
    let lock = RowLocking { strength: LockStrength::Update, wait: LockWait::Wait };
    for (at, relation) in rows.relations.iter_mut().enumerate() {
        relation.lock = relations.contains(&at).then_some(lock);
    }
    let reference = |column: ColumnId| {
        let ty = rows.columns[column].ty.clone();
        BoundOutput::unnamed(build::column(column, ty))
    };
    rows.output = outputs.into_iter().map(reference).collect();
    rows
}

/// Raises error 1706 for a table that is changed under two names and whose rows get another primary key.
fn check_moved_rows(
    changed: &Changed,
    relations: &BTreeSet<usize>,
    targets: &[ChangedTable],
    assignments: &[BlockAssignment],
    names: &BTreeMap<usize, String>,
) -> Result<(), MysqlError> {
    let places = || relations.iter().zip(targets);
    for (first, of_first) in places() {
        for (second, of_second) in places() {
            if of_first.table.id == of_second.table.id && first != second {
                let parts = of_second.table.clustered_key().unwrap_or_default();
                let moves = |a: &BlockAssignment| {
                    a.relation == *second && parts.iter().any(|part| part.column == a.column)
                };
                if assignments.iter().any(moves) {
                    let (first, second) = (changed.name_of(*first, names), changed.name_of(*second, names));
                    return Err(MysqlError::multi_update_key_conflict(first, second));
                }
            }
        }
    }
    Ok(())
}
