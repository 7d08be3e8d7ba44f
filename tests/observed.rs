//! Tests the interfaces for monitoring a server: the slow query log, metrics, and the web console, over their
//! sockets.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use support::TestServer;

/// The answer to a request: status, headers, body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, &format!("Host: {address}\r\n"))
}

/// Returns the address that the server prints as `name: http://..`, and the rest of the URL.
fn served_at(server: &TestServer, name: &str) -> (SocketAddr, String) {
    let start = format!("  {name}: http://");
    let line = server.wait_for_line(&start);
    let (address, rest) = line.strip_prefix(&start).and_then(|rest| rest.split_once('/')).expect("a path");
    (address.parse().expect("an address"), format!("/{rest}"))
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn slow_statements_are_logged_as_mysql_does_and_the_log_can_be_moved() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(
        &directory.path().join("db"),
        &["--set", "slow_query_log=ON", "--set", "long_query_time=0"],
    );
    let log = directory.path().join("db/leafline-slow.log");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    client.run("INSERT INTO d.t VALUES (1, 2), (2, 3), (3, 3)");
    client.run("USE d");
    client.rows("SELECT a FROM t WHERE b = 3");
    // The fast path for point reads, too.
    (0..3).for_each(|_| drop(client.rows("SELECT b FROM t WHERE a = 1 /* point */")));
    client.run("PREPARE p FROM 'SELECT b, ''p'' FROM t WHERE a = ?'");
    client.run("SET @a = 2");
    client.rows("EXECUTE p USING @a");
    client.run("ALTER USER root IDENTIFIED BY 'secret'");
    client.run("ALTER USER root IDENTIFIED BY ''");
    client.run("CREATE INDEX b ON t (b)");
    client.run("DO SLEEP(0.01)");
    let text = wait_for("the last statement", || Some(read(&log)).filter(|text| text.contains("SLEEP")));
    assert!(
        text.starts_with("leafline, Version: 8.0") && text.contains("started with:\nTcp port: "),
        "{text}"
    );
    let entries: Vec<&str> = text.split("# Time: ").skip(1).collect();
    let entry = |sql: &str| {
        let found: Vec<&&str> =
            entries.iter().filter(|entry| entry.ends_with(&format!("{sql};\n"))).collect();
        assert!(!found.is_empty(), "{sql}: {text}");
        (found[0].to_string(), found.len())
    };
    let (select, _) = entry("SELECT a FROM t WHERE b = 3");
    assert!(select.contains("# User@Host: root[root] @ localhost []  Id: "), "{select}");
    assert!(
        select.contains(" Rows_sent: 2  Rows_examined: 3 ") && select.contains("No_index_used: Yes"),
        "{select}"
    );
    assert!(select.contains(" Plan_digest: ") && select.contains("\nuse d;\nSET timestamp="), "{select}");
    assert_eq!(
        entry("SELECT b FROM t WHERE a = 1 /* point */").1,
        3,
        "all are, under so short a long_query_time"
    );
    let (prepared, _) = entry("EXECUTE p USING @a");
    assert!(prepared.contains("Rows_sent: 1 "), "{prepared}");
    assert!(!text.contains("secret") && text.contains("ALTER USER root IDENTIFIED BY ?;"), "{text}");
    assert!(!text.contains("CREATE INDEX b"), "that needs log_slow_admin_statements: {text}");

    std::fs::rename(&log, log.with_extension("old")).expect("moved");
    client.run("FLUSH SLOW LOGS");
    client.run("SET GLOBAL log_slow_admin_statements = ON");
    client.run("ALTER TABLE t ADD COLUMN c INT");
    let text = wait_for("the new file", || Some(read(&log)).filter(|text| text.contains("ADD COLUMN")));
    assert!(text.starts_with("leafline, Version") && !text.contains("SELECT a FROM t"), "{text}");

    client.run("SET long_query_time = 10");
    client.run("SET GLOBAL log_queries_not_using_indexes = ON");
    client.rows("SELECT c FROM t");
    client.run("SET min_examined_row_limit = 100");
    client.rows("SELECT c + 1 FROM t");
    client.rows("SELECT b FROM t WHERE a = 2");
    client.run("SET long_query_time = 0, min_examined_row_limit = 0");
    client.run("DO 'end'");
    let text = wait_for("the end", || Some(read(&log)).filter(|text| text.contains("'end'")));
    assert!(
        text.contains("SELECT c FROM t;") && !text.contains("c + 1") && !text.contains("WHERE a = 2"),
        "{text}"
    );

    let error = client.query("SET GLOBAL slow_query_log_file = '/nowhere/x.log'").expect("an answer");
    assert!(format!("{error:?}").contains("1231"), "{error:?}");
    assert_eq!(client.rows("SELECT @@slow_query_log_file")[0][0].as_deref(), Some("leafline-slow.log"));
    let slow = client.rows("SHOW STATUS LIKE 'Slow_queries'");
    assert!(slow[0][1].as_deref().and_then(|count| count.parse::<u64>().ok()) > Some(10), "{slow:?}");
    assert!(server.terminate());
}

#[test]
fn metrics_are_what_prometheus_reads() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(&directory.path().join("db"), &["--metrics", "0"]);
    let (address, path) = served_at(&server, "metrics");
    assert!(address.ip().is_loopback() && path == "/metrics");
    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.`t\"x` (a INT PRIMARY KEY)");
    client.run("INSERT INTO d.`t\"x` VALUES (1)");
    (0..100).for_each(|_| drop(client.rows("SELECT * FROM d.`t\"x` WHERE a = 1")));
    let answer = get(address, "/metrics");
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    let text = answer.body;
    // Each metric has its help and its type once, before its samples, which are consecutive.
    let mut known: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let name =
            line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')).expect("help").0.to_owned();
        let kind =
            lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} "))).expect("a type");
        assert!(known.iter().all(|(before, _)| *before != name), "{name} twice");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        let mut samples = 0;
        while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
            assert!(sample.starts_with(&name), "{sample} among those of {name}");
            let (_, value) = sample.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{sample}");
            samples += 1;
        }
        assert!(samples > 0, "{name} has no samples");
        known.push((name, kind.to_owned()));
    }
    assert!(known.len() > 80, "{}", known.len());
    let value = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}"));
        line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok()).expect("a number")
    };
    assert!(value("leafline_commands_total{command=\"select\"} ") >= 100.0);
    assert!(value("leafline_index_uses_total{database=\"d\",table=\"t\\\"x\",index=\"PRIMARY\"} ") >= 65.0);
    assert!(value("leafline_statement_duration_seconds_count{kind=\"select\"} ") >= 90.0);
    let ends = |kind: &str| {
        let start = format!("leafline_statement_duration_seconds_bucket{{kind=\"{kind}\",");
        text.lines()
            .filter(|line| line.starts_with(&start))
            .map(|line| line.rsplit_once(' ').expect("a value").1)
            .collect::<Vec<_>>()
    };
    let counts: Vec<u64> = ends("select").iter().map(|count| count.parse().expect("a number")).collect();
    assert!(counts.len() == 16 && counts.is_sorted(), "{counts:?}");
    assert_eq!(value("leafline_innodb_page_size_bytes "), 16384.0);
    assert_eq!(get(address, "/other").status, 404);
    assert_eq!(get_with(address, "/metrics", "Host: metrics.example\r\n").status, 421);
    assert_eq!(get_with(address, "/metrics", "Host: localhost:1\r\n").status, 200);
    assert!(server.terminate());
}

/// The console answers no page of another site, although a browser sends the cookie with its requests. `headers`
/// contains the cookie and the host.
fn answers_no_other_site(address: SocketAddr, headers: &str) {
    for (origin, status) in [
        ("http://evil.example".to_owned(), 403),
        (format!("https://{address}"), 403),
        ("null".to_owned(), 403),
        (format!("http://{address}"), 200),
    ] {
        let headers = format!("{headers}Origin: {origin}\r\n");
        assert_eq!(get_with(address, "/api/status", &headers).status, status, "{origin}");
    }
}

#[test]
fn the_console_requires_its_token_and_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(&directory.path().join("db"), &["--console", "0"]);
    let (address, path) = served_at(&server, "console");
    assert!(address.ip().is_loopback());
    let token = path.strip_prefix("/?token=").expect("a token");
    assert_eq!(token.len(), 64);
    for path in ["/", "/api/status", "/console.js", "/?token=", "/?token=0000", "/x?token=1"] {
        assert_eq!(get(address, path).status, 403, "{path}");
    }
    let entry = get(address, &path);
    assert_eq!((entry.status, entry.header("Location")), (303, Some("/")));
    let cookie = entry.header("Set-Cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && cookie.contains("; Path=/"), "{cookie}");
    let name_and_value = cookie.split(';').next().expect("a value");
    let host = format!("Host: {address}\r\nCookie: other=1; {name_and_value}\r\n");
    let ask = |path: &str| get_with(address, path, &host);
    let page = ask("/");
    assert_eq!(page.status, 200);
    let policy = page.header("Content-Security-Policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(
        !page.body.contains("<script>") && !page.body.contains("style=") && !page.body.contains("//"),
        "{}",
        page.body
    );
    assert_eq!(
        get_with(address, "/api/status", &host.replace(&address.to_string(), "evil.example")).status,
        421
    );
    answers_no_other_site(address, &host);
    let wrong = host.replace(&token[..8], "00000000");
    assert_eq!(get_with(address, "/api/status", &wrong).status, 403);

    let mut client = server.connect();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(100))");
    client.run("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, i, REPEAT('x', 90) FROM n");
    // Filling the table is not part of the workload for the advice.
    client.run("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest");
    (0..200).for_each(|number| drop(client.rows(&format!("SELECT c FROM t WHERE b = {number}"))));
    client.run("UPDATE t SET c = 'y' WHERE b = 7");
    client.rows("SELECT a FROM t WHERE b = 8 FOR UPDATE");
    let listed = ask("/api/statements").body;
    let digest = |text: &str| {
        let at =
            listed.find(&format!("\"text\":\"{text}")).unwrap_or_else(|| panic!("no {text} in {listed}"));
        // Keys are in the order of their names: a statement's digest is before its text.
        let from = listed[..at].rfind("\"digest\":\"").expect("a digest") + "\"digest\":\"".len();
        listed[from..from + 64].to_owned()
    };
    let plan = |text: &str, run: &str| ask(&format!("/api/plan?digest={}&schema=d&run={run}", digest(text)));
    let select = plan("SELECT c FROM", "0");
    assert!(
        select.status == 200
            && select.body.contains("Table scan on t")
            && select.body.contains("\"actual\":null"),
        "{}",
        select.body
    );
    let run = plan("SELECT c FROM", "1");
    assert!(run.body.contains("\"entries_examined\":1000"), "{}", run.body);
    assert!(plan("UPDATE t", "0").body.contains("Update t"));
    for writes in ["UPDATE t", "SELECT a FROM"] {
        assert_eq!(plan(writes, "1").status, 400, "{writes}");
    }
    assert_eq!(ask("/api/plan?digest=00&schema=d").status, 404);
    assert_eq!(ask("/api/plan?sql=DROP+TABLE+t").status, 400);
    assert!(ask("/api/indexes").body.contains("\"index\":\"PRIMARY\""));
    let map = ask("/api/map?database=d&table=t&index=PRIMARY").body;
    assert!(map.contains("\"is_whole\":true") && map.contains("\"stretches\":[[["), "{map}");
    assert_eq!(ask("/api/map?database=d&table=t&index=no").status, 404);
    let advice = ask("/api/advice?now=1");
    assert!(advice.status == 200 && advice.body.contains("CREATE INDEX"), "{}", advice.body);
    let supposed = ask("/api/supposed?index=0");
    assert!(
        supposed.status == 200 && supposed.body.contains("SELECT `c`") || supposed.body.contains("SELECT c"),
        "{}",
        supposed.body
    );
    let with = ask(&format!("/api/plan?digest={}&schema=d&index=0", digest("SELECT c FROM")));
    assert!(with.body.contains("(hypothetical)") && with.body.contains("\"before\":{"), "{}", with.body);
    assert_eq!(ask("/api/supposed?index=99").status, 404);
    assert_eq!(
        client.rows("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_NAME = 't'")[0][0]
            .as_deref(),
        Some("1")
    );
    assert_eq!(client.rows("SELECT COUNT(*) FROM t WHERE c = 'y'")[0][0].as_deref(), Some("1"));
    let listed = ask("/api/statements").body;
    assert!(
        !listed.contains("ADVISE") && !listed.contains("HYPOTHETICAL"),
        "what the console runs is not counted: {listed}"
    );
    let status = ask("/api/status").body;
    assert!(status.contains("\"Questions\":") && status.contains("\"Threads_connected\":"), "{status}");
    assert!(server.terminate());
}
