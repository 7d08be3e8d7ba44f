//! Universally unique identifiers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{bigint_or_null, binary_string, bounded_text};
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, eval_operand as operand};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};
use uuid::Uuid;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "UUID",
        (0, 0),
        |_| Ok(ExprType { collation: Collation::Utf8mb3GeneralCi, ..bounded_text(36, false) }),
        |_, _, _| Ok(Value::string(text(new()))),
    )
    .volatility(Volatility::Volatile),
    Function::new(
        "UUID_SHORT",
        (0, 0),
        |_| Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, false)),
        |_, _, _| Ok(Value::UInt(SHORT.fetch_add(1, Ordering::Relaxed))),
    )
    .volatility(Volatility::Volatile),
    Function::new("UUID_TO_BIN", (1, 2), |_| Ok(binary_string(16, true)), uuid_to_bin),
    Function::new("BIN_TO_UUID", (1, 2), |_| Ok(bounded_text(36, true)), bin_to_uuid).own_text(),
    Function::new("IS_UUID", (1, 1), bigint_or_null, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(parse(&s).is_some().into())))
    })
    .condition(),
];

/// The server's number, its start time, and a counter.
static SHORT: LazyLock<AtomicU64> = LazyLock::new(|| {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    AtomicU64::new((1 << 56) + ((seconds & 0xFFFF_FFFF) << 24))
});

/// The node and clock sequence: random, and fixed as long as the process runs.
static NODE: LazyLock<[u8; 8]> = LazyLock::new(|| {
    let mut node = [0; 8];
    // Without random bytes the node is zero.
    let _ = super::digest::fill_random(&mut node);
    node[0] = node[0] & 0x3F | 0x80;
    // The multicast bit, which no network card's address has.
    node[2] |= 1;
    node
});

/// The last timestamp used.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Makes a version 1 identifier: 100 nanoseconds since 1582-10-15, never the same twice.
fn new() -> Uuid {
    const EPOCH: u64 = 0x01B2_1DD2_1381_4000;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = (since.as_nanos() / 100) as u64 + EPOCH;
    let mut time = now;
    // The update cannot fail: the closure always returns a value.
    let _ = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        time = now.max(last + 1);
        Some(time)
    });
    let (low, middle, high) = (time as u32, (time >> 32) as u16, (time >> 48) as u16);
    Uuid::from_fields(low, middle, high & 0x0FFF | 0x1000, &NODE)
}

fn text(uuid: Uuid) -> String {
    uuid.hyphenated().to_string()
}

/// Reads the form with dashes, also in braces, or 32 digits without either.
fn parse(text: &[u8]) -> Option<Uuid> {
    // The form of a URN is longer, and MySQL does not know it.
    Uuid::try_parse_ascii(text).ok().filter(|_| text.len() <= 38)
}

/// Whether the second argument asks for the time parts in order, most significant first.
fn swaps(cx: &mut EvalContext<'_>, values: &[Value]) -> Result<bool, MysqlError> {
    match values.get(1) {
        Some(flag) => Ok(operand::truth(flag, cx)? == Some(true)),
        None => Ok(false),
    }
}

fn uuid_to_bin(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let Some(uuid) = parse(&s) else {
        let shown = String::from_utf8_lossy(&s);
        return Err(MysqlError::wrong_value_for_function("string", shown, "uuid_to_bin"));
    };
    let u = uuid.as_bytes();
    Ok(Value::bytes(match swaps(cx, values)? {
        true => [&u[6..8], &u[4..6], &u[..4], &u[8..]].concat(),
        false => u.to_vec(),
    }))
}

fn bin_to_uuid(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let Ok(b) = <[u8; 16]>::try_from(&*s) else {
        let shown = String::from_utf8_lossy(&s);
        return Err(MysqlError::wrong_value_for_function("string", shown, "bin_to_uuid"));
    };
    let ordered = match swaps(cx, values)? {
        true => [&b[4..8], &b[2..4], &b[..2], &b[8..]].concat(),
        false => b.to_vec(),
    };
    Ok(Value::string(text(Uuid::from_bytes(<[u8; 16]>::try_from(ordered.as_slice()).unwrap_or(b)))))
}
