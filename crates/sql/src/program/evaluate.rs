//! Evaluates the expressions of steps over the slots of a frame.
//!
//! An expression is bound at its first execution and kept, if its meaning depends on nothing but the slots.
//! Then an evaluation borrows the slots as parameters, without an execution. An expression with subqueries,
//! calls of stored functions or variables of the session is bound each time.

use super::frame::Frame;
use crate::evaluate::bound_value;
use crate::program_code::Slot;
use crate::session::{Now, Session};
use leafline_expr::{EvalContext, Expr, ExprKind, SqlMode, evaluate_condition, evaluate_scalar};
use leafline_planner::binder::{BindContext, bind_scalar};
use leafline_types::convert::{StoreContext, dated, store_cast};
use leafline_types::memory::MemoryBudget;
use leafline_types::{MysqlError, SqlType, Value};
use std::cell::Cell;
use std::slice;
use std::sync::Arc;

/// The facts about the session that the evaluations of many steps share.
pub(crate) struct Surroundings {
    /// The session's mode.
    mode: SqlMode,
    /// The time, for expressions that do not depend on it; read when it is needed.
    now: Cell<Option<Now>>,
}

impl Surroundings {
    /// The facts as they are now.
    pub(crate) fn of(session: &Session) -> Surroundings {
        Surroundings { mode: session.settings.evaluation_mode(), now: Cell::new(None) }
    }

    fn now(&self, session: &Session) -> Now {
        let now = self.now.get().unwrap_or_else(|| session.now());
        self.now.set(Some(now));
        now
    }
}

/// The use of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is stored: a division by zero fails in strict mode.
    Stored,
    /// It decides a branch.
    Tested,
}

/// Returns the value of an expression, and its type.
pub(crate) fn value(
    session: &mut Session,
    frame: &mut Frame,
    number: usize,
    (around, used): (&Surroundings, Use),
) -> Result<(Value, SqlType), MysqlError> {
    match kept(session, frame, number)? {
        Ok(expr) => {
            let value = with_context(session, &frame.slots, around, used, |cx| evaluate_scalar(&expr, cx))?;
            Ok((value, expr.ty.sql.clone()))
        }
        Err(bound) => {
            let value = bound_value(session, bound, &frame.slots, used == Use::Stored);
            session.end_uses();
            value.map(|(value, ty)| (value, ty.sql))
        }
    }
}

/// Returns whether a condition is true.
pub(crate) fn holds(
    session: &mut Session,
    frame: &mut Frame,
    number: usize,
    around: &Surroundings,
) -> Result<bool, MysqlError> {
    match kept(session, frame, number)? {
        Ok(expr) => with_context(session, &frame.slots, around, Use::Tested, |cx| {
            evaluate_condition(slice::from_ref(&*expr), &[], cx)
        }),
        Err(bound) => {
            let value = bound_value(session, bound, &frame.slots, false);
            session.end_uses();
            let (value, ty) = value?;
            let literal = Expr { kind: ExprKind::Literal(value), ty };
            with_context(session, &frame.slots, around, Use::Tested, |cx| {
                evaluate_condition(slice::from_ref(&literal), &[], cx)
            })
        }
    }
}

type Bound = leafline_planner::bound::BoundExpression;

/// Returns the kept form of an expression, or the bound one that is good for this time alone.
#[inline]
fn kept(
    session: &mut Session,
    frame: &mut Frame,
    number: usize,
) -> Result<Result<Arc<Expr>, Bound>, MysqlError> {
    match frame.plans.expressions.get(number) {
        Some(Some(expr)) => Ok(Ok(expr.clone())),
        _ => bind(session, frame, number),
    }
}

#[cold]
fn bind(
    session: &mut Session,
    frame: &mut Frame,
    number: usize,
) -> Result<Result<Arc<Expr>, Bound>, MysqlError> {
    let code = frame.code.clone();
    let Some(written) = code.expressions.get(number) else {
        return Err(MysqlError::internal("a step without its expression"));
    };
    let context = BindContext {
        assigns_variables: true,
        parameters: &frame.slots,
        locals: Some(&*written.names),
        ..session.bind_context(&code.types)
    };
    let bound = bind_scalar(&written.expr, &code.text, &context)?;
    let depends = bound.reads_variables
        || bound.calls_programs
        || !bound.subqueries.is_empty()
        || bound.expr.depends_on_time()
        || bound.expr.is_volatile();
    if depends {
        return Ok(Err(bound));
    }
    let expr = Arc::new(bound.expr);
    if let Some(place) = frame.plans.expressions.get_mut(number) {
        *place = Some(expr.clone());
    }
    Ok(Ok(expr))
}

fn with_context<R>(
    session: &mut Session,
    slots: &[Value],
    around: &Surroundings,
    used: Use,
    evaluate: impl FnOnce(&mut EvalContext<'_>) -> Result<R, MysqlError>,
) -> Result<R, MysqlError> {
    let now = around.now(session);
    let mut cx = EvalContext::new(now.local, &session.facts, &mut session.warnings, &session.cancel);
    cx.parameters = slots;
    cx.utc_now = now.utc;
    cx.zone = session.settings.time_zone.zone();
    cx.sql_mode = around.mode;
    cx.stores = used == Use::Stored;
    evaluate(&mut cx)
}

/// Converts a value to the type of a slot, as an assignment to a column does.
///
/// # Errors
/// 1264, 1265, 1366, 1406 and others in strict mode.
#[inline]
pub(crate) fn converted(
    session: &mut Session,
    slot: &Slot,
    value: Value,
    from: &SqlType,
    around: &Surroundings,
) -> Result<Value, MysqlError> {
    if matches!((&value, &slot.ty), (Value::Null, _) | (Value::Int(_), SqlType::BigInt { unsigned: false })) {
        return Ok(value);
    }
    let dated = dated(&value, &slot.ty, around.now(session).local.date());
    let mut cx = StoreContext {
        column: &slot.name,
        charset: slot.collation.charset(),
        row: 1,
        strict: around.mode.strict,
        dates: around.mode.dates,
        zone: session.settings.time_zone.zone(),
        max_document: around.mode.max_result,
        warnings: &mut session.warnings,
    };
    store_cast(dated.as_ref().unwrap_or(&value), from, &slot.ty, true, &mut cx)
}

/// Assigns a value to a slot; its memory counts as the program's.
pub(crate) fn assign(
    session: &mut Session,
    (frame, memory): (&mut Frame, &MemoryBudget),
    slot: usize,
    (value, from): (Value, &SqlType),
    around: &Surroundings,
) -> Result<(), MysqlError> {
    let Some(declared) = frame.code.slots.get(slot) else {
        return Err(MysqlError::internal("a variable without a slot"));
    };
    let value = converted(session, declared, value, from, around)?;
    put(frame, memory, slot, value)
}

/// Puts a value of a slot's own type into it.
pub(crate) fn put(
    frame: &mut Frame,
    memory: &MemoryBudget,
    slot: usize,
    value: Value,
) -> Result<(), MysqlError> {
    let Some(place) = frame.slots.get_mut(slot) else {
        return Err(MysqlError::internal("a variable without a slot"));
    };
    let (old, new) = (heap_bytes(place), heap_bytes(&value));
    if new > old {
        memory.take(new - old)?;
    } else if old > new {
        memory.give_back(old - new);
    }
    *place = value;
    frame.note_assigned(slot);
    Ok(())
}

/// Bytes that a value holds outside of itself.
#[inline]
pub(crate) fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(json) => json.as_bytes().len(),
        _ => 0,
    }
}
