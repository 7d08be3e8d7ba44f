//! Internet Protocol addresses as numbers, bytes and text.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::args::{bigint_or_null, binary_string, bounded_text, integer};
use super::radix::null_with_warning_1411;
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("INET_ATON", (1, 1), |_| Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, true)), inet_aton),
    Function::new("INET_NTOA", (1, 1), |_| Ok(bounded_text(15, true)), inet_ntoa).own_text().numbers(&[0]),
    Function::new("INET6_ATON", (1, 1), |_| Ok(binary_string(16, true)), inet6_aton),
    Function::new("INET6_NTOA", (1, 1), |_| Ok(bounded_text(39, true)), inet6_ntoa).own_text(),
    Function::new("IS_IPV4", (1, 1), test_type, |_, call, values| {
        test_text(call, values, |text| ipv4(text).is_some())
    })
    .condition(),
    Function::new("IS_IPV6", (1, 1), test_type, |_, call, values| {
        test_text(call, values, |text| ipv6(text).is_some())
    })
    .condition(),
    Function::new("IS_IPV4_COMPAT", (1, 1), bigint_or_null, |_, _, values| {
        test_bytes(values, |bytes| {
            bytes[..12].iter().all(|b| *b == 0) && !matches!(bytes[12..], [0, 0, 0, 0 | 1])
        })
    })
    .condition(),
    Function::new("IS_IPV4_MAPPED", (1, 1), bigint_or_null, |_, _, values| {
        test_bytes(values, |bytes| bytes[..10].iter().all(|b| *b == 0) && bytes[10..12] == [255, 255])
    })
    .condition(),
];

fn test_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(build::bigint(args[0].ty.nullable))
}

/// Reads `a.b.c.d`, and the shorter forms in which the last number stands for the rest: `127.1` is 127.0.0.1.
fn inet_aton(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(text) = call.text(values, 0) else { return Ok(Value::Null) };
    match short_ipv4(&text) {
        Some(address) => Ok(Value::UInt(address)),
        None => null_with_warning_1411(cx, call, "string"),
    }
}

fn short_ipv4(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let parts: Vec<&str> = text.split('.').collect();
    let (last, front) = parts.split_last()?;
    if front.len() > 3 {
        return None;
    }
    let byte = |part: &str| match part {
        "" => Some(0),
        part if part.bytes().all(|b| b.is_ascii_digit()) => part.parse::<u64>().ok().filter(|n| *n <= 255),
        _ => None,
    };
    // A point at the end leaves no last number.
    let last = if last.is_empty() { None } else { byte(last) }?;
    let mut address = front.iter().try_fold(0u64, |address, part| Some(address << 8 | byte(part)?))?;
    if !front.is_empty() {
        address <<= 8 * (3 - front.len());
    }
    Some(address << 8 | last)
}

fn inet_ntoa(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let number = match &values[0] {
        Value::UInt(v) => i64::try_from(*v).ok().or(Some(-1)),
        v => integer(v, cx)?,
    };
    let Some(number) = number else { return Ok(Value::Null) };
    match u32::try_from(number) {
        Ok(address) => Ok(Value::string(Ipv4Addr::from(address).to_string())),
        Err(_) => null_with_warning_1411(cx, call, "integer"),
    }
}

/// Reads four decimal numbers, each with at most three digits.
fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let text = std::str::from_utf8(text).ok()?;
    let mut address = [0u8; 4];
    let mut parts = text.split('.');
    for byte in &mut address {
        let part = parts.next()?;
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        *byte = part.parse().ok().filter(|_| digits)?;
    }
    parts.next().is_none().then(|| address.into())
}

fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn inet6_aton(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(text) = call.text(values, 0) else { return Ok(Value::Null) };
    if let Some(address) = ipv4(&text) {
        return Ok(Value::bytes(address.octets().as_slice()));
    }
    match ipv6(&text) {
        Some(address) => Ok(Value::bytes(address.octets().as_slice())),
        None => null_with_warning_1411(cx, call, "string"),
    }
}

fn inet6_ntoa(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let Value::Bytes(bytes) = &values[0] else { return null_with_warning_1411(cx, call, "string") };
    if let Ok(address) = <[u8; 4]>::try_from(&**bytes) {
        return Ok(Value::string(Ipv4Addr::from(address).to_string()));
    }
    match <[u8; 16]>::try_from(&**bytes) {
        Ok(address) => Ok(Value::string(ipv6_text(address))),
        Err(_) => null_with_warning_1411(cx, call, "string"),
    }
}

/// Writes an address without its longest run of zero groups; the last 32 bits as a version 4 address if the others
/// mark it as one.
fn ipv6_text(bytes: [u8; 16]) -> String {
    use std::fmt::Write;
    let groups: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let mut gap = 0..0;
    let mut at = 0;
    while at < groups.len() {
        let run = groups[at..].iter().take_while(|g| **g == 0).count();
        if run > gap.len() {
            gap = at..at + run;
        }
        at += run.max(1);
    }
    let mut out = String::new();
    for (n, group) in groups.iter().enumerate() {
        if gap.contains(&n) {
            if n == gap.start {
                out.push(':');
            }
            continue;
        }
        // A colon precedes each group except the first.
        if n > 0 {
            out.push(':');
        }
        let with_v4 = gap.start == 0 && (gap.len() == 6 || gap.len() == 5 && groups[5] == 0xFFFF);
        if n == 6 && with_v4 {
            let _ = write!(out, "{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
            return out;
        }
        let _ = write!(out, "{group:x}");
    }
    if gap.end == groups.len() && !gap.is_empty() {
        out.push(':');
    }
    out
}

fn test_text(call: Call<'_>, values: &[Value], test: impl Fn(&[u8]) -> bool) -> Result<Value, MysqlError> {
    Ok(call.text(values, 0).map_or(Value::Null, |text| Value::Int(test(&text).into())))
}

/// Tests an address of 16 bytes; other values fail.
fn test_bytes(values: &[Value], test: impl Fn(&[u8; 16]) -> bool) -> Result<Value, MysqlError> {
    Ok(match &values[0] {
        Value::Null => Value::Null,
        Value::Bytes(bytes) => {
            Value::Int(<[u8; 16]>::try_from(&**bytes).is_ok_and(|address| test(&address)).into())
        }
        _ => Value::Int(0),
    })
}
