//! Answers a bound query row by row, in the order in which MySQL defines it: FROM by nested loops, WHERE, groups, HAVING, select
//! list, DISTINCT, ORDER BY, LIMIT. The interpreter is slow and shares no idea with the optimizer.

use super::show;
use leafline_expr::aggregate::AggregateFunction;
use leafline_expr::{EvalContext, Expr, evaluate_condition, evaluate_row};
use leafline_planner::bound::{Aggregation, BoundSelect, JoinTree, RelationSource};
use leafline_table::{Engine, Isolation, TxnMode};
use leafline_types::{Decimal, Value, encode_part, key::KeyPart};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Row = Vec<Value>;

/// Returns the rows of a query, in the order of its ORDER BY. `all`: ignores LIMIT.
pub(crate) fn answer(
    engine: &Arc<Engine>,
    select: &BoundSelect,
    all: bool,
    eval: &mut EvalContext<'_>,
) -> Vec<Row> {
    let blank = vec![Value::Null; select.columns.len()];
    let mut rows = match &select.from {
        Some(from) => join(engine, select, from, &select.filter, &blank, eval),
        None => vec![blank.clone()],
    };
    rows.retain(|row| holds(&select.filter, row, eval));
    if let Some(aggregation) = &select.aggregation {
        rows = grouped(aggregation, rows, &blank, eval);
    }
    rows.retain(|row| holds(&select.having, row, eval));
    let mut result: Vec<(Vec<u8>, Row)> = Vec::new();
    for row in &rows {
        let output = select.output.iter().map(|output| value(&output.expr, row, eval)).collect();
        let mut key = Vec::new();
        for order in &select.order_by {
            let part = part(&order.expr, order.descending);
            encode_part(&part, &value(&order.expr, row, eval), &mut key).expect("a key");
        }
        result.push((key, output));
    }
    if select.distinct {
        let mut seen = BTreeSet::new();
        result.retain(|(_, row)| {
            let mut key = Vec::new();
            for (value, output) in row.iter().zip(&select.output) {
                encode_part(&part(&output.expr, false), value, &mut key).expect("a key");
            }
            seen.insert(key)
        });
    }
    result.sort_by(|a, b| a.0.cmp(&b.0));
    let mut rows: Vec<Row> = result.into_iter().map(|(_, row)| row).collect();
    if let (Some(limit), false) = (&select.limit, all) {
        let count = |expr: &Expr| expr.as_literal().and_then(Value::as_integer).expect("a number") as usize;
        let offset = limit.offset.as_ref().map_or(0, count);
        rows = rows.into_iter().skip(offset).take(count(&limit.count)).collect();
    }
    rows
}

fn part(expr: &Expr, descending: bool) -> KeyPart {
    KeyPart {
        ty: expr.ty.sql.clone(),
        collation: expr.ty.collation,
        nullable: true,
        descending,
        prefix: None,
    }
}

fn value(expr: &Expr, row: &[Value], eval: &mut EvalContext<'_>) -> Value {
    evaluate_row(expr, row, eval).unwrap_or_else(|e| panic!("{expr:?}: {e}"))
}

fn holds(conditions: &[Expr], row: &[Value], eval: &mut EvalContext<'_>) -> bool {
    evaluate_condition(conditions, row, eval).unwrap_or_else(|e| panic!("{conditions:?}: {e}"))
}

fn join(
    engine: &Arc<Engine>,
    select: &BoundSelect,
    tree: &JoinTree,
    filter: &[Expr],
    blank: &Row,
    eval: &mut EvalContext<'_>,
) -> Vec<Row> {
    match tree {
        JoinTree::Relation(relation) => relation_rows(engine, select, *relation, blank, eval),
        JoinTree::Inner { children, conditions, .. } => {
            let mut rows = vec![blank.clone()];
            let mut known = BTreeSet::new();
            for child in children {
                relations(child, &mut known);
                // Conditions apply as soon as their columns are present; otherwise the loops would take too long.
                let now: Vec<Expr> = conditions
                    .iter()
                    .chain(filter)
                    .filter(|condition| {
                        condition.columns().iter().all(|column| is_known(select, &known, *column))
                    })
                    .cloned()
                    .collect();
                let child = join(engine, select, child, &[], blank, eval);
                rows = rows
                    .iter()
                    .flat_map(|left| child.iter().map(|right| both(left, right)).collect::<Vec<_>>())
                    .filter(|row| holds(&now, row, eval))
                    .collect();
            }
            rows
        }
        JoinTree::Left { left, right, conditions } => {
            let left = join(engine, select, left, &[], blank, eval);
            let right = join(engine, select, right, &[], blank, eval);
            let mut rows = Vec::new();
            for kept in left {
                let before = rows.len();
                for found in &right {
                    let joined = both(&kept, found);
                    if holds(conditions, &joined, eval) {
                        rows.push(joined);
                    }
                }
                if rows.len() == before {
                    rows.push(kept);
                }
            }
            rows
        }
        JoinTree::Semi { .. } => panic!("nothing that is bound"),
    }
}

fn relations(tree: &JoinTree, found: &mut BTreeSet<usize>) {
    match tree {
        JoinTree::Relation(relation) => {
            found.insert(*relation);
        }
        JoinTree::Inner { children, .. } => children.iter().for_each(|child| relations(child, found)),
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            [left, right].into_iter().for_each(|side| relations(side, found))
        }
    }
}

fn is_known(select: &BoundSelect, known: &BTreeSet<usize>, column: usize) -> bool {
    known.iter().any(|relation| select.relations[*relation].columns.contains(&column))
}

/// Combines two rows of different relations: each column comes from the row of its relation.
fn both(left: &Row, right: &Row) -> Row {
    left.iter().zip(right).map(|(l, r)| if r.is_null() { l.clone() } else { r.clone() }).collect()
}

fn relation_rows(
    engine: &Arc<Engine>,
    select: &BoundSelect,
    relation: usize,
    blank: &Row,
    eval: &mut EvalContext<'_>,
) -> Vec<Row> {
    let relation = &select.relations[relation];
    let rows = match &relation.source {
        RelationSource::Derived(inner) => answer(engine, inner, false, eval),
        RelationSource::Lateral(_)
        | RelationSource::SetOperation(_)
        | RelationSource::Values(_)
        | RelationSource::JsonTable(_)
        | RelationSource::Common(_)
        | RelationSource::WorkTable(_) => panic!("not known to the reference"),
        RelationSource::Base(table) => {
            let columns: Vec<usize> = (0..table.columns.len()).collect();
            let decoder = leafline_table::row_decoder(table, &columns).expect("a decoder");
            let view = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly).view();
            let mut cursor = view.entries(table, table.clustered()).expect("a cursor");
            let mut rows = Vec::new();
            cursor.seek(&[]);
            while cursor
                .visit(leafline_table::Direction::Forward, &mut |entry| {
                    let mut row = Vec::new();
                    decoder.decode_values(entry.key, entry.payload, &mut row).expect("a row");
                    rows.push(row);
                    leafline_table::EntryStep::Next
                })
                .expect("a visit")
            {}
            rows
        }
    };
    rows.into_iter()
        .map(|values| {
            let mut row = blank.clone();
            row.splice(relation.columns.clone(), values);
            row
        })
        .collect()
}

fn grouped(aggregation: &Aggregation, rows: Vec<Row>, blank: &Row, eval: &mut EvalContext<'_>) -> Vec<Row> {
    let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    if aggregation.keys.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in rows {
        let mut key = Vec::new();
        for group_key in &aggregation.keys {
            let value = value(&group_key.expr, &row, eval);
            encode_part(&part(&group_key.expr, false), &value, &mut key).expect("a key");
        }
        groups.entry(key).or_default().push(row);
    }
    groups
        .into_values()
        .map(|rows| {
            let mut result = blank.clone();
            result.resize(blank.len(), Value::Null);
            if let Some(first) = rows.first() {
                for key in &aggregation.keys {
                    result[key.out] = value(&key.expr, first, eval);
                }
            }
            for aggregate in &aggregation.aggregates {
                let call = &aggregate.call;
                let mut values: Vec<Vec<Value>> = rows
                    .iter()
                    .map(|row| call.args.iter().map(|arg| value(arg, row, eval)).collect())
                    .filter(|args: &Vec<Value>| !args.iter().any(Value::is_null))
                    .collect();
                if call.distinct {
                    let mut seen = BTreeSet::new();
                    // Strings that differ only in trailing spaces are equal.
                    values.retain(|args| seen.insert(show(args).replace(' ', "")));
                }
                result[aggregate.out] = aggregated(call.function, &values, rows.len(), call.ty.sql.scale());
            }
            result
        })
        .collect()
}

/// Computes COUNT, SUM and AVG of integers and decimals, and MIN and MAX of signed and unsigned integers.
fn aggregated(function: AggregateFunction, values: &[Vec<Value>], rows: usize, scale: u8) -> Value {
    let firsts = || values.iter().filter_map(|args| args.first());
    match function {
        AggregateFunction::CountAll => Value::Int(rows as i64),
        AggregateFunction::Count => Value::Int(values.len() as i64),
        AggregateFunction::Sum | AggregateFunction::Avg => {
            let decimals = firsts().map(|value| match value {
                Value::Int(number) => Decimal::from_i64(*number),
                Value::Decimal(number) => number.clone(),
                other => panic!("the reference does not sum {other:?}"),
            });
            let sum = decimals.reduce(|a, b| a.checked_add(&b).expect("a small sum"));
            let count = Decimal::from_i64(values.len() as i64);
            let result = match function {
                AggregateFunction::Avg => sum.and_then(|sum| sum.checked_div(&count, scale)),
                _ => sum,
            };
            result.map_or(Value::Null, Value::Decimal)
        }
        AggregateFunction::Min | AggregateFunction::Max => {
            let order = |a: &&Value, b: &&Value| match (a, b) {
                (Value::Int(a), Value::Int(b)) => a.cmp(b),
                (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
                (a, b) => panic!("the reference does not order {a:?} and {b:?}"),
            };
            let found = if function == AggregateFunction::Min {
                firsts().min_by(order)
            } else {
                firsts().max_by(order)
            };
            found.cloned().unwrap_or(Value::Null)
        }
        other => panic!("the reference does not know {other:?}"),
    }
}
