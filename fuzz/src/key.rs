//! Fuzzes the key codec.

use crate::input::Input;
use leafline_types::{
    Collation, KeyPart, SqlType, Value, decode_value, encode_part, is_restorable, skip_part,
};
use std::cmp::Ordering;

pub(crate) fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let part = part(&mut input);
    let (a, b) = (value(&part, &mut input), value(&part, &mut input));
    if let (Some(a), Some(b)) = (&a, &b) {
        compare(&part, a, b);
    }
    // Arbitrary bytes as a key.
    let bytes = input.rest();
    let decoded = decode_value(&part, bytes);
    if let Ok(used) = skip_part(&part, bytes) {
        assert!(used <= bytes.len());
        if let Ok((_, taken)) = &decoded {
            assert_eq!(*taken, used, "{part:?}");
        }
    }
    let Ok((value, _)) = decoded else { return };
    // Bytes of no value may be read as a value; the bytes of a value are read as that value.
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    if encode_part(&part, &value, &mut once).is_ok() {
        let (value, taken) = decode_value(&part, &once).expect("what was encoded can be decoded");
        assert_eq!(taken, once.len(), "{part:?}");
        encode_part(&part, &value, &mut twice).expect("what was decoded can be encoded");
        assert_eq!(once, twice, "{part:?}: {value:?}");
    }
}

fn part(input: &mut Input<'_>) -> KeyPart {
    let (kind, flags) = (input.u8(), input.u8());
    let unsigned = flags & 4 != 0;
    let ty = match kind % 12 {
        0 => SqlType::TinyInt { unsigned },
        1 => SqlType::SmallInt { unsigned },
        2 => SqlType::MediumInt { unsigned },
        3 => SqlType::Int { unsigned },
        4 => SqlType::BigInt { unsigned },
        5 => SqlType::Double,
        6 => SqlType::Date,
        7 => SqlType::DateTime { fsp: flags >> 4 & 3 },
        8 => SqlType::Decimal { precision: 10 + (flags >> 4), scale: flags >> 5, unsigned, zerofill: false },
        9 => SqlType::Varbinary { len: 100 },
        10 => SqlType::Char { len: 100 },
        _ => SqlType::Varchar { len: 100 },
    };
    let collation = if flags & 8 != 0 { Collation::Utf8mb4Bin } else { Collation::Utf8mb4_0900Bin };
    KeyPart { ty, collation, nullable: flags & 1 != 0, descending: flags & 2 != 0, prefix: None }
}

/// Makes a value of the part, for types whose order is easily computed.
fn value(part: &KeyPart, input: &mut Input<'_>) -> Option<Value> {
    if part.nullable && input.u8().is_multiple_of(8) {
        return Some(Value::Null);
    }
    Some(match part.ty {
        SqlType::Double => Value::Double(f64::from_bits(input.u64())),
        SqlType::Varbinary { .. } => {
            let len = usize::from(input.u8() % 32);
            Value::bytes(input.bytes(len))
        }
        SqlType::Char { .. } | SqlType::Varchar { .. } => {
            let len = usize::from(input.u8() % 32);
            let text = std::str::from_utf8(input.bytes(len)).ok()?;
            Value::string(if matches!(part.ty, SqlType::Char { .. }) {
                text.trim_end_matches(' ')
            } else {
                text
            })
        }
        _ => {
            let (least, most) = part.ty.integer_range()?;
            let number = i128::from(input.u64());
            let whole = if part.ty.is_unsigned() { number } else { i128::from(number as u64 as i64) };
            let clamped = whole.clamp(least, most);
            if part.ty.is_unsigned() { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) }
        }
    })
}

fn compare(part: &KeyPart, a: &Value, b: &Value) {
    let encode = |value: &Value| {
        let mut key = Vec::new();
        encode_part(part, value, &mut key).ok().map(|()| key)
    };
    let (Some(left), Some(right)) = (encode(a), encode(b)) else { return };
    let expected = match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => match a.partial_cmp(b) {
            Some(order) => order,
            None => return,
        },
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) if part.collation == Collation::Utf8mb4Bin => padded(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => return,
    };
    let expected = if part.descending { expected.reverse() } else { expected };
    assert_eq!(left.cmp(&right), expected, "{part:?}: {a:?} and {b:?}");
    // No part's bytes are a prefix of another's.
    assert!(
        left == right || !(left.starts_with(&right) || right.starts_with(&left)),
        "{part:?}: {a:?} and {b:?}"
    );
    if !is_restorable(part) {
        return;
    }
    for (value, key) in [(a, &left), (b, &right)] {
        let (back, used) = decode_value(part, key).expect("what was encoded can be decoded");
        assert_eq!(used, key.len());
        assert_eq!(format!("{back:?}"), format!("{value:?}"), "{part:?}");
    }
}

/// Compares as if the shorter text were padded with spaces.
fn padded(a: &str, b: &str) -> Ordering {
    let len = a.chars().count().max(b.chars().count());
    let fill = |text: &str| -> Vec<char> { text.chars().chain(std::iter::repeat(' ')).take(len).collect() };
    fill(a).cmp(&fill(b))
}
