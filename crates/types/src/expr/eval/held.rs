//! The long values that an evaluation holds at a time.
//!
//! A value counts from where it is made until the node that it is an operand of has been computed, so that nested calls hold no more
//! than `leafline_query_memory` together (1038). Values of less than [`LONG`] bytes are not counted: what counts them would cost
//! more than they do.
//!
//! A batch is evaluated node by node, which holds the values of all its rows. Where these are more than [`BATCH_BYTES`] the evaluation
//! is given up and done row by row, see [`in_batch`].

use super::super::context::EvalContext;
use crate::error::MysqlError;
use crate::output::room_for;
use crate::value::Value;

/// Bytes from which on a value is counted.
pub(super) const LONG: usize = 64 << 10;

/// Bytes of values that a batch may hold while it is evaluated node by node.
pub(super) const BATCH_BYTES: usize = 32 << 20;

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
            // As an operator, an expression may have its share whatever the others hold.
            Err(error) if total > self.memory.share() => return Err(error),
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
/// which differ each time have been made.
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
