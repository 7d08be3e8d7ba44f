//! FORMAT: numbers with separators, as a locale writes them.

use super::args::{bounded_text, integer};
use crate::eval_operand as operand;
use crate::function::{Call, Function};
use crate::locale::{ENGLISH, Locale, locale};
use crate::{EvalContext, Expr, build};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("FORMAT", (2, 3), format_type, format).own_text().numeric(),
    Function::new(
        "FORMAT_BYTES",
        (1, 1),
        |_| Ok(bounded_text(11, true)),
        |cx, _, values| {
            Ok(operand::double(&values[0], cx)?
                .map_or(Value::Null, |n| Value::string(in_units(n, &BYTES, 4))))
        },
    )
    .numeric(),
    Function::new(
        "FORMAT_PICO_TIME",
        (1, 1),
        |_| Ok(bounded_text(11, true)),
        |cx, _, values| {
            Ok(operand::double(&values[0], cx)?
                .map_or(Value::Null, |n| Value::string(in_units(n, &TIMES, 3))))
        },
    )
    .numeric(),
];

/// Units with their sizes, the smallest first.
type Units = [(&'static str, f64)];

const BYTES: [(&str, f64); 7] = [
    ("bytes", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
    ("EiB", 1_152_921_504_606_846_976.0),
];
/// The units of time, in picoseconds.
const TIMES: [(&str, f64); 8] = [
    ("ps", 1.0),
    ("ns", 1e3),
    ("us", 1e6),
    ("ms", 1e9),
    ("s", 1e12),
    ("min", 6e13),
    ("h", 3.6e15),
    ("d", 8.64e16),
];

/// Writes a number in the largest unit that is not larger than it; `width` is that of numbers in the smallest unit.
fn in_units(number: f64, units: &Units, width: usize) -> String {
    let (unit, size) = units.iter().rev().find(|(_, size)| number.abs() >= *size).unwrap_or(&units[0]);
    let value = number / size;
    if *size == 1.0 {
        format!("{:width$} {unit}", value.trunc())
    } else if value.abs() >= 100_000.0 {
        let exponent = value.abs().log10().floor() as i32;
        format!("{:.2}e+{exponent:02} {unit}", value / 10f64.powi(exponent))
    } else {
        format!("{value:4.2} {unit}")
    }
}

/// The most digits after the point.
const MOST_DIGITS: i64 = 30;

fn format_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let digits = build::text_length(&args[0].ty.sql);
    Ok(bounded_text(digits + digits / 3 + MOST_DIGITS as u64 + 2, true))
}

fn format(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(digits) = integer(&values[1], cx)? else { return Ok(Value::Null) };
    // As in MySQL, the lower 32 of 64 bits.
    let digits = i64::from(digits as i32).clamp(0, MOST_DIGITS) as u8;
    let locale = match values.get(2) {
        Some(Value::Null) | None => &ENGLISH,
        Some(_) => {
            let name = call.text(values, 2).unwrap_or_default();
            let name = String::from_utf8_lossy(&name);
            match locale(&name) {
                Some(found) => found,
                None => {
                    cx.warn(MysqlError::unknown_locale(name))?;
                    &ENGLISH
                }
            }
        }
    };
    let exact = |ty: &SqlType| ty.is_integer() || matches!(ty, SqlType::Decimal { .. });
    let text = if exact(&call.args[0].ty.sql) {
        let Some(d) = operand::decimal(&values[0], cx)? else { return Ok(Value::Null) };
        match d.round(digits.into()) {
            Some(rounded) => rounded.to_string(),
            None => d.to_string(),
        }
    } else {
        let Some(d) = operand::double(&values[0], cx)? else { return Ok(Value::Null) };
        fixed(super::rounding::double_digits(d, digits.into(), true), digits)
    };
    Ok(Value::string(grouped(&text, digits, locale)))
}

/// Returns the digits of a double, with zeros behind them.
fn fixed(v: f64, digits: u8) -> String {
    match Decimal::from_f64(v).and_then(|d| d.round(digits.into())) {
        Some(d) => d.to_string(),
        // Beyond 65 digits there are none after the point.
        None => v.to_string(),
    }
}

/// Writes a number's text with `digits` digits after the point, and separators between the groups before it.
fn grouped(text: &str, digits: u8, locale: &Locale) -> String {
    let (sign, number) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut out = String::from(sign);
    for (n, digit) in whole.chars().enumerate() {
        let left = whole.len() - n;
        if n > 0 && (locale.groups)(left) {
            out.push_str(locale.separator);
        }
        out.push(digit);
    }
    if digits > 0 {
        out.push_str(locale.point);
        out.push_str(fraction);
        (fraction.len()..digits.into()).for_each(|_| out.push('0'));
    }
    out
}
