//! Converts text to the bytes of its character set, and text and bytes to another character set.
//!
//! Text is stored as UTF-8 whatever its character set is. Where an expression asks for its bytes, these functions
//! make the bytes of the character set, if it is not UTF-8.

use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::error::errno::ER_INVALID_CHARACTER_STRING;
use leafline_types::output::room_for;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("BYTES_OF_TEXT", (1, 1), bytes_type, bytes_of_text).special(),
    // The maker of the call sets its type.
    Function::new("TEXT_OF_CHARSET", (1, 1), |args| Ok(args[0].ty.clone()), text_of_charset).special(),
];

/// The most bytes of a character in any character set.
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

/// Converts to the call's character set. A question mark replaces a character that the set lacks; bytes are read as
/// text of the set.
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
