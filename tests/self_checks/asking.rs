//! A database of a seed, sessions on it, and their answers.

use super::rows::values_of;
use super::settings::test_variables;
use leafline_sql::session::{Outcome, Session};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::FlushPolicy;
use leafline_storage::device::DirectoryEnv;
use leafline_types::MysqlError;
use std::sync::Arc;

/// Errors that are acceptable in place of an answer: a number out of range, collations that do not mix.
const TOLERATED: [u16; 2] = [1690, 1267];

/// Rows as text, or an error number.
pub type Rows = Result<Vec<String>, u16>;

/// A database that is removed on drop.
pub struct Database {
    pub instance: Arc<Instance>,
    _directory: tempfile::TempDir,
}

impl Database {
    /// Makes a database with a buffer pool of `pages` pages.
    pub fn new(pages: u64) -> Database {
        let directory = tempfile::tempdir().expect("a directory");
        let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
        let mut options = InstanceOptions { variables: test_variables(), ..InstanceOptions::default() };
        // Small pages, so that small tables have many.
        options.engine.store.page_size = 4096;
        options.engine.store.buffer_pool_bytes = pages * 4096;
        options.engine.store.flush_log_at_commit = FlushPolicy::EverySecond;
        let instance = Instance::open(env, options).expect("a database");
        Database { instance, _directory: directory }
    }

    pub fn close(self) {
        self.instance.close().expect("a clean end");
    }

    pub fn connect(&self, seed: u64) -> Asking {
        let session = self.instance.connect().expect("a session");
        Asking { session, seed, unexpected: Vec::new(), traced: is_traced() }
    }
}

/// Whether every statement is printed.
pub fn is_traced() -> bool {
    std::env::var_os("LEAFLINE_TRACE").is_some()
}

/// A session, and the seed for messages.
pub struct Asking {
    pub session: Session,
    pub seed: u64,
    /// Errors that no query should have.
    pub unexpected: Vec<String>,
    traced: bool,
}

impl Asking {
    /// Runs a statement that must succeed; returns the number of rows changed.
    pub fn execute(&mut self, sql: &str) -> u64 {
        self.trace(sql);
        match self.session.execute(sql) {
            Ok(Outcome::Done(done)) => done.affected,
            Ok(Outcome::Rows(_)) => panic!("LEAFLINE_SEED={}: rows of {sql}", self.seed),
            Err(error) => panic!("LEAFLINE_SEED={}: {error}: {sql}", self.seed),
        }
    }

    /// Runs a change that may fail.
    pub fn change(&mut self, sql: &str) -> Result<u64, u16> {
        self.trace(sql);
        match self.session.execute(sql) {
            Ok(Outcome::Done(done)) => Ok(done.affected),
            Ok(Outcome::Rows(_)) => panic!("LEAFLINE_SEED={}: rows of {sql}", self.seed),
            Err(error) => Err(error.code),
        }
    }

    fn trace(&self, sql: &str) {
        if self.traced {
            println!("{}: {sql};", self.session.connection_id());
        }
    }

    /// Returns rows in the order in which they come.
    pub fn ordered(&mut self, sql: &str) -> Rows {
        self.trace(sql);
        read(&mut self.session, sql).map_err(|error| {
            if !TOLERATED.contains(&error.code) {
                self.unexpected.push(format!("LEAFLINE_SEED={}: {error}: {sql}", self.seed));
            }
            error.code
        })
    }

    /// Returns rows in the order of their text.
    pub fn rows(&mut self, sql: &str) -> Rows {
        let mut rows = self.ordered(sql)?;
        rows.sort_unstable();
        Ok(rows)
    }

    /// Returns the number that a query selects.
    pub fn number(&mut self, sql: &str) -> Result<i64, u16> {
        let rows = self.rows(sql)?;
        Ok(rows.first().and_then(|row| row.trim_end_matches('|').parse().ok()).unwrap_or(0))
    }
}

/// Returns the rows of a statement, with a bar behind each value.
fn read(session: &mut Session, sql: &str) -> Result<Vec<String>, MysqlError> {
    let value = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned()) + "|";
    let rows = values_of(session, sql)?.into_iter();
    Ok(rows.map(|row| row.into_iter().map(value).collect()).collect())
}
