//! Bits that flip on the medium: a check finds them, and a repair loses no more than the pages concerned.

use crate::catalog::TableDef;
use crate::catalog_change::CatalogChange;
use crate::check::{CheckDepth, CheckOptions, TableCheck};
use crate::engine::Engine;
use crate::error::TableError;
use crate::op::CounterChange;
use crate::repair::TableRepair;
use crate::testing::{
    self, Entry, create, keyed_spec, open, other_spec, prefix_spec, row, scan, transact, view,
};
use leafline_btree::{Direction, node::Node};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, OpenMode, PageKind, PageNo, SegmentId, page};
use leafline_types::statement::CancelReason;
use leafline_types::{CancelToken, Value};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: u64 = 4096;

/// The contents of a sound database.
struct Sound {
    env: SimulatedEnv,
    /// The used pages with their owners.
    pages: BTreeMap<PageNo, SegmentId>,
    /// The rows of each table, by clustered key.
    rows: BTreeMap<String, BTreeMap<Vec<u8>, Vec<Value>>>,
    /// The keys on each leaf.
    leaves: BTreeMap<PageNo, BTreeSet<Vec<u8>>>,
}

fn rows(engine: &Arc<Engine>, table: &Arc<TableDef>) -> Vec<Entry> {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    scan(&view(engine), table, 0, &columns, Direction::Forward).unwrap()
}

fn tables(engine: &Engine) -> Vec<Arc<TableDef>> {
    engine.catalog().all_tables().cloned().collect()
}

fn deep(engine: &Arc<Engine>, table: &Arc<TableDef>) -> TableCheck {
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 2, ..CheckOptions::default() };
    engine.maintenance().check_table_with(table, options, &|_| (), &CancelToken::new()).unwrap()
}

fn repair(engine: &Arc<Engine>, table: &Arc<TableDef>, check: &TableCheck, dry_run: bool) -> TableRepair {
    engine.maintenance().repair_table(table, check, dry_run, &mut |_| ()).unwrap()
}

/// Makes tables whose trees have at least two levels.
fn sound(rng: &mut SmallRng) -> Sound {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    for (spec, count) in
        [(keyed_spec(), 900), (other_spec(false), 400), (other_spec(true), 400), (prefix_spec(), 400)]
    {
        let table = create(&engine, &spec);
        let of = |n: i64| match spec.name.as_str() {
            "t" => row(&table, &[Some(n), Some(n * 3), Some(n % 50), Some(n % 7)]),
            _ => row(&table, &[Some(n), Some(n % 90), Some(n * 5)]),
        };
        let mut numbers: Vec<i64> = (0..count).collect();
        numbers.shuffle(rng);
        for batch in numbers.chunks(100) {
            transact(&engine, |transaction| {
                batch.iter().try_for_each(|n| transaction.insert(&table, &of(*n)).map(drop))
            })
            .unwrap();
        }
    }
    engine.close().unwrap();
    drop(engine);
    let engine = open(&env);
    let mut sound =
        Sound { env: env.clone(), pages: BTreeMap::new(), rows: BTreeMap::new(), leaves: BTreeMap::new() };
    for table in tables(&engine) {
        sound.rows.insert(table.name.clone(), rows(&engine, &table).into_iter().collect());
        assert!(deep(&engine, &table).is_sound());
        assert!(engine.tree(table.clustered()).unwrap().depth().unwrap() > 1);
    }
    for page in 0..3 {
        sound.pages.insert(PageNo(page), SegmentId::NONE);
    }
    // The tests of the change buffer cover damage to its pages.
    let buffered = engine.change_buffer.segments();
    for segment in engine.store.segments().iter().filter(|segment| !buffered.contains(&segment.id)) {
        for page in engine.store.segment_pages(segment.id).unwrap() {
            sound.pages.insert(page, segment.id);
            let guard = engine.store.shared(page).unwrap();
            if page::kind(&guard) == PageKind::LEAF {
                let leaf = Node::open(&guard).unwrap();
                let mut keys = BTreeSet::new();
                leaf.for_each_entry(0..leaf.slots(), |suffix, _| {
                    keys.insert([leaf.prefix(), suffix].concat());
                    Ok(())
                })
                .unwrap();
                sound.leaves.insert(page, keys);
            }
        }
    }
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new());
    engine.close().unwrap();
    // The file contains copies of the pages written last, which would replace damaged pages when the database
    // is opened.
    let copies = env.open("doublewrite", OpenMode::Existing).unwrap().size().unwrap();
    for block in (0..copies).step_by(PAGE as usize) {
        env.damage("doublewrite", block, &mut |bytes| bytes.fill(0)).unwrap();
    }
    sound
}

fn flip(env: &SimulatedEnv, page: PageNo, rng: &mut SmallRng) {
    let (at, bit) = (rng.random_range(0..PAGE), rng.random_range(0..8));
    env.damage("data", page.0 * PAGE + at, &mut |bytes| bytes[0] ^= 1 << bit).unwrap();
}

/// Checks that every answer is an error or right.
fn answers_are_right(engine: &Arc<Engine>, sound: &Sound) {
    for table in tables(engine) {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let expected: Vec<Entry> = sound.rows[&table.name].clone().into_iter().collect();
        if let Ok(found) = scan(&view(engine), &table, 0, &columns, Direction::Forward) {
            assert_eq!(found, expected);
        }
        for index in 1..table.indexes.len() {
            if let Ok(found) = scan(&view(engine), &table, index, &[], Direction::Reverse) {
                assert_eq!(found.len(), expected.len(), "index {index} of {}", table.name);
            }
        }
    }
}

/// Checks and repairs an engine with damaged pages.
fn check_and_repair(engine: &Arc<Engine>, sound: &Sound, damaged: &BTreeSet<PageNo>) {
    let in_file: BTreeSet<PageNo> =
        engine.store.check_space(2, &|_, _| ()).unwrap().iter().filter_map(|fault| fault.page).collect();
    assert_eq!(in_file, *damaged, "what a look at the file finds");
    answers_are_right(engine, sound);
    for table in tables(engine) {
        let trees: Vec<SegmentId> = table.indexes.iter().map(|index| index.tree).collect();
        let position = |page: &PageNo| trees.iter().position(|tree| sound.pages[page] == *tree);
        let of_table: BTreeSet<usize> = damaged.iter().filter_map(position).collect();
        let quick = CheckOptions { depth: CheckDepth::Quick, threads: 1, ..CheckOptions::default() };
        let check =
            engine.maintenance().check_table_with(&table, quick, &|_| (), &CancelToken::new()).unwrap();
        assert_eq!(check.is_sound(), of_table.is_empty());
        let check = deep(engine, &table);
        assert_eq!(check.damaged, of_table.iter().copied().collect::<Vec<_>>(), "{:?}", check.faults);
        // A damaged page below another one is not found, but one page of each tree is named.
        for index in &of_table {
            let named = |fault: &crate::check::TableFault| {
                fault.index.as_ref() == Some(&table.indexes[*index].name)
                    && fault.page.is_some_and(|page| damaged.contains(&page))
            };
            assert!(check.faults.iter().any(named), "{:?}", check.faults);
        }
        let lost: BTreeSet<&Vec<u8>> = damaged
            .iter()
            .filter(|page| sound.pages[page] == trees[0])
            .filter_map(|page| sound.leaves.get(page))
            .flatten()
            .collect();
        let segments = engine.store.segments();
        let plan = repair(engine, &table, &check, true);
        assert_eq!(engine.store.segments(), segments, "a dry run changes nothing");
        assert_eq!(plan.is_nothing(), of_table.is_empty());
        let done = repair(engine, &table, &check, false);
        assert_eq!(done, plan);
        assert_eq!(done.loses_rows(), !lost.is_empty(), "{done}");

        let table = engine.table("d", &table.name).unwrap();
        let check = deep(engine, &table);
        assert!(check.is_sound(), "{:?}", check.faults);
        let mut expected = sound.rows[&table.name].clone();
        expected.retain(|key, _| !lost.contains(key));
        assert_eq!(rows(engine, &table), expected.into_iter().collect::<Vec<_>>());
        if let Some(report) = &done.salvage {
            assert_eq!(report.rows + lost.len() as u64, sound.rows[&table.name].len() as u64);
            assert_eq!(report.lost.is_empty(), lost.is_empty(), "{report:?}");
        }
        assert_eq!(engine.store.segments().len(), segments.len(), "old trees are freed");
    }
}

#[test]
fn a_check_finds_flipped_bits_and_a_repair_loses_only_what_they_were_in() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let sound = sound(&mut rng);
    let pages: Vec<PageNo> = sound.pages.keys().copied().collect();
    let mut opened = 0;
    for round in 0..60 * testing::scale() {
        let env = sound.env.snapshot();
        let damaged: BTreeSet<PageNo> =
            (0..rng.random_range(1..5)).map(|_| *pages.choose(&mut rng).unwrap()).collect();
        damaged.iter().for_each(|page| flip(&env, *page, &mut rng));
        println!("round {round}: pages {damaged:?}");
        let catalog = sound.pages.values().find(|id| **id != SegmentId::NONE).copied();
        let essential =
            |page: &PageNo| sound.pages[page] == SegmentId::NONE || Some(sound.pages[page]) == catalog;
        let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, testing::options());
        if damaged.iter().any(essential) {
            let error = engine.expect_err("nothing can be found without it").to_string();
            assert!(error.contains("damaged") || error.contains("checksum"), "{error}");
            continue;
        }
        let engine = engine.unwrap();
        opened += 1;
        check_and_repair(&engine, &sound, &damaged);
        engine.close().unwrap();
        drop(engine);
        let engine = open(&env);
        for table in tables(&engine) {
            assert!(deep(&engine, &table).is_sound());
        }
        assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new());
    }
    assert!(opened > 0);
}

#[test]
fn every_page_kind_of_every_index_is_repaired() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let sound = sound(&mut rng);
    let engine = open(&sound.env.snapshot());
    for table in tables(&engine) {
        for index in &table.indexes {
            let owned = |page: &&PageNo| sound.pages[page] == index.tree;
            let (leaves, branches): (Vec<&PageNo>, Vec<&PageNo>) =
                sound.pages.keys().filter(owned).partition(|page| sound.leaves.contains_key(page));
            for page in [leaves[0], leaves[leaves.len() - 1], branches[0]] {
                let env = sound.env.snapshot();
                flip(&env, *page, &mut rng);
                let engine = open(&env);
                check_and_repair(&engine, &sound, &BTreeSet::from([*page]));
            }
        }
    }
}

#[test]
fn a_lost_write_of_a_split_leaf_costs_what_the_leaf_held_since() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let insert = |engine: &Arc<Engine>, numbers: std::ops::Range<i64>| {
        transact(engine, |transaction| {
            numbers.into_iter().try_for_each(|n| {
                transaction.insert(&table, &row(&table, &[Some(n * 2), Some(n), None, Some(1)])).map(drop)
            })
        })
        .unwrap();
    };
    insert(&engine, 0..400);
    engine.store.checkpoint().unwrap();
    let leaf = engine.tree(table.clustered()).unwrap().leaf_of(&[]).unwrap();
    let block = |env: &SimulatedEnv, change: &mut dyn FnMut(&mut [u8])| {
        env.damage("data", leaf.0 * PAGE, change).unwrap();
    };
    let mut image = Vec::new();
    block(&env, &mut |bytes| image = bytes.to_vec());
    // Odd numbers between the even ones split the leaf.
    transact(&engine, |transaction| {
        (0..100).try_for_each(|n| {
            transaction.insert(&table, &row(&table, &[Some(n * 2 + 1), None, None, Some(1)])).map(drop)
        })
    })
    .unwrap();
    engine.close().unwrap();
    drop(engine);
    block(&env, &mut |bytes| bytes.copy_from_slice(&image));

    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    let check = deep(&engine, &table);
    assert_eq!(check.damaged, [0], "{:?}", check.faults);
    let done = repair(&engine, &table, &check, false);
    let report = done.salvage.unwrap();
    assert_eq!(report.lost, []);
    let table = engine.table("d", "t").unwrap();
    assert!(deep(&engine, &table).is_sound());
    // The rows from before the split exist, and all that went to other leaves.
    let numbers: Vec<i64> = rows(&engine, &table)
        .iter()
        .filter_map(|(_, values)| values[0].as_integer().map(|n| n as i64))
        .collect();
    assert_eq!(numbers.iter().filter(|n| **n % 2 == 0).count(), 400);
    assert!(numbers.iter().any(|n| *n % 2 == 1) && (numbers.len() as u64) < 500);
    assert_eq!(done.recounted, Some(numbers.len() as u64));
}

#[test]
fn a_wrong_number_of_rows_is_put_right() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    transact(&engine, |transaction| {
        (0..20).try_for_each(|n| {
            transaction.insert(&table, &row(&table, &[Some(n), Some(n), None, Some(1)])).map(drop)
        })
    })
    .unwrap();
    let counters = CounterChange { table: table.id, rows: 5, ..CounterChange::default() };
    let change =
        CatalogChange { put_tables: vec![(*table).clone()], counters: vec![counters], ..Default::default() };
    crate::ddl::change_catalog(&engine, change).unwrap();
    let table = engine.table("d", "t").unwrap();
    let check = deep(&engine, &table);
    assert!(check.miscounted && check.damaged.is_empty(), "{check:?}");
    let done = repair(&engine, &table, &check, false);
    assert_eq!((done.counted, done.recounted), (25, Some(20)));
    let table = engine.table("d", "t").unwrap();
    assert!(deep(&engine, &table).is_sound());
}

#[test]
fn a_check_ends_soon_after_it_is_cancelled() {
    let engine = open(&SimulatedEnv::new());
    let table = create(&engine, &keyed_spec());
    transact(&engine, |transaction| {
        (0..5000).try_for_each(|id| {
            transaction
                .insert(&table, &row(&table, &[Some(id), Some(id), Some(id % 700), Some(id)]))
                .map(drop)
        })
    })
    .unwrap();
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 1, ..CheckOptions::default() };
    let pages = AtomicU64::new(0);
    let check = |at: u64| {
        pages.store(0, Ordering::Relaxed);
        let cancel = CancelToken::new();
        let progress = |more| {
            if pages.fetch_add(more, Ordering::Relaxed) + more >= at {
                cancel.cancel(CancelReason::QueryKilled);
            }
        };
        engine.maintenance().check_table_with(&table, options, &progress, &cancel)
    };
    assert!(check(u64::MAX).unwrap().is_sound());
    let all = pages.load(Ordering::Relaxed);
    assert!(all > 150, "{all} pages");
    for at in (0..all).step_by(7) {
        match check(at) {
            Err(TableError::Sql(error)) => assert_eq!(error.code, 1317),
            other => panic!("cancelled at page {at} of {all}: {other:?}"),
        }
        // Each of four trees, on each of a few levels.
        let after = pages.load(Ordering::Relaxed) - at;
        assert!(after < 20, "cancelled at page {at}: {after} more");
    }
}
