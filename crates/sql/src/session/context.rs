//! The context of a running statement, passed down in one value instead of the session.
//!
//! [`Execution`] is the state that a statement owns from its first batch of rows to its last.
//! [`Execution::with`] lends it for one step as a [`StatementContext`]: the executor's context (expressions,
//! diagnostics, cancellation, counters, memory), and a [`SessionView`] of the session that runs the
//! statement. Between two steps the session is free. A statement that changes rows runs as one step; a query
//! whose client pulls rows runs one step for each batch.

use super::calls::CallHost;
use super::now::Now;
use crate::accounts::Access;
use crate::instance::Instance;
use crate::session_entry::SessionEntry;
use crate::settings::Settings;
use leafline_executor::{self as operator, ExecutionContext, batch_bytes};
use leafline_expr::Expr;
use leafline_planner::plan::Node;
use leafline_table::{BuildControl, ColumnDef, SessionLocks, implicit_default};
use leafline_types::convert::{StoreContext, dated, store_cast};
use leafline_types::{Batch, CancelToken, Collation, MysqlError, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The parts of a session that a running statement reads.
#[derive(Clone, Copy)]
pub(crate) struct SessionView<'s> {
    /// The instance.
    pub(crate) instance: &'s Arc<Instance>,
    /// The session's entry.
    pub(crate) entry: &'s SessionEntry,
    /// The settings of the statement.
    pub(crate) settings: &'s Settings,
    /// The session's rights.
    pub(crate) access: &'s Access,
    /// Owner of table locks.
    pub(crate) locks: &'s Arc<SessionLocks>,
    /// Cancels the statement.
    pub(crate) cancel: &'s CancelToken,
}

impl SessionView<'_> {
    /// The limits under which the statement builds trees.
    pub(crate) fn build_control(&self) -> BuildControl {
        let threads = usize::try_from(self.settings.build_threads).unwrap_or(usize::MAX);
        BuildControl {
            memory_bytes: self.settings.build_memory,
            // One of the threads is the statement's own, which reads.
            threads: if threads > 1 { threads } else { 0 },
            cancel: self.cancel.clone(),
            progress: self.entry.progress.clone(),
        }
    }
}

/// The context of one step of a statement.
pub(crate) struct StatementContext<'s> {
    /// The session that runs the statement.
    pub(crate) exec: ExecutionContext<'s>,
    /// The session that runs the statement.
    pub(crate) session: SessionView<'s>,
    /// Rules for values that do not fit their columns.
    pub(crate) rules: StoreRules,
    /// `NOW()`, with microseconds.
    pub(crate) now: Now,
    /// Runs stored functions and triggers, if the statement has any.
    pub(crate) programs: Option<&'s CallHost>,
}

impl<'s> StatementContext<'s> {
    /// Adds a warning to the diagnostics area.
    pub(crate) fn warn(&mut self, warning: MysqlError) {
        self.exec.eval.warnings.warn(warning);
    }

    /// Fails if the statement was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), MysqlError> {
        self.exec.eval.cancel.check()
    }

    /// The value of an expression that is a literal or a parameter.
    pub(crate) fn known<'v>(&self, expr: &'v Expr) -> Option<&'v Value>
    where
        's: 'v,
    {
        expr.known(self.exec.eval.parameters)
    }

    /// Runs a plan to its end. Its rows count as memory of the statement.
    pub(crate) fn collect(&mut self, plan: &Node) -> Result<Vec<Batch>, MysqlError> {
        let mut root = operator::build(plan, false);
        let mut rows = Vec::new();
        while let Some(batch) = root.next(&mut self.exec)? {
            self.exec.memory.take(batch_bytes(&batch))?;
            rows.push(batch);
        }
        Ok(rows)
    }

    /// Converts a value to the type of a column; `row` counts from 1, for messages.
    pub(crate) fn store(
        &mut self,
        value: &Value,
        from: &SqlType,
        column: &ColumnDef,
        row: u64,
    ) -> Result<Value, MysqlError> {
        let nullable =
            column.nullable || (column.auto_increment && !self.rules.keeps_rows) || self.rules.null_waits;
        let mode = self.exec.eval.sql_mode;
        if value.is_null() && !nullable && (self.rules.ignore || (!mode.strict && self.rules.null_is_default))
        {
            let default = implicit_default(column)?;
            self.warn(MysqlError::bad_null(&column.name));
            return Ok(default);
        }
        let mut cx = StoreContext {
            column: &column.name,
            charset: column.collation.charset(),
            row,
            strict: mode.strict,
            dates: mode.dates,
            zone: self.exec.eval.zone,
            max_document: mode.max_result,
            warnings: self.exec.eval.warnings,
        };
        let dated = dated(value, &column.ty, self.now.local.date());
        store_cast(dated.as_ref().unwrap_or(value), from, &column.ty, nullable, &mut cx)
    }

    /// The value of a column after the BEFORE triggers have run; `row` counts from 1, for messages. NULL in a NOT NULL column
    /// fails, or becomes the type's implicit default, as [`store`](Self::store) would have decided before.
    pub(crate) fn settle_null(
        &mut self,
        value: Value,
        column: &ColumnDef,
        row: u64,
    ) -> Result<Value, MysqlError> {
        if !value.is_null() || column.nullable || (column.auto_increment && !self.rules.keeps_rows) {
            return Ok(value);
        }
        let waits = std::mem::take(&mut self.rules.null_waits);
        let settled = self.store(&value, &column.ty, column, row);
        self.rules.null_waits = waits;
        settled
    }

    /// The value of a column that has no default and was given none: the type's implicit default, with a
    /// warning, or error 1364 in strict mode.
    pub(crate) fn missing_value(&mut self, column: &ColumnDef) -> Result<Value, MysqlError> {
        self.default_or(column, MysqlError::no_default_for_field(&column.name))
    }

    /// Like [`missing_value`](Self::missing_value), with the error `missing` in the place of 1364.
    pub(crate) fn default_or(
        &mut self,
        column: &ColumnDef,
        missing: MysqlError,
    ) -> Result<Value, MysqlError> {
        let value = if column.nullable { Ok(Value::Null) } else { implicit_default(column) };
        // As in MySQL, an ENUM without a default gets its first text, or NULL, without a warning.
        if matches!(column.ty, SqlType::Enum(_)) {
            return value;
        }
        if self.exec.eval.sql_mode.strict {
            return Err(missing);
        }
        let value = value?;
        self.warn(missing);
        Ok(value)
    }
}

/// Encodes a text for a column of bytes in the character set of its collation; leaves other values unchanged.
pub(crate) fn bytes_for<'v>(value: &'v Value, from: Collation, column: &ColumnDef) -> Cow<'v, Value> {
    match value {
        Value::String(text) if column.ty.is_bytes() && !from.charset().is_utf8() => {
            Cow::Owned(Value::bytes(from.charset().encode(text)))
        }
        _ => Cow::Borrowed(value),
    }
}

/// Rules for values that do not fit their columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreRules {
    /// IGNORE: such values are changed with a warning, in strict mode as well.
    pub(crate) ignore: bool,
    /// Without strict mode NULL in a NOT NULL column becomes the type's implicit default, except in an INSERT
    /// of one row.
    pub(crate) null_is_default: bool,
    /// The statement changes rows and adds none: NULL in an AUTO_INCREMENT column does not draw the next
    /// value.
    pub(crate) keeps_rows: bool,
    /// NULL in a NOT NULL column waits until the BEFORE triggers have run: [`StatementContext::settle_null`].
    pub(crate) null_waits: bool,
}
