//! Tests that loading a dump makes the same database again.

use super::support::TestServer;
use super::{Place, command, run, succeed, text};
use leafline::Database;
use std::io::Read as _;
use std::process::Stdio;

fn dump(dir: &std::path::Path, words: &[&str]) -> String {
    succeed(&[&["dump", text(dir)], words].concat())
}

#[test]
fn an_sql_dump_loads_to_the_same_database() {
    let place = Place::new();
    let dir = place.full();
    let whole = dump(&dir, &[]);
    assert!(whole.ends_with("-- Dump completed\n") && whole.contains("0x5C27220A0D1A00"), "{whole}");
    assert!(whole.contains("/*!99990 PACKED */") && whole.contains("PARTITION BY RANGE"), "{whole}");
    let sql = place.file("whole.sql", &whole);
    let again = place.path("again");
    succeed(&["import", text(&again), text(&sql)]);
    assert_eq!(dump(&again, &[]), whole);
    succeed(&["check", text(&again)]);

    // The shell runs the script unchanged, statement by statement.
    let typed = place.path("typed");
    let script = std::fs::File::open(&sql).unwrap();
    assert!(command().args(["shell", text(&typed)]).stdin(script).status().unwrap().success());
    assert_eq!(dump(&typed, &[]), whole);

    // A file for each table, in several threads, compressed.
    for (name, words) in
        [("plain", &[][..]), ("packed", &["--gzip", "--threads", "3"]), ("smaller", &["--compress"])]
    {
        let folder = place.path(name);
        succeed(&[&["dump", text(&dir), "--output", text(&folder)], words].concat());
        let files = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(files, 10, "a file for each table, and the views");
        let again = place.path(&format!("{name}-again"));
        succeed(&["import", text(&again), text(&folder)]);
        assert_eq!(dump(&again, &[]), whole);
    }
}

#[test]
fn a_part_is_dumped_without_the_rest() {
    let place = Place::new();
    let dir = place.full();
    let parent = dump(&dir, &["d.parent"]);
    assert!(
        parent.contains("CREATE TABLE `parent`") && !parent.contains("child") && !parent.contains("VIEW")
    );
    let rows = dump(&dir, &["d.parent", "--no-schema", "--no-database"]);
    assert!(rows.contains("INSERT INTO `parent`") && !rows.contains("CREATE") && !rows.contains("USE"));
    let schema = dump(&dir, &["d", "--no-data", "--add-drop-table", "--compatible", "mysql"]);
    assert!(schema.contains("DROP TABLE IF EXISTS `parent`;") && !schema.contains("INSERT"));
    assert!(!schema.contains("PACK"), "{schema}");
    let odd = dump(&dir, &["d.`odd ``name'' \"x\"\n%/..`", "--format", "csv"]);
    assert_eq!(odd, "\"a\n'\",b`\r\n1,\"a\nb;\"\r\n2,-- /*\r\n");
    for (words, what) in [
        (&["nope"][..], "no database nope"),
        (&["d.nope"], "no table d.nope"),
        (&["d", "--format", "csv"], "name one"),
        (&["d", "--format", "parquet", "--gzip"], "compressed as it is"),
        (&["d", "--format", "parquet", "--compress"], "compressed as it is"),
        (&["d", "--socket", "/nowhere"], "cannot connect to /nowhere"),
    ] {
        let (code, out, err) = run(&[&["dump", text(&dir)], words].concat());
        assert!(code == 1 && out.is_empty() && err.contains(what), "{words:?}: {err}");
    }
}

#[test]
fn rows_as_csv_and_parquet_are_the_same_in_tables_of_their_types() {
    let place = Place::new();
    let dir = place.full();
    let tables = ["every type", "parts", "parent", "without_key", "gen", "nothing"];
    for format in ["csv", "parquet"] {
        let folder = place.path(format);
        succeed(&["dump", text(&dir), "d", "--output", text(&folder), "--format", format]);
        let again = place.path(&format!("of-{format}"));
        succeed(&["import", text(&again), text(&folder.join("schema.sql"))]);
        for table in tables {
            let file = folder.join(format!("d.{}.{format}", table.replace(' ', "%20")));
            succeed(&[
                "import",
                text(&again),
                text(&file),
                "-D",
                "d",
                "--table",
                table,
                "--set",
                "time_zone=+00:00",
            ]);
            let name = format!("d.{table}");
            assert_eq!(dump(&again, &[&name]), dump(&dir, &[&name]), "{format}: {table}");
        }
        // Into a table that is created for the rows.
        let file = folder.join(format!("d.parts.{format}"));
        succeed(&["import", text(&again), text(&file), "-D", "new", "--primary-key", "a"]);
        assert_eq!(
            super::rows(&again, "SELECT a, b FROM new.d ORDER BY a"),
            "1\t2023-05-05\n2\t2024-05-05\n3\t2023-12-31\n"
        );
    }
    // Dates that do not exist are NULL in Parquet.
    let again = place.path("of-parquet");
    let file = place.path("parquet").join("d.days.parquet");
    succeed(&["import", text(&again), text(&file), "-D", "d", "--table", "days"]);
    let days = super::rows(&again, "SELECT d, t, f + 0e0, b + 0 FROM d.days ORDER BY f");
    assert_eq!(days, "NULL\tNULL\t0.10000000149011612\t0\nNULL\tNULL\t16777216\t18446744073709551615\n");
}

#[test]
fn a_directory_of_rows_is_imported_with_its_definitions() {
    let place = Place::new();
    let dir = place.full();
    let whole = dump(&dir, &["d"]);
    for (name, words) in
        [("plain", &["csv"][..]), ("gz", &["csv", "--gzip"]), ("zst", &["csv", "--compress"])]
    {
        let folder = place.path(name);
        succeed(&[&["dump", text(&dir), "d", "--output", text(&folder), "--format"], words].concat());
        let again = place.path(&format!("{name}-again"));
        succeed(&["import", text(&again), text(&folder)]);
        assert_eq!(dump(&again, &["d"]), whole, "{name}");
    }
    // Dates that do not exist are NULL in Parquet.
    super::rows(&dir, "DELETE FROM d.days");
    let whole = dump(&dir, &["d"]);
    let folder = place.path("parquet");
    succeed(&["dump", text(&dir), "d", "--output", text(&folder), "--format", "parquet"]);
    let again = place.path("parquet-again");
    succeed(&["import", text(&again), text(&folder)]);
    assert_eq!(dump(&again, &["d"]), whole);

    // Definitions without a database go to the one asked for, and so do the rows; rows alone go to the tables of
    // their names.
    let folder = place.path("anywhere");
    let words = ["--no-database", "--format", "csv"];
    succeed(&[&["dump", text(&dir), "d", "--output", text(&folder)], &words[..]].concat());
    let again = place.path("elsewhere");
    succeed(&["import", text(&again), text(&folder), "-D", "e"]);
    std::fs::remove_file(folder.join("schema.sql")).unwrap();
    super::rows(&again, "DELETE FROM e.child");
    for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !path.ends_with("d.child.csv") {
            std::fs::remove_file(path).unwrap();
        }
    }
    succeed(&["import", text(&again), text(&folder), "-D", "e"]);
    assert_eq!(dump(&again, &["e", "--no-database"]), dump(&dir, &["d", "--no-database"]));

    // A file beside definitions that belongs to none of their tables is not loaded.
    for (file, content) in
        [("schema.sql", "CREATE DATABASE x; USE x; CREATE TABLE t (a INT);"), ("x.u.csv", "a\n1\n")]
    {
        std::fs::write(folder.join(file), content).unwrap();
    }
    let (code, _, err) = run(&["import", text(&place.path("odd")), text(&folder)]);
    assert!(code == 1 && err.contains("matches no single table"), "{err}");
    let (code, _, err) = run(&["import", text(&again), text(&folder), "--table", "t"]);
    assert!(code == 1 && err.contains("leave --table out"), "{err}");
}

#[test]
fn files_whose_names_are_cut_off_find_their_tables() {
    let place = Place::new();
    let (one, two) = ("\u{1f980}".repeat(40), format!("{}x", "\u{1f980}".repeat(40)));
    let dir = place.database("db", &format!("CREATE TABLE `{one}` (a INT); CREATE TABLE `{two}` (a INT);"));
    super::rows(&dir, &format!("INSERT INTO d.`{one}` VALUES (1)"));
    super::rows(&dir, &format!("INSERT INTO d.`{two}` VALUES (2)"));
    let (folder, again) = (place.path("csv"), place.path("again"));
    succeed(&["dump", text(&dir), "d", "--output", text(&folder), "--format", "csv"]);
    let (code, _, err) = run(&["import", text(&again), text(&folder)]);
    assert!(code == 1 && err.contains("matches no single table"), "either could be meant: {err}");
    succeed(&["shell", text(&dir), "-e", &format!("DROP TABLE d.`{one}`")]);
    let (folder, again) = (place.path("csv2"), place.path("again2"));
    succeed(&["dump", text(&dir), "d", "--output", text(&folder), "--format", "csv"]);
    succeed(&["import", text(&again), text(&folder)]);
    assert_eq!(super::rows(&again, &format!("SELECT a FROM d.`{two}`")), "2\n");
}

#[test]
fn a_server_is_found_wherever_its_socket_is() {
    let place = Place::new();
    let dir = place.database("db", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1);");
    let before = dump(&dir, &[]);
    let (socket, own) = (place.path("other.sock"), dir.join("leafline.sock"));
    for round in 0..3 {
        let server = TestServer::start(&dir, &["--socket", text(&socket)]);
        assert_eq!(dump(&dir, &[]), before);
        assert_eq!(dump(&dir, &["--socket", text(&socket)]), before);
        let (code, _, err) = run(&["shell", text(&dir), "-e", "SELECT 1"]);
        assert!(code == 1 && err.contains(text(&socket)), "{err}");
        std::fs::remove_file(&own).unwrap();
        let (code, _, err) = run(&["dump", text(&dir)]);
        assert!(code == 1 && err.contains("--socket PATH"), "{err}");
        // Killed servers leave both, which must not matter.
        std::os::unix::fs::symlink(&socket, &own).unwrap();
        if round == 2 {
            assert!(server.terminate());
            assert!(std::fs::symlink_metadata(&own).is_err() && !socket.exists());
        } else {
            server.kill();
            assert!(socket.exists() && own.exists());
        }
        if round == 1 {
            let server = TestServer::start(&dir, &[]);
            assert_eq!(dump(&dir, &[]), before, "its own socket again");
            server.kill();
        }
    }
    let (code, _, err) = run(&["dump", "mysql://root@localhost", "--socket", text(&socket)]);
    assert!(code == 1 && err.contains("?socket=PATH"), "{err}");
}

#[test]
fn a_server_is_known_by_its_certificate_where_that_is_asked_for() {
    use leafline_server::tls::{CERTIFICATE_NAME, Tls};
    let place = Place::new();
    let dir = place.full();
    let before = dump(&dir, &[]);
    let server = TestServer::start(&dir, &[]);
    let url = format!("mysql://root@{}", server.address);
    let (own, other) = (dir.join(CERTIFICATE_NAME), place.path("other"));
    assert_eq!(succeed(&["dump", &url, "--tls-ca", text(&own)]), before);
    let copy = place.path("copy");
    succeed(&["import", text(&copy), "--from", &url, "--tls-ca", text(&own)]);
    std::fs::create_dir(&other).unwrap();
    Tls::own(&other, None).unwrap();
    let missing = place.path("missing");
    for (file, why) in [
        (other.join(CERTIFICATE_NAME), "certificate"),
        (other.join("server-key.pem"), "no certificate in PEM form"),
        (missing, "missing"),
    ] {
        for words in [&["dump", &url][..], &["import", text(&place.path("new")), "--from", &url]] {
            let (code, out, err) = run(&[words, &["--tls-ca", text(&file)]].concat());
            assert!(code != 0 && out.is_empty() && err.contains(why), "{why}: {out} {err}");
        }
    }
    let socket = format!("mysql://root@/?socket={}", dir.join("leafline.sock").display());
    for source in [socket.as_str(), text(&dir)] {
        let (code, _, err) = run(&["dump", source, "--tls-ca", text(&own)]);
        assert!(code != 0 && err.contains("--tls-ca"), "{err}");
    }
    assert!(server.terminate());
    let server = TestServer::start(&dir, &["--no-tls"]);
    let url = format!("mysql://root@{}", server.address);
    let (code, _, err) = run(&["dump", &url, "--tls-ca", text(&own)]);
    assert!(code != 0 && err.contains("no TLS"), "{err}");
    assert_eq!(succeed(&["dump", &url]), before);
}

#[test]
fn a_database_that_is_served_is_dumped_at_one_moment_while_others_write() {
    let place = Place::new();
    let dir = place.full();
    let before = dump(&dir, &[]);
    let server = TestServer::start(&dir, &[]);
    assert_eq!(dump(&dir, &[]), before, "through the socket in the directory");
    let url = format!("mysql://root@{}/?", server.address).replace("/?", "");
    assert_eq!(succeed(&["dump", &url]), before);

    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE moved",
        "USE moved",
        "CREATE TABLE l (n INT)",
        "CREATE TABLE r (n INT)",
        "INSERT INTO l VALUES (0)",
    ] {
        client.run(sql);
    }
    let address = server.address;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // One row is always in exactly one of the two tables.
            let mut writer = super::support::client::Client::connect(address, "root", "").unwrap();
            writer.run("USE moved");
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                for (from, to) in [("l", "r"), ("r", "l")] {
                    writer.run("BEGIN");
                    writer.run(&format!("INSERT INTO {to} SELECT n + 1 FROM {from}"));
                    writer.run(&format!("DELETE FROM {from}"));
                    writer.run("COMMIT");
                }
            }
        });
        for round in 0..10 {
            let folder = place.path(&format!("round{round}"));
            let ran = run(&["dump", &url, "moved", "--output", text(&folder), "--threads", "2"]);
            let read =
                |table: &str| std::fs::read_to_string(folder.join(format!("moved.{table}.sql"))).unwrap();
            let found = ran.0 == 0 && read("l").contains("INSERT") != read("r").contains("INSERT");
            if !found {
                is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(found, "{ran:?}");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    // Another database copies everything from the server.
    let copy = place.path("copy");
    succeed(&["import", text(&copy), "--from", &format!("{url}/d")]);
    assert_eq!(dump(&copy, &["d"]), before);
    // With a password, and by TLS alone.
    client.run("SET GLOBAL require_secure_transport = ON");
    client.run("ALTER USER root IDENTIFIED BY 'p@ss'");
    let (code, _, err) = run(&["dump", &url]);
    assert!(code == 1 && err.contains("1045"), "{err}");
    assert_eq!(succeed(&["dump", &url.replace("root@", "root:p%40ss@"), "d"]), before);
    assert!(server.terminate());
}

#[test]
fn transactions_read_at_the_snapshot_of_another_connection() {
    let place = Place::new();
    let database = Database::open(place.path("db")).unwrap();
    let (mut one, mut two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute("CREATE DATABASE d", ()).unwrap();
    one.execute("CREATE TABLE d.t (a INT)", ()).unwrap();
    let id = one.session().connection_id();
    let begin = format!("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT FROM SESSION {id}");
    let code = |connection: &mut leafline::Connection, sql: &str| {
        connection.execute(sql, ()).map_err(|error| error.code()).map(|_| ())
    };
    assert_eq!(code(&mut two, &begin), Err(1210), "it has no snapshot");
    assert_eq!(code(&mut two, "START TRANSACTION WITH CONSISTENT SNAPSHOT FROM SESSION 4000000"), Err(1094));
    one.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT", ()).unwrap();
    let count =
        |connection: &mut leafline::Connection| connection.query("SELECT * FROM d.t", ()).unwrap().count();
    two.execute("INSERT INTO d.t VALUES (1)", ()).unwrap();
    two.execute(&begin, ()).unwrap();
    assert_eq!((count(&mut one), count(&mut two)), (0, 0));
    one.execute("COMMIT", ()).unwrap();
    assert_eq!((count(&mut one), count(&mut two)), (1, 0), "it keeps the snapshot");
    two.execute("COMMIT", ()).unwrap();
    assert_eq!(code(&mut two, &begin), Err(1210), "the other transaction is over");
    one.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT", ()).unwrap();
    two.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", ()).unwrap();
    assert_eq!(code(&mut two, &begin), Err(1210), "READ COMMITTED keeps no snapshot");
}

#[test]
fn a_dump_that_cannot_be_written_leaves_nothing_behind() {
    let place = Place::new();
    let dir = place.full();
    let there = place.path("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("mine"), "x").unwrap();
    let (code, _, err) = run(&["dump", text(&dir), "--output", text(&there)]);
    assert!(code == 1 && err.contains("there already"), "{err}");
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 1);

    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = command().args(["dump", text(&dir)]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert!(ran.status.code() == Some(1) && String::from_utf8_lossy(&ran.stderr).contains("cannot write"));

    // A reader that goes away ends the dump silently.
    let mut child =
        command().args(["dump", text(&dir)]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned()),
        (Some(1), String::new())
    );

    // The remains of a dump that was killed are not taken for a dump.
    let part = place.path("new.part");
    std::fs::create_dir(&part).unwrap();
    let new = place.path("new");
    let (code, _, err) = run(&["dump", text(&dir), "--output", text(&new)]);
    assert!(code == 1 && err.contains("left behind") && !new.exists(), "{err}");
    std::fs::remove_dir(&part).unwrap();
    succeed(&["dump", text(&dir), "--output", text(&new)]);
    assert!(new.exists() && !part.exists());
}
