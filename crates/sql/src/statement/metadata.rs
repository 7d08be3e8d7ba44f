//! Which tables a statement of DDL keeps others away from while it runs: those it changes, and those that foreign keys connect with them.

use crate::parser::ast::{
    AlterAction, AlterAlgorithm, CreateTableLike, DropTable, Ident, KeyKind, Span, StatementKind, TableName,
};
use crate::session::Session;
use leafline_table::{Excluding, MetadataMode, PRIMARY};
use leafline_types::MysqlError;

/// Keeps others away from what the statement changes; `None` if it changes no definitions.
pub(super) fn excluded_by(
    session: &mut Session,
    kind: &StatementKind,
) -> Result<Option<Excluding>, MysqlError> {
    let mut tables: Vec<(TableName, MetadataMode)> = Vec::new();
    let mut databases = Vec::new();
    // Indexes are made and dropped beside who reads.
    let mut changed = |table: &TableName, mode| tables.push((table.clone(), mode));
    let is_own = |table: &TableName| session.own_table_named(table).is_some();
    match kind {
        StatementKind::CreateTable(create) if create.temporary => return Ok(None),
        StatementKind::CreateTableLike(CreateTableLike { temporary: true, .. })
        | StatementKind::DropTable(DropTable { temporary: true, .. }) => return Ok(None),
        StatementKind::CreateIndex(alter)
        | StatementKind::DropIndex(alter)
        | StatementKind::AlterTable(alter)
            if is_own(&alter.table) =>
        {
            return Ok(None);
        }
        StatementKind::Truncate(table) if is_own(table) => return Ok(None),
        StatementKind::CreateDatabase(create) => databases.push(create.name.value.clone()),
        StatementKind::DropDatabase(drop) => {
            let database = &drop.name.value;
            let catalog = session.instance.engine().catalog();
            for table in catalog.tables(database) {
                changed(&named(database, &table.name), MetadataMode::Exclusive);
            }
            for view in catalog.views(database) {
                changed(&named(database, &view.name), MetadataMode::Exclusive);
            }
            databases.push(database.clone());
        }
        StatementKind::CreateTable(create) => {
            // One at a time in a database, where names of constraints are unique.
            let own = create.name.database.as_ref().map(|database| database.value.as_str());
            databases.extend(own.or(session.database()).map(str::to_owned));
            changed(&create.name, MetadataMode::Exclusive);
            for key in &create.foreign_keys {
                // In the database of the table, unless it says otherwise.
                let mut parent = key.parent.clone();
                parent.database = parent.database.or_else(|| create.name.database.clone());
                changed(&parent, MetadataMode::Exclusive);
            }
        }
        StatementKind::CreateTableLike(create) => {
            let own = create.name.database.as_ref().map(|database| database.value.as_str());
            databases.extend(own.or(session.database()).map(str::to_owned));
            changed(&create.name, MetadataMode::Exclusive);
        }
        StatementKind::CreateView(create) => changed(&create.name, MetadataMode::Exclusive),
        StatementKind::DropView(drop) => {
            drop.views.iter().for_each(|view| changed(view, MetadataMode::Exclusive));
        }
        StatementKind::DropTable(drop) => {
            let others: Vec<&TableName> = drop.tables.iter().filter(|table| !is_own(table)).collect();
            if others.is_empty() {
                return Ok(None);
            }
            others.into_iter().for_each(|table| changed(table, MetadataMode::Exclusive));
        }
        StatementKind::CreateIndex(alter)
        | StatementKind::DropIndex(alter)
        | StatementKind::AlterTable(alter) => {
            let of_index = |action: &AlterAction| match action {
                AlterAction::AddKey(key) => key.kind != KeyKind::Primary,
                AlterAction::DropKey(name) => !name.value.eq_ignore_ascii_case(PRIMARY),
                _ => false,
            };
            let only_indexes = alter.algorithm != AlterAlgorithm::Copy && alter.actions.iter().all(of_index);
            let mode = if only_indexes { MetadataMode::NoWrite } else { MetadataMode::Exclusive };
            changed(&alter.table, mode);
            for action in &alter.actions {
                match action {
                    AlterAction::Rename(name) => changed(name, MetadataMode::Exclusive),
                    AlterAction::AddCheck(_) => {
                        let own = alter.table.database.as_ref().map(|database| database.value.as_str());
                        databases.extend(own.or(session.database()).map(str::to_owned));
                    }
                    _ => {}
                }
            }
            databases.dedup();
        }
        StatementKind::RenameTable(rename) => {
            for (from, to) in &rename.tables {
                changed(from, MetadataMode::Exclusive);
                changed(to, MetadataMode::Exclusive);
            }
        }
        StatementKind::Truncate(table) => changed(table, MetadataMode::Exclusive),
        _ => return Ok(None),
    }
    let tables: Vec<(&TableName, MetadataMode)> = tables.iter().map(|(table, mode)| (table, *mode)).collect();
    let databases: Vec<&str> = databases.iter().map(String::as_str).collect();
    session.exclude(&tables, &databases).map(Some)
}

fn named(database: &str, name: &str) -> TableName {
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    TableName { database: Some(ident(database)), name: ident(name) }
}
