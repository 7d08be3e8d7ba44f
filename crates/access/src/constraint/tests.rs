//! Constraints against every row: the bounds pass all rows that satisfy the conditions, and no other where they say so.

use super::*;
use crate::params::MAX_KEY_RANGES;
use crate::testing::{self, column_expr, columns, condition, with_eval};
use leafline_expr::{evaluate_condition, evaluate_scalar, push_down_not};
use leafline_types::Value;
use leafline_types::key::encode_part;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// Random parts over the columns of the test table.
fn parts(rng: &mut SmallRng) -> Vec<IndexKeyPart> {
    let all = columns();
    let chosen: Vec<usize> = (1..all.len()).collect();
    let count = rng.random_range(1..4);
    chosen
        .choose_multiple(rng, count)
        .map(|column| IndexKeyPart {
            column: *column,
            key: KeyPart {
                ty: all[*column].ty.clone(),
                collation: all[*column].collation,
                nullable: all[*column].nullable,
                descending: rng.random_ratio(1, 3),
                prefix: (all[*column].ty.is_string() && rng.random_ratio(1, 2))
                    .then(|| rng.random_range(1..4)),
            },
        })
        .collect()
}

fn key_of(parts: &[IndexKeyPart], row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    for part in parts {
        encode_part(&part.key, &row[part.column], &mut key).expect("a value of the column's type");
    }
    key
}

fn passes(bounds: &Bounds, parts: &[IndexKeyPart], key: &[u8]) -> bool {
    let keys: Vec<KeyPart> = parts.iter().map(|part| part.key.clone()).collect();
    let passes = |range: &KeyRange| range.contains(key) && range.key_filter.accepts(&keys, key, range.equal);
    bounds.ranges.iter().any(passes)
}

/// How the cases of a run came out, so that a run that exercises nothing fails.
#[derive(Default)]
struct Coverage {
    exact: usize,
    superset: usize,
    tests: usize,
    empty: usize,
    ranges: usize,
    /// With ORs about several parts that the bounds say all of.
    joint: usize,
}

#[test]
fn bounds_pass_every_row_that_satisfies_the_conditions() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let rows = testing::rows(&mut rng, 300);
    let mut coverage = Coverage::default();
    for case in 0..2000 * testing::scale() {
        let parts = parts(&mut rng);
        let mut among: Vec<usize> = parts.iter().map(|part| part.column).collect();
        if rng.random_ratio(1, 4) {
            among.push(rng.random_range(1..columns().len()));
        }
        let mut conjuncts: Vec<Expr> =
            (0..rng.random_range(1..4)).map(|_| push_down_not(condition(&mut rng, &among, 3))).collect();
        if rng.random_ratio(1, 4) && among.len() > 1 {
            let branch = |rng: &mut SmallRng| {
                let both = [0, 1].map(|at| condition(rng, &among[at..=at], 0));
                leafline_expr::build::and(both.to_vec())
            };
            let branches = (0..rng.random_range(2..5)).map(|_| branch(&mut rng)).collect();
            conjuncts.push(push_down_not(leafline_expr::build::or(branches)));
        }
        let context = format!("seed {seed}, case {case}, {conjuncts:?} on {parts:?}");
        let built = Constraint::build(&parts, &conjuncts, &Some);
        let bounds = with_eval(|eval| {
            let values: Vec<Value> = built
                .constraint
                .values()
                .iter()
                .map(|value| evaluate_scalar(value, eval).expect("a constant"))
                .collect();
            built.constraint.instantiate(&values)
        });
        for pair in bounds.ranges.windows(2) {
            assert!(pair[0].upper.as_ref().is_some_and(|upper| *upper <= pair[1].lower), "{context}");
        }
        coverage.exact += usize::from(bounds.exact);
        coverage.superset += usize::from(!bounds.exact);
        coverage.tests += usize::from(bounds.has_key_filter());
        coverage.empty += usize::from(bounds.ranges.is_empty());
        coverage.ranges += usize::from(bounds.ranges.len() > 1);
        let joint = !built.constraint.joint.is_empty();
        coverage.joint += usize::from(joint && bounds.exact && !bounds.ranges.is_empty());
        let implied: Vec<&Expr> = conjuncts
            .iter()
            .zip(&built.implied)
            .filter(|(_, implied)| matches!(implied, Implied::ByRanges | Implied::ByTests))
            .map(|(conjunct, _)| conjunct)
            .collect();
        for row in &rows {
            let passed = passes(&bounds, &parts, &key_of(&parts, row));
            with_eval(|eval| {
                let satisfied =
                    evaluate_condition(&conjuncts, row, eval).expect("a condition without errors");
                assert!(passed || !satisfied, "lost {row:?}: {context} {bounds:?}");
                if passed && bounds.exact {
                    for conjunct in &implied {
                        let holds = evaluate_condition(std::slice::from_ref(*conjunct), row, eval);
                        assert!(
                            holds.expect("a condition"),
                            "{conjunct:?} fails for {row:?}: {context} {bounds:?}"
                        );
                    }
                }
            });
        }
    }
    let Coverage { exact, superset, tests, empty, ranges, joint } = coverage;
    for count in [exact, superset, tests, empty, ranges, joint] {
        assert!(
            count >= 20,
            "{exact} exact, {superset} superset, {tests} tests, {empty} empty, {ranges} ranges, {joint} joint"
        );
    }
}

#[test]
fn many_branches_share_their_bounds() {
    use leafline_expr::CompareOp::Eq;
    use leafline_expr::build::{compare, in_list, literal, or};
    let equal = |value: i64| compare(Eq, column_expr(1), literal(Value::Int(value))).expect("a comparison");
    let part = IndexKeyPart {
        column: 1,
        key: KeyPart {
            ty: columns()[1].ty.clone(),
            collation: columns()[1].collation,
            nullable: true,
            descending: false,
            prefix: None,
        },
    };
    let built = |condition| Constraint::build(std::slice::from_ref(&part), &[condition], &Some);
    let branches = or((0..1000).map(|at| equal(at % 50)).collect());
    let constraint = built(branches).constraint;
    assert_eq!(constraint.values().len(), 50);
    let values: Vec<Value> = (0..50).map(Value::Int).collect();
    assert_eq!(constraint.instantiate(&values).ranges.len(), 50);
    // Literals of a list are no bounds: there is nothing to compute.
    let list = (0..100).map(|value| literal(Value::Int(value))).collect();
    let constraint = built(in_list(column_expr(1), list, false).expect("a list")).constraint;
    assert_eq!((constraint.values().len(), constraint.used_parts()), (0, 1));
    assert_eq!(constraint.instantiate(&[]).ranges.len(), 100);
}

#[test]
fn rows_of_a_list_are_points_of_several_parts() {
    use leafline_expr::CompareOp::{Eq, Gt, Lt};
    use leafline_expr::build::{and, compare, literal, or};
    let all = columns();
    let part = |column: usize| IndexKeyPart {
        column,
        key: KeyPart {
            ty: all[column].ty.clone(),
            collation: all[column].collation,
            nullable: true,
            descending: false,
            prefix: None,
        },
    };
    let parts = [part(1), part(2)];
    let is = |op, column, value| {
        compare(op, column_expr(column), literal(Value::Int(value))).expect("a comparison")
    };
    let bounds = |conjuncts: &[Expr]| {
        let built = Constraint::build(&parts, conjuncts, &Some);
        let values: Vec<Value> = with_eval(|eval| {
            let value = |value: &Expr| evaluate_scalar(value, eval).expect("a constant");
            built.constraint.values().iter().map(value).collect()
        });
        (built.constraint.instantiate(&values), built.implied)
    };
    let pairs =
        |count: i64| or((0..count).map(|at| and(vec![is(Eq, 1, at % 100), is(Eq, 2, at / 100)])).collect());
    let (found, implied) = bounds(&[pairs(4000)]);
    assert_eq!((found.ranges.len(), found.exact), (4000, true));
    assert_eq!(implied, [Implied::ByRanges]);
    assert!(found.ranges.iter().all(|range| range.equal.parts == 2));
    // With other conditions on the same parts.
    let (found, _) = bounds(&[pairs(4000), is(Gt, 2, 9), is(Lt, 1, 20)]);
    assert_eq!((found.ranges.len(), found.exact), (30 * 20, true));
    // More than are kept: a range for each value of the first part, and the rest as tests.
    let (found, _) = bounds(&[pairs(MAX_KEY_RANGES as i64)]);
    assert_eq!((found.ranges.len(), found.exact, found.has_key_filter()), (MAX_KEY_RANGES, true, false));
    let (found, implied) = bounds(&[pairs(MAX_KEY_RANGES as i64 + 1)]);
    assert_eq!((found.ranges.len(), found.exact, found.has_key_filter()), (100, true, true));
    assert_eq!(implied, [Implied::ByRanges]);
    // Branches that meet.
    let (found, _) = bounds(&[or(vec![
        and(vec![is(Eq, 1, 1), is(Gt, 2, 5)]),
        and(vec![is(Eq, 1, 2), is(Lt, 2, 3)]),
        and(vec![is(Eq, 1, 1), is(Lt, 2, 9)]),
    ])]);
    assert_eq!((found.ranges.len(), found.exact), (2, true));
}

#[test]
fn outer_columns_and_guards_are_bounds() {
    // a = outer AND ((outer2 = 1 AND b < 2) OR (outer2 = 2 AND b > 5)): known outer values leave one range of b.
    use leafline_expr::CompareOp::{Eq, Gt, Lt};
    use leafline_expr::build::{and, column, compare, literal, or};
    use leafline_types::{Decimal, ExprType, SqlType};
    let all = columns();
    let outer = |number| column(number, ExprType::numeric(SqlType::BIGINT, true));
    let int = |value| literal(Value::Int(value));
    let branch = |guard, op, value| {
        and(vec![
            compare(Eq, outer(101), int(guard)).expect("a comparison"),
            compare(op, column_expr(2), int(value)).expect("a comparison"),
        ])
    };
    let conjuncts = [
        compare(Eq, column_expr(1), outer(100)).expect("a comparison"),
        or(vec![branch(1, Lt, 2), branch(2, Gt, 5)]),
    ];
    let part = |column: usize| IndexKeyPart {
        column,
        key: KeyPart {
            ty: all[column].ty.clone(),
            collation: all[column].collation,
            nullable: true,
            descending: false,
            prefix: None,
        },
    };
    let parts = [part(1), part(2)];
    let built = Constraint::build(&parts, &conjuncts, &|column| (column < 100).then_some(column));
    assert_eq!(built.constraint.used_parts(), 2);
    assert_eq!(built.constraint.equal_parts(), 1);
    assert!(built.constraint.is_correlated());
    let decimal = |units: i64| Value::Decimal(Decimal::from_i128(i128::from(units) * 100, 2));
    let mut row = vec![Value::Null; all.len()];
    row[1] = Value::Int(7);
    for (guard, expected) in [(1, [true, false, false]), (2, [false, false, true]), (3, [false; 3])] {
        let values: Vec<Value> = with_eval(|eval| {
            let outer = |column: usize| [Value::Int(7), Value::Int(guard)][column - 100].clone();
            built
                .constraint
                .values()
                .iter()
                .map(|value| {
                    let bound = value.replace_columns(&mut |column| Some(literal(outer(column))));
                    evaluate_scalar(&bound, eval).expect("a value")
                })
                .collect()
        });
        let bounds = built.constraint.instantiate(&values);
        for (units, expected) in [0, 3, 9].into_iter().zip(expected) {
            row[2] = decimal(units);
            assert_eq!(
                passes(&bounds, &parts, &key_of(&parts, &row)),
                expected,
                "guard {guard}, b = {units}"
            );
        }
    }
}
