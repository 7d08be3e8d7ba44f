//! Who waits, and the search for circles among them.
//!
//! A circle can only be closed by a wait that begins, so whoever begins to wait looks for one that goes through itself.
//! That finds all: every other wait was there before, and none of them can end while `waits` is held.

use super::owner::{OwnerId, OwnerState};
use super::table::LockKey;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The sleepers, each with the lock it waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waiting: HashMap<OwnerId, (Arc<OwnerState>, LockKey)>,
    /// Since when each sleeps.
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

    /// Since when an owner sleeps, if it does.
    pub(super) fn since(&self, owner: OwnerId) -> Option<Instant> {
        self.since.get(&owner).copied()
    }

    /// Forgets a sleeper; returns what it waited for.
    pub(super) fn remove(&mut self, owner: OwnerId) -> Option<LockKey> {
        self.since.remove(&owner);
        self.waiting.remove(&owner).map(|(_, key)| key)
    }

    /// If `start` waits for itself by way of others: the one of that circle that is cheapest to roll back, of several `start`, as in
    /// InnoDB, and else the one that began last. `blockers` adds whom an owner waits for at a lock.
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

    /// The owners on a way from `start` back to it.
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
        // The way so far: each owner, with those it waits for that are still to be looked at.
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
