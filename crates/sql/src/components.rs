//! Components of the server, as MySQL has them.
//!
//! One component is there, `validate_password`. It needs no library; installing it puts the password policy in force.
//! `mysql.component` has a row of each installed component, so that it is in force again at the next start.

use crate::settings::Settings;
use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_table::{ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use std::sync::Arc;

/// The table of installed components.
pub(crate) const TABLE: &str = "component";
/// The name of the component that validates passwords.
pub(crate) const VALIDATE_PASSWORD: &str = "file://component_validate_password";

/// MySQL's table of installed components.
fn table() -> TableSpec {
    let number = |name: &str| ColumnDef::new(name, SqlType::Int { unsigned: true }, false, Collation::Binary);
    let urn = SqlType::Varchar { len: 512 };
    TableSpec {
        database: SYSTEM_DATABASE.into(),
        name: TABLE.into(),
        columns: vec![
            number("component_id"),
            number("component_group_id"),
            ColumnDef::new("component_urn", urn, false, Collation::Utf8mb3GeneralCi),
        ],
        indexes: vec![IndexSpec {
            kind: IndexSpecKind::Primary,
            parts: vec![IndexSpecPart::new("component_id")],
            ..IndexSpec::default()
        }],
        ..TableSpec::default()
    }
}

fn is_validation(row: &[Value]) -> bool {
    row.get(2).and_then(Value::as_str) == Some(VALIDATE_PASSWORD)
}

/// Makes settings follow the installed components. A database without the table gets it, empty.
///
/// # Errors
/// Errors of the engine, if the table cannot be read.
pub(crate) fn start(engine: &Arc<Engine>, settings: &mut Settings) -> Result<(), MysqlError> {
    if engine.catalog().table(SYSTEM_DATABASE, TABLE).is_none() {
        // On failure the first installation creates the table.
        let _ = system_table::make(engine, &table(), &[]);
        return Ok(());
    }
    let table = engine.table(SYSTEM_DATABASE, TABLE)?;
    settings.validates_passwords =
        system_table::rows(engine, &table)?.iter().any(|(_, row)| is_validation(row));
    Ok(())
}

/// Adds the component that validates passwords to the table of installed components, or removes it.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn put_validation(engine: &Arc<Engine>, is_installed: bool) -> Result<(), MysqlError> {
    let row = [Value::UInt(1), Value::UInt(1), Value::string(VALIDATE_PASSWORD)];
    system_table::put(engine, &table(), is_validation, is_installed.then_some(&row[..]))
}
