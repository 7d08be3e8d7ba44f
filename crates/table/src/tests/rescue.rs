//! Damage to pages that a database cannot be opened without: space maps, segment directory, catalog,
//! superblock. The contents written to a new database are right, and include every row that is on an intact
//! page and whose table is known.

use super::interleaved::*;
use super::quarantine::{Crashed, NAMES, crash};
use crate::engine::Engine;
use crate::error::TableError;
use crate::repair::Rescue;
use crate::testing::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, PageNo, SegmentId};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Seeds that failed once.
const FAILED_ONCE: [u64; 5] = [
    12179742068403708843,
    9943520257277759862,
    15528436479528437217,
    63748414625391712,
    15812311205346731743,
];

const SUPERBLOCK: PageNo = PageNo(0);
const MAP: PageNo = PageNo(1);
const DIRECTORY: PageNo = PageNo(2);

/// The clustered trees of the tables.
fn trees(crashed: &Crashed) -> [SegmentId; 3] {
    let engine = open_with(&crashed.env.snapshot(), &options()).unwrap();
    NAMES.map(|name| engine.table("d", name).unwrap().clustered().tree)
}

fn compare(
    engine: &Arc<Engine>,
    rescue: &Rescue,
    crashed: &Crashed,
    damaged: &BTreeSet<PageNo>,
    trees: &[SegmentId; 3],
    what: &str,
) {
    let found = super::crash::read_state(engine, what);
    for (number, name) in NAMES.iter().enumerate() {
        let expected = &crashed.state[number];
        let Some(table) = found.get(*name) else {
            assert!(crashed.catalog.iter().any(|page| damaged.contains(page)), "{what}: {name} is lost");
            assert!(!rescue.lost.is_empty(), "{what}: {name} is lost, and nobody says so");
            continue;
        };
        // Below a damaged branch, without a space map, leaves that may be old count only if none is missing.
        let is_branch = |page: &&PageNo| {
            crashed.pages.get(page) == Some(&trees[number]) && !crashed.leaves.contains_key(page)
        };
        let unsure =
            damaged.contains(&MAP) && damaged.iter().any(|page| is_branch(&page)) && damaged.len() > 2;
        for (key, row) in &table.rows {
            assert!(expected.get(key) == Some(row), "{what}: {name} has a wrong row: {row:?}");
        }
        let missing = expected.keys().filter(|key| !table.rows.contains_key(*key));
        for key in missing.filter(|_| !unsure) {
            assert!(
                crashed.is_on(key, damaged, trees[number]),
                "{what}: {name} has lost {key:02x?}, on an intact page"
            );
            let in_doubt = crashed.pending.iter().any(|op| op.tree() == trees[number] && op.key() == key);
            assert!(!in_doubt, "{what}: {name} has lost a commit in doubt");
        }
        let report = rescue.tables.iter().find(|repair| repair.table == format!("d.{name}")).unwrap();
        if table.rows.len() < expected.len() {
            assert!(report.loses_rows(), "{what}: {report}");
        }
    }
}

fn run(seed: u64, saved: &mut [u64; 3]) {
    let _reporter = Seed(seed);
    let mut random = SmallRng::seed_from_u64(seed);
    let options = random_options(&mut random);
    let crashed = crash(SimulatedEnv::new(), &options, &mut random, &format!("seed {seed}"));
    let trees = trees(&crashed);
    let env = crashed.env.clone();
    let pages: Vec<PageNo> = crashed.pages.keys().copied().collect();
    let mut damaged = BTreeSet::new();
    for _ in 0..random.random_range(1..3) {
        damaged.insert(match random.random_range(0..7) {
            0 => SUPERBLOCK,
            1..=2 => MAP,
            3..=4 => DIRECTORY,
            _ => *crashed.catalog.choose(&mut random).unwrap(),
        });
    }
    for _ in 0..random.random_range(0..3) {
        damaged.insert(*pages.choose(&mut random).unwrap());
    }
    damaged.iter().for_each(|page| flip(&env, *page, &mut random));
    let what = format!("seed {seed}, pages {damaged:?}");
    match open_with(&env, &options) {
        // The log may make them anew.
        Ok(_) => {}
        Err(error) => assert!(matches!(error, TableError::NotOpened(_)), "{what}: {error}"),
    }
    env.reboot(random.random());
    let new = SimulatedEnv::new();
    let engine = open_with(&new, &options).unwrap();
    let from = Arc::new(env.clone()) as Arc<dyn Env>;
    match engine.maintenance().rescue(&from, &options, &mut |_| ()) {
        Ok(rescue) => {
            compare(&engine, &rescue, &crashed, &damaged, &trees, &what);
            saved[0] += 1;
            saved[1] += u64::from(rescue.lost.is_empty());
            saved[2] += u64::from(rescue.tables.iter().any(|table| table.loses_rows()));
        }
        Err(error) => {
            assert!(crashed.catalog.iter().any(|page| damaged.contains(page)), "{what}: {error}");
            assert!(matches!(error, TableError::Corrupt(_)), "{what}: {error}");
        }
    }
}

#[test]
fn a_rescued_database_is_right_and_has_the_rows_of_all_intact_pages() {
    let (first, mut saved) = (seed(), [0; 3]);
    for seed in FAILED_ONCE.into_iter().chain((0..60 * scale()).map(|n| first.wrapping_add(n))) {
        run(seed, &mut saved);
    }
    println!("{saved:?}");
    assert!(saved.iter().all(|count| *count > 0), "seed {first}: {saved:?}");
}

/// A leaf that was merged into its neighbour is free and keeps its old contents. Without the space map
/// nothing shows that it is free.
#[test]
fn rows_of_leaves_that_are_free_do_not_come_back() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let keys: Vec<Vec<u8>> = (0..4000)
        .collect::<Vec<i64>>()
        .chunks(200)
        .flat_map(|numbers| {
            let mut keys = Vec::new();
            transact(&engine, |transaction| {
                numbers.iter().try_for_each(|n| {
                    let row = row(&table, &[Some(*n), Some(*n), None, Some(1)]);
                    transaction.insert(&table, &row).map(|inserted| keys.push(inserted.locator))
                })
            })
            .unwrap();
            keys
        })
        .collect();
    engine.store.checkpoint().unwrap();
    let gone = &keys[1000..3000];
    for keys in gone.chunks(200) {
        transact(&engine, |transaction| {
            keys.iter().try_for_each(|key| transaction.delete_key(&table, key).map(drop))
        })
        .unwrap();
        engine.maintenance().purge().unwrap();
    }
    let tree = engine.tree(table.clustered()).unwrap();
    // The remains of the leaves in the middle.
    let damaged: BTreeSet<PageNo> = gone.iter().map(|key| tree.leaf_of(key).unwrap()).collect();
    assert!(damaged.len() < 10, "they were merged: {damaged:?}");
    drop(tree);
    engine.close().unwrap();
    drop(engine);
    let mut random = SmallRng::seed_from_u64(1);
    damaged.iter().chain([&MAP]).for_each(|page| flip(&env, *page, &mut random));
    let engine = open_with(&SimulatedEnv::new(), &options()).unwrap();
    let from = Arc::new(env) as Arc<dyn Env>;
    let rescue = engine.maintenance().rescue(&from, &options(), &mut |_| ()).unwrap();
    assert!(rescue.loses() && rescue.lost.is_empty(), "{rescue:?}");
    let found = super::crash::read_state(&engine, "");
    let found: Vec<&Vec<u8>> = found["t"].rows.keys().collect();
    assert!(gone.iter().all(|key| !found.contains(&key)), "rows that were deleted are back");
    assert!(found.len() > 1500, "{} rows", found.len());
}
