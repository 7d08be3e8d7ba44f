//! Makes Ctrl-C stop the running statement, not the shell.
//!
//! At the prompt the terminal delivers Ctrl-C as a key, so a signal that arrives while nothing runs is meant for the
//! process (`kill`, a terminal that was closed), which ends. The log has all that was committed.

use super::super::failure::Failure;
use leafline_types::statement::{CancelReason, CancelToken};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// After this many presses of Ctrl-C during one statement the process ends, whatever the statement does.
const PATIENCE: u32 = 3;

/// The state that the signal handler shares.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Option<CancelToken>,
    presses: u32,
}

impl Interrupts {
    /// Installs the handler of SIGINT, SIGTERM and SIGHUP.
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

    /// Begins a statement that `token` stops.
    pub fn begin(&self, token: CancelToken) {
        *self.lock() = State { running: Some(token), presses: 0 };
    }

    /// Ends the statement; returns whether it was interrupted.
    pub fn end(&self) -> bool {
        let mut state = self.lock();
        state.running = None;
        state.presses > 0
    }

    /// Stops the running statement; returns false if none runs or it does not stop.
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
