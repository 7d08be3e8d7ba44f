//! The waits-for graph of the lock owners, and the search for cycles in it.
//!
//! Only a wait that begins can close a cycle, so an owner that begins to wait searches for a cycle through itself.
//! That finds every cycle: all other waits began before, and none of them can end while the caller holds the latch
//! `waits`.

use super::owner_state::{LockKey, OwnerId, OwnerState};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The sleeping owners, each with the lock it waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waiting: HashMap<OwnerId, (Arc<OwnerState>, LockKey)>,
    /// The time since which each owner sleeps.
    since: HashMap<OwnerId, Instant>,
}

impl Waits {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn add(&mut self, owner: Arc<OwnerState>, key: LockKey) {
        self.since.insert(owner.id, Instant::now());
        self.waiting.insert(owner.id, (owner, key));
    }

    /// The time since which an owner sleeps; `None` if it does not.
    pub(super) fn since(&self, owner: OwnerId) -> Option<Instant> {
        self.since.get(&owner).copied()
    }

    /// Removes a sleeping owner; returns the lock it waited for.
    pub(super) fn remove(&mut self, owner: OwnerId) -> Option<LockKey> {
        self.since.remove(&owner);
        self.waiting.remove(&owner).map(|(_, key)| key)
    }

    /// Returns the owner to roll back if `start` waits for itself through others: the one in the cycle that is
    /// cheapest to roll back. Of several equally cheap ones it is `start`, as in InnoDB, or else the one that began
    /// last. `blockers` adds the owners that an owner waits for at a lock.
    pub(super) fn find_victim(
        &self,
        start: OwnerId,
        blockers: impl Fn(OwnerId, LockKey, &mut Vec<OwnerId>),
    ) -> Option<Arc<OwnerState>> {
        let circle = self.find_circle(start, blockers)?;
        let members = circle.iter().filter_map(|owner| self.waiting.get(owner));
        members
            .map(|(owner, _)| owner)
            .min_by_key(|owner| (owner.weight(), owner.id != start, !owner.id.0))
            .cloned()
    }

    /// The owners on a path from `start` back to it; `None` if there is no such path.
    fn find_circle(
        &self,
        start: OwnerId,
        blockers: impl Fn(OwnerId, LockKey, &mut Vec<OwnerId>),
    ) -> Option<Vec<OwnerId>> {
        let waited_for = |owner: OwnerId| {
            let mut found = Vec::new();
            if let Some((_, key)) = self.waiting.get(&owner) {
                blockers(owner, *key, &mut found);
            }
            found
        };
        let mut seen = HashSet::new();
        // The path so far: each owner, with the owners it waits for that are still to be visited.
        let mut way = vec![(start, waited_for(start))];
        while let Some((_, left)) = way.last_mut() {
            match left.pop() {
                Some(next) if next == start => return Some(way.iter().map(|(owner, _)| *owner).collect()),
                Some(next) if seen.insert(next) => {
                    let left = waited_for(next);
                    way.push((next, left));
                }
                Some(_) => {}
                None => {
                    way.pop();
                }
            }
        }
        None
    }
}
