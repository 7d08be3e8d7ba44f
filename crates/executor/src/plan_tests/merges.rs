//! Index merge and rowid filters give the rows of the reference interpreter, for any combination.

use super::differential::{checked, pick};
use crate::testing::{self, Database};
use leafline_access::CpuCosts;
use leafline_planner::optimizer::BudgetSettings;
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Primary keys of one part, of two, and none.
const TABLES: &[(&str, &str)] =
    &[("one", "PRIMARY KEY (id)"), ("two", "PRIMARY KEY (b, id DESC)"), ("none", "KEY i (id)")];
const KEYS: &str = "KEY a (a), KEY b (b), KEY cd (c, d DESC), KEY d (d), KEY e (e, id)";

fn database(rng: &mut SmallRng) -> Database {
    let mut database = Database::new();
    for (name, key) in TABLES {
        let create = format!(
            "CREATE TABLE {name} (id INT NOT NULL, a INT, b INT NOT NULL, c INT, d INT, e VARCHAR(5), {key}, {KEYS})"
        );
        let row = |number: i64, rng: &mut SmallRng| {
            let mut maybe = |most: i64| match rng.random_ratio(1, 9) {
                true => Value::Null,
                false => Value::Int(rng.random_range(0..most)),
            };
            let (a, c, d) = (maybe(6), maybe(5), maybe(40));
            let e = Value::string(pick(rng, &["x", "y", "yy", "Z"]));
            vec![Value::Int(number), a, Value::Int(rng.random_range(0..7)), c, d, e]
        };
        let rows: Vec<Vec<Value>> = (0..600).map(|number| row(number, rng)).collect();
        database.table(&create, &rows);
    }
    // Rows are expensive and entries cheap.
    database.model.cpu =
        CpuCosts { fetch: 20.0, filter: 10.0, entry: 0.001, seek: 0.01, ..CpuCosts::default() };
    database
}

fn simple(rng: &mut SmallRng, of: &str) -> String {
    let column = pick(rng, &["a", "b", "c", "d", "e", "id"]);
    if column == "e" {
        let text = pick(rng, &["x", "y", "Z", "q"]);
        return format!("{of}e {} '{text}'", pick(rng, &["=", "=", "LIKE", ">"]));
    }
    let most = match column {
        "id" => 600,
        "d" => 40,
        _ => 7,
    };
    let number = rng.random_range(-1..most);
    match rng.random_range(0..7) {
        0 => format!("{of}{column} IS NULL"),
        1 => format!("{of}{column} IN ({number}, {}, {})", number + 2, number + 3),
        2 => format!("{of}{column} BETWEEN {number} AND {}", number + 2),
        _ => format!("{of}{column} {} {number}", pick(rng, &["=", "=", "=", "<", ">", "<=>"])),
    }
}

fn condition(rng: &mut SmallRng, of: &str, depth: usize) -> String {
    if depth == 0 || rng.random_ratio(2, 5) {
        return simple(rng, of);
    }
    let parts: Vec<String> = (0..rng.random_range(2..4)).map(|_| condition(rng, of, depth - 1)).collect();
    format!("({})", parts.join(pick(rng, &[" AND ", " OR ", " OR "])))
}

fn query(rng: &mut SmallRng) -> String {
    let (table, _) = TABLES[rng.random_range(0..TABLES.len())];
    if rng.random_ratio(1, 5) {
        let filter = [condition(rng, "t.", 1), condition(rng, "o.", 1)].join(" AND ");
        let join = pick(rng, &["JOIN", "STRAIGHT_JOIN", "LEFT JOIN"]);
        return format!(
            "SELECT o.id, t.id, t.e, t.d FROM one o {join} {table} t ON t.{0} = o.{0} AND {1} WHERE {filter}",
            pick(rng, &["a", "c", "b"]),
            simple(rng, "t.")
        );
    }
    let conditions: Vec<String> = (0..rng.random_range(1..4)).map(|_| condition(rng, "", 2)).collect();
    let order = pick(
        rng,
        &[
            "id",
            "id DESC",
            "d, id",
            "c DESC, d, id DESC",
            "a, b, id",
            "b, id DESC",
            "a, e, id",
            "b DESC, d, c, id",
        ],
    );
    let limit =
        if rng.random_ratio(1, 3) { format!(" LIMIT {}", rng.random_range(1..40)) } else { String::new() };
    let hint = pick(rng, &["", "", "/*+ INDEX_MERGE(t) */ ", "/*+ NO_INDEX_MERGE(t a, b) */ "]);
    format!(
        "SELECT {hint}id, a, b, c, d, e FROM {table} t WHERE {} ORDER BY {order}{limit}",
        conditions.join(" AND ")
    )
}

#[test]
fn merged_indexes_lose_no_rows_and_give_none_twice() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut database = database(&mut rng);
    let names = [
        "intersect(",
        "union(",
        "sort_union(",
        "rows in",
        "Index merge on t using sort_intersect(",
        "(reverse)",
        "rows come by",
        "The first of two",
    ];
    let (mut seen, mut switched) = ([0; 8], 0);
    for case in 0..400 * testing::scale() {
        let sql = query(&mut rng);
        let switches = &mut database.switches;
        switches.index_merge = rng.random_ratio(7, 8);
        switches.index_merge_intersection = rng.random_ratio(3, 4);
        switches.index_merge_sort_union = rng.random_ratio(7, 8);
        switches.index_merge_union = rng.random_ratio(7, 8);
        // Entries are filtered in scans in the order of an index, and in lookups for each outer row.
        let walks = if rng.random_ratio(1, 3) { 100.0 } else { 1.0 };
        let plain = CpuCosts::default();
        database.model.cpu.sort = plain.sort * walks;
        database.model.cpu.hash_build = plain.hash_build * walks * walks;
        // Plans with LIMIT are often given up.
        database.patience = BudgetSettings { uneven: 0.1, least: 5.0, ..BudgetSettings::default() };
        let (answer, explained) = checked(&database, &sql, &format!("seed {seed}, case {case}"));
        let context = format!("seed {seed}, case {case}: {sql}\n{explained}");
        switched += answer.counters.leafline_plans_switched;
        let merged = explained.contains("Index merge on");
        assert!(database.switches.index_merge || !merged || sql.contains("INDEX_MERGE(t)"), "{context}");
        seen.iter_mut().zip(names).for_each(|(count, name)| {
            let of_merge = merged || ["rows in", "rows come by", "The first of two"].contains(&name);
            *count += usize::from(of_merge && explained.contains(name));
        });
    }
    assert!(switched > 2, "{switched} plans were given up");
    for (count, name) in seen.iter().zip(names) {
        assert!(*count > 2, "{name} in {count} plans, all: {seen:?}");
    }
}
