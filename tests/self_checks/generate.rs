//! Random tables with random indexes, and conditions over them.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::fmt::Write;

/// What the values of a column are like.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Family {
    Number,
    Text,
    Day,
}

/// A column type, the values that it gets, and what they are compared with.
struct Kind {
    ty: &'static str,
    family: Family,
    values: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        ty: "INT",
        family: Family::Number,
        values: &["0", "1", "2", "3", "-1", "7", "2147483647", "-2147483648"],
    },
    Kind { ty: "SMALLINT UNSIGNED", family: Family::Number, values: &["0", "1", "2", "3", "7", "65535"] },
    Kind {
        ty: "BIGINT",
        family: Family::Number,
        values: &["0", "1", "2", "-3", "9223372036854775807", "-9223372036854775808"],
    },
    Kind {
        ty: "DECIMAL(8,2)",
        family: Family::Number,
        values: &["0", "1.00", "1.50", "2.01", "-2.5", "999999.99"],
    },
    Kind {
        ty: "DOUBLE",
        family: Family::Number,
        values: &["0", "1", "1.5", "-0.0", "2.25", "1e30", "-1e-30"],
    },
    Kind { ty: "YEAR", family: Family::Number, values: &["2001", "1999", "2026", "0"] },
    Kind {
        ty: "VARCHAR(12)",
        family: Family::Text,
        values: &["''", "'a'", "'A'", "'b'", "'ab'", "'ä'", "'a '", "'1'", "'2x'", "'straße'"],
    },
    Kind {
        ty: "VARCHAR(12) COLLATE utf8mb4_bin",
        family: Family::Text,
        values: &["''", "'a'", "'A'", "'a '", "'b'", "'ba'", "'1'"],
    },
    Kind {
        ty: "CHAR(6) COLLATE utf8mb4_general_ci",
        family: Family::Text,
        values: &["''", "'a'", "'A'", "'b'", "'ss'", "'ß'"],
    },
    Kind {
        ty: "VARBINARY(8)",
        family: Family::Text,
        values: &["''", "'a'", "'A'", "'b '", "x'00'", "x'ff00'"],
    },
    Kind {
        ty: "TEXT",
        family: Family::Text,
        values: &["''", "'a'", "'b'", "REPEAT('a', 9000)", "REPEAT('b', 20000)"],
    },
    Kind { ty: "ENUM('b','a','c')", family: Family::Text, values: &["'a'", "'b'", "'c'"] },
    Kind {
        ty: "DATE",
        family: Family::Day,
        values: &["'2024-02-29'", "'2000-01-01'", "'2026-11-22'", "'1000-01-01'"],
    },
    Kind {
        ty: "DATETIME",
        family: Family::Day,
        values: &["'2024-02-29 12:00:00'", "'2000-01-01'", "'2026-11-22 23:59:59'"],
    },
];

#[derive(Clone)]
struct Column {
    name: String,
    kind: usize,
}

struct Table {
    name: String,
    columns: Vec<Column>,
    indexes: Vec<String>,
}

/// What conditions are over.
pub struct From {
    /// A table, or a join.
    pub text: String,
    /// The same without any index.
    pub without_indexes: String,
    /// The same by each index.
    pub paths: Vec<String>,
    /// The columns, for a select list.
    pub columns: String,
    /// Whether it is a table, without another name.
    pub is_table: bool,
    /// What to order by, and how many rows to take.
    pub orders: Vec<(String, usize)>,
    /// Parts of the optimizer to switch off.
    pub switches: &'static [&'static str],
    qualified: Vec<Column>,
}

pub struct Generator {
    pub random: SmallRng,
    tables: Vec<Table>,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { random: SmallRng::seed_from_u64(seed), tables: Vec::new() }
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.choose(&mut self.random).copied().unwrap_or_default()
    }

    /// Statements that make the tables and fill them.
    pub fn tables(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for number in 0..3 {
            let name = format!("t{number}");
            let columns: Vec<Column> = (0..self.random.random_range(3..7))
                .map(|at| Column { name: format!("c{at}"), kind: self.random.random_range(0..KINDS.len()) })
                .collect();
            let mut sql = format!("CREATE TABLE {name} (id INT");
            for column in &columns {
                let is_required = self.random.random_ratio(1, 6) && KINDS[column.kind].family != Family::Day;
                let null = if is_required { " NOT NULL" } else { "" };
                let _ = write!(sql, ", {} {}{null}", column.name, KINDS[column.kind].ty);
            }
            let mut indexes = Vec::new();
            if self.random.random_ratio(4, 5) {
                sql.push_str(", PRIMARY KEY (id)");
                indexes.push("PRIMARY".to_owned());
            }
            for index in 0..self.random.random_range(1..5) {
                let mut parts: Vec<String> = Vec::new();
                for _ in 0..self.random.random_range(1..4) {
                    let Some(column) = columns.choose(&mut self.random) else { continue };
                    let is_new = !parts.iter().any(|part| part.starts_with(&column.name));
                    if is_new && KINDS[column.kind].ty != "TEXT" {
                        let direction = if self.random.random_ratio(1, 4) { " DESC" } else { "" };
                        parts.push(format!("{}{direction}", column.name));
                    }
                }
                if !parts.is_empty() {
                    let unique = if self.random.random_ratio(1, 8) { "UNIQUE " } else { "" };
                    let _ = write!(sql, ", {unique}KEY k{index} ({})", parts.join(", "));
                    indexes.push(format!("k{index}"));
                }
            }
            statements.push(sql + ")");
            let rows = *[0, 1, 10, 60, 200].choose(&mut self.random).unwrap_or(&10);
            for id in 0..rows {
                let values: Vec<&str> = columns.iter().map(|column| self.value(column.kind)).collect();
                statements.push(format!("INSERT IGNORE INTO {name} VALUES ({id}, {})", values.join(", ")));
            }
            self.tables.push(Table { name, columns, indexes });
        }
        statements
    }

    fn value(&mut self, kind: usize) -> &'static str {
        match self.random.random_ratio(1, 7) {
            true => "NULL",
            false => self.pick(KINDS[kind].values),
        }
    }

    /// A table or a join.
    pub fn from(&mut self) -> From {
        let table = self.random.random_range(0..3);
        if self.random.random_ratio(3, 5) {
            return self.one(table);
        }
        let other = self.random.random_range(0..3);
        self.join(table, other)
    }

    fn one(&mut self, table: usize) -> From {
        let Table { name, columns, indexes } = &self.tables[table];
        let all: Vec<&str> = indexes.iter().map(String::as_str).collect();
        let without_indexes = match all.is_empty() {
            true => name.clone(),
            false => format!("{name} IGNORE INDEX ({})", all.join(", ")),
        };
        let paths = indexes.iter().map(|index| format!("{name} FORCE INDEX ({index})")).collect();
        let mut from = From {
            text: name.clone(),
            without_indexes,
            paths,
            columns: "*".into(),
            is_table: true,
            orders: Vec::new(),
            switches: &["index_condition_pushdown"],
            qualified: columns.clone(),
        };
        from.qualified.push(Column { name: "id".into(), kind: 0 });
        from.orders = self.orders(&from);
        from
    }

    fn join(&mut self, left: usize, right: usize) -> From {
        let qualify = |alias: &str, table: &Table| -> Vec<Column> {
            let column = |name: &str, kind| Column { name: format!("{alias}.{name}"), kind };
            let mut all: Vec<Column> =
                table.columns.iter().map(|found| column(&found.name, found.kind)).collect();
            all.push(column("id", 0));
            all
        };
        let mut qualified = qualify("l", &self.tables[left]);
        qualified.extend(qualify("r", &self.tables[right]));
        let names: Vec<String> = qualified.iter().map(|column| column.name.clone()).collect();
        let mut from = From {
            text: String::new(),
            without_indexes: String::new(),
            paths: Vec::new(),
            columns: names.join(", "),
            is_table: false,
            orders: Vec::new(),
            switches: &["index_condition_pushdown", "semijoin"],
            qualified,
        };
        let on = self.equality(left, right);
        let more = if self.random.random() { self.condition(&from, 1) } else { "TRUE".into() };
        let word = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        let (l, r) = (&self.tables[left], &self.tables[right]);
        let hint = |table: &Table| match table.indexes.is_empty() {
            true => String::new(),
            false => format!(" IGNORE INDEX ({})", table.indexes.join(", ")),
        };
        let text = |left: &str, right: &str| {
            format!("{} l{left} {word} {} r{right} ON {on} AND ({more})", l.name, r.name)
        };
        from.text = text("", "");
        from.without_indexes = text(&hint(l), &hint(r));
        from.paths = r.indexes.iter().map(|index| text("", &format!(" FORCE INDEX ({index})"))).collect();
        from.paths.extend(l.indexes.iter().map(|index| text(&format!(" FORCE INDEX ({index})"), "")));
        if word == "JOIN" {
            from.paths.push(format!("{} r CROSS JOIN {} l ON {on} AND ({more})", r.name, l.name));
        }
        from.orders = self.orders(&from);
        from
    }

    fn equality(&mut self, left: usize, right: usize) -> String {
        let (l, r) = (&self.tables[left], &self.tables[right]);
        let mut pairs = vec![("id".to_owned(), "id".to_owned())];
        for one in &l.columns {
            for other in &r.columns {
                if KINDS[one.kind].family == KINDS[other.kind].family {
                    pairs.push((one.name.clone(), other.name.clone()));
                }
            }
        }
        let (one, other) = pairs.choose(&mut self.random).cloned().unwrap_or_default();
        let operator = self.pick(&["=", "=", "=", "<=>", "<"]);
        format!("l.{one} {operator} r.{other}")
    }

    fn orders(&mut self, from: &From) -> Vec<(String, usize)> {
        (0..2)
            .map(|_| {
                let mut keys = Vec::new();
                for _ in 0..self.random.random_range(1..3) {
                    let Some(column) = from.qualified.choose(&mut self.random) else { continue };
                    keys.push(column.name.clone());
                }
                // Equal is not the same: what is compared is what decides the order.
                (keys.join(", "), self.random.random_range(1..20))
            })
            .filter(|(keys, _)| {
                let is_exact = |name: &str| {
                    let column = from.qualified.iter().find(|column| column.name == name);
                    column.is_some_and(|column| {
                        let kind = &KINDS[column.kind];
                        kind.family != Family::Text && kind.ty != "DOUBLE"
                    })
                };
                keys.split(", ").all(is_exact)
            })
            .collect()
    }

    /// A condition over the columns of `from`.
    pub fn condition(&mut self, from: &From, depth: u32) -> String {
        if depth > 0 && self.random.random_ratio(3, 5) {
            let one = self.condition(from, depth - 1);
            return match self.random.random_range(0..6) {
                0 => format!("NOT ({one})"),
                1..=3 => format!("({one}) AND ({})", self.condition(from, depth - 1)),
                _ => format!("({one}) OR ({})", self.condition(from, depth - 1)),
            };
        }
        let Some(column) = from.qualified.choose(&mut self.random).cloned() else { return "TRUE".into() };
        let (name, kind) = (column.name, column.kind);
        let mut constant = || self.constant(kind);
        let (a, b, c) = (constant(), constant(), constant());
        match self.random.random_range(0..14) {
            0..=3 => {
                let operator = self.pick(&["=", "<", "<=", ">", ">=", "<>", "<=>"]);
                format!("{name} {operator} {a}")
            }
            4 => format!("{name} BETWEEN {a} AND {b}"),
            5 => format!("{name} IN ({a}, {b}, {c})"),
            6 => format!("{name} NOT IN ({a}, {b})"),
            7 => format!("{name} IS {}NULL", self.pick(&["", "NOT "])),
            8 if KINDS[kind].family == Family::Text => {
                format!("{name} LIKE {}", self.pick(&["'a%'", "'%b'", "'_'", "'A%'", "'1%'"]))
            }
            8 | 9 => {
                let same: Vec<&Column> = from
                    .qualified
                    .iter()
                    .filter(|other| KINDS[other.kind].family == KINDS[kind].family)
                    .collect();
                let other = same.choose(&mut self.random).map_or(name.clone(), |other| other.name.clone());
                format!("{name} {} {other}", self.pick(&["=", "<", ">=", "<>"]))
            }
            10 => {
                let Some(other) = from.qualified.choose(&mut self.random).cloned() else { return name };
                let d = self.constant(other.kind);
                match self.random.random() {
                    true => format!("({name}, {}) {} ({a}, {d})", other.name, self.pick(&["=", "<", ">="])),
                    false => format!("({name}, {}) IN (({a}, {d}), ({b}, {d}))", other.name),
                }
            }
            11 => format!("COALESCE({name}, {a}) = {b}"),
            12 => format!("CASE WHEN {name} > {a} THEN {name} = {b} ELSE {name} <> {c} END"),
            _ => self.subquery(&name, kind),
        }
    }

    /// A condition that an index may answer by itself.
    pub fn simple(&mut self, from: &From) -> String {
        let mut one = || {
            let Some(Column { name, kind }) = from.qualified.choose(&mut self.random).cloned() else {
                return "TRUE".to_owned();
            };
            let (a, b) = (self.constant(kind), self.constant(kind));
            match self.random.random_range(0..4) {
                0 => format!("{name} BETWEEN {a} AND {b}"),
                1 => format!("{name} {} {a}", self.pick(&["<", ">=", "<=>"])),
                _ => format!("{name} = {a}"),
            }
        };
        let first = one();
        let second = one();
        match self.random.random_ratio(1, 3) {
            true => format!("{first} AND {second}"),
            false => first,
        }
    }

    fn constant(&mut self, kind: usize) -> String {
        match self.random.random_ratio(1, 15) {
            true => "NULL".into(),
            false => match (self.pick(KINDS[kind].values), KINDS[kind].family) {
                ("NULL", _) => "0".into(),
                (value, _) if self.random.random_ratio(1, 20) && KINDS[kind].family == Family::Number => {
                    format!("'{value}'")
                }
                (value, _) => value.into(),
            },
        }
    }

    fn subquery(&mut self, name: &str, kind: usize) -> String {
        let table = self.random.random_range(0..self.tables.len());
        let Table { name: other, columns, .. } = &self.tables[table];
        let same: Vec<&Column> =
            columns.iter().filter(|column| KINDS[column.kind].family == KINDS[kind].family).collect();
        let Some(column) = same.choose(&mut self.random) else { return format!("{name} IS NULL") };
        let (other, column) = (other.clone(), column.name.clone());
        match self.random.random_range(0..5) {
            0 => format!("{name} IN (SELECT x.{column} FROM {other} x)"),
            1 => format!("{name} NOT IN (SELECT x.{column} FROM {other} x WHERE x.{column} IS NOT NULL)"),
            2 => format!("EXISTS (SELECT 1 FROM {other} x WHERE x.{column} = {name})"),
            3 => format!("NOT EXISTS (SELECT 1 FROM {other} x WHERE x.{column} = {name} AND x.id > 3)"),
            _ => format!(
                "{name} >= (SELECT {}(x.{column}) FROM {other} x WHERE x.id < 20)",
                self.pick(&["MIN", "MAX"])
            ),
        }
    }
}
