//! Interleaved transactions on three tables, against a model of the states that a crash may leave.
//!
//! One thread and one seed drive several open transactions: statements, savepoints, commits, rollbacks,
//! purges, checkpoints, reads. While a commit is applied, other transactions commit between any two of its
//! steps, and others again while those are applied. The model keeps the commits in the order in which they
//! began, which is their order in the log. A crash leaves the state after some number of them, and at least
//! all acknowledged ones. A commit that was rejected by an error that did not stop the store is never
//! visible.

use super::crash::{read_state, read_tables};
use crate::catalog::TableDef;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::LockLimits;
use crate::options::{ChangeBuffering, EngineOptions};
use crate::testing::*;
use crate::txn::{CommitOutcome, Isolation, Transaction, TxnMode};
use crate::write_set::Mark;
use leafline_btree::Direction;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, StorageError};
use leafline_types::Value;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const TABLES: [&str; 3] = ["t", "p", "h"];
/// The number of open transactions.
const SESSIONS: usize = 5;
/// The depth of commits within commits.
const DEPTH: usize = 3;

type Row = Vec<Value>;
type Rows = BTreeMap<Vec<u8>, Row>;
/// Rows by table and clustered key.
pub(super) type State = [Rows; 3];
/// The writes of a transaction; `None` for a deletion.
type Writes = [BTreeMap<Vec<u8>, Option<Row>>; 3];

#[derive(PartialEq, Clone, Copy, Debug)]
enum Outcome {
    /// Under way, or failed when it might have been in the log.
    InDoubt,
    Acknowledged,
    /// Without effect.
    Refused,
}

struct Commit {
    writes: Writes,
    outcome: Outcome,
}

struct Session {
    transaction: Transaction,
    base: Arc<State>,
    writes: Writes,
    savepoint: Option<(Mark, Writes)>,
}

impl Session {
    fn row(&self, table: usize, key: &[u8]) -> Option<&Row> {
        match self.writes[table].get(key) {
            Some(written) => written.as_ref(),
            None => self.base[table].get(key),
        }
    }
}

struct Core {
    random: SmallRng,
    /// The state before `commits`.
    committed: Arc<State>,
    commits: Vec<Commit>,
    sessions: Vec<Session>,
    next_id: i64,
    depth: usize,
    /// The number of acknowledged commits, and of those that began while another was applied.
    acknowledged: [u64; 2],
}

/// An engine, its open transactions, and its expected contents.
pub(super) struct World {
    pub(super) engine: Arc<Engine>,
    tables: Vec<Arc<TableDef>>,
    core: Mutex<Core>,
    what: String,
}

pub(super) fn open_with(env: &SimulatedEnv, options: &EngineOptions) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone())
}

/// Random options: how commits are logged, and whether pages must leave memory.
pub(super) fn random_options(random: &mut SmallRng) -> EngineOptions {
    let mut options = options();
    options.inline_commit_bytes = [None, Some(0), Some(600)][random.random_range(0..3)];
    options.progress_bytes = [None, Some(500)][random.random_range(0..2)];
    options.store.buffer_pool_bytes = [2 << 20, 256 << 10][random.random_range(0..2)];
    if random.random() {
        options.change_buffering = ChangeBuffering::All;
        options.change_buffer_bytes = Some(24 << 10);
        options.force_change_buffering = random.random();
    }
    options
}

/// Creates the tables.
pub(super) fn create_tables(env: &SimulatedEnv, options: &EngineOptions) {
    let engine = open_with(env, options).unwrap();
    for spec in [keyed_spec(), other_spec(false), other_spec(true)] {
        create(&engine, &spec);
    }
    engine.close().unwrap();
}

/// Reads the contents of the tables; all checks must find them sound.
pub(super) fn state_of(engine: &Arc<Engine>, what: &str) -> State {
    rows_of(read_state(engine, what))
}

/// Reads the contents of the tables after possible faults; all checks of tables must find them sound.
pub(super) fn state_after_faults(engine: &Arc<Engine>, what: &str) -> State {
    rows_of(read_tables(engine, what))
}

fn rows_of(mut found: super::crash::State) -> State {
    TABLES.map(|name| found.remove(name).unwrap_or_default().rows)
}

fn apply(state: &mut State, writes: &Writes) {
    for (rows, writes) in state.iter_mut().zip(writes) {
        for (key, row) in writes {
            match row {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
    }
}

impl World {
    /// Continues with an engine that contains `state`.
    pub(super) fn new(engine: Arc<Engine>, state: State, seed: u64, what: String) -> Result<Arc<World>> {
        let tables = TABLES.map(|name| engine.table("d", name)).into_iter().collect::<Result<_>>()?;
        let core = Core {
            random: SmallRng::seed_from_u64(seed),
            committed: Arc::new(state),
            commits: Vec::new(),
            sessions: Vec::new(),
            // Far from random ids, and from those of an earlier life.
            next_id: 1000 + (seed % 1000) as i64 * 10_000,
            depth: 0,
            acknowledged: [0; 2],
        };
        let world = Arc::new(World { engine, tables, core: Mutex::new(core), what });
        let weak = Arc::downgrade(&world);
        *world.engine.observer.lock() = Some(Arc::new(move || {
            if let Some(world) = weak.upgrade() {
                world.meddle();
            }
        }));
        Ok(world)
    }

    /// The states that a crash now may leave.
    pub(super) fn allowed(&self) -> Vec<State> {
        let core = self.core.lock();
        let mut state = (*core.committed).clone();
        let mut allowed = vec![state.clone()];
        for commit in core.commits.iter().filter(|commit| commit.outcome != Outcome::Refused) {
            apply(&mut state, &commit.writes);
            if commit.outcome == Outcome::Acknowledged {
                allowed.clear();
            }
            allowed.push(state.clone());
        }
        allowed
    }

    /// The states after each beginning of the log, from the last settled one on.
    pub(super) fn passed_through(&self) -> Vec<State> {
        let core = self.core.lock();
        let mut state = (*core.committed).clone();
        let mut passed = vec![state.clone()];
        for commit in core.commits.iter().filter(|commit| commit.outcome != Outcome::Refused) {
            apply(&mut state, &commit.writes);
            passed.push(state.clone());
        }
        passed
    }

    /// The states that readers may see now. If the store has stopped while commits were applied, they may see
    /// less than it will contain after it is opened again: a commit that waits to be finished is not visible,
    /// later ones are.
    fn visible(&self) -> Vec<State> {
        let core = self.core.lock();
        let mut states = vec![(*core.committed).clone()];
        for commit in &core.commits {
            let without = (commit.outcome == Outcome::InDoubt).then(|| states.clone());
            if commit.outcome != Outcome::Refused {
                states.iter_mut().for_each(|state| apply(state, &commit.writes));
            }
            states.extend(without.into_iter().flatten());
        }
        states
    }

    /// A short description of the commits that may be in doubt.
    pub(super) fn describe(&self) -> String {
        let changes = |writes: &Writes| writes.each_ref().map(|rows| rows.len());
        let core = self.core.lock();
        let commits = core.commits.iter().map(|commit| (commit.outcome, changes(&commit.writes)));
        format!("{:?}, stopped: {}", commits.collect::<Vec<_>>(), self.is_stopped())
    }

    /// The state after all commits, none of which is in doubt.
    pub(super) fn committed(&self) -> Arc<State> {
        self.settle();
        self.core.lock().committed.clone()
    }

    /// The number of acknowledged commits, and of those that began while another was applied.
    pub(super) fn acknowledged(&self) -> [u64; 2] {
        self.core.lock().acknowledged
    }

    /// Rolls back the open transactions.
    pub(super) fn roll_back(&self) {
        let sessions = std::mem::take(&mut self.core.lock().sessions);
        drop(sessions);
    }

    /// Includes commits with a known outcome in the state, as long as none is in doubt.
    fn settle(&self) {
        let mut core = self.core.lock();
        if core.commits.iter().any(|commit| commit.outcome == Outcome::InDoubt) {
            return;
        }
        let commits = std::mem::take(&mut core.commits);
        let committed = Arc::make_mut(&mut core.committed);
        for commit in commits.iter().filter(|commit| commit.outcome == Outcome::Acknowledged) {
            apply(committed, &commit.writes);
        }
    }

    /// Returns whether every change is rejected from now on.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.engine.store.reserve(0, 0), Err(StorageError::Poisoned { .. }))
    }

    fn commit(&self, session: Session) -> Result<()> {
        let at = {
            let mut core = self.core.lock();
            core.commits.push(Commit { writes: session.writes, outcome: Outcome::InDoubt });
            core.depth += 1;
            core.commits.len() - 1
        };
        let result = session.transaction.commit();
        let stopped = result.is_err() && self.is_stopped();
        let mut core = self.core.lock();
        core.depth -= 1;
        core.commits[at].outcome = match result {
            // There was nothing to commit, whatever happened to the others.
            Ok(CommitOutcome { ts: None, .. }) => Outcome::Refused,
            Ok(_) => {
                core.acknowledged[0] += 1;
                core.acknowledged[1] += u64::from(core.depth > 0);
                Outcome::Acknowledged
            }
            Err(_) if stopped => Outcome::InDoubt,
            Err(_) => Outcome::Refused,
        };
        result.map(drop)
    }

    /// The work of others between two steps of a commit.
    fn meddle(&self) {
        let (choice, session) = {
            let mut core = self.core.lock();
            let choice = core.random.random_range(0..60);
            let deep = core.depth >= DEPTH || core.sessions.is_empty();
            let session = (choice < 6 && !deep).then(|| {
                let count = core.sessions.len();
                let at = core.random.random_range(0..count);
                core.sessions.swap_remove(at)
            });
            (choice, session)
        };
        let store = &self.engine.store;
        let result = match (choice, session) {
            (_, Some(session)) => self.commit(session),
            (6..=8, _) => store.wait_durable(store.log_end()).map_err(TableError::from),
            (9, _) => store.checkpoint().map_err(TableError::from),
            (10, _) => self.engine.maintenance().purge().map(drop),
            _ => Ok(()),
        };
        // The owner of this commit soon notices a failure.
        if let Err(error) = result {
            assert!(is_device_failure(&error), "{}: {error}", self.what);
        }
    }

    fn begin(&self) {
        let isolation = match self.core.lock().random.random() {
            true => Isolation::ReadCommitted,
            false => Isolation::RepeatableRead,
        };
        let mut transaction = self.engine.transactions().begin(isolation, TxnMode::ReadWrite);
        transaction.snapshot();
        transaction.set_lock_limits(LockLimits { timeout: Duration::ZERO, ..LockLimits::default() });
        let base = self.committed();
        let session = Session { transaction, base, writes: Writes::default(), savepoint: None };
        self.core.lock().sessions.push(session);
    }

    /// Takes one of the open transactions, if there is one.
    fn take_session(&self) -> Option<Session> {
        let mut core = self.core.lock();
        let count = core.sessions.len();
        (count > 0).then(|| {
            let at = core.random.random_range(0..count);
            core.sessions.swap_remove(at)
        })
    }

    fn random_row(&self, core: &mut Core, table: usize, far: bool) -> Row {
        let columns = &self.tables[table].columns;
        let mut numbers = Vec::new();
        for column in columns {
            let null = column.nullable && core.random.random_range(0..5) == 0;
            numbers.push((!null).then(|| core.random.random_range(0..150)));
        }
        if far {
            // Above all existing ids, ascending and unique.
            core.next_id += 1;
            numbers.iter_mut().flatten().for_each(|number| *number = core.next_id);
        }
        row(&self.tables[table], &numbers)
    }

    /// Makes one insert, update or delete. Returns false if it failed for an allowed reason.
    fn change(&self, session: &mut Session, table: usize, kind: Kind) -> Result<bool> {
        let def = &self.tables[table];
        let (new, own, at) = {
            let mut core = self.core.lock();
            let new = self.random_row(&mut core, table, kind == Kind::Append);
            (new, core.random.random_range(0..4) == 0, core.random.random::<u32>() as usize)
        };
        let known = match own {
            true => session.writes[table].keys().nth(at % session.writes[table].len().max(1)),
            false => session.base[table].keys().nth(at % session.base[table].len().max(1)),
        };
        let old = known.and_then(|key| Some((key.clone(), session.row(table, key)?.clone())));
        let result = match (kind, old) {
            (Kind::Delete, Some((key, old))) => {
                session.transaction.delete(def, &key, &old).map(|_| vec![(key, None)])
            }
            (Kind::Update, Some((key, old))) => {
                let mut new = new;
                if at % 3 > 0 {
                    new[0] = old[0].clone();
                    new[1] = old[1].clone();
                }
                let moved = session.transaction.update(def, &key, &old, &new);
                moved.map(|moved| vec![(key, None), (moved, Some(new))])
            }
            (Kind::Insert | Kind::Append, _) => {
                let inserted = session.transaction.insert(def, &new);
                inserted.map(|inserted| vec![(inserted.locator, Some(new))])
            }
            _ => return Ok(false),
        };
        match result {
            Ok(written) => {
                session.writes[table].extend(written);
                Ok(true)
            }
            Err(
                TableError::DuplicateEntry { .. } | TableError::WriteConflict | TableError::LockWaitTimeout,
            ) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn statement(&self, session: &mut Session) -> Result<()> {
        let mark = session.transaction.begin_statement();
        if session.transaction.isolation() == Isolation::ReadCommitted {
            session.base = self.committed();
        }
        let before = session.writes.clone();
        let (table, size, kind, undo) = {
            let random = &mut self.core.lock().random;
            let table = random.random_range(0..TABLES.len());
            (table, random.random_range(0..24), random.random_range(0..4), random.random_range(0..8) == 0)
        };
        let (count, kinds) = match size {
            0 => (150, [Kind::Append; 4]),
            1 => (60, [Kind::Insert; 4]),
            2 => (80, [Kind::Delete; 4]),
            3 => (40, [Kind::Update; 4]),
            _ => (1 + size % 5, [Kind::Insert, Kind::Update, Kind::Delete, Kind::Insert]),
        };
        for at in 0..count {
            self.change(session, table, kinds[(kind + at) % kinds.len()])?;
        }
        if undo {
            session.transaction.rollback_statement(mark);
            session.writes = before;
        }
        Ok(())
    }

    /// Reads a table, by its rows or by another index, and compares it with the committed state; or with the
    /// allowed states once the store has stopped.
    fn read(&self) -> Result<()> {
        let (table, index) = {
            let random = &mut self.core.lock().random;
            let table = random.random_range(0..TABLES.len());
            (table, random.random_range(0..self.tables[table].indexes.len()))
        };
        let def = &self.tables[table];
        let view = view(&self.engine);
        let visible = self.visible();
        let is_right = |right: &dyn Fn(&Rows) -> bool| visible.iter().any(|state| right(&state[table]));
        let columns: Vec<usize> = (0..def.columns.len()).collect();
        let what = format!("{}: read of {}, after {}", self.what, def.name, self.describe());
        if index == 0 {
            let found = scan(&view, def, 0, &columns, Direction::Forward)?;
            assert!(is_right(&|rows| found.iter().map(|(key, row)| (key, row)).eq(rows)), "{what}");
            return Ok(());
        }
        let mut keys = Vec::new();
        for (entry, _) in scan(&view, def, index, &[], Direction::Reverse)? {
            let mut key = Vec::new();
            crate::locator_of(&def.indexes[index], &entry, &mut key)?;
            keys.push(key);
        }
        keys.sort_unstable();
        assert!(is_right(&|rows| keys.iter().eq(rows.keys())), "{what} by {}", def.indexes[index].name);
        Ok(())
    }

    /// Makes one step of a transaction, or of other work. A transaction that gets an error ends.
    pub(super) fn step(&self) -> Result<()> {
        self.settle();
        let (choice, open) = {
            let mut core = self.core.lock();
            (core.random.random_range(0..40), core.sessions.len())
        };
        match choice {
            0..=7 if open < SESSIONS => self.begin(),
            0..=24 => {
                let Some(mut session) = self.take_session() else { return Ok(()) };
                self.statement(&mut session)?;
                self.core.lock().sessions.push(session);
            }
            25..=30 => {
                let Some(session) = self.take_session() else { return Ok(()) };
                self.commit(session)?;
            }
            31 => drop(self.take_session()),
            32 | 33 => {
                let Some(mut session) = self.take_session() else { return Ok(()) };
                match session.savepoint.take() {
                    Some((mark, writes)) => {
                        session.transaction.rollback_to(mark);
                        session.writes = writes;
                    }
                    None => {
                        session.savepoint = Some((session.transaction.savepoint(), session.writes.clone()))
                    }
                }
                self.core.lock().sessions.push(session);
            }
            34 => drop(self.engine.maintenance().purge()?),
            35 => self.engine.store.checkpoint()?,
            _ => self.read()?,
        }
        Ok(())
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Insert,
    /// With keys beyond all others.
    Append,
    Update,
    Delete,
}

/// Returns whether an error is one that a failing, full or damaged device may cause.
pub(super) fn is_device_failure(error: &TableError) -> bool {
    error.is_damage()
        || matches!(
            error,
            TableError::Storage(
                StorageError::Io { .. } | StorageError::Poisoned { .. } | StorageError::DiskFull
            )
        )
}

/// Prints the seed if the test fails.
pub(super) struct Seed(pub u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("LEAFLINE_SEED={}", self.0);
        }
    }
}
