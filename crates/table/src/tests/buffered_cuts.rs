//! Power cuts while changes are buffered, frozen, swept and read, in a partitioned table and in one that is
//! exchanged with a partition. Meanwhile indexes are built and dropped while others write, partitions are
//! emptied, and tables are dropped. After the database is opened again, the rows are those after the last
//! acknowledged step or the one that was running, every index agrees with them, and nothing is left of
//! dropped objects.

use crate::alter::Alteration;
use crate::build::BuildControl;
use crate::catalog::{
    IndexSpecKind, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec, TableSpec,
    locator_in_partition,
};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::options::{ChangeBuffering, EngineOptions};
use crate::partition::PartitionChange;
use crate::testing::*;
use crate::{Direction, Isolation, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError, StoreOptions};
use leafline_types::{CancelToken, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

type Row = Vec<Value>;

/// The rows of three partitions by id, and of the table that is exchanged with the second.
#[derive(Clone, PartialEq, Debug, Default)]
struct State {
    places: [BTreeMap<i64, Row>; 4],
    /// Whether the table has one more index than the partitions.
    has_extra: bool,
}

/// The number of ids of each partition; the other table has the ids of the second.
const IDS: i64 = 300;
const OTHER: usize = 3;

fn table_spec(name: &str) -> TableSpec {
    TableSpec { name: name.into(), ..keyed_spec() }
}

fn partitioned_spec() -> TableSpec {
    let mut spec = table_spec("p");
    // A unique key would have to contain the deciding column.
    spec.indexes.retain(|index| index.kind != IndexSpecKind::Unique);
    let part = |number: i64, end: Option<i64>| PartitionSpec {
        name: format!("p{number}"),
        comment: String::new(),
        values: vec![vec![end.map(Value::Int)]],
        subpartitions: Vec::new(),
    };
    let parts = vec![part(0, Some(IDS)), part(1, Some(2 * IDS)), part(2, None)];
    let scheme = PartitionScheme::new(
        PartitionMethod::Range,
        PartitionKey::Columns,
        vec![0],
        (parts, true),
        &spec.columns,
    );
    spec.partitioning = Some(Arc::new(scheme.unwrap()));
    spec
}

fn small(random: &mut SmallRng) -> EngineOptions {
    let base = if random.random() { options() } else { by_reference_options() };
    let pool = [200 << 10, 400 << 10][random.random_range(0..2)];
    EngineOptions {
        store: StoreOptions { buffer_pool_bytes: pool, ..base.store.clone() },
        change_buffering: [ChangeBuffering::All, ChangeBuffering::Inserts][random.random_range(0..2)],
        change_buffer_bytes: Some([16 << 10, 64 << 10][random.random_range(0..2)]),
        force_change_buffering: random.random(),
        ..base
    }
}

fn open_with(env: &SimulatedEnv, options: &EngineOptions) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone())
}

/// Reads the contents of the database, and compares every index with the rows.
fn read_state(engine: &Arc<Engine>, what: &str) -> State {
    let mut state = State::default();
    let catalog = engine.catalog();
    for table in catalog.all_tables().filter(|table| table.is_named()) {
        assert_eq!(
            engine.maintenance().check_table(table).unwrap(),
            Vec::<String>::new(),
            "{what}: {}",
            table.name
        );
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        for (number, stored) in table.stored().enumerate() {
            let place = if table.name == "x" { OTHER } else { number };
            state.has_extra |= table.index("extra").is_some();
            for (_, row) in scan(&view(engine), stored, 0, &columns, Direction::Forward).unwrap() {
                let Value::Int(id) = row[0] else { panic!("{row:?}") };
                state.places[place].insert(id, row);
            }
        }
    }
    let mut named = engine.change_buffer.segments();
    let stored = catalog.all_tables().filter(|table| !table.is_partitioned());
    named.extend(stored.flat_map(|table| table.indexes.iter().map(|index| index.tree)));
    let strays = engine.store.segments().iter().filter(|segment| !named.contains(&segment.id)).count();
    assert_eq!(strays, 1, "{what}: only the catalog's own segment is not named");
    assert_eq!(engine.store.verify_space().unwrap(), Vec::<String>::new(), "{what}");
    state
}

struct World {
    engine: Arc<Engine>,
    random: SmallRng,
    acknowledged: State,
    /// The state after the running step.
    running: Option<State>,
}

impl World {
    fn step(&mut self, after: State, work: impl FnOnce(&Arc<Engine>) -> Result<()>) -> Result<()> {
        self.running = Some(after);
        work(&self.engine)?;
        self.acknowledged = self.running.take().unwrap();
        Ok(())
    }

    fn commit_rows(&mut self) -> Result<()> {
        let in_partitions = self.random.random_range(0..4) > 0;
        let table = self.engine.table("d", if in_partitions { "p" } else { "x" })?;
        let mut after = self.acknowledged.clone();
        let mut transaction = self.engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
        for _ in 0..self.random.random_range(1..40) {
            let place = if in_partitions { self.random.random_range(0..3) } else { OTHER };
            let id = (place % OTHER).max(usize::from(place == OTHER)) as i64 * IDS
                + self.random.random_range(0..IDS);
            let numbers = [
                Some(id),
                None,
                Some(self.random.random_range(0..30)),
                Some(self.random.random_range(0..9_000)),
            ];
            let new = row(&table, &numbers);
            let mut locator = Vec::new();
            table.clustered().format.encode_key(&new, &[], &mut locator)?;
            if in_partitions {
                locator = locator_in_partition(place, &locator);
            }
            let rows = &mut after.places[place];
            match (rows.remove(&id), self.random.random_range(0..3)) {
                (Some(old), 0) => drop(transaction.delete(&table, &locator, &old)?),
                (Some(old), _) => {
                    transaction.update(&table, &locator, &old, &new)?;
                    rows.insert(id, new);
                }
                (None, _) => {
                    transaction.insert(&table, &new)?;
                    rows.insert(id, new);
                }
            }
        }
        self.step(after, |_| transaction.commit().map(drop))
    }

    fn exchange(&mut self) -> Result<()> {
        if self.acknowledged.has_extra {
            return Ok(());
        }
        let (table, other) = (self.engine.table("d", "p")?, self.engine.table("d", "x")?);
        let mut after = self.acknowledged.clone();
        after.places.swap(1, OTHER);
        self.step(after, |engine| {
            engine.ddl().exchange_partition(&table, 1, &other, true, &CancelToken::new())
        })
    }

    fn empty_partition(&mut self) -> Result<()> {
        let table = self.engine.table("d", "p")?;
        let number = self.random.random_range(0..3);
        let mut after = self.acknowledged.clone();
        after.places[number].clear();
        let change = PartitionChange {
            scheme: table.partitioning.as_ref().unwrap().scheme.clone(),
            kept: (0..3).map(|at| (at != number).then_some(at)).collect(),
            moved: Vec::new(),
            control: BuildControl::of(&self.engine),
        };
        self.step(after, |engine| engine.ddl().change_partitions(&table, change).map(drop))
    }

    fn drop_and_make_other(&mut self) -> Result<()> {
        let mut after = self.acknowledged.clone();
        after.places[OTHER].clear();
        after.has_extra = false;
        self.step(after.clone(), |engine| engine.ddl().drop_table("d", "x", false).map(drop))?;
        self.step(after, |engine| engine.ddl().create_table(&other_spec(), false).map(drop))
    }

    /// Builds an index while commits go on, or drops it.
    fn index(&mut self) -> Result<()> {
        if self.acknowledged.has_extra {
            let after = State { has_extra: false, ..self.acknowledged.clone() };
            return self.step(after, |engine| engine.ddl().drop_index("d", "x", "extra"));
        }
        let engine = self.engine.clone();
        let table = engine.table("d", "x")?;
        let mut spec = TableSpec::of(&table);
        spec.indexes.push(index(IndexSpecKind::Plain, "extra", &["c", "-b"]));
        let world = RefCell::new(self);
        let switch = || {
            let mut world = world.borrow_mut();
            for _ in 0..world.random.random_range(0..8) {
                world.commit_rows()?;
            }
            world.running = Some(State { has_extra: true, ..world.acknowledged.clone() });
            Ok(None)
        };
        let alteration = Alteration { switch: Some(&switch), ..unchanged(&engine, &table, spec) };
        engine.ddl().alter_table(&table, alteration)?;
        let world = world.into_inner();
        world.acknowledged = world.running.take().unwrap();
        Ok(())
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        if self.engine.table("d", "x").is_err() {
            // The power went off between dropping and making it.
            self.step(self.acknowledged.clone(), |engine| {
                engine.ddl().create_table(&other_spec(), false).map(drop)
            })?;
        }
        for _ in 0..steps {
            match self.random.random_range(0..24) {
                0 => self.exchange()?,
                1 => self.empty_partition()?,
                2 => self.index()?,
                3 if self.random.random_range(0..4) == 0 => self.drop_and_make_other()?,
                4 => self.engine.maintenance().merge_changes()?,
                5 => drop(self.engine.maintenance().purge()?),
                6 => self.engine.store.checkpoint()?,
                7 => {
                    // Reads, so that leaves are merged in memory.
                    let table = self.engine.table("d", "p")?;
                    for stored in table.stored() {
                        scan(&view(&self.engine), stored, 1, &[], Direction::Reverse)?;
                    }
                }
                8 => {
                    let modes = [ChangeBuffering::None, ChangeBuffering::Inserts, ChangeBuffering::All];
                    self.engine.change_buffer.set_mode(modes[self.random.random_range(0..3)]);
                }
                _ => self.commit_rows()?,
            }
        }
        Ok(())
    }
}

fn other_spec() -> TableSpec {
    TableSpec { name: "x".into(), partitioning: None, ..partitioned_spec() }
}

/// Returns the numbers of changes buffered, of leaves swept, and of leaves moved.
fn run(seed: u64) -> [u64; 3] {
    let mut random = SmallRng::seed_from_u64(seed);
    let options = small(&mut random);
    let env = SimulatedEnv::new();
    let mut state = State::default();
    let mut counts = [0; 3];
    {
        let engine = open_with(&env, &options).unwrap();
        create(&engine, &partitioned_spec());
        create(&engine, &other_spec());
        engine.close().unwrap();
    }
    for round in 0..5 {
        let what = format!("seed {seed}, round {round}");
        let engine = open_with(&env, &options).unwrap();
        let mut world = World {
            engine,
            random: SmallRng::seed_from_u64(random.random()),
            acknowledged: state,
            running: None,
        };
        if round > 0 || random.random() {
            env.power_cut_after(random.random_range(0..3000));
        }
        match world.run(60) {
            Ok(()) => {}
            Err(TableError::Storage(StorageError::Io { .. } | StorageError::Poisoned { .. }))
                if env.is_off() => {}
            Err(other) => panic!("{what}: {other}"),
        }
        add(&mut counts, &world.engine);
        let (acknowledged, running) = (world.acknowledged, world.running);
        drop(world.engine);
        env.reboot(random.random());
        while random.random_range(0..3) == 0 {
            env.power_cut_after(random.random_range(0..60));
            let opened = open_with(&env, &options);
            assert!(opened.is_ok() || env.is_off(), "{what}");
            drop(opened);
            env.reboot(random.random());
        }
        let engine = open_with(&env, &options).unwrap();
        state = read_state(&engine, &what);
        assert!(state == acknowledged || running.as_ref() == Some(&state), "{what}: found {state:#?}");
        drop(engine);
        env.reboot(random.random());
    }
    let engine = open_with(&env, &options).unwrap();
    engine.maintenance().merge_changes().unwrap();
    engine.maintenance().purge().unwrap();
    let what = format!("seed {seed}, swept");
    assert!(read_state(&engine, &what) == state, "{what}");
    let stats = engine.maintenance().change_buffer_stats();
    assert_eq!((stats.l0_bytes, stats.run_bytes), (0, 0), "{what}");
    add(&mut counts, &engine);
    counts
}

fn add(counts: &mut [u64; 3], engine: &Engine) {
    let stats = engine.maintenance().change_buffer_stats();
    let more = [stats.buffered, stats.leaves_merged, stats.leaves_moved];
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

#[test]
fn power_cuts_at_any_point_of_buffering_and_sweeping_lose_nothing_and_leave_nothing() {
    let first = seed();
    let mut counts = [0; 3];
    // Only some of the lives are long enough for leaves to be moved.
    for round in 0..100 * scale() {
        if round >= 10 * scale() && counts.iter().all(|count| *count > 0) {
            break;
        }
        let more = run(first.wrapping_add(round));
        counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
    }
    println!("{counts:?} changes buffered, leaves swept, and moved");
    assert!(counts.iter().all(|count| *count > 0), "seed {first}: {counts:?}");
}
