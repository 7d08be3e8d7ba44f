//! Every way to run a query gives the answer of reading everything: with own writes, at snapshots that others have
//! overtaken, with uncommitted changes of others.

use super::aimed::aimed;
use super::asking::{Asking, Database, Rows};
use super::conditions::Conditions;
use super::coverage::{Coverage, Execution};
use super::questions::Question;
use super::tables::{SESSIONS, Table};
use super::traffic::Traffic;
use super::ways::{Way, everything_off};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Transactions of the asking session.
const BLOCKS: usize = 6;
/// Queries in each transaction.
const QUESTIONS: usize = 20;
/// Ways in which each query runs.
const WAYS: usize = 5;

/// The result of a run.
#[derive(Default)]
pub struct Found {
    pub questions: u64,
    pub checks: u64,
    /// Queries that ended with an error in one way only: what is evaluated, and when, is not defined.
    pub failed: u64,
    pub differences: Vec<String>,
    pub coverage: Coverage,
}

impl Found {
    /// Adds the result of another run.
    pub fn add(&mut self, other: Found) {
        self.questions += other.questions;
        self.checks += other.checks;
        self.failed += other.failed;
        self.differences.extend(other.differences);
        self.coverage.add(&other.coverage);
    }
}

/// The snapshot of the asking session.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Snapshot {
    OfStatement,
    OfTransaction,
}

struct Round<'f> {
    sessions: Vec<Asking>,
    tables: Arc<[Table]>,
    traffic: Traffic,
    random: SmallRng,
    snapshot: Snapshot,
    /// The writers, if they are threads: each message makes them write once.
    writers: Vec<SyncSender<()>>,
    /// The number of commits that had changed each table when the snapshot was taken.
    commits: Vec<u64>,
    found: &'f mut Found,
}

/// Runs one seed: others write between the statements of the asking session.
pub fn run(seed: u64, found: &mut Found) {
    let (mut round, database) = Round::new(seed, found);
    (0..BLOCKS).for_each(|_| round.block());
    round.end();
    database.close();
}

/// Runs one seed: others write concurrently with the asking session.
pub fn run_concurrently(seed: u64, found: &mut Found) {
    let (mut round, database) = Round::new(seed, found);
    std::thread::scope(|scope| {
        for session in 1..SESSIONS {
            // They write as much as it asks, so that they neither lag behind nor starve it of processor time.
            let (sender, turns) = sync_channel(2);
            round.writers.push(sender);
            let writer = Writer {
                asking: database.connect(seed),
                session,
                traffic: round.traffic.of_thread(session),
                random: SmallRng::seed_from_u64(seed ^ u64::from(session)),
            };
            let tables = round.tables.clone();
            scope.spawn(move || writer.write(&tables, &turns));
        }
        // Dropping the round, also by a panic, closes the channels, and the threads end.
        let mut round = round;
        (0..BLOCKS / 3).for_each(|_| round.block());
        round.end();
    });
    database.close();
}

/// A thread that writes.
struct Writer {
    asking: Asking,
    session: u32,
    traffic: Traffic,
    random: SmallRng,
}

impl Writer {
    fn write(mut self, tables: &[Table], turns: &Receiver<()>) {
        self.asking.execute("USE s");
        while turns.recv().is_ok() {
            self.asking.execute("BEGIN");
            for _ in 0..self.random.random_range(1..4) {
                let table = self.random.random_range(0..tables.len());
                let change = self.traffic.change(self.session, table, &tables[table], &mut self.random);
                if let Some(change) = change {
                    assert_eq!(self.asking.execute(&change.sql), change.affected, "{}", change.sql);
                }
            }
            self.asking.execute("COMMIT");
            self.traffic.commit(self.session);
        }
    }
}

impl<'f> Round<'f> {
    fn new(seed: u64, found: &'f mut Found) -> (Round<'f>, Database) {
        let mut random = SmallRng::seed_from_u64(seed);
        let database = Database::new(*[64, 64, 128, 4096].choose(&mut random).unwrap_or(&4096));
        let tables: Arc<[Table]> = (0..3).map(|number| Table::new(number, &mut random)).collect();
        let mut round = Round {
            sessions: (0..SESSIONS).map(|_| database.connect(seed)).collect(),
            traffic: Traffic::new(tables.len()),
            tables,
            random,
            snapshot: Snapshot::OfStatement,
            writers: Vec::new(),
            commits: Vec::new(),
            found,
        };
        round.set_up();
        (round, database)
    }

    fn end(mut self) {
        let unexpected = self.sessions.iter_mut().flat_map(|session| std::mem::take(&mut session.unexpected));
        self.found.differences.extend(unexpected);
    }
}

impl Round<'_> {
    fn set_up(&mut self) {
        self.sessions[0].execute("CREATE DATABASE s");
        for session in &mut self.sessions {
            session.execute("USE s");
            session.execute("SET innodb_lock_wait_timeout = 1");
        }
        for number in 0..self.tables.len() {
            let table = &self.tables[number];
            self.sessions[0].execute(&table.definition);
            for sql in self.traffic.fill(number, table, &mut self.random) {
                self.sessions[0].execute(&sql);
            }
        }
        // Makes leaves with holes, and rows with older versions.
        for session in 0..SESSIONS {
            self.changes(session, 6);
        }
        for number in 0..self.tables.len() {
            let Table { name, columns, .. } = &self.tables[number];
            match self.random.random_range(0..4) {
                0 => drop(self.sessions[0].rows(&format!("ANALYZE TABLE {name}"))),
                1 => {
                    let column = &columns[columns.len() - 1].name;
                    let sql = format!("ANALYZE TABLE {name} UPDATE HISTOGRAM ON {column}");
                    drop(self.sessions[0].rows(&sql));
                }
                _ => {}
            }
        }
    }

    /// Runs a transaction of a session: some changes, and a commit or rollback.
    fn changes(&mut self, session: u32, most: usize) {
        self.sessions[session as usize].execute("BEGIN");
        self.writes(session, most);
        match self.random.random_range(0..5) {
            0 => {
                self.sessions[session as usize].execute("ROLLBACK");
                self.traffic.rollback(session);
            }
            _ => {
                self.sessions[session as usize].execute("COMMIT");
                self.traffic.commit(session);
            }
        }
    }

    fn writes(&mut self, session: u32, most: usize) {
        for _ in 0..self.random.random_range(1..=most) {
            let asking = &mut self.sessions[session as usize];
            match self.random.random_range(0..12) {
                0 => {
                    asking.execute("SAVEPOINT s");
                    self.traffic.set_savepoint(session);
                }
                1 if self.traffic.rollback_to_savepoint(session) => {
                    asking.execute("ROLLBACK TO SAVEPOINT s");
                }
                _ => {
                    let table = self.random.random_range(0..self.tables.len());
                    let of = &self.tables[table];
                    if let Some(change) = self.traffic.change(session, table, of, &mut self.random) {
                        let affected = asking.execute(&change.sql);
                        assert_eq!(
                            affected, change.affected,
                            "LEAFLINE_SEED={}: {}",
                            asking.seed, change.sql
                        );
                    }
                }
            }
        }
    }

    fn are_threads(&self) -> bool {
        !self.writers.is_empty()
    }

    /// Makes others change rows while the asking session reads; if it reads at an older snapshot, they commit.
    fn others(&mut self) {
        if self.are_threads() {
            // A writer with a full queue is left alone.
            for writer in &self.writers {
                let _ = writer.try_send(());
            }
            return;
        }
        let session = self.random.random_range(1..SESSIONS);
        match self.snapshot {
            Snapshot::OfTransaction => self.changes(session, 4),
            Snapshot::OfStatement => {
                let asking = &mut self.sessions[session as usize];
                asking.execute("ROLLBACK");
                self.traffic.rollback(session);
                self.sessions[session as usize].execute("BEGIN");
                self.writes(session, 4);
            }
        }
    }

    fn block(&mut self) {
        let begin = match self.random.random_range(0..6) {
            0 if !self.are_threads() => {
                self.snapshot = Snapshot::OfStatement;
                "COMMIT"
            }
            1 if !self.are_threads() => {
                self.snapshot = Snapshot::OfStatement;
                self.sessions[0].execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
                "BEGIN"
            }
            _ => {
                self.snapshot = Snapshot::OfTransaction;
                "START TRANSACTION WITH CONSISTENT SNAPSHOT"
            }
        };
        self.sessions[0].execute(begin);
        let committed = self.traffic.committed().to_vec();
        self.commits = self.traffic.commits().to_vec();
        if begin != "COMMIT" && self.random.random_ratio(3, 4) {
            self.writes(0, 5);
        }
        for _ in 0..self.random.random_range(0..4) {
            self.others();
        }
        self.models(&committed);
        for _ in 0..QUESTIONS {
            self.question();
        }
        self.models(&committed);
        let commits = self.random.random();
        for session in 0..SESSIONS {
            match commits {
                true => self.traffic.commit(session),
                false => self.traffic.rollback(session),
            }
            self.sessions[session as usize].execute(if commits { "COMMIT" } else { "ROLLBACK" });
        }
    }

    /// Checks that the tables match the model, if it can know.
    fn models(&mut self, committed: &[super::traffic::Rows]) {
        for (number, rows) in committed.iter().enumerate() {
            if !self.are_threads() {
                self.model(number, &self.traffic.seen(0, number, rows));
            }
        }
    }

    /// Checks that the rows of a table match the model.
    fn model(&mut self, number: usize, expected: &super::traffic::Rows) {
        self.sessions[0].execute(&everything_off());
        let sql = format!("SELECT id, rev FROM {}", self.tables[number].name);
        let mut expected: Vec<String> = expected.iter().map(|(id, rev)| format!("{id}|{rev}|")).collect();
        expected.sort_unstable();
        let rows = self.sessions[0].rows(&sql);
        if rows.as_ref() != Ok(&expected) {
            self.differs(
                "the model",
                &sql,
                &first_difference(&expected, rows.as_deref().unwrap_or_default()),
            );
        }
        self.found.checks += 1;
    }

    fn question(&mut self) {
        let mut make = Conditions { tables: &self.tables, random: &mut self.random };
        let aimed = if make.random.random_ratio(3, 5) { aimed(&mut make) } else { None };
        let question = aimed.unwrap_or_else(|| Question::new(&mut make));
        self.found.questions += 1;
        self.sessions[0].execute(&everything_off());
        let whole = self.sessions[0].rows(&question.whole(&self.tables));
        for number in 0..WAYS {
            if number > 0 && (self.are_threads() || self.random.random_ratio(1, 10)) {
                self.others();
            }
            let way = match number {
                0 => Way::plain(),
                _ => Way::new(&question, &self.tables, &mut self.random),
            };
            self.way(&question, &way, &whole);
        }
    }

    fn way(&mut self, question: &Question, way: &Way, whole: &Rows) {
        let text = way.text(question, &self.tables);
        self.sessions[0].execute(&way.setting);
        let Ok(tree) = self.sessions[0].ordered(&format!("EXPLAIN FORMAT=TREE {text}")) else {
            self.found.failed += 1;
            return;
        };
        let tree = tree.concat();
        for _ in 0..self.random.random_range(1..4) {
            let before = *self.sessions[0].session.counters();
            let rows = self.sessions[0].ordered(&text);
            let after = *self.sessions[0].session.counters();
            let (Ok(whole), Ok(rows)) = (whole, rows) else {
                self.found.failed += 1;
                return;
            };
            self.found.checks += 1;
            if let Err(what) = compare(question, whole, &rows) {
                let about = format!("{}; {text}", way.setting);
                return self.differs(&format!("{what}\n{tree}"), &about, &question.whole(&self.tables));
            }
            let any_table =
                |holds: &dyn Fn(usize) -> bool| question.tables.iter().any(|(table, _)| holds(*table));
            let is_old = self.snapshot == Snapshot::OfTransaction;
            let changed = |table: usize| self.traffic.commits()[table] > self.commits[table];
            let execution = Execution {
                own_writes: any_table(&|table| self.traffic.has_written(0, table)),
                unsettled: is_old && any_table(&changed),
                switched: after.access.leafline_plans_switched > before.access.leafline_plans_switched,
                read_ahead: after.access.leafline_read_ahead_pages > before.access.leafline_read_ahead_pages,
                kept: after.statement_cache_hits > before.statement_cache_hits,
            };
            self.found.coverage.note(&tree, question, &self.tables, way, execution);
        }
    }

    fn differs(&mut self, what: &str, sql: &str, more: &str) {
        let seed = self.sessions[0].seed;
        self.found.differences.push(format!("LEAFLINE_SEED={seed}: {sql}\n  {more}\n  {what}"));
    }
}

fn first_difference(expected: &[String], rows: &[String]) -> String {
    let lacking = expected.iter().find(|row| !rows.contains(row));
    let additional = rows.iter().find(|row| !expected.contains(row));
    format!(
        "{} rows, {} expected; {lacking:?} is lacking, {additional:?} too many",
        rows.len(),
        expected.len()
    )
}

/// Compares rows with the whole answer. If the query has an order, rows end with their place in it.
fn compare(question: &Question, whole: &[String], rows: &[String]) -> Result<(), String> {
    let is_ordered = !question.order.is_empty();
    let place = |row: &str| -> Option<(String, u64)> {
        let (values, place) = row.strip_suffix('|')?.rsplit_once('|')?;
        Some((format!("{values}|"), place.parse().ok()?))
    };
    let mut known: HashMap<String, (u64, u64)> = HashMap::new();
    let mut places = Vec::with_capacity(whole.len());
    for row in whole {
        let (values, place) = match is_ordered {
            true => place(row).ok_or_else(|| format!("no place in the order: {row}"))?,
            false => (row.clone(), 0),
        };
        places.push(place);
        known.entry(values).or_insert((place, 0)).1 += 1;
    }
    places.sort_unstable();
    let (offset, count) = question.limit.unwrap_or((0, usize::MAX));
    let places: Vec<u64> = places.into_iter().skip(offset).take(count).collect();
    let show = |text: String| text.chars().take(300).collect::<String>();
    if rows.len() != places.len() {
        let lacking = known.keys().find(|row| !rows.contains(row));
        let (found, expected) = (rows.len(), places.len());
        return Err(show(format!("{found} rows, {expected} expected; one that is not there: {lacking:?}")));
    }
    for (at, (row, place)) in rows.iter().zip(places).enumerate() {
        match known.get_mut(row) {
            Some((_, 0)) => return Err(show(format!("row {at} comes too often: {row}"))),
            Some((of_row, _)) if *of_row != place => {
                return Err(show(format!("row {at} has place {of_row}, not {place}: {row}")));
            }
            Some((_, left)) => *left -= 1,
            None => return Err(show(format!("row {at} is not one: {row}"))),
        }
    }
    Ok(())
}
