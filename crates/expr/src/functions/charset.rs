//! Text in the bytes of its character set, and text brought into one.
//!
//! Text is UTF-8 whatever its character set is. Where its bytes are asked for, those of the character set are made for the occasion, if they are
//! not UTF-8.

use super::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::error::errno::ER_INVALID_CHARACTER_STRING;
use leafline_types::output::room_for;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("BYTES_OF_TEXT", (1, 1), bytes_type, bytes_of_text).special(),
    // Its type is that of the call's maker.
    Function::new("TEXT_OF_CHARSET", (1, 1), |args| Ok(args[0].ty.clone()), text_of_charset).special(),
];

/// Bytes of a character, in the character set that has the longest.
const MOST_BYTES: u64 = 4;

fn bytes_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let len = (build::text_length(&args[0].ty.sql) * MOST_BYTES).min(u32::MAX.into()) as u32;
    let sql = SqlType::Varbinary { len };
    Ok(ExprType::string(sql, args[0].ty.nullable, leafline_types::Collation::Binary, Coercibility::Coercible))
}

fn bytes_of_text(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let charset = call.args[0].ty.collation.charset();
    Ok(match &values[0] {
        Value::String(text) => Value::bytes(charset.encode_long(text, cx.cancel)?),
        other => other.clone(),
    })
}

/// A question mark stands for what the set has not. Bytes are read as text of the set.
fn text_of_charset(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let charset = call.ty.collation.charset();
    let text = match &values[0] {
        Value::Null => return Ok(Value::Null),
        Value::Bytes(bytes) => match charset.decode_long(bytes, cx.cancel) {
            Ok(text) => text.into(),
            Err(e) if e.code != ER_INVALID_CHARACTER_STRING => return Err(e),
            Err(e) => {
                cx.warn(e)?;
                return Ok(Value::Null);
            }
        },
        other => leafline_types::convert::to_text(other, &call.args[0].ty.sql).unwrap_or_default(),
    };
    let text = charset.replaced_foreign(&text, cx.cancel)?;
    room_for(text.len())?;
    Ok(Value::string(&*text))
}
