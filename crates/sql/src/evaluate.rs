//! Evaluates expressions without a table, and conditions over rows that a statement has read itself.

use crate::plans::TableUse;
use crate::result::{ColumnMeta, RowSet};
use crate::session::Execution;
use crate::session::Session;
use leafline_expr::evaluate_scalar;
use leafline_planner::binder::{BindContext, bind_scalar};
use leafline_planner::bound::{BoundExpression, BoundSubquery, RelationSource, tables_of_query};
use leafline_planner::optimizer::plan_parts;
use leafline_syntax::ast::Expr;
use leafline_table::{ChangeReads, TableDef};
use leafline_types::column::Batch;
use leafline_types::convert::to_text;
use leafline_types::{Collation, ExprType, MysqlError, SqlType, Value};
use std::sync::Arc;

/// Returns the value and the type of an expression without columns in a statement with these parameters.
pub(crate) fn constant(
    session: &mut Session,
    expr: &Expr,
    (sql, parameters): (&str, &[Value]),
) -> Result<(Value, ExprType), MysqlError> {
    let types = session.parameter_types(parameters);
    // The expression may read a variable that an earlier expression, or itself, assigns.
    let context = BindContext { assigns_variables: true, parameters, ..session.bind_context(&types) };
    let bound = bind_scalar(expr, sql, &context)?;
    bound_value(session, bound, parameters, false)
}

/// Returns the value and the type of a bound expression; `stores` is true if the value is stored.
pub(crate) fn bound_value(
    session: &mut Session,
    bound: BoundExpression,
    parameters: &[Value],
    stores: bool,
) -> Result<(Value, ExprType), MysqlError> {
    let BoundExpression { expr, subqueries, calls_programs, .. } = bound;
    if calls_programs {
        let uses = use_tables_of(session, &subqueries)?;
        session.statement.uses = uses.iter().map(|used| used.key).collect();
        session.statement.sets_variables = true;
        let parts = Arc::new(session.with_optimizer(parameters, &subqueries, plan_parts)?);
        let value = session.change(ChangeReads::of_query(parts.lock_wait()), |session, transaction| {
            let mut execution = Execution::new(session, transaction.view(), parameters, stores)
                .with_parts(&parts)
                .locking(transaction)
                .calling(true, session, transaction)?;
            execution.with(session, |cx| evaluate_scalar(&expr, &mut cx.exec.eval))
        })?;
        return Ok((value, expr.ty));
    }
    let mut execution = expression_execution(session, &subqueries, (parameters, stores))?;
    let value = execution.with(session, |cx| evaluate_scalar(&expr, &mut cx.exec.eval))?;
    Ok((value, expr.ty))
}

/// Keeps the definitions of the tables that subqueries read from changing, and returns the uses.
///
/// # Errors
/// 1412 if one has changed since the expression was bound; errors of waiting for a session that changes one.
fn use_tables_of(session: &mut Session, subqueries: &[BoundSubquery]) -> Result<Vec<TableUse>, MysqlError> {
    let (mut uses, mut read) = (Vec::new(), Vec::new());
    for subquery in subqueries {
        tables_of_query(&subquery.query, &[], &mut |table, relation| {
            let strength = relation.lock.map(|lock| lock.strength);
            uses.extend(TableUse::new(&session.locks, table, Some(&relation.alias), strength));
            if let RelationSource::Base(table) = &relation.source
                && !table.is_private
            {
                read.push(table.clone());
            }
        });
    }
    session.use_tables(&uses)?;
    let catalog = session.instance.engine().catalog();
    let is_current = |table: &Arc<TableDef>| {
        let now = catalog.table(&table.database, &table.name);
        now.is_some_and(|now| {
            let mut indexes = now.indexes.iter().zip(&table.indexes);
            (now.id, now.schema_version, now.indexes.len())
                == (table.id, table.schema_version, table.indexes.len())
                && indexes.all(|(now, then)| Arc::ptr_eq(now, then))
        })
    };
    match read.iter().all(is_current) {
        true => Ok(uses),
        false => Err(MysqlError::table_definition_changed()),
    }
}

/// Makes an execution for an expression with these subqueries.
fn expression_execution(
    session: &mut Session,
    subqueries: &[BoundSubquery],
    (parameters, stores): (&[Value], bool),
) -> Result<Execution, MysqlError> {
    if subqueries.is_empty() {
        let view = session.latest_view();
        return Ok(Execution::new(session, view, parameters, stores));
    }
    use_tables_of(session, subqueries)?;
    let parts = Arc::new(session.with_optimizer(parameters, subqueries, plan_parts)?);
    let view = session.read_view();
    Ok(Execution::new(session, view, parameters, stores).with_parts(&parts))
}

/// Evaluates the WHERE of a SHOW: returns for each of `rows` whether `condition` is true.
pub(crate) fn over_rows(
    session: &mut Session,
    condition: &Expr,
    (sql, parameters): (&str, &[Value]),
    rows: &RowSet,
) -> Result<Vec<bool>, MysqlError> {
    let batch = rows.batch()?;
    let columns: Vec<(&str, ExprType)> =
        rows.columns.iter().map(|c| (c.name.as_str(), shown_type(c))).collect();
    let types = session.parameter_types(parameters);
    let bound =
        leafline_planner::binder::bind_over_columns(condition, sql, &session.bind_context(&types), &columns)?;
    Filter::new(session, bound, parameters)?.holds(session, &batch)
}

/// Returns the type of a column of SHOW. Texts are names; their collation gives way to any other.
fn shown_type(column: &ColumnMeta) -> ExprType {
    let ty = column.expr_type();
    match ty.sql.is_character() {
        true => ExprType { collation: Collation::Utf8mb3GeneralCi, ..ty },
        false => ty,
    }
}

/// A bound condition over rows that a statement has read itself.
pub(crate) struct Filter {
    condition: [leafline_expr::Expr; 1],
    execution: Execution,
}

impl Filter {
    /// Makes a filter of a bound condition, with its subqueries, for a statement with these parameters.
    ///
    /// # Errors
    /// Planning a subquery fails with its own errors.
    pub(crate) fn new(
        session: &mut Session,
        bound: BoundExpression,
        parameters: &[Value],
    ) -> Result<Filter, MysqlError> {
        if bound.calls_programs {
            return Err(MysqlError::not_supported("stored functions in the WHERE of SHOW and HANDLER"));
        }
        let execution = expression_execution(session, &bound.subqueries, (parameters, false))?;
        Ok(Filter { condition: [bound.expr], execution })
    }

    /// Returns for each row whether the condition is true.
    ///
    /// # Errors
    /// Evaluating the condition fails with its own errors.
    pub(crate) fn holds(&mut self, session: &mut Session, batch: &Batch) -> Result<Vec<bool>, MysqlError> {
        let condition = &self.condition;
        let selected = self
            .execution
            .with(session, |cx| leafline_expr::evaluate_filter(condition, batch, &mut cx.exec.eval))?;
        Ok((0..batch.rows).map(|row| selected.contains(row)).collect())
    }
}

/// Formats a value as text; `NULL` for NULL.
pub(crate) fn text(value: &Value, ty: &SqlType) -> String {
    to_text(value, ty).map_or_else(|| "NULL".into(), |text| text.to_string())
}
