//! Collected values are equal with little and with plenty of memory.

use super::super::spill_tests::{PLENTY, answer, check};
use crate::testing::{self, Database, run_until};
use leafline_types::Value;
use leafline_types::statement::CancelReason;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const ROWS: i64 = 5000;

/// Makes rows with texts that are equal though they differ, ties, and NULLs.
fn database(rng: &mut SmallRng) -> Database {
    let database = Database::new();
    let rows: Vec<Vec<Value>> = (0..ROWS)
        .map(|id| {
            let text =
                format!("{}{}", ["a", "A", "é", "xyz"][rng.random_range(0..4)], rng.random_range(0..400));
            let maybe = |rng: &mut SmallRng, value| if rng.random_bool(0.1) { Value::Null } else { value };
            let number = Value::Int(rng.random_range(-30..30));
            vec![
                Value::Int(id),
                Value::Int(rng.random_range(0..1000)),
                maybe(rng, number),
                maybe(rng, Value::string(text)),
            ]
        })
        .collect();
    let create =
        "CREATE TABLE g (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(10) COLLATE utf8mb4_0900_ai_ci)";
    database.table(create, &rows);
    database
}

const GATHERING: &[&str] = &[
    "GROUP_CONCAT(s)",
    "GROUP_CONCAT(v, '=', s SEPARATOR '')",
    "GROUP_CONCAT(DISTINCT s)",
    "GROUP_CONCAT(DISTINCT s, v SEPARATOR ' - ')",
    "GROUP_CONCAT(s ORDER BY v)",
    "GROUP_CONCAT(id ORDER BY s DESC, v)",
    "GROUP_CONCAT(id, s ORDER BY v DESC, s, id DESC SEPARATOR '')",
    "GROUP_CONCAT(DISTINCT s ORDER BY s DESC)",
    "GROUP_CONCAT(DISTINCT s ORDER BY v, id)",
    "GROUP_CONCAT(DISTINCT v, s ORDER BY k DESC SEPARATOR '; ')",
    "GROUP_CONCAT(DISTINCT CAST(s AS BINARY) ORDER BY k)",
    "JSON_ARRAYAGG(s)",
    "JSON_ARRAYAGG(v)",
    "JSON_OBJECTAGG(k, s)",
    "JSON_OBJECTAGG(IFNULL(s, '-'), v)",
];
const BESIDES: &[&str] = &["COUNT(*)", "SUM(v)", "MAX(s)", "COUNT(DISTINCT s, v)", "AVG(DISTINCT k)"];
const GROUPS: &[&str] = &[
    "",
    " GROUP BY k % 3",
    " GROUP BY id % 900",
    " GROUP BY k",
    " GROUP BY k % 3, v WITH ROLLUP",
    " GROUP BY v, id % 7 HAVING COUNT(*) > 9",
    // A few large groups next to many small ones.
    " GROUP BY IF(k < 700, k % 2, id)",
];

#[test]
fn little_memory_changes_nothing_that_is_put_together() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database(&mut rng);
    let mut went = 0;
    for case in 0..60 * testing::scale() {
        let mut calls: Vec<&str> = Vec::new();
        for (from, most) in [(GATHERING, 2), (BESIDES, 2)] {
            let count = rng.random_range(1..=most);
            calls.extend(from.choose_multiple(&mut rng, count));
        }
        let groups = GROUPS.choose(&mut rng).expect("something");
        let sql = format!("SELECT {} FROM g{groups}", calls.join(", "));
        database.group_concat_max_len = *[7, 1024, 1 << 20].choose(&mut rng).expect("something");
        let limit = 1usize << rng.random_range(12..18);
        let context = format!("seed {seed}, case {case}, {limit} bytes: {sql}");
        let mut run = |limit| {
            database.memory_limit = limit;
            let (plan, parts) = database.plan_all(&sql).unwrap_or_else(|e| panic!("{context}: {e}"));
            let mut found = database.run_with(&plan, &parts).unwrap_or_else(|e| panic!("{context}: {e}"));
            found.warnings.sort();
            let mut rows: Vec<String> = found.rows.iter().map(|row| testing::show(row)).collect();
            rows.sort();
            (rows, found.warnings, found.counters.created_tmp_files)
        };
        let (expected, cuts, _) = run(PLENTY);
        let (found, found_cuts, files) = run(limit);
        went += usize::from(files > 0);
        assert!(found == expected, "{context}");
        assert_eq!(found_cuts.len(), cuts.len(), "{context}");
        // Of many warnings only some are kept.
        assert!(cuts.len() >= 64 || found_cuts == cuts, "{context}");
    }
    assert!(went > 20, "only {went} queries went to files");
}

#[test]
fn one_group_larger_than_memory_goes_to_disk() {
    let mut database = database(&mut SmallRng::seed_from_u64(1));
    database.group_concat_max_len = 1 << 20;
    for sql in [
        "SELECT GROUP_CONCAT(id, s) FROM g",
        "SELECT GROUP_CONCAT(s ORDER BY k, id) FROM g",
        "SELECT GROUP_CONCAT(DISTINCT id ORDER BY k, s DESC) FROM g",
        "SELECT JSON_ARRAYAGG(s) FROM g",
        "SELECT JSON_OBJECTAGG(id % 3000, s) FROM g",
    ] {
        check(&mut database, 16 << 10, sql);
    }
    // The part of a value beyond the limit needs no memory.
    database.group_concat_max_len = 1024;
    database.memory_limit = 64 << 10;
    assert_eq!(answer(&database, "SELECT GROUP_CONCAT(id, s) FROM g").1, 0);
}

#[test]
fn a_query_that_puts_groups_together_can_be_killed() {
    let mut database = database(&mut SmallRng::seed_from_u64(2));
    database.memory_limit = 16 << 10;
    for sql in [
        "SELECT k % 100, GROUP_CONCAT(s ORDER BY v) FROM g GROUP BY k % 100",
        "SELECT k % 100, JSON_ARRAYAGG(s) FROM g GROUP BY k % 100",
    ] {
        let plan = database.plan(sql);
        let mut batches = 0;
        let error = run_until(&database, &plan, &mut |cancel| {
            batches += 1;
            cancel.cancel(CancelReason::QueryKilled);
        });
        assert_eq!((error.code, batches), (1317, 1), "{sql}");
    }
}
