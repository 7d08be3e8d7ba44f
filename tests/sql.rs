//! Runs the files of `tests/sqllogictest` against an embedded database, each in a new directory.
//!
//! NULL is written `NULL`, an empty string `(empty)`. An expected error is compared with `ERROR <number>
//! (<SQLSTATE>): <message>`. Connections are sessions of one instance. A connection called `user@host` has the rights
//! of an account, without a password; the others may do everything.

#[path = "support/settings.rs"]
mod settings;
#[path = "support/sqllogictest.rs"]
mod sqllogictest;

use leafline_sql::session::{Outcome, RowStream, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::{MysqlError, TextColumns};
use sqllogictest::{Expected, Record, error_matches, parse};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

/// The result of a statement: the number of rows it changed, or the rows it returned, a line each. Those of CALL are the rows of
/// all its results.
enum Answer {
    Changed(u64),
    Rows(Vec<String>),
}

fn run(session: &mut Session, sql: &str) -> Result<Answer, MysqlError> {
    let mut outcome = session.execute(sql)?;
    let mut rows = None;
    loop {
        match outcome {
            Outcome::Done(done) if rows.is_none() => return Ok(Answer::Changed(done.affected)),
            Outcome::Done(_) => {}
            Outcome::Rows(stream) => read(session, stream, rows.get_or_insert_default())?,
        }
        match session.next_result()? {
            Some(next) => outcome = next,
            None => return Ok(Answer::Rows(rows.unwrap_or_default())),
        }
    }
}

fn read(session: &mut Session, mut stream: RowStream, rows: &mut Vec<String>) -> Result<(), MysqlError> {
    let types = stream.types();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            let values: Vec<String> = (0..types.len()).map(|column| value(&columns, row, column)).collect();
            rows.push(values.join(" ").split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(())
}

/// Whether the suite runs under other variables than the files are written for.
fn is_varied() -> bool {
    !settings::test_variables().is_empty()
}

/// Compares the answer to a statement with `record`. The error describes the difference.
fn check(session: &mut Session, record: &Record) -> Result<(), String> {
    let answer = run(session, &record.sql).map_err(|error| error.to_string());
    match (&record.expected, answer) {
        (Expected::Success, Ok(_)) => Ok(()),
        // The cached pages and the fill of pages decide about plans.
        (Expected::Rows { .. }, Ok(Answer::Rows(_))) if record.sql.starts_with("EXPLAIN") && is_varied() => {
            Ok(())
        }
        (Expected::Changed(expected), Ok(Answer::Changed(found))) if *expected == found => Ok(()),
        (Expected::Changed(_), Ok(Answer::Changed(found))) => Err(format!("{found} rows changed")),
        (Expected::Error(pattern), Err(message)) if error_matches(pattern, &message) => Ok(()),
        (Expected::Rows { order, lines, .. }, Ok(Answer::Rows(found))) => {
            let found = order.apply(found);
            let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
            if order.matches(&order.apply(lines.iter().map(words).collect()), &found) {
                Ok(())
            } else {
                Err(format!("rows are\n{}", found.join("\n")))
            }
        }
        (_, Err(message)) => Err(message),
        (_, Ok(_)) => Err("an error, rows or a count was expected".into()),
    }
}

fn value(columns: &TextColumns<'_>, row: usize, column: usize) -> String {
    let mut text = Vec::new();
    if !columns.append(row, column, &mut text) {
        return "NULL".into();
    }
    match String::from_utf8(text) {
        Ok(text) if text.is_empty() => "(empty)".into(),
        Ok(text) => text,
        Err(error) => error.into_bytes().iter().map(|byte| format!("\\x{byte:02X}")).collect(),
    }
}

fn open(directory: &Path, bulk_load_rows: &str) -> Arc<Instance> {
    let env = Arc::new(DirectoryEnv::open(directory).expect("a directory"));
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 8 << 20;
    options.engine.store.log_capacity_bytes = 32 << 20;
    let files = directory.join("files");
    std::fs::create_dir(&files).expect("a directory for LOAD DATA and OUTFILE");
    options.variables = settings::test_variables();
    options.variables.push(("secure_file_priv".into(), files.to_string_lossy().into_owned()));
    options.variables.push(("leafline_bulk_load_rows".into(), bulk_load_rows.into()));
    Instance::open(env, options).expect("a new database")
}

#[test]
fn sqllogictest_files_pass() {
    // The files expect plans with costs for trees that grew row by row; built trees are fuller.
    pass("0", "");
}

/// Builds trees at each INSERT into an empty table, as if it brought many rows.
#[test]
fn sqllogictest_files_about_changes_pass_with_trees_built_by_every_insert() {
    for files in [
        "bulk",
        "change",
        "create",
        "load",
        "dup",
        "foreign",
        "overflow",
        "keys",
        "partition",
        "snap",
        "temp",
        "trans",
        "types",
    ] {
        pass("1", files);
    }
}

/// Opens a session in the database `test`, or as an account if the name is `user@host[:number]`.
fn connect(instance: &Arc<Instance>, name: &str) -> Session {
    let Some((user, place)) = name.split_once('@') else {
        let mut session = instance.connect().expect("a session");
        session.set_database("test").expect("a database");
        session.allow_several_results(true);
        return session;
    };
    let host = place.split_once(':').map_or(place, |(host, _)| host);
    let (account, _) =
        instance.accounts().login(user, host).unwrap_or_else(|| panic!("{name} is not let in"));
    let id = instance.new_connection_id();
    let mut session = instance.new_session(id, (user, host), Some(account)).expect("a session");
    session.allow_several_results(true);
    session
}

fn pass(bulk_load_rows: &str, about: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sqllogictest");
    let wanted = std::env::var("LEAFLINE_SLT").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(about)))
        .collect();
    files.sort();
    assert!(!files.is_empty() || !wanted.is_empty(), "no files in {}", folder.display());
    let mut failures = Vec::new();
    for file in &files {
        let records = parse(&std::fs::read_to_string(file).expect("a file")).expect("a file of records");
        assert!(!records.is_empty(), "{} has no records", file.display());
        let directory = tempfile::tempdir().expect("a temporary directory");
        let instance = open(directory.path(), bulk_load_rows);
        instance.connect().and_then(|mut first| run(&mut first, "CREATE DATABASE test")).expect("a database");
        let mut sessions: HashMap<String, Session> = HashMap::new();
        for record in &records {
            let session = match sessions.entry(record.connection.clone()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(connect(&instance, &record.connection)),
            };
            if let Err(difference) = check(session, record) {
                failures.push(format!("{}:{}\n{}\n{difference}", file.display(), record.line, record.sql));
            }
        }
        drop(sessions);
        instance.close().expect("a clean end");
    }
    assert!(failures.is_empty(), "{} records fail:\n\n{}", failures.len(), failures.join("\n\n"));
}
