//! Plans of statements that came as text, by statement shape. A client that sends a statement again with
//! other values saves parsing, binding and planning.
//!
//! Each session has its own cache, so that no lock is needed. An entry fits a text if their shapes are equal,
//! the literals that could not become parameters are the same, and the plan is current
//! ([`Planned::is_current`]) and is good for the values ([`Planned::is_good_for`]).

use super::{Outcome, Session};
use crate::plans::Planned;
use crate::properties::properties;
use crate::status::Command;
use leafline_syntax::ast::{ColumnName, TableName, TableReference};
use leafline_syntax::shape::{Shape, shape_of};
use leafline_syntax::{ColumnKind, LexMode, Lifted, lift};
use leafline_types::{Charset, MysqlError, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Limit of the plans of a session.
const CAPACITY: usize = 128;

/// A statement that came as text, planned with some of its literals as parameters.
struct Cached {
    /// The literals of the shape that became parameters.
    lifted: Lifted,
    /// The other literals, as written.
    fixed: Vec<(usize, Box<str>)>,
    command: Command,
    planned: Planned,
}

impl Cached {
    fn fits(&self, shape: &Shape, sql: &str) -> bool {
        let same = |&(position, ref text): &(usize, Box<str>)| {
            shape.literals.get(position).is_some_and(|literal| literal.source(sql) == &**text)
        };
        let is_plain = |position: &usize| {
            shape.literals.get(*position).is_some_and(|literal| literal.source(sql).is_ascii())
        };
        self.fixed.iter().all(same) && self.lifted.plain.iter().all(is_plain)
    }
}

/// The plans of a session.
#[derive(Default)]
pub(super) struct StatementCache {
    /// Entries by the key of the shape, each with the time of its last use; a key has several if they differ
    /// in fixed literals.
    entries: HashMap<Vec<u8>, Vec<(u64, Arc<Cached>)>>,
    count: usize,
    clock: u64,
}

impl StatementCache {
    fn find(&mut self, shape: &Shape, sql: &str) -> Option<Arc<Cached>> {
        self.clock += 1;
        let (used, found) =
            self.entries.get_mut(&shape.key)?.iter_mut().find(|(_, cached)| cached.fits(shape, sql))?;
        *used = self.clock;
        Some(found.clone())
    }

    fn remove(&mut self, shape: &Shape, sql: &str) {
        if let Some(alike) = self.entries.get_mut(&shape.key) {
            let before = alike.len();
            alike.retain(|(_, cached)| !cached.fits(shape, sql));
            self.count -= before - alike.len();
        }
    }

    fn insert(&mut self, shape: Shape, cached: Arc<Cached>) {
        if self.count >= CAPACITY {
            self.evict();
        }
        self.count += 1;
        self.entries.entry(shape.key).or_default().push((self.clock, cached));
    }

    /// Drops the half that was not used for longest.
    fn evict(&mut self) {
        let mut times: Vec<u64> = self.entries.values().flatten().map(|(used, _)| *used).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or(self.clock);
        self.entries.retain(|_, alike| {
            alike.retain(|(used, _)| *used > middle);
            !alike.is_empty()
        });
        self.count = self.entries.values().map(Vec::len).sum();
    }
}

impl Session {
    /// Runs one statement that came as text.
    pub(super) fn run_text(&mut self, sql: &str) -> Result<Outcome, MysqlError> {
        let mode = self.settings.lex_mode();
        if let Some(shape) = shape_of(sql, mode) {
            return self.run_shaped(shape, sql, mode);
        }
        let statement = self.parse(sql)?;
        self.run_statement(&statement, sql, &[])
    }

    /// The common kind of the columns of this name in the tables; `None` if kinds differ, and if there are
    /// derived tables.
    fn kind_of(&self, tables: &[TableReference], name: &ColumnName) -> Option<ColumnKind> {
        let mut names = Vec::new();
        if !tables.iter().all(|reference| stored_tables(reference, &mut names)) {
            return None;
        }
        let mut found = None;
        for table in names {
            let database = table.database.as_ref().map(|ident| &*ident.value).or(self.database())?;
            let table = self.table(database, &table.name.value).ok()?;
            let Some(column) = table.column(&name.column.value).and_then(|at| table.columns.get(at)) else {
                continue;
            };
            let kind = match &column.ty {
                // The literal 70 means 1970.
                SqlType::Year => return None,
                ty if ty.is_numeric() => ColumnKind::Number,
                SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. } => {
                    let charset = column.collation.charset();
                    match charset {
                        _ if charset.holds(Charset::Utf8mb4) => ColumnKind::String,
                        _ if charset.holds(Charset::Ascii) => ColumnKind::NarrowString,
                        _ => return None,
                    }
                }
                _ => return None,
            };
            if found.is_some_and(|found| found != kind) {
                return None;
            }
            found = Some(kind);
        }
        found
    }

    fn run_shaped(&mut self, shape: Shape, sql: &str, mode: LexMode) -> Result<Outcome, MysqlError> {
        let values = |lifted: &Lifted, shape: &Shape| -> Vec<Value> {
            lifted
                .positions
                .iter()
                .filter_map(|&at| shape.literals.get(at))
                .map(|l| l.value(sql, mode))
                .collect()
        };
        if let Some(cached) = self.kept.by_text.find(&shape, sql) {
            let parameters = values(&cached.lifted, &shape);
            self.warnings.clear();
            self.is_of_kind(cached.command);
            match self.run_again(&cached.planned, &parameters) {
                Ok(None) => self.kept.by_text.remove(&shape, sql),
                done => {
                    self.counters.count(cached.command);
                    self.counters.statement_cache_hits += 1;
                    return done?.ok_or_else(|| MysqlError::internal("a statement was not run"));
                }
            }
        }
        let mut statement = self.parse(sql)?;
        let lifted = lift(&mut statement, &shape, &|tables, name| self.kind_of(tables, name));
        let parameters = values(&lifted, &shape);
        let command = properties(&statement.kind).command;
        self.warnings.clear();
        self.apply_hints(&statement.hints);
        match self.plan_statement(&statement, sql, Some(&parameters)) {
            Ok(Some(planned)) => {
                self.count_command(command, true);
                let fixed = (0..shape.literals.len()).filter(|at| !lifted.positions.contains(at));
                let fixed = fixed.map(|at| (at, shape.literals[at].source(sql).into())).collect();
                let cached = Arc::new(Cached { lifted, fixed, command, planned });
                if cached.planned.can_be_kept() && statement.hints.resource_group.is_none() {
                    self.kept.by_text.insert(shape, cached.clone());
                }
                self.run_planned(&cached.planned, &parameters)
            }
            Ok(None) => self.run_statement(&statement, sql, &parameters),
            // A literal may be allowed where a parameter is not, and an error has to be the one of the
            // original statement.
            Err(_) if !lifted.positions.is_empty() => {
                let statement = self.parse(sql)?;
                self.run_statement(&statement, sql, &[])
            }
            Err(error) => {
                self.count_command(command, true);
                Err(error)
            }
        }
    }
}

/// Collects the names of stored tables; returns false if there are other relations.
fn stored_tables<'a>(reference: &'a TableReference, names: &mut Vec<&'a TableName>) -> bool {
    match reference {
        TableReference::Table { name, .. } => {
            names.push(name);
            true
        }
        TableReference::Join(join) => stored_tables(&join.left, names) && stored_tables(&join.right, names),
        TableReference::List(list) => list.iter().all(|reference| stored_tables(reference, names)),
        TableReference::Derived { .. } | TableReference::JsonTable(_) => false,
    }
}
