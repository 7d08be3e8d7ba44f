//! Runtime filters give the rows of plans without them, in one thread and in several, and read fewer rows.

use super::differential::{pick, sorted};
use super::parallel::EVERYTHING;
use crate::testing::{self, Database};
use leafline_planner::optimizer::{Parallelism, RuntimeFilterSettings};
use leafline_types::{Date, DateTime, Decimal, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Makes `f`, 6,000 rows whose columns refer to `d`, of 300 rows, and `e`, of 40. The compared columns have types of all kinds.
fn database(rng: &mut SmallRng) -> Database {
    let mut database = Database::new();
    let maybe = |rng: &mut SmallRng, value: Value| if rng.random_ratio(1, 12) { Value::Null } else { value };
    let text = |number: i64| Value::string(["a", "A", "b", "ä", "B ", "c", ""][(number % 7) as usize]);
    let day = |number: i64| Value::Date(Date::from_epoch_days(9000 + number as i32).expect("a day"));
    let midnight = |number: i64| {
        Value::DateTime(DateTime::from_epoch_micros((9000 + number) * 86_400_000_000).expect("a day"))
    };
    let cents = |number: i64| Value::Decimal(Decimal::from_i128(i128::from(number) * 50, 2));
    let facts: Vec<Vec<Value>> = (0..6000i64)
        .map(|id| {
            let (d, e) = (rng.random_range(0..400i64), rng.random_range(0..60i64));
            vec![
                Value::Int(id / 20),
                Value::Int(id % 20),
                maybe(rng, Value::Int(d)),
                maybe(rng, Value::Int(e)),
                maybe(rng, text(e)),
                maybe(rng, day(e)),
                maybe(rng, cents(e)),
                Value::string("x".repeat(40)),
            ]
        })
        .collect();
    let create = "CREATE TABLE f (id INT, line INT, d INT, e BIGINT, c VARCHAR(8), day DATE, n DECIMAL(10,2), \
                  filler VARCHAR(60), PRIMARY KEY (id, line), KEY de (d, e), KEY cd (c, d DESC))";
    database.table(create, &facts);
    for (name, rows) in [("d", 300i64), ("e", 40)] {
        let rows: Vec<Vec<Value>> = (0..rows)
            .map(|id| {
                let number = rng.random_range(0..60i64);
                let of = rng.random_range(0..10i64);
                vec![
                    Value::Int(id),
                    maybe(rng, Value::Int(of)),
                    maybe(rng, text(number)),
                    maybe(rng, midnight(number)),
                    maybe(rng, cents(number)),
                ]
            })
            .collect();
        let create = format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, k INT, c VARCHAR(8) COLLATE utf8mb4_0900_ai_ci, day DATETIME, \
             n DECIMAL(8,1))"
        );
        database.table(&create, &rows);
    }
    database.filtering = RuntimeFilterSettings { most_left: f64::INFINITY, least_entries: 0.0 };
    database
}

fn condition(rng: &mut SmallRng, alias: &str) -> String {
    let number = rng.random_range(0..10);
    match rng.random_range(0..5) {
        0 => format!("{alias}.k = {number}"),
        1 => format!("{alias}.id IN ({number}, {}, {})", number + 7, number * 3),
        2 => format!("{alias}.id BETWEEN {} AND {}", number * 3, number * 3 + 8),
        3 => format!("{alias}.k > {number} + 20"),
        _ => format!("{alias}.c LIKE 'a%'"),
    }
}

fn query(rng: &mut SmallRng) -> String {
    let to_d =
        pick(rng, &["f.d = d.id", "f.id = d.id", "f.d = d.id AND f.e = d.k", "f.d <=> d.id", "f.n = d.n"]);
    let to_e =
        pick(rng, &["f.e = e.id", "f.c = e.c", "f.day = e.day", "f.n = e.n", "f.line = e.id", "f.e = e.n"]);
    let (on_d, on_e) = (condition(rng, "d"), condition(rng, "e"));
    let columns = pick(rng, &["f.id, f.line, f.e", "f.d, f.c", "COUNT(*), SUM(f.n), MIN(f.day)"]);
    match rng.random_range(0..8) {
        0 => format!("SELECT {columns} FROM f JOIN d ON {to_d} WHERE {on_d}"),
        1 | 2 => format!("SELECT {columns} FROM f JOIN d ON {to_d} JOIN e ON {to_e} WHERE {on_d} AND {on_e}"),
        3 => format!("SELECT {columns} FROM f LEFT JOIN d ON {to_d} JOIN e ON {to_e} WHERE {on_e}"),
        4 => {
            format!("SELECT {columns} FROM e JOIN f ON {to_e} LEFT JOIN d ON {to_d} AND {on_d} WHERE {on_e}")
        }
        5 => format!(
            "SELECT {columns} FROM f WHERE f.{} IN (SELECT id FROM d WHERE {on_d})",
            pick(rng, &["d", "id"])
        ),
        6 => format!(
            "SELECT g.{key}, g.n FROM (SELECT {key}, COUNT(*) AS n FROM f GROUP BY {key}) g JOIN e ON g.{key} = e.{of} WHERE {on_e}",
            key = pick(rng, &["d", "e", "id"]),
            of = pick(rng, &["id", "k"]),
        ),
        _ => {
            format!("SELECT {columns} FROM f WHERE f.d NOT IN (SELECT id FROM d WHERE {on_d}) AND f.id < 40")
        }
    }
}

#[test]
fn filters_change_no_result() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database(&mut rng);
    let (mut placed, mut narrowed, mut removed, mut fewer) = (0, 0, 0, 0);
    for case in 0..150 * testing::scale() {
        let sql = query(&mut rng);
        database.parallelism = if rng.random() { EVERYTHING } else { Parallelism::NONE };
        // Lookups would leave little to filter.
        database.model.cpu.seek = if rng.random() { 1_000.0 } else { 0.5 };
        let mut answers = Vec::new();
        for on in [false, true] {
            database.switches.runtime_filter = on;
            let (plan, parts) = database.plan_all(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let tree = leafline_planner::explain::explain_tree(&plan, None);
            let context = format!("seed {seed}, case {case}: {sql}\n{tree}");
            let answer =
                database.run_with(&plan, &parts).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(on || !tree.contains("runtime filter"), "{context}");
            placed += usize::from(tree.contains("runtime filter"));
            narrowed += usize::from(answer.counters.leafline_scans_narrowed > 0);
            removed += usize::from(answer.counters.leafline_runtime_filtered > 0);
            answers.push((answer, context));
        }
        let [(without, _), (with, context)] = answers.as_slice() else { panic!("two answers") };
        assert_eq!(sorted(&with.rows), sorted(&without.rows), "{context}");
        let examined = |answer: &testing::Answer| answer.counters.leafline_entries_examined;
        fewer += usize::from(examined(with) * 2 < examined(without));
    }
    for count in [placed, narrowed, removed, fewer] {
        assert!(
            count > 1,
            "{placed} placed, {narrowed} narrowed, {removed} removed rows, {fewer} examined fewer"
        );
    }
}
