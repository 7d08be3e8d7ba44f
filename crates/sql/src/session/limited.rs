//! The limits per hour of the session's account, and the age of its password. An account without limits pays for a look at its
//! rights. Statements that clients send count, not those of stored programs.

use super::{Session, clock_micros};
use crate::instance::Instance;
use crate::properties::{Changes, properties};
use crate::session_entry::{SessionEntry, SessionKind};
use leafline_syntax::ast::StatementKind;
use leafline_types::{DateTime, MysqlError};

impl Session {
    /// Counts a statement that a client sends as text.
    ///
    /// # Errors
    /// 1226 beyond a limit.
    #[inline]
    pub(super) fn count_text(&self, sql: &str) -> Result<(), MysqlError> {
        self.count_use(|session| session.parse(sql).is_ok_and(|statement| is_change(&statement.kind)))
    }

    /// Counts a statement. `changes` says whether it changes anything, where there is a limit of changes.
    ///
    /// # Errors
    /// 1226 beyond a limit.
    #[inline]
    pub(super) fn count_use(&self, changes: impl FnOnce(&Session) -> bool) -> Result<(), MysqlError> {
        match (self.login.access.statement_limits(), &self.entry.account) {
            (Some(limits), Some(account)) if !self.is_inner() => {
                let changes = limits.updates > 0 && changes(self);
                self.instance.accounts().usage.statement(account, limits, changes)
            }
            _ => Ok(()),
        }
    }
}

/// Whether the password of a session's account is too old.
pub(super) fn has_old_password(instance: &Instance, entry: &SessionEntry) -> bool {
    let Some(account) = entry.account.as_ref().filter(|_| entry.kind == SessionKind::Client) else {
        return false;
    };
    let now = clock_micros().and_then(DateTime::from_epoch_micros);
    now.is_some_and(|now| instance.accounts().is_over(account, instance.password_rules(), now))
}

/// Whether a statement changes rows, definitions or accounts.
pub(super) fn is_change(kind: &StatementKind) -> bool {
    let changes_rows = matches!(
        kind,
        StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Load(_)
            | StatementKind::Call(_)
    );
    changes_rows || !matches!(properties(kind).changes, Changes::Nothing)
}
