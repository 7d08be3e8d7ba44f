//! Indexes return the exact strings of their rows, even those that their collation treats as equal. The same
//! holds in databases whose payloads are copies.

use super::builds::Same;
use crate::catalog::{ColumnDef, IndexSpecKind, TableDef, TableSpec};
use crate::catalog_change::CatalogChange;
use crate::index::entry::clustered_entry;
use crate::read::ReadView;
use crate::testing::*;
use crate::{Alteration, Direction, Engine, EngineOptions};
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{Collation, SqlType, Value};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// `s (id INT PRIMARY KEY, a VARCHAR(40) COLLATE .., b ..., d DOUBLE)`, with indexes of all kinds on these.
fn spec_of(random: &mut SmallRng) -> TableSpec {
    let text = |name: &str, random: &mut SmallRng| {
        let collation = *Collation::ALL[1..].choose(random).unwrap();
        ColumnDef { collation, ..column(name, varchar(), name == "a") }
    };
    let columns = vec![
        column("id", int(), false),
        text("a", random),
        text("b", random),
        column("d", SqlType::Double, true),
    ];
    let plain = |name, parts: &[&str]| index(IndexSpecKind::Plain, name, parts);
    let indexes = vec![
        index(IndexSpecKind::Primary, "", if random.random() { &["id"] } else { &["b", "-id"] }),
        plain("a", &["a"]),
        packed(plain("ab", &["-a", "b"])),
        index(IndexSpecKind::Unique, "bda", &["b", "-d", "a", "id"]),
        packed(plain("db", &["d", "b:3", "a"])),
    ];
    spec("s", columns, indexes)
}

/// Words that many collations treat as equal.
fn word(random: &mut SmallRng) -> Value {
    const WORDS: &[&str] = &[
        "",
        "smith",
        "Smith",
        "SMITH",
        "smíth",
        "Smith ",
        "smith  ",
        "o'Neil",
        "straße",
        "STRASSE",
        "New York",
        "東京",
        "москва",
        "aQxZ",
    ];
    Value::from(*WORDS.choose(random).unwrap())
}

fn random_row(random: &mut SmallRng, id: i64) -> Vec<Value> {
    let number = [Value::Null, Value::Double(0.0), Value::Double(-0.0), Value::Double(-1.5)];
    let a = if random.random_ratio(1, 8) { Value::Null } else { word(random) };
    vec![Value::Int(id), a, word(random), number.choose(random).unwrap().clone()]
}

/// Values as text, which shows the sign of zero.
fn shown(rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<String> {
    let mut shown: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    shown.sort();
    shown
}

/// Checks that each index has the rows' values in its columns.
fn check_view(view: &ReadView, table: &Arc<TableDef>) {
    let rows = rows(view, table);
    for (number, index) in table.indexes.iter().enumerate() {
        let covered: Vec<usize> = (0..table.columns.len()).filter(|c| index.covers([*c])).collect();
        let expected = rows.iter().map(|row| covered.iter().map(|c| row[*c].clone()).collect());
        let expected = shown(expected);
        for direction in [Direction::Forward, Direction::Reverse] {
            let found = scan(view, table, number, &covered, direction).unwrap();
            assert_eq!(shown(found.into_iter().map(|(_, values)| values)), expected, "index {}", index.name);
        }
    }
}

fn locator(table: &TableDef, row: &[Value]) -> Vec<u8> {
    clustered_entry(table, row, 0).unwrap().key
}

fn change(engine: &Arc<Engine>, table: &Arc<TableDef>, random: &mut SmallRng, rows: &mut Vec<Vec<Value>>) {
    transact(engine, |transaction| {
        for _ in 0..random.random_range(1..6) {
            let at = random.random_range(0..rows.len() + 2);
            match rows.get(at).cloned() {
                None => {
                    let id = rows.iter().filter_map(|row| row[0].as_integer()).max().unwrap_or(0) as i64 + 1;
                    let new = random_row(random, id);
                    transaction.insert(table, &new)?;
                    rows.push(new);
                }
                Some(old) if random.random_ratio(1, 5) => {
                    transaction.delete(table, &locator(table, &old), &old)?;
                    rows.swap_remove(at);
                }
                Some(old) => {
                    let Some(id) = old[0].as_integer() else { continue };
                    let mut new = random_row(random, id as i64);
                    // Often a change that the collation does not see.
                    if random.random() {
                        new = old.clone();
                        if let Value::String(text) = &old[1] {
                            new[1] = Value::string(text.to_uppercase());
                        }
                    }
                    transaction.update(table, &locator(table, &old), &old, &new)?;
                    rows[at] = new;
                }
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn indexes_have_the_strings_of_their_rows() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    for round in 0..12 * scale() {
        let env = SimulatedEnv::new();
        let options = || if round % 2 == 0 { options() } else { buffering_options() };
        let opened = |options: EngineOptions| Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options);
        let engine = opened(options()).unwrap();
        let table = create(&engine, &spec_of(&mut random));
        let mut known = Vec::new();
        let mut views: Vec<(ReadView, Vec<String>)> = Vec::new();
        for _ in 0..40 {
            if random.random_ratio(1, 4) {
                views.push((view(&engine), shown(known.iter().cloned())));
            }
            change(&engine, &table, &mut random, &mut known);
        }
        for (view, expected) in &views {
            assert_eq!(shown(rows(view, &table)), *expected);
            check_view(view, &table);
        }
        check_view(&view(&engine), &table);
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
        drop(views);
        engine.close().unwrap();
        drop(engine);
        let engine = opened(options()).unwrap();
        let table = engine.table("d", "s").unwrap();
        check_view(&view(&engine), &table);
        // An index built from the rows is equal.
        engine.ddl().add_indexes("d", "s", &[index(IndexSpecKind::Plain, "ba", &["b", "a"])]).unwrap();
        let table = engine.table("d", "s").unwrap();
        check_view(&view(&engine), &table);
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
    }
}

/// Payloads stay copies in indexes that have them, until these are rebuilt.
#[test]
fn indexes_of_before_have_copies() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let mut random = SmallRng::seed_from_u64(seed());
    let table = create(&engine, &spec_of(&mut random));
    let mut before = (*table).clone();
    before.indexes.iter_mut().for_each(|index| Arc::make_mut(index).packing.copies = true);
    crate::ddl::change_catalog(&engine, CatalogChange { put_tables: vec![before], ..Default::default() })
        .unwrap();
    engine.close().unwrap();
    drop(engine);

    let engine = open(&env);
    let table = || engine.table("d", "s").unwrap();
    let copies = || table().indexes.iter().map(|index| index.packing.copies).collect::<Vec<_>>();
    let row = [Value::Int(1), Value::from("smith"), Value::from("jones"), Value::Double(1.0)];
    transact(&engine, |transaction| transaction.insert(&table(), &row).map(drop)).unwrap();
    let bytes = |index: usize| {
        let index = table().indexes[index].clone();
        let key = scan(&view(&engine), &table(), 1, &[], Direction::Forward).unwrap()[0].0.clone();
        engine.tree(&index).unwrap().get(&key, |entry| entry.map(|entry| entry.payload.to_vec())).unwrap()
    };
    let payload = bytes(1).unwrap();
    let mut known = vec![row.to_vec()];
    let check = || {
        check_view(&view(&engine), &table());
        assert_eq!(engine.maintenance().check_table(&table()).unwrap(), Vec::<String>::new());
    };
    (0..60).for_each(|_| change(&engine, &table(), &mut random, &mut known));
    check();
    engine.ddl().add_indexes("d", "s", &[index(IndexSpecKind::Plain, "new", &["a", "b"])]).unwrap();
    assert_eq!(copies(), [true, true, true, true, true, false]);
    (0..60).for_each(|_| change(&engine, &table(), &mut random, &mut known));
    check();
    let mut same = Same;
    let whole = Alteration {
        rebuild: Some(anew(&mut same)),
        ..unchanged(&engine, &table(), TableSpec::of(&table()))
    };
    engine.ddl().alter_table(&table(), whole).unwrap();
    assert_eq!(copies(), [false; 6]);
    check();
    engine.ddl().truncate_table("d", "s", false).unwrap();
    transact(&engine, |transaction| transaction.insert(&table(), &row).map(drop)).unwrap();
    assert!(bytes(1).unwrap().len() < payload.len() || !payload.ends_with(b"smith"), "{payload:?}");
    check();
}
