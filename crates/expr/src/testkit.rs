//! Helpers of the tests of expressions, functions and aggregates: a session, short builders, random expressions.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use super::build::{self, CastTarget};
use super::{ArithmeticOp, CompareOp, EvalContext, Expr, SessionFacts, evaluate_scalar};
use crate::testing;
use leafline_types::collation::Collation;
use leafline_types::column::Batch;
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::statement::{CancelToken, Warnings};
use leafline_types::temporal::{Date, DateTime, IntervalUnit, Time};
use leafline_types::value::{ExprType, SqlType, Value};

/// A session at 2024-05-06 07:08:09.123456.
pub(crate) struct Session {
    pub warnings: Warnings,
    pub cancel: CancelToken,
    pub facts: SessionFacts,
}

impl Session {
    pub(crate) fn new() -> Self {
        let facts = SessionFacts {
            version: "8.0.99-leafline".into(),
            database: Some("test".into()),
            user: "ada@localhost".into(),
            current_user: "ada@%".into(),
            current_role: String::new(),
            connection_id: 7,
            last_insert_id: 11,
            row_count: -1,
            found_rows: 3,
            warning_count: 2,
            error_count: 1,
            query_attributes: vec![("trace".into(), Some("7".into())), ("none".into(), None)],
            locks: Default::default(),
            passwords: Default::default(),
        };
        Session { warnings: Warnings::new(), cancel: CancelToken::new(), facts }
    }

    pub(crate) fn cx(&mut self) -> EvalContext<'_> {
        let now = DateTime::parse("2024-05-06 07:08:09.123456", leafline_types::temporal::DateRules::PARTS)
            .unwrap()
            .value;
        EvalContext::new(now, &self.facts, &mut self.warnings, &self.cancel)
    }

    /// Returns the value of a constant expression.
    pub(crate) fn eval(&mut self, e: &Expr) -> Result<Value, MysqlError> {
        evaluate_scalar(e, &mut self.cx())
    }

    /// Returns the numbers of the warnings so far and removes them.
    pub(crate) fn codes(&mut self) -> Vec<u16> {
        let codes = self.warnings.iter().map(|w| w.code).collect();
        self.warnings.clear();
        codes
    }
}

pub(crate) fn int(v: i64) -> Expr {
    build::literal(Value::Int(v))
}

pub(crate) fn uint(v: u64) -> Expr {
    build::literal(Value::UInt(v))
}

pub(crate) fn dec(text: &str) -> Expr {
    build::literal(Value::Decimal(Decimal::parse(text).unwrap()))
}

pub(crate) fn dbl(v: f64) -> Expr {
    build::literal(Value::Double(v))
}

pub(crate) fn txt(s: &str) -> Expr {
    build::string(s, Collation::Utf8mb4Bin)
}

pub(crate) fn date(s: &str) -> Expr {
    build::literal(Value::Date(Date::parse(s, leafline_types::temporal::DateRules::PARTS).unwrap().value))
}

pub(crate) fn time(s: &str) -> Expr {
    build::literal(Value::DateTime(
        DateTime::parse(s, leafline_types::temporal::DateRules::PARTS).unwrap().value,
    ))
}

pub(crate) fn null() -> Expr {
    build::null()
}

/// Returns the value as the text protocol prints it; `NULL` for NULL.
pub(crate) fn shown(v: &Value, ty: &SqlType) -> String {
    match v {
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        v => leafline_types::convert::to_text(v, ty).map_or("NULL".into(), |s| s.to_string()),
    }
}

/// Returns the columns that random expressions read: every physical type, two widths of decimals and integers.
pub(crate) fn column_types() -> Vec<ExprType> {
    let sqls = [
        SqlType::BigInt { unsigned: false },
        SqlType::BigInt { unsigned: true },
        SqlType::TinyInt { unsigned: false },
        SqlType::decimal(15, 2),
        SqlType::decimal(4, 3),
        SqlType::decimal(50, 10),
        SqlType::Double,
        SqlType::Varchar { len: 20 },
        SqlType::Varchar { len: 20 },
        SqlType::Varbinary { len: 20 },
        SqlType::Date,
        SqlType::DateTime { fsp: 0 },
        SqlType::DateTime { fsp: 6 },
        SqlType::Time { fsp: 0 },
        SqlType::Time { fsp: 6 },
        SqlType::Year,
        SqlType::FLOAT,
    ];
    let mut padded = true;
    sqls.into_iter()
        .map(|sql| {
            let collation = match &sql {
                SqlType::Varbinary { .. } => Collation::Binary,
                _ if std::mem::take(&mut padded) => Collation::Utf8mb4Bin,
                _ => Collation::Utf8mb4_0900Bin,
            };
            ExprType::column(sql, true, collation)
        })
        .collect()
}

/// Makes a random value of a type; small ones, equal ones, extremes and NULL are common.
pub(crate) fn value(rng: &mut SmallRng, ty: &SqlType) -> Value {
    if rng.random_bool(0.15) {
        return Value::Null;
    }
    let small = rng.random_bool(0.7);
    match ty {
        SqlType::Decimal { precision, scale, .. } => {
            let digits = if small { 3.min(usize::from(*precision)) } else { (*precision).into() };
            let text = testing::digits(rng, digits);
            let sign = if rng.random_bool(0.5) { "-" } else { "" };
            let d = Decimal::parse(&format!("{sign}{text}e-{scale}")).unwrap();
            Value::Decimal(d.round((*scale).into()).unwrap())
        }
        SqlType::Real { .. } => Value::Double(f64::from(rng.random_range(-6i16..6) as f32 / 2.0)),
        SqlType::Year if small => Value::UInt(*[0, 1901, 2000, 2024, 2155].choose(rng).unwrap()),
        SqlType::Time { fsp } => {
            let micros = if small {
                rng.random_range(-3i64..4) * 500_000
            } else {
                rng.random_range(Time::MIN.micros()..=Time::MAX.micros())
            };
            Value::Time(Time::from_micros(micros).unwrap().truncate(*fsp))
        }
        SqlType::Double if small => Value::Double(f64::from(rng.random_range(-6i32..6)) / 2.0),
        SqlType::Double => Value::Double(rng.random_range(-1e18..1e18)),
        SqlType::Varchar { .. } if small => {
            let words =
                ["", "a", "a ", "ab", "0", "1", "1.5", "-2x", "2024-05-06", "2024-05-06 00:00:01", "x1"];
            Value::from(words[rng.random_range(0..words.len())])
        }
        SqlType::Varchar { .. } => Value::string(testing::text(rng, 6)),
        SqlType::Varbinary { .. } => Value::bytes(testing::bytes(rng, 6)),
        SqlType::Date => {
            let days =
                if small { 19_849 + rng.random_range(-2..3) } else { rng.random_range(-700_000..2_900_000) };
            Value::Date(match rng.random_range(0..8) {
                0 => *[Date::ZERO, Date::from_parts(2024, 0, 6).unwrap()].choose(rng).unwrap(),
                _ => Date::from_epoch_days(days).unwrap(),
            })
        }
        SqlType::DateTime { fsp } => {
            let day = 86_400_000_000i64;
            let micros = if small {
                19_849 * day + rng.random_range(-2i64..3) * day / 2
            } else {
                rng.random_range(-30_000_000i64..200_000_000) * 1_000_000 + rng.random_range(0i64..1_000_000)
            };
            Value::DateTime(match rng.random_range(0..8) {
                0 => DateTime::ZERO,
                _ => DateTime::from_epoch_micros(micros).unwrap().truncate(*fsp),
            })
        }
        ty => {
            let (low, high) = ty.integer_range().unwrap();
            let v = match (small, rng.random_range(0..4)) {
                (true, _) => i128::from(rng.random_range(-4i32..5)).clamp(low, high),
                (_, 0) => low,
                (_, 1) => high,
                _ => rng.random_range(low..=high),
            };
            if ty.is_unsigned() { Value::UInt(v as u64) } else { Value::Int(v as i64) }
        }
    }
}

/// Makes random rows of [`column_types`].
pub(crate) fn rows(rng: &mut SmallRng, count: usize) -> (Vec<Vec<Value>>, Batch) {
    let types: Vec<SqlType> = column_types().into_iter().map(|ty| ty.sql).collect();
    let rows: Vec<Vec<Value>> = (0..count).map(|_| types.iter().map(|ty| value(rng, ty)).collect()).collect();
    let batch = Batch::from_rows(&types, rows.iter().map(Vec::as_slice)).unwrap();
    (rows, batch)
}

/// Makes a random operand: a column or a literal.
pub(crate) fn leaf(rng: &mut SmallRng) -> Expr {
    let types = column_types();
    let n = rng.random_range(0..types.len());
    if rng.random_bool(0.6) {
        return build::column(n, types[n].clone());
    }
    let mut e = build::literal(value(rng, &types[n].sql));
    if e.ty.sql.is_character() {
        e.ty.collation = types[n].collation;
    }
    e
}

/// Makes a random expression of any type; tries again if it cannot be typed.
pub(crate) fn expression(rng: &mut SmallRng, depth: usize) -> Expr {
    if depth == 0 || rng.random_bool(0.1) {
        return leaf(rng);
    }
    loop {
        let made = match rng.random_range(0..9) {
            0..=3 => Ok(condition(rng, depth)),
            4 | 5 => {
                use ArithmeticOp::*;
                let op = [Add, Subtract, Multiply, Divide, IntegerDivide, Modulo][rng.random_range(0..6)];
                build::arithmetic(op, expression(rng, depth - 1), expression(rng, depth - 1))
            }
            6 => {
                let whens = (0..rng.random_range(1..3))
                    .map(|_| (condition(rng, depth - 1), expression(rng, depth - 1)))
                    .collect();
                let otherwise = rng.random_bool(0.5).then(|| expression(rng, depth - 1));
                build::case(None, whens, otherwise)
            }
            7 => call(rng, depth),
            _ => {
                let targets = [
                    CastTarget::Signed,
                    CastTarget::Unsigned,
                    CastTarget::Char(Some(5)),
                    CastTarget::Char(None),
                    CastTarget::Decimal(10, 2),
                    CastTarget::Double,
                    CastTarget::Date,
                    CastTarget::DateTime(3),
                ];
                let to = targets[rng.random_range(0..targets.len())];
                build::cast(expression(rng, depth - 1), to, Collation::Utf8mb4Bin)
            }
        };
        if let Ok(e) = made {
            return e;
        }
    }
}

fn call(rng: &mut SmallRng, depth: usize) -> Result<Expr, MysqlError> {
    let one =
        ["ABS", "FLOOR", "CEIL", "ROUND", "SIGN", "LENGTH", "UPPER", "REVERSE", "YEAR", "MONTH", "DATE"];
    let two = ["CONCAT", "COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST", "LEFT", "INSTR"];
    match rng.random_range(0..5) {
        0 | 1 => build::call(one[rng.random_range(0..one.len())], vec![expression(rng, depth - 1)]),
        2 | 3 => {
            let args = vec![expression(rng, depth - 1), expression(rng, depth - 1)];
            build::call(two[rng.random_range(0..two.len())], args)
        }
        _ => build::date_add(
            expression(rng, depth - 1),
            int(rng.random_range(-3..4)),
            [IntervalUnit::Day, IntervalUnit::Month, IntervalUnit::Hour][rng.random_range(0..3)],
            rng.random_bool(0.5),
        ),
    }
}

/// Makes a random condition.
pub(crate) fn condition(rng: &mut SmallRng, depth: usize) -> Expr {
    const OPS: [CompareOp; 7] = [
        CompareOp::Eq,
        CompareOp::NullSafeEq,
        CompareOp::Ne,
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Gt,
        CompareOp::Ge,
    ];
    let below = depth.saturating_sub(1);
    loop {
        let made = match rng.random_range(0..14) {
            0..=4 => {
                let op = OPS[rng.random_range(0..OPS.len())];
                build::compare(op, expression(rng, below), expression(rng, below))
            }
            5 | 6 if depth > 0 => {
                let list = (0..rng.random_range(2..4)).map(|_| condition(rng, below)).collect();
                Ok(if rng.random_bool(0.5) { build::and(list) } else { build::or(list) })
            }
            7 if depth > 0 => Ok(build::not(condition(rng, below))),
            8 => Ok(build::is_null(expression(rng, below), rng.random_bool(0.5))),
            9 if depth > 0 => {
                Ok(build::is_truth(condition(rng, below), rng.random_bool(0.5), rng.random_bool(0.5)))
            }
            10 => {
                let list = (0..rng.random_range(1..12)).map(|_| leaf(rng)).collect();
                build::in_list(expression(rng, below), list, rng.random_bool(0.5))
            }
            11 => {
                let pattern = ["a%", "%b", "_", "1%", "%a%", ""][rng.random_range(0..6)];
                build::like(expression(rng, below), txt(pattern), Some('\\'), rng.random_bool(0.3))
            }
            12 => build::between(expression(rng, below), leaf(rng), leaf(rng), rng.random_bool(0.3)),
            13 if depth > 0 => Ok(build::xor(condition(rng, below), condition(rng, below))),
            _ => continue,
        };
        if let Ok(e) = made {
            return e;
        }
    }
}
