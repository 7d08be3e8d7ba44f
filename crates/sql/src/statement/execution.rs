//! The state of one execution of a plan: what stays the same from its first batch to its last.

use crate::session::Session;
use leafline_access::{Budget, ScanPiece};
use leafline_executor as operator;
use leafline_executor::{ExecutionContext, Part, Profile, Runner, StatementLocks, Subplans, batch_bytes};
use leafline_expr::{CallState, EvalContext, Expr, ExprKind};
use leafline_planner::plan::{Node, PlanParts};
use leafline_table::implicit_default;
use leafline_table::{ColumnDef, ReadView, Transaction};
use leafline_types::convert::{StoreContext, dated, store_cast};
use leafline_types::memory::MemoryBudget;
use leafline_types::{Batch, Collation, DateTime, MysqlError, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// One execution. The session lends its diagnostics and counters call by call, so that it is free between batches.
pub(crate) struct Execution {
    view: ReadView,
    parameters: Arc<[Value]>,
    now: Now,
    stores: bool,
    rules: StoreRules,
    state: CallState,
    memory: MemoryBudget,
    locks: Option<StatementLocks>,
    profile: Option<Profile>,
    subplans: Subplans,
    row_by_row: bool,
    max_recursion: u64,
    /// What of its table is read, until its scan has begun; none: all.
    piece: Option<ScanPiece>,
}

impl Execution {
    /// An execution that reads what `view` shows. `stores` says whether its values are stored.
    pub(crate) fn new(session: &Session, view: ReadView, parameters: &[Value], stores: bool) -> Execution {
        Execution {
            view: view.with_read_ahead(session.settings.read_ahead),
            parameters: parameters.into(),
            now: session.now(),
            stores,
            rules: StoreRules::default(),
            state: CallState::default(),
            memory: MemoryBudget::of_statement(session.settings.query_memory),
            locks: None,
            profile: None,
            subplans: Subplans::default(),
            row_by_row: false,
            max_recursion: session.settings.cte_max_recursion_depth,
            piece: None,
        }
    }

    /// Reads a piece of its table, if one is given, as a part of what began at `now`.
    pub(crate) fn reading(self, piece: Option<ScanPiece>, now: Now) -> Execution {
        Execution { piece, now, ..self }
    }

    /// Sets what becomes of values that columns cannot have.
    pub(crate) fn storing(mut self, rules: StoreRules) -> Execution {
        self.rules = rules;
        self
    }

    /// Makes it ready for another run of its statement, with other parameters.
    pub(crate) fn renew(&mut self, session: &Session, parameters: &[Value]) {
        match Arc::get_mut(&mut self.parameters) {
            Some(own) if own.len() == parameters.len() => own.clone_from_slice(parameters),
            _ => self.parameters = parameters.into(),
        }
        self.now = session.now();
        self.state = CallState::default();
    }

    /// Lets its expressions run the subqueries of a statement.
    pub(crate) fn with_parts(mut self, parts: &Arc<PlanParts>) -> Execution {
        self.row_by_row = parts.row_by_row;
        if !parts.subqueries.is_empty() || !parts.commons.is_empty() {
            self.subplans = Subplans::new(parts, self.max_recursion);
        }
        self
    }

    /// Lets it lock rows for `transaction`.
    pub(crate) fn locking(mut self, transaction: &mut Transaction) -> Execution {
        let restartable = transaction.can_restart();
        self.locks = Some(StatementLocks { locker: transaction.row_locker(), restartable });
        self
    }

    /// Keeps figures per node of a plan with `nodes` nodes, and of the parts that it has been given.
    pub(crate) fn profiled(mut self, nodes: usize) -> Execution {
        self.profile = Some(Profile::new(nodes));
        self.subplans.keep_profiles();
        self
    }

    /// The figures, if they were kept.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The figures of a query that is run by itself, if they were kept.
    pub(crate) fn part_profile(&self, part: Part) -> Option<Profile> {
        self.subplans.take_profile(part)
    }

    /// The value of an expression that is a literal or a parameter.
    pub(crate) fn known<'v>(&'v self, expr: &'v Expr) -> Option<&'v Value> {
        match &expr.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Parameter(number) => self.parameters.get(*number),
            _ => None,
        }
    }

    /// `NOW()`, with microseconds.
    pub(crate) fn now(&self) -> Now {
        self.now
    }

    /// Runs one step.
    pub(crate) fn with<R>(
        &mut self,
        session: &mut Session,
        step: impl FnOnce(&mut ExecutionContext<'_>) -> R,
    ) -> R {
        let mut sql_mode = session.settings.evaluation_mode();
        sql_mode.strict &= !self.rules.ignore;
        let room = session.room_for_variables();
        self.state.variables = std::mem::take(&mut session.user_variables);
        self.state.variables.set_room(room);
        let runner = Runner {
            subplans: &self.subplans,
            view: &self.view,
            locks: self.locks.as_ref(),
            memory: &self.memory,
        };
        let mut cx = ExecutionContext {
            eval: EvalContext {
                parameters: &self.parameters,
                outer: &[],
                subqueries: Some(&runner),
                now: self.now.local,
                utc_now: self.now.utc,
                zone: session.settings.time_zone.zone(),
                sql_mode,
                stores: self.stores,
                session: &session.facts,
                warnings: &mut session.warnings,
                cancel: &session.cancel,
                memory: &self.memory,
                ignores: self.rules.ignore,
                row_by_row: self.row_by_row,
                state: std::mem::take(&mut self.state),
            },
            view: &self.view,
            counters: &mut session.counters.access,
            locks: self.locks.as_ref(),
            memory: &self.memory,
            subplans: &self.subplans,
            profile: self.profile.as_mut(),
            piece: self.piece.take(),
            budget: Budget::default(),
        };
        let result = step(&mut cx);
        self.state = std::mem::take(&mut cx.eval.state);
        session.user_variables = std::mem::take(&mut self.state.variables);
        if let Some(id) = self.state.last_insert_id.take() {
            session.facts.last_insert_id = id;
            session.told_insert_id = Some(id);
        }
        if let Some(counters) = self.subplans.take_counters() {
            session.counters.access += *counters;
        }
        result
    }

    /// Runs a plan to its end. What it delivers counts as memory of the statement.
    pub(crate) fn collect(&mut self, session: &mut Session, plan: &Node) -> Result<Vec<Batch>, MysqlError> {
        let mut root = operator::build(plan, false);
        let mut rows = Vec::new();
        while let Some(batch) = self.with(session, |cx| {
            let batch = root.next(cx)?;
            if let Some(batch) = &batch {
                cx.memory.take(batch_bytes(batch))?;
            }
            Ok::<_, MysqlError>(batch)
        })? {
            rows.push(batch);
        }
        Ok(rows)
    }

    /// Text for a column of bytes: the bytes that it has in the character set of its collation. Other values as they are.
    pub(crate) fn bytes_for<'v>(value: &'v Value, from: Collation, column: &ColumnDef) -> Cow<'v, Value> {
        match value {
            Value::String(text) if column.ty.is_bytes() && !from.charset().is_utf8() => {
                Cow::Owned(Value::bytes(from.charset().encode(text)))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// A value as a column stores it; `row` counts from 1, for messages.
    pub(crate) fn store(
        &self,
        session: &mut Session,
        value: &Value,
        from: &SqlType,
        column: &ColumnDef,
        row: u64,
    ) -> Result<Value, MysqlError> {
        let nullable = column.nullable || (column.auto_increment && !self.rules.keeps_rows);
        let mode = session.settings.evaluation_mode();
        let strict = mode.strict && !self.rules.ignore;
        if value.is_null() && !nullable && (self.rules.ignore || (!strict && self.rules.null_is_default)) {
            let default = implicit_default(column)?;
            session.warnings.warn(MysqlError::bad_null(&column.name));
            return Ok(default);
        }
        let mut cx = StoreContext {
            column: &column.name,
            charset: column.collation.charset(),
            row,
            strict,
            dates: mode.dates,
            zone: session.settings.time_zone.zone(),
            max_document: mode.max_result,
            warnings: &mut session.warnings,
        };
        let dated = dated(value, &column.ty, self.now.local.date());
        store_cast(dated.as_ref().unwrap_or(value), from, &column.ty, nullable, &mut cx)
    }

    /// The value of a column that has no default and was given none: error 1364, or a warning and the type's own default.
    pub(crate) fn missing_value(
        &self,
        session: &mut Session,
        column: &ColumnDef,
    ) -> Result<Value, MysqlError> {
        self.value_instead(session, column, MysqlError::no_default_for_field(&column.name))
    }

    /// The same with another error.
    pub(crate) fn value_instead(
        &self,
        session: &mut Session,
        column: &ColumnDef,
        missing: MysqlError,
    ) -> Result<Value, MysqlError> {
        let value = if column.nullable { Ok(Value::Null) } else { implicit_default(column) };
        // As in MySQL, an ENUM without a default has its first text, or NULL, and nobody is told.
        if matches!(column.ty, SqlType::Enum(_)) {
            return value;
        }
        if session.settings.evaluation_mode().strict && !self.rules.ignore {
            return Err(missing);
        }
        let value = value?;
        session.warnings.warn(missing);
        Ok(value)
    }
}

/// The time of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// In UTC.
    pub(crate) utc: DateTime,
    /// In the session's time zone.
    pub(crate) local: DateTime,
}

impl Now {
    /// As a DATETIME or TIMESTAMP column keeps it. What it has no digits for is cut, not rounded: NOW(fsp) does the same.
    pub(crate) fn of(self, ty: &SqlType) -> DateTime {
        let now = if matches!(ty, SqlType::Timestamp { .. }) { self.utc } else { self.local };
        now.truncate(ty.scale())
    }
}

/// What becomes of values that columns cannot have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreRules {
    /// With IGNORE: they are changed, with a warning, in strict mode too.
    pub(crate) ignore: bool,
    /// Without strict mode, NULL in a NOT NULL column becomes the type's own default: everywhere but in an INSERT of one row.
    pub(crate) null_is_default: bool,
    /// The statement changes rows and adds none: NULL does not ask an AUTO_INCREMENT column for its next value.
    pub(crate) keeps_rows: bool,
}
