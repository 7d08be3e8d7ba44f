//! The form of bound queries.

use super::{bound, query};
use crate::bound::{ColumnOrigin, JoinTree, RelationSource};

/// Writes a join tree with its relations by alias and the number of its conditions.
fn shape(bound: &crate::bound::BoundSelect, tree: &JoinTree) -> String {
    match tree {
        JoinTree::Relation(r) => bound.relations[*r].alias.clone(),
        JoinTree::Inner { children, conditions, straight } => {
            let children: Vec<_> = children.iter().map(|c| shape(bound, c)).collect();
            format!(
                "{}({}:{})",
                if *straight { "straight" } else { "inner" },
                children.join(" "),
                conditions.len()
            )
        }
        JoinTree::Left { left, right, conditions } => {
            format!("left({} {}:{})", shape(bound, left), shape(bound, right), conditions.len())
        }
        JoinTree::Semi { .. } => panic!("nothing that is bound"),
    }
}

fn from(sql: &str) -> String {
    let bound = query(sql);
    bound.from.as_ref().map_or(String::new(), |tree| shape(&bound, tree))
}

fn headings(sql: &str) -> Vec<String> {
    query(sql).output.into_iter().map(|o| o.meta.name).collect()
}

#[test]
fn inner_joins_are_flat_and_right_joins_turned() {
    for (sql, tree) in [
        ("SELECT 1", ""),
        ("SELECT 1 FROM t, u, v WHERE t.a = u.a", "inner(t u v:0)"),
        ("SELECT 1 FROM t JOIN u ON t.a = u.a AND t.id = u.id JOIN v ON v.z = u.a", "inner(t u v:3)"),
        ("SELECT 1 FROM t LEFT JOIN u ON t.a = u.a, v", "inner(left(t u:1) v:0)"),
        ("SELECT 1 FROM t RIGHT JOIN u ON t.a = u.a", "left(u t:1)"),
        ("SELECT 1 FROM t LEFT JOIN (u, v) ON t.a = u.a", "left(t inner(u v:0):1)"),
        ("SELECT 1 FROM t STRAIGHT_JOIN u JOIN v", "inner(straight(t u:0) v:0)"),
        ("SELECT 1 FROM t JOIN u USING (a, id)", "inner(t u:2)"),
        ("SELECT 1 FROM t NATURAL JOIN u", "inner(t u:2)"),
    ] {
        assert_eq!(from(sql), tree, "{sql}");
    }
}

#[test]
fn wildcards_spread_in_order_and_using_merges_columns() {
    assert_eq!(headings("SELECT * FROM u"), ["id", "a", "x", "y"]);
    assert_eq!(headings("SELECT v.*, u.id FROM u, v"), ["k1", "k2", "z", "id"]);
    assert_eq!(headings("SELECT test.u.* FROM u"), ["id", "a", "x", "y"]);
    assert_eq!(
        headings("SELECT * FROM u JOIN t USING (a)"),
        ["a", "id", "x", "y", "id", "b", "c", "d", "e", "f"]
    );
    assert_eq!(headings("SELECT * FROM u NATURAL JOIN t"), ["id", "a", "x", "y", "b", "c", "d", "e", "f"]);
    assert_eq!(headings("SELECT * FROM t, u, other.t AS o").len(), 13);
    assert_eq!(headings("SELECT * FROM t JOIN other.t").len(), 9);
}

#[test]
fn a_column_of_using_is_that_of_the_kept_side() {
    let bound = query("SELECT id FROM t LEFT JOIN u USING (id)");
    assert_eq!(bound.output[0].expr.as_column(), Some(0));
    assert!(!bound.output[0].expr.ty.nullable);
    let bound = query("SELECT id FROM t RIGHT JOIN u USING (id)");
    assert_eq!(bound.output[0].expr.as_column(), Some(bound.relations[1].columns.start));
    assert!(!bound.output[0].expr.ty.nullable);
}

#[test]
fn outer_joins_make_columns_nullable() {
    let bound = query("SELECT t.id, u.id FROM t LEFT JOIN u ON t.id = u.id");
    assert!(!bound.output[0].expr.ty.nullable && bound.output[1].expr.ty.nullable);
    let bound = query("SELECT t.id, u.id, v.k1 FROM t RIGHT JOIN u ON t.id = u.id JOIN v");
    let nullable: Vec<_> = bound.output.iter().map(|o| o.expr.ty.nullable).collect();
    assert_eq!(nullable, [true, false, false]);
}

#[test]
fn names_are_found_without_case_but_aliases_with() {
    query("SELECT A, T.a FROM t AS T");
    query("SELECT ID FROM t WHERE iD = 1 GROUP BY Id HAVING iD > 0 ORDER BY id");
    assert_eq!(super::error("SELECT t.a FROM t AS T").code, 1054);
}

#[test]
fn conditions_are_conjuncts() {
    let bound = query("SELECT 1 FROM t WHERE a = 1 AND (c > 2 AND d IS NULL) AND (e = 1 OR e = 2)");
    assert_eq!(bound.filter.len(), 4);
    let bound = query("SELECT a FROM t HAVING a > 1 AND a < 5");
    assert_eq!((bound.having.len(), bound.aggregation.is_none()), (2, true));
}

#[test]
fn order_by_finds_positions_aliases_and_columns() {
    let bound = query("SELECT a AS x, c FROM t ORDER BY 2 DESC, x, d, x + 1, 'constant', c");
    let columns: Vec<_> = bound.order_by.iter().map(|k| (k.expr.as_column(), k.descending)).collect();
    assert_eq!(
        columns,
        [(Some(3), true), (Some(1), false), (Some(4), false), (None, false), (Some(3), false)]
    );
    // An alias hides a column in ORDER BY only as a whole expression, not inside one.
    let bound = query("SELECT c AS a FROM t ORDER BY a, a + 1");
    assert_eq!(bound.order_by[0].expr.as_column(), Some(3));
    assert_eq!(bound.order_by[1].expr.columns().into_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn limits_are_literals_or_parameters() {
    let bound = query("SELECT a FROM t LIMIT 5, 10");
    let limit = bound.limit.expect("a limit");
    assert_eq!(limit.count.as_literal(), Some(&leafline_types::Value::UInt(10)));
    assert_eq!(limit.offset.and_then(|o| o.as_literal().cloned()), Some(leafline_types::Value::UInt(5)));
    let statement = bound_parameters("SELECT ?, a FROM t WHERE c = ? LIMIT ?");
    assert_eq!(statement, 3);
}

fn bound_parameters(sql: &str) -> usize {
    bound(sql).parameters
}

#[test]
fn derived_tables_have_their_own_numbers() {
    let bound = query(
        "SELECT d.n, x.a FROM (SELECT COUNT(*) AS n, a FROM t GROUP BY a) AS d JOIN u AS x ON x.a = d.a",
    );
    let RelationSource::Derived(inner) = &bound.relations[0].source else { panic!() };
    assert_eq!(inner.output.len(), 2);
    assert_eq!(bound.relations[0].columns, 0..2);
    assert_eq!(bound.columns[0].origin, ColumnOrigin::Relation { relation: 0, ordinal: 0 });
    assert_eq!(bound.output[1].expr.as_column(), Some(3));
    assert_eq!(headings("SELECT * FROM (SELECT a, c FROM t) AS d (p, q)"), ["p", "q"]);
    assert_eq!(headings("SELECT p FROM (SELECT a FROM (SELECT a FROM t) e) d (p)"), ["p"]);
}

#[test]
fn hints_are_resolved_by_purpose() {
    let bound = query(
        "SELECT a FROM t USE INDEX (AB, PRIMARY) IGNORE INDEX FOR ORDER BY (ue) USE INDEX FOR GROUP BY (ue)",
    );
    let table = match &bound.relations[0].source {
        RelationSource::Base(table) => table.clone(),
        _ => panic!(),
    };
    let names = |list: &[usize]| list.iter().map(|&i| table.indexes[i].name.clone()).collect::<Vec<_>>();
    let hints = &bound.relations[0].hints;
    assert_eq!(names(hints.indexes.join.only.as_deref().expect("a choice")), ["ab", "PRIMARY"]);
    assert!(!hints.indexes.join.forced && hints.indexes.join.ignored.is_empty());
    assert_eq!(names(&hints.indexes.order_by.ignored), ["ue"]);
    assert_eq!(names(hints.indexes.group_by.only.as_deref().expect("a choice")), ["ab", "PRIMARY", "ue"]);
    let hints = &query("SELECT a FROM t FORCE INDEX (ab)").relations[0].hints;
    assert!(hints.indexes.join.forced && hints.indexes.order_by.forced);
    assert_eq!(query("SELECT a FROM t USE INDEX ()").relations[0].hints.indexes.join.only, Some(Vec::new()));
}

#[test]
fn optimizer_hints_are_for_the_block_that_they_name() {
    let inner = "(SELECT /*+ QB_NAME(inside) */ * FROM t JOIN u ON t.id = u.id) d";
    let sql =
        format!("SELECT /*+ NO_ICP(@inside t ab) JOIN_PREFIX(u@inside) NO_MERGE(d) */ d.id FROM {inner}");
    let sql = sql.replace("t.id = u.id", "TRUE").replace("* FROM", "t.a AS id FROM");
    let block = query(&sql);
    assert_eq!((block.relations[0].hints.merge, block.hints.join_orders.len()), (Some(false), 0));
    let inner = block.relations[0].source.query().expect("a derived table");
    assert_eq!(inner.relations[0].hints.unpushed.len(), 1);
    assert_eq!(inner.hints.join_orders[0].relations, [1]);
    assert!(query("SELECT /*+ JOIN_FIXED_ORDER() */ a FROM t").straight_join);
}

#[test]
fn what_is_ignored_is_warned_about() {
    let statement = bound("SELECT /*+ BKA(t) NO_BKA(t) NO_ICP(t) */ a FROM t");
    assert_eq!(statement.warnings.len(), 1);
    assert!(statement.warnings[0].message.contains("BKA"));
    let statement = bound("SELECT c AS a FROM t GROUP BY a, c");
    assert_eq!(statement.warnings[0].message, "Column 'a' in group statement is ambiguous");
}

#[test]
fn variables_are_read_and_noted() {
    let statement = bound("SELECT @five, @nothing, @@version");
    assert!(statement.reads_variables);
    let crate::bound::BoundKind::Select(select) = statement.kind else { panic!() };
    assert_eq!(select.output[0].expr.as_literal(), Some(&leafline_types::Value::Int(5)));
    assert!(select.output[1].expr.as_literal().is_some_and(leafline_types::Value::is_null));
    assert!(!bound("SELECT 1").reads_variables);
}

#[test]
fn the_tallest_expression_fits_a_small_stack() {
    let tall = "a + ".repeat(leafline_syntax::MAX_HEIGHT - 5);
    let sql = format!("SELECT {tall} 1 FROM t WHERE {tall} 1 > 0 ORDER BY {tall} 1");
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(move || drop(bound(&sql)));
    thread.expect("a thread").join().expect("no overflow");
}
