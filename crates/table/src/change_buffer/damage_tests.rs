//! Damage to each kind of page of the buffer's trees, found at each moment. Changes that can be read are merged, an
//! index that lacks changes is quarantined, and everything else goes on.
//!
//! L0, the frozen tree and the run have three levels each, and changes of one index. A page of one of them is damaged
//! before the database is opened, or while it is open. A reader, a writer, or a merge finds the damage first.

use super::*;
use crate::catalog::{IndexSpecKind, TableDef};
use crate::testing::*;
use crate::{CheckDepth, CheckOptions, Direction, Engine, EngineOptions, Isolation, TxnMode};
use leafline_btree::node::Node;
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{CancelToken, SqlType, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

const ROWS: usize = 3500;

/// The finder of the damage.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Moment {
    Opening,
    Reading,
    Writing,
    Tending,
    Merging,
    Sweeping,
}

use Moment::*;
const MOMENTS: [Moment; 6] = [Opening, Reading, Writing, Tending, Merging, Sweeping];

fn buffered_options() -> EngineOptions {
    EngineOptions { change_buffer_bytes: Some(64 << 20), ..buffering_options() }
}

fn open_it(env: &SimulatedEnv) -> (Arc<Engine>, Arc<TableDef>) {
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, buffered_options()).unwrap();
    let table = engine.table("d", "t").unwrap();
    (engine, table)
}

/// Values whose separators are so long that few pages make three levels.
fn text(random: &mut SmallRng) -> String {
    let number: u32 = random.random_range(0..10_000_000);
    format!("{}{}{number:08}", number % 7, "x".repeat(80))
}

/// The contents of the table, and its changes.
#[derive(Clone)]
struct Rows {
    random: SmallRng,
    of: Vec<String>,
}

impl Rows {
    fn values(&self, id: usize) -> Vec<Value> {
        vec![Value::Int(id as i64), Value::string(self.of[id].clone())]
    }

    fn expected(&self) -> Vec<Vec<Value>> {
        let mut expected: Vec<_> = (0..self.of.len()).map(|id| self.values(id)).collect();
        expected.sort_by_key(|values| format!("{:?} {:?}", values[1], values[0]));
        expected
    }

    /// Gives some rows other values in a transaction; they keep their values if it fails.
    fn change(&mut self, engine: &Arc<Engine>, table: &Arc<TableDef>, ids: &[usize]) -> Result<()> {
        let mut after = self.clone();
        let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        transaction.begin_statement();
        for id in ids {
            let old = self.values(*id);
            after.of[*id] = text(&mut after.random);
            let mut key = Vec::new();
            table.clustered().format.encode_key(&old, &[], &mut key).unwrap();
            transaction.update(table, &key, &old, &after.values(*id))?;
        }
        transaction.commit()?;
        *self = after;
        Ok(())
    }

    fn change_many(&mut self, engine: &Arc<Engine>, table: &Arc<TableDef>) {
        let ids: Vec<usize> = (0..ROWS).filter(|id| id % 2 == 0).collect();
        ids.chunks(250).for_each(|ids| self.change(engine, table, ids).unwrap());
    }

    /// Checks that an index contains the rows, or, if it may fail, that it returns an error of damage.
    fn are_in(&self, engine: &Arc<Engine>, table: &Arc<TableDef>, index: usize, may_fail: bool, what: &str) {
        match scan(&view(engine), table, index, &[0, 1], Direction::Forward) {
            Ok(found) => {
                let mut found: Vec<_> = found.into_iter().map(|(_, values)| values).collect();
                found.sort_by_key(|values| format!("{:?} {:?}", values[1], values[0]));
                assert!(found == self.expected(), "{what}: index {index}");
            }
            Err(error) => assert!(may_fail && error.is_damage(), "{what}: index {index}: {error}"),
        }
    }
}

/// A database with changes in L0, in the frozen tree and in the run; or in the run alone.
fn filled(run_alone: bool) -> (SimulatedEnv, Rows) {
    let env = SimulatedEnv::new();
    let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, buffered_options()).unwrap();
    let columns = vec![column("id", int(), false), column("s", SqlType::Varchar { len: 100 }, false)];
    let indexes = vec![index(IndexSpecKind::Primary, "", &["id"]), index(IndexSpecKind::Plain, "s", &["s"])];
    let table = create(&engine, &spec("t", columns, indexes));
    let mut random = SmallRng::seed_from_u64(7);
    let of = (0..ROWS).map(|_| text(&mut random)).collect();
    let mut rows = Rows { random, of };
    for first in (0..ROWS).step_by(250) {
        transact(&engine, |transaction| {
            (first..first + 250).try_for_each(|id| transaction.insert(&table, &rows.values(id)).map(drop))
        })
        .unwrap();
    }
    let buffer = &engine.change_buffer;
    buffer.freeze_changes(&**engine.core(), &mut buffer.sweep.lock()).unwrap();
    if !run_alone {
        rows.change_many(&engine, &table);
        buffer.freeze_l0().unwrap();
        // The frozen tree stays frozen.
        buffer.sweep.lock().rest_for(Duration::from_secs(3600));
        rows.change_many(&engine, &table);
    }
    engine.close().unwrap();
    (env, rows)
}

/// The pages of a tree, one of each kind.
fn kinds(engine: &Engine, tree: SegmentId) -> Vec<(&'static str, PageNo)> {
    let mut levels: BTreeMap<u8, Vec<(Vec<u8>, PageNo)>> = BTreeMap::new();
    for page in engine.store.segment_pages(tree).unwrap() {
        let guard = engine.store.shared(page).unwrap();
        let node = Node::open(&guard).unwrap();
        levels.entry(node.level()).or_default().push((node.lower_fence().to_vec(), page));
    }
    levels.values_mut().for_each(|pages| pages.sort());
    let (top, root) = levels.pop_last().unwrap();
    let mut kinds = vec![("the root", root[0].1)];
    for (level, pages) in &levels {
        let names = match level {
            0 => ["the first leaf", "a leaf", "the last leaf"],
            _ => ["the first inner page", "an inner page", "the last inner page"],
        };
        let places = [0, pages.len() / 2, pages.len() - 1];
        kinds.extend(names.into_iter().zip(places).map(|(name, place)| (name, pages[place].1)));
    }
    assert!(top == 0 || kinds.len() == 7, "{top} levels");
    kinds
}

/// Merges everything. Checks that nothing is left then, that the index is whole or quarantined, that writers go on,
/// and that after a repair everything is there.
fn goes_on(
    env: &SimulatedEnv,
    (engine, table): (Arc<Engine>, Arc<TableDef>),
    rows: &mut Rows,
    aside: bool,
    what: &str,
) {
    engine.maintenance().merge_changes().unwrap_or_else(|error| panic!("{what}: {error}"));
    let stats = engine.maintenance().change_buffer_stats();
    assert_eq!((stats.l0_bytes, stats.run_bytes), (0, 0), "{what}");
    let is_aside =
        |engine: &Engine, table: &TableDef| [0, 1].map(|at| engine.is_quarantined(&table.indexes[at]));
    assert_eq!(is_aside(&engine, &table), [false, aside], "{what}");
    rows.are_in(&engine, &table, 0, false, what);
    rows.are_in(&engine, &table, 1, aside, what);
    if !aside {
        rows.change(&engine, &table, &[5, 6]).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    engine.close().unwrap();
    drop((engine, table));
    let (engine, table) = open_it(env);
    assert_eq!(is_aside(&engine, &table), [false, aside], "{what}");
    let options = CheckOptions { depth: CheckDepth::Extended, threads: 1, ..CheckOptions::default() };
    let check = engine.maintenance().check_table_with(&table, options, &|_| (), &CancelToken::new()).unwrap();
    engine.maintenance().repair_table(&table, &check, false, &mut |_| ()).unwrap();
    let table = engine.table("d", "t").unwrap();
    let buffered = engine.maintenance().change_buffer_stats().buffered;
    rows.change(&engine, &table, &[7, 8]).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(engine.maintenance().change_buffer_stats().buffered > buffered, "{what}");
    rows.are_in(&engine, &table, 1, false, what);
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "{what}");
    engine.maintenance().merge_changes().unwrap();
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
}

/// Damages the page at a moment, in a copy of the database. `aside` says that the index then lacks changes.
fn damage((env, rows): &(SimulatedEnv, Rows), page: PageNo, moment: Moment, aside: bool, what: &str) {
    let (env, mut rows) = (env.snapshot(), rows.clone());
    let what = format!("{what}, {moment:?}");
    let mut random = SmallRng::seed_from_u64(page.0);
    if moment == Opening {
        flip(&env, page, &mut random);
        goes_on(&env, open_it(&env), &mut rows, true, &what);
        return;
    }
    let (engine, table) = open_it(&env);
    assert!(engine.store.evict_all(page).unwrap(), "{what}");
    flip(&env, page, &mut random);
    match moment {
        Reading => rows.are_in(&engine, &table, 1, true, &what),
        Writing => {
            // The finder reports the damage, so that others go on.
            let failed = (0..40).filter(|id| match rows.change(&engine, &table, &[id * 80]) {
                Ok(()) => false,
                Err(error) => {
                    assert!(error.is_damage(), "{what}: {error}");
                    true
                }
            });
            assert!(failed.count() <= if aside { 40 } else { 1 }, "{what}");
        }
        Tending => {
            while engine
                .change_buffer
                .tend(&**engine.core())
                .unwrap_or_else(|error| panic!("{what}: {error}"))
            {}
        }
        Opening | Merging | Sweeping => {}
    }
    goes_on(&env, (engine, table), &mut rows, aside, &what);
}

#[test]
fn a_damaged_page_of_any_kind_is_given_up_by_who_comes_upon_it() {
    let filled = filled(false);
    let pages: Vec<_> = {
        let (engine, _) = open_it(&filled.0.snapshot());
        let sources = engine.change_buffer.sources.read().clone();
        let named = [("L0", sources.l0), ("what is frozen", sources.frozen), ("the run", sources.run)];
        let mut pages = Vec::new();
        for (name, tree) in named {
            let kinds = kinds(&engine, tree.unwrap().id());
            pages.extend(kinds.into_iter().map(|(kind, page)| (format!("{kind} of {name}"), page)));
        }
        pages
    };
    for (what, page) in pages {
        for moment in MOMENTS.into_iter().filter(|moment| *moment != Sweeping) {
            damage(&filled, page, moment, true, &what);
        }
    }
}

#[test]
fn nothing_is_lost_with_an_empty_tree_that_cannot_be_read() {
    let filled = filled(true);
    let page = {
        let (engine, _) = open_it(&filled.0.snapshot());
        let l0 = engine.change_buffer.l0().unwrap();
        kinds(&engine, l0.id())[0].1
    };
    for moment in MOMENTS {
        damage(&filled, page, moment, moment == Opening, "an empty L0");
    }
}

/// Damage to the run or to L0 that a sweep finds, while both contain changes.
#[test]
fn sweeps_give_up_what_is_damaged_under_them() {
    let filled = filled(true);
    for (of_run, empty) in [(true, false), (false, false), (false, true)] {
        for place in 0..7 {
            let (env, mut rows) = (filled.0.snapshot(), filled.1.clone());
            let (engine, table) = open_it(&env);
            if !empty {
                rows.change_many(&engine, &table);
            }
            let buffer = &engine.change_buffer;
            assert!(!buffer.sweep_some(&**engine.core(), &mut buffer.sweep.lock(), 4).unwrap());
            let source = {
                let sources = buffer.sources.read();
                if of_run { sources.run.clone() } else { sources.l0.clone() }
            };
            let kinds = kinds(&engine, source.unwrap().id());
            let Some((kind, page)) = kinds.get(place) else { break };
            let what = format!("{kind}, {of_run} {empty}");
            assert!(engine.store.evict_all(*page).unwrap(), "{what}");
            flip(&env, *page, &mut SmallRng::seed_from_u64(place as u64));
            while !buffer
                .sweep_some(&**engine.core(), &mut buffer.sweep.lock(), 4)
                .unwrap_or_else(|error| panic!("{what}: {error}"))
            {}
            // The sweep has passed the first leaf of the run by then.
            let aside = !(empty || of_run && *kind == "the first leaf");
            goes_on(&env, (engine, table), &mut rows, aside, &what);
        }
    }
}
