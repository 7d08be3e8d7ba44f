//! Tests pushdown by the output of EXPLAIN.

use crate::support::{Home, numbers, plan, rows, scan};
use datafusion::execution::context::SessionContext;
use leafline_datafusion::{LeaflineCatalog, LeaflineTable, register_all};
use std::sync::Arc;

/// Returns the scan of a query, and whether DataFusion filters its rows.
async fn filtered(context: &SessionContext, condition: &str) -> (String, bool) {
    let sql = format!("SELECT id FROM t WHERE {condition}");
    (scan(context, &sql).await, plan(context, &sql).await.contains("FilterExec"))
}

#[tokio::test]
async fn filters_that_mean_the_same_are_left_to_leafline() {
    let home = Home::new(&["CREATE TABLE t (id INT PRIMARY KEY, n BIGINT, price DECIMAL(10,2), x DOUBLE, y YEAR, tm TIME(3),
        day DATE, at DATETIME(6), ts TIMESTAMP, ci VARCHAR(20), cs VARCHAR(20) COLLATE utf8mb4_0900_bin,
        padded VARCHAR(20) COLLATE utf8mb4_bin, latin VARCHAR(20) CHARACTER SET latin1, bytes VARBINARY(20), e ENUM('a', 'b'), j JSON)"]);
    let context = home.context(&["t"]);
    let exact = [
        ("n = 5", "`n` = ? [5]"),
        ("5 < n", "`n` > ? [5]"),
        ("n BETWEEN 3 AND 7", "`n` >= ? AND `n` <= ? [3, 7]"),
        ("n IN (1, 2, 3, 4, 5)", "`n` IN (?, ?, ?, ?, ?) [1, 2, 3, 4, 5]"),
        ("n IS NULL", "`n` IS NULL []"),
        ("n <> 4", "`n` <> ? [4]"),
        ("n = 1 OR id > 3 AND x < 2", "(`n` = ? OR (`id` > ? AND `x` < ?)) [1, 3, 2]"),
        ("price > 1.25::decimal(10,2)", "`price` > ? [1.25]"),
        ("y >= 1999", "`y` >= ? [1999]"),
        ("cs < 'x'", "`cs` < ? ['x']"),
        ("cs LIKE 'ab%'", "`cs` LIKE ? ['ab%']"),
        ("cs NOT LIKE 'ab%'", "`cs` NOT LIKE ? ['ab%']"),
        ("bytes >= X'00FF'", "`bytes` >= ? [2 bytes]"),
        ("ci IS NOT NULL", "`ci` IS NOT NULL []"),
        ("j IS NULL", "`j` IS NULL []"),
    ];
    for (condition, pushed) in exact {
        let (scan, is_filtered) = filtered(&context, condition).await;
        assert!(scan.contains(&format!("constraint={pushed}")) && !is_filtered, "{condition}: {scan}");
    }
    let more = [
        ("x = 0.0", "`x` = ? [0]"),
        ("x < 0.0", "`x` <= ? [0]"),
        ("ci = 'Abc'", "`ci` = ? ['Abc']"),
        ("ci IN ('a', 'b', 'c', 'd')", "`ci` IN (?, ?, ?, ?) ['a', 'b', 'c', 'd']"),
        ("ci LIKE 'ab%'", "`ci` LIKE ? ['ab%']"),
        ("padded = 'a'", "`padded` = ? ['a']"),
        ("latin = 'a'", "`latin` = ? ['a']"),
        ("e = 'a'", "`e` = ? ['a']"),
        ("day >= '2024-02-03'", "`day` >= ? [2024-02-03]"),
        ("at < '2024-02-03 04:05:06.000007'", "`at` < ? [2024-02-03 04:05:06.000007]"),
        ("ts > '2024-02-03T04:05:06Z'::timestamp(6) with time zone", "`ts` > ? [2024-02-03 04:05:06.000000]"),
        ("day IS NOT NULL", "`day` IS NOT NULL []"),
        ("n = 5 AND ci < 'x'", "`n` = ? [5]"),
    ];
    for (condition, pushed) in more {
        let (scan, is_filtered) = filtered(&context, condition).await;
        assert!(scan.contains(&format!("constraint={pushed}")) && is_filtered, "{condition}: {scan}");
    }
    let none = [
        "ci < 'x'",
        "ci <> 'x'",
        "ci NOT LIKE 'x%'",
        "ci ILIKE 'x%'",
        "padded < 'x'",
        "latin = 'ŝ'",
        "e = 'none' OR e < 'b'",
        "x <> 0.0",
        "day IS NULL",
        "j = '{}'",
        "n + 1 = 5",
        "n % 2 = 0",
        "cs LIKE 'a_c%'",
        "y = 70",
        "n = 1 OR ci > 'x'",
        "e = ''",
    ];
    for condition in none {
        let (scan, is_filtered) = filtered(&context, condition).await;
        assert!(!scan.contains("constraint") && is_filtered, "{condition}: {scan}");
    }
}

#[tokio::test]
async fn only_columns_that_are_used_are_read() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 100);
    let context = home.context(&["t"]);
    assert!(scan(&context, "SELECT name FROM t").await.contains("columns=[name]"));
    assert!(scan(&context, "SELECT count(*) FROM t").await.contains("columns=[]"));
    assert_eq!(rows(&context, "SELECT count(*) FROM t").await, [["100"]]);
    assert_eq!(rows(&context, "SELECT count(third), count(*) FROM t WHERE id > 50").await, [["44", "49"]]);
}

#[tokio::test]
async fn rows_that_come_in_order_are_not_sorted() {
    let mut home = Home::new(&[
        "CREATE TABLE texts (k VARCHAR(20) COLLATE utf8mb4_0900_bin PRIMARY KEY, ci VARCHAR(20) NOT NULL, a INT NOT NULL, b INT NOT NULL, d DATE NOT NULL,
         KEY (ci), KEY (a, b), KEY (d))",
        "INSERT INTO texts VALUES ('b', 'x', 1, 3, '2024-01-02'), ('B', 'Y', 1, 2, '2024-01-01'), ('a', 'X', 2, 1, '2024-01-03'), ('ä', 'z', 1, 1, '2024-01-04')",
    ]);
    numbers(&mut home, "t", 2000);
    let context = home.context(&["t", "texts"]);
    let in_order = [
        "SELECT id FROM t ORDER BY id",
        "SELECT id, name FROM t WHERE id > 300 ORDER BY id DESC",
        "SELECT third FROM t ORDER BY third NULLS FIRST",
        "SELECT third, id FROM t ORDER BY third DESC NULLS LAST, id DESC",
        "SELECT id, third FROM t WHERE third = 20 ORDER BY id",
        "SELECT k FROM texts ORDER BY k",
        "SELECT b FROM texts WHERE a = 1 ORDER BY b",
        "SELECT a, b FROM texts ORDER BY a DESC, b DESC",
        "SELECT id, name FROM t WHERE name <> 'x' ORDER BY id",
    ];
    let memory = SessionContext::new();
    for name in ["t", "texts"] {
        let frame = context.table(name).await.expect("a table");
        memory.register_table(name, frame.cache().await.expect("rows").into_view()).expect("a table of rows");
    }
    for sql in in_order {
        let plan = plan(&context, sql).await;
        assert!(!plan.contains("SortExec"), "{sql}: {plan}");
        assert_eq!(rows(&context, sql).await, rows(&memory, sql).await, "{sql}");
    }
    let sorted = [
        "SELECT third FROM t ORDER BY third",
        "SELECT third FROM t ORDER BY third DESC",
        "SELECT ci FROM texts ORDER BY ci",
        "SELECT d FROM texts ORDER BY d NULLS FIRST",
        "SELECT name FROM t ORDER BY name",
    ];
    for sql in sorted {
        let plan = plan(&context, sql).await;
        assert!(plan.contains("SortExec"), "{sql}: {plan}");
        assert_eq!(rows(&context, sql).await, rows(&memory, sql).await, "{sql}");
    }
}

/// Invalid moments become NULL, so rows behind them are not in order among rows with NULL.
#[tokio::test]
async fn rows_are_not_in_order_behind_values_that_become_null() {
    let mut home = Home::new(&[
        "SET sql_mode = '', time_zone = '+00:00'",
        "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NULL, n INT NOT NULL, KEY (ts, n))",
    ]);
    home.run("INSERT INTO t VALUES (1, NULL, 1), (2, NULL, 5), (3, '0000-00-00', 2), (4, '0000-00-00', 3), (5, '2024-01-01', 4)");
    let context = home.context(&["t"]);
    let sql = "SELECT ts, n FROM t ORDER BY ts NULLS FIRST, n";
    assert!(plan(&context, sql).await.contains("SortExec"));
    let numbers: Vec<String> = rows(&context, sql).await.into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(numbers, ["1", "2", "3", "5", "4"]);
    let plan = plan(&context, "SELECT ts FROM t ORDER BY ts NULLS FIRST").await;
    assert!(!plan.contains("SortExec"), "{plan}");
}

#[tokio::test]
async fn limits_end_the_scan() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 2000);
    let context = home.context(&["t"]);
    let sql = "SELECT id FROM t WHERE id >= 100 LIMIT 7";
    assert!(scan(&context, sql).await.ends_with("fetch=7, pieces=1"), "{}", scan(&context, sql).await);
    assert_eq!(rows(&context, sql).await.len(), 7);
    let sql = "SELECT id FROM t ORDER BY id DESC LIMIT 3";
    let shown = scan(&context, sql).await;
    assert!(shown.contains("order=[`id` DESC], fetch=3"), "{shown}");
    assert_eq!(rows(&context, sql).await, [["1999"], ["1998"], ["1997"]]);
    let sql = "SELECT id FROM t ORDER BY id LIMIT 3 OFFSET 5";
    assert_eq!(rows(&context, sql).await, [["5"], ["6"], ["7"]]);
    // A LIMIT is not pushed below a filter of DataFusion.
    let sql = "SELECT id FROM t WHERE name = 'name 1998' LIMIT 1";
    assert!(!scan(&context, sql).await.contains("fetch"), "{}", scan(&context, sql).await);
    assert_eq!(rows(&context, sql).await, [["1998"]]);
    let sql = "SELECT id FROM t WHERE name LIKE '%99' LIMIT 3";
    assert_eq!(rows(&context, sql).await.len(), 3);
}

#[tokio::test]
async fn tables_are_read_in_pieces_of_an_index() {
    let mut home = Home::new(&[]);
    numbers(&mut home, "t", 5000);
    let context = home.context(&["t"]);
    assert!(scan(&context, "SELECT * FROM t").await.ends_with("pieces=4"));
    assert!(scan(&context, "SELECT third FROM t WHERE third > 10").await.ends_with("pieces=4"));
    assert!(scan(&context, "SELECT * FROM t WHERE id = 10").await.ends_with("pieces=1"));
    let sums = "SELECT count(*), count(DISTINCT id), sum(id), min(name), max(third) FROM t";
    assert_eq!(rows(&context, sums).await, [["5000", "5000", "12497500", "name 0", "1666"]]);
    // A small table is one piece.
    let table = LeaflineTable::open(&home.database, "d", "t").expect("a table");
    context.register_table("small", Arc::new(table)).expect("a registered table");
    assert!(scan(&context, "SELECT * FROM small").await.ends_with("pieces=1"));
}

#[tokio::test]
async fn views_and_whole_schemas_can_be_read() {
    let mut home = Home::new(&[
        "CREATE DATABASE `other one`",
        "CREATE TABLE `other one`.`Mixed Case` (`a``b` INT PRIMARY KEY)",
    ]);
    home.run("INSERT INTO `other one`.`Mixed Case` VALUES (1), (2)");
    numbers(&mut home, "t", 300);
    home.run("CREATE VIEW thirds AS SELECT third, COUNT(*) AS n FROM t GROUP BY third");
    home.run("CREATE VIEW early AS SELECT id, name FROM t WHERE id < 100");
    let context = SessionContext::new();
    register_all(&context, &home.database, "d").expect("registered tables");
    assert_eq!(rows(&context, "SELECT sum(n) FROM thirds").await, [["300"]]);
    assert_eq!(rows(&context, "SELECT count(*) FROM early WHERE id >= 90").await, [["10"]]);
    assert!(register_all(&context, &home.database, "none").is_err());

    context.register_catalog("leafline", Arc::new(LeaflineCatalog::new(&home.database)));
    let sql = r#"SELECT "a`b" FROM leafline."other one"."Mixed Case" WHERE "a`b" > 1"#;
    assert_eq!(rows(&context, sql).await, [["2"]]);
    assert!(context.sql("SELECT * FROM leafline.d.nothing").await.is_err());
    assert!(context.sql("SELECT * FROM leafline.nowhere.t").await.is_err());
    // Tables that are created later exist, too.
    home.run("CREATE TABLE later (id INT PRIMARY KEY)");
    assert_eq!(rows(&context, "SELECT count(*) FROM leafline.d.later").await, [["0"]]);
}
