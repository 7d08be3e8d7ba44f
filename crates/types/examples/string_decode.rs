//! Measures how long reading strings takes from index entries that hold them as differences to their keys, and from
//! entries that hold copies beside the keys.
//!
//! `cargo run --release -p leafline-types --example string_decode`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use leafline_types::row::EntryColumn;
use leafline_types::{
    CodecError, Collation, ColumnLayout, DecodedRows, EntryFormat, KeyPart, RowDecoder, SqlType, Value,
};

const ROWS: usize = 64;
const ROUNDS: usize = 20_000;

fn main() -> Result<(), CodecError> {
    let hex = |n: usize| {
        format!("{:032x}", (n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    };
    let mixed = |n: usize| -> String {
        let flip = |(at, c): (usize, char)| {
            if ((n * 7919) >> (at % 13)) & 1 == 0 { c } else { c.to_ascii_uppercase() }
        };
        hex(n).replace(['0', '1', '2', '3'], "qxwz").chars().enumerate().map(flip).take(22).collect()
    };
    let kinds: [(&str, &dyn Fn(usize) -> String); 7] = [
        ("36 characters, as they are", &|n| format!("{}-a-b", hex(n))),
        ("32 capitals and digits", &|n| hex(n).to_uppercase()),
        ("22 characters of any case", &mixed),
        ("names", &|n| format!("Mary Ann Smith-{n}")),
        ("names with an accent", &|n| format!("Zoë Müller {n}")),
        ("Cyrillic", &|n| format!("новосибирск {n}")),
        ("Han", &|n| format!("東京都千代田区{n}")),
    ];
    for (name, text) in kinds {
        let mut times = Vec::new();
        for differences in [false, true] {
            times.push(time(&|n| text(n), differences)?);
        }
        println!("{:6.1} ns a row as copies, {:6.1} as differences: {name}", times[0], times[1]);
    }
    Ok(())
}

fn time(text: &dyn Fn(usize) -> String, differences: bool) -> Result<f64, CodecError> {
    let ty = SqlType::Varchar { len: 100 };
    let (collation, nullable) = (Collation::DEFAULT, true);
    let layout = ColumnLayout { ty: ty.clone(), nullable, collation };
    let columns = [EntryColumn { layout, place: 0, added_in: 0, default: Value::Null }];
    let key = [KeyPart { ty, collation, nullable, descending: false, prefix: None }];
    let format = Arc::new(match differences {
        true => EntryFormat::secondary(&columns, &key, &[Some(0)]),
        false => EntryFormat::secondary_with_copies(&columns, &key, &[Some(0)]),
    });
    let mut entries = Vec::new();
    for n in 0..ROWS {
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        let row = [Value::string(text(n))];
        format.encode_key(&row, &[], &mut key)?;
        format.encode_payload(&row, &mut payload)?;
        entries.push((key, payload));
    }
    let decoder = RowDecoder::new(&format, &[0])?;
    let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| &key[1..]).collect();
    let keys = if decoder.reads_keys() { &keys[..] } else { &[] };
    let payloads: Vec<&[u8]> = entries.iter().map(|(_, payload)| payload.as_slice()).collect();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let mut decoded = DecodedRows::new(&decoder, ROWS);
        let start = Instant::now();
        decoded.push_all(&decoder, black_box(&[1]), black_box(keys), black_box(&payloads))?;
        best = best.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
        black_box(&decoded);
    }
    Ok(best)
}
