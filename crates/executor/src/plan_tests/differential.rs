//! Random queries over small tables: every plan gives the rows of the reference interpreter.

use super::parallel;
use crate::testing::{self, Answer, Database, show, with_eval};
use leafline_planner::optimizer::{BudgetSettings, Parallelism, RuntimeFilterSettings};
use leafline_types::{Date, Decimal, Value};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const TABLES: &[(&str, &str)] = &[
    (
        "r",
        "CREATE TABLE r (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(8), d DATE, n DECIMAL(8,2), \
           KEY ab (a, b), KEY ca (c, a DESC), KEY d (d), KEY n (n, id))",
    ),
    (
        "s",
        "CREATE TABLE s (id INT, a INT NOT NULL, b BIGINT UNSIGNED, c VARCHAR(8), d DATE, n DECIMAL(6,1), \
           PRIMARY KEY (a, id), UNIQUE KEY b (b), KEY cb (c, b))",
    ),
    (
        "t",
        "CREATE TABLE t (id INT, a INT, b INT, c VARCHAR(8), d DATE, n DECIMAL(8,2), KEY a (a), KEY bd (b, d))",
    ),
];

fn maybe(rng: &mut SmallRng, value: Value) -> Value {
    if rng.random_ratio(1, 7) { Value::Null } else { value }
}

fn row(rng: &mut SmallRng, table: &str, number: usize) -> Vec<Value> {
    let text = Value::string(*["", "a", "a ", "b", "bc", "é"].choose(rng).expect("texts"));
    let date = Value::Date(Date::from_epoch_days(9000 + rng.random_range(0..8)).expect("a day"));
    let small = Value::Int(rng.random_range(-2..8));
    let decimal =
        |rng: &mut SmallRng, scale| Value::Decimal(Decimal::from_i128(rng.random_range(-40..80), scale));
    let (text, date) = (maybe(rng, text), maybe(rng, date));
    match table {
        "r" => {
            let (b, n) = (Value::Int(rng.random_range(0..6)), decimal(rng, 2));
            vec![Value::Int(number as i64), maybe(rng, small), maybe(rng, b), text, date, maybe(rng, n)]
        }
        "s" => {
            let (b, n) = (Value::UInt(number as u64), decimal(rng, 1));
            vec![Value::Int(number as i64 % 7), Value::Int(number as i64 / 7), maybe(rng, b), text, date, n]
        }
        _ => {
            let (b, n) = (Value::Int(rng.random_range(0..6)), decimal(rng, 2));
            let id = Value::Int(rng.random_range(0..20));
            vec![maybe(rng, id), maybe(rng, small), maybe(rng, b), text, date, n]
        }
    }
}

pub(super) fn database(rng: &mut SmallRng, rows: usize) -> Database {
    let database = Database::new();
    for (name, create) in TABLES {
        let rows: Vec<Vec<Value>> = (0..rows).map(|number| row(rng, name, number)).collect();
        database.table(create, &rows);
    }
    database
}

pub(super) fn pick<'s>(rng: &mut SmallRng, from: &[&'s str]) -> &'s str {
    from.choose(rng).expect("something to pick from")
}

/// Writes a condition over some aliases.
pub(super) fn condition(rng: &mut SmallRng, aliases: &[String], depth: usize) -> String {
    let alias = aliases.choose(rng).expect("an alias").clone();
    let other = aliases.choose(rng).expect("an alias").clone();
    if depth > 0 && rng.random_ratio(1, 3) {
        let parts: Vec<String> =
            (0..rng.random_range(2..4)).map(|_| condition(rng, aliases, depth - 1)).collect();
        let joined = format!("({})", parts.join(pick(rng, &[" AND ", " OR "])));
        return if rng.random_ratio(1, 5) { format!("NOT {joined}") } else { joined };
    }
    let op = pick(rng, &["=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>"]);
    let number = rng.random_range(-3..9);
    match rng.random_range(0..12) {
        0 => format!(
            "{alias}.{} {op} {other}.{}",
            pick(rng, &["a", "b", "id"]),
            pick(rng, &["a", "b", "id", "n"])
        ),
        1 => format!("{alias}.c {op} {other}.c"),
        2 => format!("{alias}.d {op} {other}.d"),
        3 => format!("{alias}.{} IN ({number}, {}, 2)", pick(rng, &["a", "b", "id"]), number + 3),
        4 => format!(
            "{alias}.c {} '{}'",
            pick(rng, &["=", "LIKE", "<", ">="]),
            pick(rng, &["a", "b%", "a_", "bc"])
        ),
        5 => format!("{alias}.d {op} DATE '1994-08-2{}'", rng.random_range(4..9)),
        6 => format!("{alias}.n {op} {}.5", number),
        7 => format!("{alias}.{} BETWEEN {number} AND {}", pick(rng, &["a", "b", "n"]), number + 3),
        8 => format!("{alias}.{} IS {}NULL", pick(rng, &["a", "b", "c", "d"]), pick(rng, &["", "NOT "])),
        9 => format!("{alias}.a + {other}.id {op} {number}"),
        _ => format!("{alias}.{} {op} {number}", pick(rng, &["a", "b", "id", "n"])),
    }
}

/// Writes a FROM clause and adds its aliases.
pub(super) fn from(rng: &mut SmallRng, aliases: &mut Vec<String>, tables: usize) -> String {
    let mut clause = String::new();
    for number in 0..tables {
        let table = pick(rng, &["r", "s", "t"]);
        let alias = format!("{table}{number}");
        let hint = match (table, rng.random_range(0..6)) {
            ("r", 0) => " FORCE INDEX (ab)",
            ("r", 1) => " IGNORE INDEX (ab, ca)",
            ("s", 0) => " USE INDEX (cb)",
            ("t", 0) => " FORCE INDEX (bd)",
            _ => "",
        };
        let derived = rng.random_ratio(1, 8);
        let item = if derived {
            let inner = condition(rng, &["x".to_string()], 1);
            let limit = if rng.random_ratio(1, 4) { " GROUP BY a, b, c, d, n, id" } else { "" };
            format!("(SELECT id, a, b, c, d, n FROM {table} x WHERE {inner}{limit}) {alias}")
        } else {
            format!("{table} {alias}{hint}")
        };
        aliases.push(alias);
        if number == 0 {
            clause = item;
            continue;
        }
        clause = match rng.random_range(0..5) {
            0 => format!("{clause} JOIN {item} ON {}", join_condition(rng, aliases)),
            1 | 2 => format!("{clause} LEFT JOIN {item} ON {}", join_condition(rng, aliases)),
            3 => format!("{clause} STRAIGHT_JOIN {item} ON {}", join_condition(rng, aliases)),
            _ if tables == 2 => format!("{clause} CROSS JOIN {item}"),
            _ => format!("{clause} INNER JOIN {item} ON {}", join_condition(rng, aliases)),
        };
    }
    clause
}

fn join_condition(rng: &mut SmallRng, aliases: &[String]) -> String {
    let (last, before) = aliases.split_last().expect("aliases");
    let first = before.choose(rng).expect("an alias before the last");
    let column = pick(rng, &["a", "b", "id", "c", "d"]);
    let other = if matches!(column, "a" | "b" | "id") { pick(rng, &["a", "b", "id"]) } else { column };
    let equality = format!("{first}.{column} = {last}.{other}");
    if rng.random_ratio(1, 3) { format!("{equality} AND {}", condition(rng, aliases, 1)) } else { equality }
}

/// Writes a query, and returns whether it has a LIMIT.
fn query(rng: &mut SmallRng) -> (String, bool) {
    let mut aliases = Vec::new();
    let tables = *[1, 1, 2, 2, 2, 3, 3].choose(rng).expect("numbers");
    let from = from(rng, &mut aliases, tables);
    let conditions: Vec<String> = (0..rng.random_range(0..4)).map(|_| condition(rng, &aliases, 2)).collect();
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let columns: Vec<String> = (0..rng.random_range(1..4))
        .map(|_| {
            format!(
                "{}.{}",
                aliases.choose(rng).expect("an alias"),
                pick(rng, &["id", "a", "b", "c", "d", "n"])
            )
        })
        .collect();
    let columns = columns.join(", ");
    match rng.random_range(0..8) {
        6 => {
            let extreme =
                format!("{}({}.{})", pick(rng, &["MIN", "MAX"]), aliases[0], pick(rng, &["a", "b"]));
            (format!("SELECT {columns}, {extreme} FROM {from}{filter} GROUP BY {columns}"), false)
        }
        7 => (format!("SELECT COUNT(DISTINCT {columns}) FROM {from}{filter}"), false),
        0 => {
            let sum = format!("SUM({}.n), COUNT(*), COUNT({}.a)", aliases[0], aliases[0]);
            let having = if rng.random() { " HAVING COUNT(*) > 1" } else { "" };
            (format!("SELECT {columns}, {sum} FROM {from}{filter} GROUP BY {columns}{having}"), false)
        }
        1 => (format!("SELECT COUNT(*), MIN({}.a) FROM {from}{filter}", aliases[0]), false),
        2 => (format!("SELECT DISTINCT {columns} FROM {from}{filter} ORDER BY {columns}"), false),
        3 | 4 => {
            let order = format!(
                " ORDER BY {}.{}{}",
                aliases[0],
                pick(rng, &["a", "b", "d", "id"]),
                pick(rng, &["", " DESC"])
            );
            let second = if rng.random() { format!(", {}.b", aliases[0]) } else { String::new() };
            let limit =
                if rng.random() { format!(" LIMIT {}", rng.random_range(0..20)) } else { String::new() };
            let limited = !limit.is_empty();
            (format!("SELECT {columns} FROM {from}{filter}{order}{second}{limit}"), limited)
        }
        _ => (format!("SELECT {columns} FROM {from}{filter}"), false),
    }
}

/// Runs a query, checks its rows against the reference interpreter, and returns the answer and the plan as a tree.
pub(super) fn checked(database: &Database, sql: &str, context: &str) -> (Answer, String) {
    let context = format!("{context}: {sql}");
    let select = database.bind(sql).unwrap_or_else(|error| panic!("{context}: {error}"));
    let plan = database.plan_bound(&select, false).unwrap_or_else(|error| panic!("{context}: {error}"));
    let explained = leafline_planner::explain::explain_tree(&plan, None);
    let context = format!("{context}\n{explained}");
    let answer = database.run(&plan).unwrap_or_else(|error| panic!("{context}: {error}"));
    let limit: Option<usize> = sql.split_once(" LIMIT ").map(|(_, limit)| limit.parse().expect("a number"));
    let mut expected =
        with_eval(&[], |eval| testing::answer(&database.engine, &select, limit.is_some(), eval));
    expected.truncate(limit.unwrap_or(usize::MAX));
    assert_eq!(sorted(&answer.rows), sorted(&expected), "{context}");
    (answer, explained)
}

/// Returns rows as sorted text without spaces, because any of the strings that differ only in trailing spaces may stand for a
/// group.
pub(super) fn sorted(rows: &[Vec<Value>]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| show(row).replace(' ', "")).collect();
    texts.sort();
    texts
}

#[test]
fn every_plan_gives_the_rows_of_the_reference() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let (mut answered, mut switched) = (0, 0);
    for round in 0..4 {
        let mut database = database(&mut rng, 25 + 20 * round);
        database.filtering = RuntimeFilterSettings { most_left: f64::INFINITY, least_entries: 0.0 };
        for case in 0..60 * testing::scale() {
            let (sql, limited) = query(&mut rng);
            database.switches.index_condition_pushdown = rng.random_ratio(3, 4);
            database.switches.skip_scan = rng.random_ratio(3, 4);
            database.switches.hash_join = rng.random_ratio(3, 4);
            database.switches.runtime_filter = rng.random_ratio(3, 4);
            // Lookups are given up after a few.
            let least = rng.random_range(1..8) as f64;
            database.patience = match rng.random() {
                true => {
                    BudgetSettings { uneven: 0.0, bet: 1.0, least, lookups: 0.0, least_us: f64::NEG_INFINITY }
                }
                false => BudgetSettings::default(),
            };
            database.switches.derived_merge = rng.random_ratio(3, 4);
            database.parallelism = if rng.random() { parallel::EVERYTHING } else { Parallelism::NONE };
            let context = format!("seed {seed}, round {round}, case {case}: {sql}");
            let select = match database.bind(&sql) {
                Ok(select) => select,
                Err(error) => panic!("{context}: {error}"),
            };
            let plan = database.plan_bound(&select, false).unwrap_or_else(|e| panic!("{context}: {e}"));
            let context = format!("{context}\n{}", leafline_planner::explain::explain_tree(&plan, None));
            let answer = database.run(&plan).unwrap_or_else(|e| panic!("{context}: {e}"));
            let (found, counters) = (answer.rows, answer.counters);
            switched += usize::from(
                context.contains("a hash join of the other rows") && counters.leafline_plans_switched > 0,
            );
            let expected = with_eval(&[], |eval| testing::answer(&database.engine, &select, limited, eval));
            if limited {
                check_limited(&sql, &found, &expected, &context);
            } else {
                assert_eq!(sorted(&found), sorted(&expected), "{context}");
                check_order(&sql, &found, &expected, &context);
            }
            answered += usize::from(!found.is_empty());
        }
    }
    assert!(answered > 80, "only {answered} queries had rows");
    assert!(switched > 3, "only {switched} lookup joins went on by hash");
}

/// Checks a query with LIMIT. Rows tie in the order, so that the LIMIT may keep any of them: the number must be right, and all
/// rows must be rows of the whole result.
fn check_limited(sql: &str, found: &[Vec<Value>], all: &[Vec<Value>], context: &str) {
    let limit: usize = sql.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a limit");
    assert_eq!(found.len(), limit.min(all.len()), "{context}");
    let mut left = sorted(all);
    for row in sorted(found) {
        let at = left.iter().position(|known| *known == row);
        left.swap_remove(at.unwrap_or_else(|| panic!("{row} is no row of the result: {context}")));
    }
}

/// Checks the order of the rows if the ordered column comes first in the select list.
fn check_order(sql: &str, found: &[Vec<Value>], expected: &[Vec<Value>], context: &str) {
    let Some((_, order)) = sql.split_once(" ORDER BY ") else { return };
    let first = order.split([' ', ',']).next().unwrap_or_default();
    let selected = sql.trim_start_matches("SELECT ").trim_start_matches("DISTINCT ");
    if selected.starts_with(&format!("{first} ")) || selected.starts_with(&format!("{first},")) {
        let column = |rows: &[Vec<Value>]| -> Vec<String> {
            rows.iter().map(|row| show(&row[..1]).replace(' ', "")).collect()
        };
        assert_eq!(column(found), column(expected), "{context}");
    }
}
