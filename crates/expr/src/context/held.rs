//! Accounts for the long values that an evaluation holds at a time.
//!
//! A value counts from its making until the node that uses it as an operand is computed, so that nested calls
//! together hold no more than `leafline_query_memory` (1038). Values of less than [`LONG`] bytes are not counted:
//! counting would cost more than they do.
//!
//! A batch is evaluated node by node and holds the values of all its rows. If these exceed [`BATCH_BYTES`], the
//! evaluation is abandoned and repeated row by row, see [`in_batch`].

use super::EvalContext;
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::value::Value;

/// Values of this many bytes or more are counted.
pub(crate) const LONG: usize = 64 << 10;

/// The most bytes of values that a batch holds while it is evaluated node by node.
pub(crate) const BATCH_BYTES: usize = 32 << 20;

/// The size of a piece in bytes: operators receive long values in pieces of about this size.
pub(crate) const PIECE_BYTES: usize = 8 << 20;

/// The memory that an evaluation holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// The bytes of long values.
    bytes: usize,
    /// The part of `bytes` that is charged to the statement's budget.
    charged: usize,
    /// The limit for a batch, while one is evaluated node by node.
    batch_limit: Option<usize>,
    /// Whether a batch was abandoned because it exceeded its limit.
    overrun: bool,
}

impl EvalContext<'_> {
    /// Counts a new value, if it is long.
    #[inline]
    pub(crate) fn hold(&mut self, made: &Value) -> Result<(), MysqlError> {
        match made.byte_len() {
            0..LONG => Ok(()),
            long => self.hold_bytes(long),
        }
    }

    /// Counts `bytes` bytes and checks for cancellation.
    ///
    /// # Errors
    /// 1038 if they are too many; in a batch an error that makes [`in_batch`] abandon it.
    #[cold]
    pub(crate) fn hold_bytes(&mut self, bytes: usize) -> Result<(), MysqlError> {
        self.cancel.check()?;
        let total = self.state.held.bytes.saturating_add(bytes);
        if self.state.held.batch_limit.is_some_and(|limit| total > limit) {
            self.state.held.overrun = true;
            return Err(MysqlError::out_of_sort_memory());
        }
        match self.memory.take(bytes) {
            Ok(()) => self.state.held.charged += bytes,
            // Like an operator, an expression may have its share whatever the others hold; and a single value may be
            // as long as `max_allowed_packet`.
            Err(error) if total > self.memory.share().max(self.sql_mode.max_result) => return Err(error),
            Err(_) => {}
        }
        self.state.held.bytes = total;
        Ok(())
    }

    /// Releases what was counted since the account had these values.
    #[cold]
    fn release_to(&mut self, bytes: usize, charged: usize) {
        let held = &mut self.state.held;
        self.memory.give_back(held.charged.saturating_sub(charged));
        (held.bytes, held.charged) = (bytes, charged);
    }

    /// Runs a part of an evaluation and releases what it counted.
    #[inline]
    pub(crate) fn releasing<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let Held { bytes, charged, .. } = self.state.held;
        let result = work(self);
        if self.state.held.bytes != bytes {
            self.release_to(bytes, charged);
        }
        result
    }
}

/// Evaluates for a batch; returns `None` if its values are too long for that. Then all effects are undone, including
/// warnings, except that volatile calls have been made: see `eval::in_turn`.
pub(crate) fn in_batch<T>(
    cx: &mut EvalContext<'_>,
    work: impl FnOnce(&mut EvalContext<'_>) -> Result<T, MysqlError>,
) -> Result<Option<T>, MysqlError> {
    let outer = cx.state.held;
    let mark = cx.warnings.mark();
    cx.state.held = Held { batch_limit: Some(outer.bytes + BATCH_BYTES), overrun: false, ..outer };
    let result = work(cx);
    let overrun = cx.state.held.overrun;
    if cx.state.held.bytes != outer.bytes {
        cx.release_to(outer.bytes, outer.charged);
    }
    cx.state.held = outer;
    match result {
        Err(_) if overrun => {
            cx.warnings.back_to(mark);
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// The bytes of a column that is made row by row.
#[derive(Debug, Default)]
pub(crate) struct ColumnBytes {
    /// All bytes.
    total: usize,
    /// The bytes that are not counted yet.
    uncounted: usize,
}

impl ColumnBytes {
    /// Counts a value that is about to be appended.
    ///
    /// # Errors
    /// The errors of [`EvalContext::hold_bytes`]; 1041 if the column cannot grow.
    #[inline]
    pub(crate) fn add(&mut self, v: &Value, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        let bytes = v.byte_len();
        self.total += bytes;
        self.uncounted += bytes;
        if self.uncounted < LONG { Ok(()) } else { self.count(cx) }
    }

    #[cold]
    fn count(&mut self, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        cx.hold_bytes(std::mem::take(&mut self.uncounted))?;
        // A column grows by half its size or more, and its old content is copied.
        room_for(self.total.saturating_mul(2))
    }

    /// Returns the total.
    pub(crate) fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Session, int, txt};
    use crate::{ArithmeticOp, Expr, ExprKind, build};
    use crate::{evaluate, evaluate_filter, evaluate_scalar, evaluate_some};
    use leafline_types::column::Batch;
    use leafline_types::memory::MemoryBudget;
    use leafline_types::value::{ExprType, SqlType};

    const ROWS: usize = 100;

    /// Returns a column of the numbers from 1.
    fn numbers() -> (Expr, Batch) {
        let ty = ExprType::numeric(SqlType::BIGINT, false);
        let rows: Vec<[Value; 1]> = (1..=ROWS as i64).map(|n| [Value::Int(n)]).collect();
        let batch = Batch::from_rows(&[SqlType::BIGINT], rows.iter().map(|row| row.as_slice())).unwrap();
        (Expr { kind: ExprKind::Column(0), ty }, batch)
    }

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        build::call(name, args).unwrap()
    }

    /// Makes a text of `n + more` bytes.
    fn long(n: &Expr, more: i64) -> Expr {
        let length = build::arithmetic(ArithmeticOp::Add, n.clone(), int(more)).unwrap();
        call("REPEAT", vec![txt("x"), length])
    }

    #[test]
    fn a_batch_of_long_values_is_computed_row_by_row() {
        let (n, batch) = numbers();
        let budget = MemoryBudget::new(1 << 30);
        let mut session = Session::new();
        let mut cx = session.cx();
        cx.memory = &budget;
        let e = call("CONCAT", vec![long(&n, 600_000), call("LEFT", vec![txt("ab"), txt("1z")])]);
        let datum = evaluate(&e, &batch, &mut cx).unwrap();
        for row in [0, ROWS - 1] {
            assert_eq!(datum.value(row, &e.ty.sql).byte_len(), 600_002 + row);
        }
        // Each row has its warning once.
        assert_eq!(cx.warnings.count(), ROWS as u64);
        let condition = build::compare(crate::CompareOp::Gt, e.clone(), txt("x")).unwrap();
        assert_eq!(evaluate_filter(&[condition], &batch, &mut cx).unwrap().count(), ROWS);
        let (columns, rows) = evaluate_some(&[n, e], &batch, &mut cx).unwrap();
        assert!((PIECE_BYTES / 600_100..=PIECE_BYTES / 600_000 + 1).contains(&rows), "{rows}");
        assert!(columns.iter().all(|column| column.len() == rows));
        assert_eq!((budget.used(), cx.state.held.bytes), (0, 0));
        assert!(budget.peak() > BATCH_BYTES);
    }

    #[test]
    fn nested_calls_hold_no_more_than_the_budget() {
        let budget = MemoryBudget::new(32 << 20);
        let mut session = Session::new();
        let nested = |depth: usize| {
            (0..depth).fold(txt("x"), |inner, _| call("CONCAT", vec![long(&int(0), 1 << 20), inner]))
        };
        // Each level holds two values: its first argument and its nested call.
        for (depth, code) in [(3, None), (100, Some(1038))] {
            let mut cx = session.cx();
            cx.memory = &budget;
            let made = evaluate_scalar(&nested(depth), &mut cx);
            assert_eq!(made.err().map(|e| e.code), code);
            assert_eq!((budget.used(), cx.state.held.bytes), (0, 0));
        }
    }
}
