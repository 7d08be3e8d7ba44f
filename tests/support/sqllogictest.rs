//! Reads files in the format of sqllogictest, as SQLite and MySQL projects write them.
//!
//! | record | is |
//! |---|---|
//! | `statement ok` | must succeed |
//! | `statement count N` | must succeed and change N rows |
//! | `statement error [TEXT]` | must fail with an error that begins with TEXT, in which `...` stands for anything |
//! | `query TYPES [nosort\|rowsort\|valuesort] [LABEL]` | must return what the lines after `----` say |
//! | `query TYPES pattern` | the same, where `...` in these lines stands for anything |
//!
//! In our own files these lines are rows, with blanks between their values; in SQLite's corpus they are values, or one line `N
//! values hashing to MD5`. A line `connection NAME` before a record says who runs it, `skipif` and `onlyif` for whom it is. `#`
//! begins a comment; `halt` ends the file. There is a reader of this format on crates.io; its dependencies would have everything
//! built twice, for the tests and for the program.

#![allow(dead_code, reason = "each test uses its part")]

/// The name of our engine for `skipif` and `onlyif`.
const ENGINE: &str = "mysql";

/// One record.
#[derive(Debug)]
pub struct Record {
    /// Line of its first word, from 1.
    pub line: usize,
    /// The connection that runs it: `default` unless the file says.
    pub connection: String,
    pub sql: String,
    pub expected: Expected,
}

/// The expected outcome of a record.
#[derive(Debug)]
pub enum Expected {
    Success,
    Changed(u64),
    Error(String),
    /// The types: a letter a column; the lines as they are.
    Rows {
        types: String,
        order: Order,
        lines: Vec<String>,
    },
}

/// How rows are put in order before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    None,
    Rows,
    Values,
    /// As they are; in the lines that are expected `...` stands for anything.
    Pattern,
}

impl Order {
    /// The lines to compare.
    pub fn apply(self, mut rows: Vec<String>) -> Vec<String> {
        match self {
            Order::None | Order::Pattern => {}
            Order::Rows => rows.sort(),
            Order::Values => {
                rows = rows.iter().flat_map(|row| row.split_whitespace().map(str::to_owned)).collect();
                rows.sort();
            }
        }
        rows
    }

    /// Whether rows in this order are what a file expects.
    pub fn matches(self, expected: &[String], found: &[String]) -> bool {
        if self != Order::Pattern {
            return expected == found;
        }
        expected.len() == found.len()
            && expected.iter().zip(found).all(|(line, row)| matched(line, row).is_some_and(str::is_empty))
    }
}

/// The records of a file. An error names the line.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end())).peekable();
    let mut records = Vec::new();
    let mut connection = "default".to_owned();
    let mut skipped = false;
    while let Some((at, head)) = lines.next() {
        let words: Vec<&str> = head.split_whitespace().collect();
        let mut body = |stop: &dyn Fn(&str) -> bool| {
            let mut taken = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !stop(line)) {
                taken.push(line.to_owned());
            }
            taken
        };
        let (sql, expected) = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            ["halt"] if skipped => {
                skipped = false;
                continue;
            }
            ["halt"] => break,
            ["hash-threshold", _] => continue,
            ["skipif", engine, ..] => {
                skipped |= engine == ENGINE;
                continue;
            }
            ["onlyif", engine, ..] => {
                skipped |= engine != ENGINE;
                continue;
            }
            ["connection", name] => {
                connection = name.to_owned();
                continue;
            }
            ["statement", kind, ..] => {
                let sql = body(&str::is_empty).join("\n");
                let expected = match (kind, &words[2..]) {
                    ("ok", []) => Expected::Success,
                    ("count", [count]) => {
                        Expected::Changed(count.parse().map_err(|_| format!("line {at}: not a count"))?)
                    }
                    ("error", _) => {
                        let from = head.find("error").map_or(0, |found| found + "error".len());
                        Expected::Error(head[from..].trim().to_owned())
                    }
                    _ => return Err(format!("line {at}: {head}")),
                };
                (sql, expected)
            }
            ["query", types, ref sort @ ..] => {
                let order = match sort {
                    [] | ["nosort", ..] => Order::None,
                    ["rowsort", ..] => Order::Rows,
                    ["valuesort", ..] => Order::Values,
                    ["pattern"] => Order::Pattern,
                    _ => return Err(format!("line {at}: {head}")),
                };
                let sql = body(&|line| line.is_empty() || line == "----").join("\n");
                let lines = body(&str::is_empty).into_iter().skip_while(|line| line == "----").collect();
                (sql, Expected::Rows { types: types.to_owned(), order, lines })
            }
            _ => return Err(format!("line {at}: {head}")),
        };
        let connection = std::mem::replace(&mut connection, "default".to_owned());
        if std::mem::take(&mut skipped) {
            continue;
        }
        records.push(Record { line: at, connection, sql, expected });
    }
    Ok(records)
}

/// Does `message` begin as `pattern` says, in which `...` stands for anything?
pub fn error_matches(pattern: &str, message: &str) -> bool {
    matched(pattern, message).is_some()
}

/// Returns the rest of `text` behind the part that `pattern` stands for: nothing, if it ends in `...`.
fn matched<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    let mut rest = text;
    for (at, piece) in pattern.split("...").enumerate() {
        let found = rest.find(piece).filter(|found| at > 0 || *found == 0)?;
        rest = &rest[found + piece.len()..];
    }
    Some(if pattern.ends_with("...") { "" } else { rest })
}
