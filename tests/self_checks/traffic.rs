//! Sessions that change tables, and a model of the rows that each of them must see.
//!
//! The model knows a row by its `id` and `rev`; no two versions share a `rev`. Each session changes only its own
//! rows.

use super::tables::{GROUPED, IDS, SESSIONS, Table, unique};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use std::collections::BTreeMap;

/// Rows of a session that are changed more often than others.
const HOT: usize = 12;

/// Rows of a table: `rev` by `id`.
pub type Rows = BTreeMap<u32, u32>;
/// The writes of a transaction: the new `rev` by `id`, or `None` for a deleted row.
type Written = BTreeMap<u32, Option<u32>>;

#[derive(Clone, Default)]
struct Own {
    /// The writes for each table.
    written: Vec<Written>,
    savepoint: Option<Vec<Written>>,
}

/// The model of all tables.
#[derive(Clone)]
pub struct Traffic {
    committed: Vec<Rows>,
    own: Vec<Own>,
    /// The number of commits that have changed each table.
    commits: Vec<u64>,
    rev: u32,
    unique: u32,
}

/// A statement, and the number of rows that it changes.
pub struct Change {
    pub sql: String,
    pub affected: u64,
}

impl Traffic {
    pub fn new(tables: usize) -> Traffic {
        let own = Own { written: vec![Written::new(); tables], savepoint: None };
        Traffic {
            committed: vec![Rows::new(); tables],
            own: vec![own; SESSIONS as usize],
            commits: vec![0; tables],
            rev: 0,
            unique: 0,
        }
    }

    /// A copy for a thread that knows only its own session.
    pub fn of_thread(&self, session: u32) -> Traffic {
        Traffic { rev: session << 24, ..self.clone() }
    }

    /// The committed rows of each table.
    pub fn committed(&self) -> &[Rows] {
        &self.committed
    }

    /// The number of commits that have changed each table.
    pub fn commits(&self) -> &[u64] {
        &self.commits
    }

    /// Whether a session has uncommitted changes of a table.
    pub fn has_written(&self, session: u32, table: usize) -> bool {
        !self.own[session as usize].written[table].is_empty()
    }

    /// Returns the rows that a session sees in a table, given the committed rows of its snapshot.
    pub fn seen(&self, session: u32, table: usize, committed: &Rows) -> Rows {
        let mut rows = committed.clone();
        for (id, rev) in &self.own[session as usize].written[table] {
            match rev {
                Some(rev) => rows.insert(*id, *rev),
                None => rows.remove(id),
            };
        }
        rows
    }

    pub fn commit(&mut self, session: u32) {
        for table in 0..self.committed.len() {
            let rows = self.seen(session, table, &self.committed[table]);
            self.commits[table] += u64::from(self.has_written(session, table));
            self.committed[table] = rows;
        }
        self.rollback(session);
    }

    pub fn rollback(&mut self, session: u32) {
        let own = &mut self.own[session as usize];
        own.written.iter_mut().for_each(Written::clear);
        own.savepoint = None;
    }

    pub fn set_savepoint(&mut self, session: u32) {
        let own = &mut self.own[session as usize];
        own.savepoint = Some(own.written.clone());
    }

    /// Rolls back to the savepoint, if there is one.
    pub fn rollback_to_savepoint(&mut self, session: u32) -> bool {
        let own = &mut self.own[session as usize];
        let Some(written) = own.savepoint.clone() else { return false };
        own.written = written;
        true
    }

    /// Returns the statements that fill a table, and alter it when half of the rows are there.
    pub fn fill(&mut self, table: usize, of: &Table, random: &mut SmallRng) -> Vec<String> {
        let mut statements = Vec::new();
        self.unique = self.unique.max(of.rows.len() as u32);
        let (first, last) = of.rows.split_at(of.rows.len() / 2);
        for (rows, late, alterations) in
            [(first, &of.late, &of.alterations), (last, &Vec::new(), &Vec::new())]
        {
            for some in rows.chunks(100) {
                let rows: Vec<String> =
                    some.iter().map(|row| self.row(0, table, (of, late), *row, random)).collect();
                self.commit(0);
                let names = names(of, late);
                statements.push(format!("INSERT INTO {} ({names}) VALUES {}", of.name, rows.join(", ")));
            }
            statements.extend(alterations.iter().cloned());
        }
        statements
    }

    /// Draws the values of a new row; without `late` columns while the table lacks them.
    fn row(
        &mut self,
        session: u32,
        table: usize,
        (of, late): (&Table, &[usize]),
        (id, u): (u32, u32),
        random: &mut SmallRng,
    ) -> String {
        let rev = self.next_rev();
        self.own[session as usize].written[table].insert(id, Some(rev));
        let values: Vec<String> = of
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| !late.contains(at))
            .map(|(_, column)| match column.name.as_str() {
                "id" => id.to_string(),
                "rev" => rev.to_string(),
                "g" => (id / GROUPED).to_string(),
                "u" if column.nullable && random.random_ratio(1, 7) => "NULL".to_owned(),
                "u" => u.to_string(),
                _ => column.value(random),
            })
            .collect();
        format!("({})", values.join(", "))
    }

    fn next_rev(&mut self) -> u32 {
        self.rev += 1;
        self.rev
    }

    fn next_unique(&mut self, id: u32) -> u32 {
        self.unique += 1;
        unique(self.unique, id)
    }

    /// Draws a change of some rows of a session. `None` if it has no row to change.
    pub fn change(
        &mut self,
        session: u32,
        table: usize,
        of: &Table,
        random: &mut SmallRng,
    ) -> Option<Change> {
        let mine: Vec<u32> = self
            .seen(session, table, &self.committed[table])
            .into_keys()
            .filter(|id| id % SESSIONS == session)
            .collect();
        let count = *[1, 1, 3, 10, 40].choose(random).unwrap_or(&1);
        if mine.is_empty() || random.random_ratio(1, 3) {
            return self.insert(session, table, of, count, random);
        }
        let from = random.random_range(0..mine.len());
        let some: Vec<u32> = match random.random_range(0..3) {
            // Adjacent rows, so that leaves become empty.
            0 => mine.iter().skip(from).take(count).copied().collect(),
            1 => mine.choose_multiple(random, count).copied().collect(),
            // The rows that change often, so that entries return under keys that they had before.
            _ => mine[..HOT.min(mine.len())].choose_multiple(random, count).copied().collect(),
        };
        let list: Vec<String> = some.iter().map(u32::to_string).collect();
        let (name, list) = (&of.name, list.join(", "));
        let affected = some.len() as u64;
        let written = &mut self.own[session as usize].written[table];
        if random.random_ratio(1, 3) {
            written.extend(some.iter().map(|id| (*id, None)));
            return Some(Change { sql: format!("DELETE FROM {name} WHERE id IN ({list})"), affected });
        }
        let [id] = some.as_slice() else { return Some(self.update(session, table, of, &some, random)) };
        let moved = id + SESSIONS * random.random_range(1..IDS);
        if random.random() || self.seen(session, table, &self.committed[table]).contains_key(&moved) {
            return Some(self.update(session, table, of, &some, random));
        }
        let rev = self.next_rev();
        let written = &mut self.own[session as usize].written[table];
        written.insert(*id, None);
        written.insert(moved, Some(rev));
        let sql = format!("UPDATE {name} SET id = {moved}, rev = {rev} WHERE id = {id}");
        Some(Change { sql, affected })
    }

    fn insert(
        &mut self,
        session: u32,
        table: usize,
        of: &Table,
        count: usize,
        random: &mut SmallRng,
    ) -> Option<Change> {
        let from = random.random_range(0..IDS / SESSIONS) * SESSIONS + session;
        let taken = self.seen(session, table, &self.committed[table]);
        let ids = (0..count as u32).map(|at| from + at * SESSIONS).filter(|id| !taken.contains_key(id));
        let rows: Vec<String> = ids
            .map(|id| {
                let u = self.next_unique(id);
                self.row(session, table, (of, &[]), (id, u), random)
            })
            .collect();
        let sql = format!("INSERT INTO {} ({}) VALUES {}", of.name, names(of, &[]), rows.join(", "));
        (!rows.is_empty()).then_some(Change { sql, affected: rows.len() as u64 })
    }

    /// Gives rows new values, and each a new `rev`.
    fn update(
        &mut self,
        session: u32,
        table: usize,
        of: &Table,
        rows: &[u32],
        random: &mut SmallRng,
    ) -> Change {
        let mut cases = String::new();
        for id in rows {
            let rev = self.next_rev();
            self.own[session as usize].written[table].insert(*id, Some(rev));
            cases.push_str(&format!(" WHEN {id} THEN {rev}"));
        }
        let mut set = vec![format!("rev = CASE id{cases} ELSE 0 END")];
        for column in &of.columns {
            let is_own = matches!(column.name.as_str(), "id" | "rev" | "g");
            if is_own || random.random_ratio(2, 3) {
                continue;
            }
            let value = match column.name.as_str() {
                "u" if column.nullable && random.random_ratio(1, 7) => "NULL".to_owned(),
                "u" if rows.len() == 1 => self.next_unique(session).to_string(),
                "u" if column.nullable => "NULL".to_owned(),
                "u" => continue,
                _ => column.value(random),
            };
            set.push(format!("{} = {value}", column.name));
        }
        let list: Vec<String> = rows.iter().map(u32::to_string).collect();
        let sql = format!("UPDATE {} SET {} WHERE id IN ({})", of.name, set.join(", "), list.join(", "));
        Change { sql, affected: rows.len() as u64 }
    }
}

fn names(table: &Table, late: &[usize]) -> String {
    let columns = table.columns.iter().enumerate().filter(|(at, _)| !late.contains(at));
    columns.map(|(_, column)| column.name.as_str()).collect::<Vec<_>>().join(", ")
}
