//! The session that a connection, its cursors and its Arrow streams share; one thread uses it at a time.
//!
//! A thread releases the interpreter before it uses the session, so that other threads run meanwhile. Rows that are
//! not read yet belong to the session, by number, and end with the connection. Statements with parameters stay
//! prepared: the [`KEPT`] that were used last.

use crate::error::{InterfaceError, ProgrammingError, raised, raised_by_api};
use crate::parameters::Parameters;
use crate::registry::{Lease, check_process, forked};
use crate::signals;
use leafline::{ColumnMeta, Connection, InterruptHandle, MysqlError};
use leafline_sql::{Chunk, Done, Outcome, OwnFiles, RowStream, Session};
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of statements that stay prepared.
const KEPT: usize = 100;
/// If there are fewer first rows than this, it is worth asking whether these are all.
const FEW: usize = 16;

/// A session and its user.
pub(crate) struct Handle {
    /// The process that opened it.
    process: u32,
    interrupt: InterruptHandle,
    /// The thread that uses it now; 0 if none does.
    user: AtomicUsize,
    open: Mutex<Option<Open>>,
    /// Rows that were dropped while the session was in use.
    discarded: Mutex<Vec<u64>>,
    last_number: AtomicU64,
}

/// An open session.
pub(crate) struct Open {
    rows: HashMap<u64, RowStream>,
    statements: Statements,
    connection: Connection,
    /// Dropped last.
    lease: Lease,
}

/// The result of starting a statement.
pub(crate) enum Started {
    /// There are no rows.
    Done(Done),
    /// The first rows; unless `ended`, there are more to be asked for.
    Rows { columns: Arc<[ColumnMeta]>, chunks: Vec<Arc<Chunk>>, ended: bool },
    /// All results of a procedure, which has run to its end.
    Results(Vec<ResultSet>, Done),
}

/// All rows of one of several results.
pub(crate) struct ResultSet {
    pub(crate) columns: Arc<[ColumnMeta]>,
    pub(crate) chunks: Vec<Arc<Chunk>>,
}

/// The row of OUT and INOUT parameters, and their positions among the arguments.
pub(crate) type OutParameters = (Arc<Chunk>, Vec<usize>);

impl ResultSet {
    /// Reads a result to its end.
    fn read(mut stream: RowStream, session: &mut Session) -> Result<ResultSet, MysqlError> {
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.next_chunk(session)? {
            chunks.push(chunk);
        }
        Ok(ResultSet { columns: stream.columns().clone(), chunks })
    }
}

/// Why the session could not be used, or a statement failed.
pub(crate) enum Failure {
    Closed,
    /// A signal handler asks for the session that the statement it interrupts uses.
    InUse,
    /// A signal handler raised an exception.
    Interrupted,
    /// The thread that uses the session waits for the interpreter, which the caller may have.
    Busy,
    Forked,
    Sql(MysqlError),
    Api(leafline::Error),
}

impl From<MysqlError> for Failure {
    fn from(error: MysqlError) -> Failure {
        Failure::Sql(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Closed | Failure::InUse => ProgrammingError::new_err(failure.to_string()),
            Failure::Interrupted | Failure::Busy => InterfaceError::new_err(failure.to_string()),
            Failure::Forked => forked(),
            Failure::Sql(error) => raised(&error),
            Failure::Api(error) => raised_by_api(&error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Closed => f.write_str("the connection is closed"),
            Failure::InUse => f.write_str("the connection is running the statement that was interrupted"),
            Failure::Interrupted => f.write_str("interrupted"),
            Failure::Busy => f.write_str("the connection is in use by another thread"),
            Failure::Forked => f.write_str("the connection is another process's"),
            Failure::Sql(error) => write!(f, "{} ({}): {}", error.code, error.state(), error.message),
            Failure::Api(error) => write!(f, "{} ({}): {error}", error.code(), error.sqlstate()),
        }
    }
}

impl Handle {
    pub(crate) fn new(connection: Connection, lease: Lease) -> Handle {
        Handle {
            process: std::process::id(),
            interrupt: connection.interrupt_handle(),
            user: AtomicUsize::new(0),
            open: Mutex::new(Some(Open {
                rows: HashMap::new(),
                statements: Statements::default(),
                connection,
                lease,
            })),
            discarded: Mutex::default(),
            last_number: AtomicU64::new(0),
        }
    }

    /// Returns a new number for rows.
    pub(crate) fn number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Runs `work` with the session, without the interpreter.
    pub(crate) fn run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Open) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        self.check()?;
        let main = signals::is_main_thread(py)?;
        let result = py.detach(|| self.work(self.lock(main)?, main, work));
        match signals::take_raised().filter(|_| main) {
            Some(raised) => Err(raised),
            None => Ok(result?),
        }
    }

    /// Runs `work` for a caller that may or may not have the interpreter, or that a thread with the interpreter may
    /// wait for: a consumer of an Arrow stream. It must not ask for the interpreter.
    pub(crate) fn run_blindly<R>(
        &self,
        work: impl FnOnce(&mut Open) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        if self.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let main = signals::is_known_main_thread();
        self.work(self.lock_blindly()?, main, work)
    }

    fn work<R>(
        &self,
        mut guard: MutexGuard<'_, Option<Open>>,
        main: bool,
        work: impl FnOnce(&mut Open) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let _user = User::new(&self.user);
        let open = guard.as_mut().ok_or(Failure::Closed)?;
        for number in self.discarded.lock().drain(..) {
            open.rows.remove(&number);
        }
        match main {
            true => self.interrupt.watched(signals::EVERY, signals::watch(), || work(open)),
            false => work(open),
        }
    }

    fn check(&self) -> PyResult<()> {
        check_process()?;
        if self.process != std::process::id() { Err(forked()) } else { Ok(()) }
    }

    /// Waits for the session. The main thread handles signals meanwhile.
    fn lock(&self, main: bool) -> Result<MutexGuard<'_, Option<Open>>, Failure> {
        if self.user.load(Ordering::Relaxed) == this_thread() {
            return Err(Failure::InUse);
        }
        if !main {
            return Ok(self.open.lock());
        }
        loop {
            if let Some(guard) = self.open.try_lock_for(signals::EVERY) {
                return Ok(guard);
            }
            if signals::handle() {
                return Err(Failure::Interrupted);
            }
        }
    }

    /// Waits for the session, but not for a user that waits for the interpreter: the caller may have it.
    fn lock_blindly(&self) -> Result<MutexGuard<'_, Option<Open>>, Failure> {
        if self.user.load(Ordering::Relaxed) == this_thread() {
            return Err(Failure::InUse);
        }
        let mut patience = signals::BudgetSettings::default();
        loop {
            if let Some(guard) = self.open.try_lock_for(signals::EVERY) {
                return Ok(guard);
            }
            if patience.is_over() {
                return Err(Failure::Busy);
            }
        }
    }

    /// Interrupts the running statement, from another thread.
    pub(crate) fn interrupt(&self) {
        self.interrupt.interrupt();
    }

    /// Ends the session; the last one closes the database.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check()?;
        let main = signals::is_main_thread(py)?;
        let closed = py.detach(|| {
            let open = self.lock(main)?.take();
            open.map_or(Ok(()), |open| open.close().map_err(Failure::Api))
        });
        match signals::take_raised().filter(|_| main) {
            Some(raised) => Err(raised),
            None => Ok(closed?),
        }
    }

    /// Whether the session has ended. One that is in use has not.
    pub(crate) fn is_closed(&self) -> bool {
        self.open.try_lock().is_some_and(|open| open.is_none())
    }

    /// Drops rows: at once, or when the session is used next.
    pub(crate) fn discard(&self, number: u64) {
        if self.process != std::process::id() {
            return;
        }
        match self.open.try_lock() {
            Some(mut open) => drop(open.as_mut().and_then(|open| open.rows.remove(&number))),
            None => self.discarded.lock().push(number),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(open) = self.open.get_mut().take() else { return };
        if self.process != std::process::id() {
            // The files and locks belong to the other process.
            std::mem::forget(open);
            return;
        }
        let mut open = Some(open);
        // Closing a database takes time, so the interpreter is released, if there is still one.
        Python::try_attach(|py| py.detach(|| drop(open.take())));
    }
}

impl Open {
    fn close(self) -> leafline::Result<()> {
        let Open { rows, statements: _, connection, lease } = self;
        drop(rows);
        drop(connection);
        lease.end()
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        self.connection.session()
    }

    /// Runs a statement; its rows, if it returns any, get `number`.
    pub(crate) fn start(
        &mut self,
        number: u64,
        sql: &str,
        parameters: Parameters,
    ) -> Result<Started, Failure> {
        self.rows.remove(&number);
        let mut stream = match self.outcome(sql, parameters)? {
            Outcome::Done(done) => return Ok(Started::Done(done)),
            Outcome::Rows(stream) => stream,
        };
        let session = self.connection.session();
        if session.has_more_results() {
            let results = read_results(stream, session);
            if results.is_err() {
                session.give_up_results();
            }
            return Ok(results?);
        }
        let columns = stream.columns().clone();
        let (mut chunks, mut ended) = (Vec::new(), false);
        loop {
            match stream.next_chunk(session)? {
                Some(chunk) => chunks.push(chunk),
                None => ended = true,
            }
            if ended || chunks.iter().map(|chunk| chunk.rows()).sum::<usize>() >= FEW {
                break;
            }
        }
        if !ended {
            self.rows.insert(number, stream);
        }
        Ok(Started::Rows { columns, chunks, ended })
    }

    /// Takes the OUT and INOUT parameters of the CALL that has just run: a row, and their positions among the
    /// arguments.
    pub(crate) fn out_parameters(&mut self) -> Result<Option<OutParameters>, Failure> {
        let session = self.connection.session();
        let positions = session.out_parameter_numbers().to_vec();
        let Some(mut row) = session.out_parameters()? else { return Ok(None) };
        Ok(row.next_chunk(session)?.map(|chunk| (chunk, positions)))
    }

    fn outcome(&mut self, sql: &str, parameters: Parameters) -> Result<Outcome, MysqlError> {
        let session = self.connection.session();
        if parameters.is_empty() {
            return session.execute_with_files(sql, &mut OwnFiles);
        }
        let statement = self.statements.prepare(session, sql)?;
        let values = parameters.into_values(session)?;
        session.execute_prepared(statement, &values)
    }

    /// Runs a statement without rows once for each of `all`; returns how many rows were affected, and the last
    /// AUTO_INCREMENT value.
    pub(crate) fn run_all(&mut self, sql: &str, all: Vec<Parameters>) -> Result<Many, Failure> {
        let session = self.connection.session();
        let statement = self.statements.prepare(session, sql)?;
        let all = all.into_iter().map(|parameters| parameters.into_values(session));
        let all = all.collect::<Result<Vec<_>, MysqlError>>()?;
        let done = session.execute_prepared_many(statement, &all)?;
        session.give_up_results();
        Ok(Many { rows: done.matched, last_row: done.insert_id, gave_rows: done.gave_rows })
    }

    /// Returns the next rows of `number`; `None` if there are no more.
    pub(crate) fn next_chunk(&mut self, number: u64) -> Result<Option<Arc<Chunk>>, Failure> {
        let Some(stream) = self.rows.get_mut(&number) else { return Ok(None) };
        let next = stream.next_chunk(self.connection.session());
        if !matches!(next, Ok(Some(_))) {
            self.rows.remove(&number);
        }
        Ok(next?)
    }

    /// Gives the rows of `number` the number `other`.
    pub(crate) fn hand_over(&mut self, number: u64, other: u64) {
        if let Some(stream) = self.rows.remove(&number) {
            self.rows.insert(other, stream);
        }
    }
}

/// Runs a procedure to its end: whatever the caller does next, its statements were run. `first` is its first result.
fn read_results(first: RowStream, session: &mut Session) -> Result<Started, MysqlError> {
    let mut results = vec![ResultSet::read(first, session)?];
    while let Some(outcome) = session.next_result()? {
        match outcome {
            Outcome::Rows(rows) => results.push(ResultSet::read(rows, session)?),
            Outcome::Done(done) => return Ok(Started::Results(results, done)),
        }
    }
    Ok(Started::Results(results, Done::default()))
}

/// The result of many runs of a statement.
#[derive(Default)]
pub(crate) struct Many {
    pub(crate) rows: u64,
    pub(crate) last_row: Option<u64>,
    /// Whether the statement returned rows, and was therefore run only once.
    pub(crate) gave_rows: bool,
}

/// Prepared statements, by their text.
#[derive(Default)]
struct Statements {
    prepared: HashMap<Box<str>, Kept>,
    uses: u64,
}

struct Kept {
    id: u32,
    last_use: u64,
}

impl Statements {
    fn prepare(&mut self, session: &mut Session, sql: &str) -> Result<u32, MysqlError> {
        self.uses += 1;
        if let Some(kept) = self.prepared.get_mut(sql) {
            kept.last_use = self.uses;
            return Ok(kept.id);
        }
        let id = session.prepare(sql)?.id;
        if self.prepared.len() >= KEPT {
            let oldest = self.prepared.iter().min_by_key(|(_, kept)| kept.last_use);
            if let Some(text) = oldest.map(|(text, _)| text.clone())
                && let Some(kept) = self.prepared.remove(&text)
            {
                session.close_prepared(kept.id);
            }
        }
        self.prepared.insert(sql.into(), Kept { id, last_use: self.uses });
        Ok(id)
    }
}

/// Records the thread that uses a session.
struct User<'h>(&'h AtomicUsize);

impl<'h> User<'h> {
    fn new(user: &'h AtomicUsize) -> User<'h> {
        user.store(this_thread(), Ordering::Relaxed);
        User(user)
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Returns a number that no other living thread has, and never 0.
fn this_thread() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}
