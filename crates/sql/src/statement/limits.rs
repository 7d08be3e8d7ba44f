//! Adds LIMITs to queries, or takes them off, before planning.

use crate::settings::Settings;
use leafline_expr::{Expr, ExprKind};
use leafline_planner::bound::{BoundKind, BoundLimit};
use leafline_planner::optimizer::row_limit;
use leafline_planner::plan::RowLimit;
use leafline_syntax::ast::StatementKind;
use leafline_types::{Collation, ExprType, MysqlError, SqlType, Value};

/// Gives a query without LIMIT the limit of `sql_select_limit`.
pub(super) fn limit_by_setting(kind: &StatementKind, bound: &mut BoundKind, settings: &Settings) {
    if let (StatementKind::Query(_) | StatementKind::SelectInto { .. }, BoundKind::Select(select)) =
        (kind, bound)
        && settings.select_limit != u64::MAX
        && select.limit.is_none()
    {
        let ty = ExprType::column(SqlType::BIGINT_UNSIGNED, false, Collation::Binary);
        let count = Expr { kind: ExprKind::Literal(Value::UInt(settings.select_limit)), ty };
        select.limit = Some(BoundLimit { offset: None, count });
    }
}

/// Takes the LIMIT off a query with SQL_CALC_FOUND_ROWS, which counts all rows, and returns it.
pub(super) fn window_of(kind: &StatementKind, bound: &mut BoundKind) -> Result<Option<RowLimit>, MysqlError> {
    match (kind, bound) {
        (StatementKind::Query(query), BoundKind::Select(select))
            if query.first_select().is_some_and(|first| first.calc_found_rows) =>
        {
            select.limit.take().as_ref().map(row_limit).transpose()
        }
        _ => Ok(None),
    }
}
