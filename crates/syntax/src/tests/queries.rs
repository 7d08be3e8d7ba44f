//! FROM clauses and query expressions.

use super::super::ast::{
    HintTable, HintTarget, Join, JoinConstraint, JoinKind, Query, QueryBody, StatementKind, TableReference,
};
use super::{outcome, parsed};

fn query(sql: &str) -> Query {
    match parsed(sql).kind {
        StatementKind::Query(query) => *query,
        other => panic!("{sql}: {other:?}"),
    }
}

/// A reference, with its joins in brackets.
fn shape(reference: &TableReference) -> String {
    match reference {
        TableReference::Table { name, alias, index_hints, .. } => {
            let name = alias.as_ref().map_or(&name.name.value, |a| &a.value);
            format!("{name}{}", "!".repeat(index_hints.len()))
        }
        TableReference::Derived { alias, columns, .. } => {
            format!("derived {} {}", alias.as_ref().map_or("-", |a| &a.value), columns.len())
        }
        TableReference::JsonTable(table) => {
            format!(
                "json_table {} {}",
                table.alias.as_ref().map_or("-", |a| &a.value),
                table.level.columns.len()
            )
        }
        TableReference::List(list) => format!("({})", list.iter().map(shape).collect::<Vec<_>>().join(", ")),
        TableReference::Join(join) => {
            let Join { kind, left, right, constraint, natural, .. } = &**join;
            let kind = match kind {
                JoinKind::Inner => "join",
                JoinKind::Straight => "straight",
                JoinKind::Left => "left",
                JoinKind::Right => "right",
            };
            let constraint = match constraint {
                JoinConstraint::None => "",
                JoinConstraint::On(_) => " on",
                JoinConstraint::Using(_) => " using",
            };
            format!(
                "[{}{kind} {} {}{constraint}]",
                if *natural { "natural " } else { "" },
                shape(left),
                shape(right)
            )
        }
    }
}

fn from(text: &str) -> String {
    match query(&format!("SELECT 1 FROM {text}")).body {
        QueryBody::Select(select) => select.from.iter().map(shape).collect::<Vec<_>>().join(", "),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn joins_nest_by_their_conditions() {
    for (text, tree) in [
        ("a, b AS x, c y", "a, x, y"),
        ("a JOIN b JOIN c", "[join [join a b] c]"),
        ("a JOIN b JOIN c JOIN d JOIN e", "[join [join [join [join a b] c] d] e]"),
        ("a JOIN b ON 1 JOIN c ON 2", "[join [join a b on] c on]"),
        ("a JOIN b JOIN c ON 1 ON 2", "[join a [join b c on] on]"),
        ("a JOIN b JOIN c ON 1", "[join [join a b] c on]"),
        ("a JOIN b LEFT JOIN c ON 1", "[left [join a b] c on]"),
        ("a LEFT JOIN b JOIN c ON 1 ON 2", "[left a [join b c on] on]"),
        ("a LEFT JOIN b LEFT JOIN c ON 1 ON 2", "[left a [left b c on] on]"),
        ("a LEFT JOIN b ON 1 LEFT JOIN c ON 2", "[left [left a b on] c on]"),
        ("a JOIN (b JOIN c) JOIN d ON 1", "[join [join a [join b c]] d on]"),
        ("a JOIN (b JOIN c)", "[join a [join b c]]"),
        ("a NATURAL JOIN b NATURAL RIGHT OUTER JOIN c", "[natural right [natural join a b] c]"),
        ("a JOIN b NATURAL JOIN c", "[natural join [join a b] c]"),
        ("a CROSS JOIN b STRAIGHT_JOIN c USING (x)", "[straight [join a b] c using]"),
        ("(a, b) LEFT JOIN c ON 1", "[left (a, b) c on]"),
        ("a LEFT JOIN (b, c) ON 1", "[left a (b, c) on]"),
        ("((a))", "a"),
        ("(SELECT 1) AS d (x, y), ((SELECT 2)) e", "derived d 2, derived e 0"),
        ("((SELECT 1) d JOIN a)", "[join derived d 0 a]"),
        ("(SELECT 1)", "derived - 0"),
        ("a USE INDEX (i) IGNORE INDEX (j) JOIN b", "[join a!! b]"),
    ] {
        assert_eq!(from(text), tree, "{text}");
    }
}

#[test]
fn outer_joins_need_conditions() {
    for text in ["a LEFT JOIN b", "a LEFT JOIN b LEFT JOIN c ON 1", "a JOIN b ON 1 ON 2"] {
        assert_eq!(outcome(&format!("SELECT 1 FROM {text}")), 1064, "{text}");
    }
}

fn sets(query: &Query) -> String {
    match &query.body {
        QueryBody::Select(_) => "select".to_owned(),
        QueryBody::Values(rows) => format!("values {}", rows.len()),
        QueryBody::Parenthesised(query) => format!("({})", sets(query)),
        QueryBody::SetOperation { first, steps } => steps.iter().fold(sets(first), |left, step| {
            let all = if step.all { " all" } else { "" };
            format!("[{:?}{all} {left} {}]", step.operation, sets(&step.query))
        }),
    }
}

#[test]
fn intersect_binds_tighter_than_union_and_except() {
    for (sql, tree) in [
        ("SELECT 1 UNION SELECT 2 UNION ALL SELECT 3", "[Union all [Union select select] select]"),
        ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "[Union select [Intersect select select]]"),
        ("SELECT 1 INTERSECT SELECT 2 EXCEPT SELECT 3", "[Except [Intersect select select] select]"),
        ("(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3", "[Intersect [Union select select] select]"),
        ("VALUES ROW(1), ROW(2) UNION SELECT 3", "[Union values 2 select]"),
        ("(SELECT 1 LIMIT 3) ORDER BY 1", "(select)"),
        ("(SELECT 1 ORDER BY 1) LIMIT 1", "select"),
        ("((SELECT 1 LIMIT 3) LIMIT 2) UNION SELECT 2", "[Union (select) select]"),
        ("(((SELECT 1 LIMIT 3) LIMIT 2)) LIMIT 1", "((select))"),
    ] {
        assert_eq!(sets(&query(sql)), tree, "{sql}");
    }
}

#[test]
fn order_and_limit_belong_to_the_whole_query() {
    let whole = query("(SELECT 1 LIMIT 1) UNION SELECT 2 ORDER BY 1 LIMIT 3, 4");
    assert_eq!(whole.order_by.len(), 1);
    let limit = whole.limit.expect("a limit");
    assert_eq!(super::nested(&limit.offset.expect("an offset")), "3");
    assert_eq!(super::nested(&limit.count), "4");
    let QueryBody::SetOperation { first, steps } = whole.body else { panic!() };
    assert!(first.limit.is_some() && steps[0].query.limit.is_none());
}

#[test]
fn hints_and_rollup_are_kept() {
    let QueryBody::Select(select) = query("SELECT /*+ INDEX(t i) */ a FROM t GROUP BY a WITH ROLLUP").body
    else {
        panic!()
    };
    let [hint] = select.hints.as_slice() else { panic!("{:?}", select.hints) };
    let table = HintTable { name: "t".into(), block: None };
    assert_eq!((hint.name.as_str(), &hint.about), ("INDEX", &HintTarget::Indexes(table, vec!["i".into()])));
    assert!(select.rollup.is_some());
}

#[test]
fn parameters_are_counted_in_the_order_of_the_text() {
    assert_eq!(parsed("SELECT ?, a FROM t WHERE b = ? LIMIT ?").parameters, 3);
    assert_eq!(parsed("SELECT '?', `?`").parameters, 0);
}
