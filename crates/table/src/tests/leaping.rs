//! A visitor that knows which entries must come, and does everything that a visitor may do.

use crate::catalog::TableDef;
use crate::read::{EntryRef, EntrySlice, EntryStep, EntryVisitor, MAX_SLICE_ENTRIES, ReadView, SliceBound};
use leafline_btree::Direction;
use leafline_types::Value;
use rand::Rng;
use rand::rngs::SmallRng;
use std::sync::Arc;

/// A scan that leaps, pauses and stops at random.
pub(super) fn leap(
    view: &ReadView,
    table: &Arc<TableDef>,
    index: usize,
    all: &[(Vec<u8>, Vec<Value>)],
    random: &mut SmallRng,
    what: &str,
) {
    let direction = if random.random() { Direction::Forward } else { Direction::Reverse };
    let mut order: Vec<&Vec<u8>> = all.iter().map(|(key, _)| key).collect();
    if direction == Direction::Reverse {
        order.reverse();
    }
    let mut cursor = view.entries(table, &table.indexes[index]).unwrap();
    match direction {
        Direction::Forward => cursor.seek(&[]),
        Direction::Reverse => cursor.seek_before(None),
    }
    let takes_runs = random.random();
    let mut leaper = Leaper { order, direction, takes_runs, next: 0, bound: None, random, what };
    leaper.choose_bound();
    while cursor.visit_with(direction, &mut leaper).unwrap() {
        leaper.choose_bound();
    }
    assert_eq!(leaper.next, leaper.order.len(), "{what}, leaping");
}

/// Expects entries in the order of a scan, takes them one by one or in slices, and leaps, pauses and stops at random.
struct Leaper<'a> {
    order: Vec<&'a Vec<u8>>,
    direction: Direction,
    takes_runs: bool,
    next: usize,
    /// How many entries may come together, up to which place in the order, and whether only their number is
    /// wanted.
    bound: Option<(usize, usize, bool)>,
    random: &'a mut SmallRng,
    what: &'a str,
}

impl Leaper<'_> {
    fn choose_bound(&mut self) {
        let until = self.next + self.random.random_range(0..100);
        self.bound = self.takes_runs.then(|| (self.random.random_range(1..80), until, self.random.random()));
    }

    fn check(&mut self, key: &[u8]) {
        let what = self.what;
        assert_eq!(Some(key), self.order.get(self.next).map(|key| key.as_slice()), "{what}");
        self.next += 1;
    }
}

impl EntryVisitor for Leaper<'_> {
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        self.check(entry.key);
        let (random, order) = (&mut *self.random, &self.order);
        let step = match random.random_range(0..10) {
            0..=4 => EntryStep::Next,
            5..=6 => EntryStep::Pause,
            7 if random.random_range(0..4) == 0 => {
                self.next = order.len();
                EntryStep::Stop
            }
            7 => EntryStep::SeekTo(entry.key.to_vec()),
            _ => {
                let target = (self.next + random.random_range(0..8)).min(order.len());
                // Forward: at the key or just before it; reverse: just above the key.
                match order.get(target) {
                    None if self.direction == Direction::Reverse => EntryStep::Next,
                    None => {
                        self.next = order.len();
                        EntryStep::SeekTo(vec![0xff; 20])
                    }
                    Some(key) => {
                        self.next = target;
                        let mut key = key.to_vec();
                        if self.direction == Direction::Reverse {
                            key.push(0);
                        }
                        EntryStep::SeekTo(key)
                    }
                }
            }
        };
        if matches!(step, EntryStep::SeekTo(_)) {
            self.choose_bound();
        }
        step
    }

    fn slice_bound(&self) -> Option<SliceBound<'_>> {
        let (entries, until, counted) = self.bound?;
        let key = match self.direction {
            Direction::Forward => self.order.get(until),
            // The last entry that may come is the one before.
            Direction::Reverse => self.order.get(until.checked_sub(1)?),
        };
        Some(SliceBound { entries, until: key.map(|key| key.as_slice()), counted })
    }

    fn visit_slice(&mut self, slice: &EntrySlice<'_>) -> EntryStep {
        let (most, _, counted) = self.bound.expect("entries came together that were not asked for so");
        assert!(
            !counted && (1..=most.min(MAX_SLICE_ENTRIES)).contains(&slice.entries.len()),
            "{}",
            self.what
        );
        for (suffix, _) in slice.entries {
            self.check(&[slice.prefix, suffix].concat());
        }
        self.after_run()
    }

    fn counted(&mut self, entries: usize) -> EntryStep {
        let (most, _, counted) = self.bound.expect("entries were counted that were not asked for so");
        assert!(counted && (1..=most).contains(&entries), "{}", self.what);
        self.next += entries;
        self.after_run()
    }
}

impl Leaper<'_> {
    fn after_run(&mut self) -> EntryStep {
        let until = self.bound.map_or(0, |(_, until, _)| until);
        assert!(self.next <= until, "{}: beyond the bound", self.what);
        match self.random.random_range(0..4) {
            0 => EntryStep::Pause,
            1 if self.random.random_range(0..10) == 0 => {
                self.next = self.order.len();
                EntryStep::Stop
            }
            _ => EntryStep::Next,
        }
    }
}
