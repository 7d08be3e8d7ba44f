//! INSERT and REPLACE.

use leafline_expr::build;
use leafline_types::{MysqlError, Value};

use super::Binder;
use super::insert_target::{InsertKind, InsertTarget};
use super::scope::{Block, Clause, Scope, Visible, qualified};
use super::target_read::Target;
use super::view_changes::Verb;
use crate::authority::TableRights;
use crate::bound::{
    BlockColumn, BoundAssignment, BoundInsert, BoundOutput, BoundSelect, ColumnOrigin, GivenValue,
    InsertRows, NewValue, OnDuplicate, Relation,
};
use leafline_syntax::Privilege;
use leafline_syntax::ast::{self, ColumnName, ExprKind, Insert, InsertSource, Literal, RowAlias};

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<BoundInsert, MysqlError> {
        let changes =
            InsertKind { replaces: insert.replace, loads: false, assignments: &insert.on_duplicate };
        let target =
            self.insert_target((&insert.table, &insert.partitions), insert.columns.as_ref(), changes)?;
        let table = target.table.clone();
        if insert.delayed {
            let verb = if insert.replace { "REPLACE" } else { "INSERT" };
            self.warnings.push(MysqlError::legacy_syntax_converted(format!("{verb} DELAYED"), verb));
        }
        let mut columns = target.columns(insert.columns.as_ref())?;
        if !gives_nothing(insert, columns.len()) {
            self.check_inserted(&target, insert.columns.as_ref(), &columns)?;
        }
        let (mut rows, reads_row) = match &insert.source {
            InsertSource::Values(rows) => self.insert_values(insert, &target, &mut columns, rows)?,
            InsertSource::Query(query) => {
                let mut query = self.query(query)?;
                if !query.distinct {
                    // A quotient keeps more digits than clients see.
                    for output in &mut query.output {
                        output.expr = build::without_rounding(output.expr.clone());
                        output.meta.ty = output.expr.ty.sql.clone();
                    }
                }
                let generated = columns.iter().filter_map(|column| table.columns.get(*column));
                if let Some(column) = generated.into_iter().find(|column| column.generated.is_some()) {
                    return Err(MysqlError::value_for_generated_column(&column.name, &table.name));
                }
                if query.output.len() != columns.len() {
                    return Err(MysqlError::wrong_value_count(1));
                }
                (InsertRows::Select(Box::new(query)), false)
            }
        };
        let on_duplicate = match (insert.replace, insert.on_duplicate.is_empty()) {
            (true, _) => OnDuplicate::Replace,
            (false, true) => OnDuplicate::Fail,
            (false, false) => OnDuplicate::Update(self.on_duplicate(insert, &target, &columns, &mut rows)?),
        };
        self.refuse_reading(&target, &on_duplicate)?;
        self.note_triggers(&table);
        let rules = self.row_rules(&table)?;
        let foreign = self.foreign_keys([&table])?;
        Ok(BoundInsert {
            ignore: insert.ignore,
            on_duplicate,
            reads_row,
            table,
            alias: target.alias,
            view: target.view.map(|view| (view.database.clone(), view.name.clone())),
            view_checks: target.checks,
            rules,
            foreign,
            columns,
            rows,
        })
    }

    /// Binds the rows of VALUES, and returns whether any value refers to columns of its row.
    fn insert_values(
        &mut self,
        insert: &Insert,
        target: &InsertTarget,
        columns: &mut Vec<usize>,
        rows: &[Vec<ast::Expr>],
    ) -> Result<(InsertRows, bool), MysqlError> {
        // `VALUES ()` with no column list, or an empty one, is a row of defaults, though not through a view.
        let names_none = insert.columns.as_ref().is_none_or(Vec::is_empty);
        if names_none && target.view.is_none() && rows.iter().all(Vec::is_empty) {
            columns.clear();
        }
        let mut block = Block::default();
        let scope = target.relation(&mut block)?;
        block.in_aggregate = true;
        let mut bound = Vec::with_capacity(rows.len());
        let mut reads_row = false;
        for (number, row) in rows.iter().enumerate() {
            self.context.cancel.check()?;
            if row.len() != columns.len() {
                return Err(MysqlError::wrong_value_count(number + 1));
            }
            let mut values = Vec::with_capacity(row.len());
            for (value, &column) in row.iter().zip(columns.iter()) {
                // Text becomes bytes in the connection's character set.
                let is_utf8 = self.context.collation.charset().is_utf8();
                let is_stored = target
                    .table
                    .columns
                    .get(column)
                    .is_some_and(|c| c.generated.is_none() && (is_utf8 || !c.ty.is_bytes()));
                if let Some(literal) = plain(value).filter(|_| is_stored) {
                    values.push(GivenValue::Literal(literal));
                    continue;
                }
                let value = self.new_value(&mut block, &scope, &target.table, column, value)?;
                reads_row |= matches!(&value, NewValue::Expr(expr) if !expr.columns().is_empty());
                values.push(GivenValue::New(Box::new(value)));
            }
            bound.push(values);
        }
        Ok((InsertRows::Values(bound), reads_row))
    }

    /// Raises error 1093 for a subquery of ON DUPLICATE KEY UPDATE that reads the target table.
    fn refuse_reading(&self, target: &InsertTarget, on_duplicate: &OnDuplicate) -> Result<(), MysqlError> {
        let OnDuplicate::Update(assignments) = on_duplicate else { return Ok(()) };
        for assignment in assignments {
            if let NewValue::Expr(expr) = &assignment.value
                && let Some(reader) = self.expression_reads(expr, target.table.id)
            {
                let known = Target { alias: &target.name, view: target.view.as_deref() };
                return Err(known.is_read(&reader, Verb::Insert));
            }
        }
        Ok(())
    }

    /// Binds the assignments of ON DUPLICATE KEY UPDATE. Columns of the query that they refer to become outputs of the query.
    fn on_duplicate(
        &mut self,
        insert: &Insert,
        known: &InsertTarget,
        columns: &[usize],
        rows: &mut InsertRows,
    ) -> Result<Vec<BoundAssignment>, MysqlError> {
        let mut block = Block::default();
        let target = known.relation(&mut block)?;
        let mut seen = target.clone();
        let inserted = block.columns.len();
        block.inserted = Some(inserted);
        let added = add_inserted_row(&mut block, insert.alias.as_ref(), columns)?;
        if insert.alias.is_some() {
            seen = seen.beside(added);
        }
        let of_query = block.columns.len();
        if let InsertRows::Select(query) = rows
            && query.aggregation.is_none()
            && !query.distinct
        {
            seen = seen.beside(add_query_columns(&mut block, query));
        }
        block.in_aggregate = true;
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        for ast::Assignment { column: name, value } in &insert.on_duplicate {
            let column = assigned_column(&block, &target, name)?;
            self.check_target(known, Privilege::Update, column)?;
            let value = match self.new_value(&mut block, &seen, &known.table, column, value)? {
                NewValue::Expr(expr) => {
                    let mut outputs = |id| match rows {
                        InsertRows::Select(query) if id >= of_query => {
                            of_query + output_of(query, id - of_query) - columns.len()
                        }
                        _ => id,
                    };
                    NewValue::Expr(expr.map_columns(&mut outputs))
                }
                NewValue::Default => NewValue::Default,
            };
            assignments.push(BoundAssignment { target: 0, column, value });
        }
        Ok(assignments)
    }
}

/// Whether the statement lists no columns, and its first row has no values or the wrong number of them.
fn gives_nothing(insert: &Insert, columns: usize) -> bool {
    let InsertSource::Values(rows) = &insert.source else { return false };
    insert.columns.as_ref().is_none_or(Vec::is_empty) && rows.first().is_none_or(|row| row.len() != columns)
}

/// Returns the value of a literal that means the same for every column.
fn plain(value: &ast::Expr) -> Option<Value> {
    match &value.kind {
        ExprKind::Literal(Literal::Integer(number)) => {
            Some(i64::try_from(*number).map_or(Value::UInt(*number), Value::Int))
        }
        ExprKind::Literal(Literal::String { value, charset: None, .. }) => {
            Some(Value::string(value.as_str()))
        }
        ExprKind::Literal(Literal::Null) => Some(Value::Null),
        _ => None,
    }
}

/// Returns the column of the table that an assignment names.
fn assigned_column(block: &Block, target: &Scope, name: &ColumnName) -> Result<usize, MysqlError> {
    let found = block.find(target, Clause::FieldList, name)?;
    found.ok_or_else(|| MysqlError::unknown_column(qualified(name), Clause::FieldList.name()))
}

/// Adds the row to insert as a second relation, under its alias. Error 1066 if the alias is the table's name, 1353 if it does not
/// name as many columns as are inserted.
fn add_inserted_row(
    block: &mut Block,
    alias: Option<&RowAlias>,
    columns: &[usize],
) -> Result<Scope, MysqlError> {
    let names = alias.map_or(&[][..], |alias| &alias.columns);
    if !names.is_empty() && names.len() != columns.len() {
        return Err(MysqlError::with_message(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column names list have \
             different column counts",
        ));
    }
    let Some(table) = block.relations.first().cloned() else { return Ok(Scope::default()) };
    let name = alias.map_or(String::new(), |alias| alias.name.value.clone());
    if table.alias == name {
        return Err(MysqlError::not_unique_table(name));
    }
    let (relation, first) = (block.relations.len(), block.columns.len());
    let mut scope = Scope { columns: Vec::new(), relations: vec![relation] };
    for (ordinal, of_table) in table.columns.clone().enumerate() {
        let ty = block.columns[of_table].ty.clone();
        // Columns that are not inserted stay unnamed.
        let listed = columns.iter().position(|column| *column == ordinal);
        let name = match listed.map(|at| names.get(at)) {
            Some(Some(name)) => name.value.clone(),
            Some(None) => block.names.get(of_table).cloned().unwrap_or_default(),
            None => String::new(),
        };
        if listed.is_some() {
            scope.columns.push(Visible { id: first + ordinal, name: name.clone() });
        }
        block.columns.push(BlockColumn { origin: ColumnOrigin::Relation { relation, ordinal }, ty });
        block.names.push(name);
    }
    let columns = first..block.columns.len();
    let granted = TableRights::EVERYTHING;
    block.relations.push(Relation { alias: name, database: String::new(), columns, granted, ..table });
    Ok(scope)
}

/// Adds the relations of the query as further relations, and returns their scope.
fn add_query_columns(block: &mut Block, query: &BoundSelect) -> Scope {
    let (relations, first) = (block.relations.len(), block.columns.len());
    let mut scope = Scope::default();
    for (at, relation) in query.relations.iter().enumerate() {
        scope.relations.push(relations + at);
        let columns = first + relation.columns.start..first + relation.columns.end;
        block.relations.push(Relation { columns, ..relation.clone() });
    }
    for (at, column) in query.columns.iter().enumerate() {
        let ColumnOrigin::Relation { relation, ordinal } = column.origin else { continue };
        let name = query.relations.get(relation).map_or(String::new(), |of| of.column_name(ordinal));
        let is_hidden = query.relations.get(relation).is_some_and(|of| of.source.hides(ordinal));
        if !is_hidden && !query.joined.contains(&at) {
            scope.columns.push(Visible { id: first + at, name: name.clone() });
        }
        let origin = ColumnOrigin::Relation { relation: relations + relation, ordinal };
        block.columns.push(BlockColumn { origin, ty: column.ty.clone() });
        block.names.push(name);
    }
    scope
}

/// Returns the output of the query that is its column `column`, adding one behind the inserted outputs if there is none.
fn output_of(query: &mut BoundSelect, column: usize) -> usize {
    let Some(of_query) = query.columns.get(column) else { return 0 };
    let expr = build::column(column, of_query.ty.clone());
    query.output.push(BoundOutput::unnamed(expr));
    query.output.len() - 1
}
