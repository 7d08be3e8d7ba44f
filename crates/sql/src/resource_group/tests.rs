//! Stored groups, and the processors that statements run on.

use super::thread::processors;
use crate::{Instance, InstanceOptions, Outcome, Session};
use leafline_storage::device::SimulatedEnv;
use leafline_types::{MysqlError, Value, value_at};
use rustix::thread::{Pid, gettid, sched_getaffinity};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, MysqlError> {
    let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        for row in 0..batch.rows {
            rows.push(batch.columns.iter().zip(&types).map(|(c, ty)| value_at(c, row, ty)).collect());
        }
    }
    Ok(rows)
}

fn shown(session: &mut Session) -> String {
    let sql = "SELECT CONCAT_WS(' ', resource_group_name, resource_group_type, resource_group_enabled, vcpu_ids, \
               thread_priority) FROM information_schema.resource_groups";
    let rows = run(session, sql).unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect();
    lines.join("\n")
}

#[test]
fn processors_are_shown_as_ranges() {
    for (processors, text) in [
        (&[][..], ""),
        (&[3], "3"),
        (&[0, 1, 2, 3], "0-3"),
        (&[1, 2, 4, 5, 7], "1-2,4-5,7"),
        (&[0, 2], "0,2"),
    ] {
        assert_eq!(super::ranges_text(processors), text);
    }
}

#[test]
fn groups_are_kept() {
    let env = Arc::new(SimulatedEnv::new());
    let open = || Instance::open(env.clone(), InstanceOptions::default()).unwrap();
    let last = processors().pop().unwrap();
    let instance = open();
    let sets_priority = instance.resource_groups().sets_priority;
    let mut session = instance.connect().unwrap();
    for sql in [
        format!("CREATE RESOURCE GROUP one TYPE = USER VCPU = {last} THREAD_PRIORITY = 7"),
        "CREATE RESOURCE GROUP `Two` TYPE = SYSTEM THREAD_PRIORITY = -3 DISABLE".to_owned(),
        "CREATE RESOURCE GROUP three TYPE = USER".to_owned(),
        "ALTER RESOURCE GROUP TWO ENABLE".to_owned(),
        "DROP RESOURCE GROUP three".to_owned(),
    ] {
        run(&mut session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let before = shown(&mut session);
    let (low, high) = if sets_priority { (7, -3) } else { (0, 0) };
    assert!(before.contains(&format!("one USER 1 {last} {low}")), "{before}");
    assert!(before.contains("Two SYSTEM 1 ") && before.contains(&format!(" {high}\n")), "{before}");
    drop(session);
    instance.close().unwrap();
    drop(instance);
    let instance = open();
    assert_eq!(shown(&mut instance.connect().unwrap()), before);
}

#[test]
fn a_priority_that_a_group_cannot_have_is_refused_or_ignored() {
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
    let mut session = instance.connect().unwrap();
    let result = run(&mut session, "CREATE RESOURCE GROUP g TYPE = USER THREAD_PRIORITY = -5");
    if instance.resource_groups().sets_priority {
        let error = result.unwrap_err();
        let text = "Invalid thread priority value -5 for User resource group g. Allowed range is [0, 19].";
        assert_eq!((error.code, error.message.as_ref()), (3654, text));
    } else {
        result.unwrap();
        assert_eq!(run(&mut session, "SHOW WARNINGS").unwrap()[0][1], Value::Int(3659));
        assert!(shown(&mut session).contains("g USER 1"));
    }
}

/// Runs a statement that waits, and checks the processors of its thread while it waits.
fn waits_on(instance: &Arc<Instance>, before: &'static str, sql: &'static str, expected: &[u32]) {
    let mut holder = instance.connect().unwrap();
    run(&mut holder, "SELECT GET_LOCK('gate', 0)").unwrap();
    let (tell, told) = mpsc::channel::<Pid>();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let mut session = instance.connect().unwrap();
            let own = processors();
            run(&mut session, before).unwrap();
            assert_eq!(processors(), own, "{before}");
            tell.send(gettid()).unwrap();
            let rows = run(&mut session, sql).unwrap();
            assert_eq!(rows, vec![vec![Value::Int(1)]]);
            assert_eq!(processors(), own, "{sql}");
            run(&mut session, "SELECT RELEASE_LOCK('gate')").unwrap();
        });
        let thread = told.recv().unwrap();
        let begun = Instant::now();
        let mut seen = Vec::new();
        while seen != expected && begun.elapsed() < Duration::from_secs(60) && !waiting.is_finished() {
            let set = sched_getaffinity(Some(thread)).unwrap();
            seen = (0..1024).filter(|number| set.is_set(*number as usize)).collect();
        }
        run(&mut holder, "SELECT RELEASE_LOCK('gate')").unwrap();
        assert_eq!(seen, expected, "{sql}");
    });
}

#[test]
fn the_thread_of_a_statement_is_where_its_group_says() {
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
    let all = processors();
    let last = all[all.len() - 1];
    let mut session = instance.connect().unwrap();
    run(&mut session, &format!("CREATE RESOURCE GROUP g TYPE = USER VCPU = {last}")).unwrap();
    waits_on(&instance, "SET RESOURCE GROUP g", "SELECT GET_LOCK('gate', 60)", &[last]);
    waits_on(&instance, "SELECT 1", "SELECT /*+ RESOURCE_GROUP(g) */ GET_LOCK('gate', 60)", &[last]);
    let elsewhere = "SELECT /*+ RESOURCE_GROUP(USR_default) */ GET_LOCK('gate', 60)";
    waits_on(&instance, "SET RESOURCE GROUP g", elsewhere, &all);
    // A change of a group applies to the sessions in it.
    let own = session.connection_id();
    run(&mut session, &format!("SET RESOURCE GROUP g FOR {own}")).unwrap();
    run(&mut session, &format!("ALTER RESOURCE GROUP g VCPU = {}", all[0])).unwrap();
    waits_on(&instance, "SET RESOURCE GROUP g", "SELECT GET_LOCK('gate', 60)", &all[..1]);
    assert_eq!(run(&mut session, "DROP RESOURCE GROUP g").unwrap_err().code, 3656);
    run(&mut session, "DROP RESOURCE GROUP g FORCE").unwrap();
    assert!(session.entry.resource_group().is_none());
}
