//! Passes over statements of a dump of all databases that would create or drop the server's own tables and views. These exist
//! already and stay as they are. Each such statement gives a note instead of an error, so that the dump loads.

use crate::information_schema;
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_syntax::ast::{AlterAction, StatementKind, TableName};
use leafline_types::MysqlError;

/// MySQL's own databases that dumps contain.
const IN_DUMPS: [&str; 2] = [SYSTEM_DATABASE, "sys"];

impl Session {
    /// Returns whether a statement is passed over. Adds its notes then.
    pub(super) fn passes_over(&mut self, kind: &StatementKind) -> bool {
        let refused = |name: &TableName| {
            let database = self.database_named(name).unwrap_or_default();
            MysqlError::database_access_denied(&self.entry.user, &self.entry.host, database)
        };
        let exists = |name: &TableName| MysqlError::table_exists(&name.name.value);
        let all =
            |names: &[TableName]| !names.is_empty() && names.iter().all(|name| self.is_own_object(name));
        let notes: Vec<MysqlError> = match kind {
            StatementKind::CreateTable(create) if !create.temporary && self.is_own_object(&create.name) => {
                vec![exists(&create.name)]
            }
            StatementKind::CreateView(create) if self.is_own_object(&create.name) => {
                vec![exists(&create.name)]
            }
            StatementKind::DropTable(drop) if drop.if_exists && !drop.temporary && all(&drop.tables) => {
                drop.tables.iter().map(refused).collect()
            }
            StatementKind::DropView(drop) if drop.if_exists && all(&drop.views) => {
                drop.views.iter().map(refused).collect()
            }
            StatementKind::AlterTable(alter)
                if self.is_own_object(&alter.table)
                    && !alter.actions.is_empty()
                    && alter.actions.iter().all(|action| matches!(action, AlterAction::EnableKeys(_))) =>
            {
                vec![refused(&alter.table)]
            }
            StatementKind::CreateDatabase(create)
                if create.if_not_exists && IN_DUMPS.contains(&create.name.value.as_str()) =>
            {
                vec![MysqlError::database_exists(&create.name.value)]
            }
            _ => return false,
        };
        notes.into_iter().for_each(|note| self.warnings.note(note));
        true
    }

    fn database_named<'n>(&'n self, name: &'n TableName) -> Option<&'n str> {
        name.database.as_ref().map(|database| database.value.as_str()).or(self.database())
    }

    fn is_own_object(&self, name: &TableName) -> bool {
        let Some(database) = self.database_named(name).filter(|name| IN_DUMPS.contains(name)) else {
            return false;
        };
        let name = &name.name.value;
        information_schema::definition(database, name).is_some()
            || self.instance.engine().catalog().table(database, name).is_some()
    }
}
