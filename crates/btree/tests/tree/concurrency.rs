//! Many threads: writers on keys of their own, and readers that scan both ways meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leafline_btree::{Change, CommitTs, Cursor, Direction, LeafStep, Tree};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Entry, Fixture, get, options, scale, scan, seeds};

const WRITERS: u64 = 4;
const KEYS: u32 = 3000;

/// Makes a key. The keys of all writers are interleaved; every key divisible by 50 is put at the start and never
/// removed.
fn key(n: u32, writer: u64) -> Vec<u8> {
    let mut key = n.to_be_bytes().to_vec();
    key.extend_from_slice(&vec![b'k'; (n % 7) as usize * 9]);
    key.push(writer as u8);
    key
}

fn is_fixed(n: u32) -> bool {
    n.is_multiple_of(50)
}

fn write(fixture: &Fixture, writer: u64, seed: u64, clock: &AtomicU64) -> BTreeMap<Vec<u8>, Entry> {
    let mut rng = SmallRng::seed_from_u64(seed * 1000 + writer);
    let mut model = BTreeMap::new();
    for step in 0..3000 * scale() {
        // Each writer grows and shrinks the tree in turns, at different times, so that splits meet merges.
        let growing = (step / 750 + writer).is_multiple_of(2);
        let n = rng.random_range(0..KEYS);
        let key = key(n, writer);
        let ts = clock.fetch_add(1, Ordering::SeqCst);
        if growing || is_fixed(n) {
            let payload = vec![writer as u8; rng.random_range(0..120)];
            let put = Change::Put { payload: payload.clone().into(), ts: CommitTs(ts), has_previous: false };
            fixture.change(&key, 0, put);
            model.insert(key, Entry { flags: 2, ts, payload });
        } else if rng.random() {
            fixture.change(&key, 0, Change::Remove);
            model.remove(&key);
        } else {
            // Delete a run of neighbours, so that leaves become empty.
            for n in (n..n + 20).filter(|n| !is_fixed(*n)) {
                let key = self::key(n, writer);
                let change = Change::Ghost { ts: CommitTs(ts), has_previous: false, keep_payload: false };
                fixture.change(&key, 0, change);
                fixture.purge(&key, ts + 1);
                model.remove(&key);
            }
        }
    }
    model
}

/// Scans until told to stop. Checks that keys are in order, that none comes twice, and that all fixed ones are there.
fn read(fixture: &Fixture, direction: Direction, seed: u64, stop: &AtomicBool) -> u64 {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut scans = 0;
    let mut leaping = fixture.tree.cursor();
    while !stop.load(Ordering::SeqCst) || scans == 0 {
        let mut cursor = fixture.tree.cursor();
        if direction == Direction::Reverse {
            cursor.seek_before(None);
        }
        let mut last: Option<Vec<u8>> = None;
        let mut fixed = 0;
        let mut more = true;
        while more {
            let piece = if rng.random() { usize::MAX } else { rng.random_range(1..30) };
            more = cursor
                .visit_leaf(direction, |leaf, range| {
                    let slots: Vec<usize> = match direction {
                        Direction::Forward => range.collect(),
                        Direction::Reverse => range.rev().collect(),
                    };
                    for slot in slots.iter().take(piece) {
                        let mut key = Vec::new();
                        leaf.key_into(*slot, &mut key);
                        if let Some(last) = &last {
                            let ordered = match direction {
                                Direction::Forward => *last < key,
                                Direction::Reverse => *last > key,
                            };
                            assert!(ordered, "{key:?} after {last:?}");
                        }
                        let writer = key.last().copied().expect("a key");
                        let entry = leaf.entry(*slot);
                        assert!(entry.payload.iter().all(|byte| *byte == writer));
                        let n = u32::from_be_bytes([key[0], key[1], key[2], key[3]]);
                        fixed += u32::from(is_fixed(n));
                        last = Some(key);
                    }
                    slots.get(piece).map_or(LeafStep::NextLeaf, |slot| LeafStep::StayAt(*slot))
                })
                .expect("a visit");
        }
        assert_eq!(fixed, KEYS.div_ceil(50) * WRITERS as u32, "a scan missed entries that were always there");
        if scans % 4 == 0 {
            fixture.tree.verify().expect("a sound tree");
        }
        let (low, high) = (rng.random_range(0..KEYS).to_be_bytes(), rng.random_range(0..KEYS).to_be_bytes());
        let list = fixture.tree.leaves(Direction::Forward, &low, Some(&high), 100).expect("leaves");
        fixture.store.prefetch(&list.pages).expect("a prefetch");
        fixture.tree.estimate(&low, Some(&high)).expect("an estimate");
        look_up(fixture, &mut rng);
        leap(&mut leaping, direction, &mut rng);
        scans += 1;
    }
    scans
}

/// Leaps to keys that are always there.
fn leap(cursor: &mut Cursor<&Tree>, direction: Direction, rng: &mut SmallRng) {
    for _ in 0..20 {
        let wanted = key(rng.random_range(0..KEYS / 50) * 50, rng.random_range(0..WRITERS));
        match direction {
            Direction::Forward => cursor.seek(&wanted),
            Direction::Reverse => cursor.seek_before(Some(&[&wanted[..], &[0]].concat())),
        }
        let mut found = Vec::new();
        let visited = cursor.visit_leaf(direction, |leaf, slots| {
            leaf.key_into(
                if direction == Direction::Forward { slots.start } else { slots.end - 1 },
                &mut found,
            );
            LeafStep::Stop
        });
        assert!(visited.expect("a visit") && found == wanted, "a leap missed an entry that was always there");
    }
}

/// Looks up keys that are always there, on leaves that were found before.
fn look_up(fixture: &Fixture, rng: &mut SmallRng) {
    let mut keys: Vec<Vec<u8>> =
        (0..60).map(|_| key(rng.random_range(0..KEYS / 50) * 50, rng.random_range(0..WRITERS))).collect();
    keys.sort();
    let found = fixture.tree.find_leaves(Direction::Forward, keys.iter().map(|key| Some(key.as_slice())));
    let found = found.expect("leaves");
    for (key, found) in keys.iter().zip(found) {
        let is_there = fixture.tree.visit_leaf_of(key, found, |leaf| leaf.find_within(key).1);
        assert!(is_there.expect("a visit"), "a look-up missed an entry that was always there");
    }
}

fn run(seed: u64, page_size: usize, pool_pages: usize, background: bool) {
    let mut options = options(page_size, pool_pages);
    options.background = background;
    options.io_threads = 2;
    let fixture = Fixture::with(options);
    for n in (0..KEYS).filter(|n| is_fixed(*n)) {
        for writer in 0..WRITERS {
            fixture.put(&key(n, writer), &[writer as u8; 5], 1);
        }
    }
    let (fixture, clock, stop) = (&fixture, &AtomicU64::new(2), &AtomicBool::new(false));
    let mut model: BTreeMap<Vec<u8>, Entry> = scan(&fixture.tree, Direction::Forward).into_iter().collect();
    std::thread::scope(|scope| {
        let readers: Vec<_> = [Direction::Forward, Direction::Reverse]
            .into_iter()
            .map(|direction| scope.spawn(move || read(fixture, direction, seed, stop)))
            .collect();
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(fixture, writer, seed, clock))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::SeqCst);
        for written in written {
            model.extend(written.expect("a writer"));
        }
        for reader in readers {
            assert!(reader.join().expect("a reader") > 0);
        }
    });
    let found: BTreeMap<Vec<u8>, Entry> = scan(&fixture.tree, Direction::Forward).into_iter().collect();
    for (key, entry) in &model {
        let found = found.get(key);
        // A thread that makes room in a leaf may settle entries that are older than the oldest snapshot it knows of.
        let settled = Entry { flags: 0, ts: 0, payload: entry.payload.clone() };
        let matches = found == Some(entry) || found == Some(&settled);
        assert!(matches, "{key:?} is {found:?} and not what its writer left, {entry:?}");
    }
    for (key, entry) in &found {
        assert!(model.contains_key(key), "{key:?} is there: {entry:?}");
    }
    fixture.tree.verify().expect("a sound tree");
}

#[test]
fn writers_on_disjoint_keys_and_readers_both_ways() {
    for seed in seeds(1) {
        run(seed, 4096, 4096, false);
    }
}

#[test]
fn writers_and_readers_with_a_pool_smaller_than_the_tree() {
    for seed in seeds(1) {
        run(seed, 4096, 96, true);
    }
}

/// While a thread waits for the exclusive latch of the root, no other thread gets a shared one. A reader that needed
/// one would wait, and in this test for ever.
#[test]
fn readers_take_no_latch_above_the_leaf() {
    let fixture = Fixture::new(4096, 4096);
    for n in 0..2000 {
        fixture.put(&key(n, 0), &[0; 50], 1);
    }
    assert!(fixture.tree.depth().expect("a depth") >= 2);
    let root = fixture.tree.root();
    let waits = || fixture.store.stats().exclusive_latch_waits.get();
    let before = waits();
    std::thread::scope(|scope| {
        let held = fixture.store.shared(root).expect("the root");
        let waiter = scope.spawn(|| {
            let mut reservation = fixture.store.reserve(0, 1000).expect("a reservation");
            let mut mini = fixture.store.begin(&mut reservation, 0).expect("a mini-transaction");
            mini.latch(root).expect("the root").is_some()
        });
        while waits() == before {
            std::thread::yield_now();
        }
        let others = scope.spawn(|| {
            for n in (0..2000).step_by(7) {
                assert_eq!(get(&fixture.tree, &key(n, 0)).map(|entry| entry.payload.len()), Some(50));
            }
            for direction in [Direction::Forward, Direction::Reverse] {
                assert_eq!(scan(&fixture.tree, direction).len(), 2000);
            }
            let (low, high) = (key(100, 0), key(900, 0));
            assert!(
                fixture.tree.leaves(Direction::Forward, &low, Some(&high), 1000).expect("leaves").pages.len()
                    > 5
            );
            assert!(fixture.tree.estimate(&low, Some(&high)).expect("an estimate").entries > 400.0);
            // Writers that change only a leaf do not latch above it either.
            fixture.put(&key(500, 0), &[0; 40], 2);
        });
        others.join().expect("readers and a writer");
        drop(held);
        assert!(waiter.join().expect("the waiter"));
    });
    assert_eq!(fixture.store.stats().optimistic_restarts.get(), 0);
}
