//! Aggregation and ONLY_FULL_GROUP_BY.

use leafline_expr::aggregate::AggregateFunction;

use super::{bind_with, query, small};
use crate::bound::{BoundKind, BoundSelect};

/// Checks that an expression list above the grouping refers only to keys and aggregates.
fn check_above(bound: &BoundSelect) {
    let aggregation = bound.aggregation.as_ref().expect("aggregation");
    let first = bound.relations.last().map_or(0, |r| r.columns.end);
    let above = bound
        .output
        .iter()
        .map(|o| &o.expr)
        .chain(&bound.having)
        .chain(bound.order_by.iter().map(|k| &k.expr));
    for column in above.flat_map(|e| e.columns()) {
        let known = aggregation.keys.iter().any(|k| k.out == column)
            || aggregation.aggregates.iter().any(|a| a.out == column);
        assert!(known && column >= first && column < bound.columns.len(), "column {column}");
    }
}

fn written_keys(bound: &BoundSelect) -> (usize, usize) {
    let keys = &bound.aggregation.as_ref().expect("aggregation").keys;
    let dependent = keys.iter().filter(|k| k.dependent).count();
    (keys.len() - dependent, dependent)
}

#[test]
fn expressions_above_see_keys_and_aggregates_only() {
    let bound = query(
        "SELECT a + 1, COUNT(*), SUM(c * 2) / COUNT(*), a FROM t GROUP BY a HAVING SUM(c * 2) > 5 AND a > 1 \
         ORDER BY COUNT(*) DESC, a + 1",
    );
    check_above(&bound);
    let aggregation = bound.aggregation.as_ref().expect("aggregation");
    assert_eq!(aggregation.keys.len(), 1);
    // Equal aggregates are computed once.
    assert_eq!(aggregation.aggregates.len(), 2);
    assert_eq!(bound.output[3].expr.as_column(), Some(aggregation.keys[0].out));
}

#[test]
fn a_key_is_found_inside_larger_expressions() {
    let bound = query("SELECT (a + 1) * 2, YEAR(d) FROM t GROUP BY a + 1, YEAR(d) ORDER BY a + 1");
    check_above(&bound);
    assert_eq!(written_keys(&bound), (2, 0));
    let bound = query("SELECT EXTRACT(YEAR FROM d) AS y, COUNT(*) FROM t GROUP BY y ORDER BY y");
    check_above(&bound);
    let bound = query("SELECT a AS k, COUNT(*) AS n FROM t GROUP BY 1 HAVING n > 1 AND k > 0 ORDER BY n, k");
    check_above(&bound);
    let bound = query("SELECT COUNT(DISTINCT a, c) FROM t HAVING COUNT(*) > 1");
    check_above(&bound);
    // A key that is written twice is one key.
    assert_eq!(written_keys(&query("SELECT a FROM t GROUP BY a, t.a, 1")), (1, 0));
}

#[test]
fn without_group_by_there_is_one_group() {
    let bound = query("SELECT MAX(a), MIN(DISTINCT c) FROM t");
    check_above(&bound);
    assert_eq!(written_keys(&bound), (0, 0));
    assert!(query("SELECT a FROM t ORDER BY a").aggregation.is_none());
    check_above(&query("SELECT 1 FROM t HAVING COUNT(*) > 0"));
    check_above(&query("SELECT 1 FROM t ORDER BY COUNT(*)"));
}

#[test]
fn what_the_keys_determine_may_be_selected() {
    for (sql, keys) in [
        // determined by the primary key, by a unique key without NULL, by both parts of a key
        ("SELECT id, a, b FROM t GROUP BY id", (1, 2)),
        ("SELECT e, a FROM t GROUP BY e", (1, 1)),
        ("SELECT z FROM v GROUP BY k1, k2", (2, 1)),
        // determined by a constant, by an equality, through a join
        ("SELECT z FROM v WHERE k2 = 5 GROUP BY k1", (1, 1)),
        ("SELECT a, e FROM t WHERE e = a GROUP BY a", (1, 1)),
        ("SELECT t.id, u.a FROM t JOIN u ON t.id = u.id GROUP BY t.id", (1, 1)),
        ("SELECT t.id, u.a FROM t, u WHERE t.id = u.id GROUP BY t.id", (1, 1)),
        ("SELECT t.id, u.x FROM t LEFT JOIN u ON u.id = t.a GROUP BY t.id", (1, 1)),
        // determined by the keys of a derived table
        ("SELECT d.a, d.n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) d GROUP BY d.a", (1, 1)),
    ] {
        let bound = query(sql);
        check_above(&bound);
        assert_eq!(written_keys(&bound), keys, "{sql}");
    }
    let bound = query("SELECT a, COUNT(*) FROM t WHERE id = 5");
    check_above(&bound);
    assert_eq!(written_keys(&bound), (0, 0));
}

#[test]
fn what_the_keys_do_not_determine_may_not() {
    for sql in [
        "SELECT z FROM v GROUP BY k1",
        "SELECT c FROM t GROUP BY a",
        // equal under another collation than the collation of the groups
        "SELECT b FROM t WHERE b = 'a' COLLATE utf8mb4_general_ci GROUP BY a",
        "SELECT e FROM t WHERE e > 5 GROUP BY a",
        "SELECT e FROM t WHERE e = 5 OR a = 1 GROUP BY a",
        // a left join's condition does not hold for its right side's NULLs, nor below them
        "SELECT u.x FROM t LEFT JOIN u ON u.a = t.a GROUP BY t.id",
        "SELECT t.a FROM t LEFT JOIN u ON t.a = u.a AND t.a = 5 GROUP BY u.id",
        "SELECT u.x FROM t LEFT JOIN u ON u.id = 5 AND t.a = 1 GROUP BY t.c",
    ] {
        assert_eq!(super::error(sql).code, 1055, "{sql}");
    }
}

#[test]
fn without_only_full_group_by_any_value_will_do() {
    let sql = "SELECT a, c, SUM(e) FROM t GROUP BY a ORDER BY d";
    let BoundKind::Select(bound) = bind_with(&small(), sql, false).expect("bound").kind else { panic!() };
    check_above(&bound);
    let functions: Vec<_> =
        bound.aggregation.expect("aggregation").aggregates.iter().map(|a| a.call.function).collect();
    assert_eq!(functions, [AggregateFunction::Sum, AggregateFunction::Min, AggregateFunction::Min]);
}

#[test]
fn having_sees_results_and_aggregates_see_tables() {
    query("SELECT a AS z FROM t HAVING z > 1");
    query("SELECT a AS z FROM t HAVING a > 1");
    query("SELECT a FROM t GROUP BY a HAVING SUM(c) > 1");
    query("SELECT COUNT(*) FROM t GROUP BY a HAVING a > 1");
    query("SELECT t.a FROM t GROUP BY t.a HAVING t.a > 1");
    // A group key takes precedence over an alias.
    let bound = query("SELECT c + 1 AS a FROM t GROUP BY a, c HAVING a > 1");
    let key = bound.aggregation.as_ref().expect("aggregation").keys[0].out;
    assert_eq!(bound.having[0].columns().into_iter().collect::<Vec<_>>(), [key]);
}
