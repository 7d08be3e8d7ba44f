//! The stack of a thread that a statement takes, with the functions and triggers that it runs.
//!
//! Sessions stand in each other on one stack. The frames of a statement grow with the nesting of its expressions and queries, which
//! the parser bounds for one statement. So the stack is measured before a session inside another begins: then the rest is enough
//! for one more statement of any form.

use super::Session;
use leafline_types::MysqlError;

/// The bytes of stack behind which no session inside another begins. A thread has 2 MiB.
const MOST: usize = 1 << 20;

/// The place of the caller's frame on the stack.
#[inline(never)]
fn place() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

impl Session {
    /// Notes where the stack of a statement begins.
    pub(super) fn begin_stack(&mut self) {
        self.statement.stack = place();
    }

    /// Checks that there is stack for a session inside this one.
    ///
    /// # Errors
    /// 1436.
    pub(super) fn check_stack(&self) -> Result<(), MysqlError> {
        match self.statement.stack.abs_diff(place()) > MOST {
            true => Err(MysqlError::nested_too_deeply(self.level)),
            false => Ok(()),
        }
    }
}
