//! Whole tables under random transactions, against a model in memory.
//!
//! The model contains the committed rows and, for each row, the number of the commit that changed it last. A session
//! of the model contains the state of its snapshot, and its own writes. Every result is predicted: rows in the order
//! of every index in both directions, duplicates, and whether a write meets a row that was changed since the
//! snapshot. Nobody waits for a lock: if another session is open, a write may be rejected because of one. While a
//! commit is applied, snapshots are taken between every two of its steps, and must go on to show the state before it.

use super::leaping::leap;
use crate::alter::Alteration;
use crate::catalog::{IndexKind, IndexPart, TableDef, TableSpec};
use crate::engine::Engine;
use crate::error::TableError;
use crate::lock::LockLimits;
use crate::options::EngineOptions;
use crate::read::{LocatorBatch, ReadView};
use crate::testing::*;
use crate::txn::{Isolation, Transaction, TxnMode};
use crate::write_set::Mark;
use leafline_btree::Direction;
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_types::Value;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

type Row = Vec<Value>;
type Rows = BTreeMap<Vec<u8>, Row>;
/// Rows per table.
type State = Vec<Rows>;
/// The session's own writes for each table; `None` for a deletion.
type Writes = Vec<BTreeMap<Vec<u8>, Option<Row>>>;

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.trim_end_matches(' ').cmp(b.trim_end_matches(' ')),
        other => panic!("{other:?}"),
    }
}

/// Compares two values as an index does.
fn compare_parts(part: &IndexPart, a: &[Value], b: &[Value]) -> Ordering {
    let kept = |row: &[Value]| match (&row[part.column], part.prefix) {
        (Value::String(s), Some(prefix)) => {
            Value::string(s.chars().take(prefix as usize).collect::<String>())
        }
        (value, _) => value.clone(),
    };
    compare(&kept(a), &kept(b))
}

/// The rows in the order of an index, as the values the index covers.
fn expected(table: &TableDef, index: usize, rows: &Rows) -> Vec<(Vec<u8>, Row)> {
    let parts = &table.indexes[index].parts;
    let mut sorted: Vec<(&Vec<u8>, &Row)> = rows.iter().collect();
    sorted.sort_by(|(a_key, a), (b_key, b)| {
        let by_parts = parts.iter().fold(Ordering::Equal, |order, part| {
            let of_part = compare_parts(part, a, b);
            order.then(if part.descending { of_part.reverse() } else { of_part })
        });
        by_parts.then(a_key.cmp(b_key))
    });
    let columns = covered(table, index);
    let pick = |row: &Row| columns.iter().map(|&column| row[column].clone()).collect();
    sorted.into_iter().map(|(key, row)| (key.clone(), pick(row))).collect()
}

fn covered(table: &TableDef, index: usize) -> Vec<usize> {
    table.indexes[index].physical_columns().iter().map(|column| column.column).collect()
}

/// Compares what a view shows with the rows it should show.
fn verify(view: &ReadView, tables: &[Arc<TableDef>], state: &State, random: &mut SmallRng, what: &str) {
    for (table, rows) in tables.iter().zip(state) {
        for index in 0..table.indexes.len() {
            let expected = expected(table, index, rows);
            let columns = covered(table, index);
            let forward = scan(view, table, index, &columns, Direction::Forward).unwrap();
            let mut reverse = scan(view, table, index, &columns, Direction::Reverse).unwrap();
            reverse.reverse();
            let name = format!("{what}: {}.{}", table.name, table.indexes[index].name);
            let values =
                |found: &[(Vec<u8>, Row)]| -> Vec<Row> { found.iter().map(|(_, row)| row.clone()).collect() };
            assert_eq!(values(&forward), values(&expected), "{name}");
            assert_eq!(reverse, forward, "{name}, reverse");
            let mut locator = Vec::new();
            for ((key, _), (row_key, _)) in forward.iter().zip(&expected) {
                crate::locator_of(&table.indexes[index], key, &mut locator).unwrap();
                assert_eq!(&locator, row_key, "{name}, locator");
            }
            leap(view, table, index, &forward, random, &name);
        }
        fetch(view, table, rows, random, what);
    }
}

/// Fetches rows that exist and rows that do not.
fn fetch(view: &ReadView, table: &Arc<TableDef>, rows: &Rows, random: &mut SmallRng, what: &str) {
    let mut locators = LocatorBatch::new();
    for key in rows.keys() {
        if random.random_range(0..3) == 0 {
            locators.push(key);
        }
        if random.random_range(0..8) == 0 {
            let mut other = key.clone();
            other.push(random.random());
            locators.push(&other);
        }
    }
    locators.sort();
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let decoder = crate::row_decoder(table, &columns).unwrap();
    let mut next = 0;
    view.fetch(table, &locators, &mut |at, row| {
        assert_eq!(at, next);
        next += 1;
        let found = row.map(|row| {
            assert_eq!(row.key, locators.get(at));
            let mut values = Vec::new();
            decoder.decode_values(row.key, row.payload, &mut values).unwrap();
            values
        });
        assert_eq!(found.as_ref(), rows.get(locators.get(at)), "{what}: fetch from {}", table.name);
    })
    .unwrap();
    assert_eq!(next, locators.len());
}

/// The primary key of a row of a heap, as bytes.
fn heap_key(def: &TableDef, row: &Row) -> Option<Vec<u8>> {
    let primary = def.primary().filter(|index| !index.is_clustered())?;
    let mut key = Vec::new();
    primary.format.encode_key(row, &[Value::UInt(0)], &mut key).unwrap();
    Some(key)
}

struct Session {
    transaction: Transaction,
    snapshot: u64,
    base: Arc<State>,
    writes: Writes,
    /// The session's own writes when the running statement began.
    statement: Writes,
    /// The rows before the session's first write.
    first: Vec<BTreeMap<Vec<u8>, Option<Row>>>,
    savepoint: Option<(Mark, Writes)>,
}

impl Session {
    fn overlaid(&self, writes: &Writes) -> State {
        let mut state = (*self.base).clone();
        for (rows, writes) in state.iter_mut().zip(writes) {
            for (key, row) in writes {
                match row {
                    Some(row) => rows.insert(key.clone(), row.clone()),
                    None => rows.remove(key),
                };
            }
        }
        state
    }

    fn restore(&mut self, writes: Writes) {
        for (first, writes) in self.first.iter_mut().zip(&writes) {
            first.retain(|key, _| writes.contains_key(key));
        }
        self.writes = writes;
    }
}

struct Model {
    engine: Arc<Engine>,
    tables: Vec<Arc<TableDef>>,
    committed: Arc<State>,
    commits: u64,
    /// The number of the commit that changed a row last.
    changed: Vec<BTreeMap<Vec<u8>, u64>>,
    /// The number of the last commit by which a row of a heap has lost a primary key.
    lost: BTreeMap<Vec<u8>, u64>,
    random: SmallRng,
    seed: u64,
    /// The number of writes rejected and made.
    outcomes: [u64; 2],
    /// Views taken while commits were applied, with their expected contents.
    held: Arc<Mutex<Vec<Held>>>,
}

type Held = (ReadView, Arc<State>);

#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Duplicate(String),
    Conflict,
    /// Another session holds a lock.
    Blocked,
}

impl Model {
    fn new(env: &SimulatedEnv, options: &EngineOptions, seed: u64) -> Model {
        let engine = open_with(env, options);
        let tables = vec![
            create(&engine, &keyed_spec()),
            create(&engine, &other_spec(false)),
            create(&engine, &other_spec(true)),
            create(&engine, &prefix_spec()),
        ];
        let count = tables.len();
        let mut model = Model {
            engine,
            tables,
            committed: Arc::new(vec![Rows::new(); count]),
            commits: 0,
            changed: vec![BTreeMap::new(); count],
            lost: BTreeMap::new(),
            random: SmallRng::seed_from_u64(seed),
            seed,
            outcomes: [0; 2],
            held: Arc::default(),
        };
        model.observe();
        model
    }

    /// Takes snapshots between the steps of commits.
    fn observe(&mut self) {
        let engine = Arc::downgrade(&self.engine);
        let (tables, held) = (self.tables.clone(), self.held.clone());
        let random = Mutex::new(SmallRng::seed_from_u64(self.random.random()));
        let before = Arc::new(Mutex::new(self.committed.clone()));
        BEFORE.with(|slot| *slot.borrow_mut() = Some(before.clone()));
        *self.engine.observer.lock() = Some(Arc::new(move || {
            let (Some(engine), mut random) = (engine.upgrade(), random.lock()) else { return };
            if random.random() {
                engine.store.wait_durable(engine.store.log_end()).unwrap();
            }
            let view = view(&engine);
            let state = before.lock().clone();
            if random.random_range(0..4) == 0 {
                verify(&view, &tables, &state, &mut random, "while a commit is applied");
            }
            if random.random_range(0..4) == 0 {
                held.lock().push((view, state));
            }
        }));
    }

    fn session(&mut self) -> Session {
        let isolation =
            if self.random.random() { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
        let count = self.tables.len();
        let mut transaction = self.engine.transactions().begin(isolation, TxnMode::ReadWrite);
        transaction.snapshot();
        transaction.set_lock_limits(LockLimits { timeout: Duration::ZERO, ..LockLimits::default() });
        Session {
            transaction,
            snapshot: self.commits,
            base: self.committed.clone(),
            writes: vec![BTreeMap::new(); count],
            statement: vec![BTreeMap::new(); count],
            first: (0..count).map(|_| BTreeMap::new()).collect(),
            savepoint: None,
        }
    }

    fn random_row(&mut self, table: usize) -> Row {
        let mut numbers = Vec::new();
        for column in &self.tables[table].columns {
            let null = column.nullable && self.random.random_range(0..4) == 0;
            numbers.push((!null).then(|| self.random.random_range(0..25)));
        }
        row(&self.tables[table], &numbers)
    }

    /// Returns whether a row other than the one at `own` has the unique key of `row`.
    fn taken(&self, session: &Session, table: usize, index: usize, row: &Row, own: Option<&[u8]>) -> bool {
        let parts = &self.tables[table].indexes[index].parts;
        if parts.iter().any(|part| row[part.column] == Value::Null) {
            return false;
        }
        let same = |other: &Row| parts.iter().all(|part| compare_parts(part, row, other).is_eq());
        let by_own = session.writes[table]
            .iter()
            .any(|(key, written)| Some(key.as_slice()) != own && written.as_ref().is_some_and(same));
        // A committed row counts unless the transaction knows it with this key and has removed the key.
        let gone = |key: &Vec<u8>| {
            let first = session.first[table].get(key);
            let now = session.writes[table].get(key);
            match (first, now) {
                (Some(first), Some(now)) => {
                    first.as_ref().is_some_and(same) && !now.as_ref().is_some_and(same)
                }
                _ => false,
            }
        };
        by_own
            || self.committed[table]
                .iter()
                .any(|(key, other)| Some(key.as_slice()) != own && same(other) && !gone(key))
    }

    /// The expected outcome of inserting `row` under `key`, or of moving it there from `own`.
    fn check(
        &self,
        session: &Session,
        table: usize,
        key: &[u8],
        row: &Row,
        own: Option<(&[u8], &Row)>,
    ) -> Outcome {
        let def = &self.tables[table];
        let duplicate = |index: &str| Outcome::Duplicate(index.to_owned());
        let moves = own.is_none_or(|(own, _)| own != key);
        if moves && !def.has_hidden_row_id() {
            match session.writes[table].get(key) {
                Some(Some(_)) => return duplicate("PRIMARY"),
                Some(None) => {}
                None if self.committed[table].contains_key(key) => return duplicate("PRIMARY"),
                None if self.changed[table].get(key).is_some_and(|&at| at > session.snapshot) => {
                    return Outcome::Conflict;
                }
                None => {}
            }
        }
        for (position, index) in def.indexes.iter().enumerate().filter(|(_, i)| i.kind == IndexKind::Unique) {
            let kept = own.is_some_and(|(_, old)| {
                !moves && index.parts.iter().all(|part| compare_parts(part, old, row).is_eq())
            });
            if !kept && self.taken(session, table, position, row, own.map(|(own, _)| own)) {
                return duplicate(&index.name);
            }
            let lost = heap_key(def, row).and_then(|key| self.lost.get(&key));
            if !kept && index.is_primary() && lost.is_some_and(|at| *at > session.snapshot) {
                return Outcome::Conflict;
            }
        }
        Outcome::Done
    }

    fn record(&self, session: &mut Session, table: usize, key: &[u8], row: Option<Row>) {
        let first = session.base[table].get(key).cloned();
        session.first[table].entry(key.to_vec()).or_insert(first);
        session.writes[table].insert(key.to_vec(), row);
    }

    fn outcome<T>(&self, result: Result<T, TableError>) -> (Outcome, Option<T>) {
        match result {
            Ok(value) => (Outcome::Done, Some(value)),
            Err(TableError::DuplicateEntry { index, .. }) => (Outcome::Duplicate(index), None),
            Err(TableError::WriteConflict) => (Outcome::Conflict, None),
            Err(TableError::LockWaitTimeout) => (Outcome::Blocked, None),
            Err(other) => panic!("seed {}: {other}", self.seed),
        }
    }

    /// Returns whether a row that the session has read was changed since.
    fn is_stale(&self, session: &Session, table: usize, key: &[u8]) -> bool {
        !session.writes[table].contains_key(key)
            && self.changed[table].get(key).is_some_and(|&at| at > session.snapshot)
    }

    /// Compares the outcome of a write with the expected one. Returns true if the write was made.
    fn is_done(&mut self, found: Outcome, expected: &Outcome, others: bool, what: &str) -> bool {
        if found == Outcome::Blocked {
            assert!(others, "seed {}: {what}: nobody else can have it locked", self.seed);
            return false;
        }
        assert_eq!(found, *expected, "seed {}: {what}", self.seed);
        self.outcomes[usize::from(found == Outcome::Done)] += 1;
        found == Outcome::Done
    }

    /// Makes one insert, update or delete. `others` says that other sessions are open.
    fn change(&mut self, session: &mut Session, others: bool) {
        let table = self.random.random_range(0..self.tables.len());
        let def = self.tables[table].clone();
        let now = session.overlaid(&session.writes.clone());
        let hidden = def.has_hidden_row_id();
        let choice = self.random.random_range(0..10);
        if choice < 5 || now[table].is_empty() {
            let row = self.random_row(table);
            let result = session.transaction.insert(&def, &row);
            let mut key = Vec::new();
            if !hidden {
                def.clustered().format.encode_key(&row, &[], &mut key).unwrap();
            }
            let expected = self.check(session, table, &key, &row, None);
            let (found, inserted) = self.outcome(result);
            let what = format!("insert {row:?} into {}", def.name);
            if self.is_done(found, &expected, others, &what)
                && let Some(inserted) = inserted
            {
                assert!(hidden || inserted.locator == key);
                self.record(session, table, &inserted.locator, Some(row));
            }
            return;
        }
        let (key, old) = now[table].iter().nth(self.random.random_range(0..now[table].len())).unwrap();
        if choice < 7 {
            let stale = self.is_stale(session, table, key);
            let expected = if stale { Outcome::Conflict } else { Outcome::Done };
            let (found, deleted) = self.outcome(session.transaction.delete(&def, key, old));
            if self.is_done(found, &expected, others, &format!("delete {old:?} from {}", def.name)) {
                assert_eq!(deleted, Some(true));
                self.record(session, table, key, None);
            }
            return;
        }
        let mut new = self.random_row(table);
        for column in 0..new.len() {
            let keep = if column == 0 { 4 } else { 2 };
            if self.random.random_range(0..5) < keep {
                new[column] = old[column].clone();
            }
        }
        let mut new_key = key.clone();
        if !hidden {
            new_key.clear();
            def.clustered().format.encode_key(&new, &[], &mut new_key).unwrap();
        }
        let result = session.transaction.update(&def, key, old, &new);
        let expected = match self.is_stale(session, table, key) {
            true => Outcome::Conflict,
            false => self.check(session, table, &new_key, &new, Some((key, old))),
        };
        let (found, _) = self.outcome(result);
        if self.is_done(found, &expected, others, &format!("update {old:?} to {new:?} in {}", def.name)) {
            if new_key != *key {
                self.record(session, table, key, None);
            }
            self.record(session, table, &new_key, Some(new));
        }
    }

    fn statement(&mut self, session: &mut Session, others: bool) {
        let mark = session.transaction.begin_statement();
        if session.transaction.isolation() == Isolation::ReadCommitted {
            session.snapshot = self.commits;
            session.base = self.committed.clone();
        }
        session.statement = session.writes.clone();
        let before = session.writes.clone();
        for _ in 0..self.random.random_range(0..5) {
            self.change(session, others);
            if self.random.random_range(0..6) == 0 {
                self.verify_session(session, "own view");
            }
        }
        if self.random.random_range(0..5) == 0 {
            session.transaction.rollback_statement(mark);
            session.restore(before);
        }
    }

    fn verify_session(&mut self, session: &mut Session, what: &str) {
        let state = session.overlaid(&session.statement.clone());
        let view = session.transaction.view();
        verify(&view, &self.tables, &state, &mut self.random, &format!("seed {}: {what}", self.seed));
    }

    fn commit(&mut self, session: Session) {
        let mut next = (*self.committed).clone();
        let (mut changed, mut lost) = (Vec::new(), Vec::new());
        for (table, def) in self.tables.iter().enumerate() {
            let net: Vec<(&Vec<u8>, &Option<Row>)> = session.writes[table]
                .iter()
                .filter(|(key, row)| session.first[table][*key] != **row)
                .collect();
            for &(key, row) in &net {
                match row {
                    Some(row) => next[table].insert(key.clone(), row.clone()),
                    None => next[table].remove(key),
                };
                changed.push((table, key.clone()));
                let before = session.first[table][key].as_ref().and_then(|row| heap_key(def, row));
                lost.extend(
                    before
                        .filter(|key| row.as_ref().and_then(|row| heap_key(def, row)).as_ref() != Some(key)),
                );
            }
            // Nobody else can have committed one of its unique keys meanwhile.
            for index in def.indexes.iter().filter(|index| index.kind == IndexKind::Unique) {
                let mut rows: Vec<&Row> = next[table].values().collect();
                rows.retain(|row| index.parts.iter().all(|part| row[part.column] != Value::Null));
                let order = |a: &&Row, b: &&Row| {
                    let parts = index.parts.iter();
                    parts.fold(Ordering::Equal, |order, part| order.then(compare_parts(part, a, b)))
                };
                rows.sort_by(order);
                let duplicate = rows.windows(2).find(|pair| order(&pair[0], &pair[1]).is_eq());
                assert_eq!(duplicate, None, "seed {}: index {}", self.seed, index.name);
            }
        }
        BEFORE.with(|slot| *slot.borrow().as_ref().unwrap().lock() = self.committed.clone());
        let committed = session.transaction.commit();
        assert!(committed.is_ok(), "seed {}: {committed:?} for {:?}", self.seed, session.writes);
        self.commits += 1;
        self.committed = Arc::new(next);
        self.lost.extend(lost.into_iter().map(|key| (key, self.commits)));
        for (table, key) in changed {
            self.changed[table].insert(key, self.commits);
        }
    }

    /// Adds or drops a column by definition alone, while older snapshots are held.
    fn alter(&mut self) {
        let table = self.random.random_range(0..self.tables.len());
        let def = self.tables[table].clone();
        let mut spec = TableSpec::of(&def);
        let mut sources: Vec<Option<usize>> = (0..def.columns.len()).map(Some).collect();
        let later: Vec<usize> =
            (0..sources.len()).filter(|at| def.columns[*at].name.starts_with("later")).collect();
        let (at, older) = match later.choose(&mut self.random) {
            Some(at) if self.random.random() => {
                spec.columns.remove(*at);
                sources.remove(*at);
                (*at, None)
            }
            _ => {
                let at = self.random.random_range(0..=sources.len());
                let ty = if self.random.random() { int() } else { varchar() };
                let new = column(&format!("later{}", def.schema_version), ty, self.random.random());
                let alone = TableDef { columns: vec![new.clone()], ..(*def).clone() };
                let number = (!new.nullable || self.random.random()).then_some(7);
                spec.columns.insert(at, new);
                sources.insert(at, None);
                (at, row(&alone, &[number]).pop())
            }
        };
        if !def.can_keep_rows(&spec.columns, &sources, &self.engine.limits) {
            return;
        }
        let alteration = Alteration {
            sources,
            older: older.iter().cloned().collect(),
            ..unchanged(&self.engine, &def, spec)
        };
        *self.engine.observer.lock() = None;
        self.engine.ddl().alter_table(&def, alteration).unwrap();
        self.tables[table] = self.engine.table("d", &def.name).unwrap();
        let alter = |state: &mut Arc<State>| {
            Arc::make_mut(state)[table].values_mut().for_each(|row| match &older {
                Some(value) => row.insert(at, value.clone()),
                None => drop(row.remove(at)),
            });
        };
        alter(&mut self.committed);
        self.held.lock().iter_mut().for_each(|(_, state)| alter(state));
        self.observe();
    }

    fn check_all(&mut self) {
        let view = view(&self.engine);
        let what = format!("seed {}: committed", self.seed);
        verify(&view, &self.tables, &self.committed.clone(), &mut self.random, &what);
        for (table, rows) in self.tables.iter().zip(&*self.committed) {
            assert_eq!(self.engine.maintenance().check_table(table).unwrap(), Vec::<String>::new(), "{what}");
            assert_eq!(self.engine.row_count(table.id), rows.len() as u64, "{what}");
        }
    }

    fn verify_held(&mut self) {
        let mut held = std::mem::take(&mut *self.held.lock());
        if !held.is_empty() {
            let (view, state) = held.swap_remove(self.random.random_range(0..held.len()));
            let what = format!("seed {}: held", self.seed);
            verify(&view, &self.tables, &state, &mut self.random, &what);
        }
        held.truncate(6);
        self.held.lock().append(&mut held);
    }
}

thread_local! {
    /// The state before the running commit, for the observer.
    static BEFORE: std::cell::RefCell<Option<Arc<Mutex<Arc<State>>>>> = const { std::cell::RefCell::new(None) };
}

fn open_with(env: &SimulatedEnv, options: &EngineOptions) -> Arc<Engine> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options.clone()).unwrap()
}

fn run(seed: u64, steps: u64, options: &EngineOptions) {
    let env = SimulatedEnv::new();
    let mut model = Model::new(&env, options, seed);
    let mut sessions: Vec<Session> = Vec::new();
    for _ in 0..steps {
        match model.random.random_range(0..40) {
            0..=3 if sessions.len() < 4 => {
                let session = model.session();
                sessions.push(session);
            }
            4..=25 if !sessions.is_empty() => {
                let mut session = sessions.swap_remove(model.random.random_range(0..sessions.len()));
                model.statement(&mut session, !sessions.is_empty());
                sessions.push(session);
            }
            26..=30 if !sessions.is_empty() => {
                let session = sessions.swap_remove(model.random.random_range(0..sessions.len()));
                model.commit(session);
            }
            31 if !sessions.is_empty() => {
                let at = model.random.random_range(0..sessions.len());
                sessions[at].savepoint =
                    Some((sessions[at].transaction.savepoint(), sessions[at].writes.clone()));
            }
            32 if !sessions.is_empty() => {
                let at = model.random.random_range(0..sessions.len());
                if let Some((mark, writes)) = sessions[at].savepoint.take() {
                    sessions[at].transaction.rollback_to(mark);
                    sessions[at].restore(writes);
                }
            }
            33 => drop(model.engine.maintenance().purge().unwrap()),
            34 => model.verify_held(),
            35 => model.check_all(),
            36 if sessions.is_empty() => {
                model.held.lock().clear();
                *model.engine.observer.lock() = None;
                model.engine.close().unwrap();
                // The old engine must be dropped before the directory can be opened again.
                model.engine = open(&SimulatedEnv::new());
                model.engine = open_with(&env, options);
                for table in &mut model.tables {
                    *table = model.engine.table("d", &table.name).unwrap();
                }
                model.observe();
            }
            37 => model.engine.store.checkpoint().unwrap(),
            38 if sessions.is_empty() => model.alter(),
            _ => {}
        }
    }
    model.verify_held();
    sessions.clear();
    model.check_all();
    model.held.lock().clear();
    model.engine.maintenance().purge().unwrap();
    assert!(model.outcomes[1] > steps / 4, "seed {seed}: {:?}", model.outcomes);
    let stats = model.engine.stats();
    assert_eq!((stats.versions, stats.spilled_versions, stats.purge_queue), (0, 0, 0), "seed {seed}");
    assert_eq!((stats.history_bytes, stats.version_runs), (0, 0), "seed {seed}");
    model.check_all();
}

#[test]
fn transactions_and_snapshots_agree_with_the_model() {
    let first = seed();
    for round in 0..3 * scale() {
        run(first.wrapping_add(round), 350, &options());
    }
}

#[test]
fn transactions_agree_with_the_model_when_old_versions_are_in_files() {
    let first = seed();
    for round in 0..3 * scale() {
        let common = if round % 2 == 0 { options() } else { by_reference_options() };
        let options = EngineOptions { version_memory_bytes: Some(0), ..common };
        run(first.wrapping_add(round), 350, &options);
    }
}

#[test]
fn transactions_agree_with_the_model_when_commits_are_by_reference() {
    let first = seed();
    for round in 0..3 * scale() {
        run(first.wrapping_add(round), 350, &by_reference_options());
    }
}

#[test]
fn transactions_agree_with_the_model_when_changes_are_buffered() {
    let first = seed();
    for round in 0..3 * scale() {
        let common = if round % 2 == 0 { options() } else { by_reference_options() };
        let buffering = buffering_options();
        let options = EngineOptions { inline_commit_bytes: common.inline_commit_bytes, ..buffering };
        run(first.wrapping_add(round), 350, &options);
    }
}

#[test]
fn transactions_agree_with_the_model_when_writes_go_to_files() {
    let first = seed();
    let options = EngineOptions { transaction_memory_bytes: Some(600), ..options() };
    for round in 0..3 * scale() {
        run(first.wrapping_add(round), 350, &options);
    }
}
