//! Tests that a compiled test is true for a key part's bytes exactly where the evaluator returns TRUE for its value.

use std::collections::BTreeMap;

use rand::Rng;
use rand::rngs::SmallRng;

use super::domain::{ColumnRange, column_range};
use super::encoded::EncodedTest;
use super::testkit::{self, Session, dec, int, txt};
use super::{CompareDomain, CompareOp, Expr, build, evaluate_condition};
use crate::testing;
use leafline_types::collation::Collation;
use leafline_types::decimal::Decimal;
use leafline_types::key::{KeyPart, encode_part};
use leafline_types::value::{ExprType, SqlType, Value};

pub(crate) fn types() -> Vec<(SqlType, Collation)> {
    let mut types: Vec<(SqlType, Collation)> =
        testkit::column_types().into_iter().map(|ty| (ty.sql, ty.collation)).collect();
    types.extend([
        (SqlType::TinyInt { unsigned: true }, Collation::Binary),
        (SqlType::Int { unsigned: false }, Collation::Binary),
        (SqlType::Decimal { precision: 5, scale: 0, unsigned: true, zerofill: false }, Collation::Binary),
        (SqlType::DateTime { fsp: 2 }, Collation::Binary),
    ]);
    types
}

/// Makes a literal to compare a column with: often of the column's type, sometimes slightly off its grid.
fn constant(rng: &mut SmallRng, ty: &SqlType, collation: Collation) -> Expr {
    let own = types();
    let v = match rng.random_range(0..6) {
        0..=2 => testkit::value(rng, ty),
        3 => {
            let any = rng.random_range(0..own.len());
            testkit::value(rng, &own[any].0)
        }
        4 => {
            let text = format!("{}.{}", rng.random_range(-300..300), rng.random_range(0..1000));
            Value::Decimal(Decimal::parse(&text).unwrap())
        }
        _ => Value::Double(f64::from(rng.random_range(-300i32..300)) / 8.0),
    };
    let mut e = build::literal(v);
    if e.ty.sql.is_character() && collation != Collation::Binary {
        e.ty.collation = collation;
    }
    e
}

pub(crate) fn condition(rng: &mut SmallRng, ty: &SqlType, collation: Collation, depth: usize) -> Expr {
    use CompareOp::*;
    let column = || build::column(0, ExprType::column(ty.clone(), true, collation));
    loop {
        let made = match rng.random_range(0..9) {
            0..=2 => {
                let op = [Eq, NullSafeEq, Ne, Lt, Le, Gt, Ge][rng.random_range(0..7)];
                let c = constant(rng, ty, collation);
                if rng.random_bool(0.3) {
                    build::compare(op, c, column())
                } else {
                    build::compare(op, column(), c)
                }
            }
            3 => {
                let list = (0..rng.random_range(1..5)).map(|_| constant(rng, ty, collation)).collect();
                build::in_list(column(), list, rng.random_bool(0.4))
            }
            4 => {
                let (low, high) = (constant(rng, ty, collation), constant(rng, ty, collation));
                build::between(column(), low, high, rng.random_bool(0.3))
            }
            5 => Ok(build::is_null(column(), rng.random_bool(0.5))),
            6 if collation != Collation::Binary => {
                let pattern = ["a%", "a", "ab%", "a b%", "a %", "%", "1%%"][rng.random_range(0..7)];
                let mut pattern = txt(pattern);
                pattern.ty.collation = collation;
                build::like(column(), pattern, Some('\\'), rng.random_bool(0.2))
            }
            7 if depth > 0 => {
                let list = (0..2).map(|_| condition(rng, ty, collation, depth - 1)).collect();
                Ok(if rng.random_bool(0.5) { build::and(list) } else { build::or(list) })
            }
            8 if depth > 0 => Ok(build::not(condition(rng, ty, collation, depth - 1))),
            _ => continue,
        };
        if let Ok(e) = made {
            return e;
        }
    }
}

#[test]
fn compiled_tests_agree_with_the_evaluator_on_random_values() {
    let mut rng = testing::rng("compiled_tests_agree_with_the_evaluator_on_random_values");
    let mut compiled: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for _ in 0..testing::iterations(400) {
        for (ty, collation) in types() {
            let part = KeyPart {
                ty: ty.clone(),
                collation,
                nullable: rng.random_bool(0.7),
                descending: rng.random_bool(0.4),
                prefix: None,
            };
            let e = condition(&mut rng, &ty, collation, 2);
            let tally = compiled.entry(ty.to_string()).or_default();
            tally.0 += 1;
            let Some(test) = EncodedTest::compile(&e, 0, &part) else { continue };
            tally.1 += 1;
            for _ in 0..20 {
                let v = testkit::value(&mut rng, &ty);
                let negative = matches!(&v, Value::Decimal(d) if d.is_negative());
                if v.is_null() && !part.nullable || negative && ty.is_unsigned() {
                    continue;
                }
                let mut bytes = Vec::new();
                encode_part(&part, &v, &mut bytes).unwrap();
                let expected = evaluate_condition(
                    std::slice::from_ref(&e),
                    std::slice::from_ref(&v),
                    &mut Session::new().cx(),
                )
                .unwrap();
                assert_eq!(test.matches(&bytes), expected, "{e} of {v:?} in {part:?}: {:?}", test.ranges());
            }
        }
    }
    for (ty, (tried, compiled)) in compiled {
        println!("{ty}: {compiled} of {tried}");
        assert!(compiled * 5 > tried, "{ty}: only {compiled} of {tried} conditions compile");
    }
}

fn range(ty: SqlType, op: CompareOp, c: &Expr, domain: CompareDomain) -> ColumnRange {
    column_range(&KeyPart::new(ty), op, c.as_literal().unwrap(), domain)
}

#[test]
fn constants_go_into_the_columns_domain_with_a_direction() {
    use CompareOp::*;
    let tiny = || SqlType::TinyInt { unsigned: false };
    let decimal = CompareDomain::Decimal;
    let le_one = range(tiny(), Le, &int(1), CompareDomain::Integer);
    assert_eq!(range(tiny(), Lt, &dec("1.5"), decimal), le_one);
    assert_eq!(range(tiny(), Le, &dec("1.5"), decimal), le_one);
    let gt_minus_two = range(tiny(), Gt, &int(-2), CompareDomain::Integer);
    assert_eq!(range(tiny(), Ge, &dec("-1.5"), decimal), gt_minus_two);
    assert_eq!(range(tiny(), Eq, &dec("1.5"), decimal), ColumnRange::Empty);
    assert_eq!(range(tiny(), Ne, &dec("1.5"), decimal), ColumnRange::AllNonNull);
    assert_eq!(range(tiny(), Lt, &int(128), CompareDomain::Integer), ColumnRange::AllNonNull);
    assert_eq!(range(tiny(), Gt, &int(127), CompareDomain::Integer), {
        let upper = std::ops::Bound::Unbounded;
        let lower = std::ops::Bound::Excluded(vec![0xff]);
        ColumnRange::Ranges(vec![super::domain::ByteRange { lower, upper }])
    });
    assert_eq!(range(tiny(), Eq, &int(1000), CompareDomain::Integer), ColumnRange::Empty);
    assert_eq!(range(tiny(), Eq, &txt("x"), CompareDomain::Double), ColumnRange::NotConvertible);
    let unsigned = SqlType::Int { unsigned: true };
    assert_eq!(range(unsigned, Ge, &int(-1), CompareDomain::Integer), ColumnRange::AllNonNull);
    let text = SqlType::Varchar { len: 9 };
    assert_eq!(range(text.clone(), Eq, &int(1), CompareDomain::Double), ColumnRange::NotConvertible);
    let other_collation = CompareDomain::String(Collation::Utf8mb4Bin);
    assert_eq!(range(text, Eq, &txt("a"), other_collation), ColumnRange::NotConvertible);
}

/// A literal text that is a number is compared with a number column as a number, so that the comparison can use an
/// index.
#[test]
fn number_texts_are_numbers_to_number_columns() {
    let part = KeyPart::new(SqlType::BIGINT);
    let column = build::column(0, ExprType::column(SqlType::BIGINT, false, Collation::Binary));
    let e = build::compare(CompareOp::Eq, column.clone(), txt("9007199254740993")).unwrap();
    let test = EncodedTest::compile(&e, 0, &part).unwrap();
    assert!(test.ranges()[0].is_point());
    let matches = |v: i64| {
        let mut bytes = Vec::new();
        encode_part(&part, &Value::Int(v), &mut bytes).unwrap();
        test.matches(&bytes)
    };
    assert!(matches(9_007_199_254_740_993) && !matches(9_007_199_254_740_992));
    let e = build::compare(CompareOp::Eq, column, txt("12abc")).unwrap();
    assert!(EncodedTest::compile(&e, 0, &part).is_none());
}
