//! The databases that this process has open.
//!
//! A process opens a directory once, however many connections there are to it; the last connection closes it.
//! Databases that are still open when the interpreter ends are closed then. A process that was forked while databases
//! were open has their files but none of their threads: every use is refused, and it leaves them alone.

use crate::error::{InterfaceError, ProgrammingError, raised_by_api};
use leafline::{Connection, Database, OpenOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The options with which a database is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) create: bool,
    pub(crate) buffer_pool_size: Option<u64>,
    pub(crate) page_size: Option<usize>,
    pub(crate) variables: BTreeMap<String, String>,
}

struct Open {
    path: PathBuf,
    database: Database,
    connections: usize,
    settings: Settings,
}

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());
/// The process that has databases open; 0 if none has.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// Why a database could not be opened.
pub(crate) enum OpenError {
    Database(leafline::Error),
    /// It is open, with another value of this setting.
    OtherSettings(&'static str),
}

impl From<OpenError> for PyErr {
    fn from(error: OpenError) -> PyErr {
        match error {
            OpenError::Database(error) => raised_by_api(&error),
            OpenError::OtherSettings(name) => ProgrammingError::new_err(format!(
                "the database is open in this process, with another value of {name}"
            )),
        }
    }
}

impl From<leafline::Error> for OpenError {
    fn from(error: leafline::Error) -> OpenError {
        OpenError::Database(error)
    }
}

/// Keeps a database open for one connection.
pub(crate) struct Lease {
    path: PathBuf,
    ended: bool,
}

impl Lease {
    /// Ends the lease; the last one closes the database.
    pub(crate) fn end(mut self) -> leafline::Result<()> {
        self.ended = true;
        release(&self.path)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody is left to receive an error; the log has what was committed.
            let _ = release(&self.path);
        }
    }
}

fn release(path: &Path) -> leafline::Result<()> {
    let mut open = OPEN.lock();
    let Some(at) = open.iter().position(|one| one.path == path) else { return Ok(()) };
    open[at].connections -= 1;
    if open[at].connections > 0 {
        return Ok(());
    }
    let last = open.swap_remove(at);
    if open.is_empty() {
        OPENED_BY.store(0, Ordering::SeqCst);
    }
    last.database.close()
}

/// Refuses a process that was forked from the one that has databases open.
pub(crate) fn check_process() -> PyResult<()> {
    let opened_by = OPENED_BY.load(Ordering::SeqCst);
    if opened_by == 0 || opened_by == std::process::id() {
        return Ok(());
    }
    Err(forked())
}

/// Makes the error for a forked process.
pub(crate) fn forked() -> PyErr {
    InterfaceError::new_err(
        "this process was forked from one that had a Leafline database open: open databases after the fork, or start processes \
         with the method 'spawn'",
    )
}

/// Begins a connection to the database in `path`, which is opened unless this process already has it open.
pub(crate) fn open(path: &Path, settings: &Settings) -> Result<(Connection, Lease), OpenError> {
    let mut all = OPEN.lock();
    if let Ok(known) = std::fs::canonicalize(path)
        && let Some(one) = all.iter_mut().find(|one| one.path == known)
    {
        settings.check_against(&one.settings)?;
        let connection = one.database.connect()?;
        one.connections += 1;
        return Ok((connection, Lease { path: known, ended: false }));
    }
    let database = settings.options().open(path)?;
    let connection = database.connect()?;
    let path = database.path().to_owned();
    OPENED_BY.store(std::process::id(), Ordering::SeqCst);
    all.push(Open { path: path.clone(), database, connections: 1, settings: settings.clone() });
    Ok((connection, Lease { path, ended: false }))
}

impl Settings {
    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new().create(self.create);
        if let Some(bytes) = self.buffer_pool_size {
            options = options.buffer_pool_size(bytes);
        }
        if let Some(bytes) = self.page_size {
            options = options.page_size(bytes);
        }
        self.variables.iter().fold(options, |options, (name, value)| options.set(name, value))
    }

    /// Checks that the settings asked for are those of the open database.
    fn check_against(&self, open: &Settings) -> Result<(), OpenError> {
        let differs =
            |name, differs: bool| if differs { Err(OpenError::OtherSettings(name)) } else { Ok(()) };
        differs(
            "buffer_pool_size",
            self.buffer_pool_size.is_some() && self.buffer_pool_size != open.buffer_pool_size,
        )?;
        differs("page_size", self.page_size.is_some() && self.page_size != open.page_size)?;
        differs("variables", !self.variables.is_empty() && self.variables != open.variables)
    }
}

/// Closes every open database when the interpreter ends.
#[pyfunction]
#[pyo3(name = "_close_all")]
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    if check_process().is_err() {
        return Ok(());
    }
    let closed = py.detach(|| {
        let open = std::mem::take(&mut *OPEN.lock());
        OPENED_BY.store(0, Ordering::SeqCst);
        open.into_iter().map(|one| one.database.close()).fold(Ok(()), Result::and)
    });
    closed.map_err(|error| raised_by_api(&error))
}
