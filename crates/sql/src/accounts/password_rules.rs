//! The rules for passwords of an account: how long a password lasts, which earlier ones may come again, whether the current one
//! has to be named, and after how many failed logins the account is locked.
//!
//! System variables set the rules of accounts without their own. The earlier passwords are rows of `mysql.password_history`, each
//! as `mysql.user` stored it; the failed logins are counted in memory.

use super::password::{AuthPlugin, StoredPassword};
use leafline_syntax::AccountId;
use leafline_syntax::ast::{Expiry, LockTime, OwnRule, UserOptions};
use leafline_types::DateTime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(86_400);

/// The rules of one account; `None` where a system variable sets the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PasswordRules {
    /// PASSWORD EXPIRE INTERVAL, in days; 0 for NEVER.
    pub(crate) lifetime: Option<u16>,
    /// PASSWORD HISTORY.
    pub(crate) history: Option<u16>,
    /// PASSWORD REUSE INTERVAL, in days.
    pub(crate) reuse_days: Option<u16>,
    /// PASSWORD REQUIRE CURRENT.
    pub(crate) require_current: Option<bool>,
    /// FAILED_LOGIN_ATTEMPTS; 0 for no limit.
    pub(crate) failed_logins: u16,
    /// PASSWORD_LOCK_TIME.
    pub(crate) lock_time: LockTime,
}

impl Default for PasswordRules {
    fn default() -> PasswordRules {
        PasswordRules {
            lifetime: None,
            history: None,
            reuse_days: None,
            require_current: None,
            failed_logins: 0,
            lock_time: LockTime::Days(0),
        }
    }
}

/// The rules that system variables set.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SharedPasswordRules {
    /// `default_password_lifetime`, in days; 0 for no end.
    pub lifetime: u16,
    /// `password_history`.
    pub history: u32,
    /// `password_reuse_interval`, in days.
    pub reuse_days: u32,
    /// `password_require_current`.
    pub require_current: bool,
}

/// An earlier password of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OldPassword {
    /// When it was set, in UTC.
    pub(crate) set: DateTime,
    /// The text that `mysql.user` held.
    pub(crate) stored: String,
}

fn own<T>(rule: OwnRule<T>) -> Option<T> {
    match rule {
        OwnRule::Default => None,
        OwnRule::Own(rule) => Some(rule),
    }
}

impl PasswordRules {
    /// Takes the rules that a statement names.
    pub(crate) fn apply(&mut self, options: &UserOptions) {
        match options.expiry {
            Some(Expiry::Never) => self.lifetime = Some(0),
            Some(Expiry::Default) => self.lifetime = None,
            Some(Expiry::Days(days)) => self.lifetime = Some(days),
            Some(Expiry::Now) | None => {}
        }
        if let Some(rule) = options.history {
            self.history = own(rule);
        }
        if let Some(rule) = options.reuse_days {
            self.reuse_days = own(rule);
        }
        if let Some(rule) = options.require_current {
            self.require_current = own(rule);
        }
        self.failed_logins = options.failed_logins.unwrap_or(self.failed_logins);
        self.lock_time = options.lock_time.unwrap_or(self.lock_time);
    }

    /// Whether a password that was set then is too old.
    pub(crate) fn is_over(&self, set: Option<DateTime>, shared: SharedPasswordRules, now: DateTime) -> bool {
        let days = self.lifetime.unwrap_or(shared.lifetime);
        days > 0 && set.is_some_and(|set| is_older(set, u32::from(days), now))
    }

    /// Whether a change has to name the current password.
    pub(crate) fn requires_current(&self, shared: SharedPasswordRules) -> bool {
        self.require_current.unwrap_or(shared.require_current)
    }

    /// Whether failed logins lock the account.
    fn locks(&self) -> bool {
        self.failed_logins > 0 && self.lock_time != LockTime::Days(0)
    }

    /// Whether the password is an earlier one, the newest first in `history`, that may not come again yet.
    pub(crate) fn forbid(
        &self,
        (plugin, plain): (AuthPlugin, &str),
        history: &[OldPassword],
        (shared, now): (SharedPasswordRules, DateTime),
    ) -> bool {
        let (kept, days) = self.kept(shared);
        !plain.is_empty()
            && history.iter().enumerate().any(|(at, old)| {
                (at < kept || days > 0 && !is_older(old.set, days, now))
                    && StoredPassword::parse(plugin, &old.stored)
                        .is_some_and(|stored| stored.verify(plain.as_bytes()))
            })
    }

    /// Adds a new password to the history, and removes those that the rules no longer need.
    pub(crate) fn remember(
        &self,
        new: &StoredPassword,
        history: &mut Vec<OldPassword>,
        (shared, now): (SharedPasswordRules, DateTime),
    ) {
        let (kept, days) = self.kept(shared);
        if !new.is_none() {
            history.insert(0, OldPassword { set: now, stored: new.authentication_string() });
        }
        let mut at = 0;
        history.retain(|old| {
            at += 1;
            at <= kept || days > 0 && !is_older(old.set, days, now)
        });
    }

    /// The number of earlier passwords that may not come again, and the days for which.
    fn kept(&self, shared: SharedPasswordRules) -> (usize, u32) {
        let history = self.history.map_or(shared.history, u32::from);
        (history as usize, self.reuse_days.map_or(shared.reuse_days, u32::from))
    }
}

/// Whether a moment is more than that many days ago.
fn is_older(moment: DateTime, days: u32, now: DateTime) -> bool {
    let micros = i64::from(days) * 86_400 * 1_000_000;
    match (moment.epoch_micros(), now.epoch_micros()) {
        (Some(moment), Some(now)) => now - moment > micros,
        _ => false,
    }
}

/// An account that failed logins have locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The days that the lock lasts; `unlimited` for UNBOUNDED.
    pub days: String,
    /// The days that are left of them, begun ones included.
    pub remaining: String,
    /// The number of failed logins.
    pub failures: u16,
}

/// The failed logins of one account.
#[derive(Clone, Copy)]
struct Failures {
    count: u16,
    locked: Option<Instant>,
}

/// The failed logins of all accounts that they lock.
#[derive(Default)]
pub(crate) struct FailedLogins {
    of: Mutex<HashMap<AccountId, Failures>>,
}

impl FailedLogins {
    /// Returns the lock of an account; ends it if it is over.
    pub(crate) fn lock_of(&self, account: &AccountId, rules: &PasswordRules) -> Option<Blocked> {
        self.lock_at(account, rules, Instant::now())
    }

    fn lock_at(&self, account: &AccountId, rules: &PasswordRules, now: Instant) -> Option<Blocked> {
        let mut of = self.of.lock();
        let locked = of.get(account)?.locked.filter(|_| rules.locks())?;
        let failures = rules.failed_logins;
        let LockTime::Days(days) = rules.lock_time else {
            let forever = || "unlimited".to_owned();
            return Some(Blocked { days: forever(), remaining: forever(), failures });
        };
        let passed = now.saturating_duration_since(locked);
        let left = (DAY * u32::from(days)).saturating_sub(passed);
        if left.is_zero() {
            of.remove(account);
            return None;
        }
        let remaining = left.as_secs().div_ceil(DAY.as_secs());
        Some(Blocked { days: days.to_string(), remaining: remaining.to_string(), failures })
    }

    /// Counts a failed login. Returns the lock that it begins.
    pub(crate) fn failed(&self, account: &AccountId, rules: &PasswordRules) -> Option<Blocked> {
        if !rules.locks() {
            return None;
        }
        {
            let mut of = self.of.lock();
            let failures = of.entry(account.clone()).or_insert(Failures { count: 0, locked: None });
            failures.count = failures.count.saturating_add(1);
            if failures.count >= rules.failed_logins && failures.locked.is_none() {
                failures.locked = Some(Instant::now());
            }
        }
        self.lock_of(account, rules)
    }

    /// Forgets the failed logins of an account.
    pub(crate) fn forget(&self, account: &AccountId) {
        self.of.lock().remove(account);
    }

    /// Forgets the failed logins of all accounts.
    pub(crate) fn forget_all(&self) {
        self.of.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64) -> DateTime {
        DateTime::from_epoch_micros(day * 86_400 * 1_000_000).unwrap()
    }

    #[test]
    fn a_password_ends_after_its_days() {
        let mut rules = PasswordRules::default();
        let shared = SharedPasswordRules { lifetime: 10, ..SharedPasswordRules::default() };
        assert!(
            rules.is_over(Some(day(0)), shared, day(11)) && !rules.is_over(Some(day(0)), shared, day(10))
        );
        rules.apply(&UserOptions { expiry: Some(Expiry::Days(20)), ..UserOptions::default() });
        assert!(
            !rules.is_over(Some(day(0)), shared, day(11)) && rules.is_over(Some(day(0)), shared, day(21))
        );
        rules.apply(&UserOptions { expiry: Some(Expiry::Never), ..UserOptions::default() });
        assert!(!rules.is_over(Some(day(0)), shared, day(1000)));
    }

    #[test]
    fn earlier_passwords_come_back_after_others_and_after_days() {
        let rules = PasswordRules { history: Some(2), reuse_days: Some(5), ..PasswordRules::default() };
        let shared = SharedPasswordRules::default();
        let mut history = Vec::new();
        for (at, plain) in ["a", "b", "c"].into_iter().enumerate() {
            let at = (shared, day(at as i64));
            assert!(!rules.forbid((AuthPlugin::Native, plain), &history, at), "{plain}");
            let stored = StoredPassword::new(AuthPlugin::Native, plain).unwrap();
            rules.remember(&stored, &mut history, at);
        }
        let forbids =
            |plain: &str, now: i64| rules.forbid((AuthPlugin::Native, plain), &history, (shared, day(now)));
        assert!(forbids("a", 5) && !forbids("a", 6), "the third last, after five days");
        assert!(forbids("b", 100) && forbids("c", 100) && !forbids("", 3));
        let mut kept = history.clone();
        rules.remember(&StoredPassword::none(AuthPlugin::Native), &mut kept, (shared, day(6)));
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn failed_logins_lock_for_days() {
        let (logins, joe) = (FailedLogins::default(), AccountId::new("joe", "%"));
        let mut rules = PasswordRules { failed_logins: 2, ..PasswordRules::default() };
        assert_eq!((logins.failed(&joe, &rules), logins.failed(&joe, &rules)), (None, None), "no lock time");
        rules.lock_time = LockTime::Days(3);
        assert_eq!(logins.failed(&joe, &rules), None);
        let blocked = logins.failed(&joe, &rules).unwrap();
        assert_eq!((blocked.days.as_str(), blocked.remaining.as_str(), blocked.failures), ("3", "3", 2));
        let later = Instant::now() + DAY + DAY;
        assert_eq!(logins.lock_at(&joe, &rules, later).unwrap().remaining, "1");
        assert_eq!(logins.lock_at(&joe, &rules, later + DAY), None);
        assert_eq!(logins.failed(&joe, &rules), None, "the count began anew");
        logins.forget(&joe);
        rules.lock_time = LockTime::Unbounded;
        assert_eq!(logins.failed(&joe, &rules), None);
        assert_eq!(logins.failed(&joe, &rules).unwrap().remaining, "unlimited");
    }
}
