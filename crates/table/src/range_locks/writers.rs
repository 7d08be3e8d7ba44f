//! Open transactions that have written something, and what others need to know of those that have ended.
//!
//! A transaction is listed from its first write to a shared table until it has ended and everything that it committed is
//! durable, so that a snapshot taken later sees it. While a statement runs that locks ranges, transactions that end are
//! kept until that statement is over: its snapshot may be older than they are.

use crate::lock::LockOwner;
use crate::write_set::WriteSet;
use leafline_btree::CommitTs;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of ended transactions that are kept at most. A statement that began before one of those given up counts
/// as having missed a change of every range that it locks from then on.
const MOST_ENDED: usize = 4096;

/// A transaction that has written something.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) writes: Arc<RwLock<WriteSet>>,
    pub(super) locks: Arc<LockOwner>,
    /// The timestamp of its commit; 0 before all of that is applied.
    ts: AtomicU64,
    /// Whether its write set was emptied by its commit.
    is_emptied: AtomicBool,
}

impl Writer {
    pub(super) fn new(writes: &Arc<RwLock<WriteSet>>, locks: &Arc<LockOwner>) -> Arc<Writer> {
        let (ts, is_emptied) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Writer { writes: writes.clone(), locks: locks.clone(), ts, is_emptied })
    }

    /// The timestamp of its commit, if that is applied.
    pub(super) fn ts(&self) -> Option<CommitTs> {
        Some(self.ts.load(Ordering::Acquire)).filter(|ts| *ts > 0).map(CommitTs)
    }

    pub(super) fn set_ts(&self, ts: CommitTs) {
        self.ts.store(ts.0, Ordering::Release);
    }

    pub(super) fn is_emptied(&self) -> bool {
        self.is_emptied.load(Ordering::Acquire)
    }

    pub(super) fn set_emptied(&self) {
        self.is_emptied.store(true, Ordering::Release);
    }
}

/// The transactions that have written something.
#[derive(Default)]
pub(super) struct Writers(Mutex<Listed>);

#[derive(Default)]
struct Listed {
    open: HashMap<u64, Arc<Writer>>,
    /// Transactions that have ended, each with its end.
    ended: VecDeque<(u64, Arc<Writer>)>,
    /// The beginnings of the running statements that lock ranges.
    statements: BTreeSet<u64>,
    /// Counts the beginnings and ends.
    now: u64,
    /// The end of the newest transaction that was given up.
    given_up: u64,
    last: u64,
}

impl Writers {
    /// Lists a transaction. Returns its number.
    pub(super) fn add(&self, writer: Arc<Writer>) -> u64 {
        let mut listed = self.0.lock();
        listed.last += 1;
        let number = listed.last;
        listed.open.insert(number, writer);
        number
    }

    /// Removes a transaction, which has ended.
    pub(super) fn remove(&self, number: u64) {
        let mut listed = self.0.lock();
        let Some(writer) = listed.open.remove(&number) else { return };
        if listed.statements.is_empty() || writer.ts().is_none() {
            return;
        }
        listed.now += 1;
        let end = listed.now;
        listed.ended.push_back((end, writer));
        if listed.ended.len() > MOST_ENDED
            && let Some((end, _)) = listed.ended.pop_front()
        {
            listed.given_up = end;
        }
    }

    /// Begins a statement that locks ranges, before its snapshot is taken. Returns its beginning.
    pub(super) fn begin_statement(&self) -> u64 {
        let mut listed = self.0.lock();
        listed.now += 1;
        let begun = listed.now;
        listed.statements.insert(begun);
        begun
    }

    /// Ends a statement that locks ranges.
    pub(super) fn end_statement(&self, begun: u64) {
        let mut listed = self.0.lock();
        listed.statements.remove(&begun);
        let oldest = listed.statements.first().copied().unwrap_or(u64::MAX);
        let left = listed.ended.partition_point(|(end, _)| *end < oldest);
        // Dropping a write set may take long.
        let over: Vec<_> = listed.ended.drain(..left).collect();
        drop(listed);
        drop(over);
    }

    /// The transactions other than `own` that were open at some time since a statement began; `None` if some of them are not
    /// known any more.
    pub(super) fn since(&self, begun: u64, own: &Arc<LockOwner>) -> Option<Vec<Arc<Writer>>> {
        let listed = self.0.lock();
        if listed.given_up > begun {
            return None;
        }
        let ended = listed.ended.iter().filter(|(end, _)| *end > begun).map(|(_, writer)| writer);
        let all = listed.open.values().chain(ended).filter(|writer| !Arc::ptr_eq(&writer.locks, own));
        Some(all.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockTable;

    fn writer(table: &Arc<LockTable>) -> Arc<Writer> {
        Writer::new(&Arc::default(), &Arc::new(LockOwner::new(table)))
    }

    #[test]
    fn ended_transactions_are_kept_for_the_statements_that_began_before() {
        let table = Arc::new(LockTable::new(None, 100));
        let (writers, own) = (Writers::default(), Arc::new(LockOwner::new(&table)));
        let commit = |ts: u64| {
            let writer = writer(&table);
            let number = writers.add(writer.clone());
            writer.set_ts(CommitTs(ts));
            writers.remove(number);
        };
        let found = |begun| {
            let found = writers.since(begun, &own)?;
            Some(found.iter().map(|writer| writer.ts().map_or(0, |ts| ts.0)).collect::<Vec<u64>>())
        };
        commit(1);
        let first = writers.begin_statement();
        assert_eq!(found(first), Some(vec![]), "it ended before");
        let open = writers.add(writer(&table));
        commit(2);
        assert_eq!(found(first), Some(vec![0, 2]));
        let second = writers.begin_statement();
        commit(3);
        assert_eq!((found(first), found(second)), (Some(vec![0, 2, 3]), Some(vec![0, 3])));
        writers.remove(open);
        assert_eq!(found(first), Some(vec![2, 3]), "what was rolled back is nothing to anybody");
        writers.end_statement(first);
        assert_eq!(found(second), Some(vec![3]));
        assert_eq!(writers.0.lock().ended.len(), 1);
        (0..=MOST_ENDED as u64).for_each(|ts| commit(ts + 4));
        assert_eq!(found(second), None, "too many have ended since");
        let third = writers.begin_statement();
        assert_eq!(found(third), Some(vec![]));
        writers.end_statement(second);
        writers.end_statement(third);
        assert!(writers.0.lock().ended.is_empty());
    }
}
