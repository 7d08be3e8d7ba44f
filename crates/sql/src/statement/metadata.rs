//! Metadata locks of DDL: a statement keeps other sessions away from the tables that it changes, and from the tables that
//! foreign keys connect with them.

use crate::session::Session;
use leafline_planner::binder::AlterWork;
use leafline_syntax::ast::{
    AlterAction, AlterAlgorithm, AlterLock, AlterProgram, AlterTable, CreateTableLike, DropTable, Ident,
    KeyKind, PartitionAction, ProgramForm, ProgramKind, Span, StatementKind, TableName,
};
use leafline_table::{Excluding, MetadataMode, PRIMARY};
use leafline_types::MysqlError;

/// The tables and databases that a statement changes.
#[derive(Default)]
struct MetadataNeeds {
    /// Changed tables, each with the mode that keeps others away meanwhile. `None` keeps nobody away until the change comes into
    /// force.
    tables: Vec<(TableName, Option<MetadataMode>)>,
    /// Tables whose names or column names change. Foreign keys that refer to them change too.
    renamed: Vec<TableName>,
    /// New names of tables. LOCK TABLES need not have locked them.
    new_names: Vec<TableName>,
    databases: Vec<String>,
}

impl MetadataNeeds {
    fn table(&mut self, table: &TableName) {
        self.tables.push((table.clone(), Some(MetadataMode::Exclusive)));
    }

    /// Adds the parent table of a foreign key: in the child's database, unless the key names another.
    fn parent(&mut self, parent: &TableName, child: &TableName, mode: Option<MetadataMode>) {
        let mut parent = parent.clone();
        parent.database = parent.database.or_else(|| child.database.clone());
        self.tables.push((parent, mode));
    }

    /// Adds the database of a table that gets constraints, because their names are unique in it.
    fn constraints(&mut self, session: &Session, table: &TableName) {
        self.databases.extend(database_of(session, table));
    }

    fn alter(&mut self, session: &Session, alter: &AlterTable) {
        // Indexes are dropped beside readers.
        let only_indexes = alter.algorithm != AlterAlgorithm::Copy && alter.actions.iter().all(is_of_index);
        let (mode, of_parents) = match others(session, alter) {
            ConcurrentUse::Write => (None, None),
            ConcurrentUse::Read => (Some(MetadataMode::NoWrite), None),
            ConcurrentUse::Wait if only_indexes && alter.lock != AlterLock::Exclusive => {
                (Some(MetadataMode::NoWrite), None)
            }
            ConcurrentUse::Wait => (Some(MetadataMode::Exclusive), Some(MetadataMode::Exclusive)),
        };
        self.tables.push((alter.table.clone(), mode));
        for action in &alter.actions {
            match action {
                AlterAction::Rename(name) => {
                    self.new_names.push(name.clone());
                    self.renamed.push(alter.table.clone());
                }
                AlterAction::ChangeColumn { name, column, .. } if name.value == column.name.value => {}
                AlterAction::RenameColumn { .. } | AlterAction::ChangeColumn { .. } => {
                    self.renamed.push(alter.table.clone());
                }
                AlterAction::AddForeignKey(key) => {
                    self.parent(&key.parent, &alter.table, of_parents);
                    self.constraints(session, &alter.table);
                }
                AlterAction::AddCheck(_) => self.constraints(session, &alter.table),
                AlterAction::Partitions(action) => {
                    if let PartitionAction::Exchange { table, .. } = &**action {
                        self.table(table);
                    }
                }
                _ => {}
            }
        }
        self.databases.dedup();
    }

    /// Adds what a statement about a stored program changes: the table of a trigger, whose changes must not run with the triggers
    /// of before, or the database of another program.
    fn program(&mut self, session: &Session, kind: ProgramKind, name: &TableName, on: Option<&TableName>) {
        match (kind, on) {
            (ProgramKind::Trigger, Some(table)) => self.table(table),
            (ProgramKind::Trigger, None) => {
                let Some(database) = database_of(session, name) else { return };
                let catalog = session.instance.engine().catalog();
                let trigger = catalog.program(kind, &database, &name.name.value);
                let of = trigger.and_then(|trigger| trigger.trigger());
                of.into_iter().for_each(|of| self.table(&named(&database, &of.table)));
            }
            _ => self.databases.extend(database_of(session, name)),
        }
    }

    fn drop_database(&mut self, session: &Session, database: &str) {
        let catalog = session.instance.engine().catalog();
        catalog.tables(database).for_each(|table| self.table(&named(database, &table.name)));
        catalog.views(database).for_each(|view| self.table(&named(database, &view.name)));
        self.databases.push(database.to_owned());
    }
}

/// The access that other sessions keep to a table while a statement reads its rows to build or check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConcurrentUse {
    /// Other sessions read and write the table.
    Write,
    /// Other sessions read the table.
    Read,
    /// Other sessions wait.
    Wait,
}

/// Returns the access that other sessions keep until the alteration comes into force, as far as the statement alone tells,
/// before names are looked up.
pub(super) fn others(session: &Session, alter: &AlterTable) -> ConcurrentUse {
    let may_go_on = !session.has_locked_tables()
        && !alter.actions.is_empty()
        && alter.actions.iter().all(may_be_beside_others)
        && alter.actions.iter().any(|action| match action {
            AlterAction::DropKey(name) => name.value.eq_ignore_ascii_case(PRIMARY),
            _ => true,
        });
    match (alter.lock, alter.algorithm) {
        (AlterLock::Exclusive, _) => ConcurrentUse::Wait,
        _ if !may_go_on => ConcurrentUse::Wait,
        (AlterLock::Shared, _) | (_, AlterAlgorithm::Copy) => ConcurrentUse::Read,
        _ => ConcurrentUse::Write,
    }
}

/// Errors 1845 and 1846 if the alteration does not allow the ALGORITHM and LOCK that it names. `keeps_writers` says that writers
/// wait for longer than a moment.
pub(super) fn check_concurrency(
    alter: &AlterTable,
    work: AlterWork,
    keeps_writers: bool,
) -> Result<(), MysqlError> {
    let only_definition = work == AlterWork::Definition;
    match (alter.algorithm, alter.lock) {
        (AlterAlgorithm::Instant, AlterLock::None | AlterLock::Shared | AlterLock::Exclusive) => {
            Err(MysqlError::wrong_usage("ALGORITHM=INSTANT", "LOCK=NONE/SHARED/EXCLUSIVE"))
        }
        (AlterAlgorithm::Instant, _) if !only_definition => {
            Err(MysqlError::alter_operation_not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"))
        }
        (AlterAlgorithm::Inplace, _) if work == AlterWork::Conversion => {
            Err(MysqlError::alter_not_supported(
                "ALGORITHM=INPLACE",
                "Cannot change column type INPLACE",
                "ALGORITHM=COPY",
            ))
        }
        (AlterAlgorithm::Copy, AlterLock::None) => {
            Err(MysqlError::alter_not_supported("LOCK=NONE", "COPY algorithm requires a lock", "LOCK=SHARED"))
        }
        (_, AlterLock::None) if keeps_writers => {
            Err(MysqlError::alter_operation_not_supported("LOCK=NONE", "LOCK=SHARED"))
        }
        _ => Ok(()),
    }
}

fn may_be_beside_others(action: &AlterAction) -> bool {
    match action {
        AlterAction::AddKey(_)
        | AlterAction::DropKey(_)
        | AlterAction::AddColumn(..)
        | AlterAction::DropColumn(_)
        | AlterAction::AddCheck(_)
        | AlterAction::DropCheck(_)
        | AlterAction::EnforceCheck(..)
        | AlterAction::EnforceConstraint(..)
        | AlterAction::AddForeignKey(_)
        | AlterAction::DropForeignKey(_)
        | AlterAction::DropConstraint(_)
        | AlterAction::OrderBy(_)
        | AlterAction::Options(_)
        | AlterAction::Convert { .. }
        | AlterAction::RenameColumn { .. }
        | AlterAction::ChangeColumn { .. }
        | AlterAction::SetKeyPacked(..)
        | AlterAction::Force => true,
        AlterAction::Partitions(action) => {
            matches!(**action, PartitionAction::By(_) | PartitionAction::Remove)
        }
        other => is_of_index(other),
    }
}

/// Returns whether an action changes secondary indexes alone.
fn is_of_index(action: &AlterAction) -> bool {
    match action {
        AlterAction::AddKey(key) => key.kind != KeyKind::Primary,
        AlterAction::DropKey(name) | AlterAction::SetKeyPacked(name, _) => {
            !name.value.eq_ignore_ascii_case(PRIMARY)
        }
        AlterAction::Options(options) => options.has_pack_keys_alone(),
        _ => false,
    }
}

/// Keeps other sessions away from the tables that the statement changes; `None` if it changes no definition that they know.
pub(super) fn excluded_by(
    session: &mut Session,
    kind: &StatementKind,
) -> Result<Option<Excluding>, MysqlError> {
    let mut changed = MetadataNeeds::default();
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
        StatementKind::CreateDatabase(create) => changed.databases.push(create.name.value.clone()),
        StatementKind::DropDatabase(drop) => changed.drop_database(session, &drop.name.value),
        StatementKind::CreateTable(create) => {
            changed.constraints(session, &create.name);
            changed.table(&create.name);
            let exclusive = Some(MetadataMode::Exclusive);
            let parents = create.foreign_keys.iter().map(|key| &key.parent);
            parents.for_each(|parent| changed.parent(parent, &create.name, exclusive));
        }
        StatementKind::CreateTableLike(create) => {
            changed.constraints(session, &create.name);
            changed.table(&create.name);
        }
        StatementKind::CreateView(create) => changed.table(&create.name),
        StatementKind::DropView(drop) => drop.views.iter().for_each(|view| changed.table(view)),
        StatementKind::DropTable(drop) => {
            drop.tables.iter().filter(|table| !is_own(table)).for_each(|table| changed.table(table));
            if changed.tables.is_empty() {
                return Ok(None);
            }
        }
        StatementKind::CreateIndex(alter)
        | StatementKind::DropIndex(alter)
        | StatementKind::AlterTable(alter) => changed.alter(session, alter),
        StatementKind::RenameTable(rename) => {
            for (from, to) in &rename.tables {
                changed.table(from);
                changed.new_names.push(to.clone());
                changed.renamed.push(from.clone());
            }
        }
        StatementKind::Truncate(table) => changed.table(table),
        StatementKind::CreateProgram(create) => {
            let on = match &create.form {
                ProgramForm::Trigger(trigger) => Some(&trigger.table).filter(|table| !is_own(table)),
                _ => None,
            };
            changed.program(session, create.kind(), &create.name, on);
        }
        StatementKind::AlterProgram(AlterProgram::Routine { kind, name, .. }) => {
            changed.program(session, *kind, name, None);
        }
        StatementKind::AlterProgram(AlterProgram::Event(event)) => {
            changed.program(session, ProgramKind::Event, &event.name, None);
            changed.databases.extend(event.rename.as_ref().and_then(|to| database_of(session, to)));
            changed.databases.dedup();
        }
        StatementKind::DropProgram(drop) => changed.program(session, drop.kind, &drop.name, None),
        _ => return Ok(None),
    }
    let catalog = session.instance.engine().catalog();
    for parent in std::mem::take(&mut changed.renamed) {
        let database = database_of(session, &parent).unwrap_or_default();
        for (child, _) in catalog.references(&database, &parent.name.value) {
            changed.table(&named(&child.database, &child.name));
        }
    }
    for (table, _) in &changed.tables {
        let database = database_of(session, table).unwrap_or_default();
        session.objects.handlers.close_those_of(&database, &table.name.value);
    }
    let tables: Vec<(&TableName, Option<MetadataMode>)> =
        changed.tables.iter().map(|(table, mode)| (table, *mode)).collect();
    let databases: Vec<&str> = changed.databases.iter().map(String::as_str).collect();
    session.exclude(&tables, &changed.new_names, &databases).map(Some)
}

/// Returns the database that a name belongs to.
fn database_of(session: &Session, table: &TableName) -> Option<String> {
    let own = table.database.as_ref().map(|database| database.value.as_str());
    own.or(session.database()).map(str::to_owned)
}

fn named(database: &str, name: &str) -> TableName {
    let ident = |value: &str| Ident { value: value.to_owned(), span: Span::default() };
    TableName { database: Some(ident(database)), name: ident(name) }
}
