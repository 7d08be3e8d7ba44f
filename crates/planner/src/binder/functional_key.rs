//! Functional key parts (MySQL 8.0 manual, "CREATE INDEX Statement"). Each has a generated column of its own, behind all other
//! columns of its table, which statements neither name nor show.
//!
//! The column has the type of the expression, so that it holds every value unchanged. The column is always nullable: the
//! nullability of an expression's type is only a hint.

use leafline_expr::Expr;
use leafline_table::{ColumnDef, GeneratedColumn, GeneratedKind, IndexSpec, IndexSpecKind, TableSpec};
use leafline_types::{Collation, MysqlError, SqlType};

use super::BindContext;
use super::row_rules::bound_key_part;
use super::selected::LONGEST_VARCHAR;
use leafline_syntax::ast::{KeyDefinition, KeyKind, KeyPartValue};

/// The default name of an index whose first part is an expression.
const DEFAULT_NAME: &str = "functional_index";
/// Number of characters of the index's name that the name of a column takes over.
const NAME_LENGTH: usize = 40;

/// Adds the columns of the functional parts of `keys`, which, except for FULLTEXT keys, are the last indexes of `spec`.
///
/// # Errors
/// The errors of `key_columns`.
pub fn add_key_columns(
    spec: &mut TableSpec,
    keys: &[KeyDefinition],
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    let keys: Vec<&KeyDefinition> = keys.iter().filter(|key| key.kind != KeyKind::Fulltext).collect();
    let first = spec.indexes.len().saturating_sub(keys.len());
    let mut added: Vec<IndexSpec> = spec.indexes.split_off(first);
    for (key, index) in keys.into_iter().zip(&mut added) {
        name_index(key, index, &spec.indexes);
        let columns = key_columns(key, index, &spec.columns, context)?;
        spec.columns.extend(columns);
        spec.indexes.push(index.clone());
    }
    Ok(())
}

/// Names an unnamed index that begins with an expression.
pub(super) fn name_index(key: &KeyDefinition, index: &mut IndexSpec, others: &[IndexSpec]) {
    let is_functional =
        matches!(key.parts.first().map(|part| &part.value), Some(KeyPartValue::Expression(_)));
    if index.name.is_some() || !is_functional {
        return;
    }
    let taken = |name: &str| {
        let mut names = others.iter().filter_map(|other| other.name.as_deref());
        names.any(|other| other.eq_ignore_ascii_case(name))
    };
    let mut name = DEFAULT_NAME.to_owned();
    for number in 2.. {
        if !taken(&name) {
            break;
        }
        name = format!("{DEFAULT_NAME}_{number}");
    }
    index.name = Some(name);
}

/// Makes the columns for the functional parts of a key over `columns`, and sets the names of the parts of `index`.
///
/// # Errors
/// 3756 in a primary key, 3762 for an expression that is only a column, 3753, 3757 and 3761 for values that cannot be keys, 1072
/// for a part that is the column of another functional part; the errors of any expression.
pub(super) fn key_columns(
    key: &KeyDefinition,
    index: &mut IndexSpec,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<Vec<ColumnDef>, MysqlError> {
    let mut made: Vec<ColumnDef> = Vec::new();
    for (number, (part, own)) in key.parts.iter().zip(&mut index.parts).enumerate() {
        let text = match &part.value {
            KeyPartValue::Expression(text) => text,
            KeyPartValue::Column { name, .. } => {
                let is_named = |column: &&ColumnDef| column.name.eq_ignore_ascii_case(&name.value);
                match columns.iter().find(is_named) {
                    Some(column) if column.is_hidden() => {
                        return Err(MysqlError::key_column_missing(&name.value));
                    }
                    _ => continue,
                }
            }
        };
        if index.kind == IndexSpecKind::Primary {
            return Err(MysqlError::functional_primary_key());
        }
        let of_index = index.name.as_deref().or(index_name(key)).unwrap_or_default();
        let others = || columns.iter().chain(&made).map(|column| column.name.as_str());
        let mut column =
            ColumnDef::new(column_name(of_index, number, others), SqlType::Null, true, Collation::Binary);
        column.invisible = true;
        column.generated = Some(GeneratedColumn { expression: text.clone(), kind: GeneratedKind::KeyPart });
        retype(&mut column, columns, context)?;
        own.column.clone_from(&column.name);
        made.push(column);
    }
    Ok(made)
}

/// Returns the first column of a key; it names a key without a name.
fn index_name(key: &KeyDefinition) -> Option<&str> {
    match key.parts.first().map(|part| &part.value) {
        Some(KeyPartValue::Column { name, .. }) => Some(&name.value),
        _ => None,
    }
}

/// Returns a name that no other column has.
fn column_name<'n, Names: Iterator<Item = &'n str>>(
    index: &str,
    part: usize,
    others: impl Fn() -> Names,
) -> String {
    let index: String = index.chars().take(NAME_LENGTH).collect();
    let name = |number: usize| format!("!hidden!{index}!{part}!{number}");
    let taken = |name: &String| others().any(|other| other.eq_ignore_ascii_case(name));
    let mut number = 0;
    while taken(&name(number)) {
        number += 1;
    }
    name(number)
}

/// Gives the column of a functional key part the type that its expression has over `columns`.
///
/// # Errors
/// The errors of [`key_columns`].
pub(super) fn retype(
    column: &mut ColumnDef,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    let Some(generated) = &column.generated else { return Ok(()) };
    let expr = bound_key_part(&generated.expression, columns, context)?;
    if expr.as_column().is_some() {
        return Err(MysqlError::functional_index_on_column());
    }
    column.ty = key_type(&expr, &generated.expression)?;
    let is_text = column.ty.is_character() || column.ty.has_members();
    column.collation = if is_text { expr.ty.collation } else { Collation::Binary };
    Ok(())
}

/// Returns the type of a column that holds the values of an expression.
fn key_type(expr: &Expr, text: &str) -> Result<SqlType, MysqlError> {
    Ok(match &expr.ty.sql {
        SqlType::Json => return Err(MysqlError::functional_index_on_json()),
        SqlType::Null => return Err(MysqlError::functional_index_not_indexable(text)),
        ty if ty.is_large() => return Err(MysqlError::functional_index_on_lob()),
        SqlType::Char { len }
        | SqlType::Varchar { len }
        | SqlType::Binary { len }
        | SqlType::Varbinary { len }
            if *len > LONGEST_VARCHAR =>
        {
            return Err(MysqlError::functional_index_on_lob());
        }
        // Trailing spaces and zeros belong to the value.
        SqlType::Char { len } | SqlType::Varchar { len } => SqlType::Varchar { len: (*len).max(1) },
        SqlType::Binary { len } | SqlType::Varbinary { len } => SqlType::Varbinary { len: (*len).max(1) },
        other => other.clone(),
    })
}
