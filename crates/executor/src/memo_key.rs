//! Keys for results that are remembered by values.

use leafline_types::Value;
use std::fmt::Write;

/// Returns the bytes that a value takes in memory.
pub(super) fn value_bytes(value: &Value) -> usize {
    size_of::<Value>() + value.as_bytes().map_or(0, <[u8]>::len)
}

/// Encodes values as bytes that are equal only for identical values.
pub(super) fn memo_key(values: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    for value in values {
        let start = key.len();
        key.extend_from_slice(&[0; 5]);
        let kind = match value {
            Value::Null => 0,
            Value::Int(number) => {
                key.extend_from_slice(&number.to_le_bytes());
                1
            }
            Value::UInt(number) => {
                key.extend_from_slice(&number.to_le_bytes());
                2
            }
            Value::Double(number) => {
                key.extend_from_slice(&number.to_bits().to_le_bytes());
                3
            }
            Value::String(text) => {
                key.extend_from_slice(text.as_bytes());
                4
            }
            Value::Bytes(bytes) => {
                key.extend_from_slice(bytes);
                5
            }
            other => {
                let mut text = String::new();
                // Writing to a string does not fail.
                let _ = write!(text, "{other:?}");
                key.extend_from_slice(text.as_bytes());
                6
            }
        };
        let length = (key.len() - start - 5) as u32;
        if let Some(head) = key.get_mut(start..start + 5) {
            head[0] = kind;
            head[1..].copy_from_slice(&length.to_le_bytes());
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_where_values_do() {
        let rows: Vec<Vec<Value>> = vec![
            vec![],
            vec![Value::Null],
            vec![Value::Int(0)],
            vec![Value::UInt(0)],
            vec![Value::Double(0.0)],
            vec![Value::Double(-0.0)],
            vec![Value::string("")],
            vec![Value::string("ab"), Value::string("")],
            vec![Value::string("a"), Value::string("b")],
            vec![Value::bytes(*b"ab"), Value::string("")],
            vec![Value::Null, Value::Null],
        ];
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                assert_eq!(memo_key(a) == memo_key(b), i == j, "{a:?} {b:?}");
            }
        }
    }
}
