//! Names of columns and texts of expressions, as EXPLAIN shows them.

use leafline_expr::Expr;
use leafline_table::ColumnDef;

/// Returns the name of a table's column; for the column of a functional key part, the expression.
pub(crate) fn column_name(column: &ColumnDef) -> String {
    match &column.generated {
        Some(generated) if column.is_hidden() => format!("({})", generated.expression),
        _ => column.name.clone(),
    }
}

/// Writes an expression with the names of its input's columns.
pub(crate) fn text(expr: &Expr, names: &[String]) -> String {
    let name = |column: usize| names.get(column).filter(|name| !name.starts_with('#')).cloned();
    expr.display_with(&name).to_string()
}

/// Writes conditions as a conjunction.
pub(crate) fn conjunction<'e>(conditions: impl IntoIterator<Item = &'e Expr>, names: &[String]) -> String {
    conditions.into_iter().map(|condition| text(condition, names)).collect::<Vec<_>>().join(" and ")
}

/// Returns the names of the columns of a derived table: the inner column's name, or nothing for a computed column.
pub(super) fn derived_names(alias: &str, inner: Vec<String>) -> Vec<String> {
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let base = |(at, name): (usize, String)| match name.rsplit('.').next() {
        Some(base) if is_name(base) => format!("{alias}.{base}"),
        _ => format!("#{at}"),
    };
    inner.into_iter().enumerate().map(base).collect()
}
