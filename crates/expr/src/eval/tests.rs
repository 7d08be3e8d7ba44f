//! Tests that batches agree with rows, that laziness suppresses errors of skipped operands, that logic has three
//! values, and that nothing wraps.

use rand::Rng;

use super::super::testkit::{self, Session, date, dbl, dec, int, null, shown, time, txt, uint};
use super::super::{ArithmeticOp, CompareOp, Expr, build, conjuncts, fold, push_down_not};
use super::*;
use crate::testing;
use leafline_types::column::value_at;
use leafline_types::value::{ExprType, SqlType};

/// Whether two values of a type are the same; doubles may differ in the last digit, because of the order of
/// operations.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Decimal(x), Value::Decimal(y)) => x == y && x.scale() == y.scale(),
        _ => a == b,
    }
}

/// Returns a value as its column returns it: decimals at the column's scale.
fn stored(v: Value, ty: &SqlType) -> Result<Value, leafline_types::CodecError> {
    let mut builder = ColumnBuilder::for_type(ty);
    builder.push_value(&v)?;
    Ok(value_at(builder.finish().as_ref(), 0, ty))
}

#[test]
fn batches_and_rows_agree_on_random_expressions() {
    let mut rng = testing::rng("batches_and_rows_agree_on_random_expressions");
    let (mut values, mut errors, mut warned) = (0, 0, 0);
    for _ in 0..testing::iterations(1500) {
        let depth = rng.random_range(1..4);
        let e = testkit::expression(&mut rng, depth);
        let count = [2, 3, 64, 70][rng.random_range(0..4)];
        let (rows, batch) = testkit::rows(&mut rng, count);

        let mut by_row = Session::new();
        let expected: Result<Vec<Value>, MysqlError> = rows
            .iter()
            .map(|row| {
                let v = evaluate_row(&e, row, &mut by_row.cx())?;
                Ok(stored(v, &e.ty.sql)?)
            })
            .collect();
        let mut at_once = Session::new();
        let actual = evaluate(&e, &batch, &mut at_once.cx());
        match (expected, actual) {
            (Ok(expected), Ok(actual)) => {
                for (n, expected) in expected.iter().enumerate() {
                    let actual = stored(actual.value(n, &e.ty.sql), &e.ty.sql).unwrap();
                    assert!(same(&actual, expected), "{e}: {actual:?} for {expected:?}, row {:?}", rows[n]);
                }
                let texts = |s: &Session| {
                    let mut texts: Vec<String> = s.warnings.iter().map(|w| w.message.clone()).collect();
                    texts.sort();
                    texts.dedup();
                    texts
                };
                values += 1;
                // Beyond the limit only the first warnings are kept, and batches and rows raise them in different
                // orders.
                let all_kept = |s: &Session| s.warnings.count() == s.warnings.iter().len() as u64;
                if all_kept(&at_once) && all_kept(&by_row) {
                    assert_eq!(texts(&at_once), texts(&by_row), "{e}");
                    warned += usize::from(!by_row.warnings.is_empty());
                }
            }
            (Err(expected), Err(actual)) => {
                assert_eq!(actual.code, expected.code, "{e}");
                errors += 1;
            }
            (expected, actual) => panic!("{e}: {actual:?} for {expected:?}"),
        }
    }
    println!("{values} expressions had values ({warned} with warnings), {errors} had errors");
    assert!(values > 500 && errors > 0 && warned > 50, "the random expressions say too little");
}

#[test]
fn filters_and_rows_agree_on_random_conjuncts() {
    let mut rng = testing::rng("filters_and_rows_agree_on_random_conjuncts");
    let mut partial = 0;
    for _ in 0..testing::iterations(800) {
        let list: Vec<Expr> = (0..rng.random_range(1..4)).map(|_| testkit::condition(&mut rng, 2)).collect();
        let (rows, batch) = testkit::rows(&mut rng, 70);
        let mut session = Session::new();
        let expected: Result<Vec<bool>, MysqlError> =
            rows.iter().map(|row| evaluate_condition(&list, row, &mut session.cx())).collect();
        let actual = evaluate_filter(&list, &batch, &mut session.cx());
        let whole = build::and(list.clone());
        match (expected, actual) {
            (Ok(expected), Ok(actual)) => {
                let bits: Vec<bool> = (0..rows.len()).map(|n| actual.contains(n)).collect();
                assert_eq!(bits, expected, "{whole}");
                assert_eq!(actual.count(), expected.iter().filter(|b| **b).count());
                assert_eq!(actual.apply(&batch).unwrap().rows, actual.count());
                partial += usize::from(matches!(actual, Selection::Some(_)));
            }
            (Err(expected), Err(actual)) => assert_eq!(actual.code, expected.code, "{whole}"),
            (expected, actual) => panic!("{whole}: {actual:?} for {expected:?}"),
        }
    }
    assert!(partial > 50, "the random filters say too little");
}

/// Pushing NOT down and folding constants change no value.
#[test]
fn rewrites_keep_the_truth_of_random_conditions() {
    let mut rng = testing::rng("rewrites_keep_the_truth_of_random_conditions");
    for _ in 0..testing::iterations(800) {
        let e = build::not(testkit::condition(&mut rng, 3));
        let pushed = push_down_not(e.clone());
        let mut session = Session::new();
        let folded = fold(e.clone(), &mut session.cx()).unwrap();
        let (rows, _) = testkit::rows(&mut rng, 10);
        for row in &rows {
            let expected = evaluate_row(&e, row, &mut session.cx());
            let Ok(expected) = expected else { continue };
            // The order of evaluation is the same, so an expression that had a value still has one.
            assert_eq!(evaluate_row(&pushed, row, &mut session.cx()).unwrap(), expected, "{e}\n{pushed}");
            assert_eq!(evaluate_row(&folded, row, &mut session.cx()).unwrap(), expected, "{e}\n{folded}");
        }
    }
}

#[test]
fn logic_has_three_values() {
    let truths = [Some(true), Some(false), None];
    let of = |t: Option<bool>| t.map_or(null(), |t| int(t.into()));
    let and = |a: Option<bool>, b: Option<bool>| match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    let types = [SqlType::BIGINT, SqlType::BIGINT];
    let all: Vec<Vec<Value>> = truths
        .iter()
        .flat_map(|a| truths.iter().map(|b| vec![of(*a), of(*b)]))
        .map(|pair| pair.iter().map(|e| e.as_literal().unwrap().clone()).collect())
        .collect();
    let batch = Batch::from_rows(&types, all.iter().map(Vec::as_slice)).unwrap();
    let column = |n| build::column(n, ExprType::numeric(SqlType::BIGINT, true));
    type Truth = Option<bool>;
    type Definition<'f> = &'f dyn Fn(Truth, Truth) -> Truth;
    let table: [(Expr, Definition<'_>); 9] = [
        (build::and(vec![column(0), column(1)]), &and),
        (build::or(vec![column(0), column(1)]), &|a, b| and(a.map(|a| !a), b.map(|b| !b)).map(|t| !t)),
        (build::xor(column(0), column(1)), &|a, b| a.zip(b).map(|(a, b)| a != b)),
        (build::not(column(0)), &|a, _| a.map(|a| !a)),
        (build::is_null(column(0), false), &|a, _| Some(a.is_none())),
        (build::is_truth(column(0), true, false), &|a, _| Some(a == Some(true))),
        (build::is_truth(column(0), false, true), &|a, _| Some(a != Some(false))),
        (build::compare(CompareOp::NullSafeEq, column(0), column(1)).unwrap(), &|a, b| Some(a == b)),
        (build::compare(CompareOp::Ne, column(0), column(1)).unwrap(), &|a, b| a.zip(b).map(|(a, b)| a != b)),
    ];
    for (e, expected) in table {
        let mut session = Session::new();
        let at_once = evaluate(&e, &batch, &mut session.cx()).unwrap();
        for (n, row) in all.iter().enumerate() {
            let truth = |v: &Value| v.as_integer().map(|v| v != 0);
            let expected = expected(truth(&row[0]), truth(&row[1]));
            let by_row = evaluate_row(&e, row, &mut session.cx()).unwrap();
            assert_eq!(truth(&by_row), expected, "{e} of {row:?}");
            assert_eq!(truth(&at_once.value(n, &e.ty.sql)), expected, "{e} of {row:?}, at once");
        }
    }
}

fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    build::arithmetic(op, a, b).unwrap()
}

#[test]
fn arithmetic_gives_what_mysql_gives() {
    use ArithmeticOp::*;
    for (op, a, b, expected) in [
        (Add, int(1), int(2), "3"),
        (Add, uint(u64::MAX - 1), int(1), "18446744073709551615"),
        (Add, dec("1.50"), int(1), "2.50"),
        (Add, dec("0.1"), dec("0.02"), "0.12"),
        (Add, txt("1.5"), int(1), "2.5"),
        (Add, txt("abc"), int(1), "1"),
        (Subtract, int(1), int(2), "-1"),
        (Subtract, date("2024-01-31"), int(1), "20240130"),
        (Add, time("2024-01-31 10:11:12"), int(0), "20240131101112"),
        (Multiply, dec("1.25"), dec("0.4"), "0.500"),
        (Multiply, int(i64::MAX), int(1), "9223372036854775807"),
        (Divide, int(1), int(3), "0.3333"),
        (Divide, int(2), int(3), "0.6667"),
        (Divide, dec("1.00"), int(3), "0.333333"),
        (Divide, int(-7), int(2), "-3.5000"),
        (Divide, int(1), dbl(4.0), "0.25"),
        (Divide, int(1), int(0), "NULL"),
        (IntegerDivide, int(7), int(2), "3"),
        (IntegerDivide, int(-7), int(2), "-3"),
        (IntegerDivide, dec("7.9"), dec("2.1"), "3"),
        (IntegerDivide, int(7), int(0), "NULL"),
        (Modulo, int(-7), int(3), "-1"),
        (Modulo, int(7), int(-3), "1"),
        (Modulo, dec("7.5"), int(2), "1.5"),
        (Modulo, dbl(-7.5), int(2), "-1.5"),
        (Modulo, int(7), int(0), "NULL"),
        (Add, null(), int(1), "NULL"),
    ] {
        let e = arithmetic(op, a, b);
        let v = Session::new().eval(&e).unwrap();
        assert_eq!(shown(&v, &e.ty.sql), expected, "{e}");
    }
}

/// MySQL computes quotients with more digits than it shows.
#[test]
fn quotients_keep_their_digits_until_they_are_shown() {
    use ArithmeticOp::*;
    let third = || arithmetic(Divide, int(1), int(3));
    let cast = |e| {
        build::cast(e, build::CastTarget::Decimal(20, 10), leafline_types::Collation::Utf8mb4Bin).unwrap()
    };
    let two_thirds = || arithmetic(Divide, int(2), int(3));
    for (e, expected) in [
        (third(), "0.3333"),
        (arithmetic(Multiply, third(), int(3)), "1.0000"),
        (arithmetic(Add, arithmetic(Add, third(), third()), third()), "1.0000"),
        (arithmetic(Multiply, third(), int(1_000_000_000_000)), "333333333000.0000"),
        (arithmetic(Multiply, arithmetic(Divide, dec("1.0"), int(3)), int(3)), "1.00000"),
        (arithmetic(Multiply, two_thirds(), int(-3)), "-2.0000"),
        (arithmetic(Divide, int(99), arithmetic(Divide, int(1), int(3_000_000))), "297297297.2973"),
        (cast(third()), "0.3333333330"),
        (cast(two_thirds()), "0.6666666660"),
        (build::call("ROUND", vec![third(), int(10)]).unwrap(), "0.3333333330"),
        (build::call("CONCAT", vec![third()]).unwrap(), "0.3333"),
        (build::compare(CompareOp::Eq, third(), dec("0.3333")).unwrap(), "0"),
        (build::negate(arithmetic(Multiply, third(), int(3))).unwrap(), "-1.0000"),
    ] {
        let v = Session::new().eval(&e).unwrap();
        assert_eq!(shown(&v, &e.ty.sql), expected, "{e}");
    }
}

#[test]
fn nothing_wraps() {
    use ArithmeticOp::*;
    let nines = dec(&"9".repeat(65));
    for (e, kind) in [
        (arithmetic(Add, int(i64::MAX), int(1)), "BIGINT"),
        (arithmetic(Subtract, int(i64::MIN), int(1)), "BIGINT"),
        (arithmetic(Multiply, int(i64::MAX), int(2)), "BIGINT"),
        (arithmetic(Multiply, int(i64::MIN), int(-1)), "BIGINT"),
        (arithmetic(IntegerDivide, int(i64::MIN), int(-1)), "BIGINT"),
        (arithmetic(Subtract, uint(1), uint(2)), "BIGINT UNSIGNED"),
        (arithmetic(Subtract, uint(1), int(2)), "BIGINT UNSIGNED"),
        (arithmetic(Add, uint(u64::MAX), int(1)), "BIGINT UNSIGNED"),
        (arithmetic(Multiply, uint(u64::MAX), uint(u64::MAX)), "BIGINT UNSIGNED"),
        (arithmetic(Add, nines.clone(), int(1)), "DECIMAL"),
        (arithmetic(Multiply, nines.clone(), nines), "DECIMAL"),
        (arithmetic(Multiply, dbl(1e300), dbl(1e300)), "DOUBLE"),
        (arithmetic(Divide, dbl(1e300), dbl(1e-300)), "DOUBLE"),
    ] {
        let error = Session::new().eval(&e).unwrap_err();
        assert_eq!(error.code, 1690, "{e}");
        let text = format!("{kind} value is out of range in '{e}'");
        assert_eq!(error.message, text);
        // The error is the same in a column, among rows without an error.
        let ExprKind::Arithmetic { op, left, right } = &e.kind else { unreachable!() };
        let (a, b) = (left.as_literal().unwrap().clone(), right.as_literal().unwrap().clone());
        let types = [left.ty.sql.clone(), right.ty.sql.clone()];
        let fine = vec![Value::Null, b.clone()];
        let rows = [fine.clone(), vec![a, b], fine];
        let batch = Batch::from_rows(&types, rows.iter().map(Vec::as_slice)).unwrap();
        let column = |n: usize| build::column(n, ExprType::numeric(types[n].clone(), true));
        let mut e = arithmetic(*op, column(0), column(1));
        let mut session = Session::new();
        let error = evaluate(&e, &batch, &mut session.cx()).unwrap_err();
        assert_eq!(error.code, 1690, "{e} in a batch");
        // A row that is NULL does not overflow, whatever its other operand is.
        e = arithmetic(*op, column(0), column(1));
        let batch = Selection::from_bits(vec![true, false, true].into()).apply(&batch).unwrap();
        let datum = evaluate(&e, &batch, &mut session.cx()).unwrap();
        assert!(datum.value(0, &e.ty.sql).is_null());
    }
    let e = build::negate(build::literal(Value::UInt(1 << 63))).unwrap();
    assert_eq!(e.as_literal(), Some(&Value::Int(i64::MIN)));
    let min = build::column(0, ExprType::numeric(SqlType::BIGINT, true));
    let e = build::negate(min).unwrap();
    let error = evaluate_row(&e, &[Value::Int(i64::MIN)], &mut Session::new().cx()).unwrap_err();
    assert_eq!(error.message, "BIGINT value is out of range in '-(#0)'");
}

use super::super::ExprKind;

#[test]
fn comparisons_choose_mysqls_domain() {
    use CompareOp::*;
    let max = || uint(u64::MAX);
    for (op, a, b, expected) in [
        (Eq, int(1), int(1), "1"),
        (Gt, max(), int(-1), "1"),
        (Eq, max(), int(-1), "0"),
        (Eq, int(1), dec("1.0"), "1"),
        (Eq, dec("0.1"), dbl(0.1), "1"),
        (Eq, int(1), txt("1.0"), "1"),
        (Eq, int(0), txt("abc"), "1"),
        (Eq, txt("a"), txt("a "), "1"),
        (Eq, txt("a"), txt("A"), "0"),
        (Lt, txt("a\t"), txt("a"), "1"),
        (Eq, date("2024-01-31"), txt("2024-1-31"), "1"),
        (Lt, date("2024-01-31"), txt("2024-01-31 00:00:01"), "1"),
        (Eq, date("2024-01-31"), int(20_240_131), "1"),
        (Eq, date("2024-01-31"), time("2024-01-31 00:00:00"), "1"),
        (Lt, date("2024-01-31"), int(20_240_199), "1"),
        (Eq, null(), int(1), "NULL"),
        (NullSafeEq, null(), int(1), "0"),
        (NullSafeEq, null(), null(), "1"),
    ] {
        let e = build::compare(op, a, b).unwrap();
        let v = Session::new().eval(&e).unwrap();
        assert_eq!(shown(&v, &e.ty.sql), expected, "{e}");
    }
}

#[test]
fn warnings_are_mysqls_and_errors_where_values_are_stored() {
    let bad_number = build::compare(CompareOp::Eq, int(0), txt("abc")).unwrap();
    let by_zero = arithmetic(ArithmeticOp::Divide, int(1), int(0));
    let mut session = Session::new();
    for (e, code, text) in
        [(&bad_number, 1292, "Truncated incorrect DOUBLE value: 'abc'"), (&by_zero, 1365, "Division by 0")]
    {
        session.eval(e).unwrap();
        let messages: Vec<String> = session.warnings.iter().map(|w| w.message.clone()).collect();
        assert_eq!(messages, [text]);
        session.codes();
        let mut cx = session.cx();
        cx.stores = true;
        assert_eq!(evaluate_scalar(e, &mut cx).unwrap_err().code, code);
        cx.sql_mode.strict = false;
        evaluate_scalar(e, &mut cx).unwrap();
        session.codes();
    }
    let mut cx = session.cx();
    cx.sql_mode.error_for_division_by_zero = false;
    assert_eq!(evaluate_scalar(&by_zero, &mut cx).unwrap(), Value::Null);
    assert!(session.codes().is_empty());
}

/// An operand that CASE, COALESCE, AND or OR skips neither fails nor warns, in any row.
#[test]
fn branches_not_taken_are_not_evaluated() {
    let x = || build::column(0, ExprType::numeric(SqlType::BIGINT, true));
    let overflow = || arithmetic(ArithmeticOp::Multiply, x(), int(i64::MAX));
    let fails = || build::compare(CompareOp::Gt, overflow(), int(0)).unwrap();
    let small = || build::compare(CompareOp::Le, x(), int(1)).unwrap();
    let rows: Vec<Vec<Value>> = [0, 1, 5, 1, 7].iter().map(|v| vec![Value::Int(*v)]).collect();
    let batch = Batch::from_rows(&[SqlType::BIGINT], rows.iter().map(Vec::as_slice)).unwrap();
    let case = build::case(None, vec![(small(), overflow())], Some(int(-1))).unwrap();
    let or_null = build::case(None, vec![(build::not(small()), x())], None).unwrap();
    let lazy = [
        (case, vec!["0", "9223372036854775807", "-1", "9223372036854775807", "-1"]),
        (build::and(vec![small(), fails()]), vec!["0", "1", "0", "1", "0"]),
        (build::or(vec![build::not(small()), fails()]), vec!["0", "1", "1", "1", "1"]),
        (
            build::call("COALESCE", vec![or_null, overflow()]).unwrap(),
            vec!["0", "9223372036854775807", "5", "9223372036854775807", "7"],
        ),
        (
            build::call("IF", vec![small(), int(1), arithmetic(ArithmeticOp::Divide, x(), int(2))]).unwrap(),
            vec!["1.0000", "1.0000", "2.5000", "1.0000", "3.5000"],
        ),
    ];
    for (e, expected) in lazy {
        let mut session = Session::new();
        let datum = evaluate(&e, &batch, &mut session.cx()).unwrap();
        let actual: Vec<String> = (0..5).map(|n| shown(&datum.value(n, &e.ty.sql), &e.ty.sql)).collect();
        assert_eq!(actual, expected, "{e}");
        assert!(session.codes().is_empty());
    }
    let mut session = Session::new();
    let selection = evaluate_filter(&[small(), fails()], &batch, &mut session.cx()).unwrap();
    assert_eq!(selection.indices(), [1, 3]);
    assert_eq!(evaluate_filter(&[fails(), small()], &batch, &mut session.cx()).unwrap_err().code, 1690);
    // One warning for each row that divides by zero, none for others.
    let quotient = arithmetic(ArithmeticOp::Divide, int(1), arithmetic(ArithmeticOp::Subtract, x(), int(1)));
    let e = build::case(None, vec![(small(), quotient)], None).unwrap();
    evaluate(&e, &batch, &mut session.cx()).unwrap();
    assert_eq!(session.codes(), [1365, 1365]);
}

#[test]
fn case_with_an_operand_evaluates_it_once() {
    let operand = build::call(
        "FLOOR",
        vec![arithmetic(ArithmeticOp::Multiply, build::call("RAND", vec![]).unwrap(), int(3))],
    );
    let whens = (0..3).map(|n| (int(n), int(n))).collect();
    let e = build::case(Some(operand.unwrap()), whens, None).unwrap();
    let batch = Batch::new(vec![], 300);
    let mut session = Session::new();
    let datum = evaluate(&e, &batch, &mut session.cx()).unwrap();
    let mut seen = [0; 3];
    for n in 0..300 {
        seen[datum.value(n, &e.ty.sql).as_integer().expect("0, 1 or 2") as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count > 30), "{seen:?}");
}

#[test]
fn a_cancelled_statement_evaluates_nothing_more() {
    let mut session = Session::new();
    session.cancel.cancel(leafline_types::statement::CancelReason::QueryKilled);
    let batch = Batch::new(vec![], 3);
    assert_eq!(evaluate(&int(1), &batch, &mut session.cx()).unwrap_err().code, 1317);
    assert_eq!(evaluate_filter(&[int(1)], &batch, &mut session.cx()).unwrap_err().code, 1317);
}

#[test]
fn conjuncts_are_flattened_in_order() {
    let e = build::and(vec![int(1), build::and(vec![int(2), build::or(vec![int(3), int(4)])]), int(5)]);
    let list: Vec<String> = conjuncts(e).iter().map(Expr::to_string).collect();
    assert_eq!(list, ["1", "2", "(3 or 4)", "5"]);
}
