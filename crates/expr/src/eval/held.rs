//! The long values that an evaluation holds at a time.
//!
//! A value counts from where it is made until the node that it is an operand of has been computed, so that nested calls hold no more
//! than `leafline_query_memory` together (1038). Values of less than [`LONG`] bytes are not counted: what counts them would cost
//! more than they do.
//!
//! A batch is evaluated node by node, which holds the values of all its rows. Where these are more than [`BATCH_BYTES`] the evaluation
//! is given up and done row by row, see [`in_batch`].

use super::super::context::EvalContext;
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::value::Value;

/// Bytes from which on a value is counted.
pub(super) const LONG: usize = 64 << 10;

/// Bytes of values that a batch may hold while it is evaluated node by node.
pub(super) const BATCH_BYTES: usize = 32 << 20;

/// Bytes of the values of a piece: where values are long, operators get so many at a time.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// What an evaluation holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// Bytes of long values.
    bytes: usize,
    /// Those of them that the statement's budget knows.
    charged: usize,
    /// What a batch may hold, while one is evaluated node by node.
    batch_limit: Option<usize>,
    /// Whether a batch was given up because it held more.
    overrun: bool,
}

impl EvalContext<'_> {
    /// Counts a value that was made, if it is long.
    #[inline]
    pub(super) fn hold(&mut self, made: &Value) -> Result<(), MysqlError> {
        match made.byte_len() {
            0..LONG => Ok(()),
            long => self.hold_bytes(long),
        }
    }

    /// Counts so many bytes, and asks whether the statement has to end.
    ///
    /// # Errors
    /// 1038 where they are too many; in a batch whatever makes [`in_batch`] give it up.
    #[cold]
    pub(super) fn hold_bytes(&mut self, bytes: usize) -> Result<(), MysqlError> {
        self.cancel.check()?;
        let total = self.state.held.bytes.saturating_add(bytes);
        if self.state.held.batch_limit.is_some_and(|limit| total > limit) {
            self.state.held.overrun = true;
            return Err(MysqlError::out_of_sort_memory());
        }
        match self.memory.take(bytes) {
            Ok(()) => self.state.held.charged += bytes,
            // As an operator, an expression may have its share whatever the others hold; and a single value may be as long as
            // `max_allowed_packet` says.
            Err(error) if total > self.memory.share().max(self.sql_mode.max_result) => return Err(error),
            Err(_) => {}
        }
        self.state.held.bytes = total;
        Ok(())
    }

    /// Gives back what was counted since the account stood so.
    #[cold]
    fn release_to(&mut self, bytes: usize, charged: usize) {
        let held = &mut self.state.held;
        self.memory.give_back(held.charged.saturating_sub(charged));
        (held.bytes, held.charged) = (bytes, charged);
    }

    /// Runs a part of an evaluation; what it counted is not held afterwards.
    #[inline]
    pub(super) fn releasing<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let Held { bytes, charged, .. } = self.state.held;
        let result = work(self);
        if self.state.held.bytes != bytes {
            self.release_to(bytes, charged);
        }
        result
    }
}

/// Evaluates for a batch; `None` if its values are too long for that. Then nothing of it counts, warnings included, but that calls
/// which differ each time have been made: see [`super::in_turn`].
pub(super) fn in_batch<T>(
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

/// Bytes of the values of one column that is being made row by row.
#[derive(Debug, Default)]
pub(super) struct ColumnBytes {
    /// All of them.
    total: usize,
    /// Those that are not yet counted.
    uncounted: usize,
}

impl ColumnBytes {
    /// Notes a value that is about to be appended.
    ///
    /// # Errors
    /// Those of [`EvalContext::hold_bytes`]; 1041 where the column cannot grow.
    #[inline]
    pub(super) fn add(&mut self, v: &Value, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        let bytes = v.byte_len();
        self.total += bytes;
        self.uncounted += bytes;
        if self.uncounted < LONG { Ok(()) } else { self.count(cx) }
    }

    #[cold]
    fn count(&mut self, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        cx.hold_bytes(std::mem::take(&mut self.uncounted))?;
        // A column grows by half of itself or more, and what it had is copied.
        room_for(self.total.saturating_mul(2))
    }

    /// All bytes.
    pub(super) fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testkit::{Session, int, txt};
    use super::super::super::{ArithmeticOp, Expr, ExprKind, build};
    use super::super::{evaluate, evaluate_filter, evaluate_scalar, evaluate_some};
    use super::*;
    use leafline_types::column::Batch;
    use leafline_types::memory::MemoryBudget;
    use leafline_types::value::{ExprType, SqlType};

    const ROWS: usize = 100;

    /// The numbers from 1.
    fn numbers() -> (Expr, Batch) {
        let ty = ExprType::numeric(SqlType::BIGINT, false);
        let rows: Vec<[Value; 1]> = (1..=ROWS as i64).map(|n| [Value::Int(n)]).collect();
        let batch = Batch::from_rows(&[SqlType::BIGINT], rows.iter().map(|row| row.as_slice())).unwrap();
        (Expr { kind: ExprKind::Column(0), ty }, batch)
    }

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        build::call(name, args).unwrap()
    }

    /// A text of n bytes more than that.
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
        // A row has its warning once.
        assert_eq!(cx.warnings.count(), ROWS as u64);
        let condition = build::compare(super::super::super::CompareOp::Gt, e.clone(), txt("x")).unwrap();
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
        // Each level holds two: its first argument and what is inside.
        for (depth, code) in [(3, None), (100, Some(1038))] {
            let mut cx = session.cx();
            cx.memory = &budget;
            let made = evaluate_scalar(&nested(depth), &mut cx);
            assert_eq!(made.err().map(|e| e.code), code);
            assert_eq!((budget.used(), cx.state.held.bytes), (0, 0));
        }
    }
}
