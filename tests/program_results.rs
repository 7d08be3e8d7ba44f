//! Tests the results of stored programs over the wire: result sets of CALL one after the other, OUT parameters of prepared
//! CALLs, errors and KILL in between, and clients that leave before the last result.

mod support;

use leafline_protocol::binary::row;
use leafline_protocol::bytes::Reader;
use leafline_protocol::column::ColumnDefinition;
use leafline_protocol::handshake::{CACHING_SHA2_PASSWORD, HandshakeResponse};
use leafline_protocol::packet::PacketStream;
use leafline_protocol::prepared::{CURSOR, Execution, Prepared};
use leafline_protocol::reply::{self, OkPacket, read_error};
use leafline_protocol::{capability as cap, command, status, text};
use leafline_types::{Charset, Value};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client};

/// The capabilities of a client that reads several results, also of prepared statements.
const SEVERAL: u32 = cap::MULTI_RESULTS | cap::PS_MULTI_RESULTS;
/// The capabilities that every client here has.
const BASE: u32 =
    cap::LONG_PASSWORD | cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH | cap::TRANSACTIONS;

/// One result of a command.
#[derive(Debug, PartialEq)]
enum Part {
    /// Rows, the status bits about results in the packet after the columns (0 for a client without that packet) and in
    /// the one after the rows.
    Rows { rows: Vec<Vec<Option<String>>>, before: u16, after: u16 },
    /// The end: affected rows, and the status bits about results.
    Done(u64, u16),
    /// An error.
    Error(u16),
}

/// A client that has exactly the capabilities that it is made with.
struct Bare {
    packets: PacketStream<TcpStream>,
    packet: Vec<u8>,
    capabilities: u32,
    id: u32,
}

impl Bare {
    fn log_in(address: SocketAddr, capabilities: u32) -> Bare {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
        let capabilities = capabilities | BASE;
        let packets = PacketStream::new(stream, 1 << 24);
        let mut client = Bare { packets, packet: Vec::new(), capabilities, id: 0 };
        client.read();
        let greeting = leafline_protocol::handshake::Greeting::read(&client.packet).expect("a greeting");
        client.id = greeting.connection_id;
        let response = HandshakeResponse {
            capabilities,
            collation: 45,
            user: "root".into(),
            authentication: Vec::new(),
            database: None,
            plugin: Some(CACHING_SHA2_PASSWORD.into()),
            compression: None,
            attributes: Vec::new(),
        };
        client.packets.write(|out| response.put(out)).expect("sent");
        client.packets.flush().expect("sent");
        client.read();
        assert_eq!(client.packet.first(), Some(&reply::OK), "{:?}", client.packet);
        client
    }

    fn read(&mut self) {
        assert!(self.packets.read(&mut self.packet).expect("a packet"), "the connection has ended");
    }

    fn send(&mut self, code: u8, body: &[u8]) {
        self.packets.begin_command();
        self.packets
            .write(|out| [&[code], body].concat().iter().for_each(|byte| out.push(*byte)))
            .expect("sent");
        self.packets.flush().expect("sent");
    }

    fn status(&self) -> u16 {
        let all = OkPacket::read(&self.packet, self.capabilities).expect("an end").status;
        all & (status::MORE_RESULTS | status::PS_OUT_PARAMS | status::CURSOR_EXISTS)
    }

    /// Reads the next result.
    fn part(&mut self, is_binary: bool) -> Part {
        self.read();
        match self.packet.first() {
            Some(&reply::OK) => {
                let done = OkPacket::read(&self.packet, self.capabilities).expect("an OK").affected;
                return Part::Done(done, self.status());
            }
            Some(&reply::ERROR) => return Part::Error(read_error(&self.packet).expect("an error").code),
            _ => {}
        }
        let count = Reader::new(&self.packet).length().expect("a count");
        let columns: Vec<ColumnDefinition> = (0..count).map(|_| self.definition()).collect();
        let mut before = 0;
        if self.capabilities & cap::DEPRECATE_EOF == 0 {
            self.read();
            before = self.status();
        }
        let mut rows = Vec::new();
        loop {
            self.read();
            match self.packet.first() {
                Some(&reply::END) => return Part::Rows { rows, before, after: self.status() },
                Some(&reply::ERROR) => return Part::Error(read_error(&self.packet).expect("an error").code),
                _ => rows.push(self.row(&columns, is_binary)),
            }
        }
    }

    fn definition(&mut self) -> ColumnDefinition {
        self.read();
        ColumnDefinition::read(&mut Reader::new(&self.packet)).expect("a column")
    }

    fn row(&self, columns: &[ColumnDefinition], is_binary: bool) -> Vec<Option<String>> {
        if is_binary {
            let values = row::read_row(&self.packet, columns, Charset::Utf8mb4).expect("a row");
            return values.iter().map(shown).collect();
        }
        let mut places = Vec::new();
        text::read_row(&self.packet, columns.len(), &mut places).expect("a row");
        let of = |place| String::from_utf8_lossy(&self.packet[place]).into_owned();
        places.into_iter().map(|place| place.map(of)).collect()
    }

    /// Reads all results of a command, to the first without MORE_RESULTS.
    fn parts(&mut self, is_binary: bool) -> Vec<Part> {
        let mut parts = Vec::new();
        loop {
            parts.push(self.part(is_binary));
            match parts.last() {
                Some(Part::Rows { after, .. }) if after & status::MORE_RESULTS != 0 => {}
                Some(Part::Done(_, after)) if after & status::MORE_RESULTS != 0 => {}
                _ => return parts,
            }
        }
    }

    fn query(&mut self, sql: &str) -> Vec<Part> {
        self.send(command::QUERY, sql.as_bytes());
        self.parts(false)
    }

    /// Prepares a statement without columns.
    fn prepare(&mut self, sql: &str) -> u32 {
        self.send(command::STMT_PREPARE, sql.as_bytes());
        self.read();
        let prepared = Prepared::read(&self.packet).expect("prepared");
        assert_eq!(prepared.columns, 0, "{sql}");
        (0..prepared.parameters).for_each(|_| drop(self.definition()));
        if prepared.parameters > 0 && self.capabilities & cap::DEPRECATE_EOF == 0 {
            self.read();
        }
        prepared.id
    }

    fn execute(&mut self, id: u32, flags: u8, values: &[Value]) -> Vec<Part> {
        let parameters: Vec<_> = values.iter().map(|value| ("", value)).collect();
        let mut body = Vec::new();
        Execution { id, flags }.put(&mut body, &parameters, false);
        self.send(command::STMT_EXECUTE, &body);
        self.parts(true)
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        other => other.as_str().map(str::to_owned).or_else(|| Some(format!("{other:?}"))),
    }
}

/// One row of texts.
fn one(values: &[&str]) -> Vec<Vec<Option<String>>> {
    vec![values.iter().map(|value| Some((*value).to_owned())).collect()]
}

const MORE: u16 = status::MORE_RESULTS;

/// Rows with another result behind them, as a client with these capabilities gets them.
fn with_more(capabilities: u32, rows: Vec<Vec<Option<String>>>) -> Part {
    let before = if capabilities & cap::DEPRECATE_EOF == 0 { MORE } else { 0 };
    Part::Rows { rows, before, after: MORE }
}

/// A server with procedures that give 0, 1 and 3 results, and one with an error behind its first result.
fn served() -> (tempfile::TempDir, TestServer, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    for sql in [
        "CREATE PROCEDURE none() INSERT INTO t VALUES (1), (2)",
        "CREATE PROCEDURE one() SELECT 1, 'x'",
        "CREATE PROCEDURE three() BEGIN SELECT 1; SELECT 2 WHERE FALSE; DELETE FROM t; SELECT 'c', NULL; END",
        "CREATE PROCEDURE fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 5000; SELECT 2; END",
        "CREATE PROCEDURE fails_late() BEGIN SELECT 1; SELECT a, (SELECT 1 UNION SELECT a) FROM t; SELECT 2; END",
        "CREATE PROCEDURE outs(IN i INT, OUT o VARCHAR(20), INOUT b BIGINT) BEGIN SET o = CONCAT('got ', i), b = b + i; END",
        "CREATE PROCEDURE outs_and_rows(OUT o INT) BEGIN SELECT 7; SET o = 8; END",
        "CREATE PROCEDURE fails_after_out(OUT o INT) BEGIN SET o = 8; SIGNAL SQLSTATE '45000'; END",
        "CREATE PROCEDURE spins() BEGIN DECLARE i BIGINT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET i = 0; \
         SELECT 1; WHILE i < 100000000000 DO SET i = i + 1; END WHILE; SELECT 2; END",
        "CREATE FUNCTION spin() RETURNS INT NO SQL BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RETURN 3; \
         LOOP SET @spins = 1; END LOOP; RETURN 1; END",
    ] {
        client.run(sql);
    }
    (directory, server, client)
}

#[test]
fn call_gives_its_result_sets_and_then_an_ok() {
    let (_directory, server, _client) = served();
    for capabilities in [SEVERAL, SEVERAL | cap::DEPRECATE_EOF] {
        let more = |rows| with_more(capabilities, rows);
        let mut client = Bare::log_in(server.address, capabilities);
        client.query("USE d");
        let three = || vec![more(one(&["1"])), more(Vec::new()), more(vec![vec![Some("c".into()), None]])];
        assert_eq!(client.query("CALL none()"), [Part::Done(2, 0)]);
        assert_eq!(client.query("CALL one()"), [more(one(&["1", "x"])), Part::Done(0, 0)]);
        let mut all = client.query("CALL three()");
        assert_eq!(all.pop(), Some(Part::Done(0, 0)));
        assert_eq!(all, three());
        assert_eq!(client.query("CALL fails()"), [more(one(&["1"])), Part::Error(5000)]);
        assert_eq!(client.query("CALL none()"), [Part::Done(2, 0)], "the connection goes on");
        assert_eq!(client.query("CALL fails_late()"), [more(one(&["1"])), Part::Error(1242)]);
        let id = ["CALL none()", "CALL one()", "CALL three()", "CALL fails()"].map(|sql| client.prepare(sql));
        for _ in 0..2 {
            client.query("DELETE FROM t");
            // A cursor is asked for, and CALL has none.
            for flags in [0, CURSOR] {
                assert_eq!(client.execute(id[0], flags, &[]), [Part::Done(2, 0)]);
                assert_eq!(client.execute(id[1], flags, &[]), [more(one(&["1", "x"])), Part::Done(0, 0)]);
                let mut all = client.execute(id[2], flags, &[]);
                assert_eq!(all.pop(), Some(Part::Done(0, 0)));
                assert_eq!(all, three());
                assert_eq!(client.execute(id[3], flags, &[]), [more(one(&["1"])), Part::Error(5000)]);
            }
        }
    }
    assert!(server.terminate());
}

#[test]
fn several_statements_of_which_one_is_a_call_have_their_results_in_order() {
    let (_directory, server, _client) = served();
    let capabilities = SEVERAL | cap::MULTI_STATEMENTS;
    let more = |rows| with_more(capabilities, rows);
    let mut client = Bare::log_in(server.address, capabilities);
    client.query("USE d");
    assert_eq!(
        client.query("SELECT 0; CALL one(); CALL none(); SELECT 9"),
        [
            more(one(&["0"])),
            more(one(&["1", "x"])),
            Part::Done(0, MORE),
            Part::Done(2, MORE),
            Part::Rows { rows: one(&["9"]), before: 0, after: 0 }
        ]
    );
    assert_eq!(client.query("CALL fails(); SELECT 9"), [more(one(&["1"])), Part::Error(5000)]);
    assert!(server.terminate());
}

#[test]
fn a_prepared_call_gives_its_out_parameters_as_a_row_before_the_ok() {
    let (_directory, server, _client) = served();
    let outs = status::PS_OUT_PARAMS | MORE;
    for capabilities in [SEVERAL, SEVERAL | cap::DEPRECATE_EOF] {
        let before = if capabilities & cap::DEPRECATE_EOF == 0 { outs } else { 0 };
        let out = |values: &[&str]| Part::Rows { rows: one(values), before, after: outs };
        let mut client = Bare::log_in(server.address, capabilities);
        client.query("USE d");
        let id = client.prepare("CALL outs(?, ?, ?)");
        for number in [5, 6] {
            let values = [Value::Int(number), Value::Null, Value::Int(100)];
            let text = [format!("got {number}"), (100 + number).to_string()];
            assert_eq!(client.execute(id, 0, &values), [out(&[&text[0], &text[1]]), Part::Done(0, 0)]);
        }
        let id = client.prepare("CALL outs(4, ?, @b)");
        client.query("SET @b = 1");
        assert_eq!(client.execute(id, 0, &[Value::Null]), [out(&["got 4"]), Part::Done(0, 0)]);
        assert!(matches!(&client.query("SELECT @b")[..], [Part::Rows { rows, .. }] if *rows == one(&["5"])));
        let id = client.prepare("CALL outs_and_rows(?)");
        let rows = with_more(capabilities, one(&["7"]));
        assert_eq!(client.execute(id, 0, &[Value::Null]), [rows, out(&["8"]), Part::Done(0, 0)]);
        let id = client.prepare("CALL fails_after_out(?)");
        assert_eq!(client.execute(id, 0, &[Value::Null]), [Part::Error(1644)]);
        let id = client.prepare("CALL outs_and_rows(@only)");
        let rows = with_more(capabilities, one(&["7"]));
        assert_eq!(client.execute(id, 0, &[]), [rows, Part::Done(0, 0)], "a user variable is no parameter");
    }
    // A client that does not read several results of prepared statements gets no row.
    let mut client = Bare::log_in(server.address, cap::MULTI_RESULTS);
    client.query("USE d");
    let id = client.prepare("CALL outs(?, ?, ?)");
    let values = [Value::Int(5), Value::Null, Value::Int(100)];
    assert_eq!(client.execute(id, 0, &values), [Part::Done(0, 0)]);
    assert!(server.terminate());
}

#[test]
fn a_client_that_reads_one_result_gets_1312_for_a_result_set() {
    let (_directory, server, _client) = served();
    for capabilities in [0, cap::DEPRECATE_EOF] {
        let mut client = Bare::log_in(server.address, capabilities);
        client.query("USE d");
        assert_eq!(client.query("CALL one()"), [Part::Error(1312)]);
        assert_eq!(client.query("CALL three()"), [Part::Error(1312)]);
        let id = client.prepare("CALL one()");
        assert_eq!(client.execute(id, 0, &[]), [Part::Error(1312)]);
        assert_eq!(client.query("CALL none()"), [Part::Done(2, 0)]);
        client.query("DELETE FROM t");
    }
    assert!(server.terminate());
}

/// Waits until the process list shows this text in the row of a connection.
fn wait_for(watcher: &mut Client, id: u32, text: &str) {
    let begun = Instant::now();
    let sql = format!("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID = {id}");
    loop {
        let rows = watcher.rows(&sql);
        if rows.iter().flatten().flatten().any(|info| info.contains(text)) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text} never ran: {rows:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Handlers do not take the error of KILL QUERY, and the statement has changed nothing.
#[test]
fn kill_query_ends_loops_of_procedures_functions_and_triggers() {
    let (_directory, server, mut killer) = served();
    killer.run("CREATE TABLE slow (a INT PRIMARY KEY)");
    killer.run("CREATE TRIGGER slow_insert AFTER INSERT ON slow FOR EACH ROW SET @x = spin()");
    let capabilities = SEVERAL | cap::DEPRECATE_EOF;
    let mut client = Bare::log_in(server.address, capabilities);
    client.query("USE d");
    for (sql, shown) in [
        ("CALL spins()", "CALL spins()"),
        ("SELECT spin()", "SELECT spin()"),
        ("DO spin()", "DO spin()"),
        ("INSERT INTO slow VALUES (1)", "INSERT INTO slow"),
        ("INSERT INTO slow SELECT 1 WHERE spin() > 0", "INSERT INTO slow SELECT"),
        ("SET @x = spin()", "SET @x"),
    ] {
        client.send(command::QUERY, sql.as_bytes());
        if sql.starts_with("CALL") {
            assert_eq!(client.part(false), with_more(capabilities, one(&["1"])));
        }
        wait_for(&mut killer, client.id, shown);
        killer.run(&format!("KILL QUERY {}", client.id));
        assert_eq!(client.parts(false), [Part::Error(1317)], "{sql}");
        assert!(matches!(&client.query("SELECT 2")[..], [Part::Rows { .. }]), "{sql}");
        assert_eq!(killer.rows("SELECT COUNT(*) FROM slow"), one(&["0"]), "{sql}");
    }
    let id = client.prepare("CALL spins()");
    let mut body = Vec::new();
    Execution { id, flags: 0 }.put(&mut body, &[], false);
    client.send(command::STMT_EXECUTE, &body);
    assert_eq!(client.part(true), with_more(capabilities, one(&["1"])));
    killer.run(&format!("KILL QUERY {}", client.id));
    assert_eq!(client.parts(true), [Part::Error(1317)]);
    client.send(command::QUERY, b"SELECT spin()");
    wait_for(&mut killer, client.id, "spin()");
    killer.run(&format!("KILL {}", client.id));
    let begun = Instant::now();
    while connections(&mut killer) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the connection is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.terminate());
}

/// The number of clients' connections: the event scheduler has a row too.
fn connections(client: &mut Client) -> usize {
    client.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE USER <> 'event_scheduler'").len()
}

/// A procedure that a client leaves is rolled back, and its locks are free.
#[test]
fn a_client_leaves_in_the_middle_of_several_results() {
    let (_directory, server, mut client) = served();
    client.run("CREATE TABLE big (a INT PRIMARY KEY, b VARCHAR(1000))");
    client.run("INSERT INTO t VALUES (1)");
    let rows = (0..2000).map(|n| format!("({n}, REPEAT('x', 1000))")).collect::<Vec<_>>().join(", ");
    client.run(&format!("INSERT INTO big VALUES {rows}"));
    client.run(
        "CREATE PROCEDURE leaves() BEGIN START TRANSACTION; UPDATE t SET a = 9; SELECT 1; SELECT * FROM big a, big b; \
         COMMIT; END",
    );
    client.run("CREATE PROCEDURE waits() BEGIN START TRANSACTION; UPDATE t SET a = 9; SELECT 1; DO SLEEP(1000); COMMIT; END");
    for (procedure, quits) in [("leaves", false), ("leaves", true), ("waits", false), ("spins", false)] {
        let mut gone = Bare::log_in(server.address, SEVERAL);
        gone.query("USE d");
        gone.send(command::QUERY, format!("CALL {procedure}()").as_bytes());
        assert_eq!(gone.part(false), with_more(SEVERAL, one(&["1"])));
        if quits {
            gone.send(command::QUIT, b"");
        }
        drop(gone);
        let begun = Instant::now();
        while connections(&mut client) > 1 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{procedure}: the connection is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
        client.run("UPDATE t SET a = a + 1");
    }
    assert_eq!(client.rows("SELECT a FROM t"), one(&["5"]));
    // Reset and change of the user end a CALL as well: all results were sent, or the command could not come.
    assert_eq!(client.query("CALL one()").expect("an answer"), Answer::Rows(one(&["1", "x"])));
    assert!(matches!(client.answer(), Ok(Answer::Done(_))));
    assert!(server.terminate());
}
