//! `Cursor`: statements and their rows.
//!
//! Rows are read as they are asked for. A statement runs until it has its first rows, so that early errors are raised
//! by `execute`. Cursors of one connection may be read in turns, whatever else the connection runs.

use crate::append;
use crate::arrow::{ArrowStream, Batches, capsule};
use crate::connection::{Bracket, Connection};
use crate::error::{InterfaceError, ProgrammingError};
use crate::handle::{Handle, Many, ResultSet, Started};
use crate::parameters::Parameters;
use crate::values::RowReader;
use arrow_array::RecordBatchReader;
use leafline::{ArrowLayout, ColumnFlags, ColumnMeta, SqlType};
use leafline_protocol::column::{field_type, type_byte};
use leafline_sql::Chunk;
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of parameters that are converted before the statement runs with them.
const MANY: usize = 1000;

/// A cursor of a connection. Its rows are read as they are asked for.
#[pyclass(frozen, weakref, module = "leafline")]
pub(crate) struct Cursor {
    connection: Py<Connection>,
    handle: Arc<Handle>,
    /// The number of its rows in the session.
    number: u64,
    state: Mutex<State>,
}

struct State {
    closed: bool,
    arraysize: usize,
    rowcount: i64,
    lastrowid: Option<u64>,
    /// The columns of the last statement, if it returned rows.
    columns: Option<Arc<[ColumnMeta]>>,
    reader: Option<RowReader>,
    /// Rows that were received before they were asked for.
    ready: VecDeque<Arc<Chunk>>,
    /// The results of a procedure behind the current one.
    results: VecDeque<ResultSet>,
    /// Whether the session has no more rows.
    ended: bool,
}

impl State {
    /// Makes the next result of a procedure the current one; returns whether there is one.
    fn next_result(&mut self) -> bool {
        (self.rowcount, self.reader, self.ended) = (-1, None, true);
        let next = self.results.pop_front();
        let is_there = next.is_some();
        (self.columns, self.ready) = match next {
            Some(ResultSet { columns, chunks }) => {
                let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
                self.rowcount = i64::try_from(rows).unwrap_or(i64::MAX);
                (Some(columns), chunks.into())
            }
            None => (None, VecDeque::new()),
        };
        is_there
    }
}

impl Cursor {
    pub(crate) fn new(connection: Py<Connection>, handle: Arc<Handle>) -> Cursor {
        let state = State {
            closed: false,
            arraysize: 1,
            rowcount: -1,
            lastrowid: None,
            columns: None,
            reader: None,
            ready: VecDeque::new(),
            results: VecDeque::new(),
            ended: true,
        };
        Cursor { connection, number: handle.number(), handle, state: Mutex::new(state) }
    }

    /// Drops the last statement and its rows.
    fn begin(&self) -> PyResult<()> {
        let mut state = self.open_state()?;
        (state.rowcount, state.lastrowid, state.columns) = (-1, None, None);
        (state.reader, state.ended) = (None, true);
        state.ready.clear();
        state.results.clear();
        Ok(())
    }

    /// Locks the state. No other thread can hold it, because no thread waits for the interpreter while it does.
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state
            .try_lock()
            .ok_or_else(|| InterfaceError::new_err("another thread reads rows of this cursor"))
    }

    fn open_state(&self) -> PyResult<MutexGuard<'_, State>> {
        let state = self.state()?;
        if state.closed { Err(ProgrammingError::new_err("the cursor is closed")) } else { Ok(state) }
    }

    pub(crate) fn run(
        &self,
        py: Python<'_>,
        operation: &str,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.begin()?;
        let parameters = Parameters::of(parameters)?;
        let started = self.handle.run(py, |open| open.start(self.number, operation, parameters))?;
        let mut state = self.open_state()?;
        match started {
            Started::Done(done) => {
                state.rowcount = i64::try_from(done.matched).unwrap_or(i64::MAX);
                state.lastrowid = Some(done.insert_id).filter(|id| *id != 0);
            }
            Started::Rows { columns, chunks, ended } => {
                if ended {
                    let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
                    state.rowcount = i64::try_from(rows).unwrap_or(i64::MAX);
                }
                (state.columns, state.ready, state.ended) = (Some(columns), chunks.into(), ended);
            }
            Started::Results(results, done) => {
                state.results = results.into();
                state.next_result();
                state.lastrowid = Some(done.insert_id).filter(|id| *id != 0);
            }
        }
        Ok(())
    }

    pub(crate) fn run_many(&self, py: Python<'_>, operation: &str, all: &Bound<'_, PyAny>) -> PyResult<()> {
        self.begin()?;
        let mut all = all.try_iter()?;
        let bracket = self.handle.run(py, Bracket::begin)?;
        let done = self.run_chunks(py, operation, || {
            let some = all.by_ref().take(MANY).map(|one| Parameters::of(Some(&one?)));
            some.collect::<PyResult<Vec<_>>>()
        });
        let ended = self.handle.run(py, |open| bracket.end(open, done.is_ok()));
        let many = done?;
        ended?;
        let mut state = self.open_state()?;
        state.rowcount = i64::try_from(many.rows).unwrap_or(i64::MAX);
        state.lastrowid = many.last_row;
        Ok(())
    }

    /// Runs a statement with all parameters that `next` returns, until it returns none.
    fn run_chunks(
        &self,
        py: Python<'_>,
        operation: &str,
        mut next: impl FnMut() -> PyResult<Vec<Parameters>>,
    ) -> PyResult<Many> {
        let mut many = Many::default();
        loop {
            let some = next()?;
            if some.is_empty() {
                return Ok(many);
            }
            let more = self.handle.run(py, |open| open.run_all(operation, some))?;
            if more.gave_rows {
                return Err(ProgrammingError::new_err("executemany runs statements that give no rows"));
            }
            many.rows += more.rows;
            many.last_row = more.last_row.or(many.last_row);
            py.check_signals()?;
        }
    }

    /// Returns up to `most` rows.
    fn fetch<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut rows = Vec::new();
        while rows.len() < most {
            let mut state = self.open_state()?;
            if state.columns.is_none() {
                return Err(ProgrammingError::new_err("the last statement gave no rows"));
            }
            if let Some(reader) = state.reader.as_mut().filter(|reader| reader.left() > 0) {
                let wanted = most - rows.len();
                rows.reserve(reader.left().min(wanted));
                for _ in 0..reader.left().min(wanted) {
                    rows.extend(reader.next(py)?);
                }
                continue;
            }
            // Frees the memory for the session to use again.
            state.reader = None;
            if let Some(chunk) = state.ready.pop_front() {
                state.reader = Some(RowReader::new(chunk));
                continue;
            }
            if state.ended {
                break;
            }
            drop(state);
            let chunk = self.handle.run(py, |open| open.next_chunk(self.number))?;
            let mut state = self.open_state()?;
            state.ended |= chunk.is_none();
            state.ready.extend(chunk);
        }
        let mut state = self.open_state()?;
        if state.reader.as_ref().is_some_and(|reader| reader.left() == 0) {
            state.reader = None;
        }
        Ok(rows)
    }

    /// Takes the remaining rows out of the cursor.
    fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        let (columns, chunks, skip, ended) = {
            let mut state = self.open_state()?;
            let Some(columns) = state.columns.clone() else {
                return Err(ProgrammingError::new_err("the last statement gave no rows"));
            };
            let mut chunks = std::mem::take(&mut state.ready);
            let mut skip = 0;
            if let Some(reader) = state.reader.take() {
                let (chunk, read) = reader.rest();
                chunks.push_front(chunk.clone());
                skip = read;
            }
            (columns, chunks, skip, std::mem::replace(&mut state.ended, true))
        };
        let number = self.handle.number();
        if !ended {
            self.handle.run(py, |open| {
                open.hand_over(self.number, number);
                Ok(())
            })?;
        }
        Ok(Batches::new(self.handle.clone(), number, ArrowLayout::new(&columns), chunks, skip))
    }
}

#[pymethods]
impl Cursor {
    /// Runs a statement. Its parameters are `?`. Returns the cursor.
    #[pyo3(signature = (operation, parameters=None, /))]
    fn execute<'py>(
        slf: Bound<'py, Self>,
        operation: &str,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        slf.get().run(slf.py(), operation, parameters)?;
        Ok(slf)
    }

    /// Runs a statement, prepared once, with each of many parameters. With autocommit they are one transaction. Returns the cursor.
    #[pyo3(signature = (operation, seq_of_parameters, /))]
    fn executemany<'py>(
        slf: Bound<'py, Self>,
        operation: &str,
        seq_of_parameters: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        slf.get().run_many(slf.py(), operation, seq_of_parameters)?;
        Ok(slf)
    }

    /// Calls a procedure, which may be named with its schema (`schema.name`). Returns the parameters as a list, in
    /// which OUT and INOUT parameters have their values after the call. The results of the procedure's queries are
    /// read like those of `execute`, one after another: `nextset`.
    #[pyo3(signature = (procname, parameters=None, /))]
    fn callproc<'py>(
        &self,
        py: Python<'py>,
        procname: &str,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = match parameters.filter(|given| !given.is_none()) {
            Some(given) => given.try_iter()?.collect::<PyResult<Vec<_>>>()?,
            None => Vec::new(),
        };
        let marks = vec!["?"; given.len()].join(", ");
        let operation = format!("CALL {}({marks})", quoted_name(procname));
        self.run(py, &operation, Some(PyTuple::new(py, &given)?.as_any()))?;
        let list = PyList::new(py, given)?;
        let out = self.handle.run(py, |open| open.out_parameters())?;
        if let Some((chunk, positions)) = out
            && let Some(row) = RowReader::new(chunk).next(py)?
        {
            for (position, value) in positions.into_iter().zip(row.iter()) {
                list.set_item(position, value)?;
            }
        }
        Ok(list)
    }

    /// Returns the next row, or None.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        Ok(self.fetch(py, 1)?.pop())
    }

    /// Returns the next rows: `size` or `arraysize` of them, or fewer if fewer are left.
    #[pyo3(signature = (size=None))]
    fn fetchmany<'py>(&self, py: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let size = match size {
            Some(size) => size,
            None => self.open_state()?.arraysize,
        };
        PyList::new(py, self.fetch(py, size)?)
    }

    /// Returns all remaining rows.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.fetch(py, usize::MAX)?)
    }

    /// Goes on to the next result of a procedure, and drops the rest of this one. Returns True, or None if there are
    /// no more results; other statements have one.
    fn nextset(&self) -> PyResult<Option<bool>> {
        let is_there = self.open_state()?.next_result();
        self.handle.discard(self.number);
        Ok(is_there.then_some(true))
    }

    /// Does nothing.
    #[pyo3(signature = (sizes, /))]
    fn setinputsizes(&self, sizes: &Bound<'_, PyAny>) {
        let _ = sizes;
    }

    /// Does nothing.
    #[pyo3(signature = (size, column=None, /))]
    fn setoutputsize(&self, size: &Bound<'_, PyAny>, column: Option<&Bound<'_, PyAny>>) {
        let _ = (size, column);
    }

    /// Closes the cursor and ends its statement.
    fn close(&self) {
        if let Some(mut state) = self.state.try_lock() {
            state.closed = true;
            state.reader = None;
            state.ready.clear();
            state.results.clear();
        }
        self.handle.discard(self.number);
    }

    /// Returns the remaining rows as a capsule with an `ArrowArrayStream`, which reads them as it is read.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows this to a producer that cannot cast.
        let _ = requested_schema;
        capsule(py, Box::new(self.batches(py)?))
    }

    /// Returns the remaining rows as a `pyarrow.RecordBatchReader`, which reads them as it is read.
    fn fetch_record_batch_reader<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import("pyarrow")?.getattr("RecordBatchReader")?.call_method1("from_stream", (slf,))
    }

    /// Returns the remaining rows as a `pyarrow.Table`.
    fn fetch_arrow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = py.import("pyarrow")?;
        let mut left = self.batches(py)?;
        let mut batches = Vec::new();
        while let Some(batch) = left.next_batch(py)? {
            batches.push(batch);
            py.check_signals()?;
        }
        pyarrow.call_method1("table", (ArrowStream::new(left.schema(), batches),))
    }

    /// Returns the remaining rows as a `pandas.DataFrame`.
    fn df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fetch_arrow_table(py)?.call_method0("to_pandas")
    }

    /// Returns the remaining rows as a `polars.DataFrame`.
    fn pl<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// Appends rows to a table from anything with `__arrow_c_stream__`, such as a `pyarrow.Table` or a DataFrame of
    /// pandas or polars; columns are matched by name. With autocommit they are one transaction. Returns the number of
    /// rows.
    #[pyo3(signature = (table, data, /, *, schema=None))]
    fn append(
        &self,
        py: Python<'_>,
        table: &str,
        data: &Bound<'_, PyAny>,
        schema: Option<&str>,
    ) -> PyResult<u64> {
        self.begin()?;
        let mut rows = append::Rows::of(data)?;
        let statement = rows.statement(table, schema)?;
        let bracket = self.handle.run(py, Bracket::begin)?;
        let done = self.run_chunks(py, &statement, || rows.next_some(py, MANY));
        let ended = self.handle.run(py, |open| bracket.end(open, done.is_ok()));
        let many = done?;
        ended?;
        self.open_state()?.rowcount = i64::try_from(many.rows).unwrap_or(i64::MAX);
        Ok(many.rows)
    }

    /// Name, type code, None, internal size, precision, scale and whether it may be NULL, of each column; None if the
    /// last statement returned no rows.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(columns) = self.state()?.columns.clone() else { return Ok(None) };
        let columns = columns.iter().map(|column| described(py, column)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, columns).map(Some)
    }

    /// How many rows the last statement inserted, deleted, or found to update; for a query how many it returned, -1
    /// if that is not known yet.
    #[getter]
    fn rowcount(&self) -> PyResult<i64> {
        Ok(self.state()?.rowcount)
    }

    /// The AUTO_INCREMENT value that the last statement stored, the first if it generated many, or None.
    #[getter]
    fn lastrowid(&self) -> PyResult<Option<u64>> {
        Ok(self.state()?.lastrowid)
    }

    /// How many rows `fetchmany` reads by default.
    #[getter]
    fn arraysize(&self) -> PyResult<usize> {
        Ok(self.state()?.arraysize)
    }

    #[setter]
    fn set_arraysize(&self, size: usize) -> PyResult<()> {
        self.state()?.arraysize = size;
        Ok(())
    }

    /// The connection.
    #[getter]
    fn connection(&self, py: Python<'_>) -> Py<Connection> {
        self.connection.clone_ref(py)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.fetchone(py)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, exception: &Bound<'_, PyTuple>) -> bool {
        let _ = exception;
        self.close();
        false
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.handle.discard(self.number);
    }
}

/// Returns the name of a procedure, or its schema and its name, in backquotes, unless it has some.
fn quoted_name(name: &str) -> String {
    if name.contains('`') {
        return name.to_owned();
    }
    name.split('.').map(|part| format!("`{part}`")).collect::<Vec<_>>().join(".")
}

/// Returns the entry of a column in `description`.
fn described<'py>(py: Python<'py>, column: &ColumnMeta) -> PyResult<Bound<'py, PyTuple>> {
    let digits = match &column.ty {
        SqlType::Decimal { precision, scale, .. } => Some((*precision, *scale)),
        _ => None,
    };
    let bytes = column.display_bytes(column.collation.charset().max_bytes());
    let nullable = !column.flags.has(ColumnFlags::NOT_NULL);
    let (precision, scale) = digits.unzip();
    (&column.name, type_code(&column.ty), py.None(), bytes, precision, scale, nullable).into_pyobject(py)
}

/// Returns MySQL's number of a type; BLOB's for all binary strings, and for no other type.
fn type_code(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Text { .. } => field_type::VAR_STRING,
        ty if ty.is_bytes() => field_type::BLOB,
        ty => type_byte(ty),
    }
}
