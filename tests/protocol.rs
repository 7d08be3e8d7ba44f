//! Tests the server over the wire: answers, several statements, passwords, KILL, packets that violate the protocol.

mod support;

use leafline_protocol::binary::row::read_row;
use leafline_protocol::bytes::Reader;
use leafline_protocol::column::{ColumnDefinition, field_type};
use leafline_protocol::prepared::{Execution, LongData};
use leafline_protocol::{capability as cap, command};
use leafline_types::{Charset, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client, Login};

fn text(value: &str) -> Option<String> {
    Some(value.into())
}

#[test]
fn statements_give_rows_counts_and_errors() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), c DATETIME(2))");
    let insert = "INSERT INTO t VALUES (1, 'x', '2024-02-29 12:34:56.7'), (2, NULL, NULL)";
    assert_eq!(client.run(insert), Answer::Done(2));
    let expected =
        vec![vec![text("1"), text("x"), text("2024-02-29 12:34:56.70")], vec![text("2"), None, None]];
    assert_eq!(client.rows("SELECT * FROM t ORDER BY a"), expected);
    assert!(matches!(client.query("SELECT"), Ok(Answer::Error(1064, _))));
    assert!(matches!(client.query("SELECT nope FROM t"), Ok(Answer::Error(1054, _))));
    assert!(matches!(client.query(""), Ok(Answer::Error(1065, _))));
    assert_eq!(client.rows("SELECT CONNECTION_ID() > 0"), vec![vec![text("1")]], "the connection goes on");
    assert!(server.terminate());
}

#[test]
fn several_statements_give_several_results() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.send(command::QUERY, b"SELECT 1; SELECT 'a;b'; SELECT nope; SELECT 3").expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Rows(vec![vec![text("1")]]));
    assert_eq!(client.answer().expect("an answer"), Answer::Rows(vec![vec![text("a;b")]]));
    assert!(matches!(client.answer(), Ok(Answer::Error(1054, _))), "the statements end with the first error");
    assert_eq!(client.rows("SELECT 4"), vec![vec![text("4")]]);
}

#[test]
fn a_password_is_asked_for_once_it_is_set() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    assert!(Client::connect(server.address, "nobody", "").is_err());
    assert!(Client::connect(server.address, "root", "wrong").is_err());
    server.connect().run("ALTER USER root IDENTIFIED BY 'secret'");
    assert!(Client::connect(server.address, "root", "").is_err());
    let mut client = Client::connect(server.address, "root", "secret").expect("let in");
    client.run("SELECT 1");
    server.kill();
    let server = TestServer::start(directory.path(), &[]);
    assert!(Client::connect(server.address, "root", "").is_err(), "after a crash too");
    let mut client = Client::connect(server.address, "root", "secret").expect("let in");
    client.run("SET PASSWORD = ''");
    server.connect().run("SELECT 1");
}

#[test]
fn nobody_is_let_in_by_an_account_that_is_locked() {
    let directory = tempfile::tempdir().expect("a directory");
    let embedded = || leafline::Database::open(directory.path()).expect("a database");
    let database = embedded();
    database.instance().engine().ddl().truncate_table("mysql", "user", false).expect("emptied");
    database.close().expect("a clean end");
    let server = TestServer::start(directory.path(), &[]);
    for password in ["", "secret"] {
        let refused =
            Client::connect(server.address, "root", password).err().expect("turned away").to_string();
        assert!(refused.contains("3118"), "{refused}");
    }
    assert!(server.terminate());
    let database = embedded();
    database.connect().expect("a connection").execute("SET PASSWORD = 'secret'", ()).expect("set");
    database.close().expect("a clean end");
    let server = TestServer::start(directory.path(), &[]);
    Client::connect(server.address, "root", "secret").expect("let in").run("SELECT 1");
    assert!(Client::connect(server.address, "root", "").is_err());
}

#[test]
fn kill_ends_a_statement_and_not_its_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut sleeper = server.connect();
    let id = sleeper.rows("SELECT CONNECTION_ID()")[0][0].clone().expect("a number");
    sleeper.send(command::QUERY, b"SELECT SLEEP(60)").expect("sent");
    let mut killer = server.connect();
    let begun = Instant::now();
    loop {
        let list = killer.rows("SHOW PROCESSLIST");
        if list.iter().any(|row| row[0].as_deref() == Some(&id) && row[7].is_some()) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "the statement never ran: {list:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    killer.run(&format!("KILL QUERY {id}"));
    // MySQL's SLEEP returns 1 when it is interrupted; a statement that notices returns 1317.
    let answer = sleeper.answer().expect("an answer");
    let interrupted =
        matches!(answer, Answer::Error(1317, _)) || answer == Answer::Rows(vec![vec![text("1")]]);
    assert!(interrupted, "{answer:?}");
    assert_eq!(sleeper.rows("SELECT 2"), vec![vec![text("2")]]);
    killer.run(&format!("KILL {id}"));
    assert!(sleeper.query("SELECT 3").is_err() || sleeper.query("SELECT 3").is_err());
}

#[test]
fn packets_that_break_the_protocol_end_their_connection_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut seed: u64 = 1;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..50 {
        let mut stream = TcpStream::connect(server.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).expect("a greeting");
        let length = usize::from(random()) % 80;
        let mut packet = vec![length as u8, 0, 0, 1];
        packet.extend((0..length).map(|_| if round % 2 == 0 { random() } else { 0xff }));
        if round % 3 == 0 {
            packet.truncate(packet.len() / 2);
        }
        let _ = stream.write_all(&packet);
    }
    let mut client = server.connect();
    for code in 0..=255u8 {
        // These have no answer, or one that this client does not read.
        let unread = [
            command::QUIT,
            command::STATISTICS,
            command::STMT_SEND_LONG_DATA,
            command::STMT_CLOSE,
            command::CHANGE_USER,
        ];
        if unread.contains(&code) {
            continue;
        }
        for body in [&b""[..], &[0xff; 3], &[0xfe; 40]] {
            if client.send(code, body).is_err() || client.answer().is_err() {
                client = server.connect();
            }
        }
    }
    assert_eq!(server.connect().rows("SELECT 1"), vec![vec![text("1")]]);
    assert!(server.terminate());
}

#[test]
fn a_length_is_not_believed_before_the_login() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.write_all(&[0xff, 0xff, 0xff, 1]).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server ends the connection");
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("08S01") && text.contains("max_allowed_packet"), "{text:?}");
}

/// Reads nothing of a result that is larger than the sockets' buffers.
fn stall(server: &TestServer) -> (Client, String) {
    let mut client = server.connect();
    let id = client.rows("SELECT CONNECTION_ID()")[0][0].clone().expect("a number");
    client.send(command::QUERY, b"SELECT a.x, b.x FROM d.t a, d.t b").expect("sent");
    (client, id)
}

#[test]
fn a_client_that_reads_nothing_can_be_killed_and_does_not_keep_the_server_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (x VARCHAR(200))");
    let rows = vec!["(REPEAT('x', 200))"; 1000].join(", ");
    client.run(&format!("INSERT INTO d.t VALUES {rows}"));
    let (_stalled, id) = stall(&server);
    client.run(&format!("KILL {id}"));
    let begun = Instant::now();
    while client.rows("SHOW PROCESSLIST").iter().any(|row| row[0].as_deref() == Some(&id)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the connection is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
    let _also_stalled = stall(&server);
    assert!(server.terminate());
}

/// Nobody could read the result of these statements; without an end they would run for hours.
#[test]
fn a_statement_ends_when_its_client_has_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    let rows = (0..500).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ");
    client.run(&format!("INSERT INTO d.t VALUES {rows}"));
    client.run("BEGIN");
    client.run("UPDATE d.t SET a = -1 WHERE a = 1");
    let long = [
        "SELECT COUNT(*) FROM d.t a, d.t b, d.t c, d.t d WHERE a.a + b.a + c.a + d.a = -7",
        "SELECT SLEEP(10000)",
        "UPDATE d.t SET a = -2 WHERE a = 1",
        "SELECT 1; SELECT SLEEP(10000)",
    ];
    for sql in long {
        let mut gone = server.connect();
        gone.run("SET innodb_lock_wait_timeout = 100000");
        gone.send(command::QUERY, sql.as_bytes()).expect("sent");
        if sql.starts_with("SELECT 1") {
            // Some drivers close like this in the middle of a result.
            gone.send(command::QUIT, b"").expect("sent");
        }
    }
    let begun = Instant::now();
    while connections(&mut client) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "a connection is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
    client.run("COMMIT");
    assert_eq!(client.rows("SELECT COUNT(*), MIN(a) FROM d.t"), vec![vec![text("500"), text("-1")]]);
}

/// The number of clients' connections; the event scheduler has a row in the process list too.
fn connections(client: &mut Client) -> usize {
    client.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE USER <> 'event_scheduler'").len()
}

/// As in MySQL from 8.0.24 on, the message waits for the client as the answer to its next request.
#[test]
fn an_idle_client_gets_the_timeout_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let (mut client, mut idle) = (server.connect(), server.connect());
    idle.run("SET wait_timeout = 1");
    let begun = Instant::now();
    while connections(&mut client) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the connection is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
    match idle.query("SELECT 1") {
        Ok(Answer::Error(4031, message)) => assert!(message.contains("inactivity"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert!(idle.query("SELECT 1").is_err());
}

#[test]
fn clients_are_told_the_number_of_the_row_that_was_inserted_or_changed() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n VARCHAR(9) UNIQUE, v INT)");
    for (sql, number) in [
        ("INSERT INTO t (n) VALUES ('a'), ('b')", 1),
        ("INSERT INTO t (n, v) VALUES ('a', 1) ON DUPLICATE KEY UPDATE v = 5", 1),
        ("INSERT INTO t (n, v) VALUES ('a', 1) ON DUPLICATE KEY UPDATE v = 5", 0),
        ("INSERT INTO t (n, v) VALUES ('a', 1), ('b', 1) ON DUPLICATE KEY UPDATE v = 6", 2),
        ("INSERT INTO t (id, n) VALUES (77, 'c')", 77),
        ("INSERT INTO t (n) VALUES ('d'), ('a') ON DUPLICATE KEY UPDATE v = 7", 78),
        ("INSERT INTO t (n) VALUES ('a') ON DUPLICATE KEY UPDATE id = 90", 90),
        ("INSERT INTO t (n) VALUES ('b') ON DUPLICATE KEY UPDATE v = 9, id = LAST_INSERT_ID(id)", 2),
        ("INSERT IGNORE INTO t (n) VALUES ('a')", 0),
        ("UPDATE t SET v = 10", 0),
    ] {
        client.send(command::QUERY, sql.as_bytes()).expect("sent");
        let done = client.read().expect("an answer");
        assert_eq!((done[0], done[2]), (0, number), "{sql}: {done:?}");
    }
    client.run("INSERT INTO t (n) VALUES ('e')");
    client.run("INSERT INTO t (n) VALUES ('a') ON DUPLICATE KEY UPDATE v = 11");
    let number = client.rows("SELECT LAST_INSERT_ID() = (SELECT id FROM t WHERE n = 'e')");
    assert_eq!(number, vec![vec![text("1")]]);
}

/// An idle client has more time than one in the middle of a request.
#[test]
fn a_begun_request_must_end_within_the_read_timeout() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("SET GLOBAL local_infile = ON");
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t";
    for begun in ["half a packet", "half a header", "half a file"] {
        let login = Login { capabilities: cap::LOCAL_FILES, ..Login::default() };
        let mut slow = Client::log_in(server.address, &login).expect("let in");
        slow.run("SET net_read_timeout = 1");
        // Idle for longer than that.
        std::thread::sleep(Duration::from_millis(1500));
        let id = slow.rows("SELECT CONNECTION_ID()")[0][0].clone();
        match begun {
            "half a packet" => slow.send_raw(&[20, 0, 0, 0, command::QUERY, b'S']).expect("sent"),
            "half a header" => slow.send_raw(&[20]).expect("sent"),
            _ => {
                assert_eq!(slow.query(load).expect("an answer"), Answer::WantsFile("f".into()));
                slow.send_raw(&[2, 0, 0, 2, b'1', b'\n', 2, 0]).expect("sent");
            }
        }
        let begin = Instant::now();
        while client.rows("SHOW PROCESSLIST").iter().any(|row| row[0] == id) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{begun}: the connection is still there");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(slow.read().is_err(), "{begun}");
    }
    assert_eq!(client.rows("SELECT COUNT(*) FROM d.t"), vec![vec![text("0")]]);
}

#[test]
fn max_allowed_packet_is_that_of_the_sessions_beginning() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "max_allowed_packet=1048576"]);
    let mut before = server.connect();
    assert_eq!(before.rows("SELECT @@max_allowed_packet"), vec![vec![text("1048576")]]);
    before.run("SET GLOBAL max_allowed_packet = 5000");
    assert_eq!(before.rows("SELECT LENGTH(REPEAT('a', 1048576))"), vec![vec![text("1048576")]]);
    let mut client = server.connect();
    assert_eq!(
        client.rows("SELECT @@max_allowed_packet, @@global.max_allowed_packet, LENGTH(REPEAT('a', 4096)), REPEAT('a', 4097)"),
        vec![vec![text("4096"), text("4096"), text("4096"), None]]
    );
    assert_eq!(client.rows(&format!("SELECT LENGTH('{}')", "x".repeat(4000))), vec![vec![text("4000")]]);
    // Documents made of rows, and stored ones.
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.j (a INT PRIMARY KEY, j JSON)");
    client.run("INSERT INTO d.j VALUES (1, CONCAT('[\"', REPEAT('a', 2500), '\"]')), (2, CONCAT('[\"', REPEAT('b', 2500), '\"]'))");
    for too_large in [
        "SELECT JSON_ARRAYAGG(j) FROM d.j",
        "SELECT JSON_OBJECTAGG(a, j) FROM d.j",
        "SELECT JSON_ARRAYAGG(j) OVER () FROM d.j",
        "UPDATE d.j SET j = JSON_ARRAY(j, j)",
        "INSERT IGNORE INTO d.j VALUES (3, JSON_ARRAY(REPEAT('a', 4096)))",
    ] {
        match client.query(too_large).expect("an answer") {
            Answer::Error(1301, message) => assert_eq!(
                message,
                "Result of json_binary::serialize() was larger than max_allowed_packet (4096) - truncated"
            ),
            other => panic!("{too_large}: {other:?}"),
        }
    }
    assert_eq!(client.rows("SELECT SUM(JSON_STORAGE_SIZE(j) < 3000) FROM d.j"), vec![vec![text("2")]]);
    // A parameter's value is sent in parts.
    let (prepared, _, _) = client.inner().prepare("SELECT LENGTH(?)").expect("prepared");
    let id = prepared.id;
    for parts in [1, 2, 1] {
        for _ in 0..parts {
            let mut part = Vec::new();
            LongData { id, parameter: 0 }.put(&mut part, &[b'x'; 3000]);
            client.send(command::STMT_SEND_LONG_DATA, &part).expect("sent");
        }
        // Nothing NULL, one type, a BLOB, and no value.
        let mut body = Vec::new();
        Execution { id, flags: 0 }.put(&mut body, &[], false);
        body.extend_from_slice(&[0, 1, field_type::BLOB, 0]);
        client.send(command::STMT_EXECUTE, &body).expect("sent");
        match (parts, client.answer().expect("an answer")) {
            (1, Answer::Rows(rows)) => assert_eq!(rows.len(), 1),
            (2, Answer::Error(1105, message)) => assert!(message.contains("max_allowed_packet"), "{message}"),
            (_, other) => panic!("{parts}: {other:?}"),
        }
    }
    client.send(command::QUERY, &[b'x'; 5000]).expect("sent");
    assert!(matches!(client.answer(), Ok(Answer::Error(1153, _))));
    assert!(client.query("SELECT 1").is_err(), "the connection has ended");
}

#[test]
fn temporary_tables_end_with_what_a_session_is_reset_by() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    for _ in 0..2 {
        client.run("CREATE TEMPORARY TABLE t SELECT 1 AS a");
        client.run("BEGIN");
        client.run("INSERT INTO t VALUES (2)");
        assert_eq!(client.rows("SELECT COUNT(*) FROM t"), vec![vec![text("2")]]);
        client.send(command::RESET_CONNECTION, b"").expect("sent");
        assert_eq!(client.answer().expect("an answer"), Answer::Done(0));
        assert!(matches!(client.query("SELECT * FROM d.t"), Ok(Answer::Error(1146, _))));
    }
    client.run("CREATE TEMPORARY TABLE d.t SELECT 1 AS a");
    server.kill();
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    assert!(matches!(client.query("SELECT * FROM d.t"), Ok(Answer::Error(1146, _))), "after a crash too");
    client.run("CREATE TABLE d.t (b INT)");
}

/// Files of mysqldump 8 and mariadb-dump, with the bytes of BLOBs unescaped.
#[test]
fn dumps_load() {
    let text = |value: &str| Some(value.to_owned());
    let dumps = [("mysqldump", "land", "0001FFFE5C2722"), ("mariadb-dump", "country", "0001FFFE27225C")];
    for (name, country, picture) in dumps {
        let path = format!("{}/../../tests/dumps/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let mut dump = std::fs::read(&path).expect("a dump");
        dump.extend_from_slice(b"SELECT 'end'");
        let by_shell = tempfile::tempdir().expect("a directory");
        let loaded = Command::new(env!("CARGO_BIN_EXE_leafline"))
            .args(["shell", &by_shell.path().display().to_string()])
            .stdin(std::fs::File::open(&path).expect("a dump"))
            .output()
            .expect("the binary runs");
        assert!(loaded.status.success() && loaded.stdout.is_empty(), "{name}: {loaded:?}");
        let by_packet = tempfile::tempdir().expect("a directory");
        let server = TestServer::start(by_packet.path(), &[]);
        let mut client = server.connect();
        client.send(command::QUERY, &dump).expect("sent");
        let mut statements = 0;
        loop {
            match client.answer().expect("an answer") {
                Answer::Done(_) => statements += 1,
                Answer::Rows(rows) => break assert_eq!(rows, vec![vec![text("end")]]),
                Answer::Error(code, message) => panic!("{name}: {code} {message} after {statements}"),
                Answer::WantsFile(path) => panic!("{name}: {path} after {statements}"),
            }
        }
        drop(client);
        for server in [TestServer::start(by_shell.path(), &[]), server] {
            let mut client = server.connect();
            client.run("USE shop");
            let tables: Vec<_> = client.rows("SHOW TABLES").into_iter().flatten().flatten().collect();
            for table in [country, "customer", "item", "orders", "v_a", "v_b"] {
                assert!(tables.iter().any(|known| known == table), "{name}: {tables:?}");
            }
            let rows = client.rows(
                "SELECT id, name, HEX(picture), bits + 0, tm, js->'$.a', score, kind, flags, changed FROM customer ORDER BY id",
            );
            let zero = ["0", "Zero", picture, "31", "-12:34:56.78", "[1, 2.5, \"x\"]", "1.5e300", "a", "x,z"];
            let found: Vec<_> = rows[0].iter().take(9).flatten().map(String::as_str).collect();
            assert_eq!(found, zero, "{name}");
            assert_eq!(rows[1][1], text("O'Neil"));
            assert_eq!(
                client.rows("SELECT descr FROM item WHERE order_id = 1 AND pos = 2"),
                vec![vec![text("%_\\")]]
            );
            assert_eq!(client.rows("SELECT name FROM v_b ORDER BY id").len(), 2);
            // Foreign keys whose parents were loaded later hold, and AUTO_INCREMENT goes on.
            assert!(matches!(
                client.query("INSERT INTO item VALUES (9, 1, NULL, NULL)"),
                Ok(Answer::Error(1452, _))
            ));
            client.run("INSERT INTO customer (name) VALUES ('next')");
            assert_eq!(client.rows("SELECT LAST_INSERT_ID()"), vec![vec![text("101")]]);
            client.run("DELETE FROM customer WHERE id = 0");
            assert_eq!(client.rows("SELECT id FROM orders"), vec![vec![text("2")]]);
            assert_eq!(client.rows("SELECT @@sql_notes, @@unique_checks"), vec![vec![text("1"), text("1")]]);
            assert!(server.terminate());
        }
    }
}

#[test]
fn files_of_the_client_are_loaded_if_both_sides_let_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))");
    let load = "LOAD DATA LOCAL INFILE '/the/client/knows' INTO TABLE t";
    assert!(matches!(client.query(load), Ok(Answer::Error(3948, _))));
    assert_eq!(client.rows("SELECT @@local_infile"), vec![vec![text("0")]]);
    client.run("SET GLOBAL local_infile = ON");
    assert_eq!(client.rows("SELECT @@local_infile"), vec![vec![text("1")]]);

    // Pieces end anywhere; a value that does not fit is a warning, and a duplicate key is ignored.
    let wants = Answer::WantsFile("/the/client/knows".into());
    assert_eq!(client.query(load).expect("an answer"), wants);
    client.send_file(&[b"1\to", b"ne\n2", b"\ttwo\n2\tagain\nx\t", b"nothing\n"]).expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Done(3));
    assert_eq!(client.rows("SHOW WARNINGS").len(), 2);
    let expected = [("0", "nothing"), ("1", "one"), ("2", "two")];
    let expected: Vec<_> = expected.iter().map(|(a, b)| vec![text(a), text(b)]).collect();
    assert_eq!(client.rows("SELECT * FROM t ORDER BY a"), expected);

    // REPLACE replaces.
    let replace = "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t";
    assert_eq!(client.query(replace).expect("an answer"), Answer::WantsFile("f".into()));
    client.send_file(&[b"2\tnew"]).expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Done(2));
    // A missing or an empty file.
    assert_eq!(client.query(load).expect("an answer"), wants);
    client.send_file(&[]).expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Done(0));
    assert!(server.terminate());
}

#[test]
fn a_load_that_fails_leaves_the_protocol_in_step() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "local_infile=ON"]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY, CHECK (a < 1000))");
    // Errors are found before a file is requested.
    assert!(matches!(client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE u"), Ok(Answer::Error(1146, _))));
    client.run("LOCK TABLES t WRITE");
    assert!(matches!(client.query("SELECT * FROM mysql.user"), Ok(Answer::Error(1100, _))));
    client.run("UNLOCK TABLES");
    let lines: Vec<u8> = (0..2000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    let pieces: Vec<&[u8]> = lines.chunks(100).collect();
    let fails = "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t";
    for _ in 0..3 {
        assert_eq!(client.query(fails).expect("an answer"), Answer::WantsFile("f".into()));
        client.send_file(&pieces).expect("sent");
        assert!(matches!(client.answer(), Ok(Answer::Error(3819, _))));
        assert_eq!(client.rows("SELECT COUNT(*) FROM t"), vec![vec![text("0")]]);
    }
    // Several statements, of which one in the middle requests a file.
    client
        .send(command::QUERY, b"SELECT 1; LOAD DATA LOCAL INFILE 'g' INTO TABLE t; SELECT 3")
        .expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Rows(vec![vec![text("1")]]));
    assert_eq!(client.answer().expect("an answer"), Answer::WantsFile("g".into()));
    client.send_file(&[b"7\n8\n"]).expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Done(2));
    assert_eq!(client.answer().expect("an answer"), Answer::Rows(vec![vec![text("3")]]));
    // A statement that is killed while it reads.
    let id = client.rows("SELECT CONNECTION_ID()")[0][0].clone().expect("a number");
    assert_eq!(
        client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t").expect("an answer"),
        Answer::WantsFile("f".into())
    );
    server.connect().run(&format!("KILL QUERY {id}"));
    client.send_file(&[b"20\n21\n"]).expect("sent");
    assert!(matches!(client.answer(), Ok(Answer::Error(1317, _))));
    assert_eq!(client.rows("SELECT a FROM t"), vec![vec![text("7")], vec![text("8")]]);
    // The rows of a client that goes away in the middle are not stored.
    let mut gone = server.connect();
    assert_eq!(
        gone.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t").expect("an answer"),
        Answer::WantsFile("f".into())
    );
    drop(gone);
    client.run("ALTER TABLE t COMMENT 'nobody uses it'");
    assert_eq!(client.rows("SELECT COUNT(*) FROM t"), vec![vec![text("2")]]);
    assert!(server.terminate());
}

/// COM_STMT_PREPARE counts parameters with two bytes.
#[test]
fn prepared_statements_have_up_to_65535_parameters() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    let sql =
        |count: usize| format!("SELECT 1 FROM (SELECT 1 AS a) t WHERE a IN ({}?)", "?,".repeat(count - 1));
    client.send(command::STMT_PREPARE, sql(65_536).as_bytes()).expect("sent");
    let refused = client.answer().expect("an answer");
    assert!(matches!(refused, Answer::Error(1390, _)), "{refused:?}");
    let (prepared, parameters, columns) = client.inner().prepare(&sql(60_000)).expect("prepared");
    assert_eq!((prepared.parameters, parameters.len(), columns.len()), (60_000, 60_000, 1));
    let (seven, one) = (Value::Int(7), Value::Int(1));
    let mut parameters = vec![("", &seven); 59_999];
    parameters.push(("", &one));
    let mut body = Vec::new();
    Execution { id: prepared.id, flags: 0 }.put(&mut body, &parameters, false);
    client.send(command::STMT_EXECUTE, &body).expect("sent");
    let columns = client.read().expect("an answer");
    assert_eq!(columns, [1], "{}", String::from_utf8_lossy(&columns));
    let definition = client.read().expect("a column");
    let definition = ColumnDefinition::read(&mut Reader::new(&definition)).expect("a definition");
    let row = client.read().expect("a row");
    assert_eq!(read_row(&row, &[definition], Charset::Utf8mb4), Ok(vec![Value::Int(1)]));
    client.read().expect("the end");
    assert_eq!(client.rows("SELECT 2"), vec![vec![text("2")]]);
    assert!(server.terminate());
}

/// Statements about all tables succeed while some of the tables are dropped and rebuilt.
#[test]
fn statistics_of_all_tables_are_read_beside_ddl() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.quiet (a INT PRIMARY KEY, b INT, KEY (b))");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (done, mut other) = (&done, server.connect());
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    other.run(&format!("CREATE TABLE d.t{number} (a INT PRIMARY KEY, b INT, KEY (b))"));
                    other.run(&format!("INSERT INTO d.t{number} VALUES (1, 1), (2, 2)"));
                    other.run(&format!("ALTER TABLE d.t{number} ENGINE=InnoDB, ALGORITHM=COPY"));
                    other.run(&format!("ALTER TABLE d.t{number} ADD KEY (a, b)"));
                    other.run(&format!("DROP TABLE d.t{number}"));
                }
            });
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            client.rows("SELECT * FROM information_schema.STATISTICS");
            client.rows("SELECT * FROM information_schema.INNODB_INDEX_STATS");
            client.rows("SHOW INDEX FROM d.quiet");
            match client.query("SHOW INDEX FROM d.t0").expect("an answer") {
                Answer::Rows(_) | Answer::Error(1146, _) => {}
                other => panic!("{other:?}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(server.terminate());
}

/// Django's `test_implicit_savepoint_rollback`. Of two transactions that have done as much, the one whose statement
/// closes the cycle is rolled back, as in InnoDB, whichever began first.
#[test]
fn the_transaction_that_closes_a_deadlock_is_rolled_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    for main_is_first in [true, false] {
        let (mut main, mut other) = (server.connect(), server.connect());
        main.run("CREATE DATABASE IF NOT EXISTS d");
        main.run("DROP TABLE IF EXISTS d.reporter");
        main.run("CREATE TABLE d.reporter (id INT PRIMARY KEY, name VARCHAR(30) NOT NULL DEFAULT '')");
        main.run("INSERT INTO d.reporter (id) VALUES (1), (2)");
        let lock = |client: &mut Client, id: u32| {
            client.run("BEGIN");
            client.run(&format!("SELECT id FROM d.reporter WHERE id = {id} FOR UPDATE"));
        };
        if main_is_first {
            lock(&mut main, 2);
            lock(&mut other, 1);
        } else {
            lock(&mut other, 1);
            lock(&mut main, 2);
        }
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || other.run("UPDATE d.reporter SET id = 2 WHERE NOT (id = 1)"));
            let begun = Instant::now();
            let mut watcher = server.connect();
            let waiting = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
            while watcher.rows(waiting) != vec![vec![text("1")]] {
                assert!(begun.elapsed() < Duration::from_secs(60), "nobody waits");
                std::thread::sleep(Duration::from_millis(5));
            }
            let closed = main.query("UPDATE d.reporter SET id = 1 WHERE NOT (id = 2)").expect("an answer");
            assert!(matches!(closed, Answer::Error(1213, _)), "{closed:?}");
            assert_eq!(waits.join().expect("a thread"), Answer::Done(0));
        });
    }
    assert!(server.terminate());
}
