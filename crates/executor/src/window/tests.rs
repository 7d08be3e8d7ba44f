//! Windows over more rows than memory holds give the rows of windows with plenty of memory.

use super::super::spill_tests::{PLENTY, answer, check};
use crate::testing::{self, Database};
use leafline_types::Value;
use leafline_types::statement::CancelReason;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const ROWS: i64 = 5_000;

/// Makes rows with ties and NULLs, and numbers of every kind that frames and sums use.
fn database(rng: &mut SmallRng) -> Database {
    let database = Database::new();
    let maybe = |rng: &mut SmallRng, value: Value| if rng.random_bool(0.1) { Value::Null } else { value };
    let rows: Vec<Vec<Value>> = (0..ROWS)
        .map(|id| {
            let k = Value::Int(rng.random_range(0..900));
            let d = Value::Double(f64::from(rng.random_range(-500..500)) / 8.0);
            let w = Value::Double(f64::from(rng.random_range(-500..500)));
            let s = Value::string(format!("s{}", rng.random_range(0..300)));
            vec![
                Value::Int(id),
                Value::Int(rng.random_range(0..100) / 90),
                maybe(rng, k),
                maybe(rng, d),
                maybe(rng, w),
                maybe(rng, s),
            ]
        })
        .collect();
    let columns = "(id INT PRIMARY KEY, p INT, k INT, d DOUBLE, w DOUBLE, s VARCHAR(20))";
    database.table(&format!("CREATE TABLE t {columns}"), &rows);
    database
}

#[test]
fn every_call_goes_over_partitions_on_disk() {
    let mut database = database(&mut SmallRng::seed_from_u64(1));
    for sql in [
        "SELECT id, LAG(s, 2000, id) OVER w, LEAD(k) OVER w, LEAD(s, 1, 'none') OVER w FROM t WINDOW w AS (ORDER BY id) ORDER BY id",
        "SELECT id, NTILE(7) OVER w, NTILE(4000) OVER w, PERCENT_RANK() OVER w, CUME_DIST() OVER w FROM t WINDOW w AS (PARTITION BY p ORDER BY k) ORDER BY id",
        "SELECT id, FIRST_VALUE(s) OVER w, LAST_VALUE(s) OVER w, NTH_VALUE(id, 900) OVER w FROM t \
         WINDOW w AS (PARTITION BY p ORDER BY id ROWS BETWEEN 1000 PRECEDING AND 3 FOLLOWING) ORDER BY id",
        "SELECT id, MAX(s) OVER w, MIN(k) OVER w, SUM(k) OVER w, AVG(w) OVER w, COUNT(d) OVER w FROM t \
         WINDOW w AS (ORDER BY id ROWS BETWEEN 2000 PRECEDING AND 1500 FOLLOWING) ORDER BY id",
        // Aggregates that are computed anew for each row.
        "SELECT id, SUM(d) OVER w, STDDEV(k) OVER w, BIT_XOR(id) OVER w, JSON_ARRAYAGG(k) OVER w FROM t \
         WINDOW w AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) ORDER BY id",
        "SELECT id, SUM(k) OVER w, MAX(k) OVER w FROM t WINDOW w AS (ORDER BY k RANGE BETWEEN 20 PRECEDING AND 5 FOLLOWING) ORDER BY id",
        "SELECT id, COUNT(*) OVER (ORDER BY k DESC RANGE BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING) FROM t ORDER BY id",
        "SELECT id, MIN(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), RANK() OVER (ORDER BY k) FROM t ORDER BY id",
        "SELECT id, SUM(k) OVER (), ROW_NUMBER() OVER (), LAST_VALUE(id) OVER () FROM t",
        // More peers than memory holds; running sums continue after them.
        "SELECT id, SUM(k) OVER w, RANK() OVER w, DENSE_RANK() OVER w, COUNT(*) OVER w FROM t \
         WINDOW w AS (ORDER BY id > 300, id > 4200) ORDER BY id",
    ] {
        for limit in [16 << 10, 128 << 10] {
            check(&mut database, limit, sql);
        }
    }
}

fn bound(rng: &mut SmallRng, is_rows: bool) -> String {
    let most = if is_rows && rng.random_bool(0.3) { 3000 } else { 30 };
    let distance = rng.random_range(0..most);
    match rng.random_range(0..2) {
        0 => format!("{distance} PRECEDING"),
        _ => format!("{distance} FOLLOWING"),
    }
}

/// Writes a frame of any kind; MySQL accepts no start after the end.
fn frame(rng: &mut SmallRng) -> String {
    let is_rows = rng.random_bool(0.6);
    let unit = if is_rows { "ROWS" } else { "RANGE" };
    let start = match rng.random_range(0..4) {
        0 => "UNBOUNDED PRECEDING".to_owned(),
        1 => "CURRENT ROW".to_owned(),
        _ => bound(rng, is_rows),
    };
    let end = match rng.random_range(0..4) {
        0 => "UNBOUNDED FOLLOWING".to_owned(),
        1 if !start.contains("FOLLOWING") => "CURRENT ROW".to_owned(),
        _ => bound(rng, is_rows),
    };
    let end = match start.contains("FOLLOWING") || start == "CURRENT ROW" {
        true => end.replace("PRECEDING", "FOLLOWING"),
        false => end,
    };
    format!("{unit} BETWEEN {start} AND {end}")
}

#[test]
fn little_memory_changes_no_value_of_random_windows() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database(&mut rng);
    let calls = [
        "COUNT(*)",
        "COUNT(s)",
        "SUM(k)",
        "AVG(k)",
        "SUM(w)",
        "AVG(w)",
        "MIN(s)",
        "MAX(d)",
        "MAX(k)",
        "MIN(w)",
        "FIRST_VALUE(s)",
        "LAST_VALUE(k)",
        "NTH_VALUE(d, 5)",
        "NTH_VALUE(id, 1200)",
        "LAG(s)",
        "LEAD(d, 700)",
        "LAG(k, 3, -1)",
        "NTILE(13)",
        "PERCENT_RANK()",
        "CUME_DIST()",
        "ROW_NUMBER()",
        "RANK()",
        "DENSE_RANK()",
    ];
    // These aggregates are computed anew when a row leaves the frame: use small frames.
    let slow = ["SUM(d)", "VAR_POP(w)", "BIT_OR(k)", "JSON_ARRAYAGG(w)"];
    for case in 0..12 * testing::scale() {
        let partition = *["", "PARTITION BY p ", "PARTITION BY s "].choose(&mut rng).expect("one");
        let direction = *["", " DESC"].choose(&mut rng).expect("one");
        let mut columns = Vec::new();
        for _ in 0..3 {
            let call = *calls.choose(&mut rng).expect("one");
            let frame = frame(&mut rng);
            // A second key makes the order unique. Frames with distances have one key, and their results depend on no other.
            let definite = frame.starts_with("ROWS") || !call.contains("_VALUE");
            let key =
                if frame.starts_with("ROWS") { format!("k{direction}, id") } else { format!("k{direction}") };
            let frame = if definite { frame.as_str() } else { "" };
            columns.push(
                match call.starts_with('L') && !call.contains("_VALUE")
                    || call.contains("_VALUE") && frame.is_empty()
                {
                    true => format!("{call} OVER ({partition}ORDER BY k{direction}, id)"),
                    false => format!("{call} OVER ({partition}ORDER BY {key} {frame})"),
                },
            );
        }
        let distance = rng.random_range(0..9);
        let call = *slow.choose(&mut rng).expect("one");
        columns.push(format!(
            "{call} OVER ({partition}ORDER BY k{direction}, id ROWS BETWEEN {distance} PRECEDING AND 2 FOLLOWING)"
        ));
        let sql = format!("SELECT id, {} FROM t ORDER BY id", columns.join(", "));
        let limit = 1usize << rng.random_range(13..18);
        let context = format!("seed {seed}, case {case}, {limit} bytes: {sql}");
        database.memory_limit = PLENTY;
        let (expected, _) = answer(&database, &sql);
        database.memory_limit = limit;
        let (found, files) = answer(&database, &sql);
        assert!(files > 0, "{context}");
        let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
        assert_eq!(differs, None, "{context}");
        assert_eq!(expected.len(), found.len(), "{context}");
    }
}

#[test]
fn a_cancelled_window_on_disk_stops() {
    let mut database = database(&mut SmallRng::seed_from_u64(1));
    database.memory_limit = 16 << 10;
    let plan = database.plan("SELECT LAG(s, 500) OVER (ORDER BY id) FROM t");
    let mut batches = 0;
    let error = testing::run_until(&database, &plan, &mut |cancel| {
        batches += 1;
        cancel.cancel(CancelReason::QueryKilled);
    });
    assert_eq!((error.code, batches), (1317, 1));
}
