//! A tree under random operations equals a sorted map.
//!
//! Ghosts and timestamps below the purge threshold may be cleared away whenever a page is reorganised, so the
//! comparison ignores those below the highest threshold that was passed in.

use std::collections::BTreeMap;
use std::ops::Bound;

use leafline_btree::{Change, CommitTs, Direction, LeafStep};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Entry, Fixture, get, scale, scan};
use super::shape::{Keys, Payloads};

type Model = BTreeMap<Vec<u8>, Entry>;

struct Run {
    fixture: Fixture,
    model: Model,
    rng: SmallRng,
    keys: Keys,
    payloads: Payloads,
    /// Number of keys made.
    made: u64,
    now: u64,
    horizon: u64,
}

impl Run {
    /// Returns a key, an existing one in half of the cases.
    fn key(&mut self) -> Vec<u8> {
        if self.rng.random() {
            let start = self.keys.make(&mut self.rng, self.made / 2, self.fixture.tree.max_key_len());
            let mut after = self.model.range((Bound::Included(start), Bound::Unbounded));
            if let Some((key, _)) = after.nth(self.rng.random_range(0..4)) {
                return key.clone();
            }
        }
        self.made += 1;
        self.keys.make(&mut self.rng, self.made, self.fixture.tree.max_key_len())
    }

    /// Returns whether the page may have `found` for an entry of the model.
    fn agrees(&self, found: Option<&Entry>, expected: Option<&Entry>) -> bool {
        match (found, expected) {
            (None, Some(entry)) => entry.is_ghost() && entry.ts < self.horizon,
            (Some(found), Some(entry)) if entry.ts < self.horizon && !entry.is_ghost() => {
                found == entry || *found == Entry { flags: 0, ts: 0, payload: entry.payload.clone() }
            }
            (found, expected) => found == expected,
        }
    }

    fn step(&mut self, deletes: u32) {
        self.now += 1;
        let choice = self.rng.random_range(0..100);
        if choice < 55 {
            self.modify(deletes);
        } else if choice < 65 {
            self.purge();
        } else if choice < 75 {
            let key = self.key();
            let found = get(&self.fixture.tree, &key);
            assert!(self.agrees(found.as_ref(), self.model.get(&key)), "get {key:?}: {found:?}");
        } else if choice < 97 {
            self.walk();
        } else if self.rng.random_ratio(1, 20) {
            self.horizon = self.rng.random_range(self.horizon..=self.now);
        }
    }

    fn modify(&mut self, deletes: u32) {
        let key = self.key();
        let expected = self.model.get(&key).cloned();
        let ts = if self.rng.random_ratio(1, 8) { 0 } else { self.now };
        let has_previous = self.rng.random();
        let change = match self.rng.random_range(0..100) {
            dice if dice < deletes => {
                Change::Ghost { ts: CommitTs(ts), has_previous, keep_payload: self.rng.random() }
            }
            dice if dice < deletes + deletes / 4 => Change::Remove,
            dice if dice > 97 => Change::Keep,
            _ => {
                let max = self.fixture.tree.max_entry_len();
                let mut payload = self.payloads.make(&mut self.rng, key.len(), max);
                if let Some(old) = &expected
                    && self.rng.random()
                    && !old.payload.is_empty()
                {
                    // Change the payload in one place.
                    payload = old.payload.clone();
                    let at = self.rng.random_range(0..payload.len());
                    payload[at] ^= 0x55;
                }
                Change::Put { payload: payload.into(), ts: CommitTs(ts), has_previous }
            }
        };
        let mut seen = None;
        let payload_len = match &change {
            Change::Put { payload, .. } => payload.len(),
            Change::Ghost { keep_payload: true, .. } => expected.as_ref().map_or(0, |old| old.payload.len()),
            _ => 0,
        };
        self.fixture
            .tree
            .modify(
                &mut self.fixture.reserve(key.len(), payload_len),
                &key,
                CommitTs(self.horizon),
                &mut |old| {
                    seen = Some(old.map(|e| Entry {
                        flags: e.flags.0,
                        ts: e.commit_ts.0,
                        payload: e.payload.to_vec(),
                    }));
                    change.clone()
                },
            )
            .expect("a change");
        let seen = seen.expect("asked for a decision");
        assert!(
            self.agrees(seen.as_ref(), expected.as_ref()),
            "modify {key:?} saw {seen:?}, not {expected:?}"
        );
        let flags = |ghost: u8| ghost | if ts > 0 { 2 } else { 0 } | if has_previous { 4 } else { 0 };
        match change {
            Change::Keep => {}
            Change::Remove => {
                self.model.remove(&key);
            }
            Change::Put { payload, .. } => {
                self.model.insert(key, Entry { flags: flags(0), ts, payload: payload.into_owned() });
            }
            Change::Ghost { keep_payload, .. } => {
                // The old payload can be kept only if the old entry was there.
                let payload = seen.filter(|_| keep_payload).map(|old| old.payload).unwrap_or_default();
                self.model.insert(key, Entry { flags: flags(1), ts, payload });
            }
        }
    }

    fn purge(&mut self) {
        let ghosts = |(_, entry): &(&Vec<u8>, &Entry)| entry.is_ghost();
        let start = self.key();
        let Some((key, entry)) = self.model.range(start..).take(50).find(ghosts) else { return };
        let (key, ts) = (key.clone(), entry.ts);
        let removed = self.fixture.purge(&key, self.horizon);
        assert!(!removed || ts < self.horizon, "purge removed a ghost that is needed");
        if ts < self.horizon {
            self.model.remove(&key);
            assert_eq!(get(&self.fixture.tree, &key), None);
        }
    }

    /// Walks a few entries from a random key, in pieces that end in the middle of leaves.
    fn walk(&mut self) {
        let start = if self.rng.random_ratio(1, 10) { None } else { Some(self.key()) };
        let forward = self.rng.random();
        let wanted = self.rng.random_range(1..20);
        let mut cursor = self.fixture.tree.cursor();
        let direction = if forward {
            cursor.seek(start.as_deref().unwrap_or_default());
            Direction::Forward
        } else {
            cursor.seek_before(start.as_deref());
            Direction::Reverse
        };
        let mut found = Vec::new();
        let mut more = true;
        while more && found.len() < wanted {
            let piece = self.rng.random_range(1..8);
            let jump = self.rng.random_ratio(1, 5);
            more = cursor
                .visit_leaf(direction, |leaf, range| {
                    let slots: Vec<usize> = if forward { range.collect() } else { range.rev().collect() };
                    for slot in slots.iter().take(piece) {
                        let mut key = Vec::new();
                        leaf.key_into(*slot, &mut key);
                        let e = leaf.entry(*slot);
                        found.push((
                            key,
                            Entry { flags: e.flags.0, ts: e.commit_ts.0, payload: e.payload.to_vec() },
                        ));
                    }
                    match slots.get(piece) {
                        None => LeafStep::NextLeaf,
                        // Seek the same place by its key.
                        Some(_) if jump && found.len() < wanted => {
                            let mut key = found.last().map(|(key, _)| key.clone()).unwrap_or_default();
                            if forward {
                                key.push(0);
                            }
                            LeafStep::SeekTo(key)
                        }
                        Some(slot) => LeafStep::StayAt(*slot),
                    }
                })
                .expect("a visit");
        }
        let expected: Box<dyn Iterator<Item = (&Vec<u8>, &Entry)>> = match (&start, forward) {
            (Some(start), true) => Box::new(self.model.range(start.clone()..)),
            (None, true) => Box::new(self.model.iter()),
            (Some(start), false) => Box::new(self.model.range(..start.clone()).rev()),
            (None, false) => Box::new(self.model.iter().rev()),
        };
        self.compare(&found, expected, more);
    }

    /// Asserts that both sequences agree. With `open_end`, the model may go on where the tree's sequence ends.
    fn compare<'m>(
        &self,
        found: &[(Vec<u8>, Entry)],
        mut expected: impl Iterator<Item = (&'m Vec<u8>, &'m Entry)>,
        open_end: bool,
    ) {
        for (key, entry) in found {
            loop {
                let Some((expected_key, expected_entry)) = expected.next() else {
                    panic!("the tree has {key:?}, the model does not");
                };
                if expected_key == key {
                    assert!(
                        self.agrees(Some(entry), Some(expected_entry)),
                        "{key:?}: {entry:?}, {expected_entry:?}"
                    );
                    break;
                }
                assert!(self.agrees(None, Some(expected_entry)), "the tree lacks {expected_key:?}");
            }
        }
        if !open_end {
            for (key, entry) in expected {
                assert!(self.agrees(None, Some(entry)), "the tree lacks {key:?} at the end");
            }
        }
    }

    fn check(&self) {
        let report = self.fixture.tree.verify().expect("a sound tree");
        self.fixture.assert_reservations_sufficed();
        let forward = scan(&self.fixture.tree, Direction::Forward);
        assert_eq!(report.entries, forward.len() as u64);
        self.compare(&forward, self.model.iter(), false);
        let mut reverse = scan(&self.fixture.tree, Direction::Reverse);
        reverse.reverse();
        assert!(forward == reverse, "both directions meet the same entries");
    }
}

fn run(name: &str, keys: Keys, payloads: Payloads, page_size: usize, operations: u64, seed: u64) {
    println!("{name}: {keys:?} {payloads:?} {page_size} LEAFLINE_SEED={seed}");
    let mut run = Run {
        // The pool is so small that most trees do not fit.
        fixture: Fixture::new(page_size, 48),
        model: Model::new(),
        rng: SmallRng::seed_from_u64(seed),
        keys,
        payloads,
        made: 0,
        now: 0,
        horizon: 0,
    };
    for operation in 0..operations {
        // The tree grows and shrinks in turns.
        let deletes = if (operation * 6 / operations).is_multiple_of(2) { 8 } else { 75 };
        run.step(deletes);
        if operation % (operations / 12).max(1) == 0 {
            run.check();
        }
    }
    run.check();
    // Remove all entries.
    run.horizon = run.now + 1;
    let all: Vec<Vec<u8>> = run.model.keys().cloned().collect();
    for (n, key) in all.iter().enumerate() {
        if n % 2 == 0 {
            run.fixture.change(key, run.horizon, Change::Remove);
        } else {
            let ts = CommitTs(run.now);
            run.fixture.change(key, 0, Change::Ghost { ts, has_previous: false, keep_payload: false });
            run.fixture.purge(key, run.horizon);
        }
    }
    let report = run.fixture.tree.verify().expect("a sound tree");
    run.fixture.assert_reservations_sufficed();
    assert_eq!((report.entries, report.levels, report.leaves), (0, 1, 1), "an empty tree is one leaf");
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..scale(),
    }
}

macro_rules! model_tests {
    ($($name:ident: $keys:ident, $payloads:ident, $page_size:expr, $operations:expr;)*) => {
        $(#[test]
        fn $name() {
            for seed in seeds() {
                run(stringify!($name), Keys::$keys, Payloads::$payloads, $page_size, $operations, seed);
            }
        })*
    };
}

model_tests! {
    ascending_4_byte_keys: Ascending4, None, 4096, 80_000;
    ascending_8_byte_keys: Ascending8, Small, 8192, 80_000;
    descending_8_byte_keys: Descending8, Small, 16384, 80_000;
    near_sorted_keys: NearSorted8, Medium, 4096, 60_000;
    random_4_byte_keys: Random4, Small, 4096, 100_000;
    random_8_byte_keys: Random8, Medium, 16384, 60_000;
    random_8_byte_keys_on_large_pages: Random8, Small, 32768, 60_000;
    long_shared_prefixes: SharedPrefix, Small, 4096, 60_000;
    long_shared_prefixes_on_large_pages: SharedPrefix, Medium, 16384, 40_000;
    keys_full_of_zero_bytes: ZeroBytes, Small, 4096, 100_000;
    keys_of_any_length: AnyLength, Small, 4096, 60_000;
    keys_of_any_length_with_huge_payloads: AnyLength, Huge, 16384, 40_000;
    huge_payloads: Random4, Huge, 4096, 60_000;
    huge_payloads_in_order: Ascending8, Huge, 8192, 40_000;
    largest_pages: AnyLength, Huge, 65536, 20_000;
}
