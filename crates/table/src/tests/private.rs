//! Private tables: nobody else knows them, they disappear with the process, and publishing makes all of a
//! table public, or nothing.

use crate::catalog::*;
use crate::testing::*;
use crate::{Direction, Engine, Isolation, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, SegmentId};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

fn text_spec(name: &str) -> TableSpec {
    let columns = vec![column("a", int(), false), column("t", SqlType::Text { max_bytes: u32::MAX }, true)];
    spec(name, columns, vec![index(IndexSpecKind::Primary, "", &["a"])])
}

/// A private table with this number of rows, one of which has an overflow value.
fn filled(engine: &Arc<Engine>, rows: i64) -> Result<Arc<TableDef>, crate::TableError> {
    let table = engine.ddl().create_private_table(&text_spec("p"))?;
    transact(engine, |transaction| {
        for a in 0..rows {
            let text = "x".repeat(if a == 0 { 20_000 } else { 20 });
            transaction.insert(&table, &[Value::Int(a), Value::string(text)])?;
        }
        Ok(())
    })?;
    Ok(table)
}

fn count(engine: &Arc<Engine>, table: &Arc<TableDef>) -> usize {
    scan(&view(engine), table, 0, &[0], Direction::Forward).unwrap().len()
}

fn segments(engine: &Engine) -> BTreeSet<SegmentId> {
    engine.store().segments().iter().map(|segment| segment.id).collect()
}

#[test]
fn a_private_table_is_found_by_nobody_and_disappears_with_the_process() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap();
    let before = (segments(&engine), engine.catalog());
    let table = filled(&engine, 50).unwrap();
    assert_eq!(count(&engine, &table), 50);
    assert!(engine.table("d", "p").is_err() && engine.catalog().tables("d").next().is_none());
    assert!(engine.catalog_version() == before.1.version(), "plans of others still stand");
    // A public table with the same name does not affect it.
    create(&engine, &text_spec("p"));
    assert!(engine.catalog_version() != before.1.version());
    engine.ddl().drop_table("d", "p", false).unwrap();
    let mut reader = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly);
    reader.begin_statement();
    reader.insert(&table, &[Value::Int(100), Value::Null]).unwrap();
    reader.commit().unwrap();
    let table = engine.ddl().truncate_private_table(&table).unwrap();
    assert_eq!(count(&engine, &table), 0);
    filled(&engine, 3).unwrap();
    drop(engine);
    env.cut(1);
    let engine = open(&env);
    assert_eq!(segments(&engine), before.0);
    assert!(engine.ddl().private_table(table.id).is_err());
}

#[test]
fn a_dropped_private_table_leaves_nothing() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap();
    let before = segments(&engine);
    let table = filled(&engine, 5).unwrap();
    engine.ddl().drop_private_tables(&[table.id]).unwrap();
    engine.ddl().drop_private_tables(&[table.id]).unwrap();
    engine.maintenance().purge().unwrap();
    assert_eq!(segments(&engine), before);
    let foreign_keys = vec![ForeignKeySpec::default()];
    let refused = engine.ddl().create_private_table(&TableSpec { foreign_keys, ..text_spec("p") });
    assert_eq!(MysqlError::from(refused.unwrap_err()).code, 1215);
}

#[test]
fn a_published_table_is_newer_than_the_snapshots_before() {
    let engine = open(&SimulatedEnv::new());
    engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap();
    let table = filled(&engine, 4).unwrap();
    let older = view(&engine);
    engine.ddl().publish_table(&table, false).unwrap();
    let table = engine.table("d", "p").unwrap();
    assert!(!table.is_private && engine.ddl().private_table(table.id).is_err());
    assert_eq!((count(&engine, &table), engine.row_count(table.id)), (4, 4));
    assert!(older.entries(&table, table.clustered()).is_err());
    let again = filled(&engine, 1).unwrap();
    assert_eq!(MysqlError::from(engine.ddl().publish_table(&again, false).unwrap_err()).code, 1050);
}

/// The power is cut at each change of the disk in turn: the table exists with all its rows, or not at all.
#[test]
fn publishing_survives_whole_or_not_at_all() {
    let origin = SimulatedEnv::new();
    let engine = open(&origin);
    engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap();
    let empty = segments(&engine).len();
    drop(engine);
    let (mut absent, mut present) = (0, 0);
    for changes in 0.. {
        let env = origin.snapshot();
        env.power_cut_after(changes);
        let work = || -> Result<(), crate::TableError> {
            let engine = Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options())?;
            let table = filled(&engine, 30)?;
            engine.ddl().publish_table(&table, false)
        };
        let done = work().is_ok();
        let finished = !env.is_off();
        env.reboot(changes);
        let engine = open(&env);
        match engine.table("d", "p") {
            Ok(table) => {
                present += 1;
                assert_eq!((count(&engine, &table), engine.row_count(table.id)), (30, 30), "cut {changes}");
                assert_eq!(segments(&engine).len(), empty + 2);
                transact(&engine, |transaction| {
                    transaction.insert(&table, &[Value::Int(99), Value::Null]).map(drop)
                })
                .unwrap();
            }
            Err(_) => {
                absent += 1;
                assert!(!done, "cut {changes}: acknowledged and lost");
                assert_eq!(segments(&engine).len(), empty);
            }
        }
        if finished {
            break;
        }
    }
    assert!(absent > 10 && present > 0, "{absent} {present}");
}
