//! Hashes, checksums, compression and random bytes.

use md5::{Digest, Md5};
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::args::{Made, binary_string, bounded_text, integer, nullable};
use super::math::out_of_range_argument;
use crate::function::{Call, Function, Volatility};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::output::{BYTES_BETWEEN_CHECKS, Output, Stop, room_for};
use leafline_types::statement::CancelTicker;
use leafline_types::value::{ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("MD5", (1, 1), hash_type::<32>, |cx, call, values| {
        digest::<Md5>(cx, call.text(values, 0).as_deref())
    })
    .texts()
    .own_text()
    .bytes(),
    Function::new("SHA1", (1, 1), hash_type::<40>, |cx, call, values| {
        digest::<Sha1>(cx, call.text(values, 0).as_deref())
    })
    .texts()
    .own_text()
    .bytes()
    .aliases(&["SHA"]),
    Function::new("SHA2", (2, 2), |_| Ok(bounded_text(128, true)), sha2).own_text().bytes().numbers(&[1]),
    Function::new("CRC32", (1, 1), super::args::bigint, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(crc32(&s).into())))
    })
    .bytes(),
    Function::new("RANDOM_BYTES", (1, 1), |args| Ok(binary_string(1024, nullable(args))), random_bytes)
        .numbers(&[0])
        .volatility(Volatility::Volatile),
    Function::new("COMPRESS", (1, 1), compress_type, compress).bytes(),
    Function::new("UNCOMPRESS", (1, 1), |_| Ok(binary_string(u32::MAX.into(), true)), uncompress).bytes(),
    Function::new("UNCOMPRESSED_LENGTH", (1, 1), super::args::bigint, uncompressed_length).bytes(),
];

fn hash_type<const LENGTH: u64>(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(bounded_text(LENGTH, nullable(args)))
}

fn sha2(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let bits = integer(&values[1], cx)?;
    let (Some(s), Some(bits)) = (call.text(values, 0), bits) else { return Ok(Value::Null) };
    match bits {
        0 | 256 => digest::<Sha256>(cx, Some(&s)),
        224 => digest::<Sha224>(cx, Some(&s)),
        384 => digest::<Sha384>(cx, Some(&s)),
        512 => digest::<Sha512>(cx, Some(&s)),
        _ => {
            cx.warn(MysqlError::wrong_parameters("sha2"))?;
            Ok(Value::Null)
        }
    }
}

/// Returns the hexadecimal digits of a hash; NULL for NULL.
fn digest<D: Digest>(cx: &EvalContext<'_>, s: Option<&[u8]>) -> Result<Value, MysqlError> {
    let Some(s) = s else { return Ok(Value::Null) };
    let (mut digest, mut steps) = (D::new(), cx.steps());
    for piece in s.chunks(BYTES_BETWEEN_CHECKS) {
        digest.update(piece);
        steps.take(piece.len())?;
    }
    Ok(Value::string(hex::encode(digest.finalize())))
}

/// Returns the CRC-32 of Ethernet, zlib and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut n = 0;
        while n < 256 {
            let mut c = n as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 };
                bit += 1;
            }
            table[n] = c;
            n += 1;
        }
        table
    };
    !bytes.iter().fold(!0u32, |c, b| TABLE[usize::from(c as u8 ^ b)] ^ (c >> 8))
}

fn random_bytes(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(count) = integer(&values[0], cx)? else { return Ok(Value::Null) };
    let Some(count) = usize::try_from(count).ok().filter(|n| (1..=1024).contains(n)) else {
        return Err(out_of_range_argument("length", call));
    };
    let mut bytes = vec![0; count];
    fill_random(&mut bytes)?;
    Ok(Value::bytes(bytes))
}

/// Fills `bytes` from the system's secure random source.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), MysqlError> {
    rand::TryRngCore::try_fill_bytes(&mut rand::rngs::OsRng, bytes).map_err(MysqlError::internal)
}

/// The length in bytes of the header of compressed data: the uncompressed length, 30 bits, little-endian.
const HEADER: usize = 4;

fn compress_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let bytes = build::text_length(&args[0].ty.sql) * if args[0].ty.sql.is_character() { 4 } else { 1 };
    Ok(binary_string(bytes + bytes / 100 + 120, nullable(args)))
}

/// Returns the header and a zlib stream. If the stream ends in a space, a full stop follows, because columns that
/// drop trailing spaces would damage it.
fn compress(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    if s.is_empty() {
        return Ok(Value::bytes(Vec::new()));
    }
    if s.len() > cx.sql_mode.max_result {
        return call.too_long(cx);
    }
    call.made_bytes(cx, values, |out| {
        out.push(&(s.len() as u32 & 0x3FFF_FFFF).to_le_bytes())?;
        put_compressed(&s, out)?;
        if out.as_bytes().ends_with(b" ") {
            out.push_byte(b'.')?;
        }
        Ok(Made::String)
    })
}

/// Writes a zlib stream.
fn put_compressed(s: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
    use miniz_oxide::deflate::core::{
        CompressorOxide, TDEFLFlush, TDEFLStatus, compress_to_output, create_comp_flags_from_zip_params,
    };
    const LEVEL: i32 = 6;
    const ZLIB_WINDOW: i32 = 1;
    const DEFAULT_STRATEGY: i32 = 0;
    let mut compressor =
        CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, ZLIB_WINDOW, DEFAULT_STRATEGY));
    let mut pieces = s.chunks(BYTES_BETWEEN_CHECKS).peekable();
    while let Some(piece) = pieces.next() {
        out.read(piece.len())?;
        let flush = if pieces.peek().is_some() { TDEFLFlush::None } else { TDEFLFlush::Finish };
        let mut left = piece;
        loop {
            let mut stopped = None;
            let (status, used) = compress_to_output(&mut compressor, left, flush, |made| {
                stopped = out.push(made).err();
                stopped.is_none()
            });
            if let Some(stop) = stopped {
                return Err(stop);
            }
            left = &left[used..];
            match status {
                TDEFLStatus::Done => return Ok(()),
                TDEFLStatus::Okay if left.is_empty() && pieces.peek().is_some() => break,
                TDEFLStatus::Okay => {}
                _ => return Err(MysqlError::internal("a string that cannot be compressed").into()),
            }
        }
    }
    Ok(())
}

/// Returns the length in the header; None if there is no header.
fn stored_length(s: &[u8]) -> Option<usize> {
    let header = s.get(..HEADER).filter(|_| s.len() > HEADER)?;
    let length = u32::from_le_bytes(header.try_into().ok()?) & 0x3FFF_FFFF;
    Some(length as usize)
}

fn uncompress(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    if s.is_empty() {
        return Ok(Value::bytes(Vec::new()));
    }
    let Some(length) = stored_length(&s) else {
        cx.warnings.warn(MysqlError::corrupted_compressed_data());
        return Ok(Value::Null);
    };
    if length > cx.sql_mode.max_result {
        cx.warnings.warn(MysqlError::uncompressed_data_too_large(cx.sql_mode.max_result));
        return Ok(Value::Null);
    }
    room_for(length)?;
    match inflated(s.get(HEADER..).unwrap_or_default(), length, &mut cx.steps())? {
        Some(bytes) => Ok(Value::bytes(bytes)),
        None => {
            cx.warnings.warn(MysqlError::corrupted_compressed_data());
            Ok(Value::Null)
        }
    }
}

/// Inflates a zlib stream; None if it is damaged, or holds more than `most` bytes.
fn inflated(stream: &[u8], most: usize, steps: &mut CancelTicker<'_>) -> Result<Option<Vec<u8>>, MysqlError> {
    let mut state = InflateState::new_boxed(DataFormat::Zlib);
    let mut out = vec![0; most];
    let (mut read, mut written) = (0, 0);
    loop {
        let end = (written + BYTES_BETWEEN_CHECKS).min(most);
        // At the limit, room for one byte tells whether there is more.
        let mut beyond = [0];
        let is_full = written == most;
        let room = if is_full { &mut beyond[..] } else { out.get_mut(written..end).unwrap_or_default() };
        let made = inflate(&mut state, stream.get(read..).unwrap_or_default(), room, MZFlush::None);
        if is_full && made.bytes_written > 0 {
            return Ok(None);
        }
        read += made.bytes_consumed;
        written += made.bytes_written;
        steps.take(made.bytes_written)?;
        match made.status {
            Ok(MZStatus::StreamEnd) => {
                out.truncate(written);
                return Ok(Some(out));
            }
            Ok(_) if made.bytes_consumed > 0 || made.bytes_written > 0 => {}
            _ => return Ok(None),
        }
    }
}

fn uncompressed_length(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    if s.is_empty() {
        return Ok(Value::Int(0));
    }
    match stored_length(&s) {
        Some(length) => Ok(Value::Int(length as i64)),
        None => {
            cx.warnings.warn(MysqlError::corrupted_compressed_data());
            Ok(Value::Int(0))
        }
    }
}
