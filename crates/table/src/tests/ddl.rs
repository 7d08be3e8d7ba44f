//! Definitions: rules, errors, the state after the database is opened again, and statements that run into
//! DDL.

use crate::catalog::*;
use crate::op::Op;
use crate::testing::*;
use crate::txn::{CommitPlan, commit_plan};
use crate::{Direction, Engine, Isolation, TableError, TxnMode};
use leafline_storage::device::SimulatedEnv;
use leafline_types::words::ReferentialAction;
use leafline_types::{Collation, MysqlError, SqlType, Value};

fn code(error: TableError) -> u16 {
    MysqlError::from(error).code
}

fn two_columns() -> Vec<ColumnDef> {
    vec![column("a", int(), false), column("b", varchar(), true)]
}

#[test]
fn every_definition_survives_opening_again() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let mut columns: Vec<ColumnDef> = [
        SqlType::TinyInt { unsigned: true },
        SqlType::SmallInt { unsigned: false },
        SqlType::MediumInt { unsigned: true },
        SqlType::Int { unsigned: true },
        SqlType::BigInt { unsigned: false },
        SqlType::Decimal { precision: 20, scale: 5, unsigned: true, zerofill: true },
        SqlType::Double,
        SqlType::Char { len: 9 },
        SqlType::Varchar { len: 150 },
        SqlType::Text { max_bytes: 65535 },
        SqlType::Varbinary { len: 12 },
        SqlType::Date,
        SqlType::DateTime { fsp: 3 },
    ]
    .into_iter()
    .enumerate()
    .map(|(position, ty)| column(&format!("c{position}"), ty, position % 2 == 0))
    .collect();
    columns[3].auto_increment = true;
    columns[4].default = Some(DefaultValue::Constant(Value::Int(-5)));
    columns[6].default = Some(DefaultValue::Constant(Value::Null));
    columns[7].collation = Collation::Utf8mb4_0900Bin;
    columns[8].default = Some(DefaultValue::Constant(Value::string("é ")));
    columns[8].comment = "a comment".into();
    columns[12].default = Some(DefaultValue::CurrentTimestamp);
    columns[12].on_update_now = true;
    let indexes = vec![
        index(IndexSpecKind::Plain, "", &["c1"]),
        index(IndexSpecKind::Unique, "", &["-c8", "c3"]),
        index(IndexSpecKind::Primary, "", &["c3", "-c1"]),
        index(IndexSpecKind::Unique, "", &["c3"]),
        IndexSpec { packed: Some(false), ..index(IndexSpecKind::Plain, "", &["-c1", "c11"]) },
    ];
    let options = TableOptions {
        comment: "of the table".into(),
        collation: Some(Collation::Utf8mb4Bin),
        auto_increment_start: Some(100),
        pack_keys: Some(true),
        organisation: Organisation::Clustered,
    };
    let made = create(&engine, &TableSpec { options, ..spec("wide", columns, indexes) });
    let names: Vec<&str> = made.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "c3", "c8", "c1", "c1_2"], "MySQL's names, in MySQL's order");
    assert_eq!(engine.next_auto_increment(made.id), 100);
    create(&engine, &other_spec(true));
    let foreign_keys = vec![ForeignKeySpec {
        name: Some("to_wide".into()),
        columns: vec!["c".into()],
        parent_database: "d".into(),
        parent_table: "elsewhere".into(),
        parent_columns: vec!["k".into()],
        on_delete: ReferentialAction::SetNull,
        on_update: ReferentialAction::Cascade,
        ..ForeignKeySpec::default()
    }];
    let refers = spec("refers", vec![column("c", int(), true)], Vec::new());
    create(&engine, &TableSpec { foreign_keys, unchecked_references: true, ..refers });
    let new_view = ViewDef {
        id: 0,
        database: "d".into(),
        name: "v".into(),
        columns: vec!["x".into(), "é".into()],
        query: "SELECT 1, 2".into(),
        algorithm: ViewAlgorithm::TempTable,
        check_option: CheckOption::Cascaded,
        definer: Some(("joe".into(), "%".into())),
        collation: Collation::Utf8mb4Bin,
        by_invoker: true,
    };
    engine.ddl().create_view(new_view, false).unwrap();
    let shown = |table: &TableDef| {
        let mut table = table.clone();
        for index in &mut table.indexes {
            std::sync::Arc::make_mut(index).valid_from = Default::default();
        }
        format!("{table:#?}")
    };
    let before = (shown(&made), shown(&engine.table("d", "h").unwrap()));
    let related = |engine: &Engine| {
        let catalog = engine.catalog();
        let keys: Vec<_> = catalog.references("d", "elsewhere").map(|(_, key)| key.clone()).collect();
        (keys, catalog.view("d", "v").cloned())
    };
    let related_before = related(&engine);
    assert!(related_before.0.len() == 1 && related_before.1.is_some());
    drop(engine);
    env.cut(1);
    let engine = open(&env);
    assert_eq!(related(&engine), related_before);
    let table = engine.table("d", "wide").unwrap();
    assert_eq!((shown(&table), shown(&engine.table("d", "h").unwrap())), before);
    assert_eq!(engine.next_auto_increment(table.id), 100);
}

#[test]
fn rules_are_those_of_mysql() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    assert_eq!(code(engine.ddl().create_table(&spec("t", two_columns(), vec![]), false).unwrap_err()), 1049);
    engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap();
    assert_eq!(code(engine.ddl().create_database("d", Collation::DEFAULT, false).unwrap_err()), 1007);
    assert!(!engine.ddl().create_database("d", Collation::DEFAULT, true).unwrap());
    let refused = |columns: Vec<ColumnDef>, indexes: Vec<IndexSpec>| {
        let refused = engine.ddl().create_table(&spec("t", columns, indexes), false);
        code(refused.expect_err("is against the rules"))
    };
    use IndexSpecKind::{Plain, Primary, Unique};
    let twice = vec![column("a", int(), true), column("A", int(), true)];
    assert_eq!(refused(twice, vec![]), 1060);
    assert_eq!(refused(vec![], vec![]), 1113);
    assert_eq!(refused(two_columns(), vec![index(Plain, "i", &["a"]), index(Unique, "I", &["b"])]), 1061);
    assert_eq!(refused(two_columns(), vec![index(Primary, "", &["a"]), index(Primary, "", &["b"])]), 1068);
    assert_eq!(refused(two_columns(), vec![index(Plain, "i", &["x"])]), 1072);
    assert_eq!(refused(two_columns(), vec![index(Plain, "i", &["a", "a"])]), 1060);
    assert_eq!(refused(two_columns(), vec![index(Plain, "primary", &["a"])]), 1280);
    // 4 KiB pages: keys of 768 bytes.
    let long = vec![column("a", SqlType::Varchar { len: 193 }, true)];
    assert_eq!(refused(long, vec![index(Plain, "i", &["a"])]), 1071);
    let text = vec![column("a", SqlType::Text { max_bytes: 65535 }, true)];
    assert_eq!(refused(text, vec![index(Plain, "i", &["a"])]), 1170);
    let mut automatic = two_columns();
    automatic[0].auto_increment = true;
    assert_eq!(refused(automatic.clone(), vec![]), 1075);
    assert_eq!(refused(automatic, vec![index(Plain, "i", &["b", "a"])]), 1075);
    let mut automatic = two_columns();
    automatic[1].auto_increment = true;
    assert_eq!(refused(automatic, vec![index(Plain, "i", &["b"])]), 1063);
    let large = (0..300).map(|at| column(&format!("c{at}"), SqlType::BIGINT, false)).collect();
    assert_eq!(refused(large, vec![]), 1118);
    let declared =
        (0..2).map(|at| column(&format!("c{at}"), SqlType::Varchar { len: 9000 }, false)).collect();
    assert_eq!(refused(declared, vec![]), 1118);
    assert_eq!(engine.store.segments().len(), 1, "nothing was left behind");

    engine.ddl().create_table(&keyed_spec(), false).unwrap();
    assert_eq!(code(engine.ddl().create_table(&keyed_spec(), false).unwrap_err()), 1050);
    assert!(!engine.ddl().create_table(&keyed_spec(), true).unwrap());
    let add = |indexes: &[IndexSpec]| code(engine.ddl().add_indexes("d", "t", indexes).unwrap_err());
    assert_eq!(add(&[index(Primary, "", &["c"])]), 1068);
    assert_eq!(add(&[index(Plain, "bc", &["c"])]), 1061);
    assert_eq!(code(engine.ddl().drop_index("d", "t", "nope").unwrap_err()), 1091);
    assert_eq!(code(engine.ddl().drop_index("d", "x", "nope").unwrap_err()), 1146);
    let missing = engine.ddl().drop_tables(&[("d", "t"), ("d", "x")], false, false).unwrap_err();
    assert_eq!(missing.to_string(), "ERROR 1051 (42S02): Unknown table 'd.x'");
    assert!(engine.table("d", "t").is_ok(), "all or none");
    assert_eq!(engine.ddl().drop_tables(&[("d", "t"), ("d", "x")], true, false).unwrap(), ["d.x"]);
    assert_eq!(code(engine.table("d", "t").unwrap_err()), 1146);
    assert_eq!(code(engine.table("e", "t").unwrap_err()), 1049);
    assert_eq!(code(engine.ddl().drop_database("e", false, false).unwrap_err()), 1008);
    assert_eq!(engine.ddl().drop_database("e", true, false).unwrap(), None);
    engine.ddl().create_table(&keyed_spec(), false).unwrap();
    assert_eq!(engine.ddl().drop_database("d", false, false).unwrap(), Some(1));
    assert_eq!(engine.catalog().all_tables().count(), 0);
    assert_eq!(engine.store.segments().len(), 1, "nothing was left behind");
}

#[test]
fn numbers_are_not_used_again() {
    let env = SimulatedEnv::new();
    let mut used = Vec::new();
    for round in 0..4 {
        let engine = open(&env);
        let table = create(&engine, &keyed_spec());
        used.push(table.id.0);
        used.extend(table.indexes.iter().map(|index| index.id));
        engine.ddl().drop_table("d", "t", false).unwrap();
        if round % 2 == 0 {
            engine.close().unwrap();
        }
        drop(engine);
        env.cut(round);
    }
    let count = used.len();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), count);
}

#[test]
fn an_index_made_later_is_complete_and_kept_so() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let values = |id: i64, c: i64| row(&table, &[Some(id), None, Some(id), Some(c)]);
    transact(&engine, |transaction| {
        (0..500).try_for_each(|id| transaction.insert(&table, &values(id, id % 9)).map(drop))
    })
    .unwrap();
    // A transaction has written before the index is made, and commits after.
    let mut early = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    early.insert(&table, &values(1000, 4)).unwrap();
    let old_view = view(&engine);
    engine.ddl().add_indexes("d", "t", &[index(IndexSpecKind::Plain, "extra", &["-c", "b"])]).unwrap();
    early.commit().unwrap();
    engine.ddl().add_indexes("d", "t", &[index(IndexSpecKind::Unique, "", &["b"])]).unwrap();
    let new = engine.table("d", "t").unwrap();
    assert_eq!(new.indexes.len(), 6);
    assert_eq!(engine.maintenance().check_table(&new).unwrap(), Vec::<String>::new());
    let names: Vec<&str> = new.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "a", "b", "bc", "c", "extra"]);
    let found = scan(&view(&engine), &new, 5, &[0, 3], Direction::Forward).unwrap();
    assert_eq!(found.len(), 501);
    let refused = scan(&old_view, &new, 5, &[0], Direction::Forward);
    assert!(matches!(refused, Err(TableError::DefinitionChanged)), "older than the index");
    assert_eq!(scan(&old_view, &new, 4, &[0], Direction::Forward).unwrap().len(), 500);

    // A transaction with a key for the new unique index, which it did not know when it wrote. (`table` is the
    // old definition.)
    let mut first = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    first.insert(&table, &row(&table, &[Some(2000), None, Some(3), Some(0)])).unwrap();
    assert!(matches!(first.commit(), Err(TableError::DefinitionChanged)), "row 3 has that key");

    // Duplicates prevent a unique index from being made, and nothing is left of it.
    let segments = engine.store.segments().len();
    let unique = index(IndexSpecKind::Unique, "u", &["c"]);
    let refused = engine.ddl().add_indexes("d", "t", &[index(IndexSpecKind::Plain, "fine", &["c"]), unique]);
    assert_eq!(refused.unwrap_err().to_string(), "Duplicate entry '0' for key 't.u'");
    assert_eq!(engine.store.segments().len(), segments);
    assert_eq!(engine.table("d", "t").unwrap().indexes.len(), 6);

    // A cursor on an index goes on after the index was dropped; its tree is freed afterwards.
    let reading = view(&engine);
    let mut cursor = reading.entries(&new, &new.indexes[5]).unwrap();
    engine.ddl().drop_index("d", "t", "extra").unwrap();
    assert_eq!(engine.stats().retired_trees, 1);
    let mut count = 0;
    while cursor
        .visit(Direction::Forward, &mut |_| {
            count += 1;
            crate::EntryStep::Next
        })
        .unwrap()
    {}
    assert_eq!(count, 501);
    let stale = view(&engine).entries(&new, &new.indexes[5]);
    assert!(matches!(stale, Err(TableError::DefinitionChanged)));
    drop((cursor, reading, old_view));
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.stats().retired_trees, 0);
    assert_eq!(engine.store.segments().len(), segments - 1);
}

#[test]
fn a_dropped_table_refuses_what_was_written_to_it() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let table = create(&engine, &keyed_spec());
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.insert(&table, &row(&table, &[Some(1), None, None, Some(1)])).unwrap();
    engine.ddl().drop_table("d", "t", false).unwrap();
    let again = create(&engine, &keyed_spec());
    assert!(matches!(transaction.commit(), Err(TableError::DefinitionChanged)));
    let mut stale = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    let refused = stale.insert(&table, &row(&table, &[Some(1), None, None, Some(1)]));
    assert!(matches!(refused, Err(TableError::DefinitionChanged)));
    assert_eq!(rows(&view(&engine), &again).len(), 0);
}

#[test]
fn auto_increment_goes_on_after_the_largest_value() {
    let env = SimulatedEnv::new();
    let engine = open(&env);
    let mut columns = two_columns();
    columns[0].ty = SqlType::TinyInt { unsigned: false };
    columns[0].auto_increment = true;
    let table = create(&engine, &spec("t", columns, vec![index(IndexSpecKind::Primary, "", &["a"])]));
    let insert = |id: Option<i64>| {
        let mut generated = None;
        let result = transact(&engine, |transaction| {
            generated = transaction.insert(&table, &row(&table, &[id, None]))?.auto_increment;
            Ok(())
        });
        result.map(|()| generated)
    };
    assert_eq!(insert(None).unwrap(), Some(1));
    assert_eq!(insert(Some(0)).unwrap(), Some(2));
    assert_eq!(insert(Some(50)).unwrap(), None);
    assert_eq!(insert(None).unwrap(), Some(51));

    drop(engine);
    env.cut(3);
    let engine = open(&env);
    let table = engine.table("d", "t").unwrap();
    let insert = |id: Option<i64>| {
        transact(&engine, |transaction| transaction.insert(&table, &row(&table, &[id, None])).map(drop))
    };
    assert_eq!(engine.next_auto_increment(table.id), 52);
    insert(Some(126)).unwrap();
    insert(None).unwrap();
    let full = insert(None).unwrap_err();
    assert_eq!(full.to_string(), "Duplicate entry '127' for key 't.PRIMARY'");
}

/// A catalog written by another version is neither read nor reported as damaged.
#[test]
fn a_catalog_of_another_format_is_named() {
    for (format, by) in [(9, "an older version"), (200, "a newer version")] {
        let env = SimulatedEnv::new();
        let engine = open(&env);
        create(&engine, &spec("t", two_columns(), Vec::new()));
        let mut row = CatalogRow::table(&engine.table("d", "t").unwrap()).unwrap().remove(0);
        row.payload[0] = format;
        let tree = engine.catalog_tree.id();
        let mut plan = CommitPlan::default();
        plan.trees.insert(tree, engine.trees.current(tree).unwrap());
        plan.ops = vec![Op::PutRow { table: TableId::CATALOG, tree, key: row.key, payload: row.payload }];
        let (_, end) = commit_plan(&engine, plan, &mut |_| Ok(())).unwrap();
        engine.store.commit_durable(end).unwrap();
        drop(engine);
        let error = Engine::open(std::sync::Arc::new(env), options()).unwrap_err();
        assert!(matches!(error, TableError::OtherFormat { what: "catalog table", .. }), "{error:?}");
        assert!(!error.is_damage() && error.to_string().contains(by), "{error}");
    }
}
