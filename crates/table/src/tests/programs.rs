//! Stored programs in the catalog: names, pieces, the state after the database is opened again or after a crash, and
//! how programs follow databases and tables.

use crate::catalog::*;
use crate::testing::*;
use crate::{Engine, TableError};
use leafline_storage::device::SimulatedEnv;
use leafline_types::words::{DataAccess, EventStatus, ProgramKind, Security, TriggerEvent, TriggerTime};
use leafline_types::{Charset, Collation, IntervalUnit, MysqlError};

fn code(error: TableError) -> u16 {
    MysqlError::from(error).code
}

fn program(kind: ProgramKind, name: &str, attributes: ProgramAttributes) -> ProgramDef {
    ProgramDef {
        id: 0,
        kind,
        database: "d".into(),
        name: name.into(),
        text: format!("{} {name} ..", kind.name()),
        definer: ("joe".into(), "%".into()),
        context: ProgramContext {
            sql_mode: 1 << 21,
            client_charset: Charset::Utf8mb4,
            connection_collation: Collation::Utf8mb4Bin,
            database_collation: Collation::DEFAULT,
        },
        created: 5,
        modified: 6,
        comment: "it's".into(),
        attributes,
    }
}

fn routine(kind: ProgramKind, name: &str) -> ProgramDef {
    let attributes = RoutineDef { deterministic: true, data: DataAccess::NoSql, security: Security::Invoker };
    program(kind, name, ProgramAttributes::Routine(attributes))
}

fn trigger(name: &str, table: &str) -> ProgramDef {
    let (time, event) = (TriggerTime::After, TriggerEvent::Update);
    let attributes = TriggerDef { table: table.into(), time, event, order: 0 };
    program(ProgramKind::Trigger, name, ProgramAttributes::Trigger(attributes))
}

fn event(name: &str) -> ProgramDef {
    let schedule = EventSchedule::Every {
        amount: "1:30".into(),
        unit: IntervalUnit::HourMinute,
        starts: 7,
        ends: Some(8),
    };
    let attributes = EventDef {
        schedule,
        preserve: true,
        status: EventStatus::DisabledOnReplica,
        last_executed: Some(9),
        originator: 3,
        time_zone: "SYSTEM".into(),
    };
    program(ProgramKind::Event, name, ProgramAttributes::Event(attributes))
}

fn with_tables(env: &SimulatedEnv, names: &[&str]) -> std::sync::Arc<Engine> {
    let engine = open(env);
    for database in ["d", "other"] {
        engine.ddl().create_database(database, Collation::DEFAULT, true).unwrap();
    }
    for name in names {
        let table = TableSpec {
            database: "d".into(),
            name: (*name).into(),
            columns: vec![column("a", int(), false)],
            ..TableSpec::default()
        };
        engine.ddl().create_table(&table, false).unwrap();
    }
    engine
}

fn firing(engine: &Engine, table: &str) -> Vec<(String, u32)> {
    let triggers = engine.catalog().triggers_of("d", table);
    triggers.iter().map(|own| (own.name.clone(), own.trigger().unwrap().order)).collect()
}

#[test]
fn programs_of_every_kind_survive_opening_again() {
    let env = SimulatedEnv::new();
    let engine = with_tables(&env, &["t"]);
    let mut long = routine(ProgramKind::Procedure, "P");
    long.text = "x".repeat(5000);
    let all = [long, routine(ProgramKind::Function, "p"), trigger("p", "t"), event("p")];
    for one in &all {
        assert!(engine.ddl().create_program(one.clone(), false, None).unwrap());
    }
    let before: Vec<ProgramDef> = engine.catalog().programs().map(|one| (**one).clone()).collect();
    assert_eq!(before.len(), 4);
    drop(engine);
    let engine = open(&env);
    let catalog = engine.catalog();
    let after: Vec<ProgramDef> = catalog.programs().map(|one| (**one).clone()).collect();
    assert_eq!(after, before);
    let found = |kind, name: &str| catalog.program(kind, "d", name).map(|one| one.name.clone());
    assert_eq!(found(ProgramKind::Procedure, "p").as_deref(), Some("P"), "any case");
    assert_eq!(found(ProgramKind::Trigger, "P"), None, "names of triggers are exact");
    // A shorter text leaves no piece of the longer one.
    let mut shorter = (**catalog.program(ProgramKind::Procedure, "d", "p").unwrap()).clone();
    shorter.text = "short".into();
    engine.ddl().alter_program(shorter.clone()).unwrap();
    drop(engine);
    let engine = open(&env);
    assert_eq!(**engine.catalog().program(ProgramKind::Procedure, "d", "P").unwrap(), shorter);
    assert!(engine.ddl().drop_program(ProgramKind::Procedure, "d", "p").unwrap());
    assert!(!engine.ddl().drop_program(ProgramKind::Procedure, "d", "p").unwrap());
    drop(engine);
    assert_eq!(open(&env).catalog().programs_of("d").count(), 3);
}

#[test]
fn names_are_taken_by_kind() {
    let env = SimulatedEnv::new();
    let engine = with_tables(&env, &["t"]);
    let create = |one: ProgramDef| engine.ddl().create_program(one, false, None).map_err(code);
    let routine = |name| routine(ProgramKind::Procedure, name);
    assert_eq!(create(routine("p")), Ok(true));
    assert_eq!(create(routine("P")), Err(1304));
    assert_eq!(engine.ddl().create_program(routine("P"), true, None).map_err(code), Ok(false));
    assert_eq!(create(trigger("p", "t")), Ok(true));
    assert_eq!(create(trigger("p", "t")), Err(1359));
    assert_eq!(create(trigger("q", "u")), Err(1146));
    assert_eq!(create(event("p")), Ok(true));
    assert_eq!(create(event("P")), Err(1537));
    assert_eq!(create(routine("")), Err(1458));
    assert_eq!(create(ProgramDef { database: "no".into(), ..routine("q") }), Err(1049));
}

#[test]
fn triggers_fire_in_the_order_asked_for() {
    let env = SimulatedEnv::new();
    let engine = with_tables(&env, &["t"]);
    let create =
        |name, next_to| engine.ddl().create_program(trigger(name, "t"), false, next_to).map_err(code);
    let plain = engine.catalog();
    let before = plain.table("d", "t").unwrap();
    create("b", None).unwrap();
    create("d", None).unwrap();
    create("c", Some((true, "b"))).unwrap();
    create("a", Some((false, "b"))).unwrap();
    assert_eq!(create("e", Some((true, "no"))), Err(3011));
    let order = |names: &[&str]| (1u32..).zip(names).map(|(at, name)| ((*name).to_owned(), at)).collect();
    let expected: Vec<(String, u32)> = order(&["a", "b", "c", "d"]);
    assert_eq!(firing(&engine, "t"), expected);
    let now = engine.catalog();
    assert!(!std::sync::Arc::ptr_eq(before, now.table("d", "t").unwrap()), "plans are made anew");
    assert!(now.version() > plain.version());
    drop(engine);
    assert_eq!(firing(&open(&env), "t"), expected);
}

#[test]
fn triggers_follow_their_tables() {
    let env = SimulatedEnv::new();
    let engine = with_tables(&env, &["t", "u"]);
    engine.ddl().create_program(trigger("a", "t"), false, None).unwrap();
    engine.ddl().create_program(trigger("b", "u"), false, None).unwrap();
    // Tables exchange their names.
    let names = [(("d", "t"), ("d", "x")), (("d", "u"), ("d", "t")), (("d", "x"), ("d", "u"))];
    engine.ddl().rename_tables(&names, false).unwrap();
    assert_eq!(firing(&engine, "t"), [("b".to_owned(), 1)]);
    assert_eq!(firing(&engine, "u"), [("a".to_owned(), 1)]);
    let away = engine.ddl().rename_tables(&[(("d", "t"), ("other", "t"))], false);
    assert_eq!(away.map_err(code), Err(1435));
    engine.ddl().truncate_table("d", "t", false).unwrap();
    assert_eq!(firing(&engine, "t"), [("b".to_owned(), 1)]);
    engine.ddl().drop_table("d", "t", false).unwrap();
    assert_eq!(engine.catalog().programs().count(), 1);
    drop(engine);
    let engine = open(&env);
    assert_eq!(firing(&engine, "u"), [("a".to_owned(), 1)]);
    engine.ddl().create_program(routine(ProgramKind::Function, "f"), false, None).unwrap();
    engine.ddl().drop_database("d", false, false).unwrap();
    assert_eq!(engine.catalog().programs().count(), 0);
    drop(engine);
    assert_eq!(open(&env).catalog().programs().count(), 0);
}
