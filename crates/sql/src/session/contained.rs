//! Ends a session whose statement panics, because a panic means broken logic.
//!
//! The client gets an error, and the transaction is rolled back and releases its locks. The session accepts
//! no further statement, because the panic may have left its state half changed. Other sessions continue. If
//! the panic left shared state half changed, a guard there has stopped the store (`Store::stop_on_panic`):
//! then they get errors, and the next open finds everything that was committed.

use super::Session;
use leafline_storage::worker::panic_text;
use leafline_types::MysqlError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Session {
    /// Runs a part of a statement, and turns a panic into error 1815.
    pub(crate) fn contained<T>(
        &mut self,
        part: impl FnOnce(&mut Session) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        if self.is_broken {
            return Err(MysqlError::internal("the session has ended by a panic"));
        }
        self.begin_stack();
        match catch_unwind(AssertUnwindSafe(|| part(self))) {
            Ok(result) => result,
            Err(panic) => Err(self.break_off(&*panic)),
        }
    }

    /// True after a panic: the session is to be dropped.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    #[cold]
    fn break_off(&mut self, panic: &(dyn Any + Send)) -> MysqlError {
        self.is_broken = true;
        self.program_step = None;
        // The rollback may panic, too, over state that the first panic left; then the locks stay until the
        // instance ends.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            self.rollback();
            self.statement_ended();
        }));
        MysqlError::internal(format!("a panic ends the session: {}", panic_text(panic)))
    }
}
