//! Random conditions. They refer to tables as `{number alias}`, see
//! [`Question::text`](super::questions::Question::text).

use super::kinds::{Column, Family};
use super::tables::{Index, Table};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// Columns that can be named, and their tables.
#[derive(Clone, Default)]
pub struct Scope {
    /// The number of each table, and its alias.
    pub tables: Vec<(usize, String)>,
    /// Their columns, with the alias in front.
    pub columns: Vec<Column>,
}

/// Generates conditions.
pub struct Conditions<'t> {
    pub tables: &'t [Table],
    pub random: &'t mut SmallRng,
}

impl Conditions<'_> {
    pub fn scope(&self, tables: &[(usize, &str)]) -> Scope {
        let mut scope = Scope::default();
        for (number, alias) in tables {
            scope.tables.push((*number, (*alias).to_owned()));
            scope.columns.extend(self.tables[*number].columns.iter().map(|column| qualified(alias, column)));
        }
        scope
    }

    pub fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.choose(self.random).copied().unwrap_or_default()
    }

    /// Returns any condition, often one that an index helps with.
    pub fn condition(&mut self, scope: &Scope, depth: u32) -> String {
        let of_index = match self.random.random_range(0..10) {
            0..4 => self.of_some_index(scope),
            4 => format!("({}) OR ({})", self.of_some_index(scope), self.of_some_index(scope)),
            5 => format!("({}) AND ({})", self.of_some_index(scope), self.of_some_index(scope)),
            _ => return self.tree(scope, depth),
        };
        match self.random.random_range(0..4) {
            0 => format!("({of_index}) AND ({})", self.tree(scope, depth.saturating_sub(1))),
            1 if self.random.random() => {
                format!("({of_index}) OR ({})", self.tree(scope, depth.saturating_sub(1)))
            }
            _ => of_index,
        }
    }

    fn of_some_index(&mut self, scope: &Scope) -> String {
        let Some((number, alias)) = scope.tables.choose(self.random) else { return "TRUE".to_owned() };
        let table = &self.tables[*number];
        match table.indexes.choose(self.random) {
            Some(index) => self.of_index(table, alias, index),
            None => self.atom(scope),
        }
    }

    /// Returns conditions on parts of an index, usually from the first on.
    pub fn of_index(&mut self, table: &Table, alias: &str, index: &Index) -> String {
        let mut conditions = Vec::new();
        let skipped = usize::from(index.parts.len() > 1 && self.random.random_ratio(1, 4));
        let used = self.random.random_range(skipped..index.parts.len()) + 1;
        for part in &index.parts[skipped..used] {
            let column = qualified(alias, &table.columns[part.column]);
            let is_last = conditions.len() + skipped + 1 == used;
            conditions.push(if is_last { self.of_column(&column) } else { self.points(&column) });
        }
        conditions.join(" AND ")
    }

    /// Returns a condition for one value or a few.
    fn points(&mut self, column: &Column) -> String {
        let name = &column.name;
        match self.random.random_range(0..6) {
            0 => format!("{name} IN ({})", self.list(column, 4)),
            1 if column.nullable => format!("{name} IS NULL"),
            2 => format!("{name} <=> {}", column.constant(self.random)),
            _ => format!("{name} = {}", column.constant(self.random)),
        }
    }

    fn list(&mut self, column: &Column, most: usize) -> String {
        let count = self.random.random_range(1..=most);
        (0..count).map(|_| column.constant(self.random)).collect::<Vec<_>>().join(", ")
    }

    /// Returns a condition for a set of values of one column.
    fn of_column(&mut self, column: &Column) -> String {
        let name = &column.name;
        let (a, b) = column.range(self.random);
        match self.random.random_range(0..12) {
            0 => self.points(column),
            1 => format!("{name} {}BETWEEN {a} AND {b}", self.pick(&["", "", "NOT "])),
            2 => {
                let (above, below) = (self.pick(&[">", ">="]), self.pick(&["<", "<="]));
                format!("{name} {above} {a} AND {name} {below} {b}")
            }
            3 => {
                let most = *[3, 3, 60].choose(self.random).unwrap_or(&3);
                format!("{name} {}IN ({})", self.pick(&["", "", "NOT "]), self.list(column, most))
            }
            4 => format!("{name} IS {}NULL", self.pick(&["", "NOT "])),
            5 if column.kind().family == Family::Text => {
                let not = self.pick(&["", "", "NOT "]);
                format!("{name} {not}LIKE {}", self.pick(&["'a%'", "'%b'", "'_'", "'A%'", "'1%'", "'ab_'"]))
            }
            6 => format!("({name} < {a} OR {name} >= {b})"),
            7 => format!("NOT ({name} < {a})"),
            _ => format!("{name} {} {a}", self.pick(&["=", "<", "<=", ">", ">=", "<>", "<=>"])),
        }
    }

    /// Returns a tree of AND, OR and NOT.
    pub fn tree(&mut self, scope: &Scope, depth: u32) -> String {
        if depth == 0 || self.random.random_ratio(2, 5) {
            return self.atom(scope);
        }
        let one = self.tree(scope, depth - 1);
        match self.random.random_range(0..6) {
            0 => format!("NOT ({one})"),
            1..=3 => format!("({one}) AND ({})", self.tree(scope, depth - 1)),
            _ => format!("({one}) OR ({})", self.tree(scope, depth - 1)),
        }
    }

    fn column(&mut self, scope: &Scope) -> Column {
        let number = || Column::number("1", false, Arc::default());
        scope.columns.choose(self.random).cloned().unwrap_or_else(number)
    }

    fn like(&mut self, scope: &Scope, column: &Column) -> Column {
        let same: Vec<&Column> =
            scope.columns.iter().filter(|other| other.kind().family == column.kind().family).collect();
        same.choose(self.random).map_or(column.clone(), |other| (*other).clone())
    }

    fn atom(&mut self, scope: &Scope) -> String {
        let column = self.column(scope);
        let name = &column.name;
        match self.random.random_range(0..16) {
            0 => {
                let other = self.like(scope, &column);
                format!("{name} {} {}", self.pick(&["=", "<", ">=", "<>"]), other.name)
            }
            1 | 2 => self.of_row(scope, &column),
            3 => {
                let (a, b) = (column.constant(self.random), column.constant(self.random));
                format!("COALESCE({name}, {a}) = {b}")
            }
            4 => {
                let mut constant = || column.constant(self.random);
                let (a, b, c) = (constant(), constant(), constant());
                format!("CASE WHEN {name} > {a} THEN {name} = {b} ELSE {name} <> {c} END")
            }
            5 => format!("{name} IS {}", self.pick(&["TRUE", "NOT FALSE", "NOT NULL"])),
            6 | 7 => self.subquery(&column),
            _ => self.of_column(&column),
        }
    }

    /// Returns a comparison of rows of two columns.
    fn of_row(&mut self, scope: &Scope, column: &Column) -> String {
        let other = self.column(scope);
        let mut pair = || format!("({}, {})", column.constant(self.random), other.constant(self.random));
        let pairs: Vec<String> = (0..4).map(|_| pair()).collect();
        let names = format!("({}, {})", column.name, other.name);
        match self.random.random_range(0..3) {
            0 => format!("{names} {} {}", self.pick(&["=", "<", ">=", "<>", "<=>"]), pairs[0]),
            1 => format!("{names} NOT IN ({}, {})", pairs[0], pairs[1]),
            _ => {
                let count = self.random.random_range(1..=pairs.len());
                format!("{names} IN ({})", pairs[..count].join(", "))
            }
        }
    }

    /// Returns a condition with a subquery.
    pub fn subquery(&mut self, column: &Column) -> String {
        let number = self.random.random_range(0..self.tables.len());
        let name = &column.name;
        let inner = self.scope(&[(number, "x")]);
        let same: Vec<&Column> =
            inner.columns.iter().filter(|other| other.kind().family == column.kind().family).collect();
        let Some(other) = same.choose(self.random).map(|other| other.name.clone()) else {
            return format!("{name} IS NULL");
        };
        let more = match self.random.random_ratio(1, 3) {
            true => self.of_some_index(&inner),
            false => "TRUE".to_owned(),
        };
        let table = format!("{{{number} x}}");
        match self.random.random_range(0..7) {
            0 | 1 => format!("{name} IN (SELECT {other} FROM {table} WHERE {more})"),
            2 => format!("{name} NOT IN (SELECT {other} FROM {table} WHERE {other} IS NOT NULL AND {more})"),
            3 => format!("{name} NOT IN (SELECT {other} FROM {table} WHERE {more})"),
            4 => format!("EXISTS (SELECT 1 FROM {table} WHERE {other} = {name} AND {more})"),
            5 => format!("NOT EXISTS (SELECT 1 FROM {table} WHERE {other} = {name} AND {more})"),
            _ => {
                let function = self.pick(&["MIN", "MAX"]);
                format!("{name} >= (SELECT {function}({other}) FROM {table} WHERE {more})")
            }
        }
    }
}

/// Returns a column under the alias of its table.
pub fn qualified(alias: &str, column: &Column) -> Column {
    Column { name: format!("{alias}.{}", column.name), ..column.clone() }
}
