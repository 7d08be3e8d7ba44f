//! Comparisons of columns with constants and with columns of other types, for values that binary64 or binary32 do not
//! represent exactly.
//!
//! Leafline's tables have indexes, which must give the same rows as comparing row by row. MariaDB's have none,
//! because there an index of a DECIMAL loses rows that are equal as DOUBLE.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

/// Columns and their types.
const COLUMNS: [(&str, &str); 6] = [
    ("b", "BIGINT"),
    ("u", "BIGINT UNSIGNED"),
    ("d", "DECIMAL(30,2)"),
    ("f", "DOUBLE"),
    ("s", "FLOAT"),
    ("i", "INT"),
];

const OPERATORS: [&str; 7] = ["=", "<=>", "<>", "<", "<=", ">", ">="];

/// The numbers around which values lie: where FLOAT, DOUBLE, BIGINT and BIGINT UNSIGNED stop being exact, or end. If
/// a DOUBLE beyond the first five is compared with a BIGINT column, MariaDB replaces it with the column's last
/// number, or is wrong beside a DECIMAL.
const CENTRES: [i128; 8] =
    [0, 1 << 24, 1 << 31, 1 << 53, -(1 << 53), (1 << 63) - 512, 1 << 63, (1 << 64) - 1024];
const INNER: usize = 5;

/// The form of a literal or value.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Integer,
    Decimal,
    Double,
}

const KINDS: [Kind; 3] = [Kind::Integer, Kind::Decimal, Kind::Double];

pub struct Mixed {
    random: SmallRng,
}

impl Mixed {
    pub fn new(seed: u64) -> Mixed {
        Mixed { random: SmallRng::seed_from_u64(seed) }
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        from.choose(&mut self.random).expect("some")
    }

    fn number(&mut self, centres: usize) -> i128 {
        let wide = if self.random.random_bool(0.2) { 2_000 } else { 3 };
        *self.pick(&CENTRES[..centres]) + self.random.random_range(-wide..=wide)
    }

    /// Returns the statements that make the tables, with keys or without.
    pub fn tables(keys: bool) -> Vec<String> {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let mut made = Vec::new();
        for (table, order) in [("m1", ""), ("m2", " DESC")] {
            let mut parts = vec!["id INT PRIMARY KEY".to_owned()];
            parts.extend(columns.iter().cloned());
            if keys {
                parts.extend(COLUMNS.iter().map(|(name, _)| format!("KEY ({name}{order})")));
            }
            made.push(format!("DROP TABLE IF EXISTS {table}"));
            made.push(format!("CREATE TABLE {table} ({})", parts.join(", ")));
        }
        made
    }

    /// Returns a statement that fills a table.
    pub fn rows(&mut self, table: &str, count: usize) -> String {
        let rows: Vec<String> = (0..count).map(|id| self.row(id)).collect();
        format!("INSERT INTO {table} VALUES {}", rows.join(", "))
    }

    fn row(&mut self, id: usize) -> String {
        let mut values = vec![id.to_string()];
        for (_, ty) in COLUMNS {
            let range = match ty {
                "BIGINT" => i128::from(i64::MIN)..=i128::from(i64::MAX),
                "BIGINT UNSIGNED" => 0..=i128::from(u64::MAX),
                "INT" => i128::from(i32::MIN)..=i128::from(i32::MAX),
                _ => i128::MIN..=i128::MAX,
            };
            let number = self.number(CENTRES.len());
            values.push(match range.contains(&number) && !self.random.random_bool(0.05) {
                true => number.to_string(),
                false => "NULL".to_owned(),
            });
        }
        format!("({})", values.join(", "))
    }

    /// Returns a literal to compare a column with.
    fn constant(&mut self, kind: Kind, column: &str) -> String {
        let inner = kind != Kind::Integer && is_big(column);
        let number = self.number(if inner { INNER } else { CENTRES.len() });
        match kind {
            Kind::Integer => number.to_string(),
            Kind::Decimal => format!("{number}.{}", self.pick(&["0", "5", "00", "25"])),
            Kind::Double => format!("{number}{}e0", self.pick(&["", ".5"])),
        }
    }

    fn any_constant(&mut self, column: &str) -> String {
        let kind = *self.pick(&KINDS);
        self.constant(kind, column)
    }

    fn column(&mut self) -> &'static str {
        self.pick(&COLUMNS).0
    }

    /// Returns a query that compares.
    pub fn query(&mut self) -> String {
        let not = *self.pick(&["", "NOT "]);
        let (column, other, third) = (self.column(), self.column(), self.column());
        let operator = *self.pick(&OPERATORS);
        match self.random.random_range(0..6) {
            0 => format!("SELECT id FROM m1 WHERE {column} {operator} {}", self.any_constant(column)),
            1 => format!("SELECT id FROM m2 WHERE {} {operator} {column}", self.any_constant(column)),
            2 => {
                // A DECIMAL with a fraction makes MariaDB compare a BIGINT as a DECIMAL beside a whole DOUBLE; MySQL
                // compares as DOUBLE.
                let kinds = match is_big(column) {
                    true => [Kind::Integer, Kind::Double],
                    false => [*self.pick(&KINDS), *self.pick(&KINDS)],
                };
                let (low, high) = (self.constant(kinds[0], column), self.constant(kinds[1], column));
                format!(
                    "SELECT id FROM {} WHERE {column} {not}BETWEEN {low} AND {high}",
                    self.pick(&["m1", "m2"])
                )
            }
            3 => {
                // MariaDB does not take a DOUBLE for an integer here; MySQL does if all constants are of one kind.
                let kinds = match column {
                    "b" | "u" => [Kind::Integer, Kind::Decimal, Kind::Integer],
                    _ => [Kind::Integer, Kind::Decimal, Kind::Double],
                };
                let members: Vec<String> =
                    kinds.into_iter().map(|kind| self.constant(kind, column)).collect();
                format!("SELECT id FROM m1 WHERE {column} {not}IN ({})", members.join(", "))
            }
            4 => format!("SELECT m1.id, m2.id FROM m1 JOIN m2 ON m1.{column} {operator} m2.{other}"),
            _ => {
                // A single constant makes MariaDB compare a BIGINT with it and a column as integers; MySQL does so
                // only with two.
                let high = match is_big(column) || self.random.random_bool(0.5) {
                    true => format!("m2.{third}"),
                    false => self.any_constant(column),
                };
                let join = "SELECT m1.id, m2.id FROM m1 JOIN m2 ON";
                format!("{join} m1.{column} {not}BETWEEN m2.{other} AND {high}")
            }
        }
    }
}

fn is_big(column: &str) -> bool {
    matches!(column, "b" | "u")
}
