//! The effort of planning grows slowly with the statement. The tests count considered joins and priced access paths, so that no
//! clock decides.

use super::differential::database;
use crate::testing::Database;
use leafline_access::CpuCosts;
use rand::SeedableRng;
use rand::rngs::SmallRng;

/// Maximum number of joins considered for a statement, with room to end a search that has begun.
const MOST: usize = 250_000;

fn considered(database: &Database, sql: &str) -> usize {
    database.effort(sql).unwrap_or_else(|error| panic!("{sql:.200}: {error}")).0
}

fn nested(levels: usize) -> String {
    let mut sql = String::from("SELECT COUNT(*) FROM r WHERE ");
    sql.push_str(&"id IN (SELECT id FROM r WHERE ".repeat(levels));
    sql.push('1');
    sql.push_str(&")".repeat(levels));
    sql
}

#[test]
fn subqueries_inside_one_another_are_planned_without_growing_with_every_level() {
    let database = database(&mut SmallRng::seed_from_u64(1), 40);
    let (few, many) = (considered(&database, &nested(12)), considered(&database, &nested(24)));
    assert!(few < 40_000 && many < 60_000, "{few} joins for 12 levels, {many} for 24");
}

#[test]
fn many_large_joins_in_one_statement_are_searched_less_and_less() {
    let database = database(&mut SmallRng::seed_from_u64(1), 40);
    let join: Vec<String> = (0..12).map(|at| format!("r x{at}")).collect();
    let equal: Vec<String> = (1..12).map(|at| format!("x{at}.a = x0.a")).collect();
    let one = format!("(SELECT COUNT(*) FROM {} WHERE {})", join.join(", "), equal.join(" AND "));
    let single = considered(&database, &format!("SELECT {one}"));
    assert!(single > 10_000, "{single} joins: nothing was searched");
    let all = considered(&database, &format!("SELECT {}", vec![one; 40].join(", ")));
    assert!(all < MOST, "{all} joins for 40 subqueries, {single} for one");
}

#[test]
fn unions_are_sought_for_a_bounded_number_of_ors() {
    let mut database = database(&mut SmallRng::seed_from_u64(1), 600);
    // Rows are expensive and entries cheap, so that index merges pay.
    database.model.cpu =
        CpuCosts { fetch: 20.0, filter: 10.0, entry: 0.001, seek: 0.01, ..CpuCosts::default() };
    let priced = |ors: usize| {
        let ors: Vec<String> = (0..ors).map(|at| format!("(a = {at} OR c = '{at}' OR a > {at})")).collect();
        let sql = format!("SELECT COUNT(b) FROM r WHERE {}", ors.join(" AND "));
        database.effort(&sql).unwrap_or_else(|error| panic!("{error}")).1
    };
    let (few, many, most) = (priced(4), priced(40), priced(160));
    assert!(few > 10 && many < 200, "{few} paths for 4 ORs, {many} for 40");
    assert_eq!(many, most);
}

#[test]
fn the_rows_of_an_in_list_are_not_planned_one_by_one() {
    let database = database(&mut SmallRng::seed_from_u64(1), 600);
    let effort = |rows: usize| {
        let rows: Vec<String> = (0..rows).map(|at| format!("({at}, '{at}')")).collect();
        let sql = format!("SELECT COUNT(b) FROM r WHERE (a, c) IN ({})", rows.join(", "));
        database.effort(&sql).unwrap_or_else(|error| panic!("{sql:.200}: {error}"))
    };
    let (few, many) = (effort(100), effort(20_000));
    assert!(few.1 > 0 && many.0 <= few.0 && many.1 <= few.1 + 4, "{few:?} for 100 rows, {many:?} for 20,000");
}
