//! INSERT, UPDATE and DELETE.

use leafline_types::Value;

use super::bound;
use crate::bound::{BoundDelete, BoundInsert, BoundKind, BoundUpdate, GivenValue, InsertRows, NewValue};

fn insert(sql: &str) -> BoundInsert {
    match bound(sql).kind {
        BoundKind::Insert(insert) => *insert,
        other => panic!("{sql}: {other:?}"),
    }
}

fn update(sql: &str) -> BoundUpdate {
    match bound(sql).kind {
        BoundKind::Update(update) => *update,
        other => panic!("{sql}: {other:?}"),
    }
}

fn delete(sql: &str) -> BoundDelete {
    match bound(sql).kind {
        BoundKind::Delete(delete) => *delete,
        other => panic!("{sql}: {other:?}"),
    }
}

fn values(insert: &BoundInsert) -> &[Vec<GivenValue>] {
    match &insert.rows {
        InsertRows::Values(rows) => rows,
        InsertRows::Select(_) | InsertRows::File(_) => panic!("no VALUES"),
    }
}

#[test]
fn columns_of_an_insert_are_positions() {
    let bound = insert("INSERT INTO t (c, A) VALUES (1, DEFAULT), (?, 2 + 3)");
    assert_eq!(bound.columns, [3, 1]);
    let rows = values(&bound);
    assert_eq!(rows.len(), 2);
    assert!(matches!(rows[0][0], GivenValue::Literal(Value::Int(1))));
    assert!(matches!(&rows[0][1], GivenValue::New(new) if matches!(**new, NewValue::Default)));
    assert!(matches!(&rows[1][0], GivenValue::New(new) if matches!(**new, NewValue::Expr(_))));
    assert_eq!(insert("INSERT INTO v VALUES (1, 2, 3)").columns, [0, 1, 2]);
    assert_eq!(insert("INSERT INTO v SET z = 1, k1 = 2").columns, [2, 0]);
}

#[test]
fn empty_rows_are_all_defaults() {
    for sql in ["INSERT INTO t VALUES ()", "INSERT INTO t () VALUES (), ()"] {
        let bound = insert(sql);
        assert!(bound.columns.is_empty() && values(&bound).iter().all(Vec::is_empty), "{sql}");
    }
    assert_eq!(super::error("INSERT INTO t VALUES (), (1)").code, 1136);
}

#[test]
fn rows_may_come_from_a_query() {
    let bound = insert("INSERT INTO v (k1, k2) SELECT id, a FROM u WHERE a > 1");
    let InsertRows::Select(query) = &bound.rows else { panic!() };
    assert_eq!((query.output.len(), query.filter.len()), (2, 1));
}

#[test]
fn hexadecimal_literals_become_numbers_for_numbers() {
    let bound = insert("INSERT INTO t (a, b) VALUES (0x41, 0x41)");
    let literal = |at: usize| match &values(&bound)[0][at] {
        GivenValue::New(new) => match &**new {
            NewValue::Expr(expr) => expr.as_literal().cloned(),
            NewValue::Default => None,
        },
        GivenValue::Literal(_) => None,
    };
    assert_eq!(literal(0), Some(Value::UInt(0x41)));
    assert_eq!(literal(1), Some(Value::bytes(vec![0x41])));
}

#[test]
fn an_update_delivers_whole_rows() {
    let bound = update("UPDATE t AS s SET s.a = a + 1, c = DEFAULT WHERE s.id > 5 ORDER BY c DESC LIMIT 3");
    assert_eq!(bound.rows.output.len(), bound.targets[0].table.columns.len());
    assert_eq!(bound.assignments.iter().map(|assignment| assignment.column).collect::<Vec<_>>(), [1, 3]);
    assert!(matches!(bound.assignments[1].value, NewValue::Default));
    assert!(bound.rows.order_by[0].descending && bound.rows.limit.is_some() && bound.rows.filter.len() == 1);
    for (position, output) in bound.rows.output.iter().enumerate() {
        assert_eq!(output.expr.as_column(), Some(position));
    }
}

#[test]
fn a_delete_keeps_hints_order_and_limit() {
    let bound = delete("DELETE FROM t WHERE a = ? ORDER BY id LIMIT ?");
    assert_eq!(bound.rows.output.len(), 7);
    assert!(bound.rows.limit.is_some() && bound.rows.order_by.len() == 1);
    let bound = update("UPDATE t FORCE INDEX (ab) SET c = 1 WHERE a = 1");
    assert!(bound.rows.relations[0].hints.indexes.join.forced);
}
