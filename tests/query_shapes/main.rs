//! Statements of every shape are planned and executed without an internal error, and answered alike whatever the
//! optimizer does.
//!
//! Random statements over tiny tables: subqueries in every clause that depend on blocks at any distance, outer joins,
//! aggregates of enclosing blocks, derived and lateral tables, WITH, set operations, windows, ROLLUP, row
//! comparisons, changes with subqueries. Each runs unchanged, and with every rewrite of the optimizer switched off.
//! An internal error (1815, 1105), a panic, or more than [`PATIENCE_MS`] fails the test; so do answers that differ,
//! if both runs end without an error.
//!
//! `LEAFLINE_SEED` chooses the first seed, `LEAFLINE_TEST_SCALE` how many there are; each is [`STATEMENTS`]
//! statements over one set of rows. `LEAFLINE_TRACE` prints each statement before it runs.

mod changes;
mod expressions;
mod generate;
#[path = "../support/rows.rs"]
mod rows;
mod schema;
mod sources;

use generate::Generator;
use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use leafline_types::MysqlError;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Statements for each seed.
const STATEMENTS: usize = 200;
/// Seeds of a run of scale one.
const SEEDS: u64 = 10;
/// A limit above the time of any statement over tables of seven rows.
const PATIENCE_MS: u64 = 10_000;
/// The number of faults that are shown.
const SHOWN: usize = 20;

const INTERNAL: [u16; 2] = [1815, 1105];
const TIMED_OUT: u16 = 3024;

const REWRITING: &str = "SET optimizer_switch = 'default'";
const AS_WRITTEN: &str = "SET optimizer_switch = 'semijoin=off,subquery_to_derived=off,derived_merge=off,\
    derived_condition_pushdown=off,index_merge=off,skip_scan=off,index_condition_pushdown=off,block_nested_loop=off,\
    rowid_filter=off,runtime_filter=off'";

type Answer = Result<Vec<Vec<Option<String>>>, MysqlError>;

/// The observations.
#[derive(Default)]
struct Seen {
    statements: u64,
    /// The number of statements that ended with each error, and an example.
    errors: BTreeMap<u16, (u64, String)>,
    compared: u64,
    faults: Vec<String>,
}

fn instance() -> Arc<Instance> {
    let mut options = InstanceOptions::default();
    options.engine.store.buffer_pool_bytes = 8 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    Instance::open(Arc::new(SimulatedEnv::new()), options).expect("the database opens")
}

/// Runs a statement that must succeed.
fn must(session: &mut Session, sql: &str) {
    rows::values_of(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn connected(instance: &Arc<Instance>) -> Session {
    let mut session = instance.connect().expect("a session");
    for sql in [
        "CREATE DATABASE IF NOT EXISTS d",
        "USE d",
        &format!("SET max_execution_time = {PATIENCE_MS}"),
        "SET group_concat_max_len = 1000000",
    ] {
        must(&mut session, sql);
    }
    session
}

/// Sorts rows, in lower case: any of several equal texts may stand for a group.
fn sorted(mut answer: Answer) -> Answer {
    if let Ok(rows) = &mut answer {
        let texts = rows.iter_mut().flatten().flatten();
        texts.for_each(|text| *text = text.to_lowercase());
        rows.sort();
    }
    answer
}

impl Seen {
    fn count(&mut self, sql: &str, answer: &Answer) {
        self.statements += 1;
        if let Err(error) = answer {
            self.errors.entry(error.code).or_insert_with(|| (0, format!("{error}: {sql}"))).0 += 1;
            if INTERNAL.contains(&error.code) || error.code == TIMED_OUT {
                self.faults.push(format!("{error}\n    {sql}"));
            }
        }
    }

    fn compare(&mut self, sql: &str, rewritten: &Answer, as_written: &Answer) {
        let (Ok(rewritten), Ok(as_written)) = (rewritten, as_written) else { return };
        self.compared += 1;
        if rewritten != as_written {
            let shown = |rows: &[Vec<Option<String>>]| format!("{:.300}", format!("{rows:?}"));
            self.faults.push(format!(
                "answers differ\n    {sql}\n    rewritten:  {}\n    as written: {}",
                shown(rewritten),
                shown(as_written)
            ));
        }
    }
}

/// Explains a query and runs it as a prepared statement, which must return the same rows twice.
fn ask_otherwise(session: &mut Session, sql: &str, rewritten: &Answer, seen: &mut Seen) {
    let explain = format!("EXPLAIN {sql}");
    let explained = rows::values_of(session, &explain);
    seen.count(&explain, &explained);
    let prepared = rows::values_of(session, &format!("PREPARE p FROM '{}'", sql.replace('\'', "''")));
    seen.count(sql, &prepared);
    if prepared.is_ok() {
        for _ in 0..2 {
            let answer = sorted(rows::values_of(session, "EXECUTE p"));
            seen.count(sql, &answer);
            seen.compare(sql, rewritten, &answer);
        }
    }
}

/// Runs a query in both ways.
fn ask(session: &mut Session, sql: &str, thoroughly: bool, seen: &mut Seen) {
    let rewritten = sorted(rows::values_of(session, sql));
    seen.count(sql, &rewritten);
    if thoroughly {
        ask_otherwise(session, sql, &rewritten, seen);
    }
    must(session, AS_WRITTEN);
    let as_written = sorted(rows::values_of(session, sql));
    must(session, REWRITING);
    seen.count(sql, &as_written);
    seen.compare(sql, &rewritten, &as_written);
}

/// Makes a change in both ways, and undoes it.
fn change(session: &mut Session, made: &changes::Change, seen: &mut Seen) {
    let mut after = Vec::new();
    for switches in [REWRITING, AS_WRITTEN] {
        must(session, switches);
        must(session, "BEGIN");
        let answer = rows::values_of(session, &made.sql);
        seen.count(&made.sql, &answer);
        let mut tables = answer;
        for table in ["t1", "t2", "t3", "t4", "u"] {
            let rows = sorted(rows::values_of(session, &format!("SELECT '{table}', x.* FROM {table} x")));
            if let (Ok(tables), Ok(rows)) = (&mut tables, rows) {
                tables.extend(rows);
            }
        }
        after.push(tables);
        must(session, "ROLLBACK");
    }
    must(session, REWRITING);
    if made.determined {
        seen.compare(&made.sql, &after[0], &after[1]);
    }
}

fn run_seed(seed: u64, instance: &Arc<Instance>, seen: &mut Seen) {
    let mut generator = Generator::new(seed);
    let mut session = connected(instance);
    let mode = generator.of(&["STRICT_TRANS_TABLES", "", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES"]);
    must(&mut session, &format!("SET sql_mode = '{mode}'"));
    for sql in generator.schema() {
        must(&mut session, &sql);
    }
    let traced = std::env::var("LEAFLINE_TRACE").is_ok();
    for _ in 0..STATEMENTS {
        let (changing, thoroughly) = (generator.chance(20), generator.chance(10));
        let made = match changing {
            true => generator.change(),
            false => changes::Change { sql: generator.select(), determined: true },
        };
        if traced {
            println!("{};", made.sql);
        }
        let faults = seen.faults.len();
        let ended = catch_unwind(AssertUnwindSafe(|| match changing {
            true => change(&mut session, &made, seen),
            false => ask(&mut session, &made.sql, thoroughly, seen),
        }));
        if ended.is_err() {
            seen.faults.push(format!("panicked\n    {}", made.sql));
        }
        for fault in &mut seen.faults[faults..] {
            *fault = format!("LEAFLINE_SEED={seed}: {fault}");
        }
        if ended.is_err() {
            // The state of the session is unknown.
            return;
        }
    }
}

#[test]
fn no_shape_of_a_statement_fails_to_be_planned() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("LEAFLINE_SEED").unwrap_or_else(|| SmallRng::from_os_rng().random());
    let seeds = number("LEAFLINE_TEST_SCALE").unwrap_or(1) * SEEDS;
    println!("LEAFLINE_SEED={first}");
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let faults = seen.faults.len();
        let instance = instance();
        run_seed(first.wrapping_add(seed), &instance, &mut seen);
        for fault in seen.faults[faults..].iter().take(SHOWN) {
            println!("{fault}");
        }
    }
    println!("{} statements, {} compared; errors:", seen.statements, seen.compared);
    for (code, (count, example)) in &seen.errors {
        println!("{code}: {count} such as {example:.200}");
    }
    assert_eq!(seen.faults.len(), 0, "of {} statements from seed {first} on", seen.statements);
}
