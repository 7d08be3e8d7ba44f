//! The longest time that a writer is stopped while its table is altered: threads update single rows of one table by primary key, in durable
//! transactions of their own, and note how long each took; meanwhile an index is added, the table is optimized, its primary key changed.
//!
//! ```text
//! cargo run --release -p leafline --example schema_stalls -- DIRECTORY [rows] [writers] [buffer pool, MB]
//! ```
//!
//! Who waits when an alteration ends waited for the switch. These are counted apart. Run it by `bench/schema_stalls.sh`.

use leafline::{Connection, OpenOptions, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is measured, in this order, and what is put back afterwards without being measured.
const STEPS: [(&str, &str, Option<&str>); 4] = [
    ("nothing", "SELECT SLEEP(5)", None),
    ("ADD INDEX", "ALTER TABLE d.t ADD KEY added (k, c)", Some("ALTER TABLE d.t DROP KEY added")),
    ("OPTIMIZE TABLE", "OPTIMIZE TABLE d.t", None),
    (
        "another primary key",
        "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (k, id), ADD UNIQUE id (id)",
        None,
    ),
];

/// A transaction: when it began, how long it took.
type Lap = (Instant, Duration);

fn fill(connection: &mut Connection, rows: u64) -> Result<()> {
    connection.execute("CREATE DATABASE d", ())?;
    connection.execute(
        "CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k))",
        (),
    )?;
    connection.execute("SET cte_max_recursion_depth = 4294967295", ())?;
    connection.execute(
        &format!(
            "INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
             SELECT i, (i * 7919) % {rows}, REPEAT(CHAR(97 + i % 26), 119), REPEAT('p', 59) FROM n"
        ),
        (),
    )?;
    Ok(())
}

fn write(mut connection: Connection, rows: u64, mut random: u64, over: &AtomicBool) -> Result<Vec<Lap>> {
    let mut laps = Vec::new();
    while !over.load(Ordering::Relaxed) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = (random >> 33) % rows + 1;
        let begun = Instant::now();
        connection.execute("UPDATE d.t SET k = k + 1 WHERE id = ?", (id as i64,))?;
        laps.push((begun, begun.elapsed()));
    }
    Ok(laps)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "schema_stalls.db".into()));
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (rows, writers, pool) = (number(500_000), number(8), number(128));
    let database = OpenOptions::new().buffer_pool_size(pool << 20).open(&directory)?;
    let mut connection = database.connect()?;
    fill(&mut connection, rows)?;
    println!("{rows} rows, {writers} writers, a pool of {pool} MB");
    println!(
        "{:<20} {:>8} {:>12} {:>10} {:>12} {:>8} {:>12}",
        "", "s", "updates/s", "99.9 %, ms", "longest, ms", "after, s", "switch, ms"
    );
    for (name, statement, undo) in STEPS {
        let over = AtomicBool::new(false);
        let (begun, mut laps, ended) = std::thread::scope(|scope| -> Result<_> {
            let threads: Vec<_> = (0..writers)
                .map(|writer| {
                    let (connection, over) = (database.connect(), &over);
                    scope.spawn(move || write(connection?, rows, writer * 7919 + 1, over))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(500));
            let begun = Instant::now();
            let done = run(&mut connection, statement);
            let ended = Instant::now();
            std::thread::sleep(Duration::from_millis(500));
            over.store(true, Ordering::Relaxed);
            let mut laps = Vec::new();
            for thread in threads {
                laps.extend(thread.join().expect("a writer")?);
            }
            done?;
            Ok((begun, laps, ended))
        })?;
        laps.sort_by_key(|(_, took)| *took);
        // The switch is done just before the statement ends.
        let near = Duration::from_millis(20);
        let of_switch = |(begun, took): &&Lap| *begun <= ended && *begun + *took + near >= ended;
        let ms = |lap: Option<&Lap>| lap.map_or(0.0, |(_, took)| took.as_secs_f64() * 1e3);
        let took = ended - begun;
        let longest = laps.iter().rfind(|lap| !of_switch(lap));
        let after = longest.map_or(0.0, |(at, _)| at.saturating_duration_since(begun).as_secs_f64());
        let usual = laps.get(laps.len().saturating_sub(1 + laps.len() / 1000));
        println!(
            "{name:<20} {:>8.1} {:>12.0} {:>10.1} {:>12.1} {after:>8.1} {:>12.1}",
            took.as_secs_f64(),
            laps.len() as f64 / (took.as_secs_f64() + 1.0),
            ms(usual),
            ms(longest),
            ms(laps.iter().rfind(of_switch)),
        );
        if let Some(undo) = undo {
            run(&mut connection, undo)?;
        }
    }
    Ok(())
}

fn run(connection: &mut Connection, sql: &str) -> Result<()> {
    let mut rows = connection.query(sql, ())?;
    rows.try_for_each(|row| row.map(drop))
}
