//! Random queries.

use super::Query;
use super::written::tables_of;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Joined tables, the columns read from them, and a unique order of rows.
const FROM: [(&str, &str, &str); 7] = [
    ("orders o", "o", "o.id"),
    ("item i", "i", "i.order_id, i.line"),
    ("customer c", "c", "c.id"),
    ("customer c JOIN orders o ON o.customer = c.id", "c o", "o.id"),
    ("orders o JOIN item i ON i.order_id = o.id", "o i", "i.order_id, i.line"),
    ("item i JOIN product p ON p.id = i.product", "i p", "i.order_id, i.line"),
    (
        "customer c JOIN orders o ON o.customer = c.id JOIN item i ON i.order_id = o.id",
        "c o i",
        "i.order_id, i.line",
    ),
];

fn condition(alias: &str, orders: u64, random: &mut SmallRng) -> String {
    // The share of the column's values in a range: from small to large.
    let share = [0.0005, 0.005, 0.03, 0.15, 0.5][random.random_range(0..5)];
    match alias {
        "o" => match random.random_range(0..2) {
            0 => match random.random_range(0..4) {
                0 => format!("o.status = {}", random.random_range(0..4)),
                1 => format!("o.channel = {}", random.random_range(0..4)),
                2 => format!("o.customer = {}", random.random_range(0..orders / 50)),
                _ => "o.amount IS NULL".to_owned(),
            },
            _ => match random.random_range(0..4) {
                0 => ranged(random, "o.amount", 10_000, share),
                1 => ranged(random, "o.customer", orders / 50, share),
                2 => ranged(random, "o.id", orders, share),
                _ => {
                    let days = orders / 144;
                    let width = ((days as f64 * share) as u64).max(1);
                    let from = random.random_range(0..days.max(2) - 1);
                    format!(
                        "o.created BETWEEN DATE_ADD('2020-01-01', INTERVAL {from} DAY) AND DATE_ADD('2020-01-01', INTERVAL {} DAY)",
                        from + width
                    )
                }
            },
        },
        "i" => match random.random_range(0..4) {
            0 => format!("i.quantity = {}", random.random_range(0..20)),
            1 => format!("i.product = {}", random.random_range(0..orders / 100)),
            2 => ranged(random, "i.product", orders / 100, share),
            _ => ranged(random, "i.price", 1000, share),
        },
        "c" => match random.random_range(0..4) {
            0 => format!("c.country = {}", random.random_range(0..40)),
            1 => format!("c.segment = {}", random.random_range(0..5)),
            2 => format!("c.name LIKE 'name{}%'", random.random_range(1..100)),
            _ => format!("YEAR(c.born) = {}", random.random_range(1950..2004)),
        },
        _ => match random.random_range(0..2) {
            0 => format!("p.category = {}", random.random_range(0..50)),
            _ => ranged(random, "p.price", 1000, share),
        },
    }
}

fn ranged(random: &mut SmallRng, column: &str, values: u64, share: f64) -> String {
    let width = (values as f64 * share) as u64;
    let from = random.random_range(0..=values - width);
    format!("{column} BETWEEN {from} AND {}", from + width)
}

/// Returns `count` queries over `orders` orders.
pub fn queries(orders: u64, seed: u64, count: usize) -> Vec<Query> {
    let mut random = SmallRng::seed_from_u64(seed);
    (1..=count).map(|number| query(number, orders, &mut random)).collect()
}

fn query(number: usize, orders: u64, random: &mut SmallRng) -> Query {
    let (from, aliases, order) = FROM.choose(random).expect("some tables");
    let aliases: Vec<&str> = aliases.split(' ').collect();
    let mut conditions = Vec::new();
    for alias in &aliases {
        let most = if aliases.len() == 1 { 1..4 } else { 0..3 };
        for _ in 0..random.random_range(most) {
            conditions.push(condition(alias, orders, random));
        }
    }
    if conditions.is_empty() {
        conditions.push(condition(aliases[0], orders, random));
    }
    let mut text = conditions.join(" AND ");
    if aliases.len() == 1 && conditions.len() > 1 && random.random_range(0..4) == 0 {
        text = conditions.join(" OR ");
    }
    let all = |suffix: &[(&str, &str)]| -> String {
        let of =
            |alias: &&str| suffix.iter().find(|(known, _)| known == alias).map_or("", |(_, column)| *column);
        aliases.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let texts = all(&[
        ("o", "COUNT(o.note)"),
        ("i", "COUNT(i.text)"),
        ("c", "COUNT(c.born)"),
        ("p", "COUNT(p.title)"),
    ]);
    let keys = all(&[
        ("o", "SUM(o.customer)"),
        ("i", "SUM(i.product)"),
        ("c", "SUM(c.country)"),
        ("p", "SUM(p.category)"),
    ]);
    let sql = match random.random_range(0..6) {
        0 | 1 => format!("SELECT {{}} {texts} FROM {from} WHERE {text}"),
        2 => format!("SELECT {{}} {keys} FROM {from} WHERE {text}"),
        3 => format!("SELECT {{}} * FROM {from} WHERE {text} ORDER BY {order} LIMIT 10"),
        4 => {
            let by = all(&[("o", "o.amount"), ("i", "i.price"), ("c", "c.name"), ("p", "p.price")]);
            let by = by.split(", ").next().unwrap_or_default();
            format!("SELECT {{}} * FROM {from} WHERE {text} ORDER BY {by} DESC, {order} LIMIT 20")
        }
        _ => {
            let by = all(&[("o", "o.channel"), ("i", "i.quantity"), ("c", "c.country"), ("p", "p.category")]);
            let by = by.split(", ").next().unwrap_or_default();
            format!("SELECT {{}} {by}, COUNT(*) FROM {from} WHERE {text} GROUP BY {by} ORDER BY {by}")
        }
    };
    let tables = tables_of(&sql);
    Query { name: format!("drawn-{number}"), sql, tables }
}
