//! GET_LOCK and its family: named locks, owned by sessions.
//!
//! A session may hold any number of locks, and each several times; they end with the session. Before each wait the
//! waits-for chain is followed, so that a cycle is error 3058 at once.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::args::integer;
use super::{Call, Function, Volatility};
use crate::eval_operand as operand;
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::statement::CancelToken;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("GET_LOCK", (2, 2), nullable, get_lock).volatility(Volatility::Volatile),
    Function::new("RELEASE_LOCK", (1, 1), nullable, release_lock).volatility(Volatility::Volatile),
    Function::new(
        "RELEASE_ALL_LOCKS",
        (0, 0),
        |_| Ok(unsigned(false)),
        |cx, _, _| Ok(Value::UInt(cx.session.locks.release_all(cx.session.connection_id))),
    )
    .volatility(Volatility::Volatile),
    Function::new("IS_FREE_LOCK", (1, 1), nullable, |cx, call, args| {
        let name = lock_name(call, args)?;
        Ok(Value::Int(cx.session.locks.owner(&name).is_none().into()))
    })
    .volatility(Volatility::Volatile),
    Function::new(
        "IS_USED_LOCK",
        (1, 1),
        |_| Ok(unsigned(true)),
        |cx, call, args| {
            let name = lock_name(call, args)?;
            Ok(cx.session.locks.owner(&name).map_or(Value::Null, Value::UInt))
        },
    )
    .volatility(Volatility::Volatile),
];

/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// The interval at which a waiting session checks for cancellation.
const SLICE: Duration = Duration::from_millis(20);

fn nullable(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(build::bigint(true))
}

fn unsigned(nullable: bool) -> ExprType {
    ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable)
}

/// Returns the name in lower case, because names are compared without case.
fn lock_name(call: Call<'_>, args: &[Value]) -> Result<String, MysqlError> {
    let Some(text) = call.text(args, 0) else { return Err(MysqlError::wrong_user_lock_name("NULL")) };
    let name = String::from_utf8_lossy(&text);
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(MysqlError::wrong_user_lock_name(name));
    }
    Ok(name.to_lowercase())
}

fn get_lock(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let name = lock_name(call, args)?;
    let seconds = match &args[1] {
        Value::Null => None,
        v @ (Value::Int(_) | Value::UInt(_)) => integer(v, cx)?.map(|s| s as f64),
        v => operand::double(v, cx)?.map(f64::round),
    };
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    // A negative time means no limit.
    let limit = Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d));
    let granted = cx.session.locks.acquire(&name, cx.session.connection_id, limit, cx.cancel)?;
    Ok(Value::Int(granted.into()))
}

fn release_lock(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    let name = lock_name(call, args)?;
    let session = cx.session.connection_id;
    Ok(match cx.session.locks.owner(&name) {
        None => Value::Null,
        Some(owner) if owner != session => Value::Int(0),
        Some(_) => {
            cx.session.locks.release(&name, session);
            Value::Int(1)
        }
    })
}

/// The locks of all sessions of a server.
#[derive(Debug, Default)]
pub struct UserLocks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By name: the owning session, and how often it holds the lock.
    owners: HashMap<String, (u64, u64)>,
    /// The lock that each waiting session waits for.
    waiting: HashMap<u64, String>,
}

impl State {
    /// Whether `session` would wait for itself if it waited for `name`.
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

    /// Takes a lock, or waits for it until `limit`, or without limit. Returns whether it was taken.
    ///
    /// # Errors
    /// 3058 if sessions would wait for each other; 1317 or 3024 if the statement has to end.
    pub fn acquire(
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

    /// Releases a lock that the session owns, once.
    pub fn release(&self, name: &str, session: u64) {
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

    /// Releases all locks of a session; returns how many, each as often as it was taken.
    pub fn release_all(&self, session: u64) -> u64 {
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

    /// Returns the session that owns a lock.
    pub fn owner(&self, name: &str) -> Option<u64> {
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
    fn a_waiter_gets_the_lock_when_it_is_free_and_reacts_to_kill() {
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
