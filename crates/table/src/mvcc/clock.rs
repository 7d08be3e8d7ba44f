//! Commit timestamps: hands them out, publishes them, and knows which snapshots still read the past.
//!
//! One short mutex protects four things that must agree: the next timestamp, the commits being applied, the commits
//! whose record is not known to be durable, and the snapshots in use.
//!
//! Invariants:
//! - Timestamps ascend in log order. They are handed out under the mutex of the counters, and the record is appended
//!   before that is released.
//! - [`Clock::bound`] never goes back, and every snapshot in use or taken later has `low >= bound`. Nobody needs what
//!   was replaced or deleted below it. A snapshot that was given up does not count: its reader checks afterwards
//!   whether it was given up ([`RegisteredSnapshot::check`]), and the mark is set before the bound moves.
//! - A commit in flight is announced before its record is in the log, so that neither a snapshot nor a checkpoint can
//!   miss it.
//!   checkpoint can miss it.

use super::snapshot::Snapshot;
use crate::error::{Result, TableError};
use leafline_btree::CommitTs;
use leafline_storage::Lsn;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The largest timestamp, because timestamps have 48 bits on disk.
pub(crate) const MAX_TIMESTAMP: u64 = (1 << 48) - 1;

#[derive(Debug)]
struct State {
    next: u64,
    /// Commits appended or about to be, and not fully applied: the timestamp, and an LSN at or below that of the
    /// record or of its newest progress record.
    in_flight: BTreeMap<CommitTs, Lsn>,
    /// Commits appended and not known to be durable: the timestamp, and the end of the record.
    volatile: VecDeque<(CommitTs, Lsn)>,
    /// Every commit below this is durable.
    high: CommitTs,
    /// Snapshots in use, one for each registration, by `low`.
    snapshots: BTreeMap<(CommitTs, u64), InUse>,
    /// The newest snapshot, shared by all that come before anything new is visible. It is kept when nobody uses it
    /// any more. It does not count as in use while it equals the next snapshot.
    latest: Option<RegisteredSnapshot>,
    registrations: u64,
    given_up: u64,
}

#[derive(Debug)]
struct InUse {
    snapshot: Snapshot,
    since: Instant,
    registration: Weak<Registration>,
}

/// The timestamps of one engine.
#[derive(Debug)]
pub(crate) struct Clock {
    state: Mutex<State>,
}

impl Clock {
    /// Makes a clock; all commits up to `newest` are applied and durable.
    pub(crate) fn new(newest: CommitTs) -> Clock {
        let next = newest.0 + 1;
        Clock {
            state: Mutex::new(State {
                next,
                in_flight: BTreeMap::new(),
                volatile: VecDeque::new(),
                high: CommitTs(next),
                snapshots: BTreeMap::new(),
                latest: None,
                registrations: 0,
                given_up: 0,
            }),
        }
    }

    /// Adds a commit that recovery has to finish, and whose record begins at `start`.
    pub(crate) fn resume_commit(&self, ts: CommitTs, start: Lsn) {
        self.state.lock().in_flight.insert(ts, start);
    }

    /// Hands out the next timestamp and announces its commit, whose record will be at `log_end` or later. `None` if
    /// there are no more timestamps. The caller appends the record before anybody else takes one.
    pub(crate) fn begin_commit(&self, log_end: Lsn) -> Option<CommitTs> {
        let mut state = self.state.lock();
        if state.next > MAX_TIMESTAMP {
            return None;
        }
        let ts = CommitTs(state.next);
        state.next += 1;
        state.in_flight.insert(ts, log_end);
        // The commit is not durable before its end is known; `u64::MAX` is above any durable LSN.
        state.volatile.push_back((ts, Lsn(u64::MAX)));
        Some(ts)
    }

    /// Notes that the record of the newest commit is in the log up to `end`.
    pub(crate) fn appended(&self, ts: CommitTs, end: Lsn) {
        let mut state = self.state.lock();
        if let Some(entry) = state.volatile.back_mut().filter(|entry| entry.0 == ts) {
            entry.1 = end;
        }
    }

    /// Notes that the commit is fully applied and its end record is in the log.
    pub(crate) fn applied(&self, ts: CommitTs) {
        self.state.lock().in_flight.remove(&ts);
    }

    /// Notes that recovery needs the log for the commit only from `start` on.
    pub(crate) fn progressed(&self, ts: CommitTs, start: Lsn) {
        if let Some(needed) = self.state.lock().in_flight.get_mut(&ts) {
            *needed = start;
        }
    }

    /// The first LSN that recovery needs for commits that are not fully applied.
    pub(crate) fn oldest_in_flight(&self) -> Option<Lsn> {
        self.state.lock().in_flight.values().min().copied()
    }

    /// Takes and registers a snapshot of all commits that are applied and durable. `durable` is the log's durable
    /// position, read before the call.
    pub(crate) fn snapshot(self: &Arc<Self>, durable: Lsn) -> RegisteredSnapshot {
        let mut state = self.state.lock();
        state.advance(durable);
        if let Some(latest) = state.latest.as_ref().filter(|latest| state.is_current(latest)) {
            return latest.clone();
        }
        let (low, high) = (state.low(), state.high);
        let exceptions = state.in_flight.range(..high).map(|(&ts, _)| ts).collect();
        let snapshot = state.register(self, Snapshot { low, high, exceptions });
        let before = state.latest.replace(snapshot.clone());
        // Dropping the last reference locks the state.
        drop(state);
        drop(before);
        snapshot
    }

    /// Locks and updates the state, and drops a snapshot that nobody uses or will use.
    fn settled(&self, durable: Lsn) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        state.advance(durable);
        let is_left = |latest: &RegisteredSnapshot| !latest.is_used() && !state.is_current(latest);
        if state.latest.as_ref().is_some_and(is_left)
            && let Some(latest) = state.latest.take()
        {
            MutexGuard::unlocked(&mut state, || drop(latest));
        }
        state
    }

    /// Takes a snapshot like [`snapshot`](Self::snapshot), but of all applied commits, durable or not.
    pub(crate) fn applied_snapshot(self: &Arc<Self>, durable: Lsn) -> RegisteredSnapshot {
        let mut state = self.state.lock();
        state.advance(durable);
        let high = CommitTs(state.next);
        let low = state.in_flight.keys().next().map_or(high, |&oldest| oldest);
        let exceptions = state.in_flight.keys().copied().collect();
        state.register(self, Snapshot { low, high, exceptions })
    }

    /// The timestamp below which no snapshot, now or later, needs what a commit replaced or deleted.
    pub(crate) fn bound(&self, durable: Lsn) -> CommitTs {
        self.settled(durable).bound()
    }

    /// The snapshots for which versions are kept: see [`Needed`].
    pub(crate) fn needed(&self, durable: Lsn) -> Needed {
        let state = self.settled(durable);
        Needed {
            low: state.low(),
            snapshots: state.snapshots.values().map(|one| one.snapshot.clone()).collect(),
        }
    }

    /// Gives up the oldest snapshot in use for which old versions are kept; its readers get `SnapshotTooOld`. Returns
    /// false if there is none.
    pub(crate) fn give_up_oldest(&self, durable: Lsn) -> bool {
        let mut state = self.settled(durable);
        let low = state.low();
        let Some(oldest) = state.snapshots.first_entry().filter(|oldest| oldest.key().0 < low) else {
            return false;
        };
        let registration = oldest.remove().registration.upgrade();
        if let Some(registration) = &registration {
            registration.given_up.store(true, Ordering::Release);
        }
        state.given_up += 1;
        // Dropping the last reference locks the state.
        drop(state);
        drop(registration);
        true
    }

    /// The number of snapshots that were given up.
    pub(crate) fn given_up(&self) -> u64 {
        self.state.lock().given_up
    }

    /// The number of snapshots in use, and the age of the oldest.
    pub(crate) fn snapshots(&self) -> (usize, Option<Duration>) {
        let state = self.state.lock();
        let unused = state.latest.as_ref().filter(|latest| !latest.is_used()).map(|latest| latest.0.key);
        let used = || state.snapshots.iter().filter(|(key, _)| Some(**key) != unused);
        let oldest = used().map(|(_, one)| one.since).min();
        (used().count(), oldest.map(|since| since.elapsed()))
    }
}

impl State {
    fn advance(&mut self, durable: Lsn) {
        while let Some(&(ts, end)) = self.volatile.front() {
            if end > durable {
                break;
            }
            self.volatile.pop_front();
            self.high = CommitTs(ts.0 + 1);
        }
    }

    fn register(&mut self, clock: &Arc<Clock>, snapshot: Snapshot) -> RegisteredSnapshot {
        self.registrations += 1;
        let key = (snapshot.low, self.registrations);
        let (copy, given_up) = (snapshot.clone(), AtomicBool::new(false));
        let registration = Arc::new(Registration { clock: Arc::downgrade(clock), key, snapshot, given_up });
        let in_use =
            InUse { snapshot: copy, since: Instant::now(), registration: Arc::downgrade(&registration) };
        self.snapshots.insert(key, in_use);
        RegisteredSnapshot(registration)
    }

    /// Returns whether a snapshot taken now would equal `latest`: none of the commits in flight below `high` has been
    /// applied since.
    fn is_current(&self, latest: &RegisteredSnapshot) -> bool {
        latest.high == self.high
            && latest.low == self.low()
            && latest.exceptions.len() == self.in_flight.range(..self.high).count()
            && latest.check().is_ok()
    }

    /// The `low` of a snapshot taken now.
    fn low(&self) -> CommitTs {
        self.in_flight.keys().next().map_or(self.high, |&oldest| oldest.min(self.high))
    }

    fn bound(&self) -> CommitTs {
        let oldest = self.snapshots.keys().next().map(|key| key.0);
        oldest.map_or(self.low(), |oldest| oldest.min(self.low()))
    }
}

/// The snapshots for which old versions are kept.
#[derive(Debug)]
pub(crate) struct Needed {
    /// The `low` of the next snapshot.
    pub(crate) low: CommitTs,
    /// The snapshots in use.
    pub(crate) snapshots: Vec<Snapshot>,
}

impl Needed {
    /// Returns whether a snapshot can need a version that was valid from `begin` until `end`. The `first` version of
    /// a row also shows snapshots that see neither end that there was no row.
    pub(crate) fn version(&self, begin: CommitTs, end: CommitTs, first: bool) -> bool {
        end >= self.low || self.snapshots.iter().any(|one| (first || one.sees(begin)) && !one.sees(end))
    }
}

#[derive(Debug)]
struct Registration {
    clock: Weak<Clock>,
    key: (CommitTs, u64),
    snapshot: Snapshot,
    given_up: AtomicBool,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(clock) = self.clock.upgrade() {
            clock.state.lock().snapshots.remove(&self.key);
        }
    }
}

/// A snapshot that counts as in use until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct RegisteredSnapshot(Arc<Registration>);

impl RegisteredSnapshot {
    /// Returns whether anybody except the clock holds it.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Checks whether everything read at it so far is right.
    ///
    /// # Errors
    /// `SnapshotTooOld` if it was given up.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.given_up.load(Ordering::Acquire) { Err(TableError::SnapshotTooOld) } else { Ok(()) }
    }
}

impl Deref for RegisteredSnapshot {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0.snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(clock: &Clock, at: u64, end: u64) -> CommitTs {
        let ts = clock.begin_commit(Lsn(at)).unwrap();
        clock.appended(ts, Lsn(end));
        ts
    }

    #[test]
    fn a_commit_is_shown_once_applied_and_durable() {
        let clock = Arc::new(Clock::new(CommitTs(4)));
        let five = commit(&clock, 100, 110);
        let six = commit(&clock, 110, 120);
        clock.applied(six);
        assert!(!clock.snapshot(Lsn(119)).sees(six), "not durable");
        assert!(clock.snapshot(Lsn(120)).sees(six));
        assert!(!clock.snapshot(Lsn(120)).sees(five), "not applied");
        clock.applied(five);
        assert!(clock.snapshot(Lsn(120)).sees(five));
    }

    #[test]
    fn a_later_commit_does_not_wait_for_an_earlier_one() {
        let clock = Arc::new(Clock::new(CommitTs(4)));
        let five = commit(&clock, 100, 110);
        let six = commit(&clock, 120, 130);
        clock.applied(six);
        let snapshot = clock.snapshot(Lsn(1000));
        assert!(snapshot.sees(six) && !snapshot.sees(five) && snapshot.sees(CommitTs(4)));
        assert_eq!(clock.oldest_in_flight(), Some(Lsn(100)));
        assert_eq!(clock.bound(Lsn(1000)), five);
        clock.applied(five);
        assert_eq!(clock.bound(Lsn(1000)), five, "held by the snapshot");
        drop(snapshot);
        assert_eq!(clock.bound(Lsn(1000)), CommitTs(7));
        assert_eq!(clock.oldest_in_flight(), None);
    }

    #[test]
    fn the_bound_waits_for_durability() {
        let clock = Arc::new(Clock::new(CommitTs(0)));
        let one = commit(&clock, 10, 20);
        clock.applied(one);
        assert_eq!(clock.bound(Lsn(19)), one);
        assert_eq!(clock.bound(Lsn(20)), CommitTs(2));
    }

    #[test]
    fn versions_are_needed_by_snapshots_between_their_ends_only() {
        let clock = Arc::new(Clock::new(CommitTs(10)));
        let old = clock.snapshot(Lsn(0));
        for at in 0..3 {
            let ts = commit(&clock, at, at);
            clock.applied(ts);
        }
        let needed = clock.needed(Lsn(10));
        assert!(needed.version(CommitTs(5), CommitTs(11), false), "what the old snapshot sees");
        assert!(!needed.version(CommitTs(11), CommitTs(12), false), "between two snapshots");
        assert!(needed.version(CommitTs(11), CommitTs(12), true), "tells that there was no row before");
        assert!(needed.version(CommitTs(13), CommitTs(14), false), "replaced by a commit not shown yet");
        drop(old);
        assert!(!clock.needed(Lsn(10)).version(CommitTs(5), CommitTs(11), true));
    }

    #[test]
    fn a_snapshot_that_is_given_up_holds_nothing_and_says_so() {
        let clock = Arc::new(Clock::new(CommitTs(10)));
        let oldest = clock.snapshot(Lsn(0));
        assert!(!clock.give_up_oldest(Lsn(0)), "nothing is kept for it");
        let one = commit(&clock, 1, 1);
        clock.applied(one);
        let old = clock.snapshot(Lsn(1));
        let two = commit(&clock, 2, 2);
        clock.applied(two);
        let new = clock.snapshot(Lsn(2));
        assert!(clock.give_up_oldest(Lsn(2)));
        assert!(matches!(oldest.check(), Err(TableError::SnapshotTooOld)));
        assert!(old.check().is_ok());
        assert_eq!(clock.bound(Lsn(2)), old.low);
        assert!(clock.give_up_oldest(Lsn(2)));
        assert!(old.check().is_err() && new.check().is_ok());
        assert_eq!((clock.bound(Lsn(2)), clock.given_up(), clock.snapshots().0), (new.low, 2, 1));
        assert!(!clock.give_up_oldest(Lsn(2)), "the next snapshot needs as much");
        drop((oldest, old, new));
        assert_eq!(clock.snapshots().0, 0);
    }

    #[test]
    fn a_snapshot_is_shared_until_there_is_more_to_see() {
        let clock = Arc::new(Clock::new(CommitTs(10)));
        let same = |a: &RegisteredSnapshot, b: &RegisteredSnapshot| Arc::ptr_eq(&a.0, &b.0);
        let (one, two) = (clock.snapshot(Lsn(0)), clock.snapshot(Lsn(0)));
        assert!(same(&one, &two) && clock.snapshots().0 == 1);
        let (a, b) = (commit(&clock, 1, 1), commit(&clock, 2, 2));
        assert!(same(&one, &clock.snapshot(Lsn(0))), "neither is durable");
        clock.applied(b);
        let three = clock.snapshot(Lsn(2));
        assert!(!same(&one, &three) && three.sees(b) && !three.sees(a));
        assert!(same(&three, &clock.snapshot(Lsn(2))));
        clock.applied(a);
        let four = clock.snapshot(Lsn(2));
        assert!(!same(&three, &four) && four.sees(a));
        drop((one, two, three));
        assert_eq!((clock.snapshots().0, clock.bound(Lsn(2))), (1, four.low));
        // Nobody uses it, so that it holds nothing back.
        drop(four);
        assert_eq!(clock.snapshots(), (0, None));
        let c = commit(&clock, 3, 3);
        clock.applied(c);
        assert_eq!(clock.bound(Lsn(3)), CommitTs(c.0 + 1));
        assert!(clock.needed(Lsn(3)).snapshots.is_empty());
        assert!(clock.snapshot(Lsn(3)).sees(c));
    }
}
