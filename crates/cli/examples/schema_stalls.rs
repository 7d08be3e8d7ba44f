//! Measures the longest time that a writer waits while its table is altered. Threads update single rows of one table
//! by primary key, each in a durable transaction, and record how long it took; meanwhile the table is altered, in
//! each way that works beside writers.
//!
//! ```text
//! cargo run --release -p leafline-cli --example schema_stalls -- DIRECTORY [rows] [writers] [buffer pool, MB] [flush policy] [words of steps' names]
//! ```
//!
//! A transaction that waits when an alteration ends waited for the switch; these are counted separately. With flush
//! policy 2 commits do not wait for the disk, which may have others to serve. Run it by `bench/schema_stalls.sh`.

use leafline::{Connection, Database, OpenOptions, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A measured step.
struct Step {
    name: &'static str,
    /// The table that is written.
    table: &'static str,
    /// Statements before the step, which `after` undoes; neither is measured.
    before: &'static [&'static str],
    statement: &'static str,
    after: &'static [&'static str],
}

const fn step(name: &'static str, statement: &'static str, after: &'static [&'static str]) -> Step {
    Step { name, table: "d.t", before: &[], statement, after }
}

const fn of_partitions(name: &'static str, statement: &'static str, after: &'static [&'static str]) -> Step {
    Step { name, table: "d.parts", before: &[], statement, after }
}

/// The steps, in their order.
const STEPS: &[Step] = &[
    step("nothing", "SELECT SLEEP(5)", &[]),
    step("ADD INDEX", "ALTER TABLE d.t ADD KEY added (k, c), LOCK=NONE", &["ALTER TABLE d.t DROP KEY added"]),
    step(
        "ADD UNIQUE",
        "ALTER TABLE d.t ADD UNIQUE added (c, id), LOCK=NONE",
        &["ALTER TABLE d.t DROP KEY added"],
    ),
    step("NOT PACKED", "ALTER TABLE d.t ALTER INDEX k NOT PACKED, LOCK=NONE", &[]),
    step("PACKED", "ALTER TABLE d.t ALTER INDEX k PACKED, LOCK=NONE", &[]),
    step(
        "PACKED, primary key",
        "ALTER TABLE d.t ALTER INDEX `PRIMARY` PACKED, LOCK=NONE",
        &["ALTER TABLE d.t ALTER INDEX `PRIMARY` NOT PACKED"],
    ),
    step(
        "ADD CHECK",
        "ALTER TABLE d.t ADD CONSTRAINT low CHECK (k < 2000000000), LOCK=NONE",
        &["ALTER TABLE d.t DROP CHECK low"],
    ),
    step(
        "ADD FOREIGN KEY",
        "ALTER TABLE d.t ADD CONSTRAINT of_parent FOREIGN KEY (r) REFERENCES d.parent (id), LOCK=NONE",
        &["ALTER TABLE d.t DROP FOREIGN KEY of_parent", "ALTER TABLE d.t DROP KEY of_parent"],
    ),
    step("OPTIMIZE TABLE", "OPTIMIZE TABLE d.t", &[]),
    step(
        "ADD COLUMN, instant",
        "ALTER TABLE d.t ADD COLUMN n INT DEFAULT 7",
        &["ALTER TABLE d.t DROP COLUMN n"],
    ),
    step(
        "ADD COLUMN, expression",
        "ALTER TABLE d.t ADD COLUMN e BIGINT DEFAULT (k + 1), LOCK=NONE",
        &["ALTER TABLE d.t DROP COLUMN e"],
    ),
    step(
        "CHANGE, FORCE",
        "ALTER TABLE d.t CHANGE pad padded CHAR(60) NOT NULL, FORCE, LOCK=NONE",
        &["ALTER TABLE d.t RENAME COLUMN padded TO pad"],
    ),
    step(
        "ADD COLUMN, generated",
        "ALTER TABLE d.t ADD COLUMN g BIGINT AS (k * 2), ADD KEY g (g), LOCK=NONE",
        &["ALTER TABLE d.t DROP COLUMN g"],
    ),
    step(
        "ADD COLUMN, numbered",
        "ALTER TABLE d.t ADD COLUMN n BIGINT AUTO_INCREMENT, ADD UNIQUE n (n), LOCK=NONE",
        &["ALTER TABLE d.t DROP COLUMN n"],
    ),
    step(
        "DROP COLUMN, FORCE",
        "ALTER TABLE d.t DROP COLUMN pad, FORCE, LOCK=NONE",
        &["ALTER TABLE d.t ADD COLUMN pad CHAR(60) NOT NULL DEFAULT 'ppp'"],
    ),
    step(
        "another type",
        "ALTER TABLE d.t MODIFY COLUMN k BIGINT NOT NULL, LOCK=NONE",
        &["ALTER TABLE d.t MODIFY COLUMN k INT NOT NULL"],
    ),
    step(
        "CONVERT TO",
        "ALTER TABLE d.t CONVERT TO CHARACTER SET latin1, LOCK=NONE",
        &["ALTER TABLE d.t CONVERT TO CHARACTER SET utf8mb4"],
    ),
    step("ENGINE = MyISAM", "ALTER TABLE d.t ENGINE = MyISAM, LOCK=NONE", &[]),
    step("ENGINE = InnoDB", "ALTER TABLE d.t ENGINE = InnoDB, LOCK=NONE", &[]),
    step(
        "another primary key",
        "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (k, id), ADD UNIQUE id (id), LOCK=NONE",
        &["ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP KEY id"],
    ),
    Step {
        before: &[
            "CREATE TABLE d.parts LIKE d.t",
            "ALTER TABLE d.parts PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100000), PARTITION b VALUES LESS THAN (200000), \
             PARTITION c VALUES LESS THAN (300000), PARTITION d VALUES LESS THAN (1000000000))",
            "INSERT INTO d.parts SELECT * FROM d.t",
        ],
        ..of_partitions("partitions: nothing", "SELECT SLEEP(5)", &[])
    },
    of_partitions(
        "partitions: ADD INDEX",
        "ALTER TABLE d.parts ADD KEY added (k, c), LOCK=NONE",
        &["ALTER TABLE d.parts DROP KEY added"],
    ),
    of_partitions(
        "partitions: HASH",
        "ALTER TABLE d.parts PARTITION BY HASH (id) PARTITIONS 8, LOCK=NONE",
        &[],
    ),
    of_partitions("partitions: REMOVE", "ALTER TABLE d.parts LOCK=NONE REMOVE PARTITIONING", &[]),
    of_partitions(
        "partitions: RANGE",
        "ALTER TABLE d.parts PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (200000), \
         PARTITION b VALUES LESS THAN (400000), PARTITION c VALUES LESS THAN (1000000000)), LOCK=NONE",
        &[],
    ),
    of_partitions("partitions: FORCE", "ALTER TABLE d.parts FORCE, LOCK=NONE", &[]),
    of_partitions(
        "partitions: another type",
        "ALTER TABLE d.parts MODIFY COLUMN k BIGINT NOT NULL, LOCK=NONE",
        &[],
    ),
    of_partitions(
        "partitions: another key",
        "ALTER TABLE d.parts DROP PRIMARY KEY, ADD PRIMARY KEY (id, k), LOCK=NONE",
        &[],
    ),
    of_partitions(
        "partitions: ADD PARTITION",
        "ALTER TABLE d.parts LOCK=NONE, ADD PARTITION (PARTITION e VALUES LESS THAN (1000001000))",
        &[],
    ),
    of_partitions("partitions: DROP PARTITION", "ALTER TABLE d.parts LOCK=NONE, DROP PARTITION e", &[]),
];

/// A transaction: when it began, and how long it took.
type Lap = (Instant, Duration);

fn fill(connection: &mut Connection, rows: u64) -> Result<()> {
    let statements = [
        "CREATE DATABASE d".to_owned(),
        "CREATE TABLE d.parent (id INT PRIMARY KEY)".to_owned(),
        "CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, r INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k))".to_owned(),
        "SET cte_max_recursion_depth = 4294967295".to_owned(),
        "INSERT INTO d.parent WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT i FROM n".to_owned(),
        format!(
            "INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
             SELECT i, (i * 7919) % {rows}, i % 100, REPEAT(CHAR(97 + i % 26), 119), REPEAT('p', 59) FROM n"
        ),
    ];
    statements.iter().try_for_each(|statement| connection.execute(statement.as_str(), ()).map(drop))
}

fn write(
    mut connection: Connection,
    update: &str,
    rows: u64,
    mut random: u64,
    over: &AtomicBool,
) -> Result<Vec<Lap>> {
    let mut laps = Vec::new();
    while !over.load(Ordering::Relaxed) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = (random >> 33) % rows + 1;
        let begun = Instant::now();
        connection.execute(update, (id as i64,))?;
        laps.push((begun, begun.elapsed()));
    }
    Ok(laps)
}

/// Runs the step beside writers; returns when it began and ended, and their transactions.
fn beside_writers(
    database: &Database,
    connection: &mut Connection,
    step: &Step,
    (rows, writers): (u64, u64),
) -> Result<(Instant, Instant, Vec<Lap>)> {
    let over = AtomicBool::new(false);
    let update = format!("UPDATE {} SET k = k + 1 WHERE id = ?", step.table);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let (connection, over, update) = (database.connect(), &over, &update);
                scope.spawn(move || write(connection?, update, rows, writer * 7919 + 1, over))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        let done = run(connection, step.statement);
        let ended = Instant::now();
        std::thread::sleep(Duration::from_millis(500));
        over.store(true, Ordering::Relaxed);
        let mut laps = Vec::new();
        for thread in threads {
            laps.extend(thread.join().expect("a writer")?);
        }
        done.map(|()| (begun, ended, laps))
    })
}

fn report(name: &str, begun: Instant, ended: Instant, mut laps: Vec<Lap>) {
    laps.sort_by_key(|(_, took)| *took);
    // The switch comes just before the statement ends.
    let near = Duration::from_millis(20);
    let of_switch = |(begun, took): &&Lap| *begun <= ended && *begun + *took + near >= ended;
    let ms = |lap: Option<&Lap>| lap.map_or(0.0, |(_, took)| took.as_secs_f64() * 1e3);
    let took = ended - begun;
    let longest = laps.iter().rfind(|lap| !of_switch(lap));
    let after = longest.map_or(0.0, |(at, _)| at.saturating_duration_since(begun).as_secs_f64());
    let usual = laps.get(laps.len().saturating_sub(1 + laps.len() / 1000));
    println!(
        "{name:<27} {:>8.1} {:>12.0} {:>10.1} {:>12.1} {after:>8.1} {:>12.1}",
        took.as_secs_f64(),
        laps.len() as f64 / (took.as_secs_f64() + 1.0),
        ms(usual),
        ms(longest),
        ms(laps.iter().rfind(of_switch)),
    );
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "schema_stalls.db".into()));
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (rows, writers, pool, policy) = (number(500_000), number(8), number(128), number(1));
    let words: Vec<String> = arguments.collect();
    let database = OpenOptions::new()
        .buffer_pool_size(pool << 20)
        .set("innodb_flush_log_at_trx_commit", policy.to_string())
        .open(&directory)?;
    let mut connection = database.connect()?;
    fill(&mut connection, rows)?;
    println!("{rows} rows, {writers} writers, a pool of {pool} MB, flush policy {policy}");
    println!(
        "{:<27} {:>8} {:>12} {:>10} {:>12} {:>8} {:>12}",
        "", "s", "updates/s", "99.9 %, ms", "longest, ms", "after, s", "switch, ms"
    );
    for step in STEPS {
        step.before.iter().try_for_each(|statement| run(&mut connection, statement))?;
        if !words.is_empty() && !words.iter().any(|word| step.name.contains(word.as_str())) {
            continue;
        }
        let (begun, ended, laps) = beside_writers(&database, &mut connection, step, (rows, writers))?;
        report(step.name, begun, ended, laps);
        step.after.iter().try_for_each(|statement| run(&mut connection, statement))?;
    }
    Ok(())
}

fn run(connection: &mut Connection, sql: &str) -> Result<()> {
    let mut rows = connection.query(sql, ())?;
    rows.try_for_each(|row| row.map(drop))
}
