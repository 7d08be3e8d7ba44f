//! The `Com_*` counters of INSERT, UPDATE, DELETE, DROP, REVOKE and SHOW, which have several each.

use crate::command::Command;
use leafline_syntax::ast::{
    AlterProgram, Delete, Insert, InsertSource, NotThere, ProgramKind, Revoke, ShowKind, TableReference,
    Update,
};

pub(super) fn insert(insert: &Insert) -> Command {
    match (insert.replace, matches!(insert.source, InsertSource::Query(_))) {
        (true, true) => Command::ReplaceSelect,
        (true, false) => Command::Replace,
        (false, true) => Command::InsertSelect,
        (false, false) => Command::Insert,
    }
}

pub(super) fn update(update: &Update) -> Command {
    match update.tables.as_slice() {
        [TableReference::Table { .. }] => Command::Update,
        _ => Command::UpdateMulti,
    }
}

pub(super) fn delete(delete: &Delete) -> Command {
    if delete.targets.is_empty() { Command::Delete } else { Command::DeleteMulti }
}

pub(super) fn create(kind: ProgramKind) -> Command {
    match kind {
        ProgramKind::Procedure => Command::CreateProcedure,
        ProgramKind::Function => Command::CreateFunction,
        ProgramKind::Trigger => Command::CreateTrigger,
        ProgramKind::Event => Command::CreateEvent,
    }
}

pub(super) fn alter(alter: &AlterProgram) -> Command {
    match alter {
        AlterProgram::Routine { kind: ProgramKind::Function, .. } => Command::AlterFunction,
        AlterProgram::Routine { .. } => Command::AlterProcedure,
        AlterProgram::Event(_) => Command::AlterEvent,
    }
}

pub(super) fn drop(kind: ProgramKind) -> Command {
    match kind {
        ProgramKind::Procedure => Command::DropProcedure,
        ProgramKind::Function => Command::DropFunction,
        ProgramKind::Trigger => Command::DropTrigger,
        ProgramKind::Event => Command::DropEvent,
    }
}

pub(super) fn revoke(revoke: &Revoke) -> Command {
    if revoke.level.is_none() { Command::RevokeAll } else { Command::Revoke }
}

pub(super) fn show(kind: &ShowKind) -> Command {
    match kind {
        ShowKind::Help(_) => Command::Help,
        ShowKind::Databases => Command::ShowDatabases,
        ShowKind::Tables { .. } => Command::ShowTables,
        ShowKind::TableStatus { .. } => Command::ShowTableStatus,
        ShowKind::Columns { .. } => Command::ShowFields,
        ShowKind::Index { .. } => Command::ShowKeys,
        ShowKind::CreateTable(_) | ShowKind::CreateView(_) => Command::ShowCreateTable,
        ShowKind::CreateDatabase { .. } => Command::ShowCreateDatabase,
        ShowKind::Status { .. } => Command::ShowStatus,
        ShowKind::Variables { .. } => Command::ShowVariables,
        ShowKind::Warnings { .. } => Command::ShowWarnings,
        ShowKind::Errors { .. } => Command::ShowErrors,
        // MySQL parses these as `SELECT @@warning_count` and `SELECT @@error_count`.
        ShowKind::WarningCount | ShowKind::ErrorCount => Command::Select,
        ShowKind::DeviceProfile => Command::Other,
        ShowKind::Engines => Command::ShowStorageEngines,
        ShowKind::EngineStatus { .. } => Command::ShowEngineStatus,
        ShowKind::ProcessList { .. } => Command::ShowProcessList,
        ShowKind::Triggers { .. } => Command::ShowTriggers,
        ShowKind::Events { .. } => Command::ShowEvents,
        ShowKind::CreateProgram(ProgramKind::Procedure, _) => Command::ShowCreateProcedure,
        ShowKind::CreateProgram(ProgramKind::Function, _) => Command::ShowCreateFunction,
        ShowKind::CreateProgram(ProgramKind::Trigger, _) => Command::ShowCreateTrigger,
        ShowKind::CreateProgram(ProgramKind::Event, _) => Command::ShowCreateEvent,
        ShowKind::Procedures => Command::ShowProcedureStatus,
        ShowKind::Functions => Command::ShowFunctionStatus,
        ShowKind::NotThere(what) => match what {
            NotThere::BinaryLogStatus => Command::ShowBinaryLogStatus,
            NotThere::ReplicaStatus | NotThere::SlaveStatus => Command::ShowReplicaStatus,
            NotThere::Replicas | NotThere::SlaveHosts => Command::ShowReplicas,
            NotThere::OpenTables => Command::ShowOpenTables,
            NotThere::Profiles => Command::ShowProfiles,
        },
        ShowKind::BinaryLogs => Command::ShowBinlogs,
        ShowKind::Privileges => Command::ShowPrivileges,
        ShowKind::Plugins => Command::ShowPlugins,
        ShowKind::Grants(..) => Command::ShowGrants,
        ShowKind::CreateUser(_) => Command::ShowCreateUser,
        ShowKind::Collation => Command::ShowCollations,
        ShowKind::CharacterSet => Command::ShowCharsets,
    }
}
