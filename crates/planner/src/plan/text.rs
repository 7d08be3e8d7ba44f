//! Names of columns and texts of expressions, as EXPLAIN shows them.

use leafline_expr::Expr;
use leafline_table::ColumnDef;

/// The name of a table's column; for that of a functional key part its expression.
pub(crate) fn column_name(column: &ColumnDef) -> String {
    match &column.generated {
        Some(generated) if column.is_hidden() => format!("({})", generated.expression),
        _ => column.name.clone(),
    }
}

/// An expression with the names of its input's columns.
pub(crate) fn text(expr: &Expr, names: &[String]) -> String {
    let name = |column: usize| names.get(column).filter(|name| !name.starts_with('#')).cloned();
    expr.display_with(&name).to_string()
}

/// Conditions that all have to be true.
pub(crate) fn conjunction<'e>(conditions: impl IntoIterator<Item = &'e Expr>, names: &[String]) -> String {
    conditions.into_iter().map(|condition| text(condition, names)).collect::<Vec<_>>().join(" and ")
}

/// The names of the columns of a derived table: those of columns inside it, nothing for what is computed.
pub(super) fn derived_names(alias: &str, inner: Vec<String>) -> Vec<String> {
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let base = |(at, name): (usize, String)| match name.rsplit('.').next() {
        Some(base) if is_name(base) => format!("{alias}.{base}"),
        _ => format!("#{at}"),
    };
    inner.into_iter().enumerate().map(base).collect()
}
