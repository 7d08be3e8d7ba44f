//! Transactions and table locks.

use super::ast::{Completion, StatementKind, TableLock};
use super::cursor::{Parsed, Parser};

impl Parser<'_> {
    /// Parses the statement whose first word, in upper case, is `word`; that word comes next.
    pub(super) fn transaction(&mut self, word: &str) -> Parsed<StatementKind> {
        let first = self.advance();
        match word {
            "BEGIN" => {
                self.accept_word("WORK");
                Ok(StatementKind::Begin { read_only: None, consistent_snapshot: false, from_session: None })
            }
            "START" => self.start_transaction(),
            "COMMIT" => Ok(StatementKind::Commit(self.completion()?)),
            "ROLLBACK" => {
                self.accept_word("WORK");
                if self.accept_word("TO") {
                    self.accept_word("SAVEPOINT");
                    return Ok(StatementKind::RollbackTo(self.ident()?));
                }
                Ok(StatementKind::Rollback(self.completion()?))
            }
            "SAVEPOINT" => Ok(StatementKind::Savepoint(self.ident()?)),
            "RELEASE" => {
                self.expect_word("SAVEPOINT")?;
                Ok(StatementKind::ReleaseSavepoint(self.ident()?))
            }
            _ => Err(self.syntax_error_at(first.span)),
        }
    }

    fn start_transaction(&mut self) -> Parsed<StatementKind> {
        if self.at_any_word(&["REPLICA", "SLAVE", "GROUP_REPLICATION"]) {
            return self.refuse("replication");
        }
        self.expect_word("TRANSACTION")?;
        let mut read_only = None;
        let mut consistent_snapshot = false;
        let mut from_session = None;
        if self.at_any_word(&["READ", "WITH"]) {
            self.comma_list(|p| {
                if p.accept_word("WITH") {
                    p.expect_words(&["CONSISTENT", "SNAPSHOT"])?;
                    consistent_snapshot = true;
                    if p.accept_words(&["FROM", "SESSION"]) {
                        from_session = Some(p.integer()?);
                    }
                    return Ok(());
                }
                p.expect_word("READ")?;
                if read_only.is_some() {
                    return Err(p.syntax_error());
                }
                read_only = Some(p.at_word("ONLY"));
                p.expect_any_word(&["ONLY", "WRITE"])
            })?;
        }
        Ok(StatementKind::Begin { read_only, consistent_snapshot, from_session })
    }

    /// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`.
    fn completion(&mut self) -> Parsed<Completion> {
        self.accept_word("WORK");
        let mut completion = Completion::default();
        if self.accept_word("AND") {
            completion.chain = Some(!self.accept_word("NO"));
            self.expect_word("CHAIN")?;
        }
        let start = self.span();
        if self.accept_words(&["NO", "RELEASE"]) {
            completion.release = Some(false);
        } else if self.accept_word("RELEASE") {
            completion.release = Some(true);
        }
        match completion.chain == Some(true) && completion.release == Some(true) {
            true => Err(self.syntax_error_at(start)),
            false => Ok(completion),
        }
    }

    pub(super) fn lock_tables(&mut self) -> Parsed<StatementKind> {
        let unlock = self.at_word("UNLOCK");
        self.advance();
        if self.at_word("INSTANCE") {
            return self.refuse("LOCK INSTANCE");
        }
        self.expect_any_word(&["TABLES", "TABLE"])?;
        if unlock {
            return Ok(StatementKind::UnlockTables);
        }
        let locks = self.comma_list(|p| {
            let table = p.table_name()?;
            let alias = if p.accept_word("AS") || p.is_ident_at(0) { Some(p.ident()?) } else { None };
            let write = if p.accept_word("READ") {
                p.accept_word("LOCAL");
                false
            } else {
                p.accept_word("LOW_PRIORITY");
                p.expect_word("WRITE")?;
                true
            };
            Ok(TableLock { table, alias, write })
        })?;
        Ok(StatementKind::LockTables(locks))
    }
}
