//! Tests EXPORT TABLE and IMPORT TABLE from one database to another: with whole, damaged and malformed files, and power cuts.

use crate::table_file::{Definition, RowCodec, TableReader, TableWriter};
use crate::{Instance, InstanceOptions, Outcome, Session};
use leafline_storage::device::SimulatedEnv;
use leafline_types::{MysqlError, value_at};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fs;
use std::sync::Arc;

const TABLES: &[&str] = &[
    "CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(20,6), b BIT(11), y YEAR, e ENUM('a','b'), s SET('x','y'), \
     t TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6), dt DATETIME(3), tm TIME(2), da DATE, j JSON, c CHAR(10) CHARACTER SET latin1, v VARBINARY(40), \
     h VARCHAR(30) INVISIBLE DEFAULT 'it''s', l LONGTEXT, g INT AS (q * 2) STORED, w VARCHAR(40) AS (UPPER(h)) VIRTUAL, u BIGINT UNSIGNED, q INT, \
     KEY (e, s), UNIQUE (u), KEY ((q + 1)), KEY (l(20)), CONSTRAINT positive CHECK (q > 0)) COMMENT 'with ''quotes' AUTO_INCREMENT = 700",
    "INSERT INTO wide (id, f, d, n, b, y, e, s, t, dt, tm, da, j, c, v, h, l, u, q) SELECT n, n / 7, -1e-300 * n, n / 3, n, 1990 + n % 50, 1 + n % 2, n % 4, \
     FROM_UNIXTIME(1.25 + n * 999983), NULL, SEC_TO_TIME(n), NULL, JSON_OBJECT('k', n / 7), 'h\u{e4}', UNHEX('00FF27'), IF(n % 3, NULL, 'secret'), \
     IF(n % 100, 'short', REPEAT('long', 20000)), IF(n % 5, n, NULL), n FROM n",
    "CREATE TABLE heap (a VARCHAR(20) NOT NULL, k INT, PRIMARY KEY (a), KEY (k)) ENGINE=MyISAM",
    "INSERT INTO heap SELECT CONCAT('key ', n), n % 9 FROM n",
    "CREATE TABLE keyless (a INT, `odd ``name` TEXT)",
    "INSERT INTO keyless SELECT n % 3, NULL FROM n",
    "CREATE TABLE parts (id INT PRIMARY KEY, v INT, KEY (v) PACKED) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN MAXVALUE)",
    "INSERT INTO parts SELECT n, n % 7 FROM n",
    "CREATE TABLE child (id INT PRIMARY KEY, n INT, FOREIGN KEY (n) REFERENCES n (n))",
    "INSERT INTO child SELECT n, n FROM n",
    "CREATE TABLE nothing (id INT PRIMARY KEY)",
];

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn open(&self, env: &SimulatedEnv) -> Result<(Arc<Instance>, Session), MysqlError> {
        let mut options = InstanceOptions::default();
        options.engine.store.background = false;
        options.engine.store.page_size = 4096;
        options.variables.push(("secure_file_priv".into(), self.directory.path().display().to_string()));
        let instance = Instance::open(Arc::new(env.clone()), options)?;
        let session = instance.connect()?;
        Ok((instance, session))
    }
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn code(session: &mut Session, sql: &str) -> Option<u16> {
    session.execute(sql).map(drop).err().map(|error| error.code)
}

fn query(session: &mut Session, sql: &str) -> Vec<String> {
    let Outcome::Rows(mut rows) = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    else {
        panic!("{sql}: no rows")
    };
    let types = rows.types();
    let mut found = Vec::new();
    while let Some(batch) = rows.next_batch(session).unwrap() {
        for row in 0..batch.rows {
            let values = batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, row, ty));
            found.push(values.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" "));
        }
    }
    found
}

fn filled(place: &Place) -> (SimulatedEnv, Arc<Instance>, Session) {
    let env = SimulatedEnv::new();
    let (instance, mut session) = place.open(&env).unwrap();
    for sql in [
        "CREATE DATABASE one",
        "USE one",
        "CREATE TABLE n (n INT PRIMARY KEY)",
        "INSERT INTO n WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 600) SELECT n FROM c",
    ] {
        run(&mut session, sql);
    }
    TABLES.iter().for_each(|sql| run(&mut session, sql));
    (env, instance, session)
}

fn place() -> Place {
    Place { directory: tempfile::tempdir().unwrap() }
}

/// Returns the definition and the rows of a table. Checks that the table is sound.
fn seen(session: &mut Session, table: &str) -> Vec<String> {
    let mut all = query(session, &format!("SHOW CREATE TABLE {table}"));
    let columns = if table == "wide" { "*, h" } else { "*" };
    let mut rows = query(session, &format!("SELECT {columns} FROM {table}"));
    rows.sort();
    all.extend(rows);
    let checked = query(session, &format!("CHECK TABLE {table} EXTENDED"));
    assert!(checked.iter().any(|row| row.contains("OK")), "{table}: {checked:?}");
    all
}

#[test]
fn tables_go_from_one_database_to_another_as_they_are() {
    let place = place();
    let (_env, _instance, mut session) = filled(&place);
    let (_other, _second, mut second) = {
        let env = SimulatedEnv::new();
        let (instance, session) = place.open(&env).unwrap();
        (env, instance, session)
    };
    run(&mut second, "CREATE DATABASE two");
    run(&mut second, "USE two");
    // Neither setting may change the result.
    run(&mut session, "SET time_zone = '+05:30', sql_mode = 'ANSI_QUOTES'");
    run(&mut second, "SET time_zone = '-02:00', sql_mode = 'NO_BACKSLASH_ESCAPES'");
    for table in ["wide", "heap", "keyless", "parts", "nothing"] {
        run(&mut session, &format!("EXPORT TABLE one.{table} INTO '{table}.table'"));
        run(&mut second, &format!("IMPORT TABLE FROM '{table}.table'"));
        for session in [&mut session, &mut second] {
            run(session, "SET @zone = @@time_zone, @mode = @@sql_mode, time_zone = '+00:00', sql_mode = ''");
        }
        assert_eq!(seen(&mut second, table), seen(&mut session, table), "{table}");
        for session in [&mut session, &mut second] {
            run(session, "SET time_zone = @zone, sql_mode = @mode");
        }
    }
    // The import has no foreign keys.
    run(&mut session, "EXPORT TABLE child INTO 'child.table'");
    run(&mut second, "IMPORT TABLE FROM 'child.table'");
    assert_eq!(query(&mut second, "SELECT COUNT(*) FROM child"), ["Int(600)"]);
    assert!(!query(&mut second, "SHOW CREATE TABLE child")[0].contains("FOREIGN"));
    // Imports under another name, beside the exported table.
    run(&mut session, "IMPORT TABLE one.copy FROM 'wide.table'");
    assert_eq!(query(&mut session, "SELECT COUNT(*), MAX(g) FROM copy"), ["Int(600) Int(1200)"]);
    assert_eq!(code(&mut session, "INSERT INTO copy (q) VALUES (-1)"), Some(3819));
    // Names that exist, and files and databases that do not.
    assert_eq!(code(&mut session, "IMPORT TABLE FROM 'wide.table'"), Some(1050));
    assert_eq!(code(&mut session, "EXPORT TABLE wide INTO 'wide.table'"), Some(1086));
    assert_eq!(code(&mut session, "IMPORT TABLE x FROM 'missing.table'"), Some(29));
    assert_eq!(code(&mut session, "EXPORT TABLE missing INTO 'y.table'"), Some(1146));
    assert_eq!(code(&mut session, "IMPORT TABLE nowhere.x FROM 'wide.table'"), Some(1049));
}

#[test]
fn damaged_and_malformed_files_give_errors_and_leave_nothing() {
    let place = place();
    let (_env, instance, mut session) = filled(&place);
    run(&mut session, "CREATE TABLE few SELECT * FROM wide WHERE id < 12 OR id = 100");
    run(&mut session, "EXPORT TABLE few INTO 'few.table'");
    let path = place.directory.path().join("few.table");
    let whole = fs::read(&path).unwrap();
    let engine = instance.engine().clone();
    engine.maintenance().purge().unwrap();
    let trees = engine.store().segments().len();
    let seed = std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("seed {seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let import = "IMPORT TABLE again FROM 'few.table'";
    for _ in 0..60 {
        let mut bytes = whole.clone();
        match random.random_range(0..3) {
            0 => bytes.truncate(random.random_range(0..whole.len())),
            1 => bytes[random.random_range(0..whole.len())] ^= 1 << random.random_range(0..8),
            _ => bytes.push(0),
        }
        fs::write(&path, bytes).unwrap();
        assert_eq!(code(&mut session, import), Some(1033));
    }
    // Files with right checksums, whose definition is no table or whose rows are another table's.
    let table = engine.table("one", "few").unwrap();
    let codec = RowCodec::new(table.named_columns().map(|(_, column)| column));
    let mut reader = TableReader::new(&whole[..], "few").unwrap();
    let definition = reader.definition().clone();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        assert!(codec.decode(row).is_some());
        rows.push(row.to_vec());
    }
    let write = |definition: &Definition, rows: &[Vec<u8>]| {
        let mut writer = TableWriter::new(Vec::new(), "few", definition).unwrap();
        rows.iter().for_each(|row| writer.row(row).unwrap());
        fs::write(&path, writer.finish().unwrap()).unwrap();
    };
    for create in [
        "DROP TABLE n",
        "",
        "CREATE TABLE a SELECT 1",
        "CREATE TEMPORARY TABLE a (b INT)",
        "CREATE TABLE few (a",
    ] {
        write(&Definition { create: create.into(), ..definition.clone() }, &rows);
        assert_eq!(code(&mut session, import), Some(1033), "{create}");
    }
    write(&Definition { create: "CREATE TABLE few (id INT)".into(), ..definition.clone() }, &rows);
    assert_eq!(code(&mut session, import), Some(1808));
    let mut taken = 0;
    for _ in 0..150 {
        let mut rows = rows.clone();
        for _ in 0..random.random_range(1..4) {
            let row = random.random_range(0..rows.len());
            let at = random.random_range(0..rows[row].len());
            rows[row][at] = random.random();
        }
        write(&definition, &rows);
        match code(&mut session, import) {
            None => {
                taken += 1;
                let checked = query(&mut session, "CHECK TABLE again EXTENDED");
                assert!(checked.iter().any(|row| row.contains("OK")), "{checked:?}");
                run(&mut session, "DROP TABLE again");
            }
            Some(_) => assert_eq!(code(&mut session, "SELECT 1 FROM again"), Some(1146)),
        }
    }
    assert!(taken > 0, "values that are others");
    engine.maintenance().purge().unwrap();
    assert_eq!(engine.store().segments().len(), trees, "nothing is left behind");
    assert_eq!(engine.store().verify_space().unwrap(), Vec::<String>::new());
}

#[test]
fn a_power_cut_while_a_table_is_imported_leaves_all_of_it_or_nothing() {
    let place = place();
    let (env, instance, mut session) = filled(&place);
    run(&mut session, "EXPORT TABLE wide INTO 'wide.table'");
    let expected = query(&mut session, "SELECT * FROM wide ORDER BY id");
    drop(session);
    instance.close().unwrap();
    drop(instance);
    let import = "IMPORT TABLE one.copy FROM 'wide.table'";
    let trial = |cut: Option<u64>| {
        let env = env.snapshot();
        let (instance, mut session) = place.open(&env).unwrap();
        run(&mut session, "SET leafline_bulk_load_rows = 100");
        let before = env.counts().changes();
        if let Some(cut) = cut {
            env.power_cut_after(cut);
        }
        let done = session.execute(import).map(drop);
        let changes = env.counts().changes() - before;
        drop((session, instance));
        env.reboot(cut.unwrap_or(0));
        let (instance, mut session) = place.open(&env).unwrap();
        let is_there = code(&mut session, "SELECT 1 FROM one.copy") != Some(1146);
        assert!(is_there || done.is_err());
        if is_there {
            assert_eq!(query(&mut session, "SELECT * FROM one.copy ORDER BY id"), expected);
        }
        instance.engine().maintenance().purge().unwrap();
        let checked = query(&mut session, "CHECK TABLE one.wide, one.n");
        assert!(checked.iter().all(|row| row.contains("OK")), "{checked:?}");
        assert_eq!(instance.engine().store().verify_space().unwrap(), Vec::<String>::new());
        let trees = instance.engine().store().segments().len();
        (is_there, trees, changes)
    };
    let (is_there, with, changes) = trial(None);
    assert!(is_there);
    let mut without = None;
    for cut in (0..changes).step_by((changes / 25).max(1) as usize) {
        let (is_there, trees, _) = trial(Some(cut));
        if is_there {
            assert_eq!(trees, with, "cut {cut}");
        } else {
            assert_eq!(*without.get_or_insert(trees), trees, "cut {cut} of {changes}");
        }
    }
    assert!(without.is_some_and(|trees| trees < with), "{without:?} {with}");
}
