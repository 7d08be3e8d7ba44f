//! The table of all locks.
//!
//! A lock with one holder and no waiter takes 24 bytes in a shard of a hash table. A lock with several holders, or
//! with waiters, has a queue in addition. Waiters are served first come, first served, except that a holder that
//! wants a stronger mode goes ahead of owners that hold nothing yet. A thread that changes a queue with waiters holds
//! the latch `waits`, so that the search for deadlocks sees a consistent state.
//!
//! The table borrows memory from the buffer pool before it holds more locks than the borrowed memory suffices for, at
//! a moment when the caller holds no latch of this table. It returns the memory some time after most of the locks are
//! gone ([`LockTable::give_back`]). No memory is requested for locks granted to waiters, because there are at most as
//! many of them as transactions.

use super::deadlock::Waits;
use super::owner_state::{LockKey, OwnerId, OwnerState, Woken};
use super::{Granted, LockError, LockLimits, LockMode, Modes};
use crate::limits::LOCK_BYTES;
use crate::memory::{MemoryAccount, Terms};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use leafline_storage::Store;
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SHARDS: usize = 128;

static TERMS: Terms = Terms { allowance: 256 << 10, step: (128 << 10, 2 << 20), yields: false };
/// Memory is returned when less than one part in this many is in use.
const MOSTLY_UNUSED: u64 = 4;

#[derive(Debug)]
struct Lock {
    key: LockKey,
    holders: Holders,
}

#[derive(Debug)]
enum Holders {
    One(Holder),
    Many(Box<Queue>),
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    owner: OwnerId,
    modes: Modes,
}

/// The holders and waiters of one lock.
#[derive(Debug, Default)]
pub(super) struct Queue {
    holders: Vec<Holder>,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    owner: Arc<OwnerState>,
    mode: LockMode,
}

type Shard = HashTable<Lock>;

std::thread_local! {
    static WAITED_US: Cell<u64> = const { Cell::new(0) };
}

/// How long the calling thread has waited for locks in all, in microseconds. Only the difference between two calls
/// means something.
#[inline]
pub fn lock_wait_us_here() -> u64 {
    WAITED_US.get()
}

/// Figures about locks since the engine was opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LockStats {
    /// The number of locks held now.
    pub held: u64,
    /// Bytes borrowed from the buffer pool for locks.
    pub borrowed: u64,
    /// The number of transactions waiting now.
    pub waiting: u64,
    /// The number of waits.
    pub waits: u64,
    /// The time spent waiting, in microseconds.
    pub wait_us: u64,
    /// The longest wait, in microseconds.
    pub longest_wait_us: u64,
    /// The number of waits that timed out.
    pub timeouts: u64,
    /// The number of deadlocks.
    pub deadlocks: u64,
}

#[derive(Debug, Default)]
struct Counts {
    held: AtomicU64,
    waits: AtomicU64,
    wait_us: AtomicU64,
    longest_wait_us: AtomicU64,
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

/// All locks of an engine.
pub(crate) struct LockTable {
    hasher: hashbrown::DefaultHashBuilder,
    shards: Box<[Mutex<Shard>]>,
    waits: Mutex<Waits>,
    last_owner: AtomicU64,
    limit: u64,
    /// The store that lends the memory.
    store: Option<Store>,
    memory: MemoryAccount,
    counts: Counts,
}

/// The result of an attempt to take a lock without waiting.
enum Attempt {
    Granted(Granted),
    Conflict,
}

impl LockTable {
    /// A table for at most `limit` locks, in memory of the pool of `store`, if there is one.
    pub(crate) fn new(store: Option<Store>, limit: u64) -> LockTable {
        LockTable {
            hasher: hashbrown::DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            waits: Mutex::default(),
            last_owner: AtomicU64::new(0),
            limit,
            store,
            memory: MemoryAccount::new(&TERMS),
            counts: Counts::default(),
        }
    }

    /// Makes an owner without locks.
    pub(super) fn new_owner(&self) -> Arc<OwnerState> {
        Arc::new(OwnerState::new(OwnerId(self.last_owner.fetch_add(1, Ordering::Relaxed) + 1)))
    }

    /// The key of the lock on `key` in the table or index with this number.
    pub(super) fn key(&self, space: u64, key: &[u8]) -> LockKey {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(space);
        hasher.write(key);
        LockKey(hasher.finish())
    }

    /// The key of the lock on the whole table with this number.
    pub(super) fn whole(&self, space: u64) -> LockKey {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(0);
        hasher.write_u64(space);
        LockKey(hasher.finish())
    }

    /// The key of a lock on a new object.
    pub(super) fn unique(&self) -> LockKey {
        let number = self.last_owner.fetch_add(1, Ordering::Relaxed) + 1;
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(2);
        hasher.write_u64(number);
        LockKey(hasher.finish())
    }

    /// The key of the lock on an object with this name, which has several parts.
    pub(super) fn named(&self, name: &[&str]) -> LockKey {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(1);
        for part in name {
            hasher.write_usize(part.len());
            hasher.write(part.as_bytes());
        }
        LockKey(hasher.finish())
    }

    /// The figures about locks.
    pub(crate) fn stats(&self) -> LockStats {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        LockStats {
            held: get(&self.counts.held),
            borrowed: self.memory.borrowed(),
            waiting: self.waits.lock().len() as u64,
            waits: get(&self.counts.waits),
            wait_us: get(&self.counts.wait_us),
            longest_wait_us: get(&self.counts.longest_wait_us),
            timeouts: get(&self.counts.timeouts),
            deadlocks: get(&self.counts.deadlocks),
        }
    }

    /// How long an owner has been waiting; `None` if it is not waiting.
    pub(super) fn waiting(&self, owner: OwnerId) -> Option<Duration> {
        self.waits.lock().since(owner).map(|since| since.elapsed())
    }

    /// Takes a lock; waits within `limits` if there are any.
    pub(super) fn acquire(
        &self,
        owner: &Arc<OwnerState>,
        key: LockKey,
        mode: LockMode,
        limits: Option<&LockLimits>,
    ) -> Result<Granted, LockError> {
        loop {
            let attempt = self.try_acquire(&mut self.shard(key), owner.id, key, mode);
            let result = match (attempt, limits) {
                (Ok(Attempt::Granted(granted)), _) => Ok(granted),
                (Ok(Attempt::Conflict), Some(limits)) => self.wait(owner, key, mode, limits),
                (Ok(Attempt::Conflict), None) => Err(LockError::WouldWait),
                (Err(error), _) => Err(error),
            };
            if result != Err(LockError::Full) || !self.find_room() {
                return result;
            }
        }
    }

    /// The number of locks that there is memory for.
    fn room(&self) -> u64 {
        if self.store.is_some() { (self.memory.granted() / LOCK_BYTES).min(self.limit) } else { self.limit }
    }

    /// Borrows memory for more locks. Returns false if the limit is reached or the pool lends nothing.
    #[cold]
    fn find_room(&self) -> bool {
        let held = self.counts.held.load(Ordering::Relaxed);
        let Some(store) = &self.store else { return held < self.limit };
        // An error of the store is left for the operation that needs the store to report.
        held < self.limit
            && self.memory.reach(store, (held + 1) * LOCK_BYTES, self.limit * LOCK_BYTES).unwrap_or(false)
    }

    /// Returns memory that is mostly unused. The caller holds no latch.
    pub(crate) fn give_back(&self) {
        let used = self.counts.held.load(Ordering::Relaxed) * LOCK_BYTES;
        if self.memory.borrowed() == 0 || used > self.memory.granted() / MOSTLY_UNUSED {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.lock();
            let enough = 2 * shard.len();
            shard.shrink_to(enough, |lock| lock.key.0);
        }
        self.memory.give_back(used);
    }

    fn try_acquire(
        &self,
        shard: &mut Shard,
        owner: OwnerId,
        key: LockKey,
        mode: LockMode,
    ) -> Result<Attempt, LockError> {
        match shard.entry(key.0, |lock| lock.key == key, |lock| lock.key.0) {
            Entry::Vacant(slot) => {
                if self.counts.held.load(Ordering::Relaxed) >= self.room() {
                    return Err(LockError::Full);
                }
                self.counts.held.fetch_add(1, Ordering::Relaxed);
                slot.insert(Lock { key, holders: Holders::One(Holder { owner, modes: Modes::of(mode) }) });
                Ok(Attempt::Granted(Granted::New))
            }
            Entry::Occupied(mut slot) => {
                let attempt = slot.get_mut().holders.try_grant(owner, mode);
                if matches!(attempt, Attempt::Granted(Granted::New)) {
                    self.counts.held.fetch_add(1, Ordering::Relaxed);
                }
                Ok(attempt)
            }
        }
    }

    /// Queues up for a lock that another owner holds, and sleeps.
    fn wait(
        &self,
        owner: &Arc<OwnerState>,
        key: LockKey,
        mode: LockMode,
        limits: &LockLimits,
    ) -> Result<Granted, LockError> {
        let begun = Instant::now();
        let granted = {
            let mut waits = self.waits.lock();
            let mut shard = self.shard(key);
            if let Attempt::Granted(granted) = self.try_acquire(&mut shard, owner.id, key, mode)? {
                return Ok(granted);
            }
            // The lock still exists, because `try_acquire` has just found a conflict with it.
            let Some(lock) = shard.find_mut(key.0, |lock| lock.key == key) else {
                return Err(LockError::WouldWait);
            };
            let queue = lock.holders.queue();
            let holds = queue.holders.iter().any(|holder| holder.owner == owner.id);
            owner.prepare_to_sleep();
            let waiter = Waiter { owner: owner.clone(), mode };
            if holds {
                queue.waiters.push_front(waiter);
            } else {
                queue.waiters.push_back(waiter);
            }
            drop(shard);
            waits.add(owner.clone(), key);
            self.counts.waits.fetch_add(1, Ordering::Relaxed);
            self.end_deadlocks(&mut waits, owner.id);
            if holds { Granted::Held } else { Granted::New }
        };
        let woken = match owner.sleep(limits, begun) {
            Ok(woken) => Ok(woken),
            // If another owner woke this one first, it has already removed it from the queue.
            Err(ended) => self.withdraw(owner).ok_or(ended),
        };
        let waited = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        WAITED_US.set(WAITED_US.get().wrapping_add(waited));
        self.counts.wait_us.fetch_add(waited, Ordering::Relaxed);
        self.counts.longest_wait_us.fetch_max(waited, Ordering::Relaxed);
        match woken {
            Ok(Woken::Granted) => Ok(granted),
            Ok(Woken::Victim) => Err(LockError::Deadlock),
            Err(ended) => {
                if ended == LockError::Timeout {
                    self.counts.timeouts.fetch_add(1, Ordering::Relaxed);
                }
                Err(ended)
            }
        }
    }

    /// Removes the owner from the queue it waits in. If it was woken before, returns the event that woke it.
    fn withdraw(&self, owner: &OwnerState) -> Option<Woken> {
        let mut waits = self.waits.lock();
        match waits.remove(owner.id) {
            Some(key) => {
                self.remove_waiter(&mut waits, owner.id, key);
                None
            }
            None => owner.woken(),
        }
    }

    /// Removes a waiter from a queue, and serves the waiters behind it.
    fn remove_waiter(&self, waits: &mut Waits, owner: OwnerId, key: LockKey) {
        let mut shard = self.shard(key);
        if let Ok(mut slot) = shard.find_entry(key.0, |lock| lock.key == key) {
            let queue = slot.get_mut().holders.queue();
            queue.waiters.retain(|waiter| waiter.owner.id != owner);
            self.serve(queue, waits);
            if slot.get_mut().holders.tidy() {
                slot.remove();
            }
        }
    }

    /// Grants the lock to as many waiters at the front of the queue as can have it.
    fn serve(&self, queue: &mut Queue, waits: &mut Waits) {
        while let Some(waiter) = queue.waiters.front() {
            if queue.conflicts(waiter.owner.id, waiter.mode) {
                return;
            }
            let Waiter { owner, mode } = queue.waiters.pop_front().expect("it is the first that waits");
            match queue.holders.iter_mut().find(|holder| holder.owner == owner.id) {
                Some(holder) => holder.modes.add(mode),
                None => {
                    self.counts.held.fetch_add(1, Ordering::Relaxed);
                    queue.holders.push(Holder { owner: owner.id, modes: Modes::of(mode) });
                }
            }
            waits.remove(owner.id);
            owner.wake(Woken::Granted);
        }
    }

    /// Releases a lock.
    pub(super) fn release(&self, owner: OwnerId, key: LockKey) {
        {
            let mut shard = self.shard(key);
            let Ok(mut slot) = shard.find_entry(key.0, |lock| lock.key == key) else { return };
            if !slot.get().holders.has_waiters() {
                self.remove_holder(&mut slot.get_mut().holders, owner);
                if slot.get_mut().holders.tidy() {
                    slot.remove();
                }
                return;
            }
        }
        let mut waits = self.waits.lock();
        let mut shard = self.shard(key);
        let Ok(mut slot) = shard.find_entry(key.0, |lock| lock.key == key) else { return };
        let queue = self.remove_holder(&mut slot.get_mut().holders, owner);
        self.serve(queue, &mut waits);
        if slot.get_mut().holders.tidy() {
            slot.remove();
        }
    }

    fn remove_holder<'h>(&self, holders: &'h mut Holders, owner: OwnerId) -> &'h mut Queue {
        let queue = holders.queue();
        let before = queue.holders.len();
        queue.holders.retain(|holder| holder.owner != owner);
        self.counts.held.fetch_sub((before - queue.holders.len()) as u64, Ordering::Relaxed);
        queue
    }

    /// Ends every deadlock that `owner` has closed by beginning to wait: in each, the owner that is cheapest to roll
    /// back becomes the victim.
    fn end_deadlocks(&self, waits: &mut Waits, owner: OwnerId) {
        while let Some(victim) = waits.find_victim(owner, |waiter, key, blockers| {
            let shard = self.shard(key);
            if let Some(Lock { holders: Holders::Many(queue), .. }) =
                shard.find(key.0, |lock| lock.key == key)
            {
                queue.blockers(waiter, blockers);
            }
        }) {
            self.counts.deadlocks.fetch_add(1, Ordering::Relaxed);
            if let Some(key) = waits.remove(victim.id) {
                self.remove_waiter(waits, victim.id, key);
            }
            victim.wake(Woken::Victim);
            if victim.id == owner {
                return;
            }
        }
    }

    fn shard(&self, key: LockKey) -> MutexGuard<'_, Shard> {
        // The low bits choose the place within the shard.
        let at = (key.0 >> 40) as usize % SHARDS;
        self.shards[at].lock()
    }
}

impl std::fmt::Debug for LockTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockTable").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Holders {
    fn try_grant(&mut self, owner: OwnerId, mode: LockMode) -> Attempt {
        match self {
            Holders::One(holder) if holder.owner == owner => {
                if !holder.modes.cover(mode) {
                    holder.modes.add(mode);
                }
                Attempt::Granted(Granted::Held)
            }
            Holders::One(holder) if holder.modes.conflict(mode) => Attempt::Conflict,
            Holders::One(_) => {
                self.queue().holders.push(Holder { owner, modes: Modes::of(mode) });
                Attempt::Granted(Granted::New)
            }
            Holders::Many(queue) => {
                let own = queue.holders.iter().position(|holder| holder.owner == owner);
                let own = own.and_then(|at| queue.holders.get(at));
                if own.is_some_and(|holder| holder.modes.cover(mode)) {
                    return Attempt::Granted(Granted::Held);
                }
                if queue.conflicts(owner, mode) || (own.is_none() && !queue.waiters.is_empty()) {
                    return Attempt::Conflict;
                }
                match queue.holders.iter_mut().find(|holder| holder.owner == owner) {
                    Some(holder) => {
                        holder.modes.add(mode);
                        Attempt::Granted(Granted::Held)
                    }
                    None => {
                        queue.holders.push(Holder { owner, modes: Modes::of(mode) });
                        Attempt::Granted(Granted::New)
                    }
                }
            }
        }
    }

    fn has_waiters(&self) -> bool {
        matches!(self, Holders::Many(queue) if !queue.waiters.is_empty())
    }

    /// The queue, which is made if there is none.
    fn queue(&mut self) -> &mut Queue {
        if let Holders::One(holder) = *self {
            let queue = Queue { holders: vec![holder], waiters: VecDeque::new() };
            *self = Holders::Many(Box::new(queue));
        }
        match self {
            Holders::Many(queue) => queue,
            Holders::One(_) => unreachable!("made a queue above"),
        }
    }

    /// Drops a queue that is not needed any more. Returns true if the lock has neither holders nor waiters.
    fn tidy(&mut self) -> bool {
        if let Holders::Many(queue) = self
            && queue.waiters.is_empty()
        {
            match queue.holders[..] {
                [] => return true,
                [holder] => *self = Holders::One(holder),
                _ => {}
            }
        }
        false
    }
}

impl Queue {
    /// Returns whether a holder other than `owner` conflicts with `mode`.
    fn conflicts(&self, owner: OwnerId, mode: LockMode) -> bool {
        self.holders.iter().any(|holder| holder.owner != owner && holder.modes.conflict(mode))
    }

    /// Adds the owners that `waiter` waits for at this lock: conflicting holders, and all waiters ahead of it.
    fn blockers(&self, waiter: OwnerId, blockers: &mut Vec<OwnerId>) {
        let Some(at) = self.waiters.iter().position(|one| one.owner.id == waiter) else { return };
        let mode = self.waiters[at].mode;
        blockers.extend(self.waiters.iter().take(at).map(|one| one.owner.id));
        let holders =
            self.holders.iter().filter(|holder| holder.owner != waiter && holder.modes.conflict(mode));
        blockers.extend(holders.map(|holder| holder.owner));
    }
}
