//! Operators with little memory give the rows of operators with plenty, and leave no file behind.

use super::tests::database;
use crate::testing::{self, Database, show};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

pub(super) const PLENTY: usize = 64 << 20;

/// Returns the rows of a query as text, and how many times an operator spilled.
pub(super) fn answer(database: &Database, sql: &str) -> (Vec<String>, u64) {
    let (plan, parts) = database.plan_all(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let found = database.run_with(&plan, &parts).unwrap_or_else(|e| panic!("{sql}: {e}"));
    (found.rows.iter().map(|row| show(row)).collect(), found.counters.created_tmp_files)
}

/// Checks that with `limit` bytes the rows are equal, in the same order if the query asks for one, and that an operator spilled.
pub(super) fn check(database: &mut Database, limit: usize, sql: &str) {
    database.memory_limit = PLENTY;
    let (mut expected, files) = answer(database, sql);
    assert_eq!(files, 0, "{sql}");
    database.memory_limit = limit;
    let (mut found, files) = answer(database, sql);
    assert!(files > 0, "{sql}: nothing went to a file");
    if !sql.contains("ORDER BY") {
        expected.sort();
        found.sort();
    }
    assert_eq!(found.len(), expected.len(), "{sql}");
    assert!(found == expected, "{sql}");
}

#[test]
fn sorts_go_to_disk() {
    let mut database = database();
    check(&mut database, 64 << 10, "SELECT id, k, s FROM r ORDER BY s DESC, k, id");
    // Equal rows stay in the order of their arrival.
    check(&mut database, 64 << 10, "SELECT id FROM r ORDER BY v");
    check(&mut database, 64 << 10, "SELECT id, s FROM r ORDER BY v LIMIT 5000, 4000");
    check(&mut database, 64 << 10, "SELECT id, s FROM r ORDER BY s LIMIT 9000");
}

#[test]
fn window_partitions_go_to_disk() {
    let mut database = database();
    // The frames cover all rows; of several partitions some fit; calls need the preceding rows or the peers.
    for sql in [
        "SELECT id, s, SUM(v) OVER (), COUNT(*) OVER () FROM r ORDER BY id",
        "SELECT id, MAX(s) OVER (PARTITION BY k % 3), ROW_NUMBER() OVER (PARTITION BY k % 3 ORDER BY id) FROM r ORDER BY id",
        "SELECT id, AVG(v) OVER w, COUNT(k) OVER w FROM r WINDOW w AS (PARTITION BY id < 20) ORDER BY id",
        "SELECT id, RANK() OVER w, SUM(v) OVER w, MIN(s) OVER (PARTITION BY v % 2 ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) \
         FROM r WINDOW w AS (PARTITION BY v % 2 ORDER BY k) ORDER BY id",
    ] {
        check(&mut database, 64 << 10, sql);
    }
}

#[test]
fn groups_and_distinct_rows_go_to_disk() {
    let mut database = database();
    check(
        &mut database,
        64 << 10,
        "SELECT id % 9001, COUNT(*), SUM(v), MIN(s), MAX(k) FROM r GROUP BY id % 9001",
    );
    check(&mut database, 64 << 10, "SELECT id % 6000, COUNT(DISTINCT s, k) FROM r GROUP BY id % 6000");
    check(&mut database, 64 << 10, "SELECT DISTINCT k, id % 5000, s FROM r");
    // The groups do not fit after the first round of files either.
    check(&mut database, 8 << 10, "SELECT id, v, COUNT(*) FROM r GROUP BY id, v");
}

#[test]
fn joins_go_to_disk() {
    let mut database = database();
    // The files have to be spread again.
    check(
        &mut database,
        12 << 10,
        "SELECT l.id, r.s FROM l JOIN r IGNORE INDEX (rk) ON l.k = r.k WHERE r.id < 3000",
    );
    for limit in [96 << 10, 40 << 10] {
        for kind in ["JOIN", "LEFT JOIN"] {
            let from = format!("FROM l {kind} r IGNORE INDEX (rk) ON l.k = r.k");
            check(&mut database, limit, &format!("SELECT l.id, r.id, r.s {from} AND l.v < r.v"));
            check(&mut database, limit, &format!("SELECT l.id, r.s {from} WHERE l.id < 4000"));
        }
        for not in ["", "NOT "] {
            let exists = |more: &str| {
                format!(
                    "SELECT l.id, l.s FROM l WHERE {not}EXISTS (SELECT 1 FROM r IGNORE INDEX (rk) WHERE r.k = l.k{more})"
                )
            };
            check(&mut database, limit, &exists(""));
            check(&mut database, limit, &exists(" AND r.v > l.v + 100"));
        }
    }
}

#[test]
fn set_operations_go_to_disk() {
    let mut database = database();
    for operation in ["INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"] {
        let sql =
            format!("SELECT id, s FROM l WHERE id < 6000 {operation} SELECT id, s FROM r WHERE id > 900");
        check(&mut database, 64 << 10, &sql);
    }
    // The rows of the left side alone are too many.
    check(&mut database, 64 << 10, "SELECT id, s FROM l EXCEPT SELECT id, s FROM r WHERE id < 3");
}

#[test]
fn rows_of_common_tables_go_to_disk() {
    let mut database = database();
    let twice = "WITH t AS (SELECT id, k, s FROM r) SELECT a.id, b.s FROM t a JOIN t b ON a.id = b.id + 1";
    check(&mut database, 64 << 10, twice);
    for union in ["UNION ALL", "UNION"] {
        let rounds = format!(
            "WITH RECURSIVE t AS (SELECT id, 0 AS n FROM r WHERE id < 500 {union} SELECT id, n + 1 FROM t WHERE n < 5) \
             SELECT id, n, COUNT(*) FROM t GROUP BY id, n"
        );
        check(&mut database, 24 << 10, &rounds);
    }
    // Most rows are found more than once, in different rounds.
    let reached = "WITH RECURSIVE t AS (SELECT 1 AS n, 'n' AS s UNION SELECT (n * 3 + x) % 20011, CONCAT('s', n % 7) FROM t \
                   JOIN (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 5) d) SELECT n, s FROM t";
    for limit in [4 << 10, 64 << 10] {
        check(&mut database, limit, reached);
    }
}

#[test]
fn what_does_not_get_smaller_is_joined_in_parts() {
    let mut database = database();
    let few =
        |table: &str| format!("(SELECT DISTINCT id, k, v, 1 AS one FROM {table} WHERE id < 600) {table}");
    for on in ["l.v < r.v AND r.id < l.id + 5", "l.one = r.one AND l.id + r.v = 600"] {
        for kind in ["JOIN", "LEFT JOIN"] {
            check(
                &mut database,
                16 << 10,
                &format!("SELECT l.id, r.id FROM {} {kind} {} ON {on}", few("l"), few("r")),
            );
        }
        for not in ["", "NOT "] {
            let exists = format!("{not}EXISTS (SELECT 1 FROM {} WHERE {on})", few("r"));
            check(&mut database, 16 << 10, &format!("SELECT l.id FROM {} WHERE {exists}", few("l")));
        }
    }
}

#[test]
fn the_order_of_the_probe_rows_is_kept() {
    let mut database = database();
    database.switches.hash_join = true;
    let sql = "SELECT l.id, l.v, r.id FROM l FORCE INDEX (k) STRAIGHT_JOIN r IGNORE INDEX (rk) ON r.v = l.v AND r.id = l.id \
               ORDER BY l.k, l.id LIMIT 8000";
    check(&mut database, 128 << 10, sql);
}

/// Limits memory at random for random queries and checks their answers.
#[test]
fn little_memory_changes_no_answer() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database();
    let mut went = 0;
    for case in 0..8 * testing::scale() {
        let pick = |rng: &mut SmallRng, from: &[&'static str]| *from.choose(rng).expect("something");
        let on = pick(
            &mut rng,
            &["l.k = r.k", "l.s = r.s AND l.v = r.v", "l.k = r.k AND l.id < r.v", "l.id = r.id"],
        );
        let kind = pick(&mut rng, &["JOIN", "LEFT JOIN"]);
        let end = pick(
            &mut rng,
            &[
                "SELECT COUNT(*), SUM(r.v), l.s FROM $ GROUP BY l.s, l.k",
                "SELECT DISTINCT l.s, r.v FROM $",
                "SELECT l.id, r.id FROM $ ORDER BY l.v, r.v, l.id, r.id",
                "SELECT l.id, r.v FROM $ ORDER BY l.s, l.id, r.id LIMIT 3000",
                "SELECT MAX(r.v), l.v FROM $ GROUP BY l.v ORDER BY l.v",
            ],
        );
        let bound = rng.random_range(1000..9000);
        let joined = format!("l {kind} r IGNORE INDEX (rk) ON {on} WHERE l.id < {bound}");
        let sql = end.replace('$', &joined);
        let limit = 1usize << rng.random_range(16..19);
        let context = format!("seed {seed}, case {case}, {limit} bytes: {sql}");
        database.memory_limit = PLENTY;
        let (mut expected, _) = answer(&database, &sql);
        database.memory_limit = limit;
        let (mut found, files) = answer(&database, &sql);
        went += usize::from(files > 0);
        if !sql.contains("ORDER BY") {
            expected.sort();
            found.sort();
        }
        assert!(found == expected, "{context}");
    }
    assert!(went > 3, "only {went} queries went to files");
}

#[test]
fn distinct_values_of_aggregates_go_to_disk() {
    let mut database = database();
    for limit in [8 << 10, 64 << 10] {
        check(&mut database, limit, "SELECT COUNT(DISTINCT id, s) FROM r");
        check(
            &mut database,
            limit,
            "SELECT COUNT(DISTINCT s), SUM(DISTINCT v), AVG(DISTINCT id), COUNT(*) FROM r",
        );
        check(
            &mut database,
            limit,
            "SELECT k % 3, COUNT(DISTINCT id, v), COUNT(DISTINCT s) FROM r GROUP BY k % 3",
        );
        check(&mut database, limit, "SELECT id % 2000, COUNT(DISTINCT id), SUM(v) FROM r GROUP BY id % 2000");
    }
}
