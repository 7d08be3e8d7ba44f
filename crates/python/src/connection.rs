//! `connect` and `Connection`.

use crate::cursor::Cursor;
use crate::error;
use crate::handle::{Failure, Handle, Open};
use crate::registry::{self, Settings, check_process};
use leafline_sql::Session;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the database in the directory `path` and begins a connection to it.
///
/// A directory that does not exist, or is empty, becomes a database, unless `create` is False. Connections of one
/// process to one directory share the database; no other process can have it open meanwhile. The last connection
/// closes it.
///
/// database: the schema for names without one. It is created if it does not exist, unless `create` is False.
/// autocommit: whether each statement is a transaction. The default is False, as DB-API requires. buffer_pool_size:
/// memory for pages, in bytes; by default 128 MiB. page_size: bytes of a page, if the database is created now.
/// variables: system variables and their global values, as SET GLOBAL sets them.
#[pyfunction]
#[pyo3(signature = (path, database=None, *, autocommit=false, create=true, buffer_pool_size=None, page_size=None, variables=None))]
#[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
pub(crate) fn connect(
    py: Python<'_>,
    path: PathBuf,
    database: Option<String>,
    autocommit: bool,
    create: bool,
    buffer_pool_size: Option<u64>,
    page_size: Option<usize>,
    variables: Option<BTreeMap<String, Bound<'_, PyAny>>>,
) -> PyResult<Connection> {
    check_process()?;
    let variables = variables.unwrap_or_default().into_iter();
    let variables = variables.map(|(name, value)| Ok((name, value.str()?.to_cow()?.into_owned())));
    let variables = variables.collect::<PyResult<_>>()?;
    let settings = Settings { create, buffer_pool_size, page_size, variables };
    let (connection, lease) = py.detach(|| registry::open(&path, &settings))?;
    let handle = Arc::new(Handle::new(connection, lease));
    handle.run(py, |open| {
        let session = open.session();
        if let Some(name) = &database {
            if create {
                run(session, &format!("CREATE DATABASE IF NOT EXISTS `{}`", name.replace('`', "``")))?;
            }
            session.set_database(name)?;
        }
        set_autocommit(session, autocommit)
    })?;
    Ok(Connection { handle, path })
}

fn run(session: &mut Session, sql: &str) -> Result<(), Failure> {
    session.execute(sql)?;
    Ok(())
}

fn set_autocommit(session: &mut Session, on: bool) -> Result<(), Failure> {
    if session.autocommit() == on {
        Ok(())
    } else {
        run(session, &format!("SET autocommit = {}", u8::from(on)))
    }
}

/// A connection: a session with its transaction. Threads may share it; one uses it at a time.
///
/// As a context manager it commits when the block ends, and rolls back when the block raises; it stays open.
#[pyclass(frozen, weakref, module = "leafline")]
pub(crate) struct Connection {
    pub(crate) handle: Arc<Handle>,
    path: PathBuf,
}

impl Connection {
    fn run(&self, py: Python<'_>, sql: &'static str) -> PyResult<()> {
        self.handle.run(py, |open| run(open.session(), sql))
    }
}

#[pymethods]
impl Connection {
    /// Returns a new cursor.
    fn cursor(slf: &Bound<'_, Self>) -> Cursor {
        Cursor::new(slf.clone().unbind(), slf.get().handle.clone())
    }

    /// Commits the transaction: when this returns, it is durable.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, "COMMIT")
    }

    /// Rolls the transaction back.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, "ROLLBACK")
    }

    /// Rolls the transaction back and ends the connection. The last connection closes the database.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.close(py)
    }

    /// Whether the connection was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Runs a statement with a new cursor, and returns the cursor.
    #[pyo3(signature = (operation, parameters=None, /))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        operation: &str,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Bound::new(slf.py(), Connection::cursor(slf))?;
        cursor.get().run(slf.py(), operation, parameters)?;
        Ok(cursor)
    }

    /// Runs a statement with each of many parameters, with a new cursor, and returns the cursor.
    #[pyo3(signature = (operation, seq_of_parameters, /))]
    fn executemany<'py>(
        slf: &Bound<'py, Self>,
        operation: &str,
        seq_of_parameters: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Bound::new(slf.py(), Connection::cursor(slf))?;
        cursor.get().run_many(slf.py(), operation, seq_of_parameters)?;
        Ok(cursor)
    }

    /// Interrupts the statement that the connection runs, from another thread: it fails with error 1317.
    fn interrupt(&self) {
        self.handle.interrupt();
    }

    /// Whether each statement is a transaction. Turning it on commits the one that is open.
    #[getter]
    fn autocommit(&self, py: Python<'_>) -> PyResult<bool> {
        self.handle.run(py, |open| Ok(open.session().autocommit()))
    }

    #[setter]
    fn set_autocommit(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.handle.run(py, |open| set_autocommit(open.session(), on))
    }

    /// Whether a transaction is open.
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        self.handle.run(py, |open| Ok(open.session().in_transaction()))
    }

    /// The directory of the database, as it was given.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (exc_type, exc_value, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exc_type: &Bound<'_, PyAny>,
        exc_value: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let _ = (exc_value, traceback);
        self.run(py, if exc_type.is_none() { "COMMIT" } else { "ROLLBACK" })?;
        Ok(false)
    }

    fn __repr__(&self) -> String {
        let state = if self.handle.is_closed() { "closed" } else { "open" };
        format!("<leafline.Connection to {} ({state})>", self.path.display())
    }

    #[classattr]
    #[pyo3(name = "Warning")]
    fn warning(py: Python<'_>) -> Bound<'_, PyType> {
        error::Warning::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "Error")]
    fn error(py: Python<'_>) -> Bound<'_, PyType> {
        error::Error::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "InterfaceError")]
    fn interface_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::InterfaceError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "DatabaseError")]
    fn database_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::DatabaseError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "DataError")]
    fn data_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::DataError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "OperationalError")]
    fn operational_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::OperationalError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "IntegrityError")]
    fn integrity_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::IntegrityError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "InternalError")]
    fn internal_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::InternalError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "ProgrammingError")]
    fn programming_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::ProgrammingError::type_object(py)
    }

    #[classattr]
    #[pyo3(name = "NotSupportedError")]
    fn not_supported_error(py: Python<'_>) -> Bound<'_, PyType> {
        error::NotSupportedError::type_object(py)
    }
}

/// The state of a transaction around many statements of a connection with autocommit.
pub(crate) struct Bracket {
    /// Whether the connection had autocommit on and no transaction open.
    own: bool,
}

impl Bracket {
    pub(crate) fn begin(open: &mut Open) -> Result<Bracket, Failure> {
        let session = open.session();
        let own = session.autocommit() && !session.in_transaction();
        if own {
            run(session, "BEGIN")?;
        }
        Ok(Bracket { own })
    }

    pub(crate) fn end(&self, open: &mut Open, succeeded: bool) -> Result<(), Failure> {
        if !self.own {
            return Ok(());
        }
        run(open.session(), if succeeded { "COMMIT" } else { "ROLLBACK" })
    }
}
