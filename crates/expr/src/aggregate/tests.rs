//! Tests aggregates against sums and sets made value by value, and keys against comparisons.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rand::Rng;

use super::*;
use crate::testing;
use crate::testkit::{self, Session};
use crate::{CompareDomain, eval_operand as operand, evaluate};
use leafline_types::collation::Collation;
use leafline_types::column::{Batch, value_at};
use leafline_types::decimal::Decimal;

fn column(n: usize) -> Expr {
    build::column(n, testkit::column_types()[n].clone())
}

fn call(function: AggregateFunction, distinct: bool, args: Vec<Expr>) -> AggregateCall {
    AggregateCall::new(function, distinct, args).unwrap()
}

/// Returns the result of a call over some rows, computed value by value.
fn model(call: &AggregateCall, rows: &[&Vec<Value>], session: &mut Session) -> Result<Value, MysqlError> {
    let Some(arg) = call.args.first() else { return Ok(Value::Int(rows.len() as i64)) };
    let ty = &arg.ty;
    let mut values: Vec<Value> = rows.iter().map(|r| r[arg.as_column().unwrap()].clone()).collect();
    values.retain(|v| !v.is_null());
    let domain = match &ty.sql {
        SqlType::Decimal { .. } => CompareDomain::Decimal,
        ty if ty.is_real() => CompareDomain::Double,
        SqlType::Time { .. } => CompareDomain::Time,
        ty if ty.is_temporal() => CompareDomain::DateTime,
        s if s.is_string() => CompareDomain::String(ty.collation),
        _ => CompareDomain::Integer,
    };
    let mut order = |a: &Value, b: &Value| {
        operand::compare(domain, (a, &ty.sql), (b, &ty.sql), &mut session.cx()).unwrap().unwrap()
    };
    if call.distinct {
        let mut kept: Vec<Value> = Vec::new();
        for v in values {
            if !kept.iter().any(|k| order(k, &v).is_eq()) {
                kept.push(v);
            }
        }
        values = kept;
    }
    let count = values.len();
    Ok(match call.function {
        AggregateFunction::CountAll | AggregateFunction::Count => Value::Int(count as i64),
        _ if count == 0 => Value::Null,
        AggregateFunction::Min => {
            values.into_iter().reduce(|a, b| if order(&b, &a).is_lt() { b } else { a }).unwrap()
        }
        AggregateFunction::Max => {
            values.into_iter().reduce(|a, b| if order(&b, &a).is_gt() { b } else { a }).unwrap()
        }
        _ if call.ty.sql == SqlType::Double => {
            let mut sum = 0.0;
            for v in &values {
                sum += operand::double(v, &mut session.cx())?.unwrap();
            }
            Value::Double(if call.function == AggregateFunction::Avg { sum / count as f64 } else { sum })
        }
        function => {
            let mut sum = Decimal::from_i64(0);
            for v in &values {
                let v = operand::decimal(v, &mut session.cx())?.unwrap();
                sum = sum.checked_add(&v).ok_or_else(|| MysqlError::data_out_of_range("DECIMAL", "sum"))?;
            }
            if function == AggregateFunction::Avg {
                let scale = call.ty.sql.scale();
                sum = sum.checked_div(&Decimal::from_u64(count as u64), scale).unwrap();
            }
            Value::Decimal(sum)
        }
    })
}

#[test]
fn grouped_results_are_those_of_the_model() {
    let mut rng = testing::rng("grouped_results_are_those_of_the_model");
    use AggregateFunction::*;
    for _ in 0..testing::iterations(150) {
        let function = [CountAll, Count, Sum, Avg, Min, Max][rng.random_range(0..6)];
        let n = rng.random_range(0..testkit::column_types().len());
        let args = if function == CountAll { vec![] } else { vec![column(n)] };
        let call = call(function, rng.random_bool(0.3), args);
        let groups = rng.random_range(1..6usize);
        let ungrouped = rng.random_bool(0.3);
        let mut accumulator = GroupedAccumulator::new(&call);
        let mut by_group: BTreeMap<usize, Vec<Vec<Value>>> = BTreeMap::new();
        let mut session = Session::new();
        let mut failed = None;
        for _ in 0..rng.random_range(0..4) {
            let count = rng.random_range(0..40);
            let (rows, batch) = testkit::rows(&mut rng, count);
            let ids: Vec<u32> =
                rows.iter().map(|_| if ungrouped { 0 } else { rng.random_range(0..groups as u32) }).collect();
            for (row, id) in rows.into_iter().zip(&ids) {
                by_group.entry(*id as usize).or_default().push(row);
            }
            let args: Vec<Datum> = call
                .args
                .iter()
                .map(|a| Datum::Array(batch.columns[a.as_column().unwrap()].clone()))
                .collect();
            let of = if ungrouped { Groups::One } else { Groups::Ids(&ids) };
            let updated = accumulator.update(of, groups, count, &args, &mut session.cx());
            failed = failed.or(updated.err());
        }
        let result = accumulator.finish(groups, &mut session.cx());
        let empty = Vec::new();
        let expected: Result<Vec<Value>, MysqlError> = (0..groups)
            .map(|g| {
                let rows = by_group.get(&g).unwrap_or(&empty);
                model(&call, &rows.iter().collect::<Vec<_>>(), &mut Session::new())
            })
            .collect();
        let result = match failed {
            Some(e) => Err(e),
            None => result,
        };
        match (expected, result) {
            (Ok(expected), Ok(array)) => {
                for (group, expected) in expected.iter().enumerate() {
                    let actual = value_at(array.as_ref(), group, &call.ty.sql);
                    let close = match (&actual, expected) {
                        (Value::Double(a), Value::Double(b)) => (a - b).abs() <= b.abs() * 1e-9 + 1e-3,
                        (a, b) => a == b,
                    };
                    assert!(close, "{call:?} of group {group}: {actual:?} for {expected:?}");
                }
            }
            (Err(expected), Err(actual)) => assert_eq!(actual.code, expected.code, "{call:?}"),
            (expected, actual) => panic!("{call:?}: {actual:?} for {expected:?}"),
        }
        assert!(accumulator.memory() < 1 << 20);
    }
}

#[test]
fn types_are_mysqls() {
    use AggregateFunction::*;
    let ty = |function, sql| {
        let arg = build::column(0, ExprType::column(sql, false, Collation::Utf8mb4Bin));
        let call = call(function, false, vec![arg]);
        assert_eq!(call.ty.nullable, function != Count);
        call.ty.sql.to_string()
    };
    let decimal = || SqlType::decimal(15, 2);
    assert_eq!(ty(Sum, SqlType::Int { unsigned: false }), "decimal(32,0)");
    assert_eq!(ty(Sum, SqlType::BIGINT), "decimal(41,0)");
    assert_eq!(ty(Sum, decimal()), "decimal(37,2)");
    assert_eq!(ty(Avg, decimal()), "decimal(19,6)");
    assert_eq!(ty(Avg, SqlType::Int { unsigned: false }), "decimal(14,4)");
    assert_eq!(ty(Sum, SqlType::Varchar { len: 3 }), "double");
    assert_eq!(ty(Avg, SqlType::Double), "double");
    assert_eq!(ty(Max, SqlType::Varchar { len: 3 }), "varchar(3)");
    assert_eq!(ty(Count, SqlType::Date), "bigint");
    let wide = SqlType::decimal(60, 30);
    assert_eq!(ty(Sum, wide.clone()), "decimal(65,30)");
    assert_eq!(ty(Avg, wide), "decimal(64,30)");
    assert_eq!(AggregateCall::new(Sum, false, vec![]).unwrap_err().code, 1582);
    assert_eq!(AggregateCall::new(Count, false, vec![column(0), column(1)]).unwrap_err().code, 1582);
}

/// A sum beyond 128 bits continues in 256 bits; beyond 65 digits it is error 1690.
#[test]
fn sums_grow_beyond_128_bits_and_end_at_65_digits() {
    let nines = |digits: usize| Decimal::parse(&"9".repeat(digits)).unwrap();
    let sum = |digits: u8, rows: usize, ids: Option<&[u32]>| {
        let sql = SqlType::decimal(digits, 0);
        let value = Value::Decimal(nines(digits.into()));
        let batch = Batch::from_rows(std::slice::from_ref(&sql), vec![[value].as_slice(); rows]).unwrap();
        let call = call(AggregateFunction::Sum, false, vec![build::column(0, ExprType::numeric(sql, false))]);
        let mut accumulator = GroupedAccumulator::new(&call);
        let mut session = Session::new();
        let groups = ids.map_or(Groups::One, Groups::Ids);
        let arg = [Datum::Array(batch.columns[0].clone())];
        accumulator.update(groups, 2, rows, &arg, &mut session.cx())?;
        let array = accumulator.finish(2, &mut session.cx())?;
        Ok::<_, MysqlError>(testkit::shown(&value_at(array.as_ref(), 0, &call.ty.sql), &call.ty.sql))
    };
    // Three times 10^38 - 1 is more than 2^127.
    let expected = "299999999999999999999999999999999999997";
    assert_eq!(sum(38, 3, None).unwrap(), expected);
    assert_eq!(sum(38, 4, Some(&[0, 1, 0, 0])).unwrap(), expected);
    assert_eq!(sum(64, 2, None).unwrap(), format!("1{}8", "9".repeat(63)));
    assert_eq!(sum(65, 2, None).unwrap_err().code, 1690);
}

#[test]
fn scalar_arguments_count_for_every_row() {
    let results = |arg: Value| {
        use AggregateFunction::*;
        [Count, Sum, Avg, Max].map(|function| {
            let call = call(function, false, vec![build::literal(arg.clone())]);
            let mut accumulator = GroupedAccumulator::new(&call);
            let mut session = Session::new();
            accumulator.update(Groups::One, 1, 5, &[Datum::Scalar(arg.clone())], &mut session.cx()).unwrap();
            let array = accumulator.finish(1, &mut session.cx()).unwrap();
            testkit::shown(&value_at(array.as_ref(), 0, &call.ty.sql), &call.ty.sql)
        })
    };
    assert_eq!(results(Value::Int(2)), ["5", "10", "2.0000", "2"]);
    assert_eq!(results(Value::Null), ["0", "NULL", "NULL", "NULL"]);
}

#[test]
fn distinct_rows_of_several_columns_count_without_nulls() {
    let types = [SqlType::BIGINT, SqlType::Varchar { len: 3 }];
    let row = |a: i64, b: Option<&str>| vec![Value::Int(a), b.map_or(Value::Null, Value::from)];
    let rows = [row(1, Some("a")), row(1, Some("a ")), row(1, None), row(1, Some("b")), row(2, Some("a"))];
    let batch = Batch::from_rows(&types, rows.iter().map(Vec::as_slice)).unwrap();
    let args = vec![
        build::column(0, ExprType::numeric(SqlType::BIGINT, false)),
        build::column(1, ExprType::column(types[1].clone(), true, Collation::Utf8mb4Bin)),
    ];
    let call = call(AggregateFunction::Count, true, args);
    let mut accumulator = GroupedAccumulator::new(&call);
    let mut session = Session::new();
    let data: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
    for _ in 0..2 {
        accumulator.update(Groups::One, 1, 5, &data, &mut session.cx()).unwrap();
    }
    let array = accumulator.finish(1, &mut session.cx()).unwrap();
    assert_eq!(value_at(array.as_ref(), 0, &SqlType::BIGINT), Value::Int(3));
}

/// Keys of random rows order as ORDER BY does, and are equal where the values are.
#[test]
fn keys_order_as_their_rows() {
    let mut rng = testing::rng("keys_order_as_their_rows");
    let types = testkit::column_types();
    for _ in 0..testing::iterations(100) {
        let chosen: Vec<(usize, bool)> = (0..rng.random_range(1..4))
            .map(|_| (rng.random_range(0..types.len()), rng.random_bool(0.5)))
            .collect();
        let encoder = KeyEncoder::ordered(chosen.iter().map(|(n, descending)| (&types[*n], *descending)));
        let (rows, batch) = testkit::rows(&mut rng, 30);
        let mut session = Session::new();
        let data: Vec<Datum> =
            chosen.iter().map(|(n, _)| evaluate(&column(*n), &batch, &mut session.cx()).unwrap()).collect();
        let mut keys = EncodedKeys::default();
        encoder.encode(&data, rows.len(), &mut keys).unwrap();
        assert_eq!(keys.len(), rows.len());
        let mut single = Vec::new();
        for a in 0..rows.len() {
            let values: Vec<Value> = chosen.iter().map(|(n, _)| rows[a][*n].clone()).collect();
            assert_eq!(keys.has_null(a), values.iter().any(Value::is_null));
            single.clear();
            encoder.encode_row(&values, &mut single).unwrap();
            assert_eq!(keys.get(a), single);
            for b in 0..rows.len() {
                let order = chosen.iter().fold(Ordering::Equal, |order, (n, descending)| {
                    let (x, y, ty) = (&rows[a][*n], &rows[b][*n], &types[*n]);
                    let domain = match &ty.sql {
                        SqlType::Decimal { .. } => CompareDomain::Decimal,
                        sql if sql.is_real() => CompareDomain::Double,
                        SqlType::Time { .. } => CompareDomain::Time,
                        sql if sql.is_temporal() => CompareDomain::DateTime,
                        sql if sql.is_string() => CompareDomain::String(ty.collation),
                        _ => CompareDomain::Integer,
                    };
                    let next = match (x.is_null(), y.is_null()) {
                        (false, false) => {
                            operand::compare(domain, (x, &ty.sql), (y, &ty.sql), &mut session.cx())
                                .unwrap()
                                .unwrap()
                        }
                        (x, y) => y.cmp(&x),
                    };
                    order.then(if *descending { next.reverse() } else { next })
                });
                assert_eq!(
                    keys.get(a).cmp(keys.get(b)),
                    order,
                    "{:?} and {:?} by {chosen:?}",
                    rows[a],
                    rows[b]
                );
            }
        }
    }
}

fn concat(distinct: bool, args: Vec<Expr>, values: usize, max_length: usize) -> AggregateCall {
    let descending = vec![true; args.len() - values];
    let options = ConcatOptions { values, descending, separator: "-".into(), max_length };
    AggregateCall::group_concat(distinct, args, options).unwrap()
}

fn over_texts(call: &AggregateCall, texts: &[&str], session: &mut Session) -> Value {
    let rows: Vec<Vec<Value>> = texts.iter().map(|t| vec![Value::from(*t)]).collect();
    let ty = [SqlType::Varchar { len: 9 }];
    let mut state = GroupedAccumulator::new(call);
    // In two batches, to test the state between them.
    for half in rows.chunks(2) {
        let batch = Batch::from_rows(&ty, half.iter().map(Vec::as_slice)).unwrap();
        let args: Vec<Datum> =
            call.args.iter().map(|e| evaluate(e, &batch, &mut session.cx()).unwrap()).collect();
        state.update(Groups::One, 1, batch.rows, &args, &mut session.cx()).unwrap();
    }
    value_at(&state.finish(1, &mut session.cx()).unwrap(), 0, &call.ty.sql)
}

#[test]
fn group_concat_orders_repeats_and_cuts() {
    let ty = ExprType::column(SqlType::Varchar { len: 9 }, true, Collation::Utf8mb4Bin);
    let text = || build::column(0, ty.clone());
    let mut session = Session::new();
    let mut run = |call: &AggregateCall, texts: &[&str]| over_texts(call, texts, &mut session);
    let plain = concat(false, vec![text()], 1, 1024);
    assert_eq!(run(&plain, &["b", "a", "c"]), Value::from("b-a-c"));
    assert_eq!(run(&plain, &[]), Value::Null);
    let ordered = concat(false, vec![text(), text()], 1, 1024);
    assert_eq!(run(&ordered, &["b", "a", "c"]), Value::from("c-b-a"));
    let distinct = concat(true, vec![text()], 1, 1024);
    assert_eq!(run(&distinct, &["b", "a", "b", "a"]), Value::from("a-b"));
    let cut = concat(false, vec![text()], 1, 4);
    assert_eq!(run(&cut, &["ab", "éé", "c"]), Value::from("ab-"));
    assert_eq!(session.codes(), [1260]);
}

#[test]
fn group_concat_of_bytes_is_cut_at_any_byte() {
    let ty = SqlType::Varbinary { len: 9 };
    let bytes = ExprType::string(ty.clone(), true, Collation::Binary, Coercibility::Implicit);
    let call = concat(false, vec![build::column(0, bytes)], 1, 3);
    let mut session = Session::new();
    let mut state = GroupedAccumulator::new(&call);
    for rows in [[[0x80u8, 0x81]], [[0x82, 0x83]], [[0x84, 0x85]]] {
        let rows = rows.map(|row| vec![Value::bytes(row.to_vec())]);
        let batch = Batch::from_rows(std::slice::from_ref(&ty), rows.iter().map(Vec::as_slice)).unwrap();
        let arg = Datum::Array(batch.columns[0].clone());
        state.update(Groups::One, 1, 1, &[arg], &mut session.cx()).unwrap();
    }
    let found = value_at(&state.finish(1, &mut session.cx()).unwrap(), 0, &call.ty.sql);
    assert_eq!(found, Value::bytes(vec![0x80, 0x81, b'-']));
    assert_eq!(session.codes(), [1260]);
}

/// Makes documents of `rows` members with `names` names, of `length` bytes each; the aggregate is closed after `kept`
/// of them.
fn members(rows: usize, names: usize, length: usize, kept: usize) -> Result<Value, MysqlError> {
    let types = [SqlType::Varchar { len: 9 }, SqlType::Varchar { len: 9999 }];
    let columns = types.iter().enumerate();
    let column = |(n, ty): (usize, &SqlType)| {
        build::column(n, ExprType::column(ty.clone(), true, Collation::Utf8mb4Bin))
    };
    let call = call(AggregateFunction::JsonObject, false, columns.map(column).collect());
    let (mut session, mut state) = (Session::new(), GroupedAccumulator::new(&call));
    let mut given_out: Vec<Vec<u8>> = Vec::new();
    for row in 0..rows {
        let mut cx = session.cx();
        cx.sql_mode.max_result = 10_000;
        if row == kept {
            state.close();
        }
        let values = [Value::string(format!("n{}", row % names)), Value::string("x".repeat(length))];
        let batch = Batch::from_rows(&types, [values.as_slice()]).unwrap();
        let args: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
        state.update(Groups::One, 1, 1, &args, &mut cx)?;
        given_out.extend(state.entries().map(|entry| entry.payload.to_vec()));
    }
    assert_eq!(given_out.len(), rows.saturating_sub(kept));
    for payload in &given_out {
        state.take_back(Entry { group: 0, value: &[], key: &[], payload }, &mut session.cx())?;
    }
    state.finish_group(0, &mut session.cx())
}

#[test]
fn documents_are_no_larger_than_a_packet() {
    for kept in [50, usize::MAX, 0] {
        // Members replace others again and again.
        let Value::Json(document) = members(500, 10, 900, kept).unwrap() else { panic!("a document") };
        assert!((9000..10_000).contains(&document.as_bytes().len()));
        assert_eq!(members(500, 12, 900, kept).map(drop).unwrap_err().code, 1301);
        // The names and their places alone are too much.
        assert_eq!(members(1100, 1100, 1, kept).map(drop).unwrap_err().code, 1301);
    }
}
