//! Column types, and the values of their columns.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// A family of types whose values can be compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Family {
    Number,
    Text,
    Day,
    Time,
}

impl Family {
    /// Returns constants of other types that it can be compared with, too.
    fn others(self) -> &'static [&'static str] {
        match self {
            // Some are so large that a double does not tell them from their neighbours.
            Family::Number => &[
                "'2x'",
                "' 3'",
                "'1e1'",
                "1.5e0",
                "9.3e17",
                "9223372036854775807e0",
                "'18446744073709551615'",
                "18446744073709551615",
                "-0.0",
                "TRUE",
                "''",
            ],
            Family::Text => &["0", "1", "1.5", "2e0", "DATE '2024-02-29'"],
            // Zero months and days, and days behind the end of their month, lie between existing dates.
            Family::Day => &[
                "20240229",
                "20240115120000",
                "'2024-01-05'",
                "'2024-01-05 06:00:00.5'",
                "0",
                "'2024-00-00'",
                "'2024-02-00'",
                "'2024-00-15 10:00:00'",
                "'2024-01-00 23:59:59.999'",
                "'2000-00-01'",
                "'1969-00-00'",
                "'2038-00-00'",
                "'9999-00-00'",
                "'0000-00-00'",
                "20240100",
            ],
            Family::Time => &[
                "'10:11:12.5'",
                "101112",
                "'-838:59:59'",
                "'838:59:59'",
                "'00:00:00'",
                "0",
                "101112.25",
                "-5",
                "'-00:00:00.01'",
            ],
        }
    }
}

/// The part of a type's value that an index can hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Indexed {
    Whole,
    /// As a whole, or only its beginning.
    Either,
    /// Only its beginning.
    Prefix,
}

/// A column type, its values, and the constants they are compared with.
pub struct Kind {
    pub ty: &'static str,
    pub family: Family,
    pub indexed: Indexed,
    /// Few values, with the ends of the type's range among them.
    pub few: &'static [&'static str],
    /// Makes one of many values, from a number below [`MANY`].
    pub many: fn(u32) -> String,
    /// An expression over a column (`{}`) that gives the same text for equal values.
    pub exact: &'static str,
    /// Whether sums do not depend on the order of rows.
    pub sums: bool,
}

/// The number of values of a column with many values.
pub const MANY: u32 = 300;

const PLAIN: &str = "{}";
const WEIGHTS: &str = "HEX(WEIGHT_STRING({}))";

fn signed(n: u32) -> String {
    (i64::from(n) - 40).to_string()
}

fn letters(n: u32) -> String {
    let letter = |n: u32| char::from(b'a' + (n % 9) as u8);
    format!("'{}{}{}'", letter(n / 81), letter(n / 9), letter(n))
}

pub const KINDS: &[Kind] = &[
    Kind {
        ty: "INT",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1", "2", "3", "-1", "7", "2147483647", "-2147483648"],
        many: signed,
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "SMALLINT UNSIGNED",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1", "2", "3", "7", "65535"],
        many: |n| n.to_string(),
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "BIGINT",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1", "2", "-3", "9223372036854775807", "-9223372036854775808"],
        many: signed,
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "BIGINT UNSIGNED",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1", "2", "9223372036854775808", "18446744073709551615"],
        many: |n| n.to_string(),
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "DECIMAL(8,2)",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1.00", "1.50", "2.01", "-2.5", "999999.99"],
        many: |n| format!("{}.{:02}", n / 4, n % 4 * 25),
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "DOUBLE",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["0", "1", "1.5", "-0.0", "2.25", "1e30", "-1e-30"],
        many: |n| format!("{}.5", n / 2),
        exact: "({} + 0)",
        sums: false,
    },
    Kind {
        ty: "YEAR",
        family: Family::Number,
        indexed: Indexed::Whole,
        few: &["2001", "1999", "2026", "0"],
        many: |n| (1901 + n % 250).to_string(),
        exact: PLAIN,
        sums: true,
    },
    Kind {
        ty: "VARCHAR(12)",
        family: Family::Text,
        indexed: Indexed::Either,
        few: &["''", "'a'", "'A'", "'b'", "'ab'", "'ä'", "'a '", "'1'", "'2x'", "'straße'"],
        many: letters,
        exact: WEIGHTS,
        sums: false,
    },
    Kind {
        ty: "VARCHAR(12) COLLATE utf8mb4_bin",
        family: Family::Text,
        indexed: Indexed::Either,
        few: &["''", "'a'", "'A'", "'a '", "'b'", "'ba'", "'1'"],
        many: letters,
        // The type ignores trailing spaces; its weights do not.
        exact: "RTRIM({})",
        sums: false,
    },
    Kind {
        ty: "CHAR(6) COLLATE utf8mb4_general_ci",
        family: Family::Text,
        indexed: Indexed::Either,
        few: &["''", "'a'", "'A'", "'b'", "'ss'", "'ß'"],
        many: letters,
        exact: WEIGHTS,
        sums: false,
    },
    Kind {
        ty: "VARBINARY(8)",
        family: Family::Text,
        indexed: Indexed::Either,
        few: &["''", "'a'", "'A'", "'b '", "x'00'", "x'ff00'"],
        many: letters,
        exact: "HEX({})",
        sums: false,
    },
    Kind {
        ty: "TEXT",
        family: Family::Text,
        indexed: Indexed::Prefix,
        few: &["''", "'a'", "'b'", "REPEAT('a', 3000)", "REPEAT('b', 9000)"],
        many: |n| format!("REPEAT({}, {})", letters(n), 1 + n % 20),
        exact: WEIGHTS,
        sums: false,
    },
    Kind {
        ty: "ENUM('b','a','c')",
        family: Family::Text,
        indexed: Indexed::Whole,
        few: &["'a'", "'b'", "'c'"],
        many: |n| ["'a'", "'b'", "'c'"][n as usize % 3].to_owned(),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "DATE",
        family: Family::Day,
        indexed: Indexed::Whole,
        few: &["'2024-02-29'", "'2000-01-01'", "'2026-11-22'", "'1000-01-01'"],
        many: |n| format!("'2024-{:02}-{:02}'", 1 + n / 28 % 12, 1 + n % 28),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "DATETIME",
        family: Family::Day,
        indexed: Indexed::Whole,
        few: &["'2024-02-29 12:00:00'", "'2000-01-01'", "'2026-11-22 23:59:59'"],
        many: |n| format!("'2024-01-{:02} {:02}:00:00'", 1 + n / 24, n % 24),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "TIMESTAMP",
        family: Family::Day,
        indexed: Indexed::Whole,
        few: &["'2024-02-29 12:00:00'", "'2000-01-01'", "'2026-11-22 23:59:59'"],
        many: |n| format!("'2024-01-{:02} {:02}:00:00'", 1 + n / 24, n % 24),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "DATETIME(3)",
        family: Family::Day,
        indexed: Indexed::Whole,
        few: &[
            "'2024-02-29 12:00:00.5'",
            "'2000-01-01'",
            "'2023-12-31 23:59:59.999'",
            "'9999-12-31 23:59:59.999'",
        ],
        many: |n| format!("'2024-01-{:02} {:02}:00:00.{:03}'", 1 + n / 24, n % 24, n),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "TIMESTAMP(3)",
        family: Family::Day,
        indexed: Indexed::Whole,
        few: &[
            "'2024-02-29 12:00:00.5'",
            "'1970-01-02'",
            "'2023-12-31 23:59:59.999'",
            "'2024-01-01'",
            "'2038-01-19 03:14:07.999'",
        ],
        many: |n| format!("'2024-01-{:02} {:02}:00:00.{:03}'", 1 + n / 24, n % 24, n),
        exact: PLAIN,
        sums: false,
    },
    Kind {
        ty: "TIME(2)",
        family: Family::Time,
        indexed: Indexed::Whole,
        few: &["'10:11:12.5'", "'-00:00:00.01'", "'00:00:00'", "'838:59:59'", "'-838:59:59'"],
        many: |n| format!("'{:02}:{:02}:10.{:02}'", n / 60, n % 60, n % 100),
        exact: PLAIN,
        sums: false,
    },
];

/// The place of INT, an ordinary number.
const INT: usize = 0;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name in statements.
    pub name: String,
    /// Its place in [`KINDS`].
    pub kind: usize,
    pub nullable: bool,
    /// Whether it has many values.
    pub many: bool,
    /// Its initial values, if they are not those of its kind.
    pub known: Arc<[u32]>,
}

impl Column {
    /// Makes a column of ordinary numbers with these initial values.
    pub fn number(name: &str, nullable: bool, known: Arc<[u32]>) -> Column {
        Column { name: name.to_owned(), kind: INT, nullable, many: true, known }
    }

    pub fn kind(&self) -> &'static Kind {
        &KINDS[self.kind]
    }

    /// Returns an expression that gives the same text for equal values.
    pub fn exact(&self) -> String {
        self.kind().exact.replace("{}", &self.name)
    }

    /// Returns such an expression of its smallest or largest value.
    pub fn extreme(&self, function: &str) -> String {
        self.kind().exact.replace("{}", &format!("{function}({})", self.name))
    }

    /// Returns a value to store.
    pub fn value(&self, random: &mut SmallRng) -> String {
        if self.nullable && random.random_ratio(1, 7) {
            return "NULL".to_owned();
        }
        self.literal(random)
    }

    /// Returns a constant to compare it with.
    pub fn constant(&self, random: &mut SmallRng) -> String {
        if random.random_ratio(1, 20) {
            return "NULL".to_owned();
        }
        let value = self.literal(random);
        match (random.random_range(0..24), self.kind().family) {
            (0, Family::Number) => format!("'{value}'"),
            (1, Family::Number) => format!("{value} + 0.5"),
            (2 | 3, family) => family.others().choose(random).copied().unwrap_or("0").to_owned(),
            _ => value,
        }
    }

    /// Returns the ends of a range, often of a short one.
    pub fn range(&self, random: &mut SmallRng) -> (String, String) {
        let span = random.random_range(1..6);
        let at = random.random_range(0..MANY - span);
        let near = match self.known.as_ref() {
            [] if self.many => Some(((self.kind().many)(at), (self.kind().many)(at + span))),
            [] => None,
            known => known.choose(random).map(|from| {
                let mut behind: Vec<u32> = known.iter().copied().filter(|value| value > from).collect();
                behind.sort_unstable();
                let to = behind.get(span as usize).or(behind.last()).unwrap_or(from);
                (from.to_string(), to.to_string())
            }),
        };
        match near.filter(|_| random.random()) {
            Some(range) => range,
            None => (self.constant(random), self.constant(random)),
        }
    }

    /// Returns its declaration.
    pub fn definition(&self) -> String {
        let null = if self.nullable { "NULL" } else { "NOT NULL" };
        format!("{} {} {null}", self.name, self.kind().ty)
    }

    pub fn literal(&self, random: &mut SmallRng) -> String {
        let kind = self.kind();
        if let Some(known) = self.known.choose(random).filter(|_| random.random_ratio(9, 10)) {
            return known.to_string();
        }
        match self.many && random.random_ratio(19, 20) {
            true => (kind.many)(random.random_range(0..MANY)),
            false => kind.few.choose(random).copied().unwrap_or("0").to_owned(),
        }
    }
}
