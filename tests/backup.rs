//! Tests backups while others write and change definitions. A restored database has all that was committed before the
//! backup began, and each transaction committed meanwhile as a whole or not at all.
//!
//! Writers move amounts between accounts, whose sum is constant. They also write groups of rows with ascending
//! numbers; the groups that exist must be a prefix, each complete. Some groups are so large that their commits are
//! separate files; some values are stored outside their rows. Other threads create indexes, rebuild tables, empty and
//! drop them, before, between and during backups.

#[path = "support/rows.rs"]
mod rows;

use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::Env;
use leafline_storage::device::SimulatedEnv;
use leafline_table::{EngineOptions, Manifest, restore, verify_backup};
use leafline_types::statement::CancelReason;
use leafline_types::{CancelToken, Progress};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rows::rows_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: u64 = 4;
const ACCOUNTS: u64 = 300;
const SUM: u64 = ACCOUNTS * 1000;
/// The most groups of rows that a writer writes during one backup. Without a limit the tables would grow as long as a
/// rebuild takes, and a rebuild takes longer the larger they are.
const GROUPS: u64 = 400;
/// Errors after which a transaction is tried again.
const AGAIN: [u16; 4] = [1205, 1213, 1412, 1020];
/// Errors of a change of definitions that is not possible at the moment.
const NOT_DONE: [u16; 11] = [1062, 1205, 1213, 1412, 1020, 1050, 1051, 1061, 1091, 1146, 1317];

const CHANGES: [&str; 16] = [
    "CREATE INDEX amount ON d.account (amount)",
    "DROP INDEX amount ON d.account",
    "CREATE INDEX p ON d.grown (parts, note)",
    "DROP INDEX p ON d.grown",
    "OPTIMIZE TABLE d.grown",
    "ALTER TABLE d.account FORCE, LOCK=NONE",
    "ALTER TABLE d.grown ENGINE = MyISAM",
    "ALTER TABLE d.grown ENGINE = InnoDB",
    "ALTER TABLE d.divided FORCE",
    "CREATE TABLE d.passing (n INT PRIMARY KEY, t VARCHAR(300), KEY (t(60))) AS SELECT n AS n, REPEAT('x', 200) AS t FROM d.number",
    "INSERT INTO d.passing SELECT n + 10000, REPEAT('y', 100) FROM d.number",
    "TRUNCATE d.passing",
    "DROP TABLE d.passing",
    "DELETE FROM d.passing",
    "ALTER TABLE d.divided ADD KEY g (w, part)",
    "ALTER TABLE d.divided DROP KEY g",
];

fn seed() -> u64 {
    let seed = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    };
    println!("LEAFLINE_SEED={seed}");
    seed
}

/// Small limits, so that much is in files: pages beyond the pool, a log that wraps, commits by reference, buffered
/// changes.
fn options(seed: u64) -> InstanceOptions {
    let mut options = InstanceOptions::default();
    let engine = &mut options.engine;
    engine.store.page_size = 4096;
    engine.store.buffer_pool_bytes = 6 << 20;
    engine.store.log_capacity_bytes = 16 << 20;
    engine.store.warm_up = false;
    engine.build_memory_bytes = 64 << 10;
    engine.inline_commit_bytes = Some(8 << 10);
    engine.force_change_buffering = seed.is_multiple_of(2);
    options
}

fn must(session: &mut Session, sql: &str) -> Vec<String> {
    rows_of(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn set_up(instance: &Arc<Instance>) {
    let mut session = instance.connect().expect("a session");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.number (n INT PRIMARY KEY)",
        "INSERT INTO d.number WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 900) SELECT n FROM c",
        "CREATE TABLE d.account (id INT PRIMARY KEY, amount BIGINT NOT NULL, filler CHAR(40), KEY f (filler))",
        &format!("INSERT INTO d.account SELECT n, 1000, MD5(n) FROM d.number WHERE n <= {ACCOUNTS}"),
        "CREATE TABLE d.grown (w INT, n INT, part INT, parts INT, note CHAR(40), big LONGTEXT, PRIMARY KEY (w, n, part), KEY note (note))",
        "CREATE TABLE d.divided (w INT, n INT, part INT, parts INT, note CHAR(40), big LONGTEXT, PRIMARY KEY (n, w, part)) \
         PARTITION BY HASH (n) PARTITIONS 3",
    ] {
        must(&mut session, sql);
    }
}

/// The transactions of a writer that were acknowledged.
#[derive(Default)]
struct Acknowledged {
    groups: AtomicU64,
    moves: AtomicU64,
}

/// Runs a transaction; returns whether it committed.
fn transaction(session: &mut Session, statements: &[String]) -> bool {
    for sql in statements {
        match rows_of(session, sql) {
            Ok(_) => {}
            Err(error) if AGAIN.contains(&error.code) => {
                let _ = rows_of(session, "ROLLBACK");
                return false;
            }
            Err(error) => panic!("{sql}: {error}"),
        }
    }
    true
}

fn write(instance: &Arc<Instance>, writer: u64, seed: u64, told: &Acknowledged, over: &AtomicBool) {
    let mut random = SmallRng::seed_from_u64(seed ^ (writer << 40) ^ told.groups.load(Ordering::SeqCst));
    let mut session = instance.connect().expect("a session");
    let last = told.groups.load(Ordering::SeqCst) + GROUPS;
    while !over.load(Ordering::Relaxed) {
        if random.random_bool(0.5) || told.groups.load(Ordering::SeqCst) == last {
            let amount = random.random_range(1..50);
            let (from, to) = (random.random_range(1..=ACCOUNTS), random.random_range(1..=ACCOUNTS));
            let change = |id: u64, by: String| {
                format!("UPDATE d.account SET amount = amount {by}, filler = MD5(RAND()) WHERE id = {id}")
            };
            let statements = [
                "BEGIN".into(),
                change(from, format!("- {amount}")),
                change(to, format!("+ {amount}")),
                "COMMIT".into(),
            ];
            told.moves.fetch_add(u64::from(transaction(&mut session, &statements)), Ordering::SeqCst);
            continue;
        }
        let n = told.groups.load(Ordering::SeqCst) + 1;
        let parts =
            if random.random_ratio(1, 20) { random.random_range(60..150) } else { random.random_range(1..6) };
        let table = |n: u64| if n.is_multiple_of(3) { "d.divided" } else { "d.grown" };
        let rows: Vec<String> = (0..parts)
            .map(|part| {
                let long = if random.random_ratio(1, 40) { 20_000 } else { 60 };
                format!(
                    "({writer}, {n}, {part}, {parts}, MD5({}), REPEAT('b', {long}))",
                    random.random::<u32>()
                )
            })
            .collect();
        let insert = format!("INSERT INTO {} VALUES {}", table(n), rows.join(", "));
        if transaction(&mut session, &["BEGIN".into(), insert, "COMMIT".into()]) {
            told.groups.store(n, Ordering::SeqCst);
        }
    }
}

fn change_definitions(instance: &Arc<Instance>, random: &mut SmallRng, count: usize, over: &AtomicBool) {
    let mut session = instance.connect().expect("a session");
    for _ in 0..count {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let sql = CHANGES[random.random_range(0..CHANGES.len())];
        match rows_of(&mut session, sql) {
            Err(error) if !NOT_DONE.contains(&error.code) => panic!("{sql}: {error}"),
            _ => {}
        }
    }
}

/// Checks the rows of the writers: `before` and `after` bound the groups of each writer.
fn check(target: &SimulatedEnv, seed: u64, before: &[u64], after: &[u64], what: &str) {
    let instance =
        Instance::open(Arc::new(target.clone()), options(seed)).expect("the restored database opens");
    let mut session = instance.connect().expect("a session");
    let report = instance.engine().store().recovery_report();
    assert!(report.unreadable.is_empty() && report.logical_records == 0, "{what}: {report:?}");
    let tables = must(
        &mut session,
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'",
    );
    for table in tables {
        let said = must(&mut session, &format!("CHECK TABLE {table} EXTENDED"));
        assert_eq!(said, [format!("{table} check status OK")], "{what}");
    }
    let sum = must(&mut session, "SELECT SUM(amount), COUNT(*) FROM d.account");
    assert_eq!(sum, [format!("{SUM} {ACCOUNTS}")], "{what}");
    for writer in 0..WRITERS {
        let rows = must(
            &mut session,
            &format!(
                "SELECT n, COUNT(*), MIN(parts), MAX(parts) FROM (SELECT w, n, parts FROM d.grown UNION ALL SELECT w, n, parts FROM d.divided) g \
                 WHERE w = {writer} GROUP BY n ORDER BY n"
            ),
        );
        for (row, n) in rows.iter().zip(1u64..) {
            let fields: Vec<u64> = row.split(' ').map(|field| field.parse().expect("a number")).collect();
            assert_eq!(fields[0], n, "{what}: writer {writer} lacks a group");
            assert!(
                fields[1..].iter().all(|count| *count == fields[1]),
                "{what}: {writer}/{n} is there by half"
            );
        }
        let (found, w) = (rows.len() as u64, writer as usize);
        assert!(
            (before[w]..=after[w] + 1).contains(&found),
            "{what}: writer {writer} has {found} groups, {} were there before and {} after",
            before[w],
            after[w]
        );
    }
    let engine = instance.engine();
    // The change buffer's thread would take space meanwhile if it had anything to merge.
    engine.maintenance().merge_changes().expect("buffered changes are merged");
    engine.maintenance().purge().expect("a purge");
    assert_eq!(engine.store().verify_space().expect("a look at the space"), Vec::<String>::new(), "{what}");
    engine.close().expect("the restored database closes");
}

fn shared(env: &SimulatedEnv) -> Arc<dyn Env> {
    Arc::new(env.clone())
}

fn engine_options(seed: u64) -> EngineOptions {
    options(seed).engine
}

fn back_up(instance: &Arc<Instance>, to: &SimulatedEnv, parent: Option<Manifest>) -> Manifest {
    let (progress, cancel) = (Progress::default(), CancelToken::new());
    let made =
        instance.engine().maintenance().backup(&shared(to), parent, &progress, &cancel).expect("a backup");
    assert_eq!(verify_backup(&shared(to), &progress, &cancel).expect("a whole backup"), made);
    made
}

fn restored(chain: &[SimulatedEnv], seed: u64) -> SimulatedEnv {
    let target = SimulatedEnv::new();
    let backups: Vec<Arc<dyn Env>> = chain.iter().map(shared).collect();
    restore(&shared(&target), &backups, engine_options(seed), &Progress::default(), &CancelToken::new())
        .expect("what was backed up is restored");
    target
}

/// Makes a full backup and three incremental ones, with writers and changes of definitions all the time.
fn chain(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let instance = Instance::open(shared(&env), options(seed)).expect("a new database");
    set_up(&instance);
    let told: Vec<Acknowledged> = (0..WRITERS).map(|_| Acknowledged::default()).collect();
    let groups = || told.iter().map(|told| told.groups.load(Ordering::SeqCst)).collect::<Vec<u64>>();
    let mut backups: Vec<SimulatedEnv> = Vec::new();
    let mut parent = None;
    for round in 0..4 {
        let what = format!("seed {seed}, backup {round}");
        let over = AtomicBool::new(false);
        let to = SimulatedEnv::new();
        let (before, after) = std::thread::scope(|scope| {
            let _over = Over(&over);
            for writer in 0..WRITERS {
                let (instance, told, over) = (&instance, &told[writer as usize], &over);
                scope.spawn(move || write(instance, writer, seed, told, over));
            }
            change_definitions(&instance, &mut random, 4, &over);
            let mut during = SmallRng::seed_from_u64(random.random());
            let (instance, over) = (&instance, &over);
            scope.spawn(move || change_definitions(instance, &mut during, 1000, over));
            let before = groups();
            parent = Some(back_up(instance, &to, parent.take()));
            (before, groups())
        });
        backups.push(to);
        check(&restored(&backups, seed), seed, &before, &after, &what);
    }
    assert!(told.iter().any(|told| told.groups.load(Ordering::SeqCst) > 0));
    assert!(told.iter().any(|told| told.moves.load(Ordering::SeqCst) > 0));
    instance.engine().close().expect("the database closes");
}

/// Tells the other threads to end, even if the backup fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn backups_beside_writers_and_changes_of_definitions_are_the_database_at_their_end() {
    let seed = seed();
    let scale: u64 = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for number in 0..3 * scale {
        let seed = seed.wrapping_add(number);
        eprintln!("seed {seed}");
        chain(seed);
    }
}

#[test]
fn a_backup_that_is_cancelled_is_none_and_the_next_one_is() {
    let env = SimulatedEnv::new();
    let instance = Instance::open(shared(&env), options(1)).expect("a new database");
    set_up(&instance);
    let (to, cancel) = (SimulatedEnv::new(), CancelToken::new());
    cancel.cancel(CancelReason::QueryKilled);
    let error = instance
        .engine()
        .maintenance()
        .backup(&shared(&to), None, &Progress::default(), &cancel)
        .expect_err("it is cancelled");
    assert!(error.to_string().contains("interrupted"), "{error}");
    let error =
        verify_backup(&shared(&to), &Progress::default(), &CancelToken::new()).expect_err("it is none");
    assert!(error.to_string().contains("no complete backup"), "{error}");
    let next = SimulatedEnv::new();
    back_up(&instance, &next, None);
    check(&restored(&[next], 1), 1, &[0; 4], &[0; 4], "after a cancelled one");
}
