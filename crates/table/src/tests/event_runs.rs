//! The runs of events as the catalog notes them: the version that plans check, the last run, crashes in between.

use crate::Engine;
use crate::catalog::*;
use crate::testing::*;
use leafline_storage::device::SimulatedEnv;
use leafline_types::words::{EventStatus, ProgramKind};
use leafline_types::{Charset, Collation, IntervalUnit};
use std::sync::Arc;

const SECOND: i64 = 1_000_000;

fn with_event(env: &SimulatedEnv, preserve: bool) -> (Arc<Engine>, Arc<ProgramDef>) {
    let engine = open(env);
    engine.ddl().create_database("d", Collation::DEFAULT, true).unwrap();
    let unit = IntervalUnit::Second;
    let attributes = EventDef {
        schedule: EventSchedule::Every { amount: "1".into(), unit, starts: 0, ends: None },
        preserve,
        status: EventStatus::Enabled,
        last_executed: None,
        originator: 1,
        time_zone: "+00:00".into(),
    };
    let program = ProgramDef {
        id: 0,
        kind: ProgramKind::Event,
        database: "d".into(),
        name: "e".into(),
        text: "EVENT e ..".into(),
        definer: ("joe".into(), "%".into()),
        context: ProgramContext {
            sql_mode: 0,
            client_charset: Charset::Utf8mb4,
            connection_collation: Collation::Utf8mb4Bin,
            database_collation: Collation::DEFAULT,
        },
        created: 5,
        modified: 6,
        comment: String::new(),
        attributes: ProgramAttributes::Event(attributes),
    };
    assert!(engine.ddl().create_program(program, false, None).unwrap());
    let known = event(&engine).unwrap();
    (engine, known)
}

fn event(engine: &Engine) -> Option<Arc<ProgramDef>> {
    engine.catalog().program(ProgramKind::Event, "d", "e").cloned()
}

fn last_executed(engine: &Engine) -> Option<i64> {
    event(engine).and_then(|event| event.event().unwrap().last_executed)
}

#[test]
fn a_run_that_is_not_the_last_is_noted_in_seconds_and_leaves_the_version() {
    let env = SimulatedEnv::new();
    let (engine, known) = with_event(&env, false);
    let version = engine.catalog().version();
    for (at, noted) in [(10 * SECOND + 7, 10), (10 * SECOND + 9, 10), (12 * SECOND, 12), (11 * SECOND, 12)] {
        assert!(engine.ddl().begin_event_run(&known, Some(at), false).unwrap().is_some());
        assert_eq!(last_executed(&engine), Some(noted * SECOND));
    }
    assert_eq!((engine.catalog().version(), engine.catalog_version()), (version, version));
    engine.close().unwrap();
    drop(engine);
    assert_eq!(last_executed(&open(&env)), Some(12 * SECOND), "it is kept");
}

#[test]
fn an_altered_event_keeps_the_time_of_a_run_that_its_new_definition_does_not_know() {
    let env = SimulatedEnv::new();
    let (engine, known) = with_event(&env, false);
    engine.ddl().begin_event_run(&known, Some(3 * SECOND), false).unwrap();
    engine.ddl().alter_program(ProgramDef { comment: "new".into(), ..(*known).clone() }).unwrap();
    assert_eq!(last_executed(&engine), Some(3 * SECOND));
}

#[test]
fn the_last_run_is_durable_before_the_body_runs_and_begins_once() {
    for preserve in [false, true] {
        let env = SimulatedEnv::new();
        let (engine, known) = with_event(&env, preserve);
        let version = engine.catalog().version();
        assert!(engine.ddl().begin_event_run(&known, Some(SECOND), true).unwrap().is_some());
        assert!(engine.catalog().version() > version);
        assert_eq!(engine.ddl().begin_event_run(&known, Some(SECOND), true).unwrap(), None, "it has begun");
        let after = open(&env.snapshot());
        let status = event(&after).map(|event| event.event().unwrap().status);
        assert_eq!(status, preserve.then_some(EventStatus::Disabled));
        assert_eq!(last_executed(&after), preserve.then_some(SECOND));
    }
}

#[test]
fn an_event_that_was_changed_or_dropped_meanwhile_does_not_run() {
    let env = SimulatedEnv::new();
    let (engine, known) = with_event(&env, false);
    let begins = || engine.ddl().begin_event_run(&known, Some(SECOND), false).unwrap().is_some();
    let mut changed = (*known).clone();
    if let ProgramAttributes::Event(event) = &mut changed.attributes {
        event.status = EventStatus::Disabled;
    }
    engine.ddl().alter_program(changed).unwrap();
    assert!(!begins());
    engine.ddl().alter_program((*known).clone()).unwrap();
    assert!(begins());
    assert!(engine.ddl().drop_program(ProgramKind::Event, "d", "e").unwrap());
    assert!(!begins());
}
