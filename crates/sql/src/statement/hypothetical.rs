//! CREATE INDEX .. HYPOTHETICAL, and DROP INDEX of a hypothetical index. Neither commits a transaction nor waits for one.

use super::definitions::database_of;
use crate::session::Session;
use crate::show::base_table;
use leafline_planner::binder::index_spec;
use leafline_syntax::ast::{AlterAction, KeyDefinition, KeyKind, KeyPartValue, StatementKind, TableName};
use leafline_types::MysqlError;

pub(super) fn create(
    session: &mut Session,
    table: &TableName,
    key: &KeyDefinition,
) -> Result<(), MysqlError> {
    if key.kind != KeyKind::Index {
        // The rows are not searched for duplicates, so the planner must not rely on uniqueness.
        return Err(MysqlError::not_supported("CREATE UNIQUE INDEX ... HYPOTHETICAL"));
    }
    if key.parts.iter().any(|part| matches!(part.value, KeyPartValue::Expression(_))) {
        // The rows lack the generated column of such a key part.
        return Err(MysqlError::not_supported("a functional key part in CREATE INDEX ... HYPOTHETICAL"));
    }
    database_of(session, table)?;
    let table = base_table(session, table)?;
    session.create_hypothetical(table, index_spec(key))
}

/// Drops the index of a DROP INDEX if it is hypothetical. Returns whether it was.
pub(super) fn drop(session: &mut Session, kind: &StatementKind) -> bool {
    let StatementKind::DropIndex(alter) = kind else { return false };
    let [AlterAction::DropKey(name)] = alter.actions.as_slice() else { return false };
    match base_table(session, &alter.table) {
        Ok(table) => session.drop_hypothetical(&table, &name.value),
        Err(_) => false,
    }
}
