//! Subqueries as joins give the rows of subqueries that run by themselves, and become the expected joins.

use super::differential::{condition, database, from, pick, sorted};
use crate::testing::{self, Database};
use leafline_planner::explain::{explain_rows, explain_tree};
use leafline_types::Value;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Writes a query over aliases of its own that may refer to surrounding ones.
fn subquery(rng: &mut SmallRng, outer: &[String], output: &str, depth: usize) -> String {
    let mut aliases = Vec::new();
    let tables = if rng.random_ratio(1, 3) { 2 } else { 1 };
    let from = from(rng, &mut aliases, tables);
    let prefixed = |text: String, aliases: &[String]| {
        let level = outer.len() + depth * 10;
        aliases.iter().fold(text, |text, alias| {
            text.replace(&format!("{alias}."), &format!("q{level}{alias}."))
                .replace(&format!(" {alias}"), &format!(" q{level}{alias}"))
        })
    };
    let level = outer.len() + depth * 10;
    let inner: Vec<String> = aliases.iter().map(|alias| format!("q{level}{alias}")).collect();
    let from = prefixed(format!(" {from}"), &aliases);
    let mut conditions = Vec::new();
    for _ in 0..rng.random_range(0..3) {
        let (column, other) = (pick(rng, &["a", "b", "id"]), pick(rng, &["a", "b", "id"]));
        let from = rng.random_range(0..outer.len());
        conditions.push(format!("{}.{column} = {}.{other}", inner[0], outer[from]));
    }
    if rng.random_ratio(1, 3) {
        let both: Vec<String> = inner.iter().chain(outer).cloned().collect();
        conditions.push(condition(rng, &both, 1));
    }
    if depth > 0 && rng.random_ratio(1, 3) {
        conditions.push(asking(rng, &inner, depth - 1));
    }
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let output = output.replace("$", &inner[0]);
    format!("(SELECT {output} FROM{from}{filter})")
}

/// Writes a condition with a subquery.
fn asking(rng: &mut SmallRng, aliases: &[String], depth: usize) -> String {
    let alias = &aliases[rng.random_range(0..aliases.len())];
    let (column, other) = (pick(rng, &["a", "b", "id"]), pick(rng, &["a", "b", "id"]));
    let not = pick(rng, &["", "NOT "]);
    match rng.random_range(0..6) {
        0 | 1 => format!("{not}EXISTS {}", subquery(rng, aliases, "1", depth)),
        2 | 3 => {
            let inner = subquery(rng, aliases, &format!("$.{other}"), depth);
            format!("{alias}.{column} {not}IN {inner}")
        }
        4 => {
            let inner = subquery(rng, aliases, &format!("$.{other}"), depth);
            let op = pick(rng, &["<", "=", ">="]);
            format!("{alias}.{column} {op} {} {inner}", pick(rng, &["ANY", "ALL"]))
        }
        _ => {
            let call = pick(
                rng,
                &["MAX($.a)", "COUNT(*)", "SUM($.n) + 1", "COUNT($.b) * 2", "IFNULL(MIN($.id), 3)"],
            );
            let inner = subquery(rng, aliases, call, depth);
            format!("{alias}.{column} {} {inner}", pick(rng, &["<", "=", ">="]))
        }
    }
}

#[test]
fn joins_give_the_rows_of_subqueries() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let (mut with_rows, mut fewer) = (0, 0);
    for round in 0..3 {
        let mut database = database(&mut rng, 10 + 15 * round);
        for case in 0..60 * testing::scale() {
            let mut aliases = Vec::new();
            let tables = rng.random_range(1..3);
            let from = from(&mut rng, &mut aliases, tables);
            let mut conditions = vec![asking(&mut rng, &aliases, 1)];
            if rng.random_ratio(1, 2) {
                conditions.push(condition(&mut rng, &aliases, 1));
            }
            if rng.random_ratio(1, 4) {
                conditions.push(asking(&mut rng, &aliases, 1));
            }
            let first = &aliases[0];
            let sql = format!("SELECT {first}.a, {first}.id FROM {from} WHERE {}", conditions.join(" AND "));
            let context = format!("seed {seed}, round {round}, case {case}: {sql}");
            let mut answers = Vec::new();
            let mut subqueries = Vec::new();
            for on in [false, true] {
                database.switches.semijoin = on;
                database.switches.subquery_to_derived = on;
                database.switches.hash_join = !on || rng.random_ratio(2, 3);
                let (plan, parts) = database.plan_all(&sql).unwrap_or_else(|e| panic!("{context}: {e}"));
                let found = database.run_with(&plan, &parts);
                let found = found.unwrap_or_else(|e| panic!("{context}: {e}\n{}", explain_tree(&plan, None)));
                answers.push((sorted(&found.rows), explain_tree(&plan, None)));
                subqueries.push(parts.subqueries.len());
            }
            assert_eq!(answers[0].0, answers[1].0, "{context}\n{}", answers[1].1);
            with_rows += usize::from(!answers[0].0.is_empty());
            fewer += usize::from(subqueries[1] < subqueries[0]);
        }
    }
    assert!(with_rows > 60 && fewer > 90, "{with_rows} queries had rows, {fewer} were joins");
}

/// Makes two tables of 2,000 rows: `v` has a key on `k`, `w` has only the primary key.
fn two_tables() -> Database {
    let database = Database::new();
    let rows = |groups: i64| -> Vec<Vec<Value>> {
        (0..2000).map(|id| vec![Value::Int(id), Value::Int(id % groups), Value::Int(id % 7)]).collect()
    };
    database.table("CREATE TABLE v (id INT PRIMARY KEY, k INT NOT NULL, x INT, KEY (k))", &rows(500));
    database.table("CREATE TABLE w (id INT PRIMARY KEY, k INT NOT NULL, x INT)", &rows(100));
    database
}

fn tree(database: &Database, sql: &str) -> String {
    let (plan, parts) = database.plan_all(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let rest: Vec<String> =
        parts.subqueries.values().map(|subquery| explain_tree(&subquery.plan, None)).collect();
    format!("{}{}", explain_tree(&plan, None), rest.join("subquery\n"))
}

#[test]
fn joins_are_chosen_by_price() {
    let database = two_tables();
    let expect = |sql: &str, words: &[&str]| {
        let tree = tree(&database, sql);
        for word in words {
            assert!(tree.contains(word), "{sql}: no {word}\n{tree}");
        }
    };
    expect(
        "SELECT id FROM w WHERE EXISTS (SELECT 1 FROM v WHERE v.x = w.x AND v.k < w.k)",
        &["Hash semijoin"],
    );
    expect(
        "SELECT id FROM w WHERE id < 5 AND EXISTS (SELECT 1 FROM v WHERE v.k = w.k)",
        &["Index lookup semijoin"],
    );
    expect("SELECT id FROM w WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.x = w.k)", &["Hash antijoin"]);
    expect("SELECT id FROM w WHERE k NOT IN (SELECT k FROM v WHERE x = 1)", &["antijoin"]);
    // No row of v has two matches: an inner join, which can begin with either table.
    expect(
        "SELECT id FROM v WHERE k IN (SELECT id FROM w WHERE x = 3 AND k = 5)",
        &["Index lookup inner join"],
    );
    // The few distinct rows come first.
    expect(
        "SELECT id FROM v WHERE k IN (SELECT k FROM w WHERE id < 10)",
        &["Distinct", "Index lookup inner join"],
    );
    // For few rows the aggregate runs row by row, for many the aggregates of all groups are made.
    let aggregate = |rows: i64| {
        format!("SELECT id FROM w WHERE id < {rows} AND x < (SELECT AVG(x) FROM v WHERE v.k = w.k)")
    };
    expect(&aggregate(3), &["subquery"]);
    expect("SELECT id FROM v WHERE x < (SELECT AVG(x) FROM w WHERE v.k = w.k)", &["Group by hash: w.k"]);
    // A comparison with NULL keeps the subquery.
    let kept = tree(&database, "SELECT id FROM w WHERE k NOT IN (SELECT x FROM v)");
    assert!(!kept.contains("antijoin"), "{kept}");
}

#[test]
fn explain_shows_joins_in_the_words_of_mysql() {
    let mut database = two_tables();
    let extra = |database: &Database, sql: &str| {
        let (plan, parts) = database.plan_all(sql).expect("a plan");
        let rows = explain_rows(Some(&plan), &parts);
        rows.iter().map(|row| format!("{} {}", row.select_type, row.extra.join("; "))).collect::<Vec<_>>()
    };
    let exists = "SELECT id FROM w WHERE EXISTS (SELECT 1 FROM v WHERE v.x = w.x)";
    let joined = ["SIMPLE ", "SIMPLE FirstMatch(w); Using where; Using join buffer (hash join)"];
    assert_eq!(extra(&database, exists), joined);
    let none = exists.replace("EXISTS", "NOT EXISTS");
    assert!(extra(&database, &none)[1].contains("Not exists"));
    database.switches.semijoin = false;
    assert_eq!(extra(&database, exists), ["PRIMARY Using where", "DEPENDENT SUBQUERY Using where"]);
}
