//! Random queries over four small tables: joins of all kinds, derived tables, subqueries, groups, rollups, window
//! functions, set operations. The result of a query is determined, except for the order of its rows if it has no
//! ORDER BY: windows whose values depend on the order of equal rows are ordered by every column.
//!
//! Queries that MariaDB is known to answer wrongly are not generated; `docs/compat/mariadb.md` lists them under the same names, see
//! [`NOT_ASKED`].

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Kinds of queries to which MariaDB's answers are known to differ from MySQL's documentation, and from its own
/// answers when they are written differently.
pub const NOT_ASKED: &[&str] = &[
    "COUNT(DISTINCT) WITH ROLLUP, of a constant or with a unique key among the group keys: MariaDB adds up the counts of the groups below.",
    "A scalar subquery left of IN, ANY or ALL beside a subquery that depends on the row: MariaDB answers `5 NOT IN (SELECT ...)` rightly, and wrongly with a `(SELECT MAX(b) ...)` that is 5.",
    "A DECIMAL left of IN or ANY beside an indexed column of integers: MariaDB finds 1.5 where there is 2, unless it ignores the index.",
    "A DECIMAL left of IN or ANY beside a subquery that is materialized: MariaDB does not find 3.00 where there is 3; the tests switch `materialization` off.",
    "A CASE with a DECIMAL among its results left of IN or ANY: MariaDB says that it is 3.00, and finds that where there is 3 for some rows and not for others.",
    "Queries that MariaDB answers with 1062, which a query cannot have: it is a key of a temporary table.",
    "`=` and `<=>` between the same columns in one join: MariaDB lets NULLs through.",
    "`<=>` in a subquery of IN that depends on the row: MariaDB takes NULL IN (SELECT ...) for true.",
    "Window functions over a derived table that is merged: MariaDB forgets conditions with subqueries; the tests switch `derived_merge` off.",
];

/// The tables: name, definition, columns.
const TABLES: &[(&str, &str, &[&str])] = &[
    (
        "t1",
        "id INT PRIMARY KEY, a INT, b INT NOT NULL, s VARCHAR(5), KEY (a), KEY (b, a)",
        &["id", "a", "b", "s"],
    ),
    ("t2", "id INT PRIMARY KEY, a INT, c INT, s VARCHAR(5), UNIQUE (c), KEY (a, s)", &["id", "a", "c", "s"]),
    ("t3", "id INT PRIMARY KEY, b INT, c BIGINT, d DECIMAL(6,2), KEY (b), KEY (c)", &["id", "b", "c", "d"]),
    ("t4", "a INT, b INT", &["a", "b"]),
];

/// Generates tables and queries.
pub struct Generator {
    rng: SmallRng,
    aliases: usize,
}

/// A query, and whether it determines the order of its rows.
pub struct Query {
    pub sql: String,
    pub ordered: bool,
}

/// Columns that can be named, by kind.
#[derive(Clone, Default)]
struct Scope {
    numbers: Vec<String>,
    texts: Vec<String>,
}

impl Scope {
    fn beside(&self, other: &Scope) -> Scope {
        let mut both = self.clone();
        both.numbers.extend_from_slice(&other.numbers);
        both.texts.extend_from_slice(&other.texts);
        both
    }

    fn all(&self) -> Vec<String> {
        self.numbers.iter().chain(&self.texts).cloned().collect()
    }
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { rng: SmallRng::seed_from_u64(seed), aliases: 0 }
    }

    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.rng.random_range(0..choices.len())]
    }

    fn one(&mut self, choices: &[String]) -> String {
        match choices.len() {
            0 => "1".to_owned(),
            count => choices[self.rng.random_range(0..count)].clone(),
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// Returns statements that make the tables anew, with other rows.
    pub fn tables(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for (name, definition, columns) in TABLES {
            statements.push(format!("DROP TABLE IF EXISTS {name}"));
            let partitions = if self.chance(40) { self.partitions(name) } else { "" };
            statements.push(format!("CREATE TABLE {name} ({definition}){partitions}"));
            let count = self.rng.random_range(0..15);
            let mut unique: Vec<i32> = Vec::new();
            let rows: Vec<String> = (0..count)
                .map(|row| {
                    let values: Vec<String> =
                        columns.iter().map(|column| self.value(name, column, row, &mut unique)).collect();
                    format!("({})", values.join(", "))
                })
                .collect();
            if !rows.is_empty() {
                statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
            }
        }
        statements
    }

    /// Returns how a table is partitioned: every row has a partition, and every unique key contains the partitioning
    /// column.
    fn partitions(&mut self, table: &str) -> &'static str {
        match table {
            "t1" | "t3" => self.of(&[
                " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (4), PARTITION p1 VALUES LESS THAN (9), PARTITION p2 VALUES LESS THAN MAXVALUE)",
                " PARTITION BY RANGE COLUMNS (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN (MAXVALUE))",
                " PARTITION BY LIST (id MOD 3) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (2, 1))",
                " PARTITION BY HASH (id) PARTITIONS 3",
                " PARTITION BY KEY () PARTITIONS 4",
            ]),
            "t4" => self.of(&[
                " PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (2), PARTITION p2 VALUES LESS THAN MAXVALUE)",
                " PARTITION BY RANGE COLUMNS (b, a) (PARTITION p0 VALUES LESS THAN (1, 2), PARTITION p1 VALUES LESS THAN (3, 0), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
                " PARTITION BY LIST (a) (PARTITION p0 VALUES IN (0, NULL, 7), PARTITION p1 VALUES IN (-1, 3), PARTITION p2 VALUES IN (1, 4, 2))",
                " PARTITION BY LINEAR HASH (a + b) PARTITIONS 5",
                " PARTITION BY KEY (b) PARTITIONS 3",
            ]),
            _ => "",
        }
    }

    fn value(&mut self, table: &str, column: &str, row: usize, unique: &mut Vec<i32>) -> String {
        match (table, column) {
            (_, "id") => (row + 1).to_string(),
            (_, "s") => self.of(&["NULL", "''", "'a'", "'b'", "'A'", "'ab'"]).to_owned(),
            (_, "d") => self.of(&["NULL", "0", "1.5", "-2.25", "3"]).to_owned(),
            ("t2", "c") => {
                let number = self.rng.random_range(-2..20);
                if unique.contains(&number) {
                    return "NULL".to_owned();
                }
                unique.push(number);
                number.to_string()
            }
            ("t1", "b") => self.rng.random_range(0..6).to_string(),
            _ => self.of(&["NULL", "0", "1", "2", "3", "4", "-1", "7"]).to_owned(),
        }
    }

    /// Returns a query over the tables.
    pub fn query(&mut self) -> Query {
        self.aliases = 0;
        let (from, scope) = self.from();
        let filter =
            if self.chance(60) { format!(" WHERE {}", self.condition(&scope, 0)) } else { String::new() };
        let rest = format!("FROM {from}{filter}");
        let kind = self.rng.random_range(0..100);
        let sql = match kind {
            0..35 => {
                let count = self.rng.random_range(1..4);
                let items: Vec<String> = (0..count).map(|_| self.item(&scope)).collect();
                let distinct = self.of(&["", "", "DISTINCT "]);
                format!("SELECT {distinct}{} {rest}", items.join(", "))
            }
            35..58 => self.grouped(&scope, &rest),
            58..68 => {
                let args: Vec<String> = (0..3).map(|_| self.number(&scope, 1)).collect();
                format!("SELECT COUNT(*), SUM({}), MIN({}), MAX({}) {rest}", args[0], args[1], args[2])
            }
            68..85 => self.windowed(&scope, &rest),
            85..93 => {
                let items: Vec<String> = scope.numbers.iter().take(3).cloned().collect();
                let keys: Vec<String> =
                    (1..=items.len()).map(|at| format!("{at}{}", self.of(&["", " DESC"]))).collect();
                let limit = self.of(&["1", "2", "5", "1, 3"]);
                let sql =
                    format!("SELECT {} {rest} ORDER BY {} LIMIT {limit}", items.join(", "), keys.join(", "));
                return Query { sql, ordered: true };
            }
            _ => {
                let (other, other_scope) = self.base();
                let (left, right) = (self.one(&scope.numbers), self.one(&other_scope.numbers));
                let operator = self.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                format!("SELECT {left} {rest} {operator} SELECT {right} FROM {other}")
            }
        };
        Query { sql, ordered: false }
    }

    fn item(&mut self, scope: &Scope) -> String {
        if self.chance(70) { self.number(scope, 0) } else { self.text(scope) }
    }

    fn grouped(&mut self, scope: &Scope, rest: &str) -> String {
        let columns = scope.all();
        let mut keys = vec![self.one(&columns)];
        if self.chance(40) {
            let other = self.one(&columns);
            if other != keys[0] {
                keys.push(other);
            }
        }
        let count = self.rng.random_range(1..3);
        let aggregates: Vec<String> = (0..count)
            .map(|_| {
                let (number, text) = (self.number(scope, 2), self.text(scope));
                match self.rng.random_range(0..5) {
                    0 => "COUNT(*)".to_owned(),
                    1 => format!("SUM({number})"),
                    2 => format!("MIN({number})"),
                    3 => format!("MAX({text})"),
                    _ => format!("COUNT(DISTINCT {number})"),
                }
            })
            .collect();
        let number = self.one(&scope.numbers);
        let having = format!(" HAVING SUM({number}) > 0");
        let having = self.of(&["", "", " HAVING COUNT(*) > 1", having.as_str()]).to_owned();
        let rollup = self.of(&["", "", "", " WITH ROLLUP"]);
        // MariaDB adds up the counts of the groups below.
        let one_row = keys.iter().any(|key| key.ends_with(".id"));
        let added_up = |aggregate: &String| {
            aggregate.starts_with("COUNT(DISTINCT") && (one_row || !aggregate.contains('x'))
        };
        let rollup = if aggregates.iter().any(added_up) { "" } else { rollup };
        let keys = keys.join(", ");
        format!("SELECT {keys}, {} {rest} GROUP BY {keys}{rollup}{having}", aggregates.join(", "))
    }

    fn windowed(&mut self, scope: &Scope, rest: &str) -> String {
        let everything = scope.all().join(", ");
        let count = self.rng.random_range(1..3);
        let windows: Vec<String> = (0..count)
            .map(|_| {
                let part = self.one(&scope.numbers);
                let key = self.one(&scope.numbers);
                let value = self.one(&scope.numbers);
                match self.rng.random_range(0..8) {
                    0 => format!("ROW_NUMBER() OVER (PARTITION BY {part} ORDER BY {everything})"),
                    1 => format!("RANK() OVER (ORDER BY {key} DESC)"),
                    2 => format!("SUM({value}) OVER (PARTITION BY {part})"),
                    3 => format!("COUNT({value}) OVER (ORDER BY {key})"),
                    4 => format!("DENSE_RANK() OVER (PARTITION BY {part} ORDER BY {key})"),
                    5 => format!(
                        "MAX({value}) OVER (ORDER BY {everything} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
                    ),
                    6 => format!("SUM({value}) OVER (PARTITION BY {part} ORDER BY {key} RANGE CURRENT ROW)"),
                    _ => format!("LAG({value}) OVER (ORDER BY {everything})"),
                }
            })
            .collect();
        format!("SELECT {}, {} {rest}", self.one(&scope.numbers), windows.join(", "))
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// Returns a table under an alias.
    fn base(&mut self) -> (String, Scope) {
        let (name, _, columns) = TABLES[self.rng.random_range(0..TABLES.len())];
        let alias = self.alias();
        let mut scope = Scope::default();
        for column in columns {
            let named = format!("{alias}.{column}");
            if *column == "s" { scope.texts.push(named) } else { scope.numbers.push(named) }
        }
        (format!("{name} {alias}"), scope)
    }

    fn derived(&mut self) -> (String, Scope) {
        let (table, inner) = self.base();
        let alias = self.alias();
        let (key, value) = (self.one(&inner.numbers), self.one(&inner.numbers));
        let query = match self.rng.random_range(0..3) {
            0 => {
                let condition = self.condition(&inner, 1);
                format!("SELECT {key} AS k, {value} AS n FROM {table} WHERE {condition}")
            }
            1 => format!("SELECT {key} AS k, SUM({value}) AS n FROM {table} GROUP BY {key}"),
            _ => {
                let (other, scope) = self.base();
                let all = self.of(&["", "ALL "]);
                let number = self.one(&scope.numbers);
                format!("SELECT {key} AS k, 1 AS n FROM {table} UNION {all}SELECT {number}, 2 FROM {other}")
            }
        };
        let scope = Scope { numbers: vec![format!("{alias}.k"), format!("{alias}.n")], texts: Vec::new() };
        (format!("({query}) {alias}"), scope)
    }

    fn from(&mut self) -> (String, Scope) {
        let (mut from, mut scope) = if self.chance(80) { self.base() } else { self.derived() };
        for _ in 0..[0, 0, 1, 1, 1, 2, 3][self.rng.random_range(0..7)] {
            let (right, right_scope) = if self.chance(75) { self.base() } else { self.derived() };
            let both = scope.beside(&right_scope);
            let mut on = match self.chance(75) {
                true => format!("{} = {}", self.one(&scope.numbers), self.one(&right_scope.numbers)),
                false => self.condition(&both, 2),
            };
            if self.chance(25) {
                on = format!("{on} AND {}", self.condition(&both, 2));
            }
            let join = self.of(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            from = format!("{from} {join} {right} ON {on}");
            scope = both;
        }
        (from, scope)
    }

    fn number(&mut self, scope: &Scope, depth: usize) -> String {
        match self.rng.random_range(0..100) {
            75..85 if depth < 3 => {
                let (left, right) = (self.number(scope, depth + 1), self.number(scope, depth + 1));
                format!("({left} {} {right})", self.of(&["+", "-", "*"]))
            }
            85..89 if depth < 3 => {
                let (left, right) = (self.number(scope, depth + 1), self.number(scope, depth + 1));
                format!("COALESCE({left}, {right})")
            }
            89..92 if depth < 2 => {
                let condition = self.condition(scope, depth + 1);
                let (yes, no) = (self.number(scope, depth + 1), self.number(scope, depth + 1));
                format!("CASE WHEN {condition} THEN {yes} ELSE {no} END")
            }
            92..96 if depth < 2 => {
                let (rest, inner) = self.inner(scope, depth);
                let number = self.one(&inner.numbers);
                let function = self.of(&["COUNT", "MAX", "MIN", "SUM"]);
                format!("(SELECT {function}({number}) {rest})")
            }
            96..100 if !scope.texts.is_empty() => format!("LENGTH({})", self.one(&scope.texts)),
            60..75 => self.of(&["0", "1", "2", "3", "-1", "5"]).to_owned(),
            _ => self.one(&scope.numbers),
        }
    }

    fn text(&mut self, scope: &Scope) -> String {
        if !scope.texts.is_empty() && self.chance(70) {
            return self.one(&scope.texts);
        }
        self.of(&["'a'", "'b'", "''"]).to_owned()
    }

    /// Returns FROM and WHERE of a subquery, and its columns.
    fn inner(&mut self, scope: &Scope, depth: usize) -> (String, Scope) {
        let (mut from, mut inner) = self.base();
        if self.chance(25) {
            let (right, right_scope) = self.base();
            let on = format!("{} = {}", self.one(&inner.numbers), self.one(&right_scope.numbers));
            from = format!("{from} JOIN {right} ON {on}");
            inner = inner.beside(&right_scope);
        }
        let mut conditions = Vec::new();
        if self.chance(55) {
            // With <=> here, MariaDB takes NULL IN (SELECT ...) for true.
            let operator = self.of(&["=", "=", "<", ">=", "<>"]);
            conditions.push(format!("{} {operator} {}", self.one(&inner.numbers), self.one(&scope.numbers)));
        }
        if self.chance(45) {
            let seen = if self.chance(50) { inner.beside(scope) } else { inner.clone() };
            conditions.push(self.condition(&seen, depth + 1));
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        (format!("FROM {from}{filter}"), inner)
    }

    /// Returns a number, and a subquery to look it up in.
    fn needle(&mut self, scope: &Scope, depth: usize) -> (String, String) {
        let mut needle = self.number(scope, depth + 1);
        let (rest, inner) = self.inner(scope, depth);
        if needle.contains("(SELECT") && scope.all().iter().any(|column| rest.contains(column)) {
            needle = self.one(&scope.numbers);
        }
        // A column of a derived table may be a DECIMAL.
        let is_decimal = |needle: &str| [".d", ".k", ".n"].iter().any(|column| needle.contains(column));
        if needle.contains("CASE") && is_decimal(&needle) {
            needle = self.one(&scope.numbers);
        }
        // An expression is not looked up in an index.
        let decimal = is_decimal(&needle);
        let column = self.one(&inner.numbers);
        (needle, format!("SELECT {column}{} {rest}", if decimal { " + 0" } else { "" }))
    }

    fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        let not = self.of(&["", "NOT "]);
        match self.rng.random_range(0..100) {
            35..42 => format!("{} IS {not}NULL", self.number(scope, depth + 1)),
            42..50 => {
                let (left, right) = (self.text(scope), self.text(scope));
                format!("{left} {} {right}", self.of(&["=", "<", "<>"]))
            }
            50..56 => {
                let list = self.of(&["1", "1, 2", "0, NULL", "2, 5, 0"]);
                format!("{} {not}IN ({list})", self.number(scope, depth + 1))
            }
            56..60 => {
                let numbers: Vec<String> = (0..3).map(|_| self.number(scope, depth + 1)).collect();
                format!("{} BETWEEN {} AND {}", numbers[0], numbers[1], numbers[2])
            }
            60..70 if depth < 3 => {
                let (left, right) = (self.condition(scope, depth + 1), self.condition(scope, depth + 1));
                format!("({left} {} {right})", self.of(&["AND", "OR", "OR"]))
            }
            70..75 if depth < 3 => format!("NOT ({})", self.condition(scope, depth + 1)),
            75..85 if depth < 2 => format!("{not}EXISTS (SELECT 1 {})", self.inner(scope, depth).0),
            85..95 if depth < 2 => {
                let (needle, query) = self.needle(scope, depth);
                format!("{needle} {not}IN ({query})")
            }
            95..100 if depth < 2 => {
                let (needle, query) = self.needle(scope, depth);
                let (operator, how) = (self.of(&["<", ">", "=", ">="]), self.of(&["ANY", "ALL"]));
                format!("{needle} {operator} {how} ({query})")
            }
            _ => {
                let (left, right) = (self.number(scope, depth + 1), self.number(scope, depth + 1));
                format!("{left} {} {right}", self.of(&["=", "<>", "<", ">", "<=", ">="]))
            }
        }
    }
}
