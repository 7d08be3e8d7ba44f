//! AES_ENCRYPT and AES_DECRYPT.

use super::args::{binary_string, nullable};
use crate::block_encryption::{BLOCK, Block, BlockEncryption};
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::statement::CancelTicker;
use leafline_types::value::{ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("AES_ENCRYPT", (2, 3), encrypted_type, |cx, call, values| {
        aes(cx, call, values, |encryption, key, iv, text, steps| {
            encryption.encrypt(key, iv, text, steps).map(Some)
        })
    })
    .bytes(),
    Function::new("AES_DECRYPT", (2, 3), decrypted_type, |cx, call, values| {
        aes(cx, call, values, BlockEncryption::decrypt)
    })
    .bytes(),
];

fn bytes_of(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql) * if arg.ty.sql.is_character() { 4 } else { 1 }
}

fn encrypted_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(binary_string((bytes_of(&args[0]) / BLOCK as u64 + 1) * BLOCK as u64, nullable(args)))
}

fn decrypted_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(binary_string(bytes_of(&args[0]), true))
}

/// A function that encrypts or decrypts, given a key and an initialization vector.
type Application =
    fn(BlockEncryption, &[u8], &Block, &[u8], &mut CancelTicker<'_>) -> Result<Option<Vec<u8>>, MysqlError>;

fn aes(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    apply: Application,
) -> Result<Value, MysqlError> {
    let encryption = cx.sql_mode.block_encryption;
    let name = call.function.definition().name.to_ascii_lowercase();
    let mut iv = Block::default();
    match (encryption.takes_vector(), values.len()) {
        (false, 2) => {}
        (false, _) => cx.warnings.warn(MysqlError::option_ignored("IV")),
        (_, 2) => return Err(MysqlError::wrong_parameter_count(name)),
        _ => {
            let Some(given) = call.text(values, 2) else { return Ok(Value::Null) };
            let first = given.get(..BLOCK).ok_or_else(|| MysqlError::aes_iv_too_short(name, BLOCK))?;
            iv.copy_from_slice(first);
        }
    }
    let (Some(text), Some(key)) = (call.text(values, 0), call.text(values, 1)) else {
        return Ok(Value::Null);
    };
    room_for(text.len() * 2)?;
    Ok(apply(encryption, &key, &iv, &text, &mut cx.steps())?.map_or(Value::Null, Value::bytes))
}
