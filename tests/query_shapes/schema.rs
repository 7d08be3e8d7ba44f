//! The tables and views that the statements read and change: tiny, with NULLs, duplicates and indexes of several kinds.

use super::generate::Generator;

/// A table or view that can be named, with its columns.
pub struct Named {
    pub name: &'static str,
    pub columns: &'static [&'static str],
}

/// Tables and views that can be read.
pub const READABLE: &[Named] = &[
    Named { name: "t1", columns: &["a", "b", "s"] },
    Named { name: "t2", columns: &["id", "a", "m", "s"] },
    Named { name: "t3", columns: &["id", "b", "c", "d"] },
    Named { name: "t4", columns: &["a", "b"] },
    Named { name: "u", columns: &["n", "a", "b"] },
    Named { name: "v1", columns: &["a", "b"] },
    Named { name: "v2", columns: &["a", "total"] },
    Named { name: "v3", columns: &["k", "s"] },
];

/// Tables that can be changed, and views of them.
pub const CHANGEABLE: &[Named] = &[
    Named { name: "t1", columns: &["a", "b", "s"] },
    Named { name: "t2", columns: &["id", "a", "m", "s"] },
    Named { name: "t3", columns: &["id", "b", "c", "d"] },
    Named { name: "t4", columns: &["a", "b"] },
    Named { name: "u", columns: &["n", "a", "b"] },
    Named { name: "v1", columns: &["a", "b"] },
];

const TABLES: &[(&str, &str)] = &[
    ("t1", "a INT, b INT NOT NULL, s VARCHAR(5), KEY (a), KEY (b, a)"),
    ("t2", "id INT PRIMARY KEY, a INT, m INT, s VARCHAR(5), UNIQUE (m), KEY (a, s)"),
    ("t3", "id INT PRIMARY KEY, b INT, c BIGINT UNSIGNED, d DECIMAL(6,2), KEY (b), KEY (c)"),
    ("t4", "a INT, b INT"),
    ("u", "n INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT NOT NULL DEFAULT 7, UNIQUE (a)"),
];

const VIEWS: &[&str] = &[
    "CREATE OR REPLACE VIEW v1 AS SELECT a, b FROM t1 WHERE b > 0",
    "CREATE OR REPLACE VIEW v2 AS SELECT a, SUM(m) AS total FROM t2 GROUP BY a",
    "CREATE OR REPLACE VIEW v3 (k, s) AS SELECT t3.id, t2.s FROM t3 LEFT JOIN t2 ON t2.a = t3.b UNION SELECT a, s FROM t1",
];

impl Generator {
    /// Returns statements that make the tables anew, with other rows, and the views.
    pub fn schema(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for (name, definition) in TABLES {
            statements.push(format!("DROP TABLE IF EXISTS {name}"));
            statements.push(format!("CREATE TABLE {name} ({definition})"));
            let rows: Vec<String> = (0..self.below(7)).map(|row| self.row(name, row)).collect();
            if !rows.is_empty() {
                statements.push(format!("INSERT IGNORE INTO {name} VALUES {}", rows.join(", ")));
            }
        }
        statements.extend(VIEWS.iter().map(|view| (*view).to_owned()));
        statements
    }

    fn row(&mut self, table: &str, row: usize) -> String {
        let (small, other) = (self.nullable_number(), self.nullable_number());
        let text = self.of(&["NULL", "''", "'a'", "'b'", "'c'", "'ab'", "'1'"]);
        let number = self.below(4);
        match table {
            "t1" => format!("({small}, {number}, {text})"),
            "t2" => format!("({row}, {small}, {other}, {text})"),
            "t3" => format!("({row}, {small}, {number}, {other})"),
            "u" => format!("(NULL, {small}, {number})"),
            _ => format!("({small}, {other})"),
        }
    }

    fn nullable_number(&mut self) -> String {
        if self.chance(20) { "NULL".to_owned() } else { self.below(5).to_string() }
    }
}
