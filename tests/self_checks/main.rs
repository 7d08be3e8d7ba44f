//! The same question asked in two ways must have the same answer.
//!
//! Random tables, indexes and conditions, by seed. For a condition `p` over a table or a join:
//!
//! * *partitions* (ternary logic partitioning, Rigger and Su, OOPSLA 2020): the rows where `p` is true, false and NULL together are all rows;
//! * *no optimization* (NoREC, Rigger and Su, ESEC/FSE 2020): as many rows pass a WHERE as rows have `p` true in the select list;
//! * *paths*: the same rows by every index, by none, and with parts of the optimizer switched off;
//! * *order*: ORDER BY with LIMIT gives the first rows of the whole order;
//! * *again*: a statement that is run again gives what it gave the first time;
//! * *changes*: DELETE removes, in a transaction that is rolled back, as many rows as SELECT finds.
//!
//! `LEAFLINE_SEED` chooses the first seed, `LEAFLINE_TEST_SCALE` how many there are.

mod generate;

use generate::{From, Generator};
use leafline_sql::session::{Outcome, Session};
use leafline_sql::text_format::TextColumns;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::DirectoryEnv;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Conditions tried on the tables of a seed.
const CONDITIONS: usize = 60;
/// What a statement may say instead of an answer: a number out of range, collations that do not go together.
const TOLERATED: [u16; 2] = [1690, 1267];

/// Rows as text, sorted; or the number of the error.
type Rows = Result<Vec<String>, u16>;

struct Checker {
    session: Session,
    seed: u64,
    checks: u64,
    failed: u64,
}

impl Checker {
    fn execute(&mut self, sql: &str) -> u64 {
        match self.session.execute(sql) {
            Ok(Outcome::Done(done)) => done.affected,
            Ok(Outcome::Rows(_)) => panic!("seed {}: rows of {sql}", self.seed),
            Err(error) => panic!("seed {}: {error}: {sql}", self.seed),
        }
    }

    fn ordered(&mut self, sql: &str) -> Rows {
        let rows = (|| {
            let Outcome::Rows(mut stream) = self.session.execute(sql)? else { return Ok(Vec::new()) };
            let types = stream.types();
            let mut rows = Vec::new();
            while let Some(batch) = stream.next_batch(&mut self.session)? {
                let columns = TextColumns::new(&batch, &types);
                for row in 0..batch.rows {
                    let mut text = Vec::new();
                    for column in 0..types.len() {
                        match columns.append(row, column, &mut text) {
                            true => text.push(b'|'),
                            false => text.extend_from_slice(b"NULL|"),
                        }
                    }
                    rows.push(String::from_utf8_lossy(&text).into_owned());
                }
            }
            Ok::<_, leafline_types::MysqlError>(rows)
        })();
        rows.map_err(|error| {
            assert!(TOLERATED.contains(&error.code), "seed {}: {error}: {sql}", self.seed);
            error.code
        })
    }

    fn rows(&mut self, sql: &str) -> Rows {
        let mut rows = self.ordered(sql)?;
        rows.sort_unstable();
        Ok(rows)
    }

    fn number(&mut self, sql: &str) -> Result<i64, u16> {
        let rows = self.rows(sql)?;
        Ok(rows.first().and_then(|row| row.trim_end_matches('|').parse().ok()).unwrap_or(0))
    }

    /// One check. An error on either side ends it: what is evaluated, and when, is not defined.
    fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        (one, other): (Result<T, u16>, Result<T, u16>),
        what: &str,
        sql: &str,
    ) {
        match (one, other) {
            (Ok(one), Ok(other)) => {
                assert_eq!(one, other, "seed {}: {what}: {sql}", self.seed);
                self.checks += 1;
            }
            _ => self.failed += 1,
        }
    }

    fn condition(&mut self, from: &From, p: &str) {
        let (text, columns) = (&from.text, &from.columns);
        let all = self.rows(&format!("SELECT {columns} FROM {text}"));
        let found_sql = format!("SELECT {columns} FROM {text} WHERE {p}");
        let found = self.rows(&found_sql);
        let mut parts = found.clone();
        for part in [format!("NOT ({p})"), format!("({p}) IS NULL")] {
            let more = self.rows(&format!("SELECT {columns} FROM {text} WHERE {part}"));
            parts = parts.and_then(|mut rows| {
                more.map(|more| {
                    rows.extend(more);
                    rows
                })
            });
        }
        let parts = parts.map(|mut rows| {
            rows.sort_unstable();
            rows
        });
        self.same((all, parts), "partitions", &found_sql);

        let passed = self.number(&format!("SELECT COUNT(*) FROM {text} WHERE {p}"));
        let counted = self.number(&format!("SELECT SUM(({p}) IS TRUE) FROM {}", from.without_indexes));
        self.same((passed, counted), "no optimization", &found_sql);

        for path in &from.paths {
            let sql = format!("SELECT {columns} FROM {path} WHERE {p}");
            let rows = self.rows(&sql);
            self.same((found.clone(), rows), "paths", &sql);
        }
        for switch in from.switches {
            self.execute(&format!("SET optimizer_switch = '{switch}=off'"));
            let rows = self.rows(&found_sql);
            self.execute(&format!("SET optimizer_switch = '{switch}=on'"));
            self.same((found.clone(), rows), switch, &found_sql);
        }
        for (order, limit) in &from.orders {
            let whole = self
                .ordered(&format!("SELECT {order} FROM {} WHERE {p} ORDER BY {order}", from.without_indexes));
            let sql = format!("SELECT {order} FROM {text} WHERE {p} ORDER BY {order} LIMIT {limit}");
            let first = self.ordered(&sql);
            self.same(
                (
                    whole.map(|mut rows| {
                        rows.truncate(*limit);
                        rows
                    }),
                    first,
                ),
                "order",
                &sql,
            );
        }
    }

    /// A statement that is run again may go another way than the first time.
    fn again(&mut self, from: &From, p: &str) {
        let columns = &from.columns;
        let whole = self.rows(&format!("SELECT {columns} FROM {} WHERE {p}", from.without_indexes));
        for path in [&from.text].into_iter().chain(&from.paths) {
            let sql = format!("SELECT {columns} FROM {path} WHERE {p}");
            for _ in 0..3 {
                let rows = self.rows(&sql);
                self.same((whole.clone(), rows), "again", &sql);
            }
            for (order, limit) in &from.orders {
                let sql =
                    format!("SELECT {order}, {columns} FROM {path} WHERE {p} ORDER BY {order} LIMIT {limit}");
                let (first, second) = (self.ordered(&sql), self.ordered(&sql));
                let lead = |rows: Rows| rows.map(|rows| rows.len());
                self.same((lead(first), lead(second)), "again, in order", &sql);
                let sql = format!("SELECT {order} FROM {path} WHERE {p} ORDER BY {order} LIMIT 1, {limit}");
                let (first, second) = (self.ordered(&sql), self.ordered(&sql));
                self.same((first, second), "again, some", &sql);
            }
        }
    }

    fn change(&mut self, from: &From, p: &str) {
        let count = self.number(&format!("SELECT COUNT(*) FROM {} WHERE {p}", from.text));
        let rest = self.rows(&format!("SELECT {} FROM {} WHERE ({p}) IS NOT TRUE", from.columns, from.text));
        let sql = format!("DELETE FROM {} WHERE {p}", from.text);
        self.execute("BEGIN");
        let (deleted, left) = match self.session.execute(&sql) {
            Ok(Outcome::Done(done)) => {
                let left = self.rows(&format!("SELECT {} FROM {}", from.columns, from.without_indexes));
                (Ok(done.affected as i64), left)
            }
            Ok(Outcome::Rows(_)) => panic!("seed {}: rows of {sql}", self.seed),
            // As an error where SELECT has a warning: values of the wrong form.
            Err(error) => (Err(error.code), Err(error.code)),
        };
        self.execute("ROLLBACK");
        self.same((count, deleted), "changes", &sql);
        self.same((rest, left), "what is left", &sql);
    }
}

fn run(seed: u64) -> (u64, u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let env = Arc::new(DirectoryEnv::open(directory.path()).expect("a directory"));
    let instance = Instance::open(env, InstanceOptions::default()).expect("a database");
    let session = instance.connect().expect("a session");
    let mut checker = Checker { session, seed, checks: 0, failed: 0 };
    let mut generator = Generator::new(seed);
    checker.execute("CREATE DATABASE s");
    checker.execute("USE s");
    for statement in generator.tables() {
        checker.execute(&statement);
    }
    for _ in 0..CONDITIONS {
        let from = generator.from();
        let p = generator.condition(&from, 3);
        checker.condition(&from, &p);
        if from.is_table {
            let simple = generator.simple(&from);
            checker.again(&from, &simple);
        }
        if from.is_table && generator.random.random_ratio(1, 4) {
            checker.change(&from, &p);
        }
    }
    let counts = (checker.checks, checker.failed);
    drop(checker);
    instance.close().expect("a clean end");
    counts
}

#[test]
fn the_same_question_has_the_same_answer() {
    let first = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => SmallRng::from_os_rng().random(),
    };
    let scale: u64 =
        std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in (0..2 * scale).map(|n| u64::wrapping_add(first, n)) {
        let (checks, failed) = run(seed);
        *sums.entry("checks").or_default() += checks;
        *sums.entry("ended by an error").or_default() += failed;
    }
    println!("from seed {first}: {sums:?}");
    assert!(sums["checks"] > 100 * scale, "from seed {first}: {sums:?}");
}
