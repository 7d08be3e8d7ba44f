//! What statements need of the binder: its view of the session, and expressions that stand alone.

use super::execution::Execution;
use super::parameters::types_of;
use super::set::system_variable;
use crate::information_schema;
use crate::result::{ColumnMeta, RowSet};
use crate::session::Session;
use crate::session::settings::Modes;
use leafline_expr::evaluate_scalar;
use leafline_planner::SystemRows;
use leafline_planner::binder::{BindContext, CatalogLookup, VariableLookup, bind_scalar};
use leafline_planner::bound::{BoundExpression, BoundSubquery};
use leafline_planner::optimizer::plan_parts;
use leafline_syntax::ast::{Expr, VariableScope};
use leafline_table::{ForeignKeyDef, TableDef, ViewDef};
use leafline_types::column::Batch;
use leafline_types::convert::to_text;
use leafline_types::{Coercibility, Collation, ExprType, MysqlError, SqlType, Value};
use std::sync::Arc;

impl CatalogLookup for Session {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        self.stored_table(database, name)
    }

    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        Session::own_table(self, database, name).cloned()
    }

    fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.instance.engine().catalog().view(database, name).cloned()
    }

    fn schema_table(&self, database: &str, name: &str) -> Result<Option<SystemRows>, MysqlError> {
        information_schema::table(self, database, name)
    }

    fn references(&self, database: &str, name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let catalog = self.instance.engine().catalog();
        catalog.references(database, name).map(|(child, key)| (child.clone(), key.clone())).collect()
    }
}

impl VariableLookup for Session {
    fn user(&self, name: &str) -> Value {
        self.user_variables.get(name).0
    }

    fn user_collation(&self, name: &str) -> Option<Collation> {
        self.user_variables.collation(name)
    }

    fn system(&self, scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError> {
        Ok(system_variable(self, scope, name)?.0)
    }
}

impl Session {
    /// What binding depends on; `parameter_types` are those of an execution, none while preparing.
    pub(crate) fn bind_context<'a>(&'a self, parameter_types: &'a [ExprType]) -> BindContext<'a> {
        BindContext {
            catalog: self,
            variables: self,
            database: self.database(),
            collation: self.settings.collation,
            only_full_group_by: self.settings.sql_mode.has(Modes::ONLY_FULL_GROUP_BY),
            modes: self.settings.bind_modes(),
            dates: self.settings.evaluation_mode().dates,
            foreign_key_checks: self.settings.foreign_key_checks,
            derived_merge: self.settings.optimizer_switch.derived_merge,
            use_invisible_indexes: self.settings.optimizer_switch.use_invisible_indexes,
            default_week_format: self.settings.default_week_format,
            group_concat_max_len: self.settings.group_concat_max_len,
            assigns_variables: false,
            parameter_types,
            parameters: &[],
            cancel: &self.cancel,
            hints: &[],
            access: &*self.access,
        }
    }
}

/// The value and type of an expression without columns, of a statement with its parameters.
pub(crate) fn constant(
    session: &mut Session,
    expr: &Expr,
    (sql, parameters): (&str, &[Value]),
) -> Result<(Value, ExprType), MysqlError> {
    let collation = session.settings.collation;
    let types = types_of(parameters, collation);
    // Whatever it assigns is there when the next is evaluated, and may be what it reads.
    let context = BindContext { assigns_variables: true, parameters, ..session.bind_context(&types) };
    let BoundExpression { expr, subqueries } = bind_scalar(expr, sql, &context)?;
    let mut execution = expression_execution(session, &subqueries, parameters)?;
    let value = execution.with(session, |cx| evaluate_scalar(&expr, &mut cx.eval))?;
    Ok((value, expr.ty))
}

/// An execution for an expression with these subqueries.
fn expression_execution(
    session: &mut Session,
    subqueries: &[BoundSubquery],
    parameters: &[Value],
) -> Result<Execution, MysqlError> {
    if subqueries.is_empty() {
        let view = session.passing_view();
        return Ok(Execution::new(session, view, parameters, false));
    }
    let parts = Arc::new(session.with_optimizer(parameters, subqueries, plan_parts)?);
    let view = session.read_view();
    Ok(Execution::new(session, view, parameters, false).with_parts(&parts))
}

/// For each of `rows` whether `condition` is true of it: WHERE of SHOW.
pub(crate) fn over_rows(
    session: &mut Session,
    condition: &Expr,
    (sql, parameters): (&str, &[Value]),
    rows: &RowSet,
) -> Result<Vec<bool>, MysqlError> {
    let batch = rows.batch()?;
    let columns: Vec<(&str, ExprType)> =
        rows.columns.iter().map(|c| (c.name.as_str(), shown_type(c))).collect();
    let types = types_of(parameters, session.settings.collation);
    let bound =
        leafline_planner::binder::bind_over_columns(condition, sql, &session.bind_context(&types), &columns)?;
    Filter::new(session, bound, parameters)?.holds(session, &batch)
}

/// The type of a column of SHOW: its texts are names, which have a collation that any other takes in.
fn shown_type(column: &ColumnMeta) -> ExprType {
    let ty = column.expr_type();
    match ty.sql.is_character() {
        true => ExprType { collation: Collation::Utf8mb3GeneralCi, ..ty },
        false => ty,
    }
}

/// A condition over rows that a statement has read itself.
pub(super) struct Filter {
    condition: [leafline_expr::Expr; 1],
    execution: Execution,
}

impl Filter {
    /// Evaluates the bound condition, with its subqueries, of a statement with these parameters.
    ///
    /// # Errors
    /// Planning a subquery fails with its own errors.
    pub(super) fn new(
        session: &mut Session,
        bound: BoundExpression,
        parameters: &[Value],
    ) -> Result<Filter, MysqlError> {
        let execution = expression_execution(session, &bound.subqueries, parameters)?;
        Ok(Filter { condition: [bound.expr], execution })
    }

    /// For each row whether the condition is true of it.
    ///
    /// # Errors
    /// Evaluating the condition fails with its own errors.
    pub(super) fn holds(&mut self, session: &mut Session, batch: &Batch) -> Result<Vec<bool>, MysqlError> {
        let condition = &self.condition;
        let selected = self
            .execution
            .with(session, |cx| leafline_expr::evaluate_filter(condition, batch, &mut cx.eval))?;
        Ok((0..batch.rows).map(|row| selected.contains(row)).collect())
    }
}

/// The type that the value of a parameter or of a user variable is taken to have.
pub(crate) fn parameter_type(value: &Value, collation: Collation) -> ExprType {
    match value {
        Value::Null => ExprType::NULL,
        Value::Int(_) => ExprType::numeric(SqlType::BIGINT, false),
        Value::UInt(_) => ExprType::numeric(SqlType::BIGINT_UNSIGNED, false),
        Value::Decimal(decimal) => {
            // Rounded up, as below: nines of digits before the point are what decimals are stored by.
            let whole = decimal.digits().saturating_sub(decimal.scale()).max(1).next_multiple_of(9);
            let precision = whole.saturating_add(decimal.scale()).min(65);
            let ty = SqlType::decimal(precision, decimal.scale());
            ExprType::numeric(ty, false)
        }
        Value::Double(_) => ExprType::numeric(SqlType::Double, false),
        Value::String(text) => {
            // Rounded up: a plan is kept for values of other lengths.
            let characters = if text.len() <= 32 { 32 } else { text.chars().count().max(32) };
            let length = characters.next_power_of_two();
            let ty = SqlType::Varchar { len: u32::try_from(length).unwrap_or(u32::MAX) };
            ExprType::string(ty, false, collation, Coercibility::Coercible)
        }
        Value::Bytes(bytes) => {
            let ty = SqlType::Varbinary { len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) };
            ExprType::string(ty, false, Collation::Binary, Coercibility::Coercible)
        }
        Value::Json(_) => ExprType::json(false),
        Value::Date(_) => ExprType::numeric(SqlType::Date, false),
        Value::DateTime(_) => ExprType::numeric(SqlType::DateTime { fsp: 6 }, false),
        Value::Time(_) => ExprType::numeric(SqlType::Time { fsp: 6 }, false),
    }
}

/// The SQL type that a value of a program has.
pub fn type_of(value: &Value) -> SqlType {
    parameter_type(value, Collation::DEFAULT).sql
}

/// A value as text; `NULL` for NULL.
pub(crate) fn text(value: &Value, ty: &SqlType) -> String {
    to_text(value, ty).map_or_else(|| "NULL".into(), |text| text.to_string())
}
