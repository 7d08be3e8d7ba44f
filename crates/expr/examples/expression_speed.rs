//! Measures filters and sums over a million rows shaped like TPC-H's lineitem.
//!
//!     cargo run --release -p leafline-expr --example expression_speed
//!
//! Prints the time per row of the filter and sum of Query 6, the sums of Query 1 by two groups, an IN list, a LIKE,
//! the filter of Query 6 on key bytes, and the row-at-a-time evaluation of a filter. Asserts nothing.

use std::hint::black_box;
use std::time::Instant;

use leafline_expr::aggregate::{
    AggregateCall, AggregateFunction, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder,
};
use leafline_expr::encoded::EncodedTest;
use leafline_expr::{
    ArithmeticOp, CompareOp, Datum, EvalContext, Expr, SessionFacts, build, evaluate, evaluate_filter,
    evaluate_row,
};
use leafline_types::{
    Batch, CancelToken, Collation, Date, DateTime, Decimal, ExprType, KeyPart, MysqlError, SqlType, Value,
    Warnings, encode_part,
};

const ROWS: usize = 1 << 20;
const BATCH: usize = 8192;

const SHIPDATE: usize = 0;
const QUANTITY: usize = 1;
const PRICE: usize = 2;
const DISCOUNT: usize = 3;
const TAX: usize = 4;
const SHIPMODE: usize = 5;
const PARTKEY: usize = 6;

fn types() -> Vec<ExprType> {
    let decimal = SqlType::decimal(15, 2);
    let sqls = [
        SqlType::Date,
        decimal.clone(),
        decimal.clone(),
        decimal.clone(),
        decimal,
        SqlType::Char { len: 10 },
        SqlType::Int { unsigned: false },
    ];
    sqls.into_iter().map(|sql| ExprType::column(sql, false, Collation::Utf8mb4Bin)).collect()
}

/// A linear congruential generator is random enough here.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

fn row(state: &mut u64) -> Vec<Value> {
    let cents = |v: u64| Value::Decimal(Decimal::from_i128(v.into(), 2));
    let modes = ["AIR", "RAIL", "TRUCK", "MAIL", "SHIP", "FOB", "REG AIR"];
    let day = Date::from_epoch_days(8036 + random(state, 2526) as i32).unwrap_or(Date::ZERO);
    vec![
        Value::Date(day),
        cents(100 * (1 + random(state, 50))),
        cents(90_000 + random(state, 10_000_000)),
        cents(random(state, 11)),
        cents(random(state, 9)),
        Value::from(modes[random(state, 7) as usize]),
        Value::Int(random(state, 200_000) as i64),
    ]
}

fn column(n: usize) -> Expr {
    build::column(n, types()[n].clone())
}

fn cents(v: i128) -> Expr {
    build::literal(Value::Decimal(Decimal::from_i128(v, 2)))
}

fn text(s: &str) -> Expr {
    build::string(s, Collation::Utf8mb4Bin)
}

fn query_6_filter() -> Result<Vec<Expr>, MysqlError> {
    Ok(vec![
        build::compare(CompareOp::Ge, column(SHIPDATE), text("1994-01-01"))?,
        build::compare(CompareOp::Lt, column(SHIPDATE), text("1995-01-01"))?,
        build::compare(CompareOp::Ge, column(DISCOUNT), cents(5))?,
        build::compare(CompareOp::Le, column(DISCOUNT), cents(7))?,
        build::compare(CompareOp::Lt, column(QUANTITY), build::literal(Value::Int(24)))?,
    ])
}

/// Prints the best of five runs, per row.
fn report(what: &str, mut run: impl FnMut() -> Result<usize, MysqlError>) -> Result<(), MysqlError> {
    let mut best = f64::INFINITY;
    let mut found = 0;
    for _ in 0..5 {
        let start = Instant::now();
        found = black_box(run()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{what:48} {:8.2} ns a row   ({found})", best * 1e9 / ROWS as f64);
    Ok(())
}

/// Measures the filter and the sum of Query 6.
fn query_6(batches: &[Batch], cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
    let filter = query_6_filter()?;
    report("Query 6: filter", || batches.iter().map(|b| Ok(evaluate_filter(&filter, b, cx)?.count())).sum())?;
    report("Query 6: first conjunct alone", || {
        batches.iter().map(|b| Ok(evaluate_filter(&filter[..1], b, cx)?.count())).sum()
    })?;
    let revenue = build::arithmetic(ArithmeticOp::Multiply, column(PRICE), column(DISCOUNT))?;
    let sum = AggregateCall::new(AggregateFunction::Sum, false, vec![revenue.clone()])?;
    report("Query 6: filter, copy, multiply, sum", || {
        let mut total = GroupedAccumulator::new(&sum);
        let mut count = 0;
        for b in batches {
            let passed = evaluate_filter(&filter, b, cx)?.apply(b)?;
            let arg = evaluate(&revenue, &passed, cx)?;
            total.update(Groups::One, 1, passed.rows, &[arg], cx)?;
            count += passed.rows;
        }
        total.finish(1, cx)?;
        Ok(count)
    })?;
    Ok(())
}

/// Measures the sums of Query 1.
fn query_1(batches: &[Batch], cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
    let one = || build::literal(Value::Int(1));
    let discounted = build::arithmetic(
        ArithmeticOp::Multiply,
        column(PRICE),
        build::arithmetic(ArithmeticOp::Subtract, one(), column(DISCOUNT))?,
    )?;
    let charge = build::arithmetic(
        ArithmeticOp::Multiply,
        discounted.clone(),
        build::arithmetic(ArithmeticOp::Add, one(), column(TAX))?,
    )?;
    println!("Query 1: {charge} is {}", charge.ty.sql);
    let calls = [
        (AggregateFunction::Sum, column(QUANTITY)),
        (AggregateFunction::Sum, discounted),
        (AggregateFunction::Sum, charge),
        (AggregateFunction::Avg, column(PRICE)),
    ]
    .map(|(function, arg)| AggregateCall::new(function, false, vec![arg]));
    for call in calls {
        let call = call?;
        let ids: Vec<u32> = (0..BATCH as u32).map(|n| n % 4).collect();
        report(&format!("Query 1: {} by 4 groups", call.args[0]), || {
            let mut state = GroupedAccumulator::new(&call);
            for b in batches {
                let arg: Datum = evaluate(&call.args[0], b, cx)?;
                state.update(Groups::Ids(&ids), 4, b.rows, &[arg], cx)?;
            }
            Ok(state.finish(4, cx)?.len())
        })?;
    }
    Ok(())
}

/// Measures conditions of other forms.
fn lists_and_patterns(batches: &[Batch], cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
    let members = (0..100).map(|n| build::literal(Value::Int(n * 1999))).collect();
    let others = [
        ("IN of 100 integers", build::in_list(column(PARTKEY), members, false)?),
        ("IN of 2 strings", build::in_list(column(SHIPMODE), vec![text("AIR"), text("REG AIR")], false)?),
        ("LIKE '%AIR'", build::like(column(SHIPMODE), text("%AIR"), Some('\\'), false)?),
    ];
    for (what, condition) in others {
        let list = [condition];
        report(what, || batches.iter().map(|b| Ok(evaluate_filter(&list, b, cx)?.count())).sum())?;
    }
    Ok(())
}

fn main() -> Result<(), MysqlError> {
    let sqls: Vec<SqlType> = types().into_iter().map(|t| t.sql).collect();
    let mut state = 42;
    let mut batches = Vec::new();
    let mut first = Vec::new();
    for _ in 0..ROWS / BATCH {
        let rows: Vec<Vec<Value>> = (0..BATCH).map(|_| row(&mut state)).collect();
        batches.push(Batch::from_rows(&sqls, rows.iter().map(Vec::as_slice))?);
        first = rows;
    }
    let (facts, cancel) = (SessionFacts::default(), CancelToken::new());
    let mut warnings = Warnings::new();
    let now = DateTime::from_epoch_micros(0).unwrap_or(DateTime::ZERO);
    let mut cx = EvalContext::new(now, &facts, &mut warnings, &cancel);

    query_6(&batches, &mut cx)?;
    query_1(&batches, &mut cx)?;
    lists_and_patterns(&batches, &mut cx)?;

    let filter = query_6_filter()?;
    let part = KeyPart::new(sqls[QUANTITY].clone());
    let mut keys = Vec::new();
    for r in &first {
        let mut bytes = Vec::new();
        encode_part(&part, &r[QUANTITY], &mut bytes)?;
        keys.push(bytes);
    }
    if let Some(test) = EncodedTest::compile(&filter[4], QUANTITY, &part) {
        report("l_quantity < 24 on key bytes", || {
            Ok((0..ROWS / BATCH).map(|_| keys.iter().filter(|k| test.matches(k)).count()).sum())
        })?;
    }
    report("Query 6: one row at a time", || {
        let whole = build::and(filter.clone());
        let mut count = 0;
        for _ in 0..ROWS / BATCH {
            for r in &first {
                count += usize::from(evaluate_row(&whole, r, &mut cx)? == Value::Int(1));
            }
        }
        Ok(count)
    })?;
    let encoder = KeyEncoder::new([&types()[SHIPMODE], &types()[PARTKEY]]);
    report("group keys of CHAR(10), INT", || {
        let mut keys = EncodedKeys::default();
        for b in &batches {
            let columns = [SHIPMODE, PARTKEY].map(|c| Datum::Array(b.columns[c].clone()));
            encoder.encode(&columns, b.rows, &mut keys)?;
        }
        Ok(keys.len())
    })
}
