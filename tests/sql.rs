//! Runs the files of `tests/sqllogictest` against an embedded database, each in a new directory.
//!
//! The format is sqllogictest's. NULL is written `NULL`, an empty string `(empty)`. An expected error is a regular
//! expression over `ERROR <number> (<SQLSTATE>): <message>`. Connections are sessions of one instance.

use leafline_sql::session::{Outcome, Session};
use leafline_sql::text_format::TextColumns;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use leafline_types::MysqlError;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use std::path::Path;
use std::sync::Arc;

struct SessionDb(Session);

impl DB for SessionDb {
    type Error = MysqlError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, MysqlError> {
        let mut stream = match self.0.execute(sql)? {
            Outcome::Done(done) => return Ok(DBOutput::StatementComplete(done.affected)),
            Outcome::Rows(stream) => stream,
        };
        let types = stream.types();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch(&mut self.0)? {
            let columns = TextColumns::new(&batch, &types);
            for row in 0..batch.rows {
                rows.push((0..types.len()).map(|column| value(&columns, row, column)).collect());
            }
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; types.len()], rows })
    }

    fn engine_name(&self) -> &str {
        "leafline"
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

fn open(directory: &Path) -> Arc<Instance> {
    let env = Arc::new(DirectoryEnv::open(directory).expect("a directory"));
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 8 << 20;
    options.engine.store.log_capacity_bytes = 32 << 20;
    Instance::open(env, options).expect("a new database")
}

#[test]
fn sqllogictest_files_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sqllogictest");
    let wanted = std::env::var("LEAFLINE_SLT").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {}", folder.display());
    let mut failures = Vec::new();
    for file in &files {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let instance = open(directory.path());
        let mut first = instance.connect().expect("a session");
        for sql in ["CREATE DATABASE test", "USE test"] {
            first.execute(sql).expect("a database");
        }
        drop(first);
        let for_sessions = instance.clone();
        let mut runner = Runner::new(move || {
            let session = for_sessions.connect().and_then(|mut session| {
                session.set_database("test")?;
                Ok(SessionDb(session))
            });
            async move { session }
        });
        if let Err(error) = runner.run_file(file) {
            failures.push(format!("{}: {}", file.display(), error.display(false)));
        }
        drop(runner);
        instance.close().expect("a clean end");
    }
    assert!(
        failures.is_empty(),
        "{} of {} files fail:\n{}",
        failures.len(),
        files.len(),
        failures.join("\n\n")
    );
}
