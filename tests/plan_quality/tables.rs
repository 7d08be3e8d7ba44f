//! The tables of the fixture: a shop whose columns are skewed, correlated with each other and with the order of rows,
//! or random.

use super::rows::rows_of;
use leafline::{Database, OpenOptions};
use std::path::Path;

/// A table and its indexes.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its secondary indexes.
    pub indexes: &'static [&'static str],
}

/// One customer for fifty orders.
pub const CUSTOMER: Table = Table { name: "customer", indexes: &["country", "name", "segment_country"] };
/// The orders: `created` follows their numbers, nine of ten are done.
pub const ORDERS: Table =
    Table { name: "orders", indexes: &["customer", "status_created", "created", "channel_amount", "amount"] };
/// Two and a half items per order.
pub const ITEM: Table = Table { name: "item", indexes: &["product_quantity", "price"] };
/// One product for a hundred orders.
pub const PRODUCT: Table = Table { name: "product", indexes: &["category_price"] };

const CREATE: [&str; 4] = [
    "CREATE TABLE customer (id INT PRIMARY KEY, country INT NOT NULL, segment INT NOT NULL, name VARCHAR(30) NOT NULL, \
     born DATE, KEY country (country), KEY name (name), KEY segment_country (segment, country))",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, status INT NOT NULL, created DATETIME NOT NULL, \
     amount DECIMAL(10,2), channel INT NOT NULL, note CHAR(80) NOT NULL, KEY customer (customer), \
     KEY status_created (status, created), KEY created (created), KEY channel_amount (channel, amount), KEY amount (amount))",
    "CREATE TABLE item (order_id INT, line INT, product INT NOT NULL, quantity INT NOT NULL, price DECIMAL(10,2) NOT NULL, \
     text CHAR(30) NOT NULL, PRIMARY KEY (order_id, line), KEY product_quantity (product, quantity), KEY price (price))",
    "CREATE TABLE product (id INT PRIMARY KEY, category INT NOT NULL, price DECIMAL(10,2) NOT NULL, title CHAR(60) NOT NULL, \
     KEY category_price (category, price))",
];

/// Statements that make rows of each table from numbers `n`, with the ratio of rows to orders; `{orders}`,
/// `{customers}` and `{products}` are counts.
const FILL: [(&str, u64, u64); 4] = [
    (
        "INSERT INTO customer SELECT n, FLOOR(POW(40, (n * 7919 % 10007) / 10007)) - 1, n * 31 % 1009 % 5, \
         CONCAT('name', n * 7919 % 100003), DATE_ADD('1950-01-01', INTERVAL n * 613 % 20000 DAY)",
        1,
        50,
    ),
    (
        "INSERT INTO orders SELECT n, FLOOR(POW({customers}, (n * 6007 % 99991) / 99991)) * 7 % {customers}, \
         IF(n * 7 % 10 < 9, 3, n * 13 % 101 % 3), DATE_ADD('2020-01-01', INTERVAL n * 10 + n * 37 % 60 MINUTE), \
         IF(n % 50 = 0, NULL, n * 9973 % 100003 / 10), n * 17 % 1013 % 4, CONCAT('note ', n)",
        1,
        1,
    ),
    (
        "INSERT INTO item SELECT n DIV 5 * 2 + n % 5 DIV 3, n % 5, FLOOR(POW({products}, (n * 7919 % 100003) / 100003)) * 11 % {products}, \
         n * 61 % 1019 % 20, n * 8887 % 100019 / 100, CONCAT('text ', n)",
        5,
        2,
    ),
    ("INSERT INTO product SELECT n, n * 7 % 1021 % 50, n * 4691 % 10007 / 10, CONCAT('title ', n)", 1, 100),
];

/// Creates the database.
pub fn create(path: &Path, orders: u64) {
    let options = OpenOptions::new().buffer_pool_size(1 << 30);
    let database: Database = options.open(path).expect("a database");
    let mut connection = database.connect().expect("a connection");
    let mut run = |sql: &str| {
        rows_of(connection.session(), sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    };
    run("CREATE DATABASE shop");
    run("USE shop");
    CREATE.into_iter().for_each(&mut run);
    for (insert, times, by) in FILL {
        let insert = insert
            .replace("{customers}", &(orders / 50).to_string())
            .replace("{products}", &(orders / 100).to_string());
        // In parts, because a statement's changes stay in memory until it ends.
        let rows = orders * times / by;
        for start in (0..rows).step_by(100_000) {
            let count = (rows - start).min(100_000);
            run(&format!(
                "{insert} FROM (WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999) \
                 SELECT {start} + a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n < 100 AND a.n * 1000 + b.n < {count}) numbers"
            ));
        }
    }
    run("ANALYZE TABLE customer, orders, item, product");
    drop(connection);
    database.close().expect("an orderly end");
}
