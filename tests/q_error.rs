//! Measures the errors of row estimates, over a table whose columns are skewed, correlated, full of NULLs, of text
//! and of dates.
//!
//! The q-error of a query is the estimate divided by the actual number of rows, or the inverse, whichever is larger,
//! with both at least 1. With `LEAFLINE_TEST_SCALE` the table is larger; `bench/q_error.sh` publishes the printed
//! figures.

#[path = "support/rows.rs"]
mod rows;

use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rows::values_of;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

const COUNTRIES: u64 = 40;

fn env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    fn failed<T>(sql: &str, error: leafline_types::MysqlError) -> T {
        panic!("{}: {error}", sql.chars().take(200).collect::<String>())
    }
    let rows = values_of(session, sql).unwrap_or_else(|error| failed(sql, error));
    rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect()
}

/// Returns a number below `values` whose probability falls with its rank.
fn skewed(rng: &mut SmallRng, values: u64) -> u64 {
    let uniform: f64 = rng.random_range(0.0..1.0);
    ((values as f64).powf(uniform) - 1.0) as u64
}

/// Scatters the ranks over the values.
fn scattered(rank: u64, values: u64) -> u64 {
    rank * 7919 % values
}

struct Fixture {
    session: Session,
    rng: SmallRng,
    rows: u64,
    failures: Vec<String>,
}

impl Fixture {
    fn new(seed: u64, rows: u64) -> Fixture {
        let mut options = InstanceOptions::default();
        options.engine.store.buffer_pool_bytes = 256 << 20;
        options.engine.store.log_capacity_bytes = 256 << 20;
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), options).expect("a database");
        let mut session = instance.connect().expect("a session");
        run(&mut session, "CREATE DATABASE d");
        session.set_database("d").expect("the database");
        run(
            &mut session,
            "CREATE TABLE t (id INT PRIMARY KEY, zipf INT NOT NULL, country INT NOT NULL, city INT NOT NULL, day DATE NOT NULL, \
             name VARCHAR(40) NOT NULL, rare INT, amount DECIMAL(12,2) NOT NULL, k INT NOT NULL, KEY k (k))",
        );
        run(
            &mut session,
            "CREATE TABLE o (id INT PRIMARY KEY, zipf INT NOT NULL, country INT NOT NULL, t_id INT)",
        );
        let mut fixture = Fixture { session, rng: SmallRng::seed_from_u64(seed), rows, failures: Vec::new() };
        fixture.fill("t", rows, |rng, id| {
            let country = skewed(rng, COUNTRIES);
            let rare = if rng.random_ratio(3, 100) { skewed(rng, 50).to_string() } else { "NULL".into() };
            let person = skewed(rng, 2000);
            let name = if person.is_multiple_of(2) { "Person" } else { "PÉRSON" };
            format!(
                "({id},{},{country},{},'2015-01-01' + INTERVAL {} DAY,'{name} {person}',{rare},{:.2},{})",
                scattered(skewed(rng, 10_000), 10_000),
                country * 25 + skewed(rng, 25),
                id * 3000 / rows + rng.random_range(0..3),
                (rng.random_range(0.0f64..10.0)).exp(),
                scattered(skewed(rng, rows / 2), rows / 2),
            )
        });
        fixture.fill("o", rows / 4, |rng, id| {
            format!(
                "({id},{},{},{})",
                scattered(skewed(rng, 10_000), 10_000),
                skewed(rng, COUNTRIES),
                rng.random_range(0..rows)
            )
        });
        fixture
    }

    fn fill(&mut self, table: &str, rows: u64, mut row: impl FnMut(&mut SmallRng, u64) -> String) {
        let mut id = 0;
        while id < rows {
            let mut sql = format!("INSERT INTO {table} VALUES ");
            let end = (id + 2000).min(rows);
            for id in id..end {
                let separator = if id + 1 < end { "," } else { "" };
                let _ = write!(sql, "{}{separator}", row(&mut self.rng, id));
            }
            run(&mut self.session, &sql);
            id = end;
        }
    }

    /// Returns a value of a column; common ones are more likely.
    fn value(&mut self, column: &str) -> String {
        let id = self.rng.random_range(0..self.rows);
        run(&mut self.session, &format!("SELECT {column} FROM t WHERE id = {id}")).remove(0).remove(0)
    }

    /// Returns the q-error of `SELECT * FROM from`.
    fn q_error(&mut self, from: &str) -> f64 {
        let plan = run(&mut self.session, &format!("EXPLAIN FORMAT=TREE SELECT * FROM {from}"));
        let root = &plan[0][0];
        let estimate = root.split("rows=").nth(1).and_then(|text| text.split(')').next());
        let estimate: f64 =
            estimate.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no rows: {root}"));
        let actual = run(&mut self.session, &format!("SELECT COUNT(*) FROM {from}"));
        let actual: f64 = actual[0][0].parse().expect("a count");
        let (estimate, actual) = (estimate.max(1.0), actual.max(1.0));
        let q_error = (estimate / actual).max(actual / estimate);
        if std::env::var_os("LEAFLINE_Q_ERRORS").is_some() && q_error > 5.0 {
            println!("{estimate} for {actual}: {}", from.chars().take(150).collect::<String>());
        }
        q_error
    }

    /// Prints the q-errors of queries; a median or 90th percentile beyond the limits fails the test at the end.
    fn class(
        &mut self,
        name: &str,
        queries: usize,
        limits: (f64, f64),
        mut from: impl FnMut(&mut Fixture) -> String,
    ) {
        let mut errors: Vec<f64> = (0..queries)
            .map(|_| {
                let from = from(self);
                self.q_error(&from)
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share).round() as usize];
        let (median, ninth) = (at(0.5), at(0.9));
        println!("| {name} | {queries} | {median:.2} | {ninth:.2} | {:.2} |", at(1.0));
        if median > limits.0 || ninth > limits.1 {
            self.failures.push(format!("{name}: {median}, {ninth}"));
        }
    }
}

#[test]
fn estimates_are_near_what_is_there() {
    let seed = env("LEAFLINE_SEED", 20_250_101);
    let rows = 40_000 * env("LEAFLINE_TEST_SCALE", 1);
    println!("seed {seed}, {rows} rows");
    let mut fixture = Fixture::new(seed, rows);
    println!("| conditions | queries | median | 90th | max |\n|---|---:|---:|---:|---:|");
    let one = |f: &mut Fixture, column: &str| f.value(column);
    fixture.class("skewed column = value", 40, (3.0, 12.0), |f| format!("t WHERE zipf = {}", one(f, "zipf")));
    fixture.class("ranges of a skewed column", 40, (2.0, 5.0), |f| {
        let from: u64 = f.rng.random_range(0..9_000);
        format!("t WHERE zipf BETWEEN {from} AND {}", from + f.rng.random_range(10..1_000))
    });
    fixture.class("amount < value", 20, (1.5, 3.0), |f| format!("t WHERE amount < {}", one(f, "amount")));
    fixture.class("correlated AND", 40, (2.5, 8.0), |f| {
        let id = f.rng.random_range(0..f.rows);
        let found = run(&mut f.session, &format!("SELECT country, city FROM t WHERE id = {id}"));
        format!("t WHERE country = {} AND city = {}", found[0][0], found[0][1])
    });
    fixture.class("OR, NOT, <>", 20, (2.0, 5.0), |f| {
        format!("t WHERE NOT (country <> {} AND zipf <> {})", one(f, "country"), one(f, "zipf"))
    });
    for length in [10, 1_000, 20_000] {
        let list = |f: &mut Fixture, values: u64| {
            let list: Vec<String> = (0..length).map(|_| f.rng.random_range(0..values).to_string()).collect();
            list.join(",")
        };
        let queries = if length > 1_000 { 3 } else { 10 };
        fixture.class(&format!("skewed column IN ({length} values)"), queries, (5.0, 8.0), |f| {
            format!("t WHERE zipf IN ({})", list(f, 10_000))
        });
        let values = fixture.rows / 2;
        fixture.class(&format!("skewed index IN ({length} values)"), queries, (2.0, 4.0), |f| {
            format!("t WHERE k IN ({})", list(f, values))
        });
    }
    fixture.class("column of NULLs", 20, (5.0, 12.0), |f| {
        format!("t WHERE rare = {}", f.rng.random_range(0..50))
    });
    fixture.class("IS NULL, IS NOT NULL", 2, (1.5, 1.5), |f| {
        let not = if f.rng.random() { "NOT" } else { "" };
        format!("t WHERE rare IS {not} NULL")
    });
    fixture.class("text of a collation = value", 30, (3.0, 12.0), |f| {
        format!("t WHERE name = '{}'", one(f, "name").to_lowercase())
    });
    fixture.class("LIKE 'beginning%'", 10, (2.0, 5.0), |f| {
        format!("t WHERE name LIKE 'person {}%'", f.rng.random_range(1..10))
    });
    fixture.class("day = value", 20, (3.0, 8.0), |f| format!("t WHERE day = '{}'", one(f, "day")));
    fixture.class("months", 20, (2.0, 5.0), |f| {
        let from = one(f, "day");
        format!("t WHERE day >= '{from}' AND day < '{from}' + INTERVAL 1 MONTH")
    });
    fixture.class("join on skewed keys", 1, (3.0, 3.0), |_| "t JOIN o ON t.zipf = o.zipf".into());
    fixture.class("join on few skewed keys", 1, (2.0, 2.0), |_| "t JOIN o ON t.country = o.country".into());
    fixture.class("join with a filter", 20, (2.5, 6.0), |f| {
        format!("t JOIN o ON t.id = o.t_id WHERE t.country = {} AND o.zipf < 3000", one(f, "country"))
    });
    println!("| length of two lists | planning |\n|---:|---:|");
    for length in [10, 100, 1_000, 10_000, 50_000] {
        let list: Vec<String> = (0..length).map(|value| (value * 3).to_string()).collect();
        let sql = format!("EXPLAIN SELECT * FROM t WHERE k IN ({0}) AND zipf IN ({0})", list.join(","));
        let began = Instant::now();
        run(&mut fixture.session, &sql);
        println!("| {length} | {:.2} ms |", began.elapsed().as_secs_f64() * 1000.0);
    }
    assert!(fixture.failures.is_empty(), "seed {seed}: {:?}", fixture.failures);
}
