//! Tests TPC-H's queries 1, 3 and 6 at a tiny scale, by DataFusion and by Leafline itself.

use crate::support::{Home, rows};
use leafline::Value;
use std::fmt::Display;
use tpchgen::generators::{CustomerGenerator, LineItemGenerator, OrderGenerator};

const SCALE: f64 = 0.002;

const TABLES: [&str; 3] = [
    "CREATE TABLE customer (c_custkey INT NOT NULL PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, c_nationkey INT NOT NULL,
     c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL)",
    "CREATE TABLE orders (o_orderkey BIGINT NOT NULL PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL, o_totalprice DECIMAL(15,2) NOT NULL,
     o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL)",
    "CREATE TABLE lineitem (l_orderkey BIGINT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL,
     l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL,
     l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL,
     l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber))",
];

const Q1: &str = "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
    avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
    FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";
const Q3: &str = "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem
    WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15'
    GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10";
const Q6: &str = "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'
    AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";

fn load<R: Display>(home: &mut Home, table: &str, rows: impl Iterator<Item = R>) {
    let rows: Vec<String> = rows
        .map(|row| {
            let line = row.to_string();
            let values: Vec<String> =
                line.trim_end_matches('|').split('|').map(|value| format!("'{value}'")).collect();
            format!("({})", values.join(", "))
        })
        .collect();
    for rows in rows.chunks(500) {
        home.run(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")));
    }
}

/// Returns the rows of Leafline's answer.
fn answer(home: &mut Home, sql: &str) -> Vec<Vec<String>> {
    let rows = home.connection.query(sql, ()).expect("an answer");
    let text = |value: Value| match value {
        Value::String(text) => text.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Date(day) => day.to_string(),
        other => panic!("{other:?}"),
    };
    rows.map(|row| row.expect("a row").values().into_iter().map(text).collect()).collect()
}

/// Checks that the rows are the same; the last digit of numbers may differ by rounding.
fn assert_same(sql: &str, found: &[Vec<String>], wanted: &[Vec<String>]) {
    assert_eq!(found.len(), wanted.len(), "{sql}: {found:?} {wanted:?}");
    for (found, wanted) in found.iter().flatten().zip(wanted.iter().flatten()) {
        match (found.parse::<f64>(), wanted.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!((a - b).abs() <= 1e-6 + b.abs() * 1e-12, "{sql}: {a} {b}"),
            _ => assert_eq!(found, wanted, "{sql}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_have_leaflines_answers() {
    let mut home = Home::new(&TABLES);
    load(&mut home, "customer", CustomerGenerator::new(SCALE, 1, 1).iter());
    load(&mut home, "orders", OrderGenerator::new(SCALE, 1, 1).iter());
    load(&mut home, "lineitem", LineItemGenerator::new(SCALE, 1, 1).iter());
    let context = home.context(&["customer", "orders", "lineitem"]);
    context.sql("SET datafusion.sql_parser.parse_float_as_decimal = true").await.expect("a setting");
    for (sql, count) in [(Q1, 4), (Q3, 10), (Q6, 1)] {
        let found = rows(&context, sql).await;
        assert_eq!(found.len(), count, "{sql}");
        assert_same(sql, &found, &answer(&mut home, sql));
    }
    let plan = crate::support::plan(&context, Q6).await;
    assert!(
        plan.contains("`l_shipdate` >= ?") && plan.contains("`l_quantity` < ?") && plan.contains("pieces=4"),
        "{plan}"
    );
}
