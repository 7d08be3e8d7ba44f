//! Tests features that clients negotiate with the server: compression, cursors, query attributes, session tracking;
//! packets of any length, and many connections.

mod support;

use leafline_protocol::binary::parameter::{Parameter, put_attributes};
use leafline_protocol::binary::row::read_row;
use leafline_protocol::bytes::Reader;
use leafline_protocol::column::ColumnDefinition;
use leafline_protocol::prepared::{CURSOR, Execution, Fetch, HAS_COUNT};
use leafline_protocol::reply::{OkPacket, StateChange, read_error};
use leafline_protocol::{capability as cap, command, status};
use leafline_server::tls::CERTIFICATE_NAME;
use leafline_types::{Charset, Value};
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client, Login};

fn text(value: &str) -> Option<String> {
    Some(value.into())
}

fn with(server: &TestServer, capabilities: u32) -> Client {
    Client::log_in(server.address, &Login { capabilities, ..Login::default() }).expect("let in")
}

/// Prepares a statement; returns its number and its columns.
fn prepare(client: &mut Client, sql: &str) -> (u32, Vec<ColumnDefinition>) {
    let (prepared, _, columns) = client.inner().prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    (prepared.id, columns)
}

/// Sends the execution of a prepared statement.
fn send_execution(client: &mut Client, execution: Execution, parameters: &[Parameter<'_>], named: bool) {
    let mut body = Vec::new();
    execution.put(&mut body, parameters, named);
    client.send(command::STMT_EXECUTE, &body).expect("sent");
}

/// Returns the status in a packet that ends rows.
fn end_status(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xfe, "{packet:?}");
    OkPacket::read(packet, cap::DEPRECATE_EOF).expect("the end of rows").status
}

/// PHP's `multi_query` allows several statements for one call only.
#[test]
fn several_statements_in_one_are_allowed_and_forbidden_at_any_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    let set = |client: &mut Client, option: u8| {
        client.send(command::SET_OPTION, &[option, 0]).expect("sent");
        client.read().expect("an answer")
    };
    for _ in 0..2 {
        assert_eq!(client.run("DO 1; DO 2"), Answer::Done(0));
        assert_eq!(client.answer().expect("the second"), Answer::Done(0));
        assert_eq!(set(&mut client, 1)[0], 0xfe, "not an OK");
        assert!(matches!(client.query("DO 1; DO 2"), Ok(Answer::Error(1064, _))));
        assert_eq!(set(&mut client, 0)[0], 0xfe);
    }
    assert_eq!(set(&mut client, 7)[..3], [0xff, 0x17, 0x04], "1047");
    client.send(command::SET_OPTION, &[]).expect("sent");
    assert!(matches!(client.answer(), Ok(Answer::Error(1047, _))));
    assert!(server.terminate());
}

#[test]
fn commands_bytes_and_ends_of_connections_are_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    let mut value = |name: &str| -> u64 {
        let shown = client.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        shown[0][1].as_deref().and_then(|value| value.parse().ok()).expect("a number")
    };
    assert_eq!((value("Aborted_clients"), value("Aborted_connects")), (0, 0));
    let (received, sent) = (value("Bytes_received"), value("Bytes_sent"));
    {
        let mut other = server.connect();
        other.send(command::PING, &[]).expect("sent");
        assert_eq!(other.answer().expect("an answer"), Answer::Done(0));
        other.send(command::INIT_DB, b"information_schema").expect("sent");
        assert_eq!(other.answer().expect("an answer"), Answer::Done(0));
        assert_eq!(other.rows("SELECT REPEAT('a', 10000)")[0][0].as_deref().map(str::len), Some(10_000));
        // The server closes without a message.
        other.end_sending();
        while other.read().is_ok() {}
    }
    assert_eq!((value("Com_admin_commands"), value("Com_change_db")), (1, 1));
    let wrong = Login { user: "nobody", ..Login::default() };
    assert!(Client::log_in(server.address, &wrong).is_err());
    let deadline = Instant::now() + Duration::from_secs(30);
    while (value("Aborted_clients"), value("Aborted_connects")) != (1, 1) {
        assert!(Instant::now() < deadline, "not counted");
    }
    // A session's counters are added to the server's when it ends.
    while value("Bytes_sent") <= sent + 10_000 || value("Bytes_received") <= received + 30 {
        assert!(Instant::now() < deadline, "not counted");
    }
    assert!(value("Max_used_connections") == 2 && value("Threads_running") == 1);
    assert!(server.terminate());
}

#[test]
fn packets_go_compressed_by_either_algorithm() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let certificate = directory.path().join(CERTIFICATE_NAME);
    for (flag, algorithm, level) in
        [(cap::COMPRESS, "zlib", "6"), (cap::ZSTD, "zstd", "7"), (cap::COMPRESS | cap::ZSTD, "zlib", "6")]
    {
        for tls in [None, Some(certificate.as_path())] {
            let login = Login { capabilities: flag, tls, ..Login::default() };
            let mut client = Client::log_in(server.address, &login).expect("let in");
            let shown = client.rows("SHOW STATUS LIKE 'Compression%'");
            let values: Vec<_> = shown.iter().map(|row| row[1].as_deref().unwrap_or_default()).collect();
            assert_eq!(values, ["ON", algorithm, level]);
            // Long in both directions, and hard to compress.
            let long: String =
                (0..3_000_000u64).map(|n| char::from(b'!' + (n.wrapping_mul(n) >> 7) as u8 % 90)).collect();
            let long = long.replace(['\'', '\\'], "_");
            assert_eq!(client.rows(&format!("SELECT '{long}'")), vec![vec![Some(long)]]);
            let many = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 300) SELECT a.n FROM r a, r b";
            assert_eq!(client.rows(many).len(), 90_000);
            client.change_user(&login).expect("let in");
            assert_eq!(client.rows("SELECT 1; "), vec![vec![text("1")]]);
        }
    }
    let mut client = server.connect();
    client.run("SET GLOBAL protocol_compression_algorithms = 'zstd,uncompressed'");
    assert_eq!(client.rows("SHOW VARIABLES LIKE 'protocol_compression%'")[0][1], text("zstd,uncompressed"));
    for wrong in ["'lz4,uncompressed'", "'zstd'", "''"] {
        let answer = client.query(&format!("SET GLOBAL protocol_compression_algorithms = {wrong}"));
        assert!(matches!(answer, Ok(Answer::Error(1231 | 1235, _))), "{wrong}: {answer:?}");
    }
    assert!(server.terminate());
}

#[test]
fn malformed_compression_ends_only_its_connection() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    for flag in [cap::COMPRESS, cap::ZSTD] {
        for bytes in [
            &[9, 0, 0, 0, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9][..],
            &[0; 7],
            &[1, 0, 0, 7, 0, 0, 0, 1],
            &[0xff; 40],
        ] {
            let mut client = with(&server, flag);
            client.send_raw(bytes).expect("sent");
            client.end_sending();
            while client.read().is_ok() {}
        }
    }
    server.connect().run("SELECT 1");
    assert!(server.terminate());
}

#[test]
fn rows_of_a_cursor_are_fetched_some_at_a_time_whatever_comes_between() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(400))");
    let rows: Vec<String> = (0..2000).map(|n| format!("({n}, REPEAT('x', 300))")).collect();
    client.run(&format!("INSERT INTO d.t VALUES {}", rows.join(", ")));
    let (id, columns) = prepare(&mut client, "SELECT a, b FROM d.t WHERE a >= ? ORDER BY a");
    let (other, _) = prepare(&mut client, "SELECT 7");
    let execute = |client: &mut Client, from: i64| {
        send_execution(client, Execution { id, flags: CURSOR }, &[("", &Value::Int(from))], false);
        assert_eq!(client.read().expect("a count"), [2]);
        (0..2).for_each(|_| drop(client.read().expect("a definition")));
        assert_ne!(end_status(&client.read().expect("the end")) & status::CURSOR_EXISTS, 0);
    };
    let send_fetch = |client: &mut Client, id: u32, rows: u32| {
        let mut body = Vec::new();
        Fetch { id, rows }.put(&mut body);
        client.send(command::STMT_FETCH, &body).expect("sent");
    };
    let fetch = |client: &mut Client, count: u32| {
        send_fetch(client, id, count);
        let mut keys = Vec::new();
        loop {
            let packet = client.read().expect("a row");
            if packet[0] == 0 {
                let row = read_row(&packet, &columns, Charset::Utf8mb4).expect("a row");
                let Value::Int(key) = row[0] else { panic!("{row:?}") };
                keys.push(key as u32);
                continue;
            }
            return (keys, end_status(&packet));
        }
    };
    execute(&mut client, 100);
    client.run("DELETE FROM d.t WHERE a > 500");
    let mut expected = 100;
    for count in [1, 10, 500, 0, 1000] {
        let (keys, end) = fetch(&mut client, count);
        assert_eq!(keys, (expected..expected + count).collect::<Vec<_>>());
        assert_ne!(end & status::CURSOR_EXISTS, 0);
        expected += count;
        assert_eq!(client.rows("SELECT COUNT(*) FROM d.t"), vec![vec![text("501")]]);
    }
    assert!(
        std::fs::read_dir(directory.path().join("temp")).expect("a directory").count() > 0,
        "few are in memory"
    );
    let (keys, end) = fetch(&mut client, 1000);
    assert_eq!(keys, (expected..2000).collect::<Vec<_>>());
    assert_eq!(end & (status::LAST_ROW_SENT | status::CURSOR_EXISTS), status::LAST_ROW_SENT);
    let error = |client: &mut Client| match client.answer().expect("an answer") {
        Answer::Error(code, _) => code,
        other => panic!("{other:?}"),
    };
    for (id, code) in [(id, 1421), (other, 1421), (9999, 1243)] {
        send_fetch(&mut client, id, 1);
        assert_eq!(error(&mut client), code, "all was fetched, nothing was executed, there is none");
    }
    client.send(command::STMT_FETCH, &[1, 0, 0, 0]).expect("sent");
    assert_eq!(error(&mut client), 1835);
    // A cursor that is closed early leaves no file.
    execute(&mut client, 0);
    fetch(&mut client, 3);
    client.send(command::STMT_RESET, &id.to_le_bytes()).expect("sent");
    assert_eq!(client.answer().expect("an answer"), Answer::Done(0));
    send_fetch(&mut client, id, 1);
    assert_eq!(error(&mut client), 1421);
    execute(&mut client, 0);
    execute(&mut client, 499);
    assert_eq!(fetch(&mut client, 9).0, [499, 500]);
    client.send(command::STMT_CLOSE, &id.to_le_bytes()).expect("sent");
    client.run("SELECT 1");
    assert_eq!(std::fs::read_dir(directory.path().join("temp")).expect("a directory").count(), 0);
    send_execution(&mut client, Execution { id: other, flags: 2 }, &[], false);
    assert!(matches!(client.answer(), Ok(Answer::Error(1235, _))), "a cursor to write by");
    assert!(server.terminate());
}

#[test]
fn statements_come_with_attributes() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = with(&server, cap::QUERY_ATTRIBUTES);
    let query = |attributes: &[(&str, &str)], sql: &str| {
        let values: Vec<Value> = attributes.iter().map(|(_, value)| Value::string(*value)).collect();
        let names = attributes.iter().map(|(name, _)| *name);
        let mut body = Vec::new();
        put_attributes(&mut body, &names.zip(&values).collect::<Vec<_>>());
        body.extend_from_slice(sql.as_bytes());
        body
    };
    let sql = "SELECT mysql_query_attribute_string('trace'), mysql_query_attribute_string('n')";
    let mut rows = |attributes: &[(&str, &str)]| {
        client.send(command::QUERY, &query(attributes, sql)).expect("sent");
        client.answer().expect("an answer")
    };
    assert_eq!(rows(&[("trace", "é 7"), ("other", "x")]), Answer::Rows(vec![vec![text("é 7"), None]]));
    assert_eq!(rows(&[("n", "1"), ("trace", "8")]), Answer::Rows(vec![vec![text("8"), text("1")]]));
    assert_eq!(rows(&[]), Answer::Rows(vec![vec![None, None]]), "they are of one statement");
    // A parameter without a name, and an attribute behind it.
    let (id, _) = prepare(&mut client, "SELECT CONCAT(?, '-', mysql_query_attribute_string('trace'))");
    let (parameter, attribute) = (Value::string("p"), Value::string("9"));
    let parameters = [("", &parameter), ("trace", &attribute)];
    send_execution(&mut client, Execution { id, flags: HAS_COUNT }, &parameters, true);
    (0..2).for_each(|_| drop(client.read().expect("columns")));
    assert_eq!(client.read().expect("a row")[2..], *b"\x03p-9");
    client.read().expect("the end");
    for wrong in [&b""[..], &[1], &[2, 2], &[1, 1, 0, 1, 254, 0, 9]] {
        client.send(command::QUERY, wrong).expect("sent");
        assert!(matches!(client.answer(), Ok(Answer::Error(1835, _))), "{wrong:?}");
    }
    assert_eq!(server.connect().rows(sql), vec![vec![None, None]], "a client that sends none");
}

/// Returns the session changes in an OK packet, each behind the number of its kind.
fn changes(packet: &[u8]) -> Vec<String> {
    let ok = OkPacket::read(packet, cap::SESSION_TRACK | cap::DEPRECATE_EOF).expect("an OK");
    let told = ok.changes.iter().map(|change| match change {
        StateChange::Variable { name, value } => format!("0 {name}={value}"),
        StateChange::Schema(name) => format!("1 {name}"),
        StateChange::State => "2 1".to_owned(),
        StateChange::Transaction(state) => format!("5 {state}"),
    });
    told.collect()
}

#[test]
fn clients_are_told_what_changes_of_their_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = with(&server, cap::SESSION_TRACK);
    let mut told = |code: u8, body: &str| {
        client.send(code, body.as_bytes()).expect("sent");
        let mut packet = client.read().expect("an answer");
        // Rows: reads the packet that ends them.
        while packet[0] != 0 && packet[0] != 0xfe {
            assert_ne!(packet[0], 0xff, "{body}: {}", String::from_utf8_lossy(&packet));
            packet = client.read().expect("a packet");
        }
        changes(&packet)
    };
    let nothing: [&str; 0] = [];
    assert_eq!(told(command::QUERY, "CREATE DATABASE d"), nothing);
    assert_eq!(told(command::QUERY, "USE d"), ["1 d"]);
    assert_eq!(told(command::INIT_DB, "mysql"), ["1 mysql"]);
    assert_eq!(told(command::QUERY, "SET time_zone = '+02:00', sql_mode = ''"), ["0 time_zone=+02:00"]);
    assert_eq!(
        told(command::QUERY, "SET NAMES utf8mb4"),
        [
            "0 character_set_client=utf8mb4",
            "0 character_set_connection=utf8mb4",
            "0 character_set_results=utf8mb4"
        ]
    );
    assert_eq!(
        told(
            command::QUERY,
            "SET session_track_schema = OFF, session_track_system_variables = 'sql_mode', session_track_state_change = ON"
        ),
        ["2 1"]
    );
    assert_eq!(told(command::QUERY, "USE d"), ["2 1"]);
    assert_eq!(told(command::QUERY, "SET sql_mode = 'ANSI_QUOTES'"), ["0 sql_mode=ANSI_QUOTES", "2 1"]);
    assert_eq!(told(command::QUERY, "SET @a = 1"), ["2 1"]);
    assert_eq!(told(command::QUERY, "CREATE TABLE t (a INT PRIMARY KEY)"), nothing);
    assert_eq!(
        told(
            command::QUERY,
            "SET session_track_state_change = OFF, session_track_transaction_info = 'STATE'"
        ),
        ["5 ________"]
    );
    assert_eq!(told(command::QUERY, "BEGIN"), ["5 T_______"]);
    assert_eq!(told(command::QUERY, "INSERT INTO t VALUES (1)"), ["5 T___W___"]);
    assert_eq!(told(command::QUERY, "SELECT * FROM t"), ["5 T_R_W_S_"]);
    assert_eq!(told(command::QUERY, "INSERT INTO t VALUES (2)"), nothing);
    assert_eq!(told(command::QUERY, "COMMIT"), ["5 ________"]);
    assert_eq!(told(command::QUERY, "SET autocommit = 0"), nothing);
    assert_eq!(told(command::QUERY, "DELETE FROM t"), ["5 I___W___"]);
    assert_eq!(told(command::QUERY, "ROLLBACK"), ["5 ________"]);
    assert_eq!(told(command::QUERY, "LOCK TABLES t READ"), ["5 _______L"]);
    assert_eq!(told(command::QUERY, "UNLOCK TABLES"), ["5 ________"]);
    let mut plain = server.connect();
    plain.send(command::QUERY, b"USE d").expect("sent");
    assert_eq!(plain.read().expect("an answer").len(), 7, "a client that does not ask");
    let refused = plain.query("SET session_track_system_variables = 'no_such'");
    assert!(matches!(refused, Ok(Answer::Error(1193, _))), "{refused:?}");
}

#[test]
fn the_columns_of_a_table_are_listed() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE `a``b` (id INT, name VARCHAR(9), nation INT)");
    let mut names = |body: &[u8]| {
        client.send(command::FIELD_LIST, body).expect("sent");
        let mut names = Vec::new();
        loop {
            let packet = client.read().expect("a definition");
            match packet[0] {
                0xfe => return Ok(names),
                0xff => return Err(read_error(&packet).expect("an error").code),
                _ => {}
            }
            names.push(ColumnDefinition::read(&mut Reader::new(&packet)).expect("a definition").name);
        }
    };
    assert_eq!(names(b"a`b\0"), Ok(vec!["id".into(), "name".into(), "nation".into()]));
    assert_eq!(names(b"a`b\0NA%"), Ok(vec!["name".into(), "nation".into()]));
    assert_eq!(names(b"missing\0"), Err(1146));
    assert_eq!(names(b"no end"), Err(1835));
}

/// Packets of exactly the length after which another must follow, and longer ones.
#[test]
fn packets_beyond_sixteen_mebibytes_go_both_ways() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    for flag in [0, cap::COMPRESS] {
        let mut client = with(&server, flag);
        let around = "SELECT LENGTH(''), ''".len();
        for length in [0xff_ffff - 1 - around - 1, 0xff_ffff - 1 - around, 0xff_ffff - around, 20 << 20] {
            let long = "x".repeat(length);
            let rows = client.rows(&format!("SELECT LENGTH('{long}'), ''"));
            assert_eq!(rows, vec![vec![Some(length.to_string()), text("")]]);
        }
        for length in [0xff_ffff - 4, 0xff_ffff - 3, 40 << 20] {
            let rows = client.rows(&format!("SELECT REPEAT('x', {length})"));
            assert_eq!(rows[0][0].as_ref().map(String::len), Some(length));
        }
    }
    assert!(server.terminate());
}

#[test]
fn a_thousand_connections_that_are_idle_do_not_disturb_the_others() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .expect("as many files as there may be");
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "max_connections=1100"]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, b INT)");
    let before = server.resident_bytes();
    let mut idle: Vec<Client> = (0..1000)
        .map(|n| {
            let mut client = server.connect();
            client.run(&format!("INSERT INTO d.t (b) VALUES ({n})"));
            client
        })
        .collect();
    let each = server.resident_bytes().saturating_sub(before) / 1000;
    println!("{each} bytes a connection");
    assert!(each < 256 << 10, "{each} bytes a connection");
    let of_clients = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER <> 'event_scheduler'";
    assert_eq!(client.rows(of_clients), vec![vec![text("1001")]]);
    let begun = Instant::now();
    (0..200).for_each(|_| drop(client.rows("SELECT * FROM d.t WHERE a = 7")));
    println!("200 reads in {:?}", begun.elapsed());
    idle.iter_mut()
        .step_by(100)
        .for_each(|idle| assert_eq!(idle.rows("SELECT COUNT(*) FROM d.t"), vec![vec![text("1000")]]));
    drop(idle);
    let begun = Instant::now();
    while client.rows(of_clients) != vec![vec![text("1")]] {
        assert!(begun.elapsed() < Duration::from_secs(60), "they are still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.terminate());
}

/// MySQL lets queries nest 63 levels deep; planning and running them needs stack.
#[test]
fn queries_nest_63_levels_deep() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT, b INT, KEY (a))");
    client.run("INSERT INTO t VALUES (1, 2), (2, 3), (3, 4)");
    const LEVELS: usize = 62;
    let among = "SELECT a FROM t WHERE a IN (".repeat(LEVELS);
    let exists: String = (1..LEVELS)
        .map(|n| format!("SELECT 1 FROM t t{n} WHERE t{n}.a = t{}.a AND EXISTS (", n - 1))
        .collect();
    let derived: String = (0..LEVELS).map(|n| format!(") d{n}")).collect();
    let ends = ")".repeat(LEVELS);
    for (sql, rows) in [
        (format!("{among}SELECT a FROM t{ends}"), 3),
        (format!("SELECT a FROM t t0 WHERE EXISTS ({exists}SELECT 1 FROM t x WHERE x.b = 3{ends}"), 3),
        (format!("SELECT {}1{}", "(SELECT a + ".repeat(LEVELS), " FROM t LIMIT 1)".repeat(LEVELS)), 1),
        (format!("{}SELECT a FROM t{derived}", "SELECT * FROM (".repeat(LEVELS)), 3),
    ] {
        let found = match client.query(&sql) {
            Ok(Answer::Rows(found)) => found.len(),
            other => panic!("{other:?}: {sql:.80}"),
        };
        assert_eq!(found, rows, "{sql:.80}");
    }
    let too_deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(matches!(client.query(&too_deep), Ok(Answer::Error(1436, _))));
    assert!(server.terminate());
}
