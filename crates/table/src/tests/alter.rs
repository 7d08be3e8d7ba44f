//! ALTER TABLE: converted rows, old snapshots, names, crashes.

use crate::alter::{Alteration, Rebuild, RowConverter};
use crate::build::BuildControl;
use crate::catalog::*;
use crate::testing::*;
use crate::{Isolation, TableError, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// Puts a column with twice the first one in front of a row; rejects rows whose first column is `refused`.
struct Doubled {
    refused: Option<i64>,
}

impl RowConverter for Doubled {
    fn convert(&mut self, mut row: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        let Some(Value::Int(first)) = row.first().cloned() else { return Ok(row) };
        if self.refused == Some(first) {
            return Err(MysqlError::check_violated("refused"));
        }
        row.insert(0, Value::Int(first * 2));
        Ok(row)
    }
}

fn doubled(engine: &Arc<crate::Engine>, refused: Option<i64>, order: &[&str]) -> Result<u64, TableError> {
    let table = engine.table("d", "t")?;
    let mut spec = TableSpec::of(&table);
    spec.columns.insert(0, column("twice", int(), false));
    let order = index(IndexSpecKind::Plain, "", order).parts;
    let mut converter = Doubled { refused };
    let rebuild = Some(Rebuild { converter: &mut converter, order, numbers: false, zero_is_number: false });
    let sources = std::iter::once(None).chain((0..table.columns.len()).map(Some)).collect();
    let foreign_keys = ForeignKeyChanges::default();
    let alteration = Alteration {
        spec,
        sources,
        older: Vec::new(),
        next_auto_increment: None,
        foreign_keys,
        check: None,
        rebuild,
        switch: None,
        control: BuildControl::of(engine),
    };
    engine.ddl().alter_table(&table, alteration).map(|(rows, _)| rows)
}

#[test]
fn an_index_whose_building_is_stopped_leaves_nothing() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let values = |id: i64| row(&table, &[Some(id), Some(id), Some(id), Some(id % 7)]);
    transact(&engine, |transaction| {
        (0..100).try_for_each(|id| transaction.insert(&table, &values(id)).map(drop))
    })
    .unwrap();
    let segments = engine.store.segments().len();
    let mut spec = TableSpec::of(&table);
    spec.indexes.push(index(IndexSpecKind::Plain, "late", &[&spec.columns[3].name]));
    let alteration = unchanged(&engine, &table, spec.clone());
    alteration.control.cancel.cancel(CancelReason::QueryKilled);
    let error = MysqlError::from(engine.ddl().alter_table(&table, alteration).unwrap_err());
    assert_eq!(error.code, 1317);
    assert_eq!(engine.store.segments().len(), segments, "nothing was left behind");
    assert!(Arc::ptr_eq(&engine.table("d", "t").unwrap(), &table));
    engine.ddl().alter_table(&table, unchanged(&engine, &table, spec)).unwrap();
    let table = engine.table("d", "t").unwrap();
    assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new());
}

#[test]
fn rows_are_converted_all_or_none() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let old = create(&engine, &keyed_spec());
    let values = |id: i64| row(&old, &[Some(id), Some(id), Some(id), Some(id % 7)]);
    transact(&engine, |transaction| {
        (0..500).try_for_each(|id| transaction.insert(&old, &values(id)).map(drop))
    })
    .unwrap();
    let reading = view(&engine);
    let mut writing = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    writing.insert(&old, &values(1000)).unwrap();
    let segments = engine.store.segments().len();

    let refused = MysqlError::from(doubled(&engine, Some(499), &[]).unwrap_err());
    assert_eq!(refused.code, 3819);
    assert_eq!(engine.store.segments().len(), segments, "nothing was left behind");
    assert_eq!(engine.table("d", "t").unwrap().id, old.id);

    assert_eq!(doubled(&engine, None, &[]).unwrap(), 500);
    let new = engine.table("d", "t").unwrap();
    assert_ne!(new.id, old.id);
    assert_eq!(engine.row_count(new.id), 500);
    assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new());
    let found = rows(&view(&engine), &new);
    assert_eq!(found.len(), 500);
    assert!(found.iter().all(|row| matches!(&row[..2], [Value::Int(a), Value::Int(b)] if *a == 2 * b)));

    // A transaction that wrote before cannot commit; one that read before goes on.
    assert!(matches!(writing.commit(), Err(TableError::DefinitionChanged)));
    assert!(scan(&reading, &new, 0, &[0], crate::Direction::Forward).is_err(), "older than the table");
    drop(reading);
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.store.segments().len(), segments);

    // An alteration of a definition that is no longer in force.
    let spec = TableSpec::of(&old);
    let stale = engine.ddl().alter_table(&old, unchanged(&engine, &old, spec));
    assert!(matches!(stale, Err(TableError::DefinitionChanged)));

    drop(engine);
    env.cut(5);
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(rows(&view(&engine), &table), found);
}

#[test]
fn rows_without_a_primary_key_are_put_in_order() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let columns = vec![column("a", int(), false), column("b", varchar(), true)];
    let old = create(&engine, &spec("t", columns, vec![index(IndexSpecKind::Plain, "", &["b"])]));
    transact(&engine, |transaction| {
        let mut numbers = (0..300).map(|at| at * 7919 % 300);
        numbers.try_for_each(|a| transaction.insert(&old, &row(&old, &[Some(a), None])).map(drop))
    })
    .unwrap();
    doubled(&engine, None, &["-a"]).unwrap();
    let new = engine.table("d", "t").unwrap();
    assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new());
    let found = rows(&view(&engine), &new);
    let expected: Vec<Value> = (0..300).rev().map(Value::Int).collect();
    assert_eq!(found.iter().map(|row| row[1].clone()).collect::<Vec<_>>(), expected);
}

#[test]
fn names_change_places_and_stay_so() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let first = create(&engine, &keyed_spec());
    let second = create(&engine, &other_spec(true));
    engine
        .ddl()
        .rename_tables(
            &[(("d", "t"), ("d", "tmp")), (("d", "h"), ("d", "t")), (("d", "tmp"), ("d", "h"))],
            false,
        )
        .unwrap();
    let refused = engine
        .ddl()
        .rename_tables(&[(("d", "t"), ("d", "new")), (("d", "nope"), ("d", "x"))], false)
        .unwrap_err();
    assert_eq!(MysqlError::from(refused).code, 1146);
    let named = |engine: &crate::Engine| ["t", "h"].map(|name| engine.table("d", name).unwrap().id);
    assert_eq!(named(&engine), [second.id, first.id]);
    assert_eq!(engine.catalog().tables("d").count(), 2);
    drop(engine);
    env.cut(2);
    let engine = open(&env);
    assert_eq!(named(&engine), [second.id, first.id]);
    let table = engine.table("d", "t").unwrap();
    assert_eq!((table.name.as_str(), engine.catalog().tables("d").count()), ("t", 2));
}

#[test]
fn a_power_cut_leaves_the_old_table_or_the_new_one() {
    let filled = || {
        let env = SimulatedEnv::new();
        let engine = open(&env);
        let old = create(&engine, &keyed_spec());
        let values = |id: i64| row(&old, &[Some(id), Some(id), Some(id), Some(id % 7)]);
        transact(&engine, |transaction| {
            (0..200).try_for_each(|id| transaction.insert(&old, &values(id)).map(drop))
        })
        .unwrap();
        (env, engine)
    };
    let (env, engine) = filled();
    let before = env.counts().changes();
    doubled(&engine, None, &[]).unwrap();
    let changes = env.counts().changes() - before;
    let mut outcomes = [0, 0];
    for cut in 0..changes {
        let (env, engine) = filled();
        env.power_cut_after(cut);
        let done = doubled(&engine, None, &[]);
        assert!(done.is_err() && env.is_off(), "cut {cut}");
        drop(engine);
        env.reboot(cut);
        let engine = open(&env);
        let table = engine.table("d", "t").unwrap();
        let columns = table.columns.len();
        assert!(columns == 4 || columns == 5, "cut {cut}: {columns} columns");
        outcomes[columns - 4] += 1;
        assert_eq!(rows(&view(&engine), &table).len(), 200, "cut {cut}");
        assert_eq!(engine.maintenance().check_table(&table).unwrap(), Vec::<String>::new(), "cut {cut}");
        assert_eq!(owned_segments(&engine), 1 + table.indexes.len(), "cut {cut}");
    }
    assert!(outcomes[0] > 0, "{outcomes:?}");
}

#[test]
fn histograms_stay_with_columns_that_stay_what_they_are() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let histogram = |column: usize| HistogramDef {
        column,
        buckets_asked_for: 8,
        nulls: 0.5,
        sampling_rate: 1.0,
        updated: 7,
        buckets: vec![HistogramBucket {
            lower: Value::Int(1),
            upper: Value::Int(9),
            share: 0.5,
            distinct: 4.0,
        }],
        frequent: vec![(Value::Int(3), 0.3)],
    };
    let before = engine.catalog().version();
    engine.ddl().change_histograms(&table, vec![histogram(3), histogram(1)], &[]).unwrap();
    assert!(engine.catalog().version() > before, "plans are made anew");
    let table = engine.table("d", "t").unwrap();
    assert_eq!(table.histogram(1).map(|known| (**known).clone()), Some(histogram(1)));
    // A column is added in front of them.
    doubled(&engine, None, &[]).unwrap();
    let columns = |engine: &crate::Engine| -> Vec<usize> {
        engine.table("d", "t").unwrap().histograms.iter().map(|histogram| histogram.column).collect()
    };
    assert_eq!(columns(&engine), [2, 4]);
    // One is renamed and loses its histogram.
    let table = engine.table("d", "t").unwrap();
    let mut spec = TableSpec::of(&table);
    let old = std::mem::replace(&mut spec.columns[4].name, "renamed".into());
    let parts = spec.indexes.iter_mut().flat_map(|index| &mut index.parts);
    parts.filter(|part| part.column == old).for_each(|part| part.column = "renamed".into());
    engine.ddl().alter_table(&table, unchanged(&engine, &table, spec)).unwrap();
    assert_eq!(columns(&engine), [2]);
    drop(engine);
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(table.histograms, [Arc::new(histogram(2))]);
    engine.ddl().change_histograms(&table, Vec::new(), &[2]).unwrap();
    drop(engine);
    assert_eq!(columns(&open(&env)), Vec::<usize>::new());
}
