//! Alters a table again and again while eight clients write to it; alterations are killed, and the power fails. No
//! row may be lost or duplicated.
//!
//! Each client has its own rows, which it inserts, changes, moves and deletes, in transactions of one or several
//! statements, and remembers what was acknowledged. The other columns of a row follow from its number and value. Half
//! of the tables are partitioned; some rows have values that are stored outside them. Clients also insert and delete
//! their rows in a table that foreign keys refer to. A constraint holds for all rows whenever it exists.

#[path = "support/rows.rs"]
mod rows;

use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use leafline_types::MysqlError;
use leafline_types::statement::CancelReason;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rows::rows_of;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: u64 = 8;
/// The most rows of a writer.
const ROWS: u64 = 60;
/// Errors after which a transaction is tried again: deadlock, lock wait timeout, another definition, or a violated
/// constraint.
const AGAIN: [u16; 7] = [1205, 1213, 1412, 1020, 1451, 1452, 3819];
/// Errors of an alteration that was killed, is already done, conflicts with other sessions, is not allowed by rows,
/// or is prevented by a foreign key or by partitions.
const NOT_DONE: [u16; 18] = [
    1317, 1054, 1060, 1061, 1068, 1091, 1205, 1213, 1412, 1452, 1505, 1506, 1553, 1826, 3776, 3819, 3821,
    3822,
];

const ALTERATIONS: [&str; 45] = [
    "ALTER TABLE d.t ADD KEY v (v)",
    "ALTER TABLE d.t DROP KEY v",
    "ALTER TABLE d.t ADD UNIQUE nw (n, w), ADD KEY b (big(20), v)",
    "ALTER TABLE d.t DROP KEY nw, DROP KEY b",
    "ALTER TABLE d.t MODIFY v BIGINT NOT NULL",
    "ALTER TABLE d.t MODIFY v INT NOT NULL",
    "ALTER TABLE d.t MODIFY s VARCHAR(300) CHARACTER SET latin1",
    "ALTER TABLE d.t MODIFY s CHAR(40) CHARACTER SET utf8mb4",
    "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (n, w)",
    "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (w, n DESC)",
    "ALTER TABLE d.t ADD g INT AS (v + 1) STORED, ADD KEY g (g)",
    "ALTER TABLE d.t DROP g",
    "ALTER TABLE d.t ADD x INT NOT NULL DEFAULT 7",
    "ALTER TABLE d.t DROP x",
    "ALTER TABLE d.t CHANGE x y BIGINT NOT NULL DEFAULT 8, LOCK=NONE",
    "ALTER TABLE d.t CHANGE y x INT NOT NULL DEFAULT 7, LOCK=NONE",
    "ALTER TABLE d.t ADD e BIGINT DEFAULT (v * 3), LOCK=NONE",
    "ALTER TABLE d.t DROP e",
    "ALTER TABLE d.t PARTITION BY HASH (n) PARTITIONS 4, LOCK=NONE",
    "ALTER TABLE d.t PARTITION BY KEY (n) PARTITIONS 2, LOCK=NONE",
    "ALTER TABLE d.t LOCK=NONE REMOVE PARTITIONING",
    "ALTER TABLE d.t FORCE",
    "ALTER TABLE d.t FORCE, ALGORITHM=INPLACE, LOCK=NONE",
    "ALTER TABLE d.t FORCE, ALGORITHM=COPY",
    "OPTIMIZE TABLE d.t",
    "ALTER TABLE d.t ENGINE = MyISAM",
    "ALTER TABLE d.t ENGINE = InnoDB",
    "ALTER TABLE d.t ENGINE = InnoDB, LOCK=NONE",
    "ALTER TABLE d.t ENGINE = MyISAM, ADD KEY v (v), PACK_KEYS = 1",
    "ALTER TABLE d.t ENGINE = MyISAM, LOCK=NONE",
    "ALTER TABLE d.t ENGINE = MyISAM, LOCK=SHARED",
    "ALTER TABLE d.t DROP PRIMARY KEY",
    "ALTER TABLE d.t DROP PRIMARY KEY, LOCK=NONE",
    "ALTER TABLE d.t ADD PRIMARY KEY (w, n)",
    "ALTER TABLE d.t ADD PRIMARY KEY (n, w), LOCK=NONE",
    "ALTER TABLE d.t LOCK=NONE, ORDER BY v DESC",
    "ALTER TABLE d.t ADD number BIGINT AUTO_INCREMENT, ADD KEY number (number), LOCK=NONE",
    "ALTER TABLE d.t DROP number",
    "ALTER TABLE d.t ADD CONSTRAINT low CHECK (v < 99990), LOCK=NONE",
    "ALTER TABLE d.t ADD CONSTRAINT fits CHECK (LENGTH(s) < 30 AND LENGTH(big) <= 5000), LOCK=NONE",
    "ALTER TABLE d.t DROP CHECK low",
    "ALTER TABLE d.t DROP CHECK fits, ADD KEY v (v)",
    "ALTER TABLE d.t ADD CONSTRAINT known FOREIGN KEY (w) REFERENCES d.p (w), LOCK=NONE",
    "ALTER TABLE d.t ADD KEY w (w, v), ADD CONSTRAINT known FOREIGN KEY (w) REFERENCES d.p (w)",
    "ALTER TABLE d.t DROP FOREIGN KEY known",
];

/// Parts of definitions, and queries that count the rows that violate their constraint.
const VIOLATIONS: [(&str, &str); 3] = [
    ("CONSTRAINT `low`", "SELECT COUNT(*) FROM d.t WHERE v >= 99990"),
    ("CONSTRAINT `fits`", "SELECT COUNT(*) FROM d.t WHERE LENGTH(s) >= 30 OR LENGTH(big) > 5000"),
    ("CONSTRAINT `known`", "SELECT COUNT(*) FROM d.t WHERE w NOT IN (SELECT w FROM d.p)"),
];

/// The values of a writer's rows, by number.
type Rows = BTreeMap<u64, u64>;

struct Writer {
    number: u64,
    random: SmallRng,
    acknowledged: Rows,
    /// The rows after a transaction whose outcome is unknown.
    pending: Option<Rows>,
}

fn seed() -> u64 {
    let seed = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => SmallRng::from_os_rng().random(),
    };
    println!("LEAFLINE_SEED={seed}");
    seed
}

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    let mut options = InstanceOptions::default();
    options.engine.store.page_size = 4096;
    options.engine.store.buffer_pool_bytes = 4 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    options.engine.build_memory_bytes = 64 << 10;
    Instance::open(Arc::new(env.clone()), options).expect("the database opens")
}

/// Returns the values of the other columns of a row with that number and value.
fn others(writer: u64, value: u64) -> (String, String) {
    let letter = char::from(b'a' + writer as u8);
    let long = if value.is_multiple_of(10) { 5000 } else { value % 50 };
    (letter.to_string().repeat((value % 30) as usize), letter.to_string().repeat(long as usize))
}

impl Writer {
    /// Makes a transaction: the rows after it, and its statements.
    fn transaction(&mut self) -> (Rows, Vec<String>) {
        let (mut rows, writer) = (self.acknowledged.clone(), self.number);
        let mut statements = Vec::new();
        for _ in 0..self.random.random_range(1..4) {
            let (n, value) = (self.random.random_range(0..ROWS), self.random.random_range(0..100_000));
            let (s, big) = others(writer, value);
            statements.push(match (rows.contains_key(&n), self.random.random_range(0..4)) {
                (false, _) => {
                    rows.insert(n, value);
                    format!("INSERT INTO d.t (w, n, v, s, big) VALUES ({writer}, {n}, {value}, '{s}', '{big}')")
                }
                (true, 0) => {
                    rows.remove(&n);
                    format!("DELETE FROM d.t WHERE w = {writer} AND n = {n}")
                }
                (true, 1) if !rows.contains_key(&(n + ROWS)) => {
                    rows.remove(&n);
                    rows.insert(n + ROWS, value);
                    format!("UPDATE d.t SET n = {}, v = {value}, s = '{s}', big = '{big}' WHERE w = {writer} AND n = {n}", n + ROWS)
                }
                (true, _) => {
                    rows.insert(n, value);
                    format!("UPDATE d.t SET v = {value}, s = '{s}', big = '{big}' WHERE w = {writer} AND n = {n}")
                }
            });
        }
        if statements.len() > 1 {
            statements.insert(0, "BEGIN".into());
            statements.push("COMMIT".into());
        }
        (rows, statements)
    }

    /// Deletes the writer's row from the table that foreign keys refer to, or, more often, inserts it.
    fn come_or_go(&mut self, session: &mut Session, env: &SimulatedEnv, what: &str) {
        let sql = match self.random.random_range(0..4) {
            0 => format!("DELETE FROM d.p WHERE w = {}", self.number),
            _ => format!("INSERT IGNORE INTO d.p VALUES ({})", self.number),
        };
        match run(session, &sql) {
            Err(error) if !AGAIN.contains(&error.code) && !env.is_off() => panic!("{what}: {sql}: {error}"),
            _ => {}
        }
    }

    /// Writes until `over` is set or the power is off.
    fn write(&mut self, instance: &Arc<Instance>, env: &SimulatedEnv, over: &AtomicBool, what: &str) {
        let Ok(mut session) = instance.connect() else { return assert!(env.is_off(), "{what}") };
        while !over.load(Ordering::Relaxed) {
            if self.random.random_range(0..4) == 0 {
                self.come_or_go(&mut session, env, what);
            }
            let (rows, statements) = self.transaction();
            self.pending = Some(rows);
            let done = statements.iter().try_for_each(|sql| run(&mut session, sql).map(drop));
            match done {
                Ok(()) => self.acknowledged = self.pending.take().unwrap_or_default(),
                Err(error) if AGAIN.contains(&error.code) => {
                    self.pending = None;
                    let _ = run(&mut session, "ROLLBACK");
                }
                Err(_) if env.is_off() => return,
                Err(error) => panic!("{what}: {statements:?}: {error}"),
            }
        }
    }
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, MysqlError> {
    rows_of(session, sql)
}

/// Alters the table several times; some alterations are killed. Returns how many were done.
fn alter(instance: &Arc<Instance>, env: &SimulatedEnv, random: &mut SmallRng, what: &str) -> u64 {
    let Ok(mut session) = instance.connect() else { return 0 };
    let mut altered = 0;
    for _ in 0..random.random_range(3..9) {
        if random.random_range(0..3) == 0 {
            let (cancel, left) = (session.cancel_token(), AtomicU64::new(random.random_range(1..150)));
            env.set_fault(Some(Arc::new(move |_, _, _| {
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    cancel.cancel(CancelReason::QueryKilled);
                }
                false
            })));
        }
        let sql = ALTERATIONS[random.random_range(0..ALTERATIONS.len())];
        let done = run(&mut session, sql);
        env.set_fault(None);
        match done {
            Ok(_) => altered += 1,
            Err(error) if NOT_DONE.contains(&error.code) => {}
            Err(_) if env.is_off() => break,
            Err(error) => panic!("{what}: {sql}: {error}"),
        }
    }
    altered
}

/// Tells the writers to end, even if the alterations fail.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Checks that every acknowledged row exists, and no other.
fn check(instance: &Arc<Instance>, writers: &mut [Writer], what: &str) {
    let mut session = instance.connect().expect("a session");
    let mut must =
        |sql: &str| run(&mut session, sql).unwrap_or_else(|error| panic!("{what}: {sql}: {error}"));
    assert_eq!(must("CHECK TABLE d.t EXTENDED"), ["d.t check status OK"], "{what}");
    let definition = must("SHOW CREATE TABLE d.t").concat();
    for (_, violations) in VIOLATIONS.iter().filter(|(name, _)| definition.contains(name)) {
        assert_eq!(must(violations), ["0"], "{what}: {violations}");
    }
    let mut found: BTreeMap<u64, Rows> = BTreeMap::new();
    for row in must("SELECT w, n, v, s, big FROM d.t") {
        let fields: Vec<&str> = row.split(' ').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap_or_else(|_| panic!("{what}: {row}"));
        let (writer, n, value) = (number(0), number(1), number(2));
        let (s, big) = others(writer, value);
        assert_eq!((fields[3], fields[4]), (s.as_str(), big.as_str()), "{what}: {writer}/{n}");
        let twice = found.entry(writer).or_default().insert(n, value);
        assert!(twice.is_none(), "{what}: {writer}/{n} is there twice");
    }
    for writer in writers {
        let found = found.remove(&writer.number).unwrap_or_default();
        let is_known = found == writer.acknowledged || Some(&found) == writer.pending.as_ref();
        assert!(is_known, "{what}: writer {}: {found:?}, {:?}", writer.number, writer.acknowledged);
        (writer.acknowledged, writer.pending) = (found, None);
    }
    let engine = instance.engine();
    engine.maintenance().purge().expect("a purge");
    assert_eq!(engine.store().verify_space().expect("a look at the space"), Vec::<String>::new(), "{what}");
}

/// Runs some rounds on one disk. Returns how many alterations were done.
fn rounds(seed: u64, count: u64) -> u64 {
    let mut random = SmallRng::seed_from_u64(seed);
    let env = SimulatedEnv::new();
    let mut instance = open(&env);
    let mut session = instance.connect().expect("a session");
    let divided = if seed.is_multiple_of(2) { " PARTITION BY HASH (n) PARTITIONS 3" } else { "" };
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.p (w INT PRIMARY KEY)",
        "INSERT INTO d.p VALUES (0), (1), (2), (3), (4), (5), (6), (7)",
        &format!(
            "CREATE TABLE d.t (w INT, n INT, v INT NOT NULL, s CHAR(40), big LONGTEXT, PRIMARY KEY (w, n)){divided}"
        ),
    ] {
        run(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(session);
    let writer = |number| Writer {
        number,
        random: SmallRng::seed_from_u64(seed ^ (number << 32)),
        acknowledged: Rows::new(),
        pending: None,
    };
    let mut writers: Vec<Writer> = (0..WRITERS).map(writer).collect();
    let mut altered = 0;
    for round in 0..count {
        let what = format!("seed {seed}, round {round}");
        let is_cut = random.random_range(0..4) > 0;
        if is_cut {
            env.power_cut_after(random.random_range(20..3000));
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in &mut writers {
                let (instance, env, over, what) = (&instance, &env, &over, &what);
                scope.spawn(move || writer.write(instance, env, over, what));
            }
            let _over = Over(&over);
            altered += alter(&instance, &env, &mut random, &what);
        });
        // For the threads from before, the power stays off.
        drop(instance);
        env.reboot(random.random());
        instance = open(&env);
        check(&instance, &mut writers, &what);
    }
    altered
}

#[test]
fn a_table_that_is_altered_beside_writers_loses_no_row_and_doubles_none() {
    let seed = seed();
    let scale: u64 = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut altered = 0;
    for number in 0..4 * scale {
        altered += rounds(seed.wrapping_add(number), 5);
    }
    assert!(altered > 0, "seed {seed}: nothing was altered");
}
