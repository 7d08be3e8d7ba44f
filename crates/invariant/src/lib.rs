//! [`invariant!`], the assertion that stays on in release builds.
//!
//! A program that goes on after its own logic has failed hands out wrong rows or writes them. Leafline stops instead: a
//! panic ends the statement, or the store, with a message that holds the values. The crate is apart from all others
//! because storage and types, which need it, depend on no other crate of the workspace.
//!
//! | what can be wrong | use |
//! |---|---|
//! | bytes of a file, a statement, a packet, an environment | a typed error |
//! | our own logic, and the check is cheap beside the work around it | [`invariant!`]; plain indexing where a bound is all there is to check; `expect` on an `Option` that cannot be `None` |
//! | our own logic, and the check walks or compares what the work does not | `debug_assert!`: on under the profiles `dev` and `checked`, which the tests run under |
//!
//! A value that stands for "cannot be" (`unwrap_or`, `unwrap_or_default`, a `saturating_sub` that hides an underflow) is
//! none of them. TigerBeetle's assertions are the example: arguments, results, and the same fact on two ways.

use std::fmt::Arguments;

/// Panics with the condition and a message unless the condition holds, in every profile.
///
/// The message states the rule and holds the values that break it: `invariant!(used <= size, "page {page} uses {used} of
/// {size} bytes")`. It is formatted only when the condition fails, in a function that is never inlined, so that the check
/// costs the condition and one branch that is predicted well.
#[macro_export]
macro_rules! invariant {
    ($condition:expr, $($message:tt)+) => {
        match $condition {
            true => {}
            false => $crate::broken(stringify!($condition), format_args!($($message)+)),
        }
    };
}

/// Panics for an [`invariant!`] that does not hold.
///
/// # Panics
/// Always.
#[cold]
#[inline(never)]
#[track_caller]
pub fn broken(condition: &str, message: Arguments<'_>) -> ! {
    panic!("broken invariant `{condition}`: {message}")
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    #[test]
    fn invariant_that_holds_is_silent_and_formats_nothing() {
        let formatted = std::cell::Cell::new(false);
        let value = || {
            formatted.set(true);
            7
        };
        invariant!(1 + 1 == 2, "never {}", value());
        assert!(!formatted.get());
    }

    #[test]
    fn invariant_that_is_broken_panics_with_condition_and_values() {
        let (used, size) = (9, 8);
        let panic = catch_unwind(|| invariant!(used <= size, "page {} uses {used} of {size} bytes", 3));
        let panic = panic.expect_err("the invariant is broken");
        let message = panic.downcast_ref::<String>().expect("a formatted message");
        assert_eq!(message, "broken invariant `used <= size`: page 3 uses 9 of 8 bytes");
    }
}
