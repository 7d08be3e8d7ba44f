//! Tests of the binder, against a catalog made from CREATE TABLE statements.

mod dml;
mod errors;
mod grouping;
mod metadata;
mod queries;
mod tpch;
mod tpch_queries;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use leafline_table::{TableDef, TableId};
use leafline_types::{CancelToken, Collation, MysqlError, Value};

use super::{BindContext, CatalogLookup, VariableLookup, bind, table_spec};
use crate::bound::{BoundKind, BoundSelect, BoundStatement};
use leafline_syntax::ast::{StatementKind, VariableScope};
use leafline_syntax::{LexMode, parse};

/// Tables by database and name.
#[derive(Default)]
struct Tables(HashMap<(String, String), Arc<TableDef>>);

impl Tables {
    /// Makes the tables of these CREATE TABLE statements; tables without a database are in `test`.
    fn new(statements: &[&str]) -> Tables {
        let mut tables = Tables::default();
        for (number, sql) in (1..).zip(statements) {
            let statement = parse(sql, LexMode::default()).unwrap_or_else(|e| panic!("{sql}: {e}"));
            let StatementKind::CreateTable(create) = statement.kind else { panic!("{sql}") };
            let database = create.name.database.as_ref().map_or("test", |d| &d.value);
            let (spec, _) = table_spec(&create, database, Collation::Utf8mb4_0900Bin, Default::default())
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
            let table = spec.unstored(TableId(number), 16_384).unwrap_or_else(|e| panic!("{sql}: {e}"));
            tables.0.insert((database.to_owned(), table.name.clone()), Arc::new(table));
        }
        tables
    }
}

impl CatalogLookup for Tables {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        if !self.0.keys().any(|(d, _)| d == database) {
            return Err(MysqlError::unknown_database(database));
        }
        let found = self.0.get(&(database.to_owned(), name.to_owned()));
        found.cloned().ok_or_else(|| MysqlError::no_such_table(database, name))
    }
}

struct Variables;

impl VariableLookup for Variables {
    fn user(&self, name: &str) -> Value {
        if name == "five" { Value::Int(5) } else { Value::Null }
    }

    fn system(&self, _scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError> {
        match name {
            "version" => Ok(Value::string("8")),
            _ => Err(MysqlError::unknown_system_variable(name)),
        }
    }
}

/// Makes two small tables, and a third in another database.
fn small() -> Tables {
    Tables::new(&[
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(10) COLLATE utf8mb4_bin, \
         c DECIMAL(10,2) NOT NULL DEFAULT 1.5, d DATE, e BIGINT UNSIGNED NOT NULL, f DATETIME(3), \
         UNIQUE KEY ue (e), KEY ab (a, b))",
        "CREATE TABLE u (id INT NOT NULL PRIMARY KEY, a INT, x DOUBLE, y TEXT)",
        "CREATE TABLE v (k1 INT NOT NULL, k2 INT NOT NULL, z INT, PRIMARY KEY (k1, k2))",
        "CREATE TABLE other.t (id INT, w INT)",
    ])
}

fn bind_with(tables: &Tables, sql: &str, only_full_group_by: bool) -> Result<BoundStatement, MysqlError> {
    let statement = parse(sql, LexMode::default())?;
    let context = BindContext {
        catalog: tables,
        variables: &Variables,
        database: Some("test"),
        collation: Collation::Utf8mb4_0900Bin,
        only_full_group_by,
        modes: Default::default(),
        dates: Default::default(),
        foreign_key_checks: true,
        derived_merge: true,
        use_invisible_indexes: false,
        default_week_format: 0,
        group_concat_max_len: 1024,
        assigns_variables: statement.assigns_variables,
        parameter_types: &[],
        parameters: &[],
        locals: None,
        cancel: &CancelToken::new(),
        hints: &statement.hints.elsewhere,
        access: &crate::authority::Unlimited,
    };
    bind(&statement, sql, &context)
}

fn bound(sql: &str) -> BoundStatement {
    bind_with(&small(), sql, true).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn query(sql: &str) -> BoundSelect {
    match bound(sql).kind {
        BoundKind::Select(select) => *select,
        other => panic!("{sql}: {other:?}"),
    }
}

fn error(sql: &str) -> MysqlError {
    match bind_with(&small(), sql, true) {
        Ok(_) => panic!("{sql} was bound"),
        Err(e) => e,
    }
}
