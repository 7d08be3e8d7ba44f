//! Tests that keys order as values do, for every type, collation, nullability and direction, that values are
//! restored, and that bad bytes are errors.

use std::cmp::Ordering;

use rand::Rng;
use rand::rngs::SmallRng;

use super::*;
use crate::codec::fixed::{TIMESTAMP_END, timestamp_at};
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time, fraction_unit};
use crate::testing;
use crate::value::Members;

fn types() -> Vec<SqlType> {
    let mut types = vec![
        SqlType::Double,
        SqlType::Date,
        SqlType::Char { len: 20 },
        SqlType::Varchar { len: 20 },
        SqlType::Text { max_bytes: 65_535 },
        SqlType::Varbinary { len: 20 },
    ];
    for unsigned in [false, true] {
        types.extend([
            SqlType::TinyInt { unsigned },
            SqlType::SmallInt { unsigned },
            SqlType::MediumInt { unsigned },
            SqlType::Int { unsigned },
            SqlType::BigInt { unsigned },
        ]);
    }
    for (precision, scale) in [(1, 0), (2, 1), (5, 5), (15, 2), (18, 4), (19, 0), (38, 10), (39, 2), (65, 30)]
    {
        types.push(SqlType::decimal(precision, scale));
    }
    types.extend((0..=6).map(|fsp| SqlType::DateTime { fsp }));
    types.extend((0..=6).map(|fsp| SqlType::Time { fsp }));
    types.extend([SqlType::Year, SqlType::Boolean, SqlType::Zerofill { bytes: 3, digits: 8 }]);
    types.extend([true, false].map(|single| SqlType::Real {
        single,
        digits: None,
        unsigned: false,
        zerofill: false,
    }));
    types.push(SqlType::Binary { len: 5 });
    types.extend((0..=6).map(|fsp| SqlType::Timestamp { fsp }));
    types.extend([1, 9, 63, 64].map(|len| SqlType::Bit { len }));
    for count in [1, 255, 256] {
        let members = Members::new((0..count).map(|n| n.to_string()), Collation::Utf8mb4Bin);
        types.push(SqlType::Enum(members.into()));
    }
    for count in [1, 9, 33, 64] {
        let members = Members::new((0..count).map(|n| n.to_string()), Collation::Utf8mb4Bin);
        types.push(SqlType::Set(members.into()));
    }
    types
}

/// Returns every type with every collation it can have.
pub(crate) fn all_parts() -> Vec<KeyPart> {
    let mut parts = Vec::new();
    for ty in types() {
        let collations: &[Collation] = match ty.is_character() {
            true => &[
                Collation::Utf8mb4Bin,
                Collation::Utf8mb4_0900Bin,
                Collation::Utf8mb4_0900AiCi,
                Collation::Utf8mb4_0900AsCs,
                Collation::Utf8mb4GeneralCi,
                Collation::Latin1SwedishCi,
            ],
            false => &[Collation::Binary],
        };
        for &collation in collations {
            for (nullable, descending) in [(false, false), (false, true), (true, false), (true, true)] {
                parts.push(KeyPart { ty: ty.clone(), collation, nullable, descending, prefix: None });
            }
        }
    }
    parts
}

/// Makes a value of the part's type; extreme and neighbouring values are common.
pub(crate) fn random_value(rng: &mut SmallRng, part: &KeyPart) -> Value {
    if part.nullable && rng.random_bool(0.15) {
        return Value::Null;
    }
    match &part.ty {
        SqlType::Decimal { precision, scale, .. } => {
            let digits = testing::digits(rng, usize::from(*precision));
            let unscaled = Decimal::parse(&digits).unwrap().unscaled();
            let d = Decimal::from_i256(unscaled, *scale).unwrap();
            Value::Decimal(if rng.random() { d.negate() } else { d })
        }
        SqlType::Real { .. } => Value::Double(match rng.random_range(0..4) {
            0 => f32::MAX.into(),
            1 => -0.0,
            2 => f64::from(rng.random_range(-2..3i8)),
            _ => Some(f32::from_bits(rng.random())).filter(|d| d.is_finite()).unwrap_or(1.5).into(),
        }),
        SqlType::Timestamp { fsp } => {
            let unit = fraction_unit(*fsp);
            let end = TIMESTAMP_END / unit;
            let any = if rng.random() { rng.random_range(0..3) } else { rng.random_range(0..end) };
            Value::DateTime(timestamp_at(any * unit).unwrap())
        }
        SqlType::Time { fsp } => {
            let unit = fraction_unit(*fsp);
            let most = Time::MAX.micros() / unit;
            let any = if rng.random() { rng.random_range(-2..2) } else { rng.random_range(-most..=most) };
            Value::Time(Time::from_micros(any * unit).unwrap())
        }
        SqlType::Double => Value::Double(match rng.random_range(0..10) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::MAX,
            3 => f64::MIN,
            4 => f64::MIN_POSITIVE / 4.0,
            5 => f64::from(rng.random_range(-2..3i8)),
            _ => Some(f64::from_bits(rng.random())).filter(|d| d.is_finite()).unwrap_or(1.5),
        }),
        SqlType::Date => {
            let near = rng.random_range(0..4);
            let any = rng.random_range(Date::ZERO.ordinal()..=Date::MAX.ordinal());
            Value::Date(Date::from_ordinal(if rng.random() { near } else { any }).unwrap())
        }
        SqlType::DateTime { fsp } => {
            let unit = fraction_unit(*fsp);
            let (least, most) = (0, DateTime::MAX.ordinal() / unit);
            let any = if rng.random() { rng.random_range(0..4) } else { rng.random_range(least..=most) };
            Value::DateTime(DateTime::from_ordinal(any * unit).unwrap())
        }
        SqlType::Char { .. } => Value::from(testing::text(rng, 5).trim_end_matches(' ')),
        SqlType::Varchar { .. } | SqlType::Text { .. } => Value::string(testing::text(rng, 5)),
        SqlType::Binary { .. } | SqlType::Varbinary { .. } => Value::bytes(testing::bytes(rng, 5)),
        ty => {
            let (least, most) = ty.integer_range().unwrap();
            let v = match rng.random_range(0..4) {
                0 => least,
                1 => most,
                2 => rng.random_range(least.max(-2)..=2),
                _ => rng.random_range(least..=most),
            };
            if ty.is_unsigned() { Value::UInt(v as u64) } else { Value::Int(v as i64) }
        }
    }
}

/// Compares two values of one column in MySQL's order: NULL first.
fn compare(part: &KeyPart, a: &Value, b: &Value) -> Ordering {
    let ascending = match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap(),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        // `weights::tests` checks these comparisons against the weights.
        (Value::String(a), Value::String(b)) if part.collation.is_weighted() => {
            part.collation.compare(a.as_bytes(), b.as_bytes())
        }
        (Value::String(a), Value::String(b)) if part.collation.pads_space() => {
            // Pads, to be independent of the collation's code.
            let width = a.len().max(b.len());
            let pad = |s: &str| [s.as_bytes(), &vec![b' '; width - s.len()]].concat();
            pad(a).cmp(&pad(b))
        }
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => panic!("{a:?} and {b:?}"),
    };
    if part.descending { ascending.reverse() } else { ascending }
}

fn encoded(parts: &[KeyPart], values: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    encode_key(parts, values, &mut key).unwrap();
    key
}

#[test]
fn one_part_orders_as_its_values() {
    let mut rng = testing::rng("one_part");
    for part in all_parts() {
        let one = std::slice::from_ref(&part);
        for _ in 0..testing::iterations(400) {
            let (a, b) = (random_value(&mut rng, &part), random_value(&mut rng, &part));
            let (x, y) = (encoded(one, std::slice::from_ref(&a)), encoded(one, std::slice::from_ref(&b)));
            assert_eq!(x.cmp(&y), compare(&part, &a, &b), "{part:?}: {a:?} {x:x?} and {b:?} {y:x?}");
            assert!(x == y || !(x.starts_with(&y) || y.starts_with(&x)), "{part:?}: {a:?} and {b:?}: prefix");
            if let (Some(a), Some(b)) = (a.as_bytes(), b.as_bytes()) {
                let collation = part.string_collation().unwrap();
                let order = if part.descending { x.cmp(&y).reverse() } else { x.cmp(&y) };
                assert_eq!(collation.compare(a, b), order, "{collation}: {a:x?} and {b:x?}");
                assert_eq!(collation.equal(a, b), x == y, "{collation}: {a:x?} and {b:x?}");
            }
        }
    }
}

#[test]
fn composite_keys_order_part_by_part() {
    let mut rng = testing::rng("composite");
    let all = all_parts();
    for _ in 0..testing::iterations(3_000) {
        let parts: Vec<KeyPart> =
            (0..rng.random_range(2..5)).map(|_| all[rng.random_range(0..all.len())].clone()).collect();
        let a: Vec<Value> = parts.iter().map(|p| random_value(&mut rng, p)).collect();
        // Mostly equal parts, so that the later ones decide.
        let b: Vec<Value> = parts
            .iter()
            .zip(&a)
            .map(|(p, v)| if rng.random_bool(0.6) { v.clone() } else { random_value(&mut rng, p) })
            .collect();
        let expected = parts
            .iter()
            .zip(a.iter().zip(&b))
            .fold(Ordering::Equal, |order, (p, (a, b))| order.then_with(|| compare(p, a, b)));
        let (x, y) = (encoded(&parts, &a), encoded(&parts, &b));
        assert_eq!(x.cmp(&y), expected, "{parts:?}: {a:?} and {b:?}");
        // The successor of the first parts is above all keys that begin with them, and at most equal to all later
        // keys.
        let first = rng.random_range(1..=parts.len());
        let prefix = encoded(&parts[..first], &a[..first]);
        let order = parts[..first]
            .iter()
            .zip(a.iter().zip(&b))
            .fold(Ordering::Equal, |order, (p, (a, b))| order.then_with(|| compare(p, a, b)));
        match prefix_successor(&prefix) {
            Some(end) => {
                assert!(x < end);
                assert_eq!(y < end, order != Ordering::Less, "{parts:?}: {a:?} and {b:?}");
            }
            None => assert_ne!(order, Ordering::Less),
        }
    }
}

#[test]
fn parts_are_skipped_and_values_come_back() {
    let mut rng = testing::rng("values_come_back");
    let all = all_parts();
    for _ in 0..testing::iterations(3_000) {
        let parts: Vec<KeyPart> =
            (0..rng.random_range(1..5)).map(|_| all[rng.random_range(0..all.len())].clone()).collect();
        let values: Vec<Value> = parts.iter().map(|p| random_value(&mut rng, p)).collect();
        let key = encoded(&parts, &values);
        let mut at = 0;
        for (part, v) in parts.iter().zip(&values) {
            let len = skip_part(part, &key[at..]).unwrap();
            if let Some(width) = part.fixed_width() {
                assert_eq!(width, len);
            }
            let mut column = ColumnBuilder::for_type(&part.ty);
            if is_restorable(part) || v.is_null() {
                assert_eq!(decode_value(part, &key[at..]).unwrap(), (v.clone(), len), "{part:?}");
                assert_eq!(decode_part(part, &key[at..], &mut column).unwrap(), len);
                assert_eq!(&crate::column::value_at(&column.finish(), 0, &part.ty), v, "{part:?}");
            } else {
                let found = decode_value(part, &key[at..]);
                assert!(matches!(found, Err(CodecError::NotRestorable(_))), "{part:?}");
                assert!(matches!(
                    decode_part(part, &key[at..], &mut column),
                    Err(CodecError::NotRestorable(_))
                ));
            }
            at += len;
        }
        assert_eq!(at, key.len());
        // In a key cut anywhere, a part is an error; nothing panics.
        let cut = &key[..rng.random_range(0..key.len())];
        let mut rest = cut;
        let outcome = parts.iter().try_for_each(|p| {
            let decoded = decode_value(p, rest).map(|(_, len)| len);
            let skipped = skip_part(p, rest)?;
            rest = &rest[skipped..];
            match decoded {
                Ok(len) => {
                    assert_eq!(len, skipped);
                    Ok(())
                }
                Err(CodecError::NotRestorable(_)) => Ok(()),
                Err(e) => Err(e),
            }
        });
        assert!(outcome.is_err(), "{parts:?}: {key:x?} cut to {cut:x?}");
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut rng = testing::rng("random_bytes");
    let all = all_parts();
    for _ in 0..testing::iterations(20_000) {
        let part = &all[rng.random_range(0..all.len())];
        let bytes = testing::bytes(&mut rng, 40);
        let mut column = ColumnBuilder::for_type(&part.ty);
        let decoded = decode_part(part, &bytes, &mut column);
        if let Ok(len) = decoded {
            assert_eq!(skip_part(part, &bytes), Ok(len));
        }
        let value = decode_value(part, &bytes);
        assert_eq!(
            value.clone().map(|(_, len)| len).ok(),
            decoded.clone().ok(),
            "{part:?}: {bytes:x?}: {value:?}, {decoded:?}"
        );
    }
}

#[test]
fn strings_with_a_prefix_have_its_bytes() {
    let mut rng = testing::rng("prefix");
    for part in all_parts().into_iter().filter(|p| p.ty.is_character()) {
        for _ in 0..testing::iterations(200) {
            let (head, tail) = (testing::text(&mut rng, 4), testing::text(&mut rng, 3));
            let mut prefix = Vec::new();
            encode_prefix(&part, head.as_bytes(), &mut prefix).unwrap();
            let whole = encoded(std::slice::from_ref(&part), &[Value::string(format!("{head}{tail}"))]);
            assert!(whole.starts_with(&prefix), "{part:?}: {head:?} {tail:?}");
        }
    }
    let int = KeyPart::new(SqlType::BIGINT);
    assert!(encode_prefix(&int, b"1", &mut Vec::new()).is_err());
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let varchar = |collation, descending| KeyPart {
        ty: SqlType::Varchar { len: 9 },
        collation,
        nullable: true,
        descending,
        prefix: None,
    };
    let bytes = |part: &KeyPart, v: Value| encoded(std::slice::from_ref(part), &[v]);
    let padded = varchar(Collation::Utf8mb4Bin, false);
    assert_eq!(bytes(&padded, Value::from("a b  ")), [1, b'a', b' ', 3, b'b', b' ', 2]);
    assert_eq!(bytes(&padded, Value::from(" \t")), [1, b' ', 1, b'\t', b' ', 2]);
    let exact = varchar(Collation::Utf8mb4_0900Bin, false);
    assert_eq!(bytes(&exact, Value::from("a\0 ")), [1, b'a', 0, 0xff, b' ', 0, 0]);
    assert_eq!(bytes(&exact, Value::Null), [0]);
    let descending = varchar(Collation::Utf8mb4_0900Bin, true);
    assert_eq!(bytes(&descending, Value::from("\u{1}")), [0xfe, 0xfe, 0xff, 0xff]);
    assert_eq!(bytes(&descending, Value::Null), [0xff]);
    assert_eq!(
        bytes(&KeyPart::new(SqlType::MediumInt { unsigned: false }), Value::Int(-2)),
        [0x7f, 0xff, 0xfe]
    );
    assert_eq!(bytes(&KeyPart::new(SqlType::SmallInt { unsigned: true }), Value::UInt(258)), [1, 2]);
    let price = KeyPart::new(SqlType::decimal(4, 2));
    assert_eq!(bytes(&price, Value::from(Decimal::parse("-1.5").unwrap())), [0x7f, 0x6a]);
    assert_eq!(
        bytes(&KeyPart::new(SqlType::Date), Value::Date(Date::from_parts(0, 0, 1).unwrap())),
        [0, 0, 1]
    );
    let double = KeyPart::new(SqlType::Double);
    assert_eq!(bytes(&double, Value::Double(-0.0)), [0x80, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(&double, Value::Double(-1.0)), [0x40, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
}

#[test]
fn a_value_of_another_type_leaves_the_key_as_it_was() {
    let mut key = vec![7];
    let tiny = KeyPart { nullable: true, ..KeyPart::new(SqlType::TinyInt { unsigned: false }) };
    assert!(matches!(encode_part(&tiny, &Value::Int(200), &mut key), Err(CodecError::TypeMismatch { .. })));
    assert!(encode_part(&tiny, &Value::from("1"), &mut key).is_err());
    let not_null = KeyPart::new(SqlType::Date);
    assert_eq!(encode_part(&not_null, &Value::Null, &mut key), Err(CodecError::UnexpectedNull));
    let binary = KeyPart::new(SqlType::Varbinary { len: 3 });
    assert!(encode_part(&binary, &Value::Int(1), &mut key).is_err());
    assert_eq!(key, [7]);
    assert_eq!(prefix_successor(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!((prefix_successor(&[]), prefix_successor(&[0xff])), (None, None));
}
