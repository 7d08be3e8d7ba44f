//! Runs steps on signed integers: most loops count with these.
//!
//! Whatever needs more than the slots' integers (NULL, another type, a result out of range, a warning) is left to the ordinary
//! evaluation of the step, which gives the same result for the others.

use super::frame::Frame;
use crate::program_code::StepKind;
use leafline_expr::{CompareDomain, Expr, ExprKind, integer_of};
use leafline_types::{CancelToken, MysqlError, SqlType, Value};
use std::sync::Arc;

/// Runs jumps, comparisons and assignments up to a step that needs more.
///
/// # Errors
/// 1317 and others if the statement was cancelled.
pub(super) fn run(frame: &mut Frame, cancel: &CancelToken) -> Result<(), MysqlError> {
    let code = frame.code.clone();
    while let Some(step) = code.steps.get(frame.at) {
        let next = match &step.kind {
            StepKind::Jump(target) => Some(*target),
            StepKind::JumpUnless { condition, target } => {
                compared(frame, *condition).map(|holds| if holds { frame.at + 1 } else { *target })
            }
            StepKind::Set { slot, value } => assigned(frame, *slot, *value).then_some(frame.at + 1),
            _ => None,
        };
        let Some(next) = next else { break };
        if next <= frame.at {
            cancel.check()?;
        }
        frame.at = next;
    }
    Ok(())
}

/// The bound form of an expression, if it is kept.
fn kept(frame: &Frame, number: usize) -> Option<&Arc<Expr>> {
    frame.plans.expressions.get(number)?.as_ref()
}

/// Returns the result of a comparison; `None` for other conditions.
fn compared(frame: &Frame, condition: usize) -> Option<bool> {
    let ExprKind::Compare { op, left, right, domain: CompareDomain::Integer } = &kept(frame, condition)?.kind
    else {
        return None;
    };
    Some(op.holds(integer_of(left, &frame.slots)?.cmp(&integer_of(right, &frame.slots)?)))
}

/// Assigns the value of an expression to a slot, if both are integers and the slot's type has the value.
fn assigned(frame: &mut Frame, slot: usize, number: usize) -> bool {
    let Some(value) = kept(frame, number).and_then(|expr| integer_of(expr, &frame.slots)) else {
        return false;
    };
    let fits = match frame.code.slots.get(slot).map(|declared| &declared.ty) {
        Some(SqlType::BigInt { unsigned: false }) => true,
        Some(SqlType::Int { unsigned: false }) => i32::try_from(value).is_ok(),
        _ => false,
    };
    match frame.slots.get_mut(slot) {
        Some(place @ (Value::Int(_) | Value::Null)) if fits => {
            *place = Value::Int(value);
            frame.note_assigned(slot);
            true
        }
        _ => false,
    }
}
