//! Tests files that were cut off, changed, or killed in the middle: no table is half full, and nothing panics.

use super::{Place, command, rows, run, succeed, text};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use std::io::Write as _;
use std::process::Stdio;

/// Returns a generator and prints its seed.
fn random() -> SmallRng {
    let seed = std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| SmallRng::from_os_rng().random());
    eprintln!("LEAFLINE_SEED={seed}");
    SmallRng::seed_from_u64(seed)
}

/// The number of rows of each of the two dumped tables.
const ROWS: usize = 6000;

fn two_tables(place: &Place) -> std::path::PathBuf {
    let script = format!(
        "SET cte_max_recursion_depth = 1000000;
         CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(100), KEY (v));
         INSERT INTO a WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {ROWS}) SELECT n, CONCAT('value ', n, '''') FROM c;
         CREATE TABLE b AS SELECT id, v FROM a;"
    );
    place.database("db", &script)
}

/// Returns how many rows a table has; `None` if it does not exist.
fn count(dir: &std::path::Path, table: &str) -> Option<usize> {
    let (code, out, _) =
        run(&["shell", text(dir), "-N", "--format", "tab", "-e", &format!("SELECT COUNT(*) FROM d.{table}")]);
    (code == 0).then(|| out.trim().parse().expect("a number"))
}

#[test]
fn a_dump_that_was_cut_off_fills_no_table_in_part() {
    let place = Place::new();
    let dump = succeed(&["dump", text(&two_tables(&place))]);
    let mut random = random();
    for round in 0..12 {
        let end = random.random_range(0..dump.len() - 1);
        let end = (0..=end).rev().find(|end| dump.is_char_boundary(*end)).unwrap();
        let file = place.file("cut.sql", &dump[..end]);
        let dir = place.path(&format!("cut{round}"));
        let (code, _, err) = run(&["import", text(&dir), text(&file)]);
        assert!(code <= 1, "{end}: {code} {err}");
        for table in ["a", "b"] {
            let rows = count(&dir, table);
            assert!(matches!(rows, None | Some(0 | ROWS)), "{end}: {table}: {rows:?}");
        }
        if code == 0 {
            let last = dump[..end].trim_end();
            assert!(
                last.is_empty()
                    || last.ends_with(';')
                    || last.lines().last().unwrap().starts_with("--")
                    || !last.contains("CREATE")
                    || !last.ends_with(')'),
                "{end}: {last}"
            );
        }
    }
}

#[test]
fn an_import_that_is_killed_fills_no_table_in_part() {
    let place = Place::new();
    let dump = succeed(&["dump", text(&two_tables(&place))]);
    let mut random = random();
    for round in 0..4 {
        let dir = place.path(&format!("killed{round}"));
        let mut child = command()
            .args(["import", text(&dir), "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = random.random_range(dump.len() / 4..dump.len());
        let mut input = child.stdin.take().unwrap();
        // The process waits for more input when it is killed.
        input.write_all(&dump.as_bytes()[..end]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        for table in ["a", "b"] {
            let rows = count(&dir, table);
            assert!(matches!(rows, None | Some(0 | ROWS)), "{end}: {table}: {rows:?}");
        }
        succeed(&["check", text(&dir)]);
    }
}

#[test]
fn damaged_parquet_is_an_error_or_other_rows_and_never_a_panic() {
    let place = Place::new();
    let dir = place.full();
    let folder = place.path("out");
    succeed(&["dump", text(&dir), "d", "--output", text(&folder), "--format", "parquet"]);
    let whole = std::fs::read(folder.join("d.every%20type.parquet")).unwrap();
    let mut random = random();
    let into = place.path("into");
    for round in 0..40 {
        let mut bytes = whole.clone();
        if round % 4 == 0 {
            bytes.truncate(random.random_range(0..whole.len()));
        } else {
            for _ in 0..random.random_range(1..8) {
                let at = random.random_range(0..bytes.len());
                bytes[at] ^= 1 << random.random_range(0..8);
            }
        }
        let file = place.file("damaged.parquet", &bytes);
        let table = format!("t{round}");
        let (code, _, err) =
            run(&["import", text(&into), text(&file), "-D", "d", "--table", &table, "--skip-unsupported"]);
        assert!(code == 0 || code == 1, "{round}: {code} {err}");
        if code == 1 {
            assert_eq!(count(&into, &table).unwrap_or(0), 0, "{round}");
        }
    }
    succeed(&["check", text(&into)]);
    let nested = rows(&into, "SELECT 1");
    assert_eq!(nested, "1\n");
}
