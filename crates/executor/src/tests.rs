//! Operators over more rows than a batch holds, checked against results computed by hand.

use crate::testing::{self, Database};
use leafline_types::Value;
use std::collections::{BTreeMap, BTreeSet};

const LEFT: i64 = 9_000;
const RIGHT: i64 = 12_000;

/// Returns the key of a row of `l`. `l.k` and `r.k` share few values, some of them many times, so that joins are larger than a
/// batch.
fn left_key(id: i64) -> Option<i64> {
    (id % 11 != 0).then_some(id % 900)
}

fn right_key(id: i64) -> Option<i64> {
    (id % 13 != 0).then_some(id * 7 % 1200)
}

pub(super) fn database() -> Database {
    let database = Database::new();
    let row = |id: i64, key: Option<i64>| {
        vec![
            Value::Int(id),
            key.map_or(Value::Null, Value::Int),
            Value::Int(id * 31 % 1000),
            Value::string(format!("s{}", id % 500)),
        ]
    };
    let rows: Vec<Vec<Value>> = (0..LEFT).map(|id| row(id, left_key(id))).collect();
    database.table("CREATE TABLE l (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(10), KEY (k))", &rows);
    let rows: Vec<Vec<Value>> = (0..RIGHT).map(|id| row(id, right_key(id))).collect();
    database.table("CREATE TABLE r (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(10), KEY rk (k))", &rows);
    database
}

fn value(id: i64) -> i64 {
    id * 31 % 1000
}

fn right_by_key() -> BTreeMap<i64, Vec<i64>> {
    let mut ids: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    (0..RIGHT).for_each(|id| right_key(id).into_iter().for_each(|key| ids.entry(key).or_default().push(id)));
    ids
}

/// Returns the pairs of a join; with `outer`, rows without match have no right side.
fn pairs(outer: bool, on: &dyn Fn(i64, i64) -> bool) -> BTreeSet<(i64, Option<i64>)> {
    let right = right_by_key();
    let mut pairs = BTreeSet::new();
    for id in 0..LEFT {
        let found = left_key(id).and_then(|key| right.get(&key)).into_iter().flatten();
        let matching: Vec<i64> = found.copied().filter(|other| on(id, *other)).collect();
        if matching.is_empty() && outer {
            pairs.insert((id, None));
        }
        pairs.extend(matching.into_iter().map(|other| (id, Some(other))));
    }
    pairs
}

fn ids(database: &Database, sql: &str) -> Vec<(i64, Option<i64>)> {
    let answer = database.run(&database.plan(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let int = |value: &Value| value.as_integer().map(|value| value as i64);
    answer.rows.iter().map(|row| (int(&row[0]).expect("an id"), int(&row[1]))).collect()
}

#[test]
fn joins_larger_than_a_batch_agree_however_they_are_done() {
    let mut database = database();
    let inner = pairs(false, &|_, _| true);
    let outer = pairs(true, &|_, _| true);
    let conditional = pairs(true, &|l, r| value(l) < value(r));
    assert!(inner.len() > 50_000 && conditional.iter().any(|(_, right)| right.is_none()));
    for (hash_join, join) in [(true, "hash join"), (false, "ndex lookup")] {
        database.switches.hash_join = hash_join;
        for (sql, expected) in [
            ("SELECT l.id, r.id FROM l JOIN r ON l.k = r.k", &inner),
            ("SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k", &outer),
            ("SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.v", &conditional),
        ] {
            let tree = leafline_planner::explain::explain_tree(&database.plan(sql), None);
            assert!(tree.contains(join), "{sql}\n{tree}");
            let found = ids(&database, sql);
            assert_eq!(found.len(), expected.len(), "{sql}\n{tree}");
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), *expected, "{sql}\n{tree}");
        }
    }
}

#[test]
fn lookups_keep_the_order_of_the_outer_rows_where_it_serves_order_by() {
    let mut database = database();
    database.switches.hash_join = false;
    let sql = "SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k WHERE l.id < 3000 ORDER BY l.id LIMIT 400";
    let tree = leafline_planner::explain::explain_tree(&database.plan(sql), None);
    assert!(tree.contains("-> Limit: 400 row(s)"), "{tree}");
    let found = ids(&database, sql);
    let expected: Vec<i64> = pairs(true, &|_, _| true).into_iter().map(|(left, _)| left).take(400).collect();
    assert_eq!(found.iter().map(|(left, _)| *left).collect::<Vec<_>>(), expected, "{tree}");
}

#[test]
fn sort_and_top_n_order_alike_and_keep_the_order_of_equals() {
    let database = database();
    let mut expected: Vec<i64> = (0..RIGHT).collect();
    expected.sort_by_key(|id| (-value(*id), right_key(*id), *id));
    let int = |row: &Vec<Value>| row[0].as_integer().expect("an id") as i64;
    let all = "SELECT id FROM r ORDER BY v DESC, k";
    let sorted = database.run(&database.plan(all)).expect("rows").rows;
    let keys = |ids: &[i64]| ids.iter().map(|id| (value(*id), right_key(*id))).collect::<Vec<_>>();
    let sorted: Vec<i64> = sorted.iter().map(int).collect();
    assert_eq!(keys(&sorted), keys(&expected));
    for (offset, count) in [(0, 1), (5, 10), (3000, 5000), (11_990, 100), (20_000, 5)] {
        let top = database.run(&database.plan(&format!("{all} LIMIT {offset}, {count}"))).expect("rows").rows;
        let top: Vec<i64> = top.iter().map(int).collect();
        let expected: Vec<i64> = expected.iter().copied().skip(offset).take(count).collect();
        assert_eq!(keys(&top), keys(&expected), "LIMIT {offset}, {count}");
    }
}

#[test]
fn groups_and_distinct_rows_are_complete() {
    let database = database();
    let mut groups: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for id in 0..RIGHT {
        let group = groups.entry(format!("s{}", id % 500)).or_default();
        *group = (group.0 + 1, group.1 + value(id));
    }
    let mut expected: Vec<String> =
        groups.iter().map(|(s, (count, sum))| format!("{s}|{count}|{sum}")).collect();
    expected.sort();
    let mut found = database.query("SELECT s, COUNT(*), SUM(v) FROM r GROUP BY s");
    found.sort();
    assert_eq!(found, expected);
    let mut distinct = database.query("SELECT DISTINCT s FROM r");
    distinct.sort();
    assert_eq!(distinct, groups.keys().cloned().collect::<Vec<_>>());
    assert_eq!(database.query("SELECT COUNT(*), SUM(v) FROM r WHERE id < 0"), ["0|NULL"]);
    assert!(database.query("SELECT s, COUNT(*) FROM r WHERE id < 0 GROUP BY s").is_empty());
}

#[test]
fn limits_may_be_parameters() {
    use leafline_planner::plan::LimitValue;
    let parameters = [Value::Int(3), Value::UInt(4), Value::Int(-1)];
    assert_eq!(LimitValue::Parameter(0).resolve(&parameters), Some(3));
    assert_eq!(LimitValue::Parameter(1).resolve(&parameters), Some(4));
    assert_eq!(LimitValue::Parameter(2).resolve(&parameters), None);
    assert_eq!(LimitValue::Parameter(3).resolve(&parameters), None);
}

#[test]
fn limit_reads_little_and_a_cancelled_query_stops() {
    let database = database();
    let counters = database.counters("SELECT s FROM r WHERE k > 100 LIMIT 3");
    assert!(counters.leafline_rows_fetched <= 64, "{counters:?}");
    let counters = database.counters("SELECT id, s FROM r LIMIT 5");
    assert_eq!(counters.leafline_entries_examined, 5);
    let plan = database.plan("SELECT l.id, r.id FROM l JOIN r ON l.v = r.v");
    let mut batches = 0;
    let error = testing::run_until(&database, &plan, &mut |cancel| {
        batches += 1;
        cancel.cancel(leafline_types::statement::CancelReason::QueryKilled);
    });
    assert_eq!((error.code, batches), (1317, 1));
}

/// Returns the rows of `r` by key, then id; NULL is the least key.
fn in_window_order() -> Vec<i64> {
    let mut ids: Vec<i64> = (0..RIGHT).collect();
    ids.sort_by_key(|id| (right_key(*id), *id));
    ids
}

#[test]
fn window_functions_go_on_from_batch_to_batch() {
    let database = database();
    let sql = "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id), SUM(v) OVER (PARTITION BY k ORDER BY id ROWS UNBOUNDED PRECEDING), \
               COUNT(*) OVER (ORDER BY k), MAX(v) OVER (ORDER BY k, id ROWS BETWEEN 300 PRECEDING AND 20 FOLLOWING), \
               LAG(id, 9000) OVER (ORDER BY id), SUM(v) OVER (ORDER BY id ROWS BETWEEN 9000 PRECEDING AND CURRENT ROW) FROM r";
    let answer = database.run(&database.plan(sql)).expect("rows");
    let ordered = in_window_order();
    let (mut expected, mut numbers) = (BTreeMap::new(), BTreeMap::<Option<i64>, (i64, i64)>::new());
    for (at, id) in ordered.iter().enumerate() {
        let of_key = numbers.entry(right_key(*id)).or_default();
        *of_key = (of_key.0 + 1, of_key.1 + value(*id));
        let up_to =
            ordered.iter().rposition(|other| right_key(*other) == right_key(*id)).expect("itself") + 1;
        let frame = ordered.get(at.saturating_sub(300)..ordered.len().min(at + 21)).expect("a frame");
        let lagged = (*id >= 9000).then(|| *id - 9000);
        let sum: i64 = (0.max(*id - 9000)..=*id).map(value).sum();
        let greatest = frame.iter().copied().map(value).max();
        expected.insert(
            *id,
            vec![Some(of_key.0), Some(of_key.1), Some(up_to as i64), greatest, lagged, Some(sum)],
        );
    }
    assert_eq!(answer.rows.len(), expected.len());
    for row in &answer.rows {
        let number = |value: &Value| match value {
            Value::Null => None,
            Value::Decimal(number) => number.to_i64(),
            value => value.as_integer().map(|value| value as i64),
        };
        let found: Vec<Option<i64>> = row.iter().map(number).collect();
        assert_eq!(&found[1..], &expected[&found[0].expect("an id")][..], "id {:?}", found[0]);
    }
}

#[test]
fn windows_share_sorts_and_take_the_order_of_an_index() {
    let database = database();
    for (sql, sorts) in [
        ("SELECT ROW_NUMBER() OVER (ORDER BY id), SUM(v) OVER (ORDER BY id DESC) FROM r", 1),
        (
            "SELECT RANK() OVER (ORDER BY v), SUM(v) OVER (PARTITION BY v, k), COUNT(*) OVER (PARTITION BY k, v ORDER BY id) FROM r",
            1,
        ),
        ("SELECT COUNT(*) OVER (), RANK() OVER (ORDER BY v) FROM r ORDER BY v", 1),
        ("SELECT RANK() OVER (ORDER BY v), RANK() OVER (ORDER BY s) FROM r ORDER BY v", 2),
        ("SELECT RANK() OVER (ORDER BY id) FROM r ORDER BY id", 0),
        ("SELECT COUNT(*) OVER (PARTITION BY v), RANK() OVER (ORDER BY v DESC) FROM r", 1),
    ] {
        let tree = leafline_planner::explain::explain_tree(&database.plan(sql), None);
        assert_eq!(tree.matches("Sort:").count(), sorts, "{sql}\n{tree}");
    }
}

#[test]
fn numbers_need_no_more_rows_than_a_limit_asks_for() {
    let database = database();
    let plan = database.plan("SELECT id, ROW_NUMBER() OVER (ORDER BY id), SUM(v) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM r LIMIT 5");
    let tree = leafline_planner::explain::explain_tree(&plan, None);
    assert!(!tree.contains("buffering"), "{tree}");
    let answer = database.run(&plan).expect("rows");
    assert!(answer.counters.leafline_entries_examined < 200, "{}", answer.counters.leafline_entries_examined);
}
