//! Cuts the power at every write of statements that change partitions. After recovery the table is as before or as after the
//! statement, and no page is lost.

use crate::{Instance, InstanceOptions, Outcome, Session};
use leafline_storage::device::SimulatedEnv;
use leafline_types::value_at;
use std::sync::Arc;

/// Statements that make the tables of the test.
const BEGIN: &[&str] = &[
    "SET cte_max_recursion_depth = 5000",
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE n (n INT PRIMARY KEY)",
    "INSERT INTO n WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 600) SELECT n FROM c",
    "CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(60), w TEXT, KEY (v)) PARTITION BY RANGE (id) \
     (PARTITION a VALUES LESS THAN (200), PARTITION b VALUES LESS THAN (400), PARTITION c VALUES LESS THAN (1000))",
    "INSERT INTO r SELECT n, REPEAT(CHAR(97 + n % 26), 50), IF(n % 97 = 0, REPEAT('long', 3000), NULL) FROM n",
    "CREATE TABLE x (id INT PRIMARY KEY, v VARCHAR(60), w TEXT, KEY (v))",
    "INSERT INTO x SELECT n + 199, 'from x', IF(n = 7, REPEAT('long', 3000), NULL) FROM n WHERE n < 150",
    "CREATE TABLE h (id INT PRIMARY KEY, v INT, KEY (v)) PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO h SELECT n, n % 10 FROM n",
];

const CHANGES: &[&str] = &[
    "ALTER TABLE r ADD PARTITION (PARTITION e VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE r DROP PARTITION b",
    "ALTER TABLE r TRUNCATE PARTITION a, c",
    "ALTER TABLE r REORGANIZE PARTITION a, b INTO (PARTITION m VALUES LESS THAN (50), PARTITION o VALUES LESS THAN (400))",
    "ALTER TABLE r REBUILD PARTITION b",
    "ALTER TABLE r OPTIMIZE PARTITION ALL",
    "ALTER TABLE r EXCHANGE PARTITION b WITH TABLE x",
    "ALTER TABLE r REMOVE PARTITIONING",
    "ALTER TABLE h ADD PARTITION PARTITIONS 2",
    "ALTER TABLE h COALESCE PARTITION 1",
    "ALTER TABLE h PARTITION BY KEY (id) PARTITIONS 2",
    "ALTER TABLE h ADD INDEX of_both (v, id)",
];

fn open(env: &SimulatedEnv) -> Result<(Arc<Instance>, Session), leafline_types::MysqlError> {
    let mut options = InstanceOptions::default();
    options.engine.store.background = false;
    options.engine.store.page_size = 4096;
    let instance = Instance::open(Arc::new(env.clone()), options)?;
    let mut session = instance.connect()?;
    // The database does not exist before the first statements.
    let _ = session.execute("USE d").map(drop);
    Ok((instance, session))
}

/// Returns the rows as text, one a line.
fn query(session: &mut Session, sql: &str) -> String {
    let Outcome::Rows(mut rows) = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    else {
        panic!("{sql}: no rows")
    };
    let types = rows.types();
    let mut text = String::new();
    while let Some(batch) = rows.next_batch(session).unwrap() {
        for row in 0..batch.rows {
            let values = batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, row, ty));
            text.extend(values.map(|value| format!("{value:?} ")));
            text.push('\n');
        }
    }
    text
}

/// Returns all that statements can see of the tables, and the number of trees. Checks that all tables are sound.
fn state(instance: &Arc<Instance>, session: &mut Session, what: &str) -> String {
    let mut seen = String::new();
    for table in ["r", "x", "h"] {
        seen += &query(session, &format!("SHOW CREATE TABLE {table}"));
        let index = query(
            session,
            &format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {table} FORCE INDEX (v) WHERE v > '' OR v = 0"),
        );
        seen += &index;
        let partitioned = instance.engine().table("d", table).unwrap();
        let names = partitioned.partitioning.iter();
        let names =
            names.flat_map(|all| all.scheme.partitions.iter().map(|partition| partition.name.clone()));
        for name in names.map(Some).chain([None]) {
            let of = name.map_or(String::new(), |name| format!("PARTITION ({name})"));
            let sum = "COUNT(*), SUM(id), SUM(CRC32(v))";
            seen += &query(session, &format!("SELECT {sum} FROM {table} {of}"));
        }
        assert!(query(session, &format!("CHECK TABLE {table} EXTENDED")).contains("OK"), "{what}: {table}");
    }
    let long = "SELECT SUM(LENGTH(w)) FROM r UNION ALL SELECT SUM(LENGTH(w)) FROM x";
    seen += &query(session, long);
    let engine = instance.engine();
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.store().verify_space().unwrap(), Vec::<String>::new(), "{what}");
    // The trees of the change buffer and of the engine itself are counted too; their number does not change.
    seen + &format!("{} trees", engine.store().segments().len())
}

#[test]
fn a_power_cut_at_any_write_leaves_the_partitions_before_or_after() {
    let scale = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let begun = SimulatedEnv::new();
    let (instance, mut session) = open(&begun).unwrap();
    for sql in BEGIN {
        session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let before = state(&instance, &mut session, "before");
    drop(session);
    instance.close().unwrap();
    for (number, sql) in (0u64..).zip(CHANGES) {
        let env = begun.snapshot();
        let (instance, mut session) = open(&env).unwrap();
        let from = env.counts().changes();
        session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let changes = env.counts().changes() - from;
        let after = state(&instance, &mut session, sql);
        assert!(after != before || sql.contains("REBUILD") || sql.contains("OPTIMIZE"), "{sql}");
        drop((session, instance));
        let mut found = [0, 0];
        let stride = (changes / (12 * scale)).max(1);
        for cut in (0..changes).step_by(stride as usize) {
            let what = format!("{sql}, cut {cut} of {changes}");
            let env = begun.snapshot();
            let (instance, mut session) = open(&env).unwrap();
            env.power_cut_after(cut);
            let ended = session.execute(sql).map(drop);
            drop((session, instance));
            env.reboot(number ^ cut);
            let (instance, mut session) = open(&env).unwrap();
            let now = state(&instance, &mut session, &what);
            assert!(
                now == after || (now == before && (ended.is_err() || sql.contains("OPTIMIZE"))),
                "{what}: {ended:?}\n{now}"
            );
            found[usize::from(now == after)] += 1;
        }
        assert!(found[0] > 0 || before == after, "{sql}: {found:?}");
    }
}
