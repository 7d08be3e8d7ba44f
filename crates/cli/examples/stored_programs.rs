//! Measures stored programs of Leafline beside MariaDB's, and triggers beside the statements that they save a client.
//!
//! ```text
//! cargo run --release -p leafline-cli --example stored_programs -- SOCKET PID SOCKET PID [rounds] [part of a name]
//! ```
//!
//! Sockets and processes are Leafline's and MariaDB's. The servers take turns; of each workload the least time of an
//! operation counts, and the least processor time of the server. Run it by `bench/stored_programs.sh`.

use leafline_protocol::client::{Answer, Client, Login};
use std::error::Error;
use std::os::unix::net::UnixStream;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ACCOUNTS: u64 = 10_000;

/// Tables and programs.
const SCHEMA: [&str; 18] = [
    "DROP DATABASE IF EXISTS programs",
    "CREATE DATABASE programs",
    "USE programs",
    "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, name VARCHAR(40) NOT NULL)",
    "CREATE TABLE entry (id INT PRIMARY KEY, account INT NOT NULL, amount BIGINT NOT NULL)",
    "CREATE TABLE plain (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE plain_log (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE watched (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE watched_log (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TRIGGER watches AFTER INSERT ON watched FOR EACH ROW INSERT INTO watched_log VALUES (NEW.id, NEW.v)",
    "CREATE PROCEDURE fill() BEGIN DECLARE i INT DEFAULT 0; START TRANSACTION; WHILE i < 10000 DO \
     INSERT INTO account VALUES (i, 1000, CONCAT('name of ', i)); SET i = i + 1; END WHILE; COMMIT; END",
    "CREATE PROCEDURE counts(n INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE x BIGINT DEFAULT 0; \
     WHILE i < n DO SET i = i + 1; SET x = x + i; END WHILE; END",
    "CREATE PROCEDURE mixes(n INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE s VARCHAR(40) DEFAULT ''; \
     DECLARE d DECIMAL(20, 4) DEFAULT 0; WHILE i < n DO SET i = i + 1; IF i MOD 3 = 0 THEN SET d = d + i * 0.25; \
     ELSE SET s = CONCAT('text ', i); END IF; END WHILE; END",
    "CREATE FUNCTION adds(a INT, b INT) RETURNS INT DETERMINISTIC RETURN a + b",
    "CREATE PROCEDURE calls(n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO SET i = adds(i, 1); END WHILE; END",
    "CREATE PROCEDURE ten(k INT, a INT, b INT) BEGIN DECLARE x, y, z BIGINT; DECLARE s VARCHAR(40); \
     SELECT balance INTO x FROM account WHERE id = a; SELECT balance INTO y FROM account WHERE id = b; \
     UPDATE account SET balance = balance - 1 WHERE id = a; UPDATE account SET balance = balance + 1 WHERE id = b; \
     INSERT INTO entry VALUES (k, a, x); INSERT INTO entry VALUES (k + 1, b, y); INSERT INTO entry VALUES (k + 2, a, y); \
     UPDATE entry SET amount = amount + 1 WHERE id = k; SELECT amount INTO z FROM entry WHERE id = k; \
     SELECT name INTO s FROM account WHERE id = b; END",
    "CALL fill()",
    "CREATE FUNCTION balance_of(a INT) RETURNS BIGINT READS SQL DATA BEGIN DECLARE x BIGINT; \
     SELECT balance INTO x FROM account WHERE id = a; RETURN x; END",
];

/// A server and a connection to it.
struct Server {
    client: Client,
    process: String,
    /// The next key of a new row.
    key: u64,
}

impl Server {
    fn connect(socket: &str, process: &str) -> Result<Server> {
        let login = Login { user: "root", is_private: true, ..Login::default() };
        let client = Client::log_in(Box::new(UnixStream::connect(socket)?), &login)?;
        let mut server = Server { client, process: process.to_owned(), key: 0 };
        SCHEMA.iter().try_for_each(|sql| server.run(sql))?;
        Ok(server)
    }

    /// Runs a statement, and reads its rows.
    fn run(&mut self, sql: &str) -> Result<()> {
        let answer = self.client.query(sql).map_err(|error| format!("{sql}: {error}"))?;
        let Answer::Rows(mut rows) = answer else { return Ok(()) };
        let mut places = Vec::new();
        while rows.next(&mut places)? {}
        Ok(())
    }

    /// Returns `count` new keys.
    fn keys(&mut self, count: u64) -> u64 {
        self.key += count;
        self.key - count
    }

    /// The processor time of the server's threads that run, nanoseconds.
    fn processor(&self) -> Result<u64> {
        let mut sum = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.process))? {
            let Ok(stat) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            sum += stat.split_whitespace().next().map_or(Ok(0), str::parse::<u64>)?;
        }
        Ok(sum)
    }

    /// Runs `work`, which has `count` operations; returns microseconds and processor time of one.
    fn measure(&mut self, count: u64, work: fn(&mut Server, u64) -> Result<()>) -> Result<Cost> {
        let (began, used) = (Instant::now(), self.processor()?);
        work(self, count)?;
        let elapsed = began.elapsed().as_secs_f64() * 1e6;
        let processor = (self.processor()? - used) as f64 / 1e3;
        Ok(Cost { elapsed: elapsed / count as f64, processor: processor / count as f64 })
    }
}

/// The cost of an operation, microseconds.
#[derive(Clone, Copy)]
struct Cost {
    elapsed: f64,
    processor: f64,
}

impl Cost {
    const MAX: Cost = Cost { elapsed: f64::MAX, processor: f64::MAX };

    fn least(self, other: Cost) -> Cost {
        Cost { elapsed: self.elapsed.min(other.elapsed), processor: self.processor.min(other.processor) }
    }
}

/// A workload: the name, the operations of a round, and the work.
type Workload = (&'static str, u64, fn(&mut Server, u64) -> Result<()>);

const WORKLOADS: [Workload; 15] = [
    ("loop: an iteration", 1_000_000, |server, count| server.run(&format!("CALL counts({count})"))),
    ("loop of text, decimals, IF: an iteration", 300_000, |server, count| {
        server.run(&format!("CALL mixes({count})"))
    }),
    ("call of a function in a loop", 100_000, |server, count| server.run(&format!("CALL calls({count})"))),
    ("call of a function with a query, for a row", 10_000, |server, count| {
        server.run(&format!("SELECT SUM(balance_of(id)) FROM account WHERE id < {count}"))
    }),
    ("CALL of nothing", 5_000, |server, count| (0..count).try_for_each(|_| server.run("CALL counts(0)"))),
    ("CALL of 10 statements, in transactions of 100", 3_000, |server, count| ten(server, count, 100)),
    ("CALL of 10 statements, each a transaction", 500, |server, count| ten(server, count, 1)),
    ("trigger: INSERT, a transaction", 3_000, |server, count| {
        let key = server.keys(count);
        (key..key + count).try_for_each(|key| server.run(&format!("INSERT INTO watched VALUES ({key}, 1)")))
    }),
    (CLIENT, 3_000, |server, count| {
        let key = server.keys(count);
        (key..key + count).try_for_each(|key| {
            server.run("BEGIN")?;
            server.run(&format!("INSERT INTO plain VALUES ({key}, 1)"))?;
            server.run(&format!("INSERT INTO plain_log VALUES ({key}, 1)"))?;
            server.run("COMMIT")
        })
    }),
    ("trigger: INSERT in a large transaction", 20_000, |server, count| {
        let key = server.keys(count);
        server.run("BEGIN")?;
        (key..key + count)
            .try_for_each(|key| server.run(&format!("INSERT INTO watched VALUES ({key}, 1)")))?;
        server.run("COMMIT")
    }),
    (CLIENT_LARGE, 20_000, |server, count| {
        let key = server.keys(count);
        server.run("BEGIN")?;
        (key..key + count).try_for_each(|key| {
            server.run(&format!("INSERT INTO plain VALUES ({key}, 1)"))?;
            server.run(&format!("INSERT INTO plain_log VALUES ({key}, 1)"))
        })?;
        server.run("COMMIT")
    }),
    ("trigger: a row of INSERT .. SELECT", 50_000, |server, count| rows(server, count, &["watched"])),
    (CLIENT_ROWS, 50_000, |server, count| rows(server, count, &["plain", "plain_log"])),
    ("point SELECT", 20_000, |server, count| {
        (0..count).try_for_each(|key| {
            server.run(&format!("SELECT name FROM account WHERE id = {}", key % ACCOUNTS))
        })
    }),
    ("INSERT without triggers, in a large transaction", 20_000, |server, count| {
        let key = server.keys(count);
        server.run("BEGIN")?;
        (key..key + count).try_for_each(|key| server.run(&format!("INSERT INTO plain VALUES ({key}, 1)")))?;
        server.run("COMMIT")
    }),
];

/// The work of the workload before, done by the client without a trigger.
const CLIENT: &str = "BEGIN, INSERT, INSERT, COMMIT";
const CLIENT_LARGE: &str = "two INSERTs in a large transaction";
const CLIENT_ROWS: &str = "a row of two INSERT .. SELECT";

/// Calls the procedure of 10 statements, `each` times in a transaction.
fn ten(server: &mut Server, count: u64, each: u64) -> Result<()> {
    let first = server.keys(3 * count);
    for call in 0..count {
        if each > 1 && call % each == 0 {
            server.run("BEGIN")?;
        }
        let (key, from) = (first + 3 * call, call * 7919 % ACCOUNTS);
        let to = (from + 4211) % ACCOUNTS;
        server.run(&format!("CALL ten({key}, {from}, {to})"))?;
        if each > 1 && (call + 1) % each == 0 {
            server.run("COMMIT")?;
        }
    }
    Ok(())
}

/// Copies rows into tables, in statements of 5,000 rows.
fn rows(server: &mut Server, count: u64, tables: &[&str]) -> Result<()> {
    const EACH: u64 = 5_000;
    for _ in 0..count / EACH {
        let key = server.keys(EACH);
        server.run("BEGIN")?;
        for table in tables {
            server
                .run(&format!("INSERT INTO {table} SELECT id + {key}, 1 FROM account WHERE id < {EACH}"))?;
        }
        server.run("COMMIT")?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ours, our_process, theirs, their_process, options @ ..] = &arguments[..] else {
        return Err("SOCKET PID SOCKET PID [rounds] [part of a name]".into());
    };
    let rounds: usize = options.first().map_or(Ok(3), |rounds| rounds.parse())?;
    let part = options.get(1).map_or("", String::as_str);
    let mut servers = [Server::connect(ours, our_process)?, Server::connect(theirs, their_process)?];
    println!(
        "| operation | Leafline, us | MariaDB, us | ratio | processor: Leafline, us | MariaDB, us | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut before: Option<Cost> = None;
    for (name, count, work) in WORKLOADS.iter().filter(|(name, ..)| name.contains(part)) {
        let mut least = [Cost::MAX; 2];
        for _ in 0..rounds {
            for (server, least) in servers.iter_mut().zip(&mut least) {
                *least = least.least(server.measure(*count, *work)?);
            }
        }
        let [our, their] = least;
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            our.elapsed,
            their.elapsed,
            our.elapsed / their.elapsed,
            our.processor,
            their.processor,
            our.processor / their.processor
        );
        if let (CLIENT | CLIENT_LARGE | CLIENT_ROWS, Some(trigger)) = (*name, before) {
            let (time, processor) = (trigger.elapsed / our.elapsed, trigger.processor / our.processor);
            println!("| *Leafline's trigger by its client* | | | {time:.2} | | | {processor:.2} |");
        }
        before = Some(our);
    }
    Ok(())
}
