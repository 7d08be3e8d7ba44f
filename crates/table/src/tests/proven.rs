//! Checking foreign keys and CHECK constraints of rows that others change meanwhile.

use crate::alter::RowCheck;
use crate::catalog::{ForeignKeyChanges, ForeignKeySpec, IndexSpecKind, TableDef, TableSpec};
use crate::engine::Engine;
use crate::testing::*;
use crate::{Alteration, TableError};
use leafline_storage::device::SimulatedEnv;
use leafline_types::words::ReferentialAction;
use leafline_types::{MysqlError, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of keys of parents, and of children with their references.
const KEYS: i64 = 12;

/// Two tables and their contents. Nothing prevents a row of one from referring to a missing row of the other.
struct World {
    engine: Arc<Engine>,
    parent: Arc<TableDef>,
    child: Arc<TableDef>,
    /// The keys with their references: to a key of the same table, if that is the parent.
    parents: BTreeMap<i64, Option<i64>>,
    children: BTreeMap<i64, Option<i64>>,
    random: SmallRng,
    /// The number of changes still to be made while rows are checked.
    left: usize,
}

fn world(random: &mut SmallRng, own: bool, indexed: bool) -> World {
    let engine = open(&SimulatedEnv::new());
    let columns = || vec![column("id", int(), false), column("r", int(), true)];
    let mut indexes = vec![index(IndexSpecKind::Primary, "", &["id"])];
    let parent = create(&engine, &spec("p", columns(), indexes.clone()));
    if indexed {
        indexes.push(index(IndexSpecKind::Plain, "r", &["-r", "id"]));
    }
    let child = create(&engine, &spec("c", columns(), indexes));
    let parent = if own { child.clone() } else { parent };
    let random = SmallRng::seed_from_u64(random.random());
    World { engine, parent, child, parents: BTreeMap::new(), children: BTreeMap::new(), random, left: 0 }
}

impl World {
    fn is_own(&self) -> bool {
        self.parent.id == self.child.id
    }

    /// Returns whether every referenced row exists.
    fn holds(&self) -> bool {
        let parents = if self.is_own() { &self.children } else { &self.parents };
        self.children.values().flatten().all(|refers| parents.contains_key(refers))
    }

    /// Commits some changes of either table.
    fn commit(&mut self) {
        let changes = self.random.random_range(1..4);
        let mut transaction =
            self.engine.transactions().begin(crate::Isolation::ReadCommitted, crate::TxnMode::ReadWrite);
        for _ in 0..changes {
            let of_parent = !self.is_own() && self.random.random();
            let table = if of_parent { self.parent.clone() } else { self.child.clone() };
            let id = self.random.random_range(0..KEYS);
            // Most parents exist, and most children refer to an existing one.
            let wanted = match (of_parent, self.random.random_range(0..8)) {
                (true, 0) | (false, 0..3) => None,
                (true, _) | (false, 3) => Some(None),
                (false, _) => Some(Some(self.random.random_range(0..KEYS))),
            };
            let rows = if of_parent { &mut self.parents } else { &mut self.children };
            let values = |refers: Option<i64>| row(&table, &[Some(id), refers]);
            let mut key = Vec::new();
            table.clustered().format.encode_key(&values(None), &[], &mut key).unwrap();
            let old = rows.get(&id).copied().map(values);
            let done = match (old, wanted) {
                (None, None) => Ok(()),
                (None, Some(refers)) => transaction.insert(&table, &values(refers)).map(drop),
                (Some(old), None) => transaction.delete(&table, &key, &old).map(drop),
                (Some(old), Some(refers)) => {
                    transaction.update(&table, &key, &old, &values(refers)).map(drop)
                }
            };
            done.unwrap();
            match wanted {
                Some(refers) => drop(rows.insert(id, refers)),
                None => drop(rows.remove(&id)),
            }
        }
        transaction.commit().unwrap();
    }
}

/// Changes rows while they are checked.
struct Meddling<'a>(&'a RefCell<World>);

impl RowCheck for Meddling<'_> {
    fn check(&mut self, _: &[Value]) -> Result<(), MysqlError> {
        let mut world = self.0.borrow_mut();
        if world.left > 0 {
            world.left -= 1;
            world.commit();
        }
        Ok(())
    }
}

fn foreign_key(parent: &TableDef) -> ForeignKeySpec {
    ForeignKeySpec {
        name: Some("f".into()),
        columns: vec!["r".into()],
        parent_database: "d".into(),
        parent_table: parent.name.clone(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        ..ForeignKeySpec::default()
    }
}

#[test]
fn a_foreign_key_comes_into_force_where_all_that_is_referred_to_is_there_in_the_end() {
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut held, mut refused) = (0, 0);
    for number in 0..150 * scale() {
        let what = format!("seed {seed}, number {number}");
        let mut world = world(&mut random, number % 3 == 0, number % 2 == 0);
        (0..4 * KEYS).for_each(|_| world.commit());
        let (engine, child) = (world.engine.clone(), world.child.clone());
        let foreign_keys = ForeignKeyChanges { added: vec![foreign_key(&world.parent)], dropped: Vec::new() };
        let held_at_first = world.holds();
        world.left = 6;
        let spec = TableSpec { foreign_keys: foreign_keys.added.clone(), ..TableSpec::of(&child) };
        let segments = engine.store.segments().len();
        let world = RefCell::new(world);
        let switch = || {
            let mut world = world.borrow_mut();
            // From here on commits have to wait.
            world.left = 0;
            (0..world.random.random_range(0..6)).for_each(|_| world.commit());
            Ok(None)
        };
        let mut meddling = Meddling(&world);
        let alteration = Alteration {
            switch: Some(&switch),
            check: Some(&mut meddling),
            foreign_keys,
            ..unchanged(&engine, &child, spec)
        };
        let done = engine.ddl().alter_table(&child, alteration);
        let world = world.into_inner();
        let holds = held_at_first && world.holds();
        match done {
            Ok(_) => assert!(holds, "{what}: {:?} {:?}", world.parents, world.children),
            Err(TableError::Sql(error)) if error.code == 1452 => {
                assert!(!holds, "{what}: {:?} {:?}", world.parents, world.children);
                assert_eq!(engine.store.segments().len(), segments, "{what}");
            }
            Err(other) => panic!("{what}: {other}"),
        }
        let now = engine.table("d", "c").unwrap();
        assert_eq!(now.foreign_keys.len(), usize::from(holds), "{what}");
        assert_eq!(engine.maintenance().check_table(&now).unwrap(), Vec::<String>::new(), "{what}");
        held += u64::from(holds);
        refused += u64::from(!holds);
    }
    assert!(held > 0 && refused > 0, "seed {seed}: {held}, {refused}");
}

/// The condition `r < 100`, with the number of times it was checked.
#[derive(Default)]
struct Small(u64);

impl RowCheck for Small {
    fn check(&mut self, row: &[Value]) -> Result<(), MysqlError> {
        self.0 += 1;
        match row[1] {
            Value::Int(100..) => Err(MysqlError::check_violated("small")),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_check_is_met_by_the_rows_that_were_there_and_by_those_that_come_meanwhile() {
    let world = world(&mut SmallRng::seed_from_u64(0), false, true);
    let (engine, table) = (&world.engine, &world.child);
    let insert = |id: i64, r: i64| {
        let values = row(table, &[Some(id), Some(r)]);
        transact(engine, |t| t.insert(table, &values).map(drop)).unwrap();
    };
    (0..50).for_each(|id| insert(id, id));
    let add = |check: &mut Small, switch: &dyn Fn()| {
        let table = engine.table("d", "c").unwrap();
        let switch = || {
            switch();
            Ok(None)
        };
        let alteration = Alteration {
            switch: Some(&switch),
            check: Some(check),
            ..unchanged(engine, &table, TableSpec::of(&table))
        };
        engine.ddl().alter_table(&table, alteration)
    };
    let is_violated = |done: Result<_, TableError>| matches!(done, Err(TableError::Sql(e)) if e.code == 3819);
    let mut check = Small::default();
    add(&mut check, &|| (50..60).for_each(|id| insert(id, 99))).unwrap();
    assert_eq!(check.0, 60);
    assert!(is_violated(add(&mut Small::default(), &|| insert(60, 100))));
    assert!(is_violated(add(&mut Small::default(), &|| panic!("a row that was there is found at once"))));
}
