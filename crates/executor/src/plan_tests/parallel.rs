//! The parts of plans that threads share, and the equality of their answers with the answers of one thread.

use crate::testing::{Database, run_until, show};
use leafline_planner::optimizer::Parallelism;
use leafline_types::statement::CancelReason;
use leafline_types::{Decimal, Value};

/// Settings under which three threads share everything that can be shared, a leaf at a time.
pub(super) const EVERYTHING: Parallelism = Parallelism { threads: 3, least_cost_us: 0.0, piece_leaves: 1 };

/// Makes `facts`, 6,000 rows in more than a hundred leaves, and `dim`, 50 rows.
fn database() -> Database {
    let database = Database::new();
    let maybe = |is_null: bool, value: Value| if is_null { Value::Null } else { value };
    let rows: Vec<Vec<Value>> = (0..6000i64)
        .map(|id| {
            let scattered = id * 7919 % 6000;
            let text = ["a", "A", "b", "ä", "B "][(scattered % 5) as usize];
            vec![
                Value::Int(id),
                maybe(scattered % 11 == 0, Value::Int(scattered % 40)),
                maybe(
                    scattered % 7 == 0,
                    Value::Decimal(Decimal::from_i128(i128::from(scattered) - 3000, 2)),
                ),
                Value::Double(scattered as f64 / 7.0),
                maybe(scattered % 13 == 0, Value::string(text)),
                Value::string("x".repeat(60)),
            ]
        })
        .collect();
    database.table(
        "CREATE TABLE facts (id INT PRIMARY KEY, g INT, n DECIMAL(10,2), x DOUBLE NOT NULL, \
         c VARCHAR(8) COLLATE utf8mb4_0900_ai_ci, filler VARCHAR(60), KEY gn (g, n))",
        &rows,
    );
    let rows: Vec<Vec<Value>> =
        (0..50).map(|id| vec![Value::Int(id), Value::string(format!("dim {id}"))]).collect();
    database.table("CREATE TABLE dim (id INT PRIMARY KEY, label VARCHAR(20))", &rows);
    database.table("CREATE TABLE nothing (id INT PRIMARY KEY, n DECIMAL(4,1))", &[]);
    database
}

/// Checks that several threads deliver the result of one: rows in order, warnings and counters.
fn same_as_alone(database: &mut Database, sql: &str) -> String {
    database.parallelism = Parallelism::NONE;
    let alone = database.run(&database.plan(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
    database.parallelism = EVERYTHING;
    let plan = database.plan(sql);
    let tree = leafline_planner::explain::explain_tree(&plan, None);
    let shared = database.run(&plan).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |rows: &[Vec<Value>]| rows.iter().map(|row| show(row)).collect::<Vec<_>>();
    assert_eq!(text(&shared.rows), text(&alone.rows), "{sql}\n{tree}");
    assert_eq!(shared.warnings, alone.warnings, "{sql}\n{tree}");
    if tree.contains("Index lookup") {
        // A key is looked up once for the rows of a batch that have it, and batches end with pieces.
        return tree;
    }
    let reads = |counters: leafline_access::Counters| leafline_access::Counters {
        leafline_read_ahead_pages: 0,
        created_tmp_files: 0,
        ..counters
    };
    assert_eq!(reads(shared.counters), reads(alone.counters), "{sql}\n{tree}");
    tree
}

#[test]
fn threads_give_what_one_gives() {
    let mut database = database();
    database.switches.hash_join = false;
    let grouped_in_threads = [
        "SELECT COUNT(*), COUNT(g), SUM(n), AVG(n), MIN(n), MAX(n), SUM(id), AVG(id), MIN(c), MAX(c) FROM facts",
        "SELECT g, COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(x), MAX(x) FROM facts GROUP BY g",
        "SELECT c, COUNT(*), MIN(c), AVG(n / 3), SUM(n / 3) FROM facts GROUP BY c HAVING COUNT(*) > 1",
        "SELECT g, SUM(n) FROM facts WHERE id BETWEEN 500 AND 5200 AND x > 20 GROUP BY g ORDER BY g",
        "SELECT COUNT(*), SUM(n) FROM facts WHERE g IN (3, 5, 17, 38) OR g > 30",
        "SELECT COUNT(n / (id % 3)) FROM facts",
        "SELECT COUNT(*), MIN(label) FROM facts JOIN dim ON dim.id = facts.g WHERE x < 500",
        "SELECT g, COUNT(*), MAX(label) FROM facts LEFT JOIN dim ON dim.id = facts.g + 15 GROUP BY g ORDER BY g",
        "SELECT AVG(total) FROM (SELECT g, SUM(n) total FROM facts GROUP BY g) t",
        // Rows are fetched through the entries of an index.
        "SELECT COUNT(*), SUM(id), SUM(n), MIN(filler) FROM facts FORCE INDEX (gn) WHERE g BETWEEN 3 AND 30 AND x > 10",
        "SELECT COUNT(*), SUM(id), MAX(x) FROM facts FORCE INDEX (gn) WHERE g IN (1, 4, 5, 9, 33) AND n <> 2",
        "SELECT COUNT(*), SUM(id), MIN(x) FROM facts FORCE INDEX (gn) WHERE (g > 7 OR g IS NULL) AND n * 2 > 5",
    ];
    for sql in grouped_in_threads {
        let tree = same_as_alone(&mut database, sql);
        let lines: Vec<&str> = tree.lines().map(|line| line.trim_start_matches([' ', '-', '>'])).collect();
        let at = lines.iter().position(|line| line.starts_with("Parallel: up to 3 threads"));
        let below = at.and_then(|at| lines.get(at + 1)).copied().unwrap_or_default();
        assert!(below.starts_with("Aggregate") || below.starts_with("Group by hash"), "{sql}\n{tree}");
    }
    database.switches.hash_join = true;
    let read_in_threads = [
        // Sums of DOUBLE depend on the order.
        "SELECT SUM(x), AVG(x), STDDEV(x) FROM facts",
        "SELECT COUNT(DISTINCT g), GROUP_CONCAT(DISTINCT c) FROM facts",
        "SELECT SUM(n), AVG(n), COUNT(*), MAX(c) FROM facts WHERE id < 0",
        // The condition is evaluated above.
        "SELECT id FROM facts WHERE RAND(1) < 0.1 ORDER BY x",
        // Too many groups.
        "SELECT id, COUNT(*) FROM facts GROUP BY id",
        "SELECT id, c FROM facts WHERE x > 100 ORDER BY c, id",
        "SELECT id, filler FROM facts ORDER BY x DESC LIMIT 20",
        "SELECT id, n / 0 FROM facts WHERE x < 20 ORDER BY c, id",
        "SELECT a.id, b.id FROM facts a JOIN facts b ON a.n = b.n + 7 ORDER BY a.id, b.id LIMIT 50",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY x) FROM facts WHERE id % 5 = 0",
        "SELECT g, COUNT(*) FROM facts GROUP BY g WITH ROLLUP",
        // An index provides the order, in either direction.
        "SELECT id, filler FROM facts FORCE INDEX (gn) WHERE g > 10 AND x < 50 ORDER BY g, n",
        "SELECT id, filler FROM facts FORCE INDEX (gn) WHERE g > 10 AND x < 50 ORDER BY g DESC, n DESC",
        "SELECT id, filler FROM facts FORCE INDEX (gn) WHERE g IN (1, 4, 5, 9, 33) AND x < 50 ORDER BY g DESC, n DESC",
        "SELECT g, n FROM facts FORCE INDEX (gn) WHERE n * 7 % 3 = 1 AND g % 3 = 0 ORDER BY g DESC, n DESC",
        "SELECT id, c FROM facts WHERE x < 50 ORDER BY id DESC",
        "SELECT id, c FROM facts WHERE x < 50 AND (id < 1000 OR id BETWEEN 2000 AND 5500) ORDER BY id DESC",
    ];
    for sql in read_in_threads {
        let tree = same_as_alone(&mut database, sql);
        assert!(tree.contains("Parallel: up to 3 threads"), "{sql}\n{tree}");
    }
}

#[test]
fn what_depends_on_other_rows_or_may_end_early_is_not_shared() {
    let mut database = database();
    let alone = [
        "SELECT id, x FROM facts WHERE x > 100 LIMIT 5",
        "SELECT id FROM facts",
        "SELECT COUNT(*) FROM facts WHERE id = 77",
        "SELECT id FROM facts WHERE x > 10 FOR UPDATE",
        "SELECT MIN(id) FROM facts",
    ];
    for sql in alone {
        let tree = same_as_alone(&mut database, sql);
        assert!(!tree.contains("Parallel"), "{sql}\n{tree}");
    }
    let empty = same_as_alone(&mut database, "SELECT COUNT(*), SUM(n), AVG(n), MAX(id + 1) FROM nothing");
    assert!(empty.contains("Parallel"), "{empty}");
}

#[test]
fn the_first_error_in_the_order_of_the_rows_counts() {
    let mut database = database();
    let sql = "SELECT SUM(CASE WHEN id < 3000 THEN id ELSE 9223372036854775807 + id END) FROM facts";
    let mut errors = Vec::new();
    for parallelism in [Parallelism::NONE, EVERYTHING] {
        database.parallelism = parallelism;
        let plan = database.plan(sql);
        errors.push(run_until(&database, &plan, &mut |_| {}));
    }
    assert_eq!(errors[0].code, 1690);
    assert_eq!(errors[0].message, errors[1].message);
}

#[test]
fn threads_stop_when_the_statement_is_cancelled() {
    let mut database = database();
    database.parallelism = EVERYTHING;
    let plan = database.plan("SELECT id FROM facts WHERE x < 60 AND filler LIKE '%x%'");
    assert!(leafline_planner::explain::explain_tree(&plan, None).contains("Parallel"));
    let mut batches = 0;
    let error = run_until(&database, &plan, &mut |cancel| {
        batches += 1;
        cancel.cancel(CancelReason::QueryKilled);
    });
    assert_eq!((error.code, batches), (1317, 1));
}

#[test]
fn rows_that_do_not_fit_wait_in_files_of_the_operator_above() {
    let mut database = database();
    database.memory_limit = 64 << 10;
    for sql in [
        "SELECT id, g, n, filler FROM facts ORDER BY x",
        "SELECT id, g, COUNT(*), MAX(filler) FROM facts GROUP BY id, g ORDER BY id",
        "SELECT g, COUNT(*), MAX(filler) FROM facts GROUP BY g ORDER BY g",
    ] {
        let tree = same_as_alone(&mut database, sql);
        assert!(tree.contains("Parallel"), "{sql}\n{tree}");
    }
}

#[test]
fn figures_of_threads_are_added_up() {
    let mut database = database();
    database.parallelism = EVERYTHING;
    let analyzed = database.explain_analyze("SELECT COUNT(*), SUM(id) FROM facts WHERE x < 100");
    assert!(analyzed.contains("entries examined=6000 rows fetched=0"), "{analyzed}");
}
