//! Measures how long decoding a row takes: the sixteen columns of TPC-H's lineitem, with some of them wanted.
//!
//! `cargo run --release -p leafline-types --example row_decode`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use leafline_types::row::EntryColumn;
use leafline_types::{
    CodecError, Collation, ColumnLayout, Date, Decimal, EntryFormat, KeyPart, RowDecoder, SqlType, Value,
};

/// About as many rows as ten leaves hold: they stay in the cache, as the leaf under a cursor does.
const ROWS: usize = 1024;
const ROUNDS: usize = 2000;

fn main() -> Result<(), CodecError> {
    let int = SqlType::Int { unsigned: false };
    let big = SqlType::BIGINT;
    let money = SqlType::decimal(15, 2);
    let char = |len| SqlType::Char { len };
    let types = [
        big.clone(),
        big,
        int.clone(),
        int.clone(),
        money.clone(),
        money.clone(),
        money.clone(),
        money,
        char(1),
        char(1),
        SqlType::Date,
        SqlType::Date,
        SqlType::Date,
        char(25),
        char(10),
        SqlType::Varchar { len: 44 },
    ];
    let columns: Vec<EntryColumn> = types
        .iter()
        .zip(0..)
        .map(|(ty, place)| EntryColumn {
            layout: ColumnLayout { ty: ty.clone(), nullable: false, collation: Collation::Utf8mb4Bin },
            place,
            added_in: 0,
            default: Value::Null,
        })
        .collect();
    let key = [KeyPart::new(SqlType::BIGINT), KeyPart::new(int)];
    let format = Arc::new(EntryFormat::clustered(1, &columns, &[], &key, &[Some(0), Some(3)]));
    let entries = (0..ROWS as i64).map(|n| entry(&format, n)).collect::<Result<Vec<_>, _>>()?;
    println!("payload: {} bytes", entries[0].1.len());
    for (name, wanted) in [
        ("l_quantity, l_extendedprice, l_discount", &[4, 5, 6][..]),
        ("l_partkey, l_quantity, l_shipdate", &[1, 4, 10]),
        ("l_orderkey, l_extendedprice, l_shipmode", &[0, 5, 14]),
        ("l_quantity, l_shipinstruct, l_shipmode", &[4, 13, 14]),
        ("all sixteen", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
    ] {
        let decoder = RowDecoder::new(&format, wanted)?;
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let mut builders = decoder.builders(ROWS);
            let start = Instant::now();
            for (key, payload) in &entries {
                decoder.decode(black_box(key), black_box(payload), &mut builders)?;
            }
            best = best.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
            black_box(&builders);
        }
        println!("{best:7.1} ns a row: {name}");
    }
    Ok(())
}

fn entry(format: &EntryFormat, n: i64) -> Result<(Vec<u8>, Vec<u8>), CodecError> {
    let cents = |v: i64| Value::Decimal(Decimal::from_i128(v.into(), 2));
    let day = |v: i64| Date::from_epoch_days(8036 + (v % 2500) as i32).map_or(Value::Null, Value::Date);
    let row = [
        Value::Int(n / 4),
        Value::Int(n * 37 % 200_000),
        Value::Int(n * 7 % 10_000),
        Value::Int(n % 4),
        cents(n % 50 * 100),
        cents(n * 7919 % 10_000_000),
        cents(n % 11),
        cents(n % 9),
        Value::from("N"),
        Value::from("O"),
        day(n),
        day(n + 30),
        day(n + 40),
        Value::from("DELIVER IN PERSON"),
        Value::from("AIR REG"),
        Value::from("carefully final deposits sleep"),
    ];
    let (mut key, mut payload) = (Vec::new(), Vec::new());
    format.encode_key(&row, &[], &mut key)?;
    format.encode_payload(&row, &mut payload)?;
    Ok((key, payload))
}
