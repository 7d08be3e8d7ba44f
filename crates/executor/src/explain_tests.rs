//! Documents of EXPLAIN FORMAT=JSON.

use crate::testing::Database;
use leafline_planner::explain::{Change, explain_json};
use leafline_planner::plan::PlanParts;
use leafline_types::Value;

/// Returns the lines of a document without prices.
fn lines(database: &Database, sql: &str) -> Vec<String> {
    let text = explain_json(Some(&database.plan(sql)), &PlanParts::default(), Change::None).document();
    assert!(leafline_types::Json::parse(&text).is_ok(), "{text}");
    let lines = text.lines().map(|line| line.trim().trim_end_matches(',').to_owned());
    lines.filter(|line| !line.contains("cost")).collect()
}

#[test]
fn steps_stand_around_tables() {
    let database = Database::new();
    let rows: Vec<Vec<Value>> =
        (0..100).map(|id| vec![Value::Int(id), Value::Int(id % 7), Value::Int(id % 3)]).collect();
    for name in ["a", "b"] {
        let table = format!("CREATE TABLE {name} (id INT PRIMARY KEY, x INT, y INT, KEY x (x))");
        database.table(&table, &rows);
    }
    let order = |sql: &str, keys: &[&str]| {
        let found = lines(&database, sql);
        let mut rest = found.iter();
        for key in keys {
            assert!(rest.any(|line| line.contains(key)), "{key} is not in its place: {found:#?}");
        }
    };
    order("SELECT 1", &["query_block", "\"select_id\": 1", "\"message\": \"No tables used\""]);
    order("SELECT * FROM a WHERE 1 = 0", &["\"message\": \"Impossible WHERE\""]);
    order(
        "SELECT y, COUNT(*) FROM a FORCE INDEX (x) WHERE x = 5 AND y > 0 GROUP BY y ORDER BY 2",
        &[
            "ordering_operation",
            "\"using_filesort\": true",
            "grouping_operation",
            "\"using_temporary_table\": true",
            "\"table_name\": \"a\"",
            "\"access_type\": \"ref\"",
            "possible_keys",
            "\"key\": \"x\"",
            "\"key_length\": \"5\"",
            "\"const\"",
            "rows_examined_per_scan",
            "\"attached_condition\": \"(a.y > 0)\"",
        ],
    );
    order(
        "SELECT * FROM a JOIN b ON a.id = b.x",
        &["nested_loop", "table_name", "table_name", "\"using_join_buffer\": \"hash join\""],
    );
    order(
        "SELECT * FROM (SELECT DISTINCT y FROM a) d",
        &["\"table_name\": \"d\"", "materialized_from_subquery", "\"select_id\": 2", "duplicates_removal"],
    );
    order(
        "SELECT x FROM a UNION SELECT y FROM b",
        &["union_result", "\"table_name\": \"<union2,3>\"", "query_specifications", "\"select_id\": 3"],
    );
}
