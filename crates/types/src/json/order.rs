//! The order of documents, and keys that order by their bytes.
//!
//! | kind, least first       | key                                                                            |
//! |-------------------------|--------------------------------------------------------------------------------|
//! | null                    | 0                                                                              |
//! | number                  | 1, the number                                                                  |
//! | string                  | 2, its bytes, ended                                                            |
//! | object                  | 3, 4 bytes: count; name, ended, and value of each member                       |
//! | array                   | 4; for each cell 1 and its key; 0                                              |
//! | false, true             | 5, 0 or 1                                                                      |
//! | date, time, datetime    | 6, 7, 8; 8 bytes: days or microseconds, the sign bit flipped                   |
//! | other bytes, BIT, BLOB  | 9, 10, 11; for other bytes the type; the bytes, ended                          |
//!
//! A number is 0 if negative, 1 if zero, 2 if positive; then its decimal exponent in two bytes, sign bit flipped, its
//! digits plus one, and 0; all of that inverted for a negative number. A double has the fewest digits that read back
//! as it. So numbers of all kinds share one order. *Ended* bytes have 00 00 after them, and 00 ff for a 00 in them.

use std::cmp::Ordering;

use super::binary::{Item, View};
use super::kind::{is_bit, is_blob};
use crate::collation::Collation;
use crate::collation::key_strings::encode_string;

/// Compares two documents.
pub fn compare(a: View<'_>, b: View<'_>) -> Ordering {
    match (a.item(), b.item()) {
        (Item::Int(a), Item::Int(b)) => a.cmp(&b),
        (Item::String(a), Item::String(b)) => a.cmp(b),
        _ => key(a).cmp(&key(b)),
    }
}

/// Returns the key of a document.
pub fn key(view: View<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    put_key(view, super::MAX_DEPTH, &mut out);
    out
}

fn put_key(view: View<'_>, depth: usize, out: &mut Vec<u8>) {
    match view.item() {
        Item::Array(_) | Item::Object(_) if depth == 0 => out.push(0),
        Item::Null => out.push(0),
        Item::Int(v) => put_number(&v.to_string(), out),
        Item::UInt(v) => put_number(&v.to_string(), out),
        Item::Double(v) => put_number(&format!("{v:e}"), out),
        Item::Decimal(v) => put_number(&v.to_string(), out),
        Item::String(s) => {
            out.push(2);
            encode_string(Collation::Binary, s.as_bytes(), out);
        }
        Item::Object(object) => {
            out.push(3);
            out.extend_from_slice(&(object.len() as u32).to_be_bytes());
            for (name, value) in object.iter() {
                encode_string(Collation::Binary, name.as_bytes(), out);
                put_key(value, depth - 1, out);
            }
        }
        Item::Array(array) => {
            out.push(4);
            for cell in array.iter() {
                out.push(1);
                put_key(cell, depth - 1, out);
            }
            out.push(0);
        }
        Item::Bool(v) => out.extend_from_slice(&[5, v.into()]),
        Item::Date(d) => put_signed(6, d.ordinal().into(), out),
        Item::Time(t) => put_signed(7, t.micros(), out),
        Item::DateTime(t) => put_signed(8, t.ordinal(), out),
        Item::Opaque(field_type, bytes) => {
            match field_type {
                bit if is_bit(bit) => out.push(10),
                blob if is_blob(blob) => out.push(11),
                other => out.extend_from_slice(&[9, other]),
            }
            encode_string(Collation::Binary, bytes, out);
        }
    }
}

fn put_signed(kind: u8, v: i64, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(v ^ i64::MIN).to_be_bytes());
}

/// Appends a number given as text, with digits, and perhaps a sign, a point and an exponent.
fn put_number(text: &str, out: &mut Vec<u8>) {
    out.push(1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.trim_start_matches('-');
    let whole = mantissa.find('.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let Some(first) = digits.iter().position(|d| *d != b'0') else {
        out.push(1);
        return;
    };
    let last = digits.iter().rposition(|d| *d != b'0').unwrap_or(first);
    // The place of the first significant digit.
    let exponent = exponent.parse::<i32>().unwrap_or(0) + whole as i32 - first as i32;
    out.push(if negative { 0 } else { 2 });
    let start = out.len();
    out.extend_from_slice(&(exponent as i16 ^ i16::MIN).to_be_bytes());
    out.extend(digits[first..=last].iter().map(|d| d - b'0' + 1));
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Json, Node};
    use super::*;
    use crate::decimal::Decimal;

    #[test]
    fn documents_are_ordered_by_kind_and_value() {
        let ascending = [
            "null",
            "-1e300",
            "-18446744073709551616",
            "-12",
            "-1.5",
            "-1e-20",
            "0",
            "1e-20",
            "0.1",
            "1",
            "1.5",
            "12",
            "100",
            "18446744073709551615",
            "1e300",
            "\"\"",
            "\"\\u0000\"",
            "\"a\"",
            "\"ab\"",
            "\"b\"",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 0}",
            "[]",
            "[1]",
            "[1, 0]",
            "[2]",
            "false",
            "true",
        ];
        let documents: Vec<Json> = ascending.iter().map(|text| Json::parse(text).unwrap()).collect();
        for (i, a) in documents.iter().enumerate() {
            for (j, b) in documents.iter().enumerate() {
                assert_eq!(compare(a.view(), b.view()), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn numbers_of_all_kinds_are_equal() {
        let one = Json::parse("1").unwrap();
        for node in [Node::UInt(1), Node::Double(1.0), Node::Decimal(Decimal::parse("1.00").unwrap())] {
            assert_eq!(compare(one.view(), Json::new(&node).unwrap().view()), Ordering::Equal);
        }
        let zero = Json::parse("0").unwrap();
        assert_eq!(compare(zero.view(), Json::parse("-0.0").unwrap().view()), Ordering::Equal);
    }
}
