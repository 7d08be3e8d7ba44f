//! Scans that leap give the rows of the reference interpreter.

use super::differential::{checked, pick};
use crate::testing::{self, Database};
use leafline_access::CpuCosts;
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Leading parts with few values: ascending, descending, with NULLs and without.
const TABLE: &str = "CREATE TABLE l (id INT PRIMARY KEY, a INT, b INT, c INT NOT NULL, d INT, \
                     KEY abc (a, b DESC, c), KEY cd (c DESC, d), KEY bda (b, d, a))";

fn database(rng: &mut SmallRng) -> Database {
    let maybe = |rng: &mut SmallRng, value: i64| match rng.random_ratio(1, 9) {
        true => Value::Null,
        false => Value::Int(value),
    };
    let row = |number: i64, rng: &mut SmallRng| {
        let (a, b, d) = (rng.random_range(0..4), rng.random_range(0..6), rng.random_range(0..60));
        let (a, b, d) = (maybe(rng, a), maybe(rng, b), maybe(rng, d));
        vec![Value::Int(number), a, b, Value::Int(rng.random_range(0..5)), d]
    };
    let rows: Vec<Vec<Value>> = (0..900).map(|number| row(number, rng)).collect();
    let mut database = Database::new();
    database.table(TABLE, &rows);
    // Leaps are taken wherever they are possible.
    database.model.cpu = CpuCosts { entry: 1.0, seek: 0.1, leaf: 0.0, leap: 0.0, ..CpuCosts::default() };
    database
}

fn condition(rng: &mut SmallRng, depth: usize) -> String {
    if depth > 0 && rng.random_ratio(1, 2) {
        let parts: Vec<String> = (0..rng.random_range(2..4)).map(|_| condition(rng, depth - 1)).collect();
        let joined = format!("({})", parts.join(pick(rng, &[" AND ", " OR "])));
        return if rng.random_ratio(1, 6) { format!("NOT {joined}") } else { joined };
    }
    let column = pick(rng, &["a", "b", "c", "d", "d"]);
    let number = rng.random_range(-1..if column == "d" { 60 } else { 7 });
    match rng.random_range(0..8) {
        0 => format!("{column} IS {}NULL", pick(rng, &["", "NOT "])),
        1 => format!("{column} IN ({number}, {}, {})", number + 2, number + 3),
        2 => format!("{column} BETWEEN {number} AND {}", number + 2),
        3 => format!("(a, b) {} ({number}, 3)", pick(rng, &["=", ">", "<="])),
        4 => format!("(b, d) IN (({number}, 7), (2, {number}), (5, 5), (1, 40))"),
        _ => format!("{column} {} {number}", pick(rng, &["=", "=", "=", "<", ">", "<>", "<=>"])),
    }
}

fn query(rng: &mut SmallRng) -> String {
    let conditions: Vec<String> = (0..rng.random_range(0..3)).map(|_| condition(rng, 2)).collect();
    let filter = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    let order = pick(
        rng,
        &["", "", " ORDER BY c DESC, d", " ORDER BY c, d DESC", " ORDER BY a, b DESC, c", " ORDER BY b"],
    );
    let (function, of) = (pick(rng, &["MIN", "MAX"]), pick(rng, &["a", "b", "c", "d", "c + d"]));
    let keys = pick(rng, &["a", "c", "b", "a, b", "b, a", "b, d", "c, d", "a + 1"]);
    match rng.random_range(0..10) {
        9 => {
            let led = [("a", "b"), ("c", "d"), ("b", "d"), ("a, b", "c"), (keys, of)];
            let (keys, of) = led[rng.random_range(0..led.len())];
            format!("SELECT {keys}, MAX({of}), MIN({of}) FROM l{filter} GROUP BY {keys}")
        }
        7 | 8 => {
            // The order contains the id, so that the rows that a LIMIT keeps are known.
            let order = match rng.random_range(0..6) {
                4 => "d, a, id",
                5 => "b, d, id",
                0 => "d, id",
                1 => "b DESC, c, id",
                2 => "d, b, a, id",
                _ => "d DESC, a DESC, id DESC",
            };
            let limit = rng.random_range(1..6);
            let more =
                pick(rng, &["", "a IN (1, 3)", "c IN (0, 2, 4)", "b IN (1, 2, 5)", "a IN (0, 2) AND b > 2"]);
            let filter = match (filter.is_empty(), more.is_empty()) {
                (_, true) => filter,
                (true, false) => format!(" WHERE {more}"),
                (false, false) => format!("{filter} AND {more}"),
            };
            format!(
                "SELECT {} FROM l{filter} ORDER BY {order} LIMIT {limit}",
                pick(rng, &["id, a, b, c, d", "b, d"])
            )
        }
        0 => format!("SELECT id, a, b, c, d FROM l{filter}{order}"),
        1 | 2 => format!("SELECT {} FROM l{filter}{order}", pick(rng, &["a, b, c", "d, c", "d", "a, b, d"])),
        3 => format!("SELECT DISTINCT {keys} FROM l{filter}"),
        4 => format!("SELECT {keys}, {function}({of}) FROM l{filter} GROUP BY {keys}"),
        5 => format!("SELECT COUNT(DISTINCT {}) FROM l{filter}", pick(rng, &["a", "b", "c", "a, b"])),
        _ => format!(
            "SELECT {keys}, {function}({of}) FROM l{filter} GROUP BY {keys} HAVING {function}({of}) > 2"
        ),
    }
}

#[test]
fn leaps_lose_no_rows() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database(&mut rng);
    let (mut skipping, mut loose, mut reverse, mut leapt, mut first_of, mut both, mut merges) =
        (0, 0, 0, 0, 0, 0, 0);
    for case in 0..500 * testing::scale() {
        let sql = query(&mut rng);
        database.switches.skip_scan = rng.random_ratio(5, 6);
        database.switches.ordered_merge = rng.random_ratio(3, 4);
        let (answer, explained) = checked(&database, &sql, &format!("seed {seed}, case {case}"));
        let context = format!("seed {seed}, case {case}: {sql}\n{explained}");
        first_of += usize::from(explained.contains("of each value"));
        let examined = answer.counters.leafline_entries_examined;
        assert!(examined <= 4 * 900, "{examined} entries: {context}");
        let leaps = answer.counters.leafline_leaps > 0;
        assert!(database.switches.skip_scan || !leaps, "{context}");
        leapt += usize::from(leaps);
        reverse += usize::from(leaps && explained.contains("(reverse)"));
        skipping += usize::from(explained.contains("skip scan on"));
        merges += usize::from(explained.contains("ranges merged in order"));
        both += usize::from(explained.contains("both ends of each group"));
        loose += usize::from(explained.contains("skip scan for grouping"));
    }
    for count in [skipping, loose, reverse, leapt, first_of, both, merges] {
        assert!(
            count > 5,
            "{skipping} plans skip, {loose} are loose, {reverse} in reverse, {leapt} leapt, {first_of} first of each, {both} both ends, {merges} merges"
        );
    }
}
