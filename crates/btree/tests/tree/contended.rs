//! Many threads on the same keys of one tree, with nothing above that keeps them apart. Every change is one link of
//! its key's chain, readers without latches never see a mixture or an older state again, and a power cut leaves a
//! prefix of the changes of every thread.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leafline_btree::{Change, CommitTs, Direction, EntryView, LeafStep, Tree};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{PageNo, SegmentId, Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Entry, Fixture, create, open, options, scale, scan, seeds};

const WRITERS: u64 = 4;
const KEYS: u32 = 4000;

/// Makes a key. Neighbours differ late, so that separators are long and the tree has more than two levels.
fn key(n: u32) -> Vec<u8> {
    let mut key = (n / 40).to_be_bytes().to_vec();
    key.extend_from_slice(&[b'k'; 100]);
    key.extend_from_slice(&n.to_be_bytes());
    key.extend_from_slice(&vec![b'k'; (n % 5) as usize * 7]);
    key
}

/// Returns the number of a key.
fn number_of(key: &[u8]) -> u32 {
    u32::from_be_bytes(key[104..108].try_into().expect("four bytes"))
}

/// Returns whether a key is never removed: every hundredth key.
fn is_fixed(n: u32) -> bool {
    n.is_multiple_of(100)
}

/// Makes a payload that repeats the number of the change that made it.
fn payload(ticket: u64, words: usize) -> Vec<u8> {
    ticket.to_le_bytes().repeat(words)
}

/// Returns the change that made the entry. Fails if more than one made it.
fn ticket_of(entry: &EntryView<'_>) -> u64 {
    let words = entry.payload.as_chunks::<8>().0;
    let first = words.first().expect("a payload of at least a word");
    assert_eq!(words.len() * 8, entry.payload.len(), "a payload cut short");
    assert!(words.iter().all(|word| word == first), "a payload of two changes");
    u64::from_le_bytes(*first)
}

/// The last change of each key by one writer: the ticket that it drew under the latch, and the payload that it left.
type Done = HashMap<u32, (u64, Option<Vec<u8>>)>;

fn write(fixture: &Fixture, writer: u64, seed: u64, tickets: &AtomicU64) -> Done {
    let mut rng = SmallRng::seed_from_u64(seed * 1000 + writer);
    let mut done = Done::new();
    for step in 0..4000 * scale() {
        // All writers grow and shrink the tree together, so that splits meet splits and merges meet merges; from time
        // to time one works against the others.
        let growing = (step / 1000).is_multiple_of(2) ^ rng.random_ratio(1, 20);
        // The keys are near each other, so that writers meet on leaves.
        let around = (step * 9 % u64::from(KEYS)) as u32;
        let n = (around + rng.random_range(0..200)) % KEYS;
        let words = rng.random_range(1..20);
        let (mut ticket, mut left) = (0, None);
        let mut last = |remove: bool| {
            ticket = tickets.fetch_add(1, Ordering::SeqCst);
            left = (!remove).then(|| payload(ticket, words));
            left.clone()
        };
        let mut reservation = fixture.reserve(140, 160);
        let mut modify = |decide: &mut dyn FnMut(Option<EntryView<'_>>) -> Change<'static>| {
            fixture.tree.modify(&mut reservation, &key(n), CommitTs(0), decide).expect("a change");
        };
        let ts = CommitTs(step + 1);
        match rng.random_range(0..3) {
            _ if growing || is_fixed(n) => modify(&mut |old| {
                old.filter(|old| !old.is_ghost()).iter().for_each(|old| assert!(ticket_of(old) > 0));
                let payload = last(false).expect("a payload").into();
                Change::Put { payload, ts, has_previous: false }
            }),
            0 => {
                modify(&mut |_| {
                    last(true);
                    Change::Ghost { ts, has_previous: false, keep_payload: false }
                });
                drop(reservation);
                fixture.purge(&key(n), u64::MAX >> 16);
            }
            _ => modify(&mut |_| {
                last(true);
                Change::Remove
            }),
        }
        done.insert(n, (ticket, left));
    }
    done
}

/// Reads single keys until told to stop. Checks that none goes back to an older state.
fn look_up(fixture: &Fixture, seed: u64, stop: &AtomicBool) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut newest = vec![0; KEYS as usize];
    while !stop.load(Ordering::SeqCst) {
        let around = rng.random_range(0..KEYS);
        for _ in 0..100 {
            let n = (around + rng.random_range(0..20)) % KEYS;
            let found = fixture
                .tree
                .get(&key(n), |entry| entry.filter(|entry| !entry.is_ghost()).map(|entry| ticket_of(&entry)));
            let found = found.expect("a read");
            assert!(found.is_some() || !is_fixed(n), "key {n} is missing");
            if let Some(ticket) = found {
                assert!(ticket >= newest[n as usize], "key {n} went back to an older state");
                newest[n as usize] = ticket;
            }
        }
    }
}

/// Scans until told to stop. Checks that keys are in order, payloads whole, and all fixed keys there.
fn walk(fixture: &Fixture, direction: Direction, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let mut cursor = fixture.tree.cursor();
        if direction == Direction::Reverse {
            cursor.seek_before(None);
        }
        let (mut last, mut fixed, mut more): (Option<Vec<u8>>, _, _) = (None, 0, true);
        while more {
            more = cursor
                .visit_leaf(direction, |leaf, range| {
                    let slots: Vec<usize> = match direction {
                        Direction::Forward => range.collect(),
                        Direction::Reverse => range.rev().collect(),
                    };
                    for slot in slots {
                        let mut key = Vec::new();
                        leaf.key_into(slot, &mut key);
                        if let Some(last) = &last {
                            assert_eq!(
                                *last < key,
                                direction == Direction::Forward,
                                "{key:?} after {last:?}"
                            );
                        }
                        let entry = leaf.entry(slot);
                        if !entry.is_ghost() {
                            ticket_of(&entry);
                        }
                        fixed += u32::from(is_fixed(number_of(&key)));
                        last = Some(key);
                    }
                    LeafStep::NextLeaf
                })
                .expect("a visit");
        }
        assert_eq!(fixed, KEYS / 100, "a scan missed entries that were always there");
    }
}

fn run(seed: u64, pool_pages: usize, background: bool) {
    let options = StoreOptions { background, io_threads: 2, ..options(4096, pool_pages) };
    let fixture = Fixture::with(options);
    let tickets = AtomicU64::new(1);
    for n in (0..KEYS).filter(|n| is_fixed(*n)) {
        fixture.put(&key(n), &payload(tickets.fetch_add(1, Ordering::SeqCst), 1), 1);
    }
    let stop = AtomicBool::new(false);
    let mut done: Vec<Done> = Vec::new();
    std::thread::scope(|scope| {
        let (fixture, tickets, stop) = (&fixture, &tickets, &stop);
        let readers = [
            scope.spawn(move || walk(fixture, Direction::Forward, stop)),
            scope.spawn(move || walk(fixture, Direction::Reverse, stop)),
            scope.spawn(move || look_up(fixture, seed, stop)),
        ];
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(fixture, writer, seed, tickets))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::SeqCst);
        readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
        done.extend(written.into_iter().map(|written| written.expect("a writer")));
    });
    let found: BTreeMap<Vec<u8>, Entry> = scan(&fixture.tree, Direction::Forward).into_iter().collect();
    let live = found.values().filter(|entry| !entry.is_ghost()).count();
    let mut expected = 0;
    for n in 0..KEYS {
        // The ticket drawn last, under the leaf's latch, decides.
        let last = done.iter().filter_map(|done| done.get(&n)).max_by_key(|(ticket, _)| *ticket);
        let Some((ticket, left)) = last else {
            expected += usize::from(is_fixed(n));
            continue;
        };
        expected += usize::from(left.is_some());
        let found = found.get(&key(n)).filter(|entry| !entry.is_ghost()).map(|entry| &entry.payload);
        assert_eq!(found, left.as_ref(), "key {n} is not what change {ticket} left");
    }
    assert_eq!(live, expected);
    let report = fixture.tree.verify().expect("a sound tree");
    let stats = fixture.store.stats();
    println!(
        "{report:?}, {} restarts, {} and {} latch waits, {} top-ups, {} faults",
        stats.optimistic_restarts.get(),
        stats.shared_latch_waits.get(),
        stats.exclusive_latch_waits.get(),
        stats.reservation_top_ups.load(Ordering::Relaxed),
        stats.page_faults.get(),
    );
}

#[test]
fn writers_of_the_same_keys_and_readers_without_latches() {
    for seed in seeds(1) {
        run(seed, 4096, false);
    }
}

#[test]
fn writers_of_the_same_keys_while_pages_come_and_go() {
    for seed in seeds(1) {
        run(seed, 80, true);
    }
}

/// The changes of a writer until the power went, in order, and how many of them were durable.
#[derive(Default)]
struct Log {
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    durable: usize,
}

/// Changes keys of its own, which lie between those of the others, until it is done or the power goes.
fn write_durably(env: &SimulatedEnv, store: &Store, tree: &Tree, writer: u64, seed: u64) -> Log {
    let mut rng = SmallRng::seed_from_u64(seed * 1000 + writer);
    let mut log = Log::default();
    let mut own = Vec::new();
    let mut change = |log: &mut Log, number: u64| -> leafline_btree::Result<()> {
        let remove = number >= 60 && !own.is_empty() && rng.random_ratio(3, 4);
        let key = match remove {
            true => own.swap_remove(rng.random_range(0..own.len())),
            false => {
                let mut key = rng.random::<u16>().to_be_bytes().to_vec();
                key.extend_from_slice(&vec![b'k'; rng.random_range(0..100)]);
                key.push(writer as u8);
                own.push(key.clone());
                key
            }
        };
        let left = (!remove).then(|| payload(number, rng.random_range(1..100)));
        let len = left.as_ref().map_or(0, Vec::len);
        let pages = tree.worst_case_pages_for(1, key.len() + len);
        let mut reservation = store.reserve(pages, tree.worst_case_log(key.len(), len))?;
        log.changes.push((key.clone(), left.clone()));
        tree.modify(&mut reservation, &key, CommitTs(0), &mut |_| match &left {
            Some(payload) => {
                Change::Put { payload: payload.clone().into(), ts: CommitTs(1), has_previous: false }
            }
            None => Change::Remove,
        })?;
        drop(reservation);
        if number % 4 == 3 {
            store.wait_durable(store.log_end())?;
            log.durable = log.changes.len();
        }
        if number % 31 == 30 {
            store.checkpoint()?;
        }
        Ok(())
    };
    for number in 0..120 {
        if let Err(error) = change(&mut log, number) {
            assert!(env.is_off(), "only the power may stop a writer: {error}");
            break;
        }
    }
    log
}

/// The writers' logs, and the tree if it was made.
type Ran = (Vec<Log>, Option<(SegmentId, PageNo)>);

fn run_until_the_power_goes(env: &SimulatedEnv, seed: u64) -> Ran {
    let small = StoreOptions { log_capacity_bytes: 2 << 20, ..options(4096, 64) };
    let made = open(env, small).map_err(leafline_btree::BtreeError::from).and_then(|store| {
        let tree = create(&store)?;
        store.wait_durable(store.log_end())?;
        Ok((store, tree))
    });
    let Ok((store, tree)) = made else { return (Vec::new(), None) };
    let logs = std::thread::scope(|scope| {
        let (store, tree) = (&store, &tree);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write_durably(env, store, tree, writer, seed)))
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    });
    (logs, Some((tree.id(), tree.root())))
}

/// Returns whether `found` is the state after some prefix of the writer's changes that has all durable ones.
fn is_prefix(log: &Log, found: &BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    let mut state = BTreeMap::new();
    let mut matches = log.durable == 0 && found.is_empty();
    for (number, (key, left)) in log.changes.iter().enumerate() {
        match left {
            Some(payload) => state.insert(key.clone(), payload.clone()),
            None => state.remove(key),
        };
        matches |= number + 1 >= log.durable && state == *found;
    }
    matches
}

#[test]
fn a_power_cut_amid_many_writers_leaves_a_prefix_of_the_changes_of_each() {
    for seed in seeds(3) {
        let env = SimulatedEnv::new();
        let (logs, _) = run_until_the_power_goes(&env, seed);
        assert!(!env.is_off() && logs.iter().all(|log| log.changes.len() == 120));
        let changes = env.counts().changes();
        let mut rng = SmallRng::seed_from_u64(seed);
        for _ in 0..20 {
            let cut = rng.random_range(0..changes);
            let env = SimulatedEnv::new();
            env.power_cut_after(cut);
            let (logs, tree) = run_until_the_power_goes(&env, seed);
            env.reboot(seed ^ cut);
            let store = open(&env, options(4096, 64)).expect("recovery");
            let Some((segment, root)) = tree else { continue };
            let tree = Tree::open(&store, segment, root).expect("a tree");
            tree.verify().expect("a sound tree");
            let found = scan(&tree, Direction::Forward);
            for (writer, log) in logs.iter().enumerate() {
                let own = found.iter().filter(|(key, _)| key.last() == Some(&(writer as u8)));
                let own = own.map(|(key, entry)| (key.clone(), entry.payload.clone())).collect();
                assert!(is_prefix(log, &own), "seed {seed}, cut {cut}, writer {writer}: {own:?}");
            }
        }
    }
}
