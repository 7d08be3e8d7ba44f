//! Workloads with known best indexes.

use super::advise_by;
use super::verify::run;
use super::workload::Query;
use crate::session::{Outcome, Session};
use crate::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use leafline_types::{Value, value_at};
use std::sync::Arc;

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    let outcome = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Outcome::Rows(mut stream) = outcome else { return Vec::new() };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session).unwrap() {
        let value = |row: usize| {
            batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, row, ty)).collect()
        };
        rows.extend((0..batch.rows).map(value));
    }
    rows
}

/// Resets the digests.
const CLEAR: &str = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest";

/// 20,000 orders of 2,000 customers.
fn shop() -> (Arc<Instance>, Session) {
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
    let mut session = instance.connect().unwrap();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(30) NOT NULL, pad CHAR(100))",
        "INSERT INTO customers WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) \
         SELECT /*+ SET_VAR(cte_max_recursion_depth = 5000) */ i, CONCAT('name', i), 'p' FROM n",
        "CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, status INT NOT NULL, day INT NOT NULL, \
         amount INT, note CHAR(150))",
        "INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199) \
         SELECT x.i * 200 + y.i, (x.i * 200 + y.i) * 7919 % 2000, y.i % 20, (x.i * 200 + y.i) * 31 % 1000, x.i, REPEAT('n', 100) \
         FROM n x JOIN n y WHERE x.i < 100",
    ] {
        rows(&mut session, sql);
    }
    // The statements that filled the tables are not part of the workload.
    rows(&mut session, CLEAR);
    // The price must not depend on the device of this machine.
    rows(&mut session, "SET leafline_device = 'reference'");
    (instance, session)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The advised statements.
fn advised(session: &mut Session, workload: &str) -> Vec<String> {
    let sql = format!("ADVISE FROM '{}'", workload.replace('\'', "''"));
    rows(session, &sql).iter().map(|row| text(&row[3])).collect()
}

#[test]
fn equalities_come_before_ranges_and_orders() {
    let (_instance, mut session) = shop();
    let mut of = |workload: &str| advised(&mut session, workload);
    let create = |name: &str, parts: &str| format!("CREATE INDEX `{name}` ON `d`.`orders` ({parts})");
    assert_eq!(
        of("SELECT * FROM orders WHERE day > 500 AND customer = 7"),
        [create("customer_day", "`customer`, `day`")]
    );
    assert_eq!(
        of("SELECT * FROM orders WHERE status = 3 ORDER BY day DESC LIMIT 5"),
        [create("status_day", "`status`, `day` DESC")]
    );
    assert_eq!(
        of("SELECT status, SUM(amount) FROM orders GROUP BY status"),
        [create("status_amount", "`status`, `amount`")]
    );
    assert_eq!(of("SELECT * FROM orders WHERE id = 7"), Vec::<String>::new());
    assert_eq!(of("SELECT * FROM orders"), Vec::<String>::new());
}

#[test]
fn a_join_is_looked_up() {
    let (_instance, mut session) = shop();
    let workload =
        "SELECT o.note FROM customers c JOIN orders o ON o.customer = c.id WHERE c.name = 'name77'";
    let mut found = advised(&mut session, workload);
    found.sort();
    assert_eq!(
        found,
        [
            "CREATE INDEX `customer` ON `d`.`orders` (`customer`)",
            "CREATE INDEX `name` ON `d`.`customers` (`name`)"
        ]
    );
    let workload = "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.status = 3) AND c.id < 5";
    let found = advised(&mut session, workload);
    assert!(found.len() == 1 && found[0].contains("`customer`"), "{found:?}");
}

#[test]
fn one_index_serves_several_statements() {
    let (_instance, mut session) = shop();
    let found = advised(
        &mut session,
        "SELECT amount, note FROM orders WHERE customer = 1 AND day = 3; \
         SELECT amount, note FROM orders WHERE customer = 2; \
         SELECT amount, note FROM orders WHERE customer = 2 AND day > 7",
    );
    assert_eq!(found, ["CREATE INDEX `customer_day` ON `d`.`orders` (`customer`, `day`)"]);
}

#[test]
fn an_index_that_a_later_one_replaces_is_left_out_again() {
    let (_instance, mut session) = shop();
    rows(
        &mut session,
        "CREATE TABLE visits (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, pad VARCHAR(600))",
    );
    rows(
        &mut session,
        "INSERT INTO visits SELECT id, id % 3, id * 7919 % 2000, id % 1000, REPEAT('p', 600) FROM orders",
    );
    // The first statement alone wants (b). It can also read the index of the second one, with a leap for each
    // `a`.
    let found = advised(
        &mut session,
        "SELECT * FROM visits WHERE b = 5; SELECT * FROM visits WHERE a = 2 ORDER BY b, c LIMIT 10",
    );
    assert_eq!(found, ["CREATE INDEX `a_b_c` ON `d`.`visits` (`a`, `b`, `c`)"]);
}

#[test]
fn indexes_that_cost_writers_more_than_they_gain_are_not_proposed() {
    let (_instance, mut session) = shop();
    let read = "SELECT COUNT(*) FROM orders WHERE day = 7;";
    let write = "UPDATE orders SET day = day + 1 WHERE id = 9;";
    let of = |reads, writes| format!("{}{}", read.repeat(reads), write.repeat(writes));
    assert_eq!(advised(&mut session, &of(1, 1)), ["CREATE INDEX `day` ON `d`.`orders` (`day`)"]);
    assert_eq!(advised(&mut session, &of(1, 5000)), Vec::<String>::new());
}

#[test]
fn indexes_that_nothing_needs_are_dropped() {
    let (_instance, mut session) = shop();
    for sql in [
        "CREATE INDEX a ON orders (customer)",
        "CREATE INDEX b ON orders (customer, status)",
        "CREATE INDEX c ON orders (amount)",
        "CREATE UNIQUE INDEX u ON orders (note, id)",
    ] {
        rows(&mut session, sql);
    }
    let mut dropped = |workload: &str| -> Vec<(String, String)> {
        let sql = format!("ADVISE FROM '{workload}'");
        let rows = rows(&mut session, &sql);
        rows.iter().map(|row| (text(&row[3]), text(&row[9]))).collect()
    };
    let found = dropped("SELECT note FROM orders WHERE customer = 5 AND status = 3");
    let expected = [("a", "it is the beginning of b"), ("c", "no statement of the workload reads it")];
    assert_eq!(found.len(), 2, "{found:?}");
    for ((statement, why), (name, reason)) in found.iter().zip(expected) {
        assert_eq!(statement, &format!("DROP INDEX `{name}` ON `d`.`orders`"));
        assert!(why.starts_with(reason), "{why}");
    }
    let found = dropped("SELECT note FROM orders WHERE amount = 5");
    assert_eq!(
        found.iter().map(|(statement, _)| &statement[..14]).collect::<Vec<_>>(),
        ["DROP INDEX `a`", "DROP INDEX `b`"]
    );
}

#[test]
fn what_was_run_is_the_workload() {
    let (_instance, mut session) = shop();
    rows(&mut session, "SELECT amount FROM orders WHERE customer = 5 AND day = 7");
    rows(&mut session, "PREPARE p FROM 'SELECT note FROM orders WHERE status = ? AND amount = ?'");
    rows(&mut session, "SET @a = 3");
    for _ in 0..3 {
        rows(&mut session, "EXECUTE p USING @a, @a");
    }
    let found: Vec<String> = rows(&mut session, "ADVISE").iter().map(|row| text(&row[3])).collect();
    assert!(
        found.iter().any(|one| one.contains("(`customer`, `day`") || one.contains("(`day`, `customer`")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.contains("(`amount`, `status`") || one.contains("(`status`, `amount`")),
        "{found:?}"
    );
}

#[test]
fn what_is_built_to_verify_it_stays_only_if_it_gains() {
    let (_instance, mut session) = shop();
    let workload = "SELECT * FROM orders WHERE customer = 5";
    // Counts examined entries, because no test may depend on time.
    let mut examined = |session: &mut Session, queries: &[&Query]| {
        let before = session.counters().access.leafline_entries_examined;
        queries.iter().try_for_each(|query| run(session, &query.sql))?;
        Ok((session.counters().access.leafline_entries_examined - before) as f64)
    };
    let found = advise_by(&mut session, Some(workload), Some(&mut examined)).unwrap().rows;
    assert_eq!(found.len(), 1);
    assert_eq!(text(&found[0][10]), "kept: 20000 us before, 10 us after");
    let indexes = rows(&mut session, "SHOW INDEX FROM orders");
    assert_eq!(indexes.iter().map(|row| text(&row[2])).collect::<Vec<_>>(), ["PRIMARY", "customer"]);
    // No gain is left.
    assert!(advise_by(&mut session, Some(workload), Some(&mut examined)).unwrap().rows.is_empty());
    // A measure by which no index helps.
    let mut same = |_: &mut Session, _: &[&Query]| Ok(7.0);
    let workload = "SELECT * FROM orders WHERE status = 5 AND amount = 3";
    let found = advise_by(&mut session, Some(workload), Some(&mut same)).unwrap().rows;
    assert_eq!(text(&found[0][10]), "dropped again: 7 us before, 7 us after");
    assert_eq!(rows(&mut session, "SHOW INDEX FROM orders").len(), indexes.len());
    // The real measure.
    let found = rows(&mut session, &format!("ADVISE VERIFY FROM '{workload}'"));
    assert!(found.iter().any(|row| text(&row[10]).contains(" us before, ")), "{found:?}");
}

#[test]
fn what_writes_outweigh_is_told() {
    let (_instance, mut session) = shop();
    let writes = "INSERT INTO orders SELECT id + 100000, customer, status, day, amount, note FROM orders";
    let read = "SELECT * FROM orders WHERE customer = 5";
    assert!(advised(&mut session, &format!("{writes}; {read}")).is_empty());
    let notes: Vec<String> = session.warnings().iter().map(|note| note.message.to_string()).collect();
    assert!(
        matches!(notes.as_slice(), [one] if one.starts_with("Not worth it: an index of `d`.`orders` (`customer`) would save reads ")),
        "{notes:?}"
    );
    assert_eq!(advised(&mut session, read).len(), 1);
    assert_eq!(session.warnings().count(), 0);
}

#[test]
fn statements_that_cannot_be_planned_are_passed_over() {
    let (_instance, mut session) = shop();
    let workload = "SELECT * FROM nothing; SET @a = 1; SELECT * FROM orders WHERE customer = 3; SELECT 1 FROM orders WHERE day = ?";
    assert_eq!(advised(&mut session, workload).len(), 1);
    assert_eq!(session.warnings().count(), 2);
    assert!(session.warnings().iter().next().is_some_and(|note| note.message.contains("No advice for")));
    assert!(session.execute("ADVISE FROM 5").is_err_and(|error| error.code == 1064));
}
