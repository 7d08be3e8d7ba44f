//! Which handler takes a condition.
//!
//! The innermost block with an applicable handler wins. Within it a handler of the number comes before one of
//! the SQLSTATE, and that before SQLWARNING, NOT FOUND and SQLEXCEPTION.

use crate::program_code::{Code, Condition};
use leafline_types::{Warning, WarningLevel};

/// A handler that takes a condition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// The first step of its body.
    pub(crate) entry: usize,
    /// The depth of its scope.
    pub(crate) depth: usize,
}

/// How exactly a handler's condition names a raised one; greater is more exact.
fn exactness(condition: Condition, raised: &Warning) -> Option<u8> {
    let class = [raised.sqlstate[0], raised.sqlstate[1]];
    match condition {
        Condition::Number(number) => (number == raised.code).then_some(3),
        Condition::State(state) => (state == raised.sqlstate).then_some(2),
        Condition::Warning => (&class == b"01" || raised.level == WarningLevel::Warning).then_some(1),
        Condition::NotFound => (&class == b"02").then_some(1),
        Condition::Exception => {
            let is_exception = &class != b"00" && &class != b"01" && &class != b"02";
            (is_exception && raised.level == WarningLevel::Error).then_some(1)
        }
    }
}

/// Returns the handler that takes a condition raised at step `at`.
pub(crate) fn find(code: &Code, at: usize, raised: &Warning) -> Option<Found> {
    let mut next = code.steps.get(at).map(|step| step.scope);
    while let Some(scope) = next.and_then(|scope| code.scopes.get(scope)) {
        let mut best: Option<(u8, usize)> = None;
        for handler in &scope.handlers {
            let exactness = handler.conditions.iter().filter_map(|known| exactness(*known, raised)).max();
            if let Some(exactness) = exactness
                && best.is_none_or(|(known, _)| exactness > known)
            {
                best = Some((exactness, handler.entry));
            }
        }
        if let Some((_, entry)) = best {
            return Some(Found { entry, depth: scope.depth });
        }
        next = scope.parent;
    }
    None
}
