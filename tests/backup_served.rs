//! Tests `leafline backup` and `leafline restore` as a user runs them: on a database that is served, and on one that
//! nobody has open; with the program or the server killed meanwhile.

mod support;

use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client};

const WRITERS: u64 = 4;
const GROUP: u64 = 4;

fn leafline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leafline"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    let output = leafline(arguments).output().expect("the binary runs");
    eprintln!("leafline {}: {}", arguments.join(" "), text(&output));
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}

fn fails(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{}", text(&output));
    text(&output)
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

fn set_up(server: &TestServer) {
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (w INT, n INT, part INT, filler VARCHAR(500), PRIMARY KEY (w, n, part), KEY (filler))");
    client.run("SET cte_max_recursion_depth = 100000");
    client.run(
        "CREATE TABLE d.much (n INT PRIMARY KEY, filler VARCHAR(500)) AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE \
         n < 40000) SELECT n, REPEAT(MD5(n), 10) AS filler FROM c",
    );
}

/// Inserts groups of rows until `over` is set or the server is gone.
fn write(mut client: Client, writer: u64, acknowledged: &AtomicU64, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let n = acknowledged.load(Ordering::SeqCst) + 1;
        let rows: Vec<String> =
            (0..GROUP).map(|part| format!("({writer}, {n}, {part}, REPEAT(MD5(RAND()), 5))")).collect();
        match client.query(&format!("INSERT INTO d.t VALUES {}", rows.join(", "))) {
            Ok(Answer::Error(code, message)) => panic!("ERROR {code}: {message}"),
            Ok(_) => acknowledged.store(n, Ordering::SeqCst),
            Err(_) => return,
        }
    }
}

/// Checks that each writer has its first groups: at least those in `least`, and no more than those in `most`.
fn check(client: &mut Client, least: &[u64], most: &[u64]) {
    for (writer, (least, most)) in least.iter().zip(most).enumerate() {
        let sql = format!("SELECT n, COUNT(*) FROM d.t WHERE w = {writer} GROUP BY n ORDER BY n");
        let rows = client.rows(&sql);
        for (row, n) in rows.iter().zip(1u64..) {
            assert_eq!(*row, [Some(n.to_string()), Some(GROUP.to_string())], "writer {writer}");
        }
        let found = rows.len() as u64;
        assert!((*least..=*most + 1).contains(&found), "writer {writer}: {found} of {least} to {most}");
    }
    assert_eq!(client.rows("SELECT COUNT(*) FROM d.much")[0][0].as_deref(), Some("40000"));
    for table in ["d.t", "d.much"] {
        assert_eq!(client.rows(&format!("CHECK TABLE {table}"))[0][3].as_deref(), Some("OK"));
    }
}

#[test]
fn a_served_database_is_backed_up_and_restored_and_so_is_one_that_nobody_has_open() {
    let directory = tempfile::tempdir().expect("a directory");
    let of = |name: &str| path(directory.path(), name);
    let data = of("data");
    let server = TestServer::start(Path::new(&data), &[]);
    set_up(&server);
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let now = || acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).collect::<Vec<u64>>();
    let over = AtomicBool::new(false);
    let (least, most) = std::thread::scope(|scope| {
        for (writer, acknowledged) in (0..).zip(&acknowledged) {
            let (client, over) = (server.connect(), &over);
            scope.spawn(move || write(client, writer, acknowledged, over));
        }
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert!(succeeds(&["backup", &data, &of("full")]).starts_with("full backup "));
            let least = now();
            let incremental = succeeds(&["backup", &data, &of("next"), "--incremental-from", &of("full")]);
            assert!(incremental.starts_with("incremental backup "), "{incremental}");
            (least, now())
        }));
        over.store(true, Ordering::Relaxed);
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert!(fails(&["backup", &data, &of("full")]).contains("1086") || Path::new(&of("full")).exists());
    let inside = format!("{data}/inside");
    assert!(fails(&["backup", &data, &inside]).contains("1210"));
    assert!(server.terminate());
    assert!(fails(&["backup", &data, &inside]).contains("within the database's own"));
    assert!(!Path::new(&inside).exists());
    let last = now();
    succeeds(&["backup", &data, &of("last"), "--incremental-from", &of("next")]);
    for backup in ["full", "next", "last"] {
        assert!(succeeds(&["backup", "--verify", &of(backup)]).starts_with("OK: "));
    }
    assert!(fails(&["restore", &of("next"), &of("wrong")]).contains("full backup"));
    assert!(fails(&["restore", &of("full"), &of("last"), &of("wrong")]).contains("does not follow"));
    assert!(fails(&["restore", &of("full"), &data]).contains("is there already"));
    succeeds(&["restore", &of("full"), &of("next"), &of("one"), "--check"]);
    // The remains of a killed restore are reported, and do not prevent another.
    let broken_off = of("two");
    for name in ["", "wal"] {
        std::fs::create_dir(Path::new(&broken_off).join(name)).expect("a directory");
    }
    for name in ["restoring", "data", "lock", "wal/new"] {
        std::fs::write(Path::new(&broken_off).join(name), [0; 4096]).expect("a file");
    }
    for verb in ["check", "repair"] {
        assert!(fails(&[verb, &broken_off]).contains("was not completed"), "{verb}");
    }
    assert!(fails(&["backup", &broken_off, &of("wrong")]).contains("was not completed"));
    succeeds(&["restore", &of("full"), &of("next"), &of("last"), &of("two")]);
    for (restored, least, most) in [("one", &least, &most), ("two", &last, &last)] {
        let server = TestServer::start(Path::new(&of(restored)), &[]);
        check(&mut server.connect(), least, most);
        assert!(server.terminate());
    }
    assert!(
        fails(&["backup", &of("one"), &of("other"), "--incremental-from", &of("next")])
            .contains("of another database")
    );
}

#[test]
fn where_a_backup_may_be_made_and_by_whom() {
    let directory = tempfile::tempdir().expect("a directory");
    let of = |name: &str| path(directory.path(), name);
    std::fs::create_dir(of("allowed")).expect("a directory");
    let server =
        TestServer::start(Path::new(&of("data")), &["--set", &format!("secure_file_priv={}", of("allowed"))]);
    let mut client = server.connect();
    let mut code = |sql: &str| match client.query(sql) {
        Ok(Answer::Error(code, _)) => code,
        Ok(_) => 0,
        Err(error) => panic!("{sql}: {error}"),
    };
    assert_eq!(code(&format!("BACKUP DATABASE TO '{}'", of("b"))), 1290);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{}/../b'", of("allowed"))), 1290);
    assert_eq!(code("BACKUP DATABASE TO '/'"), 1210);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{}'", of("allowed/x/y"))), 1026);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{}'", of("allowed/b"))), 0);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{}'", of("allowed/b"))), 1086);
    let next = of("allowed/next");
    assert_eq!(code(&format!("BACKUP DATABASE TO '{next}' INCREMENTAL FROM '{}'", of("data"))), 1290);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{next}' INCREMENTAL FROM '{}'", of("allowed/none"))), 29);
    assert_eq!(code(&format!("BACKUP DATABASE TO '{next}' INCREMENTAL FROM '{}'", of("allowed"))), 1105);
    assert!(!Path::new(&next).exists());
    assert_eq!(code(&format!("BACKUP DATABASE TO '{next}' INCREMENTAL FROM '{}'", of("allowed/b"))), 0);
    assert_eq!(code("BACKUP DATABASE"), 1064);
    assert_eq!(code("BACKUP DATABASE TO 'x' INCREMENTAL"), 1064);
    drop(client);
    assert!(server.terminate());
}

#[test]
fn killed_backups_and_killed_servers_leave_what_is_recognised() {
    let directory = tempfile::tempdir().expect("a directory");
    let of = |name: &str| path(directory.path(), name);
    let data = of("data");
    let mut server = TestServer::start(Path::new(&data), &[]);
    set_up(&server);
    let seed = std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| SmallRng::from_os_rng().random());
    eprintln!("seed {seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let now = || acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).collect::<Vec<u64>>();
    for round in 0..6 {
        let (target, over) = (of(&format!("b{round}")), AtomicBool::new(false));
        let before = now();
        std::thread::scope(|scope| {
            for (writer, acknowledged) in (0..).zip(&acknowledged) {
                let (client, over) = (server.connect(), &over);
                scope.spawn(move || write(client, writer, acknowledged, over));
            }
            let mut backup = leafline(&["backup", &data, &target]).spawn().expect("the binary runs");
            std::thread::sleep(Duration::from_millis(random.random_range(0..150)));
            if round % 2 == 0 {
                backup.kill().expect("a process");
            } else {
                let running = std::mem::replace(&mut server, TestServer::start(Path::new(&of("other")), &[]));
                running.kill();
            }
            let done = backup.wait_with_output().expect("a process");
            over.store(true, Ordering::Relaxed);
            eprintln!("round {round}: {} {}", done.status, text(&done));
        });
        if round % 2 == 1 {
            assert!(std::mem::replace(&mut server, TestServer::start(Path::new(&data), &[])).terminate());
            // A transaction may be committed although it was not acknowledged.
            let mut client = server.connect();
            for (writer, acknowledged) in acknowledged.iter().enumerate() {
                let last = client.rows(&format!("SELECT COALESCE(MAX(n), 0) FROM d.t WHERE w = {writer}"))[0]
                    [0]
                .clone();
                let last = last.and_then(|last| last.parse().ok()).expect("a number");
                assert!(last >= acknowledged.load(Ordering::SeqCst));
                acknowledged.store(last, Ordering::SeqCst);
            }
        }
        // The backup goes on in the server until it notices that the client has gone.
        let begun = Instant::now();
        let another = of(&format!("again{round}"));
        while !run(&["backup", &data, &another]).status.success() {
            assert!(begun.elapsed() < Duration::from_secs(120), "the backup does not end");
            let _ = std::fs::remove_dir_all(&another);
            std::thread::sleep(Duration::from_millis(100));
        }
        let restored = of(&format!("r{round}"));
        let whole = Path::new(&target).join("manifest").exists();
        match whole {
            true => succeeds(&["backup", "--verify", &target]),
            false if Path::new(&target).exists() => {
                fails(&["restore", &target, &restored]);
                let _ = std::fs::remove_dir_all(&restored);
                fails(&["backup", "--verify", &target])
            }
            false => String::new(),
        };
        for (backup, least) in [(&target, &before), (&another, &now())] {
            if *backup == target && !whole {
                continue;
            }
            succeeds(&["restore", backup, &restored]);
            let server = TestServer::start(Path::new(&restored), &[]);
            check(&mut server.connect(), least, &now());
            assert!(server.terminate());
            std::fs::remove_dir_all(&restored).expect("a directory");
        }
    }
    check(&mut server.connect(), &now(), &now());
    assert!(server.terminate());
}
