//! Helpers that the tests of this crate share: tables of all types with random rows, random conditions, evaluation row by row.

use leafline_expr::build::{and, call, column, compare, in_list, is_null, like, literal, not, or};
use leafline_expr::{CompareOp, EvalContext, Expr, SessionFacts};
use leafline_storage::device::SimulatedEnv;
use leafline_table::{
    BuildControl, ColumnDef, Engine, EngineOptions, IndexSpec, IndexSpecKind, IndexSpecPart, StoreOptions,
    TableDef, TableSpec,
};
use leafline_types::{
    CancelToken, Collation, Date, DateTime, Decimal, ExprType, Members, MysqlError, SqlType, Time, Value,
    Warnings,
};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

/// The seed of a random test: `LEAFLINE_SEED`, or a fixed one. Tests print it when they fail.
pub(crate) fn seed() -> u64 {
    std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_250_101)
}

/// How many times as much as usual a random test does.
pub(crate) fn scale() -> usize {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Calls `f` with a context for expressions.
pub(crate) fn with_eval<R>(f: impl FnOnce(&mut EvalContext<'_>) -> R) -> R {
    let (session, mut warnings, cancel) = (SessionFacts::default(), Warnings::new(), CancelToken::new());
    let now = DateTime::from_epoch_micros(1_700_000_000_000_000).expect("a time of our days");
    f(&mut EvalContext::new(now, &session, &mut warnings, &cancel))
}

/// The columns of the test table: `id`, then one of each kind.
pub(crate) fn columns() -> Vec<ColumnDef> {
    let text = Collation::Utf8mb4Bin;
    let column = |name: &str, ty: SqlType, nullable: bool, collation: Collation| {
        ColumnDef::new(name, ty, nullable, collation)
    };
    let decimal = SqlType::decimal(6, 2);
    let members = Arc::new(Members::new(["b", "a", "é"], Collation::Utf8mb4_0900Bin));
    vec![
        column("id", SqlType::BIGINT, false, Collation::Binary),
        column("a", SqlType::TinyInt { unsigned: false }, true, Collation::Binary),
        column("b", decimal, true, Collation::Binary),
        column("c", SqlType::Varchar { len: 4 }, true, text),
        column("d", SqlType::Date, true, Collation::Binary),
        column("e", SqlType::Double, true, Collation::Binary),
        column("f", SqlType::SmallInt { unsigned: true }, false, Collation::Binary),
        column("g", SqlType::DateTime { fsp: 0 }, true, Collation::Binary),
        column("h", SqlType::Varchar { len: 4 }, true, Collation::Utf8mb4_0900Bin),
        column("k", SqlType::Char { len: 3 }, false, text),
        column("l", SqlType::Time { fsp: 1 }, true, Collation::Binary),
        column("m", SqlType::FLOAT, true, Collation::Binary),
        column("n", SqlType::Year, true, Collation::Binary),
        column("o", SqlType::Timestamp { fsp: 1 }, true, Collation::Binary),
        column("p", SqlType::Enum(members), true, Collation::Utf8mb4_0900Bin),
    ]
}

/// The indexes of the test table, by column name; `-` is DESC.
pub(crate) const INDEXES: &[&[&str]] = &[
    &["a", "b"],
    &["-b", "a", "f"],
    &["c", "-d"],
    &["d", "c"],
    &["-e", "k"],
    &["f", "-a", "c"],
    &["g", "h"],
    &["h"],
    &["k", "c", "a"],
    &["a", "f", "e"],
    &["l", "a"],
    &["m", "-n"],
    &["n", "-l"],
    &["o", "-p"],
    &["p", "a"],
];

/// An engine in memory.
pub(crate) fn engine() -> Arc<Engine> {
    let store = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 16 << 20,
        log_capacity_bytes: 16 << 20,
        background: false,
        io_threads: 1,
        ..StoreOptions::default()
    };
    let options = EngineOptions { store, ..EngineOptions::default() };
    Engine::open(Arc::new(SimulatedEnv::new()), options).expect("an engine in memory")
}

fn index(kind: IndexSpecKind, parts: &[&str]) -> IndexSpec {
    let part = |name: &&str| IndexSpecPart {
        column: name.trim_start_matches('-').to_string(),
        descending: name.starts_with('-'),
        prefix: None,
    };
    IndexSpec { kind, parts: parts.iter().map(part).collect(), ..IndexSpec::default() }
}

/// Makes a table of an `id`, a number with an index, and a text, and fills it.
pub(crate) fn table_of_texts(engine: &Arc<Engine>, name: &str, rows: &[Vec<Value>]) -> Arc<TableDef> {
    let columns = vec![
        ColumnDef::new("id", SqlType::BIGINT, false, Collation::Binary),
        ColumnDef::new("number", SqlType::BIGINT, false, Collation::Binary),
        ColumnDef::new("text", SqlType::Text { max_bytes: u32::MAX }, true, Collation::Utf8mb4Bin),
    ];
    let indexes = vec![index(IndexSpecKind::Primary, &["id"]), index(IndexSpecKind::Plain, &["number"])];
    filled(engine, name, columns, indexes, rows)
}

/// Makes a table of numbers `id`, `k`, `v` with an index (`k`, `v`), and fills it.
pub(crate) fn table_of_pairs(engine: &Arc<Engine>, name: &str, rows: &[Vec<Value>]) -> Arc<TableDef> {
    let number = |name| ColumnDef::new(name, SqlType::BIGINT, false, Collation::Binary);
    let indexes = vec![index(IndexSpecKind::Primary, &["id"]), index(IndexSpecKind::Plain, &["k", "v"])];
    filled(engine, name, vec![number("id"), number("k"), number("v")], indexes, rows)
}

/// Makes the test table, with or without a primary key, and fills it.
pub(crate) fn table(
    engine: &Arc<Engine>,
    name: &str,
    primary: &[&str],
    rows: &[Vec<Value>],
) -> Arc<TableDef> {
    let mut indexes: Vec<IndexSpec> =
        INDEXES.iter().map(|parts| index(IndexSpecKind::Plain, parts)).collect();
    if !primary.is_empty() {
        indexes.push(index(IndexSpecKind::Primary, primary));
    }
    filled(engine, name, columns(), indexes, rows)
}

fn filled(
    engine: &Arc<Engine>,
    name: &str,
    columns: Vec<ColumnDef>,
    indexes: Vec<IndexSpec>,
    rows: &[Vec<Value>],
) -> Arc<TableDef> {
    engine.ddl().create_database("test", Collation::DEFAULT, true).expect("a database");
    let spec = TableSpec {
        database: "test".to_string(),
        name: name.to_string(),
        columns,
        indexes,
        ..TableSpec::default()
    };
    engine.ddl().create_table(&spec, false).expect("a table");
    let table = engine.table("test", name).expect("the table");
    let mut loader = engine.ddl().bulk_load(&table, &BuildControl::of(engine)).expect("a loader");
    rows.iter().for_each(|row| loader.push(row).expect("a row"));
    loader.finish().expect("a loaded table");
    engine.table("test", name).expect("the table")
}

/// A value of a column, from few enough that conditions hit.
pub(crate) fn value(rng: &mut SmallRng, column: usize) -> Value {
    let all = columns();
    if all[column].nullable && rng.random_ratio(1, 8) {
        return Value::Null;
    }
    match column {
        0 => Value::Int(rng.random_range(0..200)),
        1 => Value::Int(*[-128, -5, -1, 0, 1, 2, 3, 7, 127].choose(rng).expect("values")),
        2 => Value::Decimal(Decimal::from_i128(rng.random_range(-30..30) * 25, 2)),
        3 | 8 => string(rng),
        4 => Value::Date(Date::from_epoch_days(rng.random_range(9000..9012)).expect("a day")),
        5 => {
            Value::Double(*[-1e300, -1.5, -0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 1e300].choose(rng).expect("values"))
        }
        6 => Value::UInt(*[0, 1, 2, 3, 10, 65535].choose(rng).expect("values")),
        7 => {
            let seconds = 9000 * 86_400 + rng.random_range(0..6) * 43_200;
            Value::DateTime(DateTime::from_epoch_micros(seconds * 1_000_000).expect("a time"))
        }
        9 => Value::string(*["", "a", "ab", "b", "é", "x y"].choose(rng).expect("values")),
        10 => time(rng.random_range(-20i64..20) * 500_000),
        11 => {
            let values = [-3e38f32, -1.5, -0.0, 0.0, 0.1, 0.3, 1.0, 2.0, f32::MAX];
            Value::Double((*values.choose(rng).expect("values")).into())
        }
        13 => {
            let micros = 9000 * 86_400_000_000 + rng.random_range(0i64..20) * 500_000;
            Value::DateTime(DateTime::from_epoch_micros(micros).expect("a time"))
        }
        14 => Value::UInt(rng.random_range(0..4)),
        _ => Value::UInt(*[0, 1901, 1999, 2001, 2024, 2155].choose(rng).expect("values")),
    }
}

fn time(micros: i64) -> Value {
    Value::Time(Time::from_micros(micros).expect("a time"))
}

fn string(rng: &mut SmallRng) -> Value {
    let texts = ["", " ", "a", "a ", "a\t", "a!", "ab", "aé", "b", "é", "éa", "\u{10ffff}", "%", "a_"];
    Value::string(*texts.choose(rng).expect("texts"))
}

/// Random rows with ascending ids.
pub(crate) fn rows(rng: &mut SmallRng, count: usize) -> Vec<Vec<Value>> {
    (0..count)
        .map(|id| {
            let mut row: Vec<Value> = (0..columns().len()).map(|column| value(rng, column)).collect();
            row[0] = Value::Int(id as i64);
            row
        })
        .collect()
}

/// A column of the table as an expression.
pub(crate) fn column_expr(number: usize) -> Expr {
    let all = columns();
    let column_def = &all[number];
    column(number, ExprType::column(column_def.ty.clone(), column_def.nullable, column_def.collation))
}

/// A constant that a column may be compared with: of its type, or of another one that MySQL accepts.
fn constant(rng: &mut SmallRng, column: usize) -> Expr {
    let odd = rng.random_ratio(1, 4);
    literal(match (column, odd) {
        (_, true) if rng.random_ratio(1, 6) => Value::Null,
        (10, true) => match rng.random_range(0..4) {
            0 => Value::string(*["00:00:01", "-2", "0:0:0.55", "838:59:59"].choose(rng).expect("texts")),
            1 => Value::Int(*[-2, 0, 5, 60, 10_000].choose(rng).expect("values")),
            2 => time(rng.random_range(-40i64..40) * 150_000),
            _ => Value::Decimal(Decimal::from_i128(rng.random_range(-40..40), 1)),
        },
        (13, _) => match rng.random_range(0..5) {
            0 => Value::string("1994-08-23 00:00:03.25"),
            1 => Value::string("2050-01-01"),
            2 => Value::Int(*[19_940_823, 5].choose(rng).expect("values")),
            3 => Value::Date(Date::from_epoch_days(rng.random_range(8999..9002)).expect("a day")),
            _ => value(rng, column),
        },
        (14, _) => match rng.random_range(0..3) {
            0 => Value::Int(rng.random_range(-1..5)),
            1 => Value::Double(1.5),
            _ => Value::string(*["", "a", "b", "é", "c", "1"].choose(rng).expect("texts")),
        },
        (12, true) if rng.random() => match rng.random_range(0..3) {
            0 => Value::Int(*[0, 1, 24, 99, 100, 2156].choose(rng).expect("values")),
            1 => Value::string(*["0", "0000", "99", "2024", "1.5"].choose(rng).expect("texts")),
            _ => Value::Double(2000.5),
        },
        (0 | 1 | 2 | 5 | 6 | 11 | 12, true) => match rng.random_range(0..5) {
            0 => Value::Int(*[-129, -1, 0, 3, 128, 300, 70_000, i64::MAX].choose(rng).expect("values")),
            1 => Value::UInt(*[0, 127, 65_536, u64::MAX].choose(rng).expect("values")),
            2 => Value::Decimal(Decimal::from_i128(rng.random_range(-400..400) * 5, 3)),
            3 => Value::Double(*[-1e10, -0.5, 0.1, 1.5, 2.0, 1e10].choose(rng).expect("values")),
            _ => Value::string(
                *["1", "2.5", "-1", "0", "1x", "2 of 5", "zero", "-1e0."].choose(rng).expect("texts"),
            ),
        },
        (4 | 7, true) => match rng.random_range(0..3) {
            0 => Value::string("1994-08-28"),
            1 => value(rng, 4),
            _ => value(rng, 7),
        },
        (3 | 8 | 9, true) => match rng.random_range(0..3) {
            0 => Value::string("abcdefg"),
            1 => Value::string("a   "),
            _ => string(rng),
        },
        _ => value(rng, column),
    })
}

/// A random condition over the columns in `among`, nested up to `depth` times.
pub(crate) fn condition(rng: &mut SmallRng, among: &[usize], depth: usize) -> Expr {
    loop {
        if let Ok(condition) = try_condition(rng, among, depth) {
            return condition;
        }
    }
}

fn try_condition(rng: &mut SmallRng, among: &[usize], depth: usize) -> Result<Expr, MysqlError> {
    let column = *among.choose(rng).expect("a column");
    if depth > 0 && rng.random_ratio(1, 3) {
        let count = rng.random_range(2..4);
        let args = (0..count).map(|_| condition(rng, among, depth - 1)).collect();
        return Ok(match rng.random_range(0..5) {
            0 => not(and(args)),
            1 => not(or(args)),
            2 | 3 => or(args),
            _ => and(args),
        });
    }
    let operand = column_expr(column);
    match rng.random_range(0..10) {
        0 => Ok(is_null(operand, rng.random())),
        1 => {
            let list = (0..rng.random_range(1..5)).map(|_| constant(rng, column)).collect();
            in_list(operand, list, rng.random_ratio(1, 3))
        }
        2 if matches!(column, 3 | 8 | 9) => {
            let pattern = ["a%", "a_", "%", "a", "a %", "é%", "\\%%", "", "\u{10ffff}%", "%b"].choose(rng);
            let pattern = literal(Value::string(*pattern.expect("patterns")));
            // A pattern that is known only when the scan starts.
            let pattern = if rng.random_ratio(1, 2) { call("CONCAT", vec![pattern])? } else { pattern };
            like(operand, pattern, Some('\\'), rng.random_ratio(1, 4))
        }
        3 => {
            let other = constant(rng, column);
            compare(random_op(rng), other, operand)
        }
        4 => {
            let (low, high) = (constant(rng, column), constant(rng, column));
            let low = compare(CompareOp::Ge, operand.clone(), low)?;
            Ok(and(vec![low, compare(CompareOp::Le, operand, high)?]))
        }
        _ => {
            let other = constant(rng, column);
            compare(random_op(rng), operand, other)
        }
    }
}

fn random_op(rng: &mut SmallRng) -> CompareOp {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne, NullSafeEq};
    *[Eq, Eq, Eq, Lt, Le, Gt, Ge, Ne, NullSafeEq].choose(rng).expect("operators")
}
