//! Tests of the version store alone: every snapshot finds the right versions, wherever they are.

use super::*;
use crate::testing::seed;
use leafline_storage::device::SimulatedEnv;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

const TABLE: TableId = TableId(7);

struct Fixture {
    env: SimulatedEnv,
    memory: Arc<HistoryMemory>,
    store: VersionStore,
}

fn fixture() -> Fixture {
    let env = SimulatedEnv::new();
    let memory = Arc::new(HistoryMemory::new(None, 1 << 16));
    let store = VersionStore::new(&(Arc::new(env.clone()) as Arc<dyn Env>), &memory);
    Fixture { env, memory, store }
}

fn snapshot(high: u64) -> Snapshot {
    Snapshot { low: CommitTs(high), high: CommitTs(high), exceptions: [].into() }
}

/// Searches memory, and the runs if [`Found::Spilled`] requires it.
fn find(store: &VersionStore, table: TableId, key: &[u8], snapshot: &Snapshot) -> Found {
    match store.find(table, key, snapshot) {
        Found::Spilled => store.find_spilled(table, key, snapshot).unwrap(),
        found => found,
    }
}

fn save(store: &VersionStore, begin: u64, end: u64, first: bool, payload: Option<&[u8]>) {
    let (begin, end) = (CommitTs(begin), CommitTs(end));
    store.save(&Version { table: TABLE, key: b"k", begin, end, first, payload });
}

fn files(env: &SimulatedEnv) -> usize {
    env.list("temp").map_or(0, |files| files.len())
}

#[test]
fn the_version_that_was_valid_at_the_snapshot_is_found() {
    let Fixture { store, .. } = fixture();
    save(&store, 10, 20, true, Some(b"a"));
    save(&store, 20, 30, false, None);
    save(&store, 30, 40, false, Some(b"c"));
    for moved in [false, true] {
        if moved {
            store.spill(&Needed { low: CommitTs(0), snapshots: Vec::new() }).unwrap();
            assert_eq!(store.counts().in_memory, (0, 0));
            assert_eq!((store.counts().runs, store.counts().in_runs.0), (1, 3));
        }
        let found = |high| find(&store, TABLE, b"k", &snapshot(high));
        assert_eq!(found(10), Found::Absent);
        assert_eq!(found(11), Found::Row(b"a"[..].into()));
        assert_eq!(found(21), Found::Absent);
        assert_eq!(found(31), Found::Row(b"c"[..].into()));
        assert_eq!(find(&store, TABLE, b"x", &snapshot(31)), Found::Missing);
        assert_eq!(find(&store, TableId(8), b"k", &snapshot(31)), Found::Missing);
    }
}

#[test]
fn a_row_that_was_deleted_and_forgotten_is_not_found_again() {
    let Fixture { store, .. } = fixture();
    save(&store, 10, 20, true, Some(b"a"));
    // Deleted at 20, the ghost removed, inserted at 40, updated at 50.
    save(&store, 40, 50, true, Some(b"b"));
    assert_eq!(store.find(TABLE, b"k", &snapshot(30)), Found::Absent);
}

#[test]
fn a_chain_with_a_hole_is_noticed() {
    let Fixture { store, .. } = fixture();
    save(&store, 30, 40, false, Some(b"c"));
    assert_eq!(store.find(TABLE, b"k", &snapshot(20)), Found::Missing);
    save(&store, 50, 60, false, Some(b"e"));
    assert_eq!(store.find(TABLE, b"k", &snapshot(45)), Found::Missing);
}

#[test]
fn saving_twice_keeps_one() {
    let Fixture { store, .. } = fixture();
    save(&store, 10, 20, true, Some(b"a"));
    save(&store, 10, 20, true, Some(b"a"));
    assert_eq!(store.counts().in_memory.0, 1);
}

#[test]
fn memory_is_counted_to_the_byte_though_versions_are_saved_twice() {
    let Fixture { store, memory, .. } = fixture();
    for number in 0..2000_u32 {
        for _ in 0..2 {
            let (key, begin, end) = (&number.to_be_bytes(), CommitTs(1), CommitTs(2));
            store.save(&Version { table: TABLE, key, begin, end, first: true, payload: None });
        }
    }
    assert!(memory.used() > 0);
    store.reclaim(CommitTs(3));
    assert_eq!((store.counts(), memory.used()), (VersionCounts::default(), 0));
}

#[test]
fn only_what_a_snapshot_can_ask_for_is_kept() {
    let Fixture { store, memory, env } = fixture();
    for ts in 1..=10 {
        save(&store, ts * 10, ts * 10 + 10, false, Some(b"v"));
    }
    let needed = Needed { low: CommitTs(105), snapshots: vec![snapshot(35)] };
    store.compact(&needed, true);
    assert_eq!(store.counts().in_memory.0, 2, "[30, 40) for the snapshot, [100, 110) for the next one");
    assert_eq!(store.find(TABLE, b"k", &snapshot(35)), Found::Row(b"v"[..].into()));
    assert_eq!(memory.used(), store.counts().in_memory.1);
    store.spill(&needed).unwrap();
    assert_eq!((store.counts().in_memory, store.counts().in_runs.0), ((0, 0), 2));
    assert!(memory.used() > 0, "the index of a run counts");
    assert_eq!(files(&env), 1);
    store.reclaim(CommitTs(110));
    assert_eq!(files(&env), 1, "replaced at 110, which is not before 110");
    store.reclaim(CommitTs(111));
    assert_eq!((store.counts(), memory.used(), files(&env)), (VersionCounts::default(), 0, 0));
    assert!(store.is_empty());
}

#[test]
fn a_full_disk_leaves_everything_in_memory() {
    let Fixture { store, env, .. } = fixture();
    save(&store, 10, 20, true, Some(b"a"));
    env.set_space_limit(Some(env.space_used()));
    assert!(store.spill(&Needed { low: CommitTs(0), snapshots: Vec::new() }).is_err());
    assert_eq!(store.counts().in_memory.0, 1);
    assert_eq!(store.find(TABLE, b"k", &snapshot(15)), Found::Row(b"a"[..].into()));
    assert_eq!(files(&env), 0);
}

/// Rows with all the versions they ever had. Moving, merging and freeing at random must never change what snapshots
/// find.
#[test]
fn snapshots_find_their_versions_wherever_they_are() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let Fixture { store, memory, env } = fixture();
    type History = Vec<(u64, Option<Vec<u8>>)>;
    let mut rows: BTreeMap<(u64, Vec<u8>), History> = BTreeMap::new();
    let mut snapshots: Vec<u64> = Vec::new();
    for ts in 1..4000 {
        let key = vec![b'k'; random.random_range(1..12)];
        let table = random.random_range(1..4);
        let history = rows.entry((table, key.clone())).or_default();
        let payload = (random.random_range(0..5) > 0).then(|| vec![ts as u8; random.random_range(0..90)]);
        if let Some((begin, replaced)) = history.last() {
            let (begin, first) = (CommitTs(*begin), history.len() == 1);
            let (table, payload) = (TableId(table), replaced.as_deref());
            store.save(&Version { table, key: &key, begin, end: CommitTs(ts), first, payload });
        }
        history.push((ts, payload));
        let next = ts + 1;
        match random.random_range(0..60) {
            0..=3 => snapshots.push(next),
            4..=6 if !snapshots.is_empty() => {
                snapshots.swap_remove(random.random_range(0..snapshots.len()));
            }
            kind => {
                let needed = Needed {
                    low: CommitTs(next),
                    snapshots: snapshots.iter().map(|&high| snapshot(high)).collect(),
                };
                let bound = snapshots.iter().min().copied().unwrap_or(next);
                match kind {
                    10 => store.spill(&needed).unwrap(),
                    11 | 12 => store.compact(&needed, random.random()),
                    13 => store.merge_runs(&needed).unwrap(),
                    14..=16 => store.reclaim(CommitTs(bound)),
                    _ => {}
                }
            }
        }
        if random.random_range(0..20) == 0 {
            for &high in &snapshots {
                let ((table, key), history) =
                    rows.iter().nth(random.random_range(0..rows.len())).expect("there are rows");
                if history.last().is_some_and(|(newest, _)| *newest < high) {
                    continue;
                }
                let expected = match history.iter().rev().find(|(begin, _)| *begin < high) {
                    Some((_, Some(payload))) => Found::Row(payload.as_slice().into()),
                    // A row with a single version has nothing saved; its page says that there is no version before.
                    None if history.len() == 1 => continue,
                    _ => Found::Absent,
                };
                let found = find(&store, TableId(*table), key, &snapshot(high));
                assert_eq!(found, expected, "seed {seed}, {key:?} at {high}");
            }
        }
    }
    let counts = store.counts();
    assert!(counts.runs > 0 && counts.runs < 40, "seed {seed}: {counts:?}");
    store.reclaim(CommitTs(4000));
    assert_eq!((store.counts(), memory.used(), files(&env)), (VersionCounts::default(), 0, 0), "seed {seed}");
}
