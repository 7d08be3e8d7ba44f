//! Compares statements that assign user variables with a row-by-row evaluation.
//!
//! Random rows and statements, by seed: `LEAFLINE_SEED` chooses the first, `LEAFLINE_TEST_SCALE` multiplies their
//! number.

#[path = "support/rows.rs"]
mod rows;

use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rows::{rows_of, values_of};
use std::sync::Arc;

/// A row: the key, a number, its group.
struct Row {
    id: i64,
    a: Option<i64>,
    g: i64,
}

fn text(value: Option<i64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn run(session: &mut Session, sql: &str) {
    values_of(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Creates a table `t` of random rows; sometimes more than a batch of them.
fn filled(session: &mut Session, random: &mut SmallRng) -> Vec<Row> {
    let count = if random.random_range(0..4) == 0 {
        random.random_range(1..20_000)
    } else {
        random.random_range(1..60)
    };
    run(session, "DROP TABLE IF EXISTS t");
    let key = if random.random() { ", KEY (a)" } else { "" };
    run(session, &format!("CREATE TABLE t (id INT PRIMARY KEY, a INT, g INT NOT NULL{key})"));
    let rows: Vec<Row> = (1..=count)
        .map(|id| Row {
            id,
            a: (random.random_range(0..8) > 0).then(|| random.random_range(-9..10)),
            g: random.random_range(0..5),
        })
        .collect();
    for some in rows.chunks(1000) {
        let values: Vec<String> = some
            .iter()
            .map(|row| format!("({}, {}, {})", row.id, row.a.map_or("NULL".into(), |a| a.to_string()), row.g))
            .collect();
        run(session, &format!("INSERT INTO t VALUES {}", values.join(", ")));
    }
    rows
}

/// Draws a statement over `t`. Returns it with its expected rows.
fn question(rows: &[Row], random: &mut SmallRng) -> (String, Vec<String>) {
    let k = random.random_range(1..4i64);
    let m = random.random_range(1..5i64);
    match random.random_range(0..7) {
        // Row numbers of the rows that pass.
        0 => {
            let passed = rows.iter().filter(|row| row.g % m == 0);
            let sql = format!(
                "SELECT @r := @r + {k}, id, @r FROM t, (SELECT @r := 0) x WHERE g % {m} = 0 ORDER BY id"
            );
            (sql, passed.zip(1..).map(|(row, n)| format!("{} {} {}", n * k, row.id, n * k)).collect())
        }
        // Each m-th row.
        1 => {
            let sql = format!(
                "SELECT id, @r FROM t FORCE INDEX (PRIMARY), (SELECT @r := 0) x WHERE (@r := @r + 1) % {m} = 0"
            );
            (
                sql,
                rows.iter()
                    .zip(1..)
                    .filter(|(_, n)| n % m == 0)
                    .map(|(row, n)| format!("{} {n}", row.id))
                    .collect(),
            )
        }
        // A running total that skips NULL.
        2 => {
            let mut sum = 0;
            let total = rows.iter().map(|row| {
                sum += row.a.unwrap_or(0) * k;
                format!("{} {sum}.0", row.id)
            });
            let sql =
                format!("SELECT id, @s := @s + IFNULL(a, 0) * {k}.0 FROM t, (SELECT @s := 0) x ORDER BY id");
            (sql, total.collect())
        }
        // Ranks in groups.
        3 => {
            let mut sorted: Vec<&Row> = rows.iter().collect();
            sorted.sort_by_key(|row| (row.g, std::cmp::Reverse(row.id)));
            let (mut rank, mut last) = (0, None);
            let ranks = sorted.iter().map(|row| {
                rank = if last == Some(row.g) { rank + 1 } else { 1 };
                last = Some(row.g);
                format!("{} {} {rank} {}", row.g, row.id, row.g)
            });
            let sql = "SELECT g, id, @k := IF(@p = g, @k + 1, 1), @p := g FROM (SELECT g, id FROM t ORDER BY g, id DESC) o, \
                       (SELECT @k := 0, @p := NULL) x";
            (sql.to_owned(), ranks.collect())
        }
        // The value before, and the last one that was not NULL.
        4 => {
            let (mut before, mut known) = (None, None);
            let filled = rows.iter().map(|row| {
                known = row.a.or(known);
                let line = format!("{} {} {}", row.id, text(before), text(known));
                before = row.a;
                line
            });
            let sql = "SELECT id, b, f FROM (SELECT id, @b AS b, @b := a, @f := IF(a IS NULL, @f, a) AS f FROM t, \
                       (SELECT @b := NULL, @f := NULL) x ORDER BY id) o ORDER BY id";
            (sql.to_owned(), filled.collect())
        }
        // Texts that grow, cut to the last characters.
        5 => {
            let mut kept = String::new();
            let texts = rows.iter().map(|row| {
                kept.push_str(&row.g.to_string());
                kept = kept.split_off(kept.len().saturating_sub(6));
                format!("{} {kept}", row.id)
            });
            let sql = "SELECT id, @c := RIGHT(CONCAT(@c, g), 6) FROM t, (SELECT @c := '') x ORDER BY id";
            (sql.to_owned(), texts.collect())
        }
        // Subqueries, LIMIT and the order of keys.
        _ => {
            let mut sorted: Vec<&Row> = rows.iter().collect();
            sorted.sort_by_key(|row| (row.a, row.id));
            let skip = random.random_range(0..4usize);
            let left = sorted.iter().skip(skip).take(5);
            let sql = format!(
                "SELECT (SELECT @r := @r + {k}), id FROM t, (SELECT @r := 0) x ORDER BY a, id LIMIT {skip}, 5"
            );
            (sql, left.zip(1..).map(|(row, n)| format!("{} {}", n * k, row.id)).collect())
        }
    }
}

#[test]
fn variables_have_the_values_that_row_by_row_gives() {
    let first: u64 = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    };
    let scale: u64 =
        std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 64 << 20;
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), options).expect("a database");
    let mut session = instance.connect().expect("a session");
    run(&mut session, "CREATE DATABASE variables");
    session.set_database("variables").expect("the database");
    for seed in (0..8 * scale).map(|nth| first.wrapping_add(nth)) {
        println!("LEAFLINE_SEED={seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        let rows = filled(&mut session, &mut random);
        for _ in 0..12 {
            // Assigning NULL resets the types of the variables.
            for name in ["r", "s", "k", "p", "b", "f", "c"] {
                run(&mut session, &format!("SET @{name} = NULL"));
            }
            let (sql, expected) = question(&rows, &mut random);
            // A total is a decimal only if the variable is a number when the statement begins.
            if sql.contains("@s") || random.random() {
                run(&mut session, "SET @r = 0, @s = 0, @k = 0, @p = 0, @b = 0, @f = 0, @c = ''");
            }
            let found = rows_of(&mut session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let differs = expected.iter().zip(&found).find(|(one, other)| one != other);
            assert!(differs.is_none() && expected.len() == found.len(), "{sql}\n{differs:?}");
        }
    }
}
