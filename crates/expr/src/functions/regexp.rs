//! Regular expressions: REGEXP, RLIKE and the functions REGEXP_LIKE, _INSTR, _SUBSTR and _REPLACE.
//!
//! Positions count characters from 1 (bytes for binary strings). The collation decides whether case matters, unless a
//! match type does.

use std::borrow::Cow;
use std::sync::Arc;

use super::args::{Made, integer, string};
use crate::characters::{count_characters, offset};
use crate::function::{Call, Function};
use crate::regexp::{Compiled, Flags, Spans};
use crate::{EvalContext, Expr, build};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::output::{Output, Stop};
use leafline_types::value::{Coercibility, ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("REGEXP_LIKE", (2, 3), like_type, like).texts().condition(),
    Function::new("REGEXP_INSTR", (2, 6), like_type, instr).numbers(&[2, 3, 4]),
    Function::new("REGEXP_SUBSTR", (2, 5), substr_type, substr).texts().numbers(&[2, 3]),
    Function::new("REGEXP_REPLACE", (3, 6), replace_type, replace).texts().numbers(&[3, 4]),
];

/// Returns the common collation of text and pattern. Error 3995 for a binary string and a character string.
fn common_collation(name: &str, args: &[Expr]) -> Result<(Collation, Coercibility), MysqlError> {
    let binary = |e: &&Expr| e.ty.sql.is_string() && e.ty.collation == Collation::Binary;
    let text = |e: &&Expr| e.ty.sql.is_character() && e.ty.collation != Collation::Binary;
    if let (Some(first), Some(second)) = (args[..2].iter().find(binary), args[..2].iter().find(text)) {
        let names = [first.ty.collation.name(), second.ty.collation.name()];
        return Err(MysqlError::character_set_mismatch(names[0], names[1], name));
    }
    build::compared_by(name, &[&args[0], &args[1]])?;
    let merged = build::merge_collations(name, args[..2].iter().map(|a| &a.ty))?;
    Ok(if merged.1 >= Coercibility::Numeric { (build::TEXT_OF_NUMBER, merged.1) } else { merged })
}

fn like_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    common_collation("regexp_like", args)?;
    super::args::bigint(args)
}

fn substr_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    common_collation("regexp_substr", args)?;
    string("regexp_substr", &[&args[0]], build::text_length(&args[0].ty.sql), true)
}

fn replace_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    common_collation("regexp_replace", args)?;
    string("regexp_replace", &[&args[0], &args[2]], u32::MAX.into(), super::args::nullable(args))
}

/// A text, a pattern, where the search begins, and which occurrence it looks for.
struct Search<'v> {
    text: Cow<'v, [u8]>,
    regex: Arc<Compiled>,
    bytewise: bool,
    /// The byte at which to begin.
    start: usize,
    /// The occurrence, from 1; 0 for all of them (REGEXP_REPLACE).
    occurrence: usize,
}

/// Reads the arguments: the position is `values[place]`, the occurrence follows it, the match type is
/// `values[types]`. None if any is NULL.
fn search<'v>(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &'v [Value],
    place: usize,
    types: usize,
) -> Result<Option<Search<'v>>, MysqlError> {
    if values.iter().any(Value::is_null) {
        return Ok(None);
    }
    let (Some(text), Some(pattern)) = (call.text(values, 0), call.text(values, 1)) else { return Ok(None) };
    let name = call.function.definition().name.to_ascii_lowercase();
    let (collation, _) = common_collation(&name, call.args)?;
    let bytewise = collation == Collation::Binary;
    let mut flags = Flags {
        ignore_case: collation.ignores_case(),
        multi_line: false,
        dot_matches_all: false,
        unix_lines: false,
        bytes: bytewise,
    };
    if values.len() > types {
        let letters = call.text(values, types).unwrap_or_default();
        read_flags(&letters, &mut flags)?;
    }
    let number =
        |values: &[Value], n: usize, cx: &mut EvalContext<'_>| match values.get(n).filter(|_| n < types) {
            Some(v) => integer(v, cx).map(|v| v.unwrap_or(1)),
            None => Ok(1),
        };
    let from = number(values, place, cx)?;
    let all = name == "regexp_replace";
    let occurrence = match values.len() > place + 1 && place + 1 < types {
        true => number(values, place + 1, cx)?.max(if all { 0 } else { 1 }) as usize,
        false => usize::from(!all),
    };
    let have = count_characters(&text, bytewise);
    let skip = usize::try_from(from).ok().and_then(|from| from.checked_sub(1));
    let Some(skip) = skip.filter(|skip| *skip <= have) else {
        return Err(MysqlError::regexp_index_out_of_bounds());
    };
    let start = offset(&text, bytewise, skip);
    let pattern = match std::str::from_utf8(&pattern) {
        Ok(pattern) => Cow::Borrowed(pattern),
        // Bytes that are not UTF-8 are written as escapes.
        Err(_) => Cow::Owned(
            pattern
                .iter()
                .map(|b| match b {
                    0..0x80 => char::from(*b).to_string(),
                    b => format!(r"\x{b:02X}"),
                })
                .collect(),
        ),
    };
    let is_known = |(text, with): &(String, Flags)| *text == pattern && *with == flags;
    let compile = || Ok(((pattern.to_string(), flags), Compiled::new(&pattern, flags)?));
    let regex = cx.state.patterns.get(is_known, compile)?;
    Ok(Some(Search { text, regex, bytewise, start, occurrence }))
}

fn read_flags(letters: &[u8], flags: &mut Flags) -> Result<(), MysqlError> {
    for letter in letters {
        match letter {
            b'c' => flags.ignore_case = false,
            b'i' => flags.ignore_case = true,
            b'm' => flags.multi_line = true,
            b'n' => flags.dot_matches_all = true,
            b'u' => flags.unix_lines = true,
            _ => return Err(MysqlError::wrong_arguments("regexp_like")),
        }
    }
    Ok(())
}

impl Search<'_> {
    /// Returns the byte range of the occurrence.
    fn occurrence_range(&self, cx: &EvalContext<'_>) -> Result<Option<std::ops::Range<usize>>, MysqlError> {
        // As in MySQL, `^` is the beginning of the searched part of the text.
        let text = &self.text[self.start..];
        let mut steps = cx.steps();
        let (mut at, mut left) = (Some(0), self.occurrence.max(1));
        while let Some(from) = at {
            let Some(found) = self.regex.find(text, from, &mut steps)? else { return Ok(None) };
            left -= 1;
            if left == 0 {
                return Ok(Some(self.start + found.0..self.start + found.1));
            }
            at = self.regex.after(text, found);
        }
        Ok(None)
    }
}

/// Computes `REGEXP_LIKE(text, pattern[, match_type])`, `text REGEXP pattern`.
fn like(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(search) = search(cx, call, values, 2, 2)? else { return Ok(Value::Null) };
    let found = search.regex.find(&search.text, 0, &mut cx.steps())?;
    Ok(Value::Int(found.is_some().into()))
}

/// Computes `REGEXP_INSTR(text, pattern[, position[, occurrence[, return_option[, match_type]]]])`; 0 without a
/// match.
fn instr(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(search) = search(cx, call, values, 2, 5)? else { return Ok(Value::Null) };
    let after = match values.get(4) {
        Some(option) => match integer(option, cx)? {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(MysqlError::wrong_arguments("regexp_instr: return_option must be 1 or 0.")),
        },
        None => false,
    };
    Ok(Value::Int(search.occurrence_range(cx)?.map_or(0, |found| {
        let at = if after { found.end } else { found.start };
        count_characters(&search.text[..at], search.bytewise) as i64 + 1
    })))
}

/// Computes `REGEXP_SUBSTR(text, pattern[, position[, occurrence[, match_type]]])`; NULL without a match.
fn substr(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(search) = search(cx, call, values, 2, 4)? else { return Ok(Value::Null) };
    match search.occurrence_range(cx)? {
        Some(found) => call.string(&search.text[found]),
        None => Ok(Value::Null),
    }
}

/// Computes `REGEXP_REPLACE(text, pattern, replacement[, position[, occurrence[, match_type]]])`.
fn replace(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(search) = search(cx, call, values, 3, 5)? else { return Ok(Value::Null) };
    let Some(replacement) = call.text(values, 2) else { return Ok(Value::Null) };
    let Search { text, regex, start, occurrence, .. } = search;
    let searched = &text[start..];
    let mut steps = cx.steps();
    call.made(cx, values, |out| {
        out.push(&text[..start])?;
        let (mut at, mut number, mut done) = (Some(0), 0, 0);
        while let Some(from) = at
            && let Some(found) = regex.captures(searched, from, &mut steps)?
            && let Some(whole) = found.first().copied().flatten()
        {
            number += 1;
            at = regex.after(searched, whole);
            if occurrence > number {
                continue;
            }
            out.push(&searched[done..whole.0])?;
            put(&replacement, &Match { regex: &regex, text: searched, spans: &found }, out)?;
            done = whole.1;
            if occurrence > 0 {
                break;
            }
        }
        out.push(&searched[done..])?;
        Ok(Made::String)
    })
}

/// A match with its groups.
struct Match<'m> {
    regex: &'m Compiled,
    text: &'m [u8],
    spans: &'m Spans,
}

impl Match<'_> {
    /// Returns the text of a group; empty if the group took no part.
    fn group(&self, number: usize) -> &[u8] {
        match self.spans.get(number) {
            Some(Some((begin, end))) => &self.text[*begin..*end],
            _ => &[],
        }
    }
}

/// Writes a replacement with `$n` and `${name}` filled in; a backslash makes the next character literal.
fn put(replacement: &[u8], found: &Match<'_>, out: &mut Output<'_>) -> Result<(), Stop> {
    let mut rest = replacement;
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        match b {
            b'\\' => {
                if let Some((&next, after)) = rest.split_first() {
                    out.push_byte(next)?;
                    rest = after;
                }
            }
            b'$' if rest.starts_with(b"{") => {
                let end =
                    rest.iter().position(|b| *b == b'}').ok_or_else(MysqlError::regexp_illegal_argument)?;
                let name = String::from_utf8_lossy(&rest[1..end]);
                let group = found.regex.group(&name).ok_or_else(MysqlError::regexp_invalid_back_reference)?;
                out.push(found.group(group))?;
                rest = &rest[end + 1..];
            }
            b'$' => {
                // Reads as many digits as form the number of a group.
                let mut number: Option<usize> = None;
                while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
                    let longer = number.unwrap_or(0) * 10 + usize::from(digit - b'0');
                    if longer >= found.spans.len() {
                        break;
                    }
                    number = Some(longer);
                    rest = after;
                }
                let number = match (number, rest.first()) {
                    (Some(number), _) => number,
                    (None, Some(b'0'..=b'9')) => return Err(MysqlError::regexp_index_out_of_bounds().into()),
                    (None, _) => return Err(MysqlError::regexp_invalid_back_reference().into()),
                };
                out.push(found.group(number))?;
            }
            b => out.push_byte(b)?,
        }
    }
    Ok(())
}
