//! A session's transaction: explicit, implicit under `autocommit=0`, or one per statement.
//!
//! A statement that locks a row changed since its snapshot meets a conflict. It is run again under a newer
//! snapshot if nobody has seen what the transaction read before; otherwise the transaction ends with error
//! 1213 and its client has to run it again.

use super::Session;
use super::state_changes::TransactionUse;
use crate::accounts::Privilege;
use crate::settings::{Modes, ServerAccess, SessionIsolation};
use leafline_expr::UserVariables;
use leafline_syntax::ast::Completion;
use leafline_table::{ChangeReads, Isolation, LockLimits, LockWait, Mark, ReadView, Transaction, TxnMode};
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, Warnings};
use std::time::Duration;

/// Number of times that a statement is run again after conflicts.
const RETRIES: usize = 64;

/// The part of a session that concerns transactions.
#[derive(Debug, Default)]
pub(super) struct TransactionState {
    /// The transaction that outlives statements.
    pub(super) open: Option<Transaction>,
    /// The record of what the open transaction has done, for clients that track state.
    pub(super) used: TransactionUse,
    pub(super) savepoints: Vec<(String, Mark)>,
    /// Characteristics of the next transaction alone: SET TRANSACTION without a scope.
    pub(super) next_isolation: Option<SessionIsolation>,
    pub(super) next_read_only: Option<bool>,
    /// True if other sessions may read at the snapshot of the open transaction.
    is_shared: bool,
}

impl Session {
    /// True if a transaction is open that outlives the statement.
    pub fn in_transaction(&self) -> bool {
        self.transaction.open.is_some()
    }

    /// True if the open transaction has written.
    pub(super) fn has_written(&self) -> bool {
        self.transaction.open.as_ref().is_some_and(Transaction::has_writes)
    }

    /// `autocommit`.
    pub fn autocommit(&self) -> bool {
        self.settings.autocommit
    }

    /// Takes the isolation and mode of the next transaction; SET TRANSACTION does not apply to the one after
    /// it.
    fn next_characteristics(&mut self, read_only: Option<bool>) -> (Isolation, TxnMode) {
        let isolation = self.transaction.next_isolation.take().unwrap_or(self.settings.isolation);
        let next_read_only = self.transaction.next_read_only.take();
        let read_only = read_only.or(next_read_only).unwrap_or(self.settings.read_only);
        (isolation.kept(), if read_only { TxnMode::ReadOnly } else { TxnMode::ReadWrite })
    }

    /// True if the open transaction is READ ONLY, or the next one will be.
    pub(crate) fn is_read_only(&self) -> bool {
        match &self.transaction.open {
            Some(open) => open.mode() == TxnMode::ReadOnly,
            None => self.transaction.next_read_only.unwrap_or(self.settings.read_only),
        }
    }

    /// Returns error 1290 if the server takes no changes from the session: under `read_only` accounts with
    /// SUPER or CONNECTION_ADMIN may still write, under `super_read_only` none may.
    pub(crate) fn check_server_writable(&self) -> Result<(), MysqlError> {
        match self.instance.server_access() {
            ServerAccess::ReadWrite => Ok(()),
            ServerAccess::ReadOnly => {
                let may = self.login.access.check_any(&[Privilege::ConnectionAdmin, Privilege::Super]);
                may.map_err(|_| MysqlError::option_prevents_statement("--read-only"))
            }
            ServerAccess::SuperReadOnly => Err(MysqlError::option_prevents_statement("--super-read-only")),
        }
    }

    /// Drops the characteristics that SET TRANSACTION set for the next transaction.
    pub(crate) fn forget_next_characteristics(&mut self) {
        (self.transaction.next_isolation, self.transaction.next_read_only) = (None, None);
    }

    /// The characteristics that SET TRANSACTION set for the next transaction.
    pub(crate) fn kept_characteristics(&self) -> (Option<SessionIsolation>, Option<bool>) {
        (self.transaction.next_isolation, self.transaction.next_read_only)
    }

    /// Puts back the characteristics of the next transaction, for a statement that begins again.
    pub(crate) fn restore_characteristics(&mut self, kept: (Option<SessionIsolation>, Option<bool>)) {
        if self.transaction.open.is_none() {
            (self.transaction.next_isolation, self.transaction.next_read_only) = kept;
        }
    }

    fn new_transaction(&mut self, read_only: Option<bool>) -> Transaction {
        let (isolation, mode) = self.next_characteristics(read_only);
        self.transaction.used = TransactionUse::default();
        self.begin_as(isolation, mode)
    }

    fn begin_as(&self, isolation: Isolation, mode: TxnMode) -> Transaction {
        let transaction = self.instance.engine().transactions().begin_in(&self.locks, isolation, mode);
        self.entry.begins_transaction(transaction.watch());
        transaction
    }

    /// BEGIN, START TRANSACTION: commits the open transaction first. The new one may use the snapshot of
    /// another connection.
    ///
    /// # Errors
    /// Errors of COMMIT; 1094 if there is no connection `from_session`; 1210 if it shares no snapshot, or
    /// this transaction is not REPEATABLE READ.
    pub(crate) fn begin(
        &mut self,
        read_only: Option<bool>,
        consistent_snapshot: bool,
        from_session: Option<u64>,
    ) -> Result<(), MysqlError> {
        self.commit()?;
        self.begin_unlocks();
        let mut transaction = self.new_transaction(read_only);
        let repeatable = transaction.isolation() != Isolation::ReadCommitted;
        if let Some(of) = from_session {
            // At SERIALIZABLE the others would have forgotten what concerns an older snapshot.
            let may_share = transaction.isolation() == Isolation::RepeatableRead;
            let snapshot = self.instance.session(of)?.snapshot().filter(|_| may_share);
            transaction.set_snapshot(snapshot.ok_or_else(|| MysqlError::wrong_arguments("FROM SESSION"))?);
        }
        if consistent_snapshot && repeatable {
            self.entry.set_snapshot(Some(transaction.snapshot()));
            self.transaction.is_shared = true;
            transaction.set_shown();
        }
        self.transaction.open = Some(transaction);
        self.transaction.used = TransactionUse { is_explicit: true, ..TransactionUse::default() };
        Ok(())
    }

    /// Stops other sessions from taking the snapshot of the open transaction, which ends.
    fn end_sharing(&mut self) {
        if std::mem::take(&mut self.transaction.is_shared) {
            self.entry.set_snapshot(None);
        }
    }

    /// COMMIT; does nothing without a transaction.
    pub(crate) fn commit(&mut self) -> Result<(), MysqlError> {
        // The statement around the inner session ends the transaction.
        if self.is_inner() {
            return Err(MysqlError::commit_in_function());
        }
        self.transaction.savepoints.clear();
        self.transaction.used = TransactionUse::default();
        if let Err(refused) = self.check_server_writable()
            && self.transaction.open.as_ref().is_some_and(Transaction::changes_shared_tables)
        {
            self.rollback();
            return Err(refused);
        }
        let Some(transaction) = self.transaction.open.take() else { return Ok(()) };
        self.end_sharing();
        self.counters.access.handler_commit += 1;
        let committed = transaction.commit();
        self.locks.end_uses();
        let dropped = self.end_dropped_tables();
        committed?;
        dropped
    }

    /// ROLLBACK; does nothing without a transaction.
    pub(crate) fn rollback(&mut self) {
        // The statement around the inner session ends the transaction.
        if self.is_inner() {
            return;
        }
        self.transaction.savepoints.clear();
        self.transaction.used = TransactionUse::default();
        if let Some(transaction) = self.transaction.open.take() {
            self.end_sharing();
            self.counters.access.handler_rollback += 1;
            transaction.rollback();
            self.locks.end_uses();
            // On failure the store has stopped, and the next open drops the tables.
            self.end_dropped_tables().ok();
        }
    }

    /// COMMIT or ROLLBACK, then `then`: another transaction of the same kind, or the end of the connection.
    ///
    /// # Errors
    /// Errors of COMMIT.
    pub(crate) fn end_transaction(&mut self, commit: bool, then: Completion) -> Result<(), MysqlError> {
        let kind = self.transaction.open.as_ref().map(|open| (open.isolation(), open.mode()));
        if commit {
            self.commit()?;
        } else {
            self.rollback();
        }
        // AND CHAIN implies NO RELEASE, and RELEASE implies AND NO CHAIN.
        let usual = self.settings.completion;
        let usually = |usual: Option<bool>, other: Option<bool>| usual == Some(true) && other != Some(true);
        let chain = then.chain.unwrap_or(usually(usual.chain, then.release));
        let release = then.release.unwrap_or(usually(usual.release, then.chain));
        if chain {
            self.transaction.next_isolation = kind.map(|(isolation, _)| isolation.into());
            self.begin(kind.map(|(_, mode)| mode == TxnMode::ReadOnly), false, None)?;
        }
        if release {
            self.cancel.cancel(CancelReason::ConnectionKilled);
        }
        Ok(())
    }

    /// SAVEPOINT: replaces a savepoint of the same name. Outside a transaction it does nothing, as in MySQL.
    pub(crate) fn savepoint(&mut self, name: &str) {
        if !self.settings.autocommit && self.transaction.open.is_none() {
            self.transaction.open = Some(self.new_transaction(None));
        }
        if let Some(transaction) = &self.transaction.open {
            let mark = transaction.savepoint();
            self.transaction.savepoints.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
            self.transaction.savepoints.push((name.into(), mark));
        }
    }

    /// ROLLBACK TO SAVEPOINT: removes later savepoints.
    ///
    /// # Errors
    /// 1305 if there is no such savepoint.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<(), MysqlError> {
        let at = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(at + 1);
        if let (Some(transaction), Some((_, mark))) =
            (&mut self.transaction.open, self.transaction.savepoints.last())
        {
            transaction.rollback_to(*mark);
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT: removes the savepoint and later ones.
    ///
    /// # Errors
    /// 1305 if there is no such savepoint.
    pub(crate) fn release_savepoint(&mut self, name: &str) -> Result<(), MysqlError> {
        let at = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, MysqlError> {
        let found =
            self.transaction.savepoints.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
        found.ok_or_else(|| MysqlError::does_not_exist("SAVEPOINT", name))
    }

    /// The read view of a statement that only reads: of the open transaction, or a new one, which needs no
    /// commit.
    pub(crate) fn read_view(&mut self) -> ReadView {
        let own = self.transaction.open.is_none() && self.settings.autocommit;
        if own {
            let (isolation, _) = self.next_characteristics(None);
            let transactions = self.instance.engine().transactions();
            return match isolation {
                Isolation::Serializable => transactions.serializable_view(),
                Isolation::ReadCommitted | Isolation::RepeatableRead => transactions.read_view(),
            };
        }
        let view = self.open_view();
        if let Some(transaction) = &mut self.transaction.open {
            transaction.set_shown();
        }
        self.transaction.used.has_read = true;
        view
    }

    /// A read view of the latest commits for work that reads no rows, such as planning and SET. It begins no
    /// transaction and takes no snapshot for the open one.
    pub(crate) fn latest_view(&self) -> ReadView {
        self.instance.engine().transactions().read_view()
    }

    /// The read view of the open transaction, which is begun if there is none.
    fn open_view(&mut self) -> ReadView {
        if self.transaction.open.is_none() {
            self.transaction.open = Some(self.new_transaction(None));
        }
        match &mut self.transaction.open {
            Some(transaction) => {
                transaction.begin_statement();
                transaction.view()
            }
            None => self.instance.engine().transactions().read_view(),
        }
    }

    /// Runs a statement of a stored function or trigger that writes or locks, atomically. A conflict goes up to the statement
    /// around it, which alone can run again.
    fn write_inside<R>(
        &mut self,
        reads: ChangeReads,
        mut statement: impl FnMut(&mut Session, &mut Transaction) -> Result<R, MysqlError>,
    ) -> Result<R, MysqlError> {
        let Some(mut transaction) = self.transaction.open.take() else {
            return Err(MysqlError::internal("a statement inside another has no transaction"));
        };
        self.set_terms(&mut transaction, false);
        let mark = transaction.begin_change(reads);
        let result = statement(self, &mut transaction);
        if result.is_err() {
            transaction.rollback_statement(mark);
        }
        transaction.end_change();
        self.transaction.open = Some(transaction);
        result
    }

    /// Runs a statement that writes or locks, atomically: if it fails, its changes are undone and its locks
    /// stay. Under autocommit it is committed.
    ///
    /// After a conflict the statement is run again under a newer snapshot, with the locks that it has, as
    /// long as nobody has seen what the transaction read. Otherwise, and in a deadlock, the transaction is
    /// rolled back and its client has to begin it again; a transaction of this statement alone is begun again
    /// here.
    pub(crate) fn write<R>(
        &mut self,
        statement: impl FnMut(&mut Session, &mut Transaction) -> Result<R, MysqlError>,
    ) -> Result<R, MysqlError> {
        self.change(ChangeReads::Newest(LockWait::Wait), statement)
    }

    /// Runs a statement like [`write`](Self::write), which reads the versions that `reads` says.
    pub(crate) fn change<R>(
        &mut self,
        reads: ChangeReads,
        mut statement: impl FnMut(&mut Session, &mut Transaction) -> Result<R, MysqlError>,
    ) -> Result<R, MysqlError> {
        if self.is_inner() {
            return self.write_inside(reads, statement);
        }
        let own = self.transaction.open.is_none() && self.settings.autocommit;
        let mut transaction = match self.transaction.open.take() {
            Some(transaction) => transaction,
            None => self.new_transaction(None),
        };
        let before = BeforeAttempt::of(self);
        let mut attempt = 0;
        loop {
            self.set_terms(&mut transaction, own);
            let mark = transaction.begin_change(reads);
            if attempt > 0 {
                transaction.refresh_snapshot()?;
            }
            let result = statement(self, &mut transaction);
            let can_restart = transaction.can_restart();
            transaction.end_change();
            let error = match result {
                Ok(value) if own => {
                    self.counters.access.handler_commit += 1;
                    let (isolation, mode) = (transaction.isolation(), transaction.mode());
                    match transaction.commit().map_err(MysqlError::from) {
                        // At SERIALIZABLE. Nobody has seen what the statement has done.
                        Err(error) if is_conflict(&error) && attempt < RETRIES => {}
                        committed => return committed.map(|_| value),
                    }
                    self.cancel.check()?;
                    self.counters.access.handler_rollback += 1;
                    transaction = self.begin_as(isolation, mode);
                    attempt += 1;
                    before.restore(self);
                    continue;
                }
                Ok(value) => {
                    transaction.set_shown();
                    let durable = transaction.make_seen_durable();
                    self.transaction.used.has_read |= !transaction.has_writes();
                    self.transaction.open = Some(transaction);
                    return durable.map(|()| value).map_err(MysqlError::from);
                }
                Err(error) => error,
            };
            self.counters.access.handler_rollback += 1;
            transaction.rollback_statement(mark);
            if !is_conflict(&error) {
                let durable = transaction.make_seen_durable();
                if !own {
                    self.transaction.open = Some(transaction);
                }
                return durable.map_err(MysqlError::from).and(Err(error));
            }
            let again = own || (can_restart && !transaction.is_deadlock_victim());
            if !again || attempt == RETRIES || self.cancel.check().is_err() {
                self.transaction.savepoints.clear();
                self.transaction.used = TransactionUse::default();
                self.end_sharing();
                transaction.rollback();
                return self.cancel.check().and(Err(error));
            }
            if transaction.is_deadlock_victim() {
                let (isolation, mode) = (transaction.isolation(), transaction.mode());
                transaction.rollback();
                transaction = self.begin_as(isolation, mode);
            }
            attempt += 1;
            before.restore(self);
        }
    }

    /// Rolls back a SERIALIZABLE transaction in which a query was forbidden to read what it asked for.
    pub(super) fn end_failed_transaction(&mut self) {
        if self.transaction.open.as_ref().is_some_and(Transaction::has_failed) {
            self.rollback();
        }
    }
}

impl Session {
    /// Calls `statement` until it returns false or fails, each time as a statement of its own in the open
    /// transaction. A failed call is undone; the calls before it stay.
    ///
    /// # Errors
    /// The error of the failed call; errors of the store.
    pub(crate) fn write_each(
        &mut self,
        mut statement: impl FnMut(&mut Session, &mut Transaction) -> Result<bool, MysqlError>,
    ) -> Result<(), MysqlError> {
        let Some(mut transaction) = self.transaction.open.take() else {
            return Err(MysqlError::internal("no open transaction"));
        };
        self.set_terms(&mut transaction, false);
        let mut has_run = false;
        let result = loop {
            let mark = transaction.begin_change(ChangeReads::Newest(LockWait::Wait));
            let result = statement(self, &mut transaction);
            transaction.end_change();
            match result {
                Ok(true) => has_run = true,
                Ok(false) => break Ok(()),
                Err(error) => {
                    self.counters.access.handler_rollback += 1;
                    transaction.rollback_statement(mark);
                    break Err(error);
                }
            }
        };
        if has_run {
            transaction.set_shown();
            self.transaction.used.has_read |= !transaction.has_writes();
        }
        let durable = transaction.make_seen_durable();
        self.transaction.open = Some(transaction);
        durable.map_err(MysqlError::from).and(result)
    }

    /// Applies the session's settings for writing to a transaction; `own` marks one of this statement alone.
    fn set_terms(&self, transaction: &mut Transaction, own: bool) {
        transaction.set_lock_limits(LockLimits {
            timeout: Duration::from_secs(self.settings.lock_wait_timeout),
            cancel: self.cancel.clone(),
        });
        transaction.set_snapshot_isolation(self.settings.snapshot_isolation);
        transaction.set_zero_is_number(self.settings.sql_mode.has(Modes::NO_AUTO_VALUE_ON_ZERO));
        transaction.set_numbering(self.settings.numbering, self.settings.insert_id);
        transaction.set_single(own);
    }
}

/// The state of a session that the failed attempt at a statement may have changed, and that another must not see.
struct BeforeAttempt {
    warnings: Warnings,
    variables: Option<UserVariables>,
    insert_ids: (u64, Option<u64>),
}

impl BeforeAttempt {
    fn of(session: &Session) -> BeforeAttempt {
        BeforeAttempt {
            warnings: session.warnings.clone(),
            variables: session.statement.sets_variables.then(|| session.user_variables.clone()),
            insert_ids: (session.facts.last_insert_id, session.statement.told_insert_id),
        }
    }

    fn restore(&self, session: &mut Session) {
        session.warnings.clone_from(&self.warnings);
        (session.facts.last_insert_id, session.statement.told_insert_id) = self.insert_ids;
        if let Some(variables) = &self.variables {
            session.user_variables.clone_from(variables);
        }
    }
}

fn is_conflict(error: &MysqlError) -> bool {
    error.code == leafline_types::error::errno::ER_LOCK_DEADLOCK
}
