//! The statements that a program, or a function or trigger, may not contain.
//!
//! MySQL reports most of them at once (1314), and those that only functions and triggers may not have at the end of
//! the body, in the order of the ranks below.

use super::super::ast::{ProgramKind, SetItem, StatementKind, ViewVerb};
use super::super::cursor::{Parsed, Parser};
use leafline_types::error::MysqlError;

const DYNAMIC: u8 = 0;
const RESULT_SET: u8 = 1;
const AUTOCOMMIT: u8 = 2;
const COMMIT: u8 = 3;
const FLUSH: u8 = 4;

impl Parser<'_> {
    /// Refuses a statement that no program may contain by its first words (error 1314).
    pub(super) fn check_first_words(&self) -> Parsed<()> {
        let refused = [
            (&["USE"][..], "USE"),
            (&["HELP"], "HELP"),
            (&["CHECK"], "CHECK"),
            (&["LOCK"], "LOCK"),
            (&["UNLOCK"], "UNLOCK"),
            (&["LOAD", "DATA"], "LOAD DATA"),
            (&["LOAD", "XML"], "LOAD XML"),
        ];
        match refused.into_iter().find(|(words, _)| self.at_words(words)) {
            Some((_, name)) => Err(MysqlError::not_allowed_in_program(name)),
            None => Ok(()),
        }
    }

    /// Checks a statement of the body.
    pub(super) fn check_in_body(&mut self, kind: &StatementKind) -> Parsed<()> {
        match kind {
            StatementKind::CreateView(view) if matches!(view.verb, ViewVerb::Alter) => {
                return Err(MysqlError::not_allowed_in_program("ALTER VIEW"));
            }
            StatementKind::Handler(_) => return Err(MysqlError::not_allowed_in_program("HANDLER")),
            StatementKind::DropProgram(drop) if drop.kind == ProgramKind::Procedure => {
                return Err(MysqlError::routine_in_use("PROCEDURE"));
            }
            StatementKind::DropProgram(drop) if drop.kind == ProgramKind::Function => {
                return Err(MysqlError::routine_in_use("FUNCTION"));
            }
            _ => {}
        }
        let scope = self.scope_of_body()?;
        let place = match scope.context().kind {
            ProgramKind::Function => "function",
            ProgramKind::Trigger => "trigger",
            ProgramKind::Procedure | ProgramKind::Event => return Ok(()),
        };
        if let Some(rank) = rank(kind) {
            let error = match rank {
                DYNAMIC => MysqlError::not_allowed_in_function("Dynamic SQL"),
                RESULT_SET => MysqlError::no_result_set(place),
                AUTOCOMMIT => MysqlError::autocommit_in_function(),
                COMMIT => MysqlError::commit_in_function(),
                _ => MysqlError::not_allowed_in_function("FLUSH"),
            };
            scope.forbid(rank, error);
        }
        Ok(())
    }
}

/// The reason for which a function or trigger may not contain the statement.
fn rank(kind: &StatementKind) -> Option<u8> {
    use StatementKind::*;
    Some(match kind {
        Prepare { .. } | Execute { .. } | Deallocate(_) => DYNAMIC,
        Query(_)
        | Show(_)
        | Explain(_)
        | ExplainConnection { .. }
        | Describe { .. }
        | AnalyzeTable(_)
        | AnalyzeHistogram(_)
        | OptimizeTable(_)
        | CheckTable(..)
        | RepairTable(_)
        | ChecksumTable { .. }
        | LoadIndex(_)
        | MaintainPartitions(_)
        | Advise { .. } => RESULT_SET,
        Set(items) => {
            let autocommit = items.iter().any(|item| {
                matches!(item, SetItem::System { name, .. } if name.value.eq_ignore_ascii_case("autocommit"))
            });
            // MySQL reports a password's change like one of autocommit, because both commit.
            match autocommit || items.iter().any(|item| matches!(item, SetItem::Password { .. })) {
                true => AUTOCOMMIT,
                false => return None,
            }
        }
        Flush(_) => FLUSH,
        CreateTable(create) if create.temporary => return None,
        CreateTableLike(create) if create.temporary => return None,
        DropTable(drop) if drop.temporary => return None,
        CreateDatabase(_)
        | AlterDatabase(_)
        | DropDatabase(_)
        | CreateTable(_)
        | CreateTableLike(_)
        | CreateView(_)
        | DropView(_)
        | CreateProgram(_)
        | AlterProgram(_)
        | DropProgram(_)
        | DropTable(_)
        | CreateIndex(_)
        | CreateHypotheticalIndex(..)
        | DropIndex(_)
        | AlterTable(_)
        | ExportTable { .. }
        | ImportTable { .. }
        | Backup { .. }
        | RenameTable(_)
        | Truncate(_)
        | Begin { .. }
        | Commit(_)
        | Rollback(_)
        | ResourceGroup(_)
        | Component(_)
        | CreateUser { .. }
        | AlterUser { .. }
        | DropUser { .. }
        | RenameUser(_)
        | Grant(_)
        | Revoke(_)
        | Role(_)
        | LockTables(_)
        | UnlockTables
        | Load(_) => COMMIT,
        SelectInto { .. }
        | Insert(_)
        | Update(_)
        | Delete(_)
        | Call(_)
        | Signal(_)
        | GetDiagnostics(_)
        | Handler(_)
        | Use(_)
        | RollbackTo(_)
        | Savepoint(_)
        | ReleaseSavepoint(_)
        | Kill { .. }
        | Do(_) => return None,
    })
}
