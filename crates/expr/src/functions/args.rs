//! Helpers of the kernels: reading arguments as the type a function wants, making results, common type rules.

use std::borrow::Cow;

use crate::characters::offset;
use crate::eval_operand as operand;
use crate::function::{Call, longest};
use crate::{EvalContext, Expr, build};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::output::{Output, Stop, room_for};
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// Whether any argument can be NULL.
pub(super) fn nullable(args: &[Expr]) -> bool {
    args.iter().any(|a| a.ty.nullable)
}

/// Returns BIGINT, nullable if an argument is.
pub(super) fn bigint(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(build::bigint(nullable(args)))
}

/// Returns nullable BIGINT, for functions that are NULL for invalid text.
pub(super) fn bigint_or_null(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(build::bigint(true))
}

/// Returns DOUBLE, nullable if an argument is.
pub(super) fn double(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Double, nullable(args)))
}

/// Returns nullable DOUBLE.
pub(super) fn double_or_null(_: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(ExprType::numeric(SqlType::Double, true))
}

/// Returns a string of up to `length` characters, of the common collation of these arguments.
pub(super) fn string(
    name: &str,
    args: &[&Expr],
    length: u64,
    nullable: bool,
) -> Result<ExprType, MysqlError> {
    let (mut collation, coercibility) = build::merge_operands(name, args)?;
    if coercibility >= Coercibility::Numeric {
        collation = build::TEXT_OF_NUMBER;
    }
    let length = length.min(u32::MAX.into());
    let sql = if collation == Collation::Binary {
        SqlType::Varbinary { len: length as u32 }
    } else {
        build::text_type(length)
    };
    Ok(ExprType::string(sql, nullable, collation, coercibility.min(Coercibility::Coercible)))
}

/// Returns the type of text that a function makes itself, of up to `length` characters: digits, names and the like.
pub(super) fn bounded_text(length: u64, nullable: bool) -> ExprType {
    let sql = build::text_type(length.min(u32::MAX.into()));
    ExprType::string(sql, nullable, build::TEXT_OF_NUMBER, Coercibility::Coercible)
}

/// Returns a binary string of up to `length` bytes.
pub(super) fn binary_string(length: u64, nullable: bool) -> ExprType {
    let sql = SqlType::Varbinary { len: length.min(u32::MAX.into()) as u32 };
    ExprType::string(sql, nullable, Collation::Binary, Coercibility::Coercible)
}

/// Returns text in the system's character set, which names have.
pub(super) fn system_string(length: u32, nullable: bool) -> ExprType {
    let sql = SqlType::Varchar { len: length };
    ExprType::string(sql, nullable, Collation::Utf8mb3GeneralCi, Coercibility::SystemConstant)
}

/// Returns the value of an argument that is a literal integer.
pub(super) fn literal_integer(arg: &Expr) -> Option<i64> {
    match arg.as_literal() {
        Some(Value::Int(v)) => Some(*v),
        Some(Value::UInt(v)) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        _ => None,
    }
}

/// The result of a call whose string is written.
pub(super) enum Made {
    /// The string that was written.
    String,
    /// NULL.
    Null,
}

impl<'a> Call<'a> {
    /// Returns the bytes of argument `n`; None for NULL.
    pub(super) fn text<'v>(&self, values: &'v [Value], n: usize) -> Option<Cow<'v, [u8]>> {
        operand::text(values.get(n)?, &self.args[n].ty.sql)
    }

    /// Whether the result is a binary string, so that positions count bytes.
    pub(super) fn bytewise(&self) -> bool {
        self.ty.sql.is_bytes()
    }

    /// Makes a string of the result's type.
    pub(super) fn string(&self, bytes: impl AsRef<[u8]>) -> Result<Value, MysqlError> {
        let bytes = bytes.as_ref();
        room_for(bytes.len())?;
        if self.bytewise() {
            return Ok(Value::bytes(bytes));
        }
        str::from_utf8(bytes).map(Value::string).map_err(|e| {
            let shown = bytes[e.valid_up_to()..].iter().take(6).map(|b| format!("\\x{b:02X}"));
            MysqlError::invalid_character_string("utf8mb4", shown.collect::<String>())
        })
    }

    /// Makes a string of the result's type with `write`; NULL if `write` returns that, and, with a warning, if the
    /// string would be too long.
    pub(super) fn made<'c>(
        &self,
        cx: &mut EvalContext<'c>,
        values: &[Value],
        write: impl FnOnce(&mut Output<'c>) -> Result<Made, Stop>,
    ) -> Result<Value, MysqlError> {
        self.made_as(cx, values, write, |bytes| self.string(bytes))
    }

    /// Makes a binary string like [`made`](Self::made), whatever the type of the result.
    pub(super) fn made_bytes<'c>(
        &self,
        cx: &mut EvalContext<'c>,
        values: &[Value],
        write: impl FnOnce(&mut Output<'c>) -> Result<Made, Stop>,
    ) -> Result<Value, MysqlError> {
        self.made_as(cx, values, write, |bytes| Ok(Value::bytes(bytes)))
    }

    fn made_as<'c>(
        &self,
        cx: &mut EvalContext<'c>,
        values: &[Value],
        write: impl FnOnce(&mut Output<'c>) -> Result<Made, Stop>,
        value: impl FnOnce(&[u8]) -> Result<Value, MysqlError>,
    ) -> Result<Value, MysqlError> {
        let mut out = Output::new(cx.sql_mode.max_result.max(longest(values)), cx.cancel);
        match write(&mut out) {
            Ok(Made::String) => {
                room_for(out.len())?;
                value(out.as_bytes())
            }
            Ok(Made::Null) => Ok(Value::Null),
            Err(Stop::TooLong) => self.too_long(cx),
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

/// Returns the value as an integer: rounds decimals and doubles, reads the number at the front of a text. Clamps to
/// 64 bits. None for NULL.
pub(super) fn integer(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<i64>, MysqlError> {
    Ok(match v {
        Value::Null => None,
        Value::Int(v) => Some(*v),
        Value::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        Value::Double(d) => Some(d.round_ties_even() as i64),
        Value::String(_) | Value::Bytes(_) => match operand::cast(v, &SqlType::Null, &SqlType::BIGINT, cx)? {
            Value::Int(v) => Some(v),
            _ => None,
        },
        _ => operand::decimal(v, cx)?
            .map(|d| d.to_i64().unwrap_or(if d.is_negative() { i64::MIN } else { i64::MAX })),
    })
}

/// Returns the low 32 bits of the value as an integer, for arguments of which MySQL uses only these, whatever the
/// sign. None for NULL.
pub(super) fn low_bits(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<u32>, MysqlError> {
    match v {
        Value::UInt(v) => Ok(Some(*v as u32)),
        v => Ok(integer(v, cx)?.map(|v| v as u32)),
    }
}

/// Returns at most `count` characters of `text` from character `from` on (bytes if `bytewise`); fewer if the text
/// ends.
pub(super) fn characters(text: &[u8], bytewise: bool, from: usize, count: usize) -> &[u8] {
    let start = offset(text, bytewise, from);
    let rest = &text[start..];
    &rest[..offset(rest, bytewise, count)]
}
