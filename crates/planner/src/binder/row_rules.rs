//! The expressions of a table's definition: defaults, generated columns, CHECK constraints. The catalog keeps their text. CREATE
//! and ALTER TABLE check them, and each statement that writes to the table binds them.

use std::sync::Arc;

use leafline_expr::Volatility;
use leafline_expr::{Expr, ExprKind};
use leafline_table::{
    CheckDef, ColumnDef, DefaultValue, ForeignKeySpec, GeneratedKind, IndexSpec, IndexSpecKind,
    ReferentialAction, TableDef, TableSpec, foreign_key_names,
};
use leafline_types::error::errno;
use leafline_types::{ExprType, MysqlError};

use super::scope::{Block, Clause, Scope, Visible};
use super::{BindContext, Binder};
use crate::bound::{BlockColumn, ColumnOrigin, IndexedExpression, RowRules};
use leafline_syntax::parse_stored;

impl Binder<'_> {
    /// Binds the expressions that compute and check the rows of a table.
    pub fn row_rules(&self, table: &TableDef) -> Result<RowRules, MysqlError> {
        match table.has_expressions() {
            true => row_rules(&table.columns, &table.checks, self.context),
            false => Ok(RowRules::default()),
        }
    }
}

/// Binds the expressions that compute and check rows of these columns and constraints.
///
/// # Errors
/// The errors of any expression.
pub fn row_rules(
    columns: &[ColumnDef],
    checks: &[CheckDef],
    context: &BindContext<'_>,
) -> Result<RowRules, MysqlError> {
    let mut rules = RowRules::default();
    let bind = |text: &str| bound(text, columns, context).map(|(expr, _)| expr);
    for (at, column) in columns.iter().enumerate() {
        if let Some(DefaultValue::Expression(text)) = &column.default {
            rules.defaults.push((at, bind(text)?));
        }
        if let Some(generated) = &column.generated {
            rules.generated.push((at, bind(&generated.expression)?));
        }
    }
    for check in checks.iter().filter(|check| check.enforced) {
        rules.checks.push((check.name.clone(), bind(&check.expression)?));
    }
    Ok(rules)
}

/// Returns the columns that an expression of a table reads, by position.
pub(super) fn columns_read(
    text: &str,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<Vec<usize>, MysqlError> {
    bound(text, columns, context).map(|(expr, _)| expr.columns().into_iter().collect())
}

/// Binds the text of an expression over the columns of a row, and returns whether it reads variables.
fn bound(text: &str, columns: &[ColumnDef], context: &BindContext<'_>) -> Result<(Expr, bool), MysqlError> {
    let expr = parse_stored(text)?;
    // The expression means the same in every session.
    let context = BindContext {
        collation: leafline_types::Collation::DEFAULT,
        modes: Default::default(),
        default_week_format: 0,
        parameter_types: &[],
        parameters: &[],
        locals: None,
        hints: &[],
        access: &crate::authority::Unlimited,
        ..*context
    };
    let mut binder = Binder::new(text, &context);
    let mut block = Block::default();
    let mut scope = Scope::default();
    for (id, column) in columns.iter().enumerate() {
        let ty = ExprType::column(column.ty.clone(), column.nullable, column.collation);
        let origin = ColumnOrigin::Relation { relation: 0, ordinal: id };
        block.columns.push(BlockColumn { origin, ty });
        block.names.push(column.name.clone());
        if !column.is_hidden() {
            scope.columns.push(Visible { id, name: column.name.clone() });
        }
    }
    block.in_aggregate = true;
    let expr = binder.expression(&mut block, &scope, Clause::FieldList, &expr)?;
    Ok((expr, binder.reads_variables))
}

/// Returns the indexed generated columns of a table that have one value in all sessions.
pub(super) fn indexed_expressions(
    table: &TableDef,
    context: &BindContext<'_>,
) -> Result<Arc<[IndexedExpression]>, MysqlError> {
    let mut found = Vec::new();
    for (ordinal, column) in table.columns.iter().enumerate() {
        if let Some(generated) = &column.generated
            && table.index_of_column(ordinal).is_some()
        {
            let (expr, _) = bound(&generated.expression, &table.columns, context)?;
            if !expr.depends_on_time() {
                found.push(IndexedExpression { ordinal, expr });
            }
        }
    }
    Ok(found.into())
}

/// Binds the expression of a functional key part.
pub(super) fn bound_key_part(
    text: &str,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<Expr, MysqlError> {
    bound(text, columns, context).map(|(expr, _)| expr).map_err(|error| elsewhere(error, "functional index"))
}

/// Binds the partition function, and returns whether it reads variables.
pub(super) fn bound_partition_function(
    text: &str,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<(Expr, bool), MysqlError> {
    bound(text, columns, context).map_err(|error| elsewhere(error, "partition function"))
}

/// Checks the expressions of a new table. `owners`: for each constraint, the column that declares it.
///
/// # Errors
/// 1054 and 3820 for unknown columns; for functional key parts 3754 and 3758, for generated columns 3102, 3106, 3107, 3109 and
/// 3763, for defaults 3767 and 3768, for constraints 3812 to 3818; the errors of any expression.
pub fn check_expressions(
    spec: &TableSpec,
    owners: &[Option<usize>],
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    let primary = spec.indexes.iter().filter(|index| index.kind == IndexSpecKind::Primary);
    let in_primary: Vec<&str> =
        primary.flat_map(|index| &index.parts).map(|part| part.column.as_str()).collect();
    for (at, column) in spec.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            if generated.kind == GeneratedKind::Virtual
                && in_primary.iter().any(|name| name.eq_ignore_ascii_case(&column.name))
            {
                let what = "Defining a virtual generated column as primary key";
                return Err(MysqlError::unsupported_on_generated_column(what));
            }
            match column.is_hidden() {
                true => check_key_part(column, &generated.expression, spec, context)?,
                false => check_generated(at, column, &generated.expression, spec, context)?,
            }
        }
        if let Some(DefaultValue::Expression(text)) = &column.default {
            let (expr, reads_variables) = bound(text, &spec.columns, context)
                .map_err(|error| elsewhere(error, "default value expression"))?;
            if let Some(function) = stored_function(&expr) {
                return Err(MysqlError::default_function(&column.name, function));
            }
            if reads_variables {
                return Err(MysqlError::not_supported("variables in DEFAULT (expression)"));
            }
            for used in expr.columns() {
                let other = &spec.columns[used];
                let computed =
                    other.generated.is_some() || matches!(other.default, Some(DefaultValue::Expression(_)));
                if other.auto_increment {
                    return Err(MysqlError::default_auto_increment(&column.name));
                }
                if computed && used >= at {
                    return Err(MysqlError::default_non_prior(&column.name));
                }
            }
        }
    }
    check_conditions(spec, owners, context)
}

fn check_generated(
    at: usize,
    column: &ColumnDef,
    text: &str,
    spec: &TableSpec,
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    let (expr, reads_variables) =
        bound(text, &spec.columns, context).map_err(|error| elsewhere(error, "generated column function"))?;
    if let Some(function) = changing_function(&expr) {
        return Err(MysqlError::generated_column_function(&column.name, function));
    }
    if reads_variables {
        return Err(MysqlError::generated_column_not_allowed(&column.name));
    }
    for used in expr.columns() {
        let other = &spec.columns[used];
        if other.auto_increment {
            return Err(MysqlError::generated_column_auto_increment(&column.name));
        }
        let stored =
            column.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::Stored);
        if stored && key_that_changes(spec, &other.name).is_some() {
            return Err(MysqlError::cannot_add_foreign_key());
        }
        if other.generated.is_some() && used >= at {
            return Err(MysqlError::generated_column_non_prior());
        }
    }
    Ok(())
}

fn check_key_part(
    column: &ColumnDef,
    text: &str,
    spec: &TableSpec,
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    let is_part = |index: &&IndexSpec| index.parts.iter().any(|part| part.column == column.name);
    let index = spec.indexes.iter().find(is_part);
    let index = index.and_then(|index| index.name.as_deref()).unwrap_or_default();
    let (expr, reads_variables) = bound(text, &spec.columns, context)?;
    if reads_variables || changing_function(&expr).is_some() {
        return Err(MysqlError::functional_index_function(index));
    }
    let automatic = |at: &usize| spec.columns.get(*at).is_some_and(|column| column.auto_increment);
    match expr.columns().iter().any(automatic) {
        true => Err(MysqlError::functional_index_auto_increment(index)),
        false => Ok(()),
    }
}

fn check_conditions(
    spec: &TableSpec,
    owners: &[Option<usize>],
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    for (position, check) in spec.checks.iter().enumerate() {
        let (expr, reads_variables) = bound(&check.expression, &spec.columns, context).map_err(|error| {
            match unknown_column(&error) {
                Some(column) => MysqlError::check_unknown_column(&check.name, column),
                None => error,
            }
        })?;
        if let Some(function) = changing_function(&expr) {
            return Err(MysqlError::check_function(&check.name, function));
        }
        if reads_variables {
            return Err(MysqlError::not_supported("variables in CHECK constraints"));
        }
        if !expr.is_condition() {
            return Err(MysqlError::check_not_boolean(&check.name));
        }
        let columns = expr.columns();
        let automatic = |at: &usize| spec.columns.get(*at).is_some_and(|column| column.auto_increment);
        if columns.iter().any(automatic) {
            return Err(MysqlError::check_auto_increment(&check.name));
        }
        for column in columns.iter().filter_map(|at| spec.columns.get(*at)) {
            if let Some(key) = key_that_changes(spec, &column.name) {
                return Err(MysqlError::check_of_foreign_column(&column.name, &check.name, &key));
            }
        }
        if let Some(Some(owner)) = owners.get(position)
            && columns.iter().any(|column| column != owner)
        {
            return Err(MysqlError::column_check_other_column(&check.name));
        }
    }
    Ok(())
}

/// Returns the name of a foreign key whose actions change that column.
fn key_that_changes(spec: &TableSpec, column: &str) -> Option<String> {
    let changes = |key: &ForeignKeySpec| {
        let cascades = key.on_delete == ReferentialAction::SetNull || !key.on_update.refuses();
        cascades && key.columns.iter().any(|name| name.eq_ignore_ascii_case(column))
    };
    let place = spec.foreign_keys.iter().position(changes)?;
    foreign_key_names(&spec.name, [], &spec.foreign_keys).into_iter().nth(place)
}

/// Returns the first function in an expression whose value can change while its arguments do not, or that is stored.
fn changing_function(expr: &Expr) -> Option<String> {
    let mut found = stored_function(expr);
    expr.visit(&mut |e| {
        if let ExprKind::Call { function, .. } = &e.kind
            && function.definition().volatility != Volatility::Immutable
        {
            found.get_or_insert_with(|| function.definition().name.to_ascii_lowercase());
        }
        found.is_none()
    });
    found
}

/// Returns the first stored function in an expression.
fn stored_function(expr: &Expr) -> Option<String> {
    let mut found = None;
    expr.visit(&mut |e| {
        if let ExprKind::Program(call) = &e.kind {
            found.get_or_insert_with(|| format!("`{}`.`{}`", call.function.database, call.function.name));
        }
        found.is_none()
    });
    found
}

/// Returns the column that error 1054 is about.
fn unknown_column(error: &MysqlError) -> Option<&str> {
    let named = (error.code == errno::ER_BAD_FIELD_ERROR).then(|| error.message.split('\'').nth(1));
    named.flatten()
}

/// Returns error 1054 for another place of the lookup.
fn elsewhere(error: MysqlError, place: &str) -> MysqlError {
    match unknown_column(&error) {
        Some(column) => MysqlError::unknown_column(column, place),
        None => error,
    }
}
