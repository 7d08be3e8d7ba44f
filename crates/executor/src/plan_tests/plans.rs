//! Plans: access paths, join orders, the text of EXPLAIN. Prices come from a reference device with nothing in memory.

use crate::testing::Database;
use leafline_access::CostModel;
use leafline_access::cost::DeviceClass;
use leafline_types::{Date, Decimal, Value};

fn text(text: &str) -> Value {
    Value::string(text)
}

/// Makes `big`, 20,000 rows; `dim`, 50 rows; and `many`, which refers to `dim`.
fn database() -> Database {
    let database = Database::new();
    let rows: Vec<Vec<Value>> = (0..20_000)
        .map(|id: i64| {
            let scattered = id * 7919 % 20_000;
            vec![
                Value::Int(id),
                Value::Int(scattered),
                Value::Int(scattered % 100),
                Value::Int(id % 10),
                text(&format!("name {scattered}")),
                Value::Date(Date::from_epoch_days((9000 + id / 100) as i32).expect("a day")),
                text(&"x".repeat(100)),
            ]
        })
        .collect();
    database.table(
        "CREATE TABLE big (id INT PRIMARY KEY, u INT NOT NULL, g INT, h INT NOT NULL, name VARCHAR(20), day DATE NOT NULL, \
         filler VARCHAR(100), UNIQUE KEY u (u), KEY gh (g, h), KEY g_only (g), KEY day (day, h), KEY name (name))",
        &rows,
    );
    let rows: Vec<Vec<Value>> = (0..50).map(|id| vec![Value::Int(id), text(&format!("dim {id}"))]).collect();
    database.table("CREATE TABLE dim (id INT PRIMARY KEY, label VARCHAR(20))", &rows);
    let rows: Vec<Vec<Value>> = (0..5000)
        .map(|id: i64| {
            vec![Value::Int(id), Value::Int(id % 50), Value::Decimal(Decimal::from_i128(i128::from(id), 2))]
        })
        .collect();
    database
        .table("CREATE TABLE many (id INT PRIMARY KEY, dim INT, amount DECIMAL(10,2), KEY dim (dim))", &rows);
    database
}

#[test]
fn access_paths_are_mysqls() {
    let database = database();
    let cases: &[(&str, &[&str])] = &[
        ("SELECT * FROM big", &["SIMPLE big ALL - - - 20000 -"]),
        ("SELECT * FROM big WHERE id = 7", &["SIMPLE big const PRIMARY 4 const 1 -"]),
        ("SELECT * FROM big WHERE u = 7", &["SIMPLE big const u 4 const 1 -"]),
        ("SELECT * FROM big WHERE id BETWEEN 10 AND 19", &["SIMPLE big range PRIMARY 4 - 10 -"]),
        ("SELECT u FROM big WHERE u < 5", &["SIMPLE big range u 4 - 5 Using index"]),
        ("SELECT * FROM big WHERE h + 1 = 2", &["SIMPLE big ALL - - - 20000 Using where"]),
        ("SELECT * FROM big WHERE id > 5 AND id < 3", &["SIMPLE - - - - - - Impossible WHERE"]),
        ("SELECT * FROM big WHERE 1 = 2", &["SIMPLE - - - - - - Impossible WHERE"]),
        ("SELECT 1", &["SIMPLE - - - - - - No tables used"]),
        ("SELECT COUNT(*) FROM dim", &["SIMPLE dim ALL - - - 50 -"]),
        ("SELECT * FROM big WHERE id IN (1, 2, 3)", &["SIMPLE big range PRIMARY 4 - 3 -"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(database.explain(sql), *expected, "{sql}");
    }
}

#[test]
fn index_that_filters_more_before_the_fetch_is_chosen() {
    let database = database();
    // Both indexes find g = 5; gh also knows h.
    let explained = database.explain("SELECT filler FROM big WHERE g = 5 AND h > 8");
    assert!(explained[0].starts_with("SIMPLE big range gh 9"), "{explained:?}");
    // name LIKE is tested on entries of `day` only where it cannot bound them.
    let explained = database.explain("SELECT filler FROM big WHERE day = DATE '1994-08-25' AND h IN (2, 5)");
    assert!(explained[0].starts_with("SIMPLE big range day 7"), "{explained:?}");
}

#[test]
fn pushed_condition_shows_and_can_be_switched_off() {
    let mut database = database();
    let sql = "SELECT filler FROM big FORCE INDEX (day) WHERE day < DATE '1994-08-28' AND h = 3";
    let on = database.explain(sql);
    assert!(on[0].contains("range day 3") && on[0].contains("Using index condition"), "{on:?}");
    let with = database.counters(sql);
    database.switches.index_condition_pushdown = false;
    let off = database.explain(sql);
    assert!(off[0].contains("range day 3") && off[0].contains("Using where"), "{off:?}");
    assert!(!off[0].contains("Using index condition"), "{off:?}");
    let without = database.counters(sql);
    assert_eq!(with.leafline_rows_fetched * 10, without.leafline_rows_fetched);
}

#[test]
fn hints_force_and_forbid_indexes() {
    let database = database();
    let ignored = database.explain("SELECT filler FROM big IGNORE INDEX (gh) WHERE g = 5 AND h = 8");
    assert!(ignored[0].contains("g_only") || ignored[0].contains("ALL"), "{ignored:?}");
    let forced = database.explain("SELECT filler FROM big FORCE INDEX (name) WHERE name > 'a' AND h = 8");
    assert!(forced[0].starts_with("SIMPLE big range name"), "{forced:?}");
    let none = database.explain("SELECT filler FROM big USE INDEX () WHERE id = 5");
    assert!(none[0].starts_with("SIMPLE big ALL"), "{none:?}");
}

#[test]
fn joins_look_up_few_rows_and_hash_many() {
    let database = database();
    let few =
        database.explain("SELECT label, amount FROM many JOIN dim ON dim.id = many.dim WHERE many.id < 4");
    assert_eq!(few.len(), 2, "{few:?}");
    assert!(few[0].starts_with("SIMPLE many range PRIMARY"), "{few:?}");
    assert!(few[1].starts_with("SIMPLE dim eq_ref PRIMARY 4 test.many.dim 1"), "{few:?}");
    let all = database.explain("SELECT label, amount FROM many JOIN dim ON dim.id = many.dim");
    assert!(all[1].contains("Using join buffer (hash join)"), "{all:?}");
    let straight = database.explain("SELECT label, amount FROM dim STRAIGHT_JOIN many ON dim.id = many.dim");
    assert!(straight[0].contains(" dim "), "{straight:?}");
}

#[test]
fn left_join_becomes_inner_where_null_is_rejected() {
    let database = database();
    let kept = database.plan("SELECT amount FROM dim LEFT JOIN many ON dim.id = many.dim WHERE dim.id < 3");
    let simplified = database
        .plan("SELECT amount FROM dim LEFT JOIN many ON dim.id = many.dim WHERE dim.id < 3 AND amount > 1");
    let tree = |plan: &leafline_planner::plan::Plan| leafline_planner::explain::explain_tree(plan, None);
    assert!(tree(&kept).contains("left"), "{}", tree(&kept));
    assert!(!tree(&simplified).to_lowercase().contains("left"), "{}", tree(&simplified));
}

#[test]
fn constants_spread_over_equal_columns() {
    let database = database();
    let explained =
        database.explain("SELECT label, amount FROM many JOIN dim ON dim.id = many.dim WHERE dim.id = 7");
    assert_eq!(explained.len(), 2);
    assert!(explained.iter().any(|row| row.contains("dim const PRIMARY 4 const 1")), "{explained:?}");
    assert!(explained.iter().any(|row| row.contains("many ref dim 5 const")), "{explained:?}");
}

#[test]
fn order_comes_from_an_index_where_that_is_cheaper() {
    let database = database();
    let first = database.explain("SELECT filler FROM big ORDER BY u LIMIT 5");
    assert!(first[0].starts_with("SIMPLE big index u"), "{first:?}");
    assert!(!first[0].contains("filesort"), "{first:?}");
    assert_eq!(database.counters("SELECT filler FROM big ORDER BY u LIMIT 5").leafline_rows_fetched, 5);
    let last = database.explain("SELECT filler FROM big ORDER BY u DESC LIMIT 5");
    assert!(last[0].contains("Backward index scan"), "{last:?}");
    let all = database.explain("SELECT filler FROM big ORDER BY filler");
    assert!(all[0].contains("Using filesort"), "{all:?}");
    let fixed = database.explain("SELECT filler FROM big WHERE g = 5 ORDER BY h LIMIT 3");
    assert!(fixed[0].starts_with("SIMPLE big ref gh") && !fixed[0].contains("filesort"), "{fixed:?}");
}

#[test]
fn derived_tables_are_merged_or_listed() {
    let mut database = database();
    let sql = "SELECT x.label FROM (SELECT id, label FROM dim WHERE id < 5) x WHERE x.id > 2";
    assert_eq!(database.explain(sql), ["SIMPLE dim range PRIMARY 4 - 2 -"]);
    database.switches.derived_merge = false;
    let explained = database.explain(sql);
    assert!(explained[0].starts_with("PRIMARY <derived2> ALL"), "{explained:?}");
    assert!(explained[1].starts_with("DERIVED dim range PRIMARY"), "{explained:?}");
}

#[test]
fn what_does_not_fit_the_memory_limit_is_a_clear_error() {
    let mut database = database();
    database.memory_limit = 100_000;
    let plan = database.plan("SELECT JSON_ARRAYAGG(name) OVER () FROM big");
    let error = database.run(&plan).err().expect("not memory enough");
    assert_eq!(error.code, 1038);
    // A few rows of many need little work.
    assert_eq!(
        database.query("SELECT name FROM big ORDER BY name DESC, h LIMIT 2"),
        ["name 9999", "name 9998"]
    );
}

#[test]
fn rows_to_change_come_with_their_clustered_keys() {
    let database = database();
    for (sql, rows) in [("DELETE FROM big WHERE g = 5", 200), ("UPDATE big SET h = 1 WHERE id < 10", 10)] {
        let select = database.bind(sql).expect("a bound statement");
        let plan = database.plan_bound(&select, true).expect("a plan");
        let answer = database.run(&plan).expect("rows");
        assert_eq!(answer.rows.len(), rows, "{sql}");
        for row in answer.rows {
            let mut key = Vec::new();
            let table = database.engine.table("test", "big").expect("the table");
            leafline_types::encode_part(&table.clustered().key_parts[0], &row[0], &mut key).expect("a key");
            assert_eq!(row.last(), Some(&Value::bytes(key)), "{sql}");
        }
    }
}

/// Cheap random reads make an index read a range; expensive seeks make a scan read it.
#[test]
fn the_device_decides_between_index_and_scan() {
    let mut database = database();
    let mut explain = |class: DeviceClass, pool: u64, sql: &str| {
        database.model = CostModel::new(class, 4096).with_pool(pool);
        database.model.use_residency = false;
        database.explain(sql).swap_remove(0)
    };
    let large = 64 << 20;
    let range = |below: usize| format!("SELECT filler FROM big WHERE u < {below}");
    for class in [DeviceClass::Nvme, DeviceClass::SolidState, DeviceClass::Rotating] {
        assert!(explain(class, large, &range(20)).starts_with("SIMPLE big range u"), "{class:?}");
        assert!(explain(class, large, &range(15_000)).starts_with("SIMPLE big ALL"), "{class:?}");
    }
    let mut scanned_from = |class: DeviceClass| {
        let scanned = |below: &usize| explain(class, large, &range(*below)).contains(" ALL ");
        (1..20_000).step_by(50).find(scanned).expect("a scan for nearly all rows")
    };
    let (nvme, hdd) = (scanned_from(DeviceClass::Nvme), scanned_from(DeviceClass::Rotating));
    assert!(hdd < nvme, "hdd scans from {hdd} rows, nvme from {nvme}");
    let between = range((hdd + nvme) / 2);
    assert!(explain(DeviceClass::Nvme, large, &between).starts_with("SIMPLE big range u 4"));
    assert!(explain(DeviceClass::Rotating, large, &between).starts_with("SIMPLE big ALL"));
    // The rows of a sweep are put into the order of the index, even where the table does not stay in memory.
    let ordered = "SELECT filler FROM big FORCE INDEX FOR JOIN (u) WHERE u < 19000 ORDER BY u";
    for pool in [large, 1 << 20] {
        assert!(!explain(DeviceClass::Rotating, pool, ordered).contains("filesort"));
    }
}

#[test]
fn extremes_are_read_off_the_end_of_an_index() {
    let database = database();
    for (sql, rows) in [
        ("SELECT MAX(u) FROM big", "19999"),
        ("SELECT MAX(day) FROM big", "1995-03-10"),
        ("SELECT MIN(g) FROM big WHERE g > 50", "51"),
    ] {
        assert_eq!(database.query(sql), [rows], "{sql}");
        let examined = database.counters(sql).leafline_entries_examined;
        assert!(examined < 100, "{sql}: {examined}");
    }
    // No index provides that order, and a filter may reject all rows at the end.
    let by_name = database.explain("SELECT MAX(h) FROM big");
    assert!(by_name[0].contains("Using index") && !by_name[0].contains("Backward"), "{by_name:?}");
    let rejected = database.explain("SELECT MAX(u) FROM big WHERE h = 3");
    assert!(!rejected[0].contains("Backward"), "{rejected:?}");
    let few = database.explain("SELECT MAX(u) FROM big WHERE day = DATE '1994-08-25' AND h = 1");
    assert!(few[0].contains(" ref day "), "{few:?}");
}

#[test]
fn equal_columns_of_one_index_are_not_independent() {
    let database = database();
    // Each pair (g, h) of big joins itself: 20,000 rows of 200 pairs or fewer, not 20,000 * 20,000 / 100 / 2000.
    let plan = database.plan("SELECT a.id FROM big a JOIN big b ON a.g = b.g AND a.h = b.h WHERE a.id < 100");
    let actual = database.run(&plan).expect("rows").rows.len() as f64;
    let expected = plan.root.estimate.rows;
    assert!(expected < actual * 3.0 && expected > actual / 3.0, "{expected} for {actual}");
    let groups = database.plan("SELECT DISTINCT g FROM big").root.estimate.rows;
    assert!((50.0..200.0).contains(&groups), "{groups}");
    // No index begins with h: a sample shows its ten values.
    let groups = database.plan("SELECT h, COUNT(*) FROM big GROUP BY h").root.estimate.rows;
    assert!((5.0..20.0).contains(&groups), "{groups}");
}
