//! Tests that rows and entries read back unchanged, in every projection and in older versions, and that damaged bytes
//! are errors.

use std::sync::Arc;

use arrow_array::Array;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::*;
use crate::column::value_at;
use crate::decimal::Decimal;
use crate::key::KeyPart;
use crate::key::tests::{all_parts, random_value};
use crate::testing;

fn layout_of(part: &KeyPart) -> ColumnLayout {
    ColumnLayout { ty: part.ty.clone(), nullable: part.nullable, collation: part.collation }
}

/// Makes random columns, as key parts, because random values exist for those.
fn random_columns(rng: &mut SmallRng, most: usize) -> Vec<KeyPart> {
    let all = all_parts();
    (0..rng.random_range(1..=most)).map(|_| all[rng.random_range(0..all.len())].clone()).collect()
}

fn random_row(rng: &mut SmallRng, columns: &[KeyPart]) -> Vec<Value> {
    columns.iter().map(|c| random_value(rng, c)).collect()
}

/// Compares with `==`, but distinguishes the sign of zero, which a row keeps.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

#[test]
fn rows_come_back() {
    let mut rng = testing::rng("rows_come_back");
    for _ in 0..testing::iterations(2_000) {
        let columns = random_columns(&mut rng, 20);
        let layouts: Vec<ColumnLayout> = columns.iter().map(layout_of).collect();
        let layout = RowLayout::new(rng.random(), &layouts);
        let values = random_row(&mut rng, &columns);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        assert!(row.len() >= layout.fixed_bytes());
        assert_eq!(row_version(&row).unwrap(), layout.version.unwrap());
        layout.verify(&row).unwrap();
        for (i, v) in values.iter().enumerate() {
            let found = layout.decode_value(&row, i).unwrap();
            assert!(same(&found, v), "{:?}: {found:?} for {v:?}", columns[i]);
            let mut column = ColumnBuilder::for_type(&layouts[i].ty);
            layout.decode_column(&row, i, &mut column).unwrap();
            assert!(same(&value_at(&column.finish(), 0, &layouts[i].ty), v), "{:?}", columns[i]);
        }
        assert!(layout.decode_value(&row, values.len()).is_err());
        // A missing, extra or changed byte never panics.
        row.push(0);
        assert!(layout.verify(&row).is_err());
        row.truncate(rng.random_range(0..row.len() - 1));
        assert!(layout.verify(&row).is_err());
        for _ in 0..5 {
            let damaged = testing::bytes(&mut rng, 60);
            for (i, column) in layouts.iter().enumerate() {
                let mut column = ColumnBuilder::for_type(&column.ty);
                let appended = layout.decode_column(&damaged, i, &mut column);
                assert_eq!(column.len(), usize::from(appended.is_ok()));
                let _ = layout.decode_value(&damaged, i);
            }
        }
    }
}

/// A table with a random key over some of its columns, and perhaps a hidden part.
struct Table {
    columns: Vec<KeyPart>,
    entry_columns: Vec<EntryColumn>,
    key: Vec<KeyPart>,
    key_columns: Vec<Option<usize>>,
}

impl Table {
    fn random(rng: &mut SmallRng) -> Self {
        let columns = random_columns(rng, 12);
        let entry_columns = columns
            .iter()
            .zip(0..)
            .map(|(c, place)| EntryColumn { layout: layout_of(c), place, added_in: 0, default: Value::Null })
            .collect();
        let (mut key, mut key_columns) = (Vec::new(), Vec::new());
        for _ in 0..rng.random_range(1..=4) {
            let column = rng.random_range(0..columns.len());
            if rng.random_bool(0.2) {
                key.push(KeyPart::new(SqlType::BIGINT_UNSIGNED));
                key_columns.push(None);
            } else if !key_columns.contains(&Some(column)) {
                key.push(KeyPart { descending: rng.random(), ..columns[column].clone() });
                key_columns.push(Some(column));
            }
        }
        Table { columns, entry_columns, key, key_columns }
    }

    fn hidden(&self) -> Vec<Value> {
        (0..).map(Value::UInt).take(self.key_columns.iter().filter(|c| c.is_none()).count()).collect()
    }
}

/// Splits off some of the common prefix of all keys, and returns it and the rest of each.
fn split_off<'k>(keys: &[&'k [u8]], rng: &mut SmallRng) -> (&'k [u8], Vec<&'k [u8]>) {
    let first = keys.first().copied().unwrap_or_default();
    let common = keys.iter().map(|key| key.iter().zip(first).take_while(|(a, b)| a == b).count()).min();
    let cut = rng.random_range(0..=common.unwrap_or(0));
    (&first[..cut], keys.iter().map(|key| &key[cut..]).collect())
}

fn check_all_ways(
    rng: &mut SmallRng,
    format: &Arc<EntryFormat>,
    entries: &[(Vec<u8>, Vec<u8>)],
    rows: &[Vec<Value>],
) {
    let columns = rows[0].len();
    for (column, available) in (0..columns).map(|c| (c, format.has_column(c))) {
        for ((key, payload), row) in entries.iter().zip(rows) {
            let found = format.decode_value(key, payload, column);
            assert_eq!(found.is_ok(), available, "{column} of {format:?}");
            assert!(found.is_err() || same(&found.unwrap(), &row[column]));
        }
        assert_eq!(RowDecoder::new(format, &[column]).is_ok(), available);
    }
    let available: Vec<usize> = (0..columns).filter(|&c| format.has_column(c)).collect();
    if available.is_empty() {
        return;
    }
    for _ in 0..6 {
        let projection: Vec<usize> = (0..rng.random_range(0..=available.len() + 1))
            .map(|_| available[rng.random_range(0..available.len())])
            .collect();
        let decoder = RowDecoder::new(format, &projection).unwrap();
        let mut builders = decoder.builders(entries.len());
        for ((key, payload), row) in entries.iter().zip(rows) {
            decoder.decode(key, payload, &mut builders).unwrap();
            let mut values = vec![Value::Int(7)];
            decoder.decode_values(key, payload, &mut values).unwrap();
            assert!(projection.iter().zip(&values[1..]).all(|(&c, v)| same(v, &row[c])), "{projection:?}");
            assert_eq!(values.len(), projection.len() + 1);
        }
        let mut together = DecodedRows::new(&decoder, 0);
        let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| key.as_slice()).collect();
        let payloads: Vec<&[u8]> = entries.iter().map(|(_, payload)| payload.as_slice()).collect();
        // Small groups of keys have longer common prefixes.
        let some = rng.random_range(1..=entries.len());
        for (keys, payloads) in keys.chunks(some).zip(payloads.chunks(some)) {
            let (prefix, rests) = split_off(keys, rng);
            let rests = if decoder.reads_keys() { &rests[..] } else { &[] };
            together.push_all(&decoder, prefix, rests, payloads).unwrap();
        }
        let together = together.finish(|_| Err(CodecError::InOverflow)).unwrap();
        for (((builder, ty), &column), all) in
            builders.iter_mut().zip(decoder.types()).zip(&projection).zip(together)
        {
            let array = builder.finish();
            assert_eq!(array.to_data(), all.to_data(), "{projection:?} {column}");
            assert_eq!(array.len(), rows.len());
            for (i, row) in rows.iter().enumerate() {
                assert!(same(&value_at(&array, i, ty), &row[column]), "{projection:?} {column}");
            }
        }
        if let ([_, ..], Some((key, payload))) = (&projection[..], entries.first()) {
            assert!(decoder.decode(key, payload, &mut []).is_err());
        }
    }
}

#[test]
fn entries_come_back_in_every_projection() {
    let mut rng = testing::rng("entries_come_back");
    for round in 0..testing::iterations(1_000) {
        let table = Table::random(&mut rng);
        let (columns, key, key_columns) = (&table.entry_columns, &table.key, &table.key_columns);
        let format = Arc::new(match round % 3 {
            0 => EntryFormat::clustered(3, columns, &[], key, key_columns),
            1 => EntryFormat::secondary(columns, key, key_columns),
            _ => EntryFormat::secondary_with_copies(columns, key, key_columns),
        });
        let rows: Vec<Vec<Value>> = (0..4).map(|_| random_row(&mut rng, &table.columns)).collect();
        let mut entries = Vec::new();
        for row in &rows {
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            format.encode_key(row, &table.hidden(), &mut key).unwrap();
            format.encode_payload(row, &mut payload).unwrap();
            format.verify(&key, &payload).unwrap();
            key.push(0);
            assert!(format.verify(&key, &payload).is_err());
            key.pop();
            // A 0 might be the difference of another value with the same key.
            payload.push(0xff);
            assert!(format.verify(&key, &payload).is_err());
            payload.pop();
            entries.push((key, payload));
        }
        let in_key = |c: usize| table.key_columns.contains(&Some(c));
        assert!((0..table.columns.len()).all(|c| format.has_column(c) == (round % 3 == 0 || in_key(c))));
        check_all_ways(&mut rng, &format, &entries, &rows);
        // Damaged entries give errors or nonsense, never a panic.
        let every: Vec<usize> = (0..table.columns.len()).filter(|&c| format.has_column(c)).collect();
        let decoder = RowDecoder::new(&format, &every).unwrap();
        for _ in 0..5 {
            let (key, payload) = (testing::bytes(&mut rng, 40), testing::bytes(&mut rng, 60));
            let _ = decoder.decode(&key, &payload, &mut decoder.builders(1));
            let _ = decoder.decode_values(&key, &payload, &mut Vec::new());
            let _ = format.verify(&key, &payload);
        }
    }
}

/// A table that gets and loses columns, and whose columns change their positions, reads rows of all its versions.
#[test]
fn rows_of_older_versions_have_the_columns_of_their_time() {
    let mut rng = testing::rng("older_versions");
    for _ in 0..testing::iterations(500) {
        let table = Table::random(&mut rng);
        let latest = 7;
        let mut columns = table.entry_columns.clone();
        // The version from which on each column is gone.
        let mut gone = vec![None; columns.len()];
        let mut places: Vec<u16> = (0..columns.len() as u16).collect();
        places.shuffle(&mut rng);
        for (i, (column, part)) in columns.iter_mut().zip(&table.columns).enumerate() {
            column.place = places[i];
            if !table.key_columns.contains(&Some(i)) && rng.random() {
                column.added_in = rng.random_range(0..=6);
                column.default = random_value(&mut rng, part);
                gone[i] = rng.random_bool(0.3).then(|| rng.random_range(column.added_in + 1..=latest));
            }
        }
        // The table as it was in a version, or is in the latest.
        let of_version = |version: u16| {
            let is_there =
                |c: &usize| columns[*c].added_in <= version && gone[*c].is_none_or(|g| g > version);
            let then: Vec<usize> = (0..columns.len()).filter(is_there).collect();
            let now: Vec<EntryColumn> = then.iter().map(|&c| columns[c].clone()).collect();
            let position = |c: usize| then.iter().position(|&t| t == c).unwrap();
            let key: Vec<Option<usize>> = table.key_columns.iter().map(|c| c.map(position)).collect();
            let dropped: Vec<DroppedColumn> = (0..columns.len())
                .filter_map(|c| {
                    let dropped_in = gone[c].filter(|gone| *gone <= version)?;
                    let EntryColumn { layout, place, added_in, .. } = columns[c].clone();
                    Some(DroppedColumn { layout, place, added_in, dropped_in })
                })
                .collect();
            (then, EntryFormat::clustered(version, &now, &dropped, &table.key, &key))
        };
        let (present, current) = of_version(latest);
        let current = Arc::new(current);
        let (mut entries, mut rows) = (Vec::new(), Vec::new());
        for version in 0..=latest {
            let (then, old) = of_version(version);
            for _ in 0..rng.random_range(1..4) {
                let mut row = random_row(&mut rng, &table.columns);
                let old_row: Vec<Value> = then.iter().map(|&c| row[c].clone()).collect();
                let (mut key, mut payload) = (Vec::new(), Vec::new());
                old.encode_key(&old_row, &table.hidden(), &mut key).unwrap();
                old.encode_payload(&old_row, &mut payload).unwrap();
                for (value, column) in row.iter_mut().zip(&columns) {
                    if column.added_in > version {
                        *value = column.default.clone();
                    }
                }
                current.verify(&key, &payload).unwrap();
                entries.push((key, payload));
                rows.push(present.iter().map(|&c| row[c].clone()).collect());
            }
        }
        check_all_ways(&mut rng, &current, &entries, &rows);
        let (key, mut payload) = entries.remove(0);
        payload[..2].copy_from_slice(&(latest + 1).to_le_bytes());
        let stored = (0..present.len()).find(|&c| matches!(current.sources[c], entry::Source::Payload(_)));
        if let Some(column) = stored {
            let found = current.decode_value(&key, &payload, column);
            assert_eq!(found, Err(CodecError::UnknownVersion(latest + 1)));
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let column = |ty, nullable| ColumnLayout { ty, nullable, collation: Collation::Utf8mb4Bin };
    let layout = RowLayout::new(
        0x0102,
        &[
            column(SqlType::Varchar { len: 5 }, true),
            column(SqlType::MediumInt { unsigned: false }, true),
            column(SqlType::Varbinary { len: 5 }, false),
            column(SqlType::decimal(3, 2), false),
            column(SqlType::Date, true),
        ],
    );
    let price = Value::Decimal(Decimal::parse("-0.02").unwrap());
    let values = [Value::from("ab"), Value::Int(-2), Value::bytes([9]), price, Value::Null];
    let mut row = vec![];
    layout.encode(&values, &mut row).unwrap();
    assert_eq!(row, [2, 1, 0b100, 0xfe, 0xff, 0xff, 0xfe, 0xff, 0, 0, 0, 2, 0, 3, 0, b'a', b'b', 9]);
}

#[test]
fn too_long_rows_are_refused() {
    let text = ColumnLayout {
        ty: SqlType::Text { max_bytes: 1 << 24 },
        nullable: false,
        collation: Collation::Utf8mb4Bin,
    };
    let layout = RowLayout::new(1, &[text.clone(), text]);
    let mut row = vec![7];
    let long = Value::string("x".repeat(40_000));
    let found = layout.encode(&[long.clone(), long], &mut row).unwrap_err();
    assert_eq!(found, CodecError::TooLong { bytes: 40_000, limit: 32_767 });
    assert_eq!(crate::error::MysqlError::from(found).code, 1118);
    assert_eq!(layout.encode(&[Value::Null, Value::from("")], &mut row), Err(CodecError::UnexpectedNull));
    assert!(layout.encode(&[Value::Int(1), Value::from("")], &mut row).is_err());
    assert!(layout.encode(&[Value::from("")], &mut row).is_err());
    assert_eq!(row, [7]);
}

/// A reader that asks for values outside a row finds their references; for any other reader they are an error.
#[test]
fn references_take_the_place_of_values() {
    let mut rng = testing::rng("references");
    let ty = [SqlType::Text { max_bytes: 1 << 24 }, SqlType::BIGINT, SqlType::Blob { max_bytes: 1 << 24 }];
    let columns: Vec<EntryColumn> = ty
        .iter()
        .zip(0..)
        .map(|(ty, place)| EntryColumn {
            layout: ColumnLayout { ty: ty.clone(), nullable: true, collation: Collation::Utf8mb4Bin },
            place,
            added_in: 0,
            default: Value::Null,
        })
        .collect();
    let key = KeyPart::new(SqlType::BIGINT);
    let format = Arc::new(EntryFormat::clustered(1, &columns, &[], &[key], &[Some(1)]));
    let decoder = RowDecoder::new(&format, &[2, 0, 1, 0]).unwrap();
    let mut decoded = DecodedRows::new(&decoder, 0);
    let mut expected: Vec<Vec<Value>> = Vec::new();
    let mut long: Vec<Vec<u8>> = Vec::new();
    let mut waiting: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for number in 0..200 {
        let value = |rng: &mut SmallRng| vec![b'a' + (number % 7) as u8; rng.random_range(0..30)];
        let (a, b) = (value(&mut rng), value(&mut rng));
        let text = Value::string(String::from_utf8(a.clone()).unwrap());
        let row = [
            if rng.random_ratio(1, 4) { Value::Null } else { text },
            Value::Int(number),
            if rng.random_ratio(1, 4) { Value::Null } else { Value::bytes(b.clone()) },
        ];
        let mut outside = Vec::new();
        for (column, bytes) in [(0, a), (2, b)] {
            if rng.random() {
                outside.push((column, OverflowRef::new(long.len() as u64, &bytes).unwrap()));
                long.push(bytes);
            }
        }
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        format.encode_key(&row, &[], &mut key).unwrap();
        // Some references keep the value's beginning.
        let kept = |column: usize| {
            let len = row[column].as_bytes().map_or(0, <[u8]>::len);
            len.min(4 * column + 3)
        };
        format.encode_payload_with(&row, &outside, &kept, &mut payload).unwrap();
        format.verify(&key, &payload).unwrap();
        outside.retain(|(column, _)| row[*column] != Value::Null);
        assert_eq!(format.overflow(&payload).unwrap(), outside);
        for (column, _) in &outside {
            let bytes = row[*column].as_bytes().unwrap();
            let beginning = format.decode_beginning(&key, &payload, *column).unwrap();
            assert_eq!(beginning.as_bytes().unwrap(), &bytes[..kept(*column)]);
        }
        let is_whole = outside.is_empty();
        assert_eq!(decoder.decode(&key, &payload, &mut decoder.builders(1)).is_ok(), is_whole);
        assert_eq!(decoder.decode_values(&key, &payload, &mut Vec::new()).is_ok(), is_whole);
        waiting.push((key, payload));
        match rng.random_range(0..10) {
            0..4 => {}
            // All that wait, one by one or at once.
            kind => {
                let keys: Vec<&[u8]> = waiting.iter().map(|(key, _)| key.as_slice()).collect();
                let payloads: Vec<&[u8]> = waiting.iter().map(|(_, payload)| payload.as_slice()).collect();
                match kind {
                    4..7 => {
                        let (prefix, rests) = split_off(&keys, &mut rng);
                        decoded.push_all(&decoder, prefix, &rests, &payloads).unwrap();
                    }
                    _ => waiting.iter().for_each(|(k, p)| decoded.push(&decoder, k, p).unwrap()),
                }
                waiting.clear();
            }
        }
        expected.push([2, 0, 1, 0].map(|column: usize| row[column].clone()).to_vec());
    }
    waiting.iter().for_each(|(key, payload)| decoded.push(&decoder, key, payload).unwrap());
    let read = |missing: &[Missing]| -> Result<Vec<Vec<u8>>, CodecError> {
        Ok(missing.iter().map(|missing| long[missing.reference.id as usize].clone()).collect())
    };
    let found = decoded.finish(read).unwrap();
    for (at, row) in expected.iter().enumerate() {
        let values: Vec<Value> =
            found.iter().zip(decoder.types()).map(|(array, ty)| value_at(array, at, ty)).collect();
        assert_eq!(values, *row);
    }
}
