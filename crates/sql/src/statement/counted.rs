//! As which command of MySQL's a statement is counted.

use crate::command::Command;
use leafline_syntax::ast::{
    Delete, Handler, Insert, InsertSource, NotThere, ProgramKind, ResourceGroupStatement, SetItem, ShowKind,
    StatementKind, TableReference, Update,
};

/// As what the statement is counted.
pub(crate) fn command(kind: &StatementKind) -> Command {
    match kind {
        StatementKind::Query(_) | StatementKind::SelectInto { .. } => Command::Select,
        StatementKind::Insert(insert) => insertion(insert),
        StatementKind::Update(update) => update_of(update),
        StatementKind::Delete(delete) => deletion(delete),
        StatementKind::Explain(explain) => command(&explain.statement),
        StatementKind::ExplainConnection { .. } => Command::ExplainOther,
        StatementKind::Begin { .. } => Command::Begin,
        StatementKind::Commit(_) => Command::Commit,
        StatementKind::Rollback(_) => Command::Rollback,
        StatementKind::RollbackTo(_) => Command::RollbackToSavepoint,
        StatementKind::Savepoint(_) => Command::Savepoint,
        StatementKind::ReleaseSavepoint(_) => Command::ReleaseSavepoint,
        StatementKind::Set(items) => match items.as_slice() {
            [SetItem::Password { .. }] => Command::SetPassword,
            _ => Command::SetOption,
        },
        StatementKind::Show(show) => shown(&show.kind),
        StatementKind::Describe { .. } => Command::ShowFields,
        StatementKind::Use(_) => Command::ChangeDatabase,
        StatementKind::Prepare { .. } => Command::Prepare,
        StatementKind::Execute { .. } => Command::Execute,
        StatementKind::Deallocate(_) => Command::Deallocate,
        StatementKind::Do(_) => Command::Do,
        StatementKind::Load(_) => Command::Load,
        StatementKind::Flush(_) => Command::Flush,
        StatementKind::Handler(Handler::Open { .. }) => Command::HandlerOpen,
        StatementKind::Handler(Handler::Read { .. }) => Command::HandlerRead,
        StatementKind::Handler(Handler::Close(_)) => Command::HandlerClose,
        StatementKind::Kill { .. } => Command::Kill,
        StatementKind::LockTables(_) => Command::LockTables,
        StatementKind::UnlockTables => Command::UnlockTables,
        StatementKind::CreateUser { .. } => Command::CreateUser,
        StatementKind::AlterUser { .. } => Command::AlterUser,
        StatementKind::DropUser { .. } => Command::DropUser,
        StatementKind::RenameUser(_) => Command::RenameUser,
        StatementKind::Grant(_) => Command::Grant,
        StatementKind::Revoke(revoke) if revoke.level.is_none() => Command::RevokeAll,
        StatementKind::Revoke(_) => Command::Revoke,
        _ => definition(kind),
    }
}

/// Statements about databases, tables and views.
fn definition(kind: &StatementKind) -> Command {
    match kind {
        StatementKind::CreateDatabase(_) => Command::CreateDatabase,
        StatementKind::AlterDatabase(_) => Command::AlterDatabase,
        StatementKind::DropDatabase(_) => Command::DropDatabase,
        StatementKind::CreateTable(_) | StatementKind::CreateTableLike(_) => Command::CreateTable,
        StatementKind::CreateView(_) => Command::CreateView,
        StatementKind::DropView(_) => Command::DropView,
        StatementKind::DropProgram(drop) => match drop.kind {
            ProgramKind::Procedure => Command::DropProcedure,
            ProgramKind::Function => Command::DropFunction,
            ProgramKind::Trigger => Command::DropTrigger,
            ProgramKind::Event => Command::DropEvent,
        },
        StatementKind::DropTable(_) => Command::DropTable,
        StatementKind::CreateIndex(_) => Command::CreateIndex,
        StatementKind::DropIndex(_) => Command::DropIndex,
        StatementKind::AlterTable(_) | StatementKind::MaintainPartitions(_) => Command::AlterTable,
        StatementKind::ImportTable { .. } => Command::Import,
        StatementKind::RenameTable(_) => Command::RenameTable,
        StatementKind::Truncate(_) => Command::Truncate,
        StatementKind::AnalyzeTable(_) | StatementKind::AnalyzeHistogram(_) => Command::Analyze,
        StatementKind::OptimizeTable(_) => Command::Optimize,
        StatementKind::CheckTable(..) => Command::Check,
        StatementKind::ChecksumTable { .. } => Command::Checksum,
        StatementKind::RepairTable(_) => Command::Repair,
        StatementKind::LoadIndex(_) => Command::PreloadKeys,
        StatementKind::ResourceGroup(statement) => match statement {
            ResourceGroupStatement::Create { .. } => Command::CreateResourceGroup,
            ResourceGroupStatement::Alter { .. } => Command::AlterResourceGroup,
            ResourceGroupStatement::Drop { .. } => Command::DropResourceGroup,
            ResourceGroupStatement::Set { .. } => Command::SetResourceGroup,
        },
        _ => Command::Other,
    }
}

fn insertion(insert: &Insert) -> Command {
    match (insert.replace, matches!(insert.source, InsertSource::Query(_))) {
        (true, true) => Command::ReplaceSelect,
        (true, false) => Command::Replace,
        (false, true) => Command::InsertSelect,
        (false, false) => Command::Insert,
    }
}

fn update_of(update: &Update) -> Command {
    match update.tables.as_slice() {
        [TableReference::Table { .. }] => Command::Update,
        _ => Command::UpdateMulti,
    }
}

fn deletion(delete: &Delete) -> Command {
    if delete.targets.is_empty() { Command::Delete } else { Command::DeleteMulti }
}

fn shown(kind: &ShowKind) -> Command {
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
        // MySQL takes them for `SELECT @@warning_count` and `SELECT @@error_count`.
        ShowKind::WarningCount | ShowKind::ErrorCount => Command::Select,
        ShowKind::DeviceProfile => Command::Other,
        ShowKind::Engines => Command::ShowStorageEngines,
        ShowKind::EngineStatus { .. } => Command::ShowEngineStatus,
        ShowKind::ProcessList { .. } => Command::ShowProcessList,
        ShowKind::Triggers { .. } => Command::ShowTriggers,
        ShowKind::Events { .. } => Command::ShowEvents,
        ShowKind::NotThere(what) => match what {
            NotThere::Procedures => Command::ShowProcedureStatus,
            NotThere::Functions => Command::ShowFunctionStatus,
            NotThere::BinaryLogStatus => Command::ShowBinaryLogStatus,
            NotThere::ReplicaStatus | NotThere::SlaveStatus => Command::ShowReplicaStatus,
            NotThere::Replicas | NotThere::SlaveHosts => Command::ShowReplicas,
            NotThere::OpenTables => Command::ShowOpenTables,
            NotThere::Profiles => Command::ShowProfiles,
        },
        ShowKind::BinaryLogs => Command::ShowBinlogs,
        ShowKind::Privileges => Command::ShowPrivileges,
        ShowKind::Plugins => Command::ShowPlugins,
        ShowKind::Grants(_) => Command::ShowGrants,
        ShowKind::CreateUser(_) => Command::ShowCreateUser,
        ShowKind::Collation => Command::ShowCollations,
        ShowKind::CharacterSet => Command::ShowCharsets,
    }
}
