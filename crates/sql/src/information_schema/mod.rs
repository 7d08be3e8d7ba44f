//! The tables of `information_schema`, `performance_schema` and `sys` that there are. A statement that names one is bound with the rows it has then, and bound anew for each
//! execution.

mod column_statistics;
mod index_usage;
mod optimizer_trace;
mod partitions;
mod process_list;
mod resource_groups;
mod statement_digests;

use crate::session::Session;
use leafline_types::{Coercibility, Collation, ExprType, SqlType, Value};

/// A table that is no stored one.
pub struct SchemaTable {
    /// Names and types of its columns.
    pub columns: Vec<(String, ExprType)>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}

/// The table of that name, with the rows it has now.
pub(crate) fn table(session: &Session, database: &str, name: &str) -> Option<SchemaTable> {
    let is = |(known_database, known): (&str, &str)| {
        database.eq_ignore_ascii_case(known_database) && name.eq_ignore_ascii_case(known)
    };
    if is(("information_schema", "COLUMN_STATISTICS")) {
        return Some(column_statistics::table(session));
    }
    if is(("information_schema", "OPTIMIZER_TRACE")) {
        return Some(optimizer_trace::table(session));
    }
    if is(("information_schema", "PARTITIONS")) {
        return Some(partitions::table(session));
    }
    if is(("information_schema", "PROCESSLIST")) {
        return Some(process_list::table(session));
    }
    if is(("information_schema", "RESOURCE_GROUPS")) {
        return Some(resource_groups::table(session));
    }
    if is_statement_digests(database, name) {
        return Some(statement_digests::summary(session));
    }
    if is(("sys", "schema_unused_indexes")) {
        return Some(index_usage::unused(session));
    }
    if is(("sys", "schema_redundant_indexes")) {
        return Some(index_usage::redundant(session));
    }
    is(("sys", "statements_with_wrong_estimates")).then(|| statement_digests::wrong_estimates(session))
}

/// Whether that is the table of what was counted of statements.
pub(crate) fn is_statement_digests(database: &str, name: &str) -> bool {
    database.eq_ignore_ascii_case("performance_schema")
        && name.eq_ignore_ascii_case("events_statements_summary_by_digest")
}

/// A column of numbers of a type.
fn number_column(name: &str, ty: SqlType) -> (String, ExprType) {
    (name.into(), ExprType::column(ty, false, Collation::Binary))
}

/// A column of text that may be NULL.
fn text_column(name: &str, ty: SqlType) -> (String, ExprType) {
    (name.into(), ExprType::string(ty, true, Collation::Utf8mb4_0900AiCi, Coercibility::Implicit))
}

/// A column of names.
fn name_column(name: &str) -> (String, ExprType) {
    let ty = SqlType::Varchar { len: 64 };
    (name.into(), ExprType::string(ty, false, Collation::Utf8mb3GeneralCi, Coercibility::Implicit))
}
