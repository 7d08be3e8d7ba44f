//! Tests the `leafline` binary from outside: its output, its exit codes, and the files it leaves.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Exit code, standard output, standard error.
type Ran = (i32, String, String);

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leafline"));
    // History and other traces stay out of the home of the user who runs the tests.
    command.env("HOME", "/nonexistent").stdin(Stdio::null());
    command
}

fn outcome(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn run(words: &[&str]) -> Ran {
    outcome(command().args(words).output().expect("the binary runs"))
}

/// Runs the shell on `dir` with `script` as its standard input.
fn script(dir: &Path, words: &[&str], script: &str) -> Ran {
    let mut child = command()
        .arg("shell")
        .arg(dir)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("the shell reads");
    outcome(child.wait_with_output().expect("the shell ends"))
}

fn directory() -> (tempfile::TempDir, std::path::PathBuf) {
    let holder = tempfile::tempdir().expect("a directory");
    let dir = holder.path().join("db");
    (holder, dir)
}

const TABLE: &str = "CREATE DATABASE d; USE d;
    CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(6,2), raw VARBINARY(4), x DOUBLE, day DATE);
    INSERT INTO t VALUES (1, 'a\\tb', 1.5, 'AB', 0.5, '2024-02-29'), (2, NULL, NULL, NULL, NULL, NULL),
                         (3, 'say \"hi\", you', -3, '', 1e100, '1999-12-31');\n";

#[test]
fn a_script_is_written_as_tab_separated_lines() {
    let (_holder, dir) = directory();
    let (code, out, err) =
        script(&dir, &[], &format!("{TABLE}SELECT * FROM t ORDER BY id; SELECT id FROM t WHERE id = 9"));
    assert_eq!((code, err.as_str()), (0, ""));
    let expected = "id\tname\tprice\traw\tx\tday\n1\ta\\tb\t1.50\tAB\t0.5\t2024-02-29\n2\tNULL\tNULL\tNULL\tNULL\tNULL\n\
                    3\tsay \"hi\", you\t-3.00\t\t1e100\t1999-12-31\n";
    assert_eq!(out, expected);
    // The next process sees what was committed; -N omits the names.
    let (code, out, _) =
        run(&["shell", dir.to_str().unwrap(), "-D", "d", "-N", "-e", "SELECT COUNT(*) FROM t"]);
    assert_eq!((code, out.as_str()), (0, "3\n"));
}

#[test]
fn formats() {
    let (_holder, dir) = directory();
    let query = "SELECT id, name, price, raw, x FROM d.t ORDER BY id";
    assert_eq!(script(&dir, &[], TABLE).0, 0);
    let shown =
        |format: &str, sql: &str| run(&["shell", dir.to_str().unwrap(), "--format", format, "-e", sql]).1;
    assert_eq!(
        shown("csv", query),
        "id,name,price,raw,x\r\n1,a\tb,1.50,0x4142,0.5\r\n2,,,,\r\n3,\"say \"\"hi\"\", you\",-3.00,0x,1e100\r\n"
    );
    assert_eq!(
        shown("json", query),
        "[\n{\"id\": 1, \"name\": \"a\\tb\", \"price\": \"1.50\", \"raw\": \"0x4142\", \"x\": 0.5},\n\
         {\"id\": 2, \"name\": null, \"price\": null, \"raw\": null, \"x\": null},\n\
         {\"id\": 3, \"name\": \"say \\\"hi\\\", you\", \"price\": \"-3.00\", \"raw\": \"0x\", \"x\": 1e100}\n]\n"
    );
    assert_eq!(
        shown("table", "SELECT id, price FROM d.t ORDER BY id"),
        "+----+-------+\n| id | price |\n+----+-------+\n|  1 |  1.50 |\n|  2 |  NULL |\n|  3 | -3.00 |\n+----+-------+\n"
    );
    let rows = "*************************** 1. row ***************************\n   id: 1\nprice: 1.50\n";
    assert_eq!(shown("vertical", "SELECT id, price FROM d.t WHERE id = 1"), rows);
    assert_eq!(shown("table", "SELECT id, price FROM d.t WHERE id = 1\\G"), rows);
}

#[test]
fn stored_programs_are_created_and_all_results_of_calls_are_written() {
    let (_holder, dir) = directory();
    let created = "CREATE DATABASE d; USE d;
        CREATE PROCEDURE p() BEGIN SELECT 1 AS a; SELECT 2 AS b; SELECT 3 AS c WHERE FALSE; SET @x = 4; END;
        DELIMITER //\nCREATE PROCEDURE q(OUT x INT)\nBEGIN\n  CALL p();\n  SET x = 5;\nEND //\n
        CALL q(@y); SELECT @x, @y//";
    let (code, out, err) = script(&dir, &[], created);
    assert_eq!((code, err.as_str()), (0, ""));
    // A result without rows prints nothing, as with the mysql client.
    assert_eq!(out, "a\n1\nb\n2\n@x\t@y\n4\t5\n");
    let failing =
        "USE d; CREATE PROCEDURE r() BEGIN SELECT 1 AS a; SELECT no FROM nowhere; END; CALL r(); SELECT 6;";
    let (code, out, err) = script(&dir, &[], failing);
    assert_eq!((code, out.as_str()), (1, "a\n1\n"));
    assert!(err.contains("ERROR 1146"), "{err}");
}

#[test]
fn an_error_ends_a_script_unless_it_is_forced() {
    let (_holder, dir) = directory();
    let text = "CREATE DATABASE d;\nSELEC 1;\nCREATE TABLE d.t (a INT);\nSELECT * FROM d.u;\nSELECT 7;";
    let (code, out, err) = script(&dir, &[], text);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("ERROR 1064 (42000) at line 2: ") && err.contains("near 'SELEC 1'"), "{err}");
    let (code, out, err) = script(&dir, &["--force"], text);
    assert_eq!((code, out.as_str()), (0, "7\n7\n"));
    let numbers: Vec<&str> = err.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(numbers, ["1007", "1064", "1146"], "{err}");
}

#[test]
fn values_that_do_not_fit_are_errors_with_mysqls_numbers() {
    let (_holder, dir) = directory();
    assert_eq!(script(&dir, &[], TABLE).0, 0);
    for (sql, error) in [
        ("INSERT INTO d.t (id) VALUES (1)", "ERROR 1062 (23000)"),
        ("INSERT INTO d.t (id) VALUES (99999999999)", "ERROR 1264 (22003)"),
        ("INSERT INTO d.t (id) VALUES (NULL)", "ERROR 1048 (23000)"),
        ("INSERT INTO d.t (id, name) VALUES (5, 'a name that is far too long')", "ERROR 1406 (22001)"),
        ("SELECT nothing FROM d.t", "ERROR 1054 (42S22)"),
        ("SELECT 1 FROM nowhere.t", "ERROR 1049 (42000)"),
        ("SELECT 1 FROM t", "ERROR 3D000"),
    ] {
        let (code, _, err) = run(&["shell", dir.to_str().unwrap(), "-e", sql]);
        assert_eq!(code, 1, "{sql}");
        let expected = if error == "ERROR 3D000" { "ERROR 1046 (3D000)" } else { error };
        assert!(err.starts_with(expected), "{sql}: {err}");
    }
}

#[test]
fn a_file_is_run_by_source() {
    let (holder, dir) = directory();
    let inner = holder.path().join("inner.sql");
    std::fs::write(&inner, "SELECT 1 AS one;\n-- the last needs no semicolon\nSELECT 2 AS two").unwrap();
    let (code, out, err) = script(&dir, &[], &format!("source {}\nSELECT 3 AS three;", inner.display()));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "one\n1\ntwo\n2\nthree\n3\n", ""));
    let (code, _, err) = script(&dir, &[], "source /nowhere.sql\nSELECT 1;");
    assert_eq!(code, 1);
    assert!(err.contains("/nowhere.sql"), "{err}");
    std::fs::write(&inner, format!("source {}", inner.display())).unwrap();
    let (code, _, err) = script(&dir, &[], &format!("source {}", inner.display()));
    assert_eq!(code, 1);
    assert!(err.contains("16 deep"), "{err}");
}

#[test]
fn a_database_that_is_open_says_so() {
    let (_holder, dir) = directory();
    let held = leafline::Database::open(&dir).unwrap();
    let (code, _, err) = run(&["shell", dir.to_str().unwrap(), "-e", "SELECT 1"]);
    assert_eq!(code, 1);
    assert!(err.contains("is open in another process") && err.contains("mariadb"), "{err}");
    drop(held);
    assert_eq!(run(&["shell", dir.to_str().unwrap(), "-e", "SELECT 1"]).0, 0);
}

#[test]
fn other_peoples_files_are_left_alone() {
    let holder = tempfile::tempdir().unwrap();
    std::fs::write(holder.path().join("letter.txt"), "dear").unwrap();
    let (code, _, err) = run(&[holder.path().to_str().unwrap(), "-e", "SELECT 1"]);
    assert_eq!(code, 1);
    assert!(err.contains("is not empty and holds no Leafline database"), "{err}");
    assert_eq!(std::fs::read_dir(holder.path()).unwrap().count(), 1);
    // Even a file with a name that Leafline uses.
    let holder = tempfile::tempdir().unwrap();
    let theirs = vec![b'A'; 2_000_000];
    std::fs::write(holder.path().join("data"), &theirs).unwrap();
    let (code, _, err) = run(&[holder.path().to_str().unwrap(), "-e", "SELECT 1"]);
    assert_eq!(code, 1);
    assert!(err.contains("a database is not made over it"), "{err}");
    assert!(std::fs::read(holder.path().join("data")).unwrap() == theirs);
}

#[test]
fn variables_and_options_that_are_wrong_are_refused() {
    let (_holder, dir) = directory();
    let dir = dir.to_str().unwrap();
    let (code, _, err) = run(&["shell", dir, "--set", "no_such=1", "-e", "SELECT 1"]);
    assert_eq!(code, 1);
    assert!(err.contains("no_such"), "{err}");
    let (code, out, _) =
        run(&["shell", dir, "--set", "sql_mode=ANSI_QUOTES", "-N", "-e", "SELECT @@sql_mode"]);
    assert_eq!((code, out.as_str()), (0, "ANSI_QUOTES\n"));
    assert_eq!(run(&["shell", dir, "--buffer-pool-size", "lots"]).0, 2);
    assert_eq!(run(&["no-such-verb"]).0, 2);
}

#[test]
fn tpch_tables_are_loaded_and_answer_query_six() {
    let (_holder, dir) = directory();
    let dir = dir.to_str().unwrap();
    let (code, out, err) = run(&["tpch", dir, "--scale", "0.01"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("| lineitem | 60,175 |"), "{out}");
    let counts = "SELECT (SELECT COUNT(*) FROM region)";
    assert_eq!(counts.len(), 36);
    let six = "SELECT SUM(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND \
               l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24; \
               SELECT COUNT(*) FROM orders; CHECK TABLE lineitem";
    let (code, out, err) = run(&["shell", dir, "-D", "tpch", "-N", "-e", six]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "1193053.2253\n15000\ntpch.lineitem\tcheck\tstatus\tOK\n");
    let (code, _, err) = run(&["tpch", dir, "--scale", "0.01"]);
    assert_eq!(code, 1);
    assert!(err.contains("DROP DATABASE tpch"), "{err}");
}

#[test]
fn the_demo_runs_small_and_leaves_nothing_behind() {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("demo");
    let (code, out, err) = run(&["demo", "--scale", "0.01", "--dir", dir.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("All 8 runs gave the same answer"), "{out}");
    assert!(out.contains("Using index condition"), "{out}");
    assert!(out.contains("On an emulated disk: 5 ms seek, 100 MiB/s; reads only"), "{out}");
    assert!(!dir.exists());
}

/// Copies a database that is open, in the state that a crash would leave.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, target).expect("copied")),
        }
    }
}

/// Flips a bit in every leaf of a segment: the newest, or the one that is `older` segments older.
fn damage_leaves(dir: &Path, older: u64) {
    const PAGE: usize = 16384;
    let copies = std::fs::metadata(dir.join("doublewrite")).expect("a file").len();
    std::fs::write(dir.join("doublewrite"), vec![0; copies as usize]).expect("written");
    let mut data = std::fs::read(dir.join("data")).expect("read");
    let owner = |page: &[u8]| u64::from_le_bytes(page[24..32].try_into().expect("eight bytes"));
    let newest = data.chunks(PAGE).filter(|page| page[4] == 16).map(owner).max().expect("a leaf");
    let leaves = data.chunks_mut(PAGE).filter(|page| page[4] == 16 && owner(page) == newest - older);
    leaves.for_each(|page| page[PAGE - 10] ^= 4);
    std::fs::write(dir.join("data"), data).expect("written");
}

#[test]
fn pages_that_recovery_cannot_update_are_quarantined_and_repaired() {
    let (_holder, dir) = directory();
    let rows: Vec<String> = (0..3000).map(|n| format!("({n}, {})", n * 7 % 1000)).collect();
    let sql = format!(
        "SET GLOBAL change_buffering = 'none'; CREATE DATABASE d; USE d; CREATE TABLE other (id INT PRIMARY KEY); \
         CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k)); INSERT INTO t VALUES {}",
        rows.join(",")
    );
    assert_eq!(script(&dir, &[], &sql).0, 0);
    let (index, table) = (dir.with_extension("index"), dir.with_extension("table"));
    let database = leafline::Database::open(&dir).expect("a database");
    let mut connection = database.connect().expect("a connection");
    for sql in ["SET GLOBAL change_buffering = 'none'", "UPDATE d.t SET k = k + 1 WHERE id < 1000"] {
        connection.execute(sql, ()).expect("done");
    }
    drop(connection);
    copy(&dir, &index);
    copy(&dir, &table);
    drop(database);
    damage_leaves(&index, 0);
    damage_leaves(&table, 1);

    let (code, out, err) =
        script(&index, &["-N"], "SELECT COUNT(*), SUM(k) FROM d.t FORCE INDEX (k) WHERE k > -1");
    assert_eq!((code, out.as_str()), (0, "3000\t1499500\n"), "{err}");
    let (_, out, err) = script(
        &index,
        &["-N", "--force"],
        "INSERT INTO d.t VALUES (-1, 1); INSERT INTO d.other VALUES (1); SHOW INDEX FROM d.t; CHECK TABLE d.t",
    );
    assert!(err.contains("ERROR 1712 (HY000)") && err.contains("Index k is corrupted"), "{err}");
    assert!(out.contains("quarantined") && out.contains("d.t\tcheck\terror\tCorrupt"), "{out}");
    let at = index.to_str().expect("UTF-8");
    let (code, out, _) = run(&["check", at]);
    assert!(code == 1 && out.contains("index k") && out.contains("quarantined"), "{out}");
    let (code, out, err) = run(&["repair", at, "--yes"]);
    assert!(code == 0 && out.contains("index k built anew"), "{out}{err}");
    assert_eq!(run(&["check", at]).0, 0);
    let sql = "INSERT INTO d.t VALUES (-1, 1); SELECT COUNT(*), SUM(k) FROM d.t FORCE INDEX (k) WHERE k > -1; \
               SELECT * FROM d.other";
    assert_eq!(script(&index, &["-N"], sql), (0, "3001\t1499501\n1\n".into(), String::new()));

    let sql = "SELECT COUNT(*) FROM d.t; SELECT COUNT(*) FROM d.t WHERE k = 5; UPDATE d.t SET k = 1 WHERE id = 1; \
               INSERT INTO d.other VALUES (1); SELECT * FROM d.other";
    let (_, out, err) = script(&table, &["-N", "--force"], sql);
    assert_eq!((out.as_str(), err.matches("ERROR 1877 (HY000)").count()), ("1\n", 3), "{err}");
    let at = table.to_str().expect("UTF-8");
    let (code, out, err) = run(&["repair", at, "--yes"]);
    assert!(code == 0 && out.contains("d.t:") && out.contains("cannot be used"), "{out}{err}");
    assert_eq!(run(&["check", at]).0, 0);
    assert_eq!(script(&table, &[], "INSERT INTO d.t VALUES (-1, 1)"), (0, String::new(), String::new()));
}

#[test]
fn repair_writes_the_readable_rows_of_a_broken_database_to_a_new_one() {
    let (_holder, dir) = directory();
    let rows: Vec<String> = (0..3000).map(|n| format!("({n}, {})", n * 7 % 1000)).collect();
    let sql = format!(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, KEY (k)); \
         INSERT INTO t VALUES {}",
        rows[1..].join(",")
    );
    assert_eq!(script(&dir, &[], &sql).0, 0);
    let at = dir.to_str().expect("UTF-8");
    // The superblock, the space map, the first page of the segment directory.
    for page in [0, 1, 2] {
        let mut data = std::fs::read(dir.join("data")).expect("read");
        data[page * 16384 + 200] ^= 1;
        std::fs::write(dir.join("data"), &data).expect("written");
        let copies = std::fs::metadata(dir.join("doublewrite")).expect("a file").len();
        std::fs::write(dir.join("doublewrite"), vec![0; copies as usize]).expect("written");
        let (code, _, err) = script(&dir, &[], "SELECT 1");
        assert!(code != 0 && err.contains("leafline repair"), "{err}");
        for words in [["check", at], ["repair", at]] {
            let (code, _, err) = run(&words);
            assert!(code == 1 && err.contains("--into"), "{err}");
        }
    }
    let new = dir.with_extension("new");
    let into = new.to_str().expect("UTF-8");
    let (code, out, err) = run(&["repair", at, "--into", into]);
    assert!(code == 0 && out.contains("d.t:\n  rows kept: 2999, of 2999 that were counted"), "{out}{err}");
    assert!(out.contains("page 1 of the database itself cannot be used"), "{out}");
    assert!(run(&["repair", at, "--into", into]).2.contains("is there already"));
    assert_eq!(run(&["check", into]).0, 0);
    let sql = "INSERT INTO d.t (k) VALUES (5); SELECT MAX(id), COUNT(*), SUM(k) FROM d.t FORCE INDEX (k) WHERE k > -1";
    assert_eq!(script(&new, &["-N"], sql), (0, "3000\t3000\t1498505\n".into(), String::new()));
}

/// Flips a bit in a leaf of the segment made last, and erases the doublewrite copies.
fn damage_newest_index(dir: &Path) {
    damage_leaf(dir, &|page| Some(u64::from_le_bytes(page[24..32].try_into().expect("eight bytes"))));
}

/// Damages the leaf with the highest `rank`, among those that have one.
fn damage_leaf(dir: &Path, rank: &dyn Fn(&[u8]) -> Option<u64>) {
    const PAGE: usize = 16384;
    let copies = std::fs::metadata(dir.join("doublewrite")).expect("a file").len();
    std::fs::write(dir.join("doublewrite"), vec![0; copies as usize]).expect("written");
    let mut data = std::fs::read(dir.join("data")).expect("read");
    let leaves = data.chunks_mut(PAGE).filter(|page| page[4] == 16 && rank(page).is_some());
    leaves.max_by_key(|page| rank(page)).expect("a leaf")[PAGE - 10] ^= 4;
    std::fs::write(dir.join("data"), data).expect("written");
}

#[test]
fn damage_is_found_and_an_index_is_built_anew() {
    let (_holder, dir) = directory();
    let at = dir.to_str().expect("UTF-8");
    let rows: Vec<String> = (0..3000).map(|n| format!("({n}, {})", n * 7 % 1000)).collect();
    let sql = format!(
        "SET GLOBAL change_buffering = 'none'; CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, k INT, \
         KEY (k)); INSERT INTO t VALUES {}",
        rows.join(",")
    );
    assert_eq!(script(&dir, &[], &sql).0, 0);
    let (code, out, err) = run(&["check", at]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("d.t") && out.contains("OK"), "{out}");
    assert_eq!(run(&["repair", at]).1, "Nothing to repair.\n");

    damage_newest_index(&dir);
    let (code, out, err) = run(&["check", at, "--table", "d.t", "--quick", "--threads", "2"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("index k, page ") && out.contains("checksum") && out.contains("Corrupt"), "{out}");
    assert!(err.contains("leafline repair"), "{err}");
    assert_eq!(run(&["check", at]).0, 1);
    for words in [&["repair", at][..], &["repair", at, "--dry-run"]] {
        let (code, out, _) = run(words);
        assert_eq!(code, 1);
        assert!(out.contains("index k built anew") && out.contains("Nothing was changed."), "{out}");
    }
    let (code, out, err) = run(&["repair", at, "--yes"]);
    assert_eq!(code, 0, "{out}{err}");
    let report = out.trim().rsplit(' ').next().expect("a path");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("d.t:") && report.contains("index k built anew") && report.ends_with("done\n"));
    let (code, out, err) = run(&["check", at]);
    assert_eq!(code, 0, "{out}{err}");
    let sql = "SELECT COUNT(*), SUM(k) FROM d.t FORCE INDEX (k); CHECK TABLE d.t QUICK; REPAIR TABLE d.t";
    let (_, out, err) = script(&dir, &["-N"], sql);
    let note = "d.t\trepair\tnote\tThe storage engine for the table doesn't support repair";
    assert_eq!(
        (out.as_str(), err.as_str()),
        (&*format!("3000\t1498500\nd.t\tcheck\tstatus\tOK\n{note}\n"), "")
    );

    let (code, _, err) = run(&["check", &format!("{at}/nothing")]);
    assert_eq!(code, 1);
    assert!(err.contains("there is no database"), "{err}");
}

#[test]
fn a_repair_of_values_outside_the_rows_names_the_rows_that_are_lost_with_them() {
    let (_holder, dir) = directory();
    let at = dir.to_str().expect("UTF-8");
    let sql = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v TEXT, w TEXT); \
               INSERT INTO t VALUES (1, 'short', ''), (2, REPEAT('long', 5000), ''), (3, 'short', '')";
    assert_eq!(script(&dir, &[], sql), (0, String::new(), String::new()));
    // The values outside the rows are in a separate tree, made after that of the rows.
    damage_newest_index(&dir);
    let (code, out, _) = run(&["check", at]);
    assert!(code == 1 && out.matches("Corrupt").count() == 1, "{out}");
    let (code, out, err) = run(&["repair", at, "--yes"]);
    let lost = "d.t:\n  rows kept: 2, of 3 that were counted\n  lost: the row '2', for its values of v, stored outside it, are lost\n";
    assert!(code == 0 && out.contains(lost) && out.contains("\nd.t: done\n"), "{out}{err}");
    assert!(out.contains("d.t (values outside the rows):\n    rows kept: "), "{out}");
    let (code, out, err) = run(&["check", at]);
    assert!(code == 0 && out.matches("d.t").count() == 1, "{out}{err}");
    assert_eq!(script(&dir, &["-N"], "SELECT id FROM d.t"), (0, "1\n3\n".into(), String::new()));
}

#[test]
fn an_account_on_a_damaged_page_is_locked_until_it_is_repaired_and_has_a_password() {
    let (_holder, dir) = directory();
    let at = dir.to_str().expect("UTF-8");
    assert_eq!(script(&dir, &[], "ALTER USER root IDENTIFIED BY 'first'"), (0, String::new(), String::new()));
    let hash = b"$A$005$";
    damage_leaf(&dir, &|page| page.windows(hash.len()).any(|bytes| bytes == hash).then_some(0));
    let (code, out, err) = script(&dir, &["-N"], "SELECT 1");
    assert_eq!((code, out.as_str()), (0, "1\n"));
    assert!(err.contains("nobody can log in") && err.contains("leafline repair"), "{err}");
    let (code, out, err) = run(&["repair", at, "--yes"]);
    assert!(code == 0 && out.contains("mysql.user"), "{out}{err}");
    let (code, _, err) = script(&dir, &[], "ALTER USER root IDENTIFIED BY 'second'");
    assert!(code == 0 && err.contains("mysql.user has lost its rows"), "{err}");
    let row = "root\t$A$005$";
    let (_, out, err) = script(&dir, &["-N"], "SELECT User, authentication_string FROM mysql.user");
    assert!(out.starts_with(row) && err.is_empty(), "{out}{err}");
}

#[test]
fn plans_are_priced_with_the_measured_device() {
    let (_holder, dir) = directory();
    let path = dir.to_str().expect("a path");
    let (code, _, err) = run(&["calibrate", path]);
    assert!(code == 1 && err.contains("there is no database in"), "{err}");
    let profile = "SELECT @@leafline_device; SHOW DEVICE PROFILE";
    let (_, out, _) = script(&dir, &["-N"], profile);
    assert!(out.contains("random_read_time\t40.000\tmicroseconds\tclass nvme\n"), "{out}");
    let (code, out, err) = run(&["calibrate", path]);
    assert_eq!(code, 0, "{err}");
    let measured: f64 =
        out.split_whitespace().nth(1).and_then(|figure| figure.parse().ok()).expect("a figure");
    let (_, out, _) = script(&dir, &["-N"], profile);
    let line = out.lines().find(|line| line.starts_with("random_read_time")).expect("the figure");
    let shown: Vec<&str> = line.split('\t').collect();
    let shown_time: f64 = shown[1].parse().expect("a figure");
    assert!((shown_time - measured).abs() <= 0.06, "{line}, {measured}");
    assert!(shown[3].starts_with("measured 2"), "{line}");
    assert!(!dir.join("calibration").exists() && !dir.join("calibration.db").exists());
    let set = "SET leafline_random_read_time = 7.5; SHOW DEVICE PROFILE; SET leafline_device = 'ssd'; SHOW DEVICE PROFILE";
    let (_, out, _) = script(&dir, &["-N"], set);
    assert!(out.contains("random_read_time\t7.500\tmicroseconds\tset\n"), "{out}");
    assert!(out.contains("sequential_read_rate\t262.000\tMB/s\tclass ssd\n"), "{out}");
}

#[test]
fn advice_is_a_script_that_can_be_run() {
    let (holder, dir) = directory();
    let fill = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad CHAR(200), KEY b (b));
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT x.i * 1000 + y.i, x.i * 7 + y.i, y.i, REPEAT('Pp', 99) FROM n x JOIN n y WHERE x.i <= 5;";
    let (code, _, err) = script(&dir, &[], fill);
    assert_eq!((code, err.as_str()), (0, ""));
    let workload = holder.path().join("workload.sql");
    std::fs::write(
        &workload,
        "SELECT pad FROM t WHERE a = 77;\nSELECT pad FROM t\n WHERE a = 5; SELECT 1 FROM gone",
    )
    .unwrap();
    let (place, file) = (dir.to_str().unwrap(), workload.to_str().unwrap());
    let (code, out, err) = run(&["advise", place, file, "-D", "d"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("No advice for 'SELECT 1 FROM gone'"), "{err}");
    assert!(out.contains("\nCREATE INDEX `a` ON `d`.`t` (`a`);\n"), "{out}");
    assert!(out.contains("\nDROP INDEX `b` ON `d`.`t`;\n"), "{out}");
    assert!(
        out.contains("-- 1 of 1 statements gain, most of all: SELECT pad FROM t WHERE a = 77 ("),
        "{out}"
    );
    // Nothing was done yet; running the script does it.
    let indexes = "SELECT index_name FROM sys.schema_unused_indexes";
    assert_eq!(script(&dir, &["-N"], indexes).1, "b\n");
    assert_eq!(script(&dir, &[], &out).0, 0);
    assert_eq!(script(&dir, &["-N"], indexes).1, "a\n");
    let (_, out, err) = run(&["advise", place, file, "-D", "d"]);
    assert!(out.is_empty() && err.contains("nothing to gain"), "{out}{err}");
}

#[test]
fn advice_is_verified() {
    let (holder, dir) = directory();
    let fill = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT, pad CHAR(200));
        INSERT INTO d.t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT x.i * 1000 + y.i, x.i * 7 + y.i, 'p' FROM n x JOIN n y WHERE x.i <= 5;";
    assert_eq!(script(&dir, &[], fill).0, 0);
    let workload = holder.path().join("workload.sql");
    std::fs::write(&workload, "SELECT pad FROM d.t WHERE a = 77").unwrap();
    let words = ["advise", dir.to_str().unwrap(), workload.to_str().unwrap(), "--verify"];
    let (code, out, err) = run(&words);
    assert_eq!(code, 0, "{err}");
    // Which of the two happens depends on the measured times.
    let kept = out.contains("-- kept: ");
    assert!(kept || out.contains("-- dropped again: "), "{out}");
    let (_, found, _) = script(&dir, &["-N"], "SHOW INDEX FROM d.t WHERE Key_name = 'a'");
    assert_eq!(found.lines().count(), usize::from(kept), "{found}");
    let (code, _, err) = run(&["advise", "/nonexistent", "w.sql"]);
    assert!(code != 0 && err.contains("there is no database in /nonexistent"), "{err}");
}

#[test]
fn advice_without_a_workload_is_for_what_was_run_before() {
    let (_holder, dir) = directory();
    let fill = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, pad CHAR(200));
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT x.i * 1000 + y.i, x.i * 7 + y.i, 'p' FROM n x JOIN n y WHERE x.i <= 5;
        TRUNCATE TABLE performance_schema.events_statements_summary_by_digest;";
    assert_eq!(script(&dir, &[], fill).0, 0);
    let place = dir.to_str().unwrap();
    let (code, _, err) = run(&["advise", place]);
    assert!(code == 0 && err.contains("nothing to gain"), "{err}");
    let query = "SELECT pad FROM d.t WHERE a = 77;".repeat(20);
    assert_eq!(script(&dir, &[], &query).0, 0);
    let (code, out, err) = run(&["advise", place]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\nCREATE INDEX `a` ON `d`.`t` (`a`);\n"), "{out}{err}");
    // A file that cannot be read is reported, and counts restart at zero.
    let file = dir.join("statement-digests");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (code, out, err) = run(&["advise", place]);
    assert!(code == 0 && out.is_empty(), "{out}{err}");
    assert!(err.contains("statements are counted from zero: statement-digests is damaged"), "{err}");
}
