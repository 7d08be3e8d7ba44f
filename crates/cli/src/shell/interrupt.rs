//! Ctrl-C stops the running statement, not the shell.
//!
//! At the prompt the terminal hands Ctrl-C over as a key, so a signal that comes while nothing runs is one that means
//! the process (`kill`, a terminal that was closed): it ends. The log has all that was committed.

use super::super::failure::Failure;
use leafline_types::statement::{CancelReason, CancelToken};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Presses of Ctrl-C during one statement after which the process ends, whatever the statement does.
const PATIENCE: u32 = 3;

/// What the handler of signals knows.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Option<CancelToken>,
    presses: u32,
}

impl Interrupts {
    /// Takes over SIGINT, SIGTERM and SIGHUP.
    pub fn install() -> Result<Interrupts, Failure> {
        let interrupts = Interrupts::default();
        let known = interrupts.clone();
        ctrlc::set_handler(move || {
            if !known.interrupt() {
                std::process::exit(130);
            }
        })
        .map_err(|error| Failure::Message(format!("cannot handle signals: {error}")))?;
        Ok(interrupts)
    }

    /// A statement begins that `token` stops.
    pub fn begin(&self, token: CancelToken) {
        *self.lock() = State { running: Some(token), presses: 0 };
    }

    /// The statement is over. Whether it was interrupted.
    pub fn end(&self) -> bool {
        let mut state = self.lock();
        state.running = None;
        state.presses > 0
    }

    /// Stops the running statement; false if none runs or it does not stop.
    fn interrupt(&self) -> bool {
        let mut state = self.lock();
        state.presses += 1;
        match &state.running {
            Some(token) if state.presses < PATIENCE => {
                token.cancel(CancelReason::QueryKilled);
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_stops_the_statement_and_three_the_process() {
        let interrupts = Interrupts::default();
        assert!(!interrupts.interrupt(), "nothing runs");
        let token = CancelToken::new();
        interrupts.begin(token.clone());
        assert!(interrupts.interrupt() && interrupts.interrupt());
        assert_eq!(token.reason(), Some(CancelReason::QueryKilled));
        assert!(!interrupts.interrupt());
        assert!(interrupts.end());
        interrupts.begin(CancelToken::new());
        assert!(!interrupts.end(), "each statement counts anew");
    }
}
