//! Handwritten queries.

use super::Query;
use super::tables::{CUSTOMER, ITEM, ORDERS, PRODUCT, Table};

/// The alias of each table.
const ALIASES: [(&str, &Table); 4] = [("c", &CUSTOMER), ("o", &ORDERS), ("i", &ITEM), ("p", &PRODUCT)];

/// Names and texts; `{list:10}` stands for ten numbers below the number of orders.
const QUERIES: [(&str, &str); 64] = [
    // ORDER BY ... LIMIT that switches to the index of the order.
    ("limit-1", "SELECT {} * FROM orders o WHERE o.status = 1 ORDER BY o.id LIMIT 10"),
    ("limit-2", "SELECT {} * FROM orders o WHERE o.customer = 5 ORDER BY o.created DESC, o.id DESC LIMIT 5"),
    ("limit-3", "SELECT {} * FROM orders o WHERE o.customer = 4321 ORDER BY o.created LIMIT 20"),
    (
        "limit-4",
        "SELECT {} * FROM orders o WHERE o.status = 2 AND o.amount > 9000 ORDER BY o.id DESC LIMIT 10",
    ),
    (
        "limit-5",
        "SELECT {} o.id, o.note FROM orders o WHERE o.note LIKE '%99%' ORDER BY o.amount DESC, o.id LIMIT 10",
    ),
    (
        "limit-6",
        "SELECT {} * FROM orders o WHERE o.created < '2020-02-01' AND o.status = 0 ORDER BY o.id DESC LIMIT 10",
    ),
    (
        "limit-7",
        "SELECT {} * FROM orders o WHERE o.channel = 2 AND o.customer < 20 ORDER BY o.amount, o.id LIMIT 10",
    ),
    ("limit-8", "SELECT {} * FROM orders o WHERE o.status IN (0, 1) ORDER BY o.created, o.id LIMIT 15"),
    ("limit-9", "SELECT {} o.id FROM orders o ORDER BY o.created DESC, o.id DESC LIMIT 30 OFFSET 5000"),
    ("limit-10", "SELECT {} * FROM orders o ORDER BY o.amount DESC, o.note LIMIT 10"),
    (
        "limit-11",
        "SELECT {} * FROM item i WHERE i.quantity = 19 ORDER BY i.price DESC, i.order_id, i.line LIMIT 10",
    ),
    ("limit-12", "SELECT {} * FROM orders o WHERE o.status = 7 ORDER BY o.id LIMIT 10"),
    // Conditions on the index, on more of it or less.
    (
        "pushed-1",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.channel = 1 AND o.amount > 100 AND o.amount LIKE '%7'",
    ),
    ("pushed-2", "SELECT {} COUNT(i.text) FROM item i WHERE i.product < 100 AND i.quantity = 3"),
    ("pushed-3", "SELECT {} COUNT(i.text) FROM item i WHERE i.product < 5 AND i.quantity <> 3"),
    (
        "pushed-4",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.status >= 0 AND o.created BETWEEN '2020-03-01' AND '2020-03-02'",
    ),
    (
        "pushed-5",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.status = 3 AND o.created > '2020-01-10' AND MINUTE(o.created) = 7",
    ),
    // Long lists.
    ("list-1", "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer IN ({list:10})"),
    ("list-2", "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer IN ({list:300})"),
    (
        "list-3",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.id IN ({list:13}) AND o.created > '2020-01-01'",
    ),
    ("list-4", "SELECT {} COUNT(o.note) FROM orders o WHERE o.id IN ({list:2000})"),
    ("list-5", "SELECT {} COUNT(i.text) FROM item i WHERE i.product IN ({list:50}) AND i.quantity IN (1, 5)"),
    (
        "list-6",
        "SELECT {} COUNT(o.note) FROM orders o WHERE (o.status, o.channel) IN ((0, 1), (1, 2), (2, 3))",
    ),
    ("list-7", "SELECT {} * FROM orders o WHERE o.customer IN (3, 5, 7) ORDER BY o.id LIMIT 10"),
    // Counting.
    ("count-1", "SELECT {} COUNT(*) FROM orders o"),
    ("count-2", "SELECT {} COUNT(*) FROM orders o WHERE o.status = 3"),
    ("count-3", "SELECT {} COUNT(*) FROM item i WHERE i.quantity = 3"),
    ("count-4", "SELECT {} COUNT(*) FROM orders o WHERE o.customer > 100 AND o.channel = 1"),
    (
        "count-5",
        "SELECT {} COUNT(*) FROM orders o WHERE o.created >= '2020-02-01' AND o.created < '2020-03-01' AND o.channel = 2",
    ),
    // No condition on the first part.
    ("skip-1", "SELECT {} COUNT(o.note) FROM orders o WHERE o.created BETWEEN '2020-02-01' AND '2020-02-02'"),
    ("skip-2", "SELECT {} COUNT(c.born) FROM customer c WHERE c.country = 12 AND c.segment > 0"),
    ("skip-3", "SELECT {} COUNT(c.name) FROM customer c WHERE c.segment > 1 AND c.country = 39"),
    ("skip-4", "SELECT {} COUNT(i.text) FROM item i WHERE i.quantity = 7 AND i.price < 10"),
    ("skip-5", "SELECT {} COUNT(p.title) FROM product p WHERE p.price < 5"),
    // Several indexes.
    ("merge-1", "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer = 9 OR o.amount < 3"),
    ("merge-2", "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer < 3 AND o.amount > 9900"),
    ("merge-3", "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer < 2 AND o.status = 1"),
    (
        "merge-4",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.customer = 17 OR o.status = 0 AND o.channel = 1",
    ),
    ("merge-5", "SELECT {} COUNT(i.text) FROM item i WHERE i.product = 7 AND i.price BETWEEN 10 AND 20"),
    ("merge-6", "SELECT {} COUNT(o.note) FROM orders o WHERE o.id < 500 OR o.amount IS NULL"),
    // Groups.
    ("group-1", "SELECT {} o.status, MAX(o.created) FROM orders o GROUP BY o.status ORDER BY o.status"),
    ("group-2", "SELECT {} DISTINCT o.channel FROM orders o ORDER BY o.channel"),
    ("group-3", "SELECT {} i.product, MIN(i.quantity) FROM item i GROUP BY i.product ORDER BY i.product"),
    (
        "group-4",
        "SELECT {} o.customer, COUNT(*) FROM orders o GROUP BY o.customer ORDER BY COUNT(*) DESC, o.customer LIMIT 5",
    ),
    (
        "group-5",
        "SELECT {} o.customer, SUM(o.amount) FROM orders o GROUP BY o.customer ORDER BY o.customer LIMIT 5",
    ),
    (
        "group-6",
        "SELECT {} o.channel, o.status, COUNT(*) FROM orders o WHERE o.created > '2020-02-01' GROUP BY o.channel, o.status ORDER BY 1, 2",
    ),
    // A large range instead of a few keys.
    ("range-1", "SELECT {} COUNT(o.note) FROM orders o WHERE o.created > '2020-01-02' AND o.customer = 77"),
    (
        "range-2",
        "SELECT {} COUNT(o.note) FROM orders o WHERE o.created BETWEEN '2020-01-03' AND '2020-01-20'",
    ),
    ("range-3", "SELECT {} COUNT(o.note) FROM orders o WHERE o.amount BETWEEN 100 AND 130"),
    ("range-4", "SELECT {} COUNT(o.note) FROM orders o WHERE o.amount BETWEEN 100 AND 1500"),
    ("range-5", "SELECT {} COUNT(o.note) FROM orders o WHERE o.amount BETWEEN 100 AND 6500"),
    ("range-6", "SELECT {} COUNT(c.born) FROM customer c WHERE c.country = 0 AND c.segment = 2"),
    // Joins.
    (
        "join-1",
        "SELECT {} COUNT(o.note) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.country = 38",
    ),
    (
        "join-2",
        "SELECT {} COUNT(o.note) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.country < 3",
    ),
    ("join-3", "SELECT {} COUNT(i.text) FROM orders o JOIN item i ON i.order_id = o.id WHERE o.status = 1"),
    (
        "join-4",
        "SELECT {} COUNT(i.text) FROM orders o JOIN item i ON i.order_id = o.id WHERE o.created < '2020-01-03'",
    ),
    (
        "join-5",
        "SELECT {} SUM(i.quantity) FROM product p JOIN item i ON i.product = p.id WHERE p.category = 7 AND p.price > 800",
    ),
    ("join-6", "SELECT {} COUNT(i.text) FROM product p JOIN item i ON i.product = p.id WHERE p.category = 7"),
    (
        "join-7",
        "SELECT {} SUM(o.amount) FROM customer c JOIN orders o ON o.customer = c.id JOIN item i ON i.order_id = o.id WHERE c.name = 'name7919' AND i.quantity = 3",
    ),
    (
        "join-8",
        "SELECT {} SUM(i.price) FROM customer c JOIN orders o ON o.customer = c.id JOIN item i ON i.order_id = o.id WHERE c.segment = 1 AND o.status = 2",
    ),
    (
        "join-9",
        "SELECT {} SUM(i.price) FROM orders o JOIN item i ON i.order_id = o.id JOIN product p ON p.id = i.product WHERE p.category = 3 AND o.created < '2020-02-01'",
    ),
    (
        "join-10",
        "SELECT {} o.id, c.name FROM orders o JOIN customer c ON c.id = o.customer WHERE c.country > 30 ORDER BY o.id DESC LIMIT 10",
    ),
    (
        "join-11",
        "SELECT {} o.id, i.text FROM orders o JOIN item i ON i.order_id = o.id WHERE i.price > 990 ORDER BY o.created, o.id, i.line LIMIT 10",
    ),
    ("join-12", "SELECT {} COUNT(*) FROM orders o JOIN item i ON i.order_id = o.id"),
];

/// Returns the queries over `orders` orders.
pub fn queries(orders: u64) -> Vec<Query> {
    QUERIES
        .iter()
        .map(|(name, sql)| Query {
            name: (*name).to_owned(),
            sql: filled_in(sql, orders),
            tables: tables_of(sql),
        })
        .collect()
}

/// Returns the tables whose aliases occur in a query.
pub fn tables_of(sql: &str) -> Vec<(&'static str, &'static Table)> {
    ALIASES
        .into_iter()
        .filter(|(alias, table)| {
            sql.contains(&format!("{} {alias} ", table.name))
                || sql.ends_with(&format!("{} {alias}", table.name))
        })
        .collect()
}

/// Replaces `{list:n}` by `n` numbers.
fn filled_in(sql: &str, orders: u64) -> String {
    let Some((before, rest)) = sql.split_once("{list:") else { return sql.to_owned() };
    let (count, after) = rest.split_once('}').expect("a closed brace");
    let count: u64 = count.parse().expect("a number");
    let list: Vec<String> = (0..count).map(|n| (n * 7919 % orders).to_string()).collect();
    format!("{before}{}{after}", list.join(", "))
}
