//! The locks of GET_LOCK: they have names and are owned by sessions.
//!
//! A session may hold any number of locks, and each several times; they end with the session. Before a
//! session waits, it follows the chain of waiting owners: a session that would wait for itself gets error
//! 3058 at once.

use leafline_expr::NamedLocks;
use leafline_types::MysqlError;
use leafline_types::statement::CancelToken;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a waiting session checks whether its statement was cancelled.
const SLICE: Duration = Duration::from_millis(20);

/// The locks of all sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct UserLocks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The owner of each lock, and how often it holds the lock.
    owners: HashMap<String, (u64, u64)>,
    /// The lock that each waiting session waits for.
    waiting: HashMap<u64, String>,
}

impl State {
    /// True if `session` would wait for itself by waiting for `name`.
    fn closes_circle(&self, session: u64, name: &str) -> bool {
        let mut name = name;
        while let Some((owner, _)) = self.owners.get(name) {
            if *owner == session {
                return true;
            }
            match self.waiting.get(owner) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }
}

impl UserLocks {
    /// Locks the state. A panic leaves no lock half owned.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NamedLocks for UserLocks {
    fn acquire(
        &self,
        name: &str,
        session: u64,
        limit: Option<Instant>,
        cancel: &CancelToken,
    ) -> Result<bool, MysqlError> {
        let mut state = self.state();
        loop {
            match state.owners.get_mut(name) {
                None => {
                    state.owners.insert(name.to_owned(), (session, 1));
                    return Ok(true);
                }
                Some((owner, times)) if *owner == session => {
                    *times += 1;
                    return Ok(true);
                }
                Some(_) => {}
            }
            cancel.check()?;
            let left = match limit {
                Some(limit) => limit.saturating_duration_since(Instant::now()),
                None => SLICE,
            };
            if left.is_zero() {
                return Ok(false);
            }
            if state.closes_circle(session, name) {
                return Err(MysqlError::user_lock_deadlock());
            }
            state.waiting.insert(session, name.to_owned());
            let waited = self.changed.wait_timeout(state, left.min(SLICE));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting.remove(&session);
        }
    }

    fn release(&self, name: &str, session: u64) {
        let mut state = self.state();
        if let Some((owner, times)) = state.owners.get_mut(name)
            && *owner == session
        {
            *times -= 1;
            if *times == 0 {
                state.owners.remove(name);
                self.changed.notify_all();
            }
        }
    }

    fn release_all(&self, session: u64) -> u64 {
        let mut state = self.state();
        let mut released = 0;
        state.owners.retain(|_, (owner, times)| {
            let keep = *owner != session;
            released += if keep { 0 } else { *times };
            keep
        });
        if released > 0 {
            self.changed.notify_all();
        }
        released
    }

    fn owner(&self, name: &str) -> Option<u64> {
        self.state().owners.get(name).map(|(owner, _)| *owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::CancelReason;
    use std::sync::Arc;

    fn soon() -> Option<Instant> {
        Instant::now().checked_add(Duration::from_secs(30))
    }

    #[test]
    fn locks_are_owned_as_often_as_they_are_taken() {
        let (locks, token) = (UserLocks::default(), CancelToken::new());
        let get = |session| locks.acquire("a", session, Some(Instant::now()), &token).unwrap();
        assert!(get(1) && get(1) && !get(2));
        locks.release("a", 2);
        locks.release("a", 1);
        assert_eq!(locks.owner("a"), Some(1));
        locks.release("a", 1);
        assert!(get(2));
        assert_eq!((locks.release_all(2), locks.release_all(2)), (1, 0));
    }

    #[test]
    fn who_waits_gets_the_lock_when_it_is_free_and_hears_kill() {
        let locks = Arc::new(UserLocks::default());
        let token = CancelToken::new();
        assert!(locks.acquire("a", 1, None, &token).unwrap());
        let waiter = {
            let (locks, token) = (locks.clone(), token.clone());
            std::thread::spawn(move || locks.acquire("a", 2, soon(), &token))
        };
        locks.release("a", 1);
        assert!(waiter.join().unwrap().unwrap());
        token.cancel(CancelReason::QueryKilled);
        assert_eq!(locks.acquire("a", 3, None, &token).unwrap_err().code, 1317);
    }

    #[test]
    fn sessions_that_would_wait_for_each_other_do_not() {
        let locks = Arc::new(UserLocks::default());
        let token = CancelToken::new();
        assert!(locks.acquire("a", 1, None, &token).unwrap() && locks.acquire("b", 2, None, &token).unwrap());
        let waiter = {
            let (locks, token) = (locks.clone(), token.clone());
            std::thread::spawn(move || locks.acquire("b", 1, soon(), &token))
        };
        // Once session 1 waits, session 2 closes the cycle.
        while !locks.state().waiting.contains_key(&1) {
            std::thread::yield_now();
        }
        let circle = locks.acquire("a", 2, soon(), &token);
        assert!(matches!(&circle, Err(e) if e.code == 3058), "{circle:?}");
        locks.release_all(2);
        assert!(waiter.join().unwrap().unwrap());
    }
}
