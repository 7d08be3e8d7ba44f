//! Parameters of prepared statements and query attributes, which are parameters with names.
//!
//! | bytes | field |
//! |---|---|
//! | count / 8, rounded up | bitmap of NULLs |
//! | 1 | 1 if types follow; 0 keeps the types of the last execution |
//! | 2 each | type byte, flags (80: unsigned), and the name if parameters have names |
//! | the rest | values, except NULLs and long data that was sent before |

use super::{put_date, put_datetime, put_time, read_value, string_value};
use crate::bytes::{Reader, put_length, put_string};
use crate::column::field_type as f;
use leafline_types::{Charset, MysqlError, Value};

/// The type of a parameter, which the client sent with this execution or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterType {
    field: u8,
    unsigned: bool,
    /// Name of a query attribute; empty for a parameter.
    name: String,
}

/// Most parameters and query attributes of a statement.
const MAX_PARAMETERS: u64 = 65_535;
/// Says that types follow. Otherwise the types of the last execution hold.
const NEW_TYPES: u8 = 1;
/// Flag of a type: an unsigned integer.
const UNSIGNED: u8 = 0x80;
/// Number of sets of query attributes that a statement has.
const PARAMETER_SETS: u64 = 1;

/// A parameter or, with a name, a query attribute.
pub type Parameter<'p> = (&'p str, &'p Value);

/// Appends parameters in the form of COM_STMT_EXECUTE and COM_QUERY: NULLs, types, values. `named` adds their names.
pub fn put_parameters(out: &mut Vec<u8>, parameters: &[Parameter<'_>], named: bool) {
    if parameters.is_empty() {
        return;
    }
    let mut nulls = vec![0; parameters.len().div_ceil(8)];
    let of_nulls = parameters.iter().enumerate().filter(|(_, (_, value))| value.is_null());
    for (at, _) in of_nulls {
        if let Some(byte) = nulls.get_mut(at / 8) {
            *byte |= 1 << (at % 8);
        }
    }
    out.extend_from_slice(&nulls);
    out.push(NEW_TYPES);
    for (name, value) in parameters {
        let flags = if matches!(value, Value::UInt(_)) { UNSIGNED } else { 0 };
        out.extend_from_slice(&[type_of(value), flags]);
        if named {
            put_string(out, name.as_bytes());
        }
    }
    parameters.iter().for_each(|(_, value)| put_value(out, value));
}

/// Appends query attributes, which come before the text of COM_QUERY.
pub fn put_attributes(out: &mut Vec<u8>, attributes: &[Parameter<'_>]) {
    put_length(out, attributes.len() as u64);
    put_length(out, PARAMETER_SETS);
    put_parameters(out, attributes, true);
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => f::NULL,
        Value::Int(_) | Value::UInt(_) => f::LONGLONG,
        Value::Double(_) => f::DOUBLE,
        Value::Decimal(_) => f::NEWDECIMAL,
        Value::Date(_) => f::DATE,
        Value::DateTime(_) => f::DATETIME,
        Value::Time(_) => f::TIME,
        Value::Bytes(_) => f::BLOB,
        Value::String(_) | Value::Json(_) => f::VAR_STRING,
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::UInt(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Double(d) => out.extend_from_slice(&d.to_le_bytes()),
        Value::Decimal(decimal) => put_string(out, decimal.to_string().as_bytes()),
        Value::Date(date) => put_date(out, *date),
        Value::DateTime(datetime) => put_datetime(out, *datetime),
        Value::Time(time) => put_time(out, *time),
        Value::Bytes(bytes) => put_string(out, bytes),
        Value::String(text) => put_string(out, text.as_bytes()),
        Value::Json(json) => put_string(out, json.to_string().as_bytes()),
    }
}

/// Reads the number of parameters, where the client sends it.
///
/// # Errors
/// 1835 if a statement cannot have as many.
pub fn read_count(reader: &mut Reader<'_>) -> Result<usize, MysqlError> {
    let count = reader.length()?;
    if count > MAX_PARAMETERS {
        return Err(MysqlError::malformed_packet());
    }
    Ok(count as usize)
}

/// Reads parameters in the form of COM_STMT_EXECUTE and COM_QUERY: NULLs, types, values. `types` has the types of the last
/// execution, and takes new ones if the client sends them, with names if `named`. `long_data` has the parameters that were sent
/// before, in parts. Strings are in `charset`.
///
/// # Errors
/// 1835 if the packet ends early, 1210 for a type that no parameter can have.
pub fn read_parameters(
    reader: &mut Reader<'_>,
    count: usize,
    named: bool,
    types: &mut Vec<ParameterType>,
    long_data: &[Option<Vec<u8>>],
    charset: Charset,
) -> Result<Vec<Value>, MysqlError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let nulls = reader.take(count.div_ceil(8))?;
    if reader.u8()? == NEW_TYPES {
        let mut sent = Vec::new();
        for _ in 0..count {
            let (field, flags) = (reader.u8()?, reader.u8()?);
            let name =
                if named { String::from_utf8_lossy(reader.string()?).into_owned() } else { String::new() };
            sent.push(ParameterType { field, unsigned: flags & UNSIGNED != 0, name });
        }
        *types = sent;
    }
    if types.len() != count {
        return Err(MysqlError::malformed_packet());
    }
    let mut values = Vec::with_capacity(count);
    for (at, ty) in types.iter().enumerate() {
        let null = nulls.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0);
        values.push(match long_data.get(at) {
            Some(Some(bytes)) => string_value(bytes, charset),
            _ if null => Value::Null,
            _ => read_value(reader, ty.field, ty.unsigned, charset)?,
        });
    }
    Ok(values)
}

/// Returns the parameters that have names, which are query attributes.
pub fn attributes(types: &[ParameterType], values: &[Value]) -> Vec<(String, Value)> {
    let named = types.iter().zip(values).filter(|(ty, _)| !ty.name.is_empty());
    named.map(|(ty, value)| (ty.name.clone(), value.clone())).collect()
}

/// Reads query attributes, which come before the text of COM_QUERY.
///
/// # Errors
/// The errors of [`read_parameters`]; 1835 for more than one set of attributes.
pub fn read_attributes(
    reader: &mut Reader<'_>,
    charset: Charset,
) -> Result<Vec<(String, Value)>, MysqlError> {
    let count = read_count(reader)?;
    if reader.length()? != PARAMETER_SETS {
        return Err(MysqlError::malformed_packet());
    }
    let mut types = Vec::new();
    let values = read_parameters(reader, count, true, &mut types, &[], charset)?;
    Ok(attributes(&types, &values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::Decimal;

    /// Decimals come as text under either of the two types.
    #[test]
    fn a_decimal_is_a_number() {
        let mut packet = vec![0, 1];
        for field in [f::NEWDECIMAL, 0, f::NEWDECIMAL, f::VAR_STRING] {
            packet.extend_from_slice(&[field, 0]);
        }
        for text in ["36.50", "-7", "no number", "36.5"] {
            put_string(&mut packet, text.as_bytes());
        }
        let mut types = Vec::new();
        let values =
            read_parameters(&mut Reader::new(&packet), 4, false, &mut types, &[], Charset::Utf8mb4).unwrap();
        let decimal = |text| Value::Decimal(Decimal::parse(text).unwrap());
        let expected = [decimal("36.50"), decimal("-7"), Value::string("no number"), Value::string("36.5")];
        assert_eq!(values, expected);
    }

    #[test]
    fn parameters_read_back_as_written() {
        let date = leafline_types::Date::from_parts(2024, 2, 29).expect("a date");
        let values = [
            Value::Int(-3),
            Value::Null,
            Value::UInt(u64::MAX),
            Value::Double(0.5),
            Value::Decimal(Decimal::parse("36.50").unwrap()),
            Value::string("\u{e9}"),
            Value::bytes(&b"\xff"[..]),
            Value::Date(date),
            Value::Null,
        ];
        let parameters: Vec<Parameter<'_>> = values.iter().map(|value| ("", value)).collect();
        let mut packet = Vec::new();
        put_parameters(&mut packet, &parameters, false);
        let mut types = Vec::new();
        let mut reader = Reader::new(&packet);
        let read = read_parameters(&mut reader, values.len(), false, &mut types, &[], Charset::Utf8mb4);
        assert_eq!(read.unwrap(), values);
        assert!(reader.is_empty());
    }

    #[test]
    fn attributes_are_the_parameters_with_names() {
        let (trace, none, nameless) = (Value::string("7-1"), Value::Null, Value::Int(9));
        let mut packet = Vec::new();
        put_attributes(&mut packet, &[("trace", &trace), ("none", &none), ("", &nameless)]);
        packet.extend_from_slice(b"SELECT 1");
        let mut reader = Reader::new(&packet);
        let read = read_attributes(&mut reader, Charset::Utf8mb4);
        let expected = vec![("trace".to_owned(), Value::string("7-1")), ("none".to_owned(), Value::Null)];
        assert_eq!(read, Ok(expected));
        assert_eq!(reader.rest(), b"SELECT 1");
        for end in 0..packet.len() - 8 {
            assert!(
                read_attributes(&mut Reader::new(&packet[..end]), Charset::Utf8mb4).is_err(),
                "cut at {end}"
            );
        }
        for wrong in [&[3, 2, 0, 1][..], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1]] {
            let refused = read_attributes(&mut Reader::new(wrong), Charset::Utf8mb4);
            assert_eq!(refused.map_err(|error| error.code), Err(1835));
        }
    }
}
