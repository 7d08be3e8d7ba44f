//! The limits per hour of accounts. The counts are in memory: a restart of the server and FLUSH USER_RESOURCES begin anew.
//!
//! An hour begins with the first use after the last hour, as in MySQL.

use leafline_syntax::AccountId;
use leafline_types::MysqlError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// The limits per hour of an account; 0 for none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct HourlyLimits {
    /// MAX_QUERIES_PER_HOUR.
    pub(crate) queries: u32,
    /// MAX_UPDATES_PER_HOUR.
    pub(crate) updates: u32,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub(crate) connections: u32,
}

impl HourlyLimits {
    /// Whether statements are counted.
    pub(crate) fn counts_statements(self) -> bool {
        self.queries > 0 || self.updates > 0
    }
}

/// The uses of an account in its current hour.
#[derive(Clone, Copy)]
struct Hour {
    since: Instant,
    queries: u32,
    updates: u32,
    connections: u32,
}

/// The uses of all accounts with limits.
#[derive(Default)]
pub(crate) struct Usage {
    hours: Mutex<HashMap<AccountId, Hour>>,
}

impl Usage {
    /// Counts a statement, which changes something or not.
    ///
    /// # Errors
    /// 1226.
    pub(crate) fn statement(
        &self,
        account: &AccountId,
        limits: HourlyLimits,
        changes: bool,
    ) -> Result<(), MysqlError> {
        self.within(account, Instant::now(), |hour| {
            take(&mut hour.queries, limits.queries).map_err(|()| ("max_questions", limits.queries))?;
            match changes {
                true => take(&mut hour.updates, limits.updates).map_err(|()| ("max_updates", limits.updates)),
                false => Ok(()),
            }
        })
    }

    /// Counts a connection.
    ///
    /// # Errors
    /// 1226.
    pub(crate) fn connection(&self, account: &AccountId, limits: HourlyLimits) -> Result<(), MysqlError> {
        if limits.connections == 0 {
            return Ok(());
        }
        self.within(account, Instant::now(), |hour| {
            let taken = take(&mut hour.connections, limits.connections);
            taken.map_err(|()| ("max_connections_per_hour", limits.connections))
        })
    }

    /// Begins a new hour for an account, or for all accounts.
    pub(crate) fn reset(&self, account: Option<&AccountId>) {
        let mut hours = self.hours.lock();
        match account {
            Some(account) => drop(hours.remove(account)),
            None => hours.clear(),
        }
    }

    fn within(
        &self,
        account: &AccountId,
        now: Instant,
        count: impl FnOnce(&mut Hour) -> Result<(), (&'static str, u32)>,
    ) -> Result<(), MysqlError> {
        let new = Hour { since: now, queries: 0, updates: 0, connections: 0 };
        let mut hours = self.hours.lock();
        let hour = hours.entry(account.clone()).or_insert(new);
        if now.saturating_duration_since(hour.since) >= HOUR {
            *hour = new;
        }
        count(hour)
            .map_err(|(resource, limit)| MysqlError::user_limit_reached(&account.user, resource, limit))
    }
}

/// Counts one use, unless there were as many as `limit` allows.
fn take(uses: &mut u32, limit: u32) -> Result<(), ()> {
    if limit == 0 {
        return Ok(());
    }
    if *uses >= limit {
        return Err(());
    }
    *uses += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_limited_for_an_hour() {
        let (usage, joe) = (Usage::default(), AccountId::new("joe", "%"));
        let limits = HourlyLimits { queries: 3, updates: 1, connections: 1 };
        let message = |found: Result<(), MysqlError>| found.map_err(|error| error.message.to_string());
        let reached = |resource, limit| {
            Err(format!("User 'joe' has exceeded the '{resource}' resource (current value: {limit})"))
        };
        assert_eq!(message(usage.statement(&joe, limits, true)), Ok(()));
        assert_eq!(message(usage.statement(&joe, limits, true)), reached("max_updates", 1));
        assert_eq!(message(usage.statement(&joe, limits, false)), Ok(()));
        assert_eq!(message(usage.statement(&joe, limits, false)), reached("max_questions", 3));
        assert_eq!(message(usage.connection(&joe, limits)), Ok(()));
        assert_eq!(message(usage.connection(&joe, limits)), reached("max_connections_per_hour", 1));
        let later = Instant::now() + HOUR;
        assert!(usage.within(&joe, later, |hour| take(&mut hour.queries, 1).map_err(|()| ("", 1))).is_ok());
        usage.reset(Some(&joe));
        assert_eq!(message(usage.connection(&joe, limits)), Ok(()));
    }
}
