//! Functions of lists: FIELD, ELT, FIND_IN_SET, MAKE_SET, EXPORT_SET, INTERVAL.

use super::args::{Made, integer, low_bits, nullable, string};
use crate::eval_operand as operand;
use crate::function::{Call, Function};
use crate::{CompareDomain, EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("FIELD", (2, usize::MAX), field_type, field),
    Function::new("ELT", (2, usize::MAX), elt_type, elt).numbers(&[0]),
    Function::new("FIND_IN_SET", (2, 2), find_in_set_type, find_in_set).texts(),
    Function::new("MAKE_SET", (2, usize::MAX), make_set_type, make_set).numbers(&[0]),
    Function::new("EXPORT_SET", (3, 5), export_set_type, export_set).numbers(&[0, 4]),
    Function::new("INTERVAL", (2, usize::MAX), |_| Ok(build::bigint(false)), interval).special().numeric(),
];

fn length(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql)
}

fn field_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    if let CompareDomain::String(_) = field_domain(args)? {
        build::compared_by("field", &args.iter().collect::<Vec<_>>())?;
    }
    Ok(build::bigint(false))
}

/// Returns the domain in which FIELD compares: strings, integers or decimals if all arguments are, otherwise doubles.
/// Numbers beside NULL, which is a string to MySQL, are doubles.
fn field_domain(args: &[Expr]) -> Result<CompareDomain, MysqlError> {
    let has_null = args.iter().any(|a| a.ty.sql == SqlType::Null);
    let known = || args.iter().map(|a| &a.ty.sql).filter(|ty| **ty != SqlType::Null);
    Ok(if known().all(|ty| ty.is_string() || ty.is_temporal()) {
        let (collation, coercibility) = build::merge_collations("field", args.iter().map(|a| &a.ty))?;
        match coercibility >= Coercibility::Numeric {
            true => CompareDomain::String(build::TEXT_OF_NUMBER),
            false => CompareDomain::String(collation),
        }
    } else if has_null {
        CompareDomain::Double
    } else if known().all(SqlType::is_integer) {
        CompareDomain::Integer
    } else if known().all(|ty| ty.is_integer() || matches!(ty, SqlType::Decimal { .. })) {
        CompareDomain::Decimal
    } else {
        CompareDomain::Double
    })
}

fn field(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some((wanted, list)) = values.split_first() else { return Ok(Value::Null) };
    let domain = field_domain(call.args)?;
    for (n, v) in list.iter().enumerate() {
        if domain == CompareDomain::Integer {
            // As in MySQL, compares the 64 bits, whatever their sign.
            if integer_bits(wanted).is_some() && integer_bits(wanted) == integer_bits(v) {
                return Ok(Value::Int(n as i64 + 1));
            }
            continue;
        }
        let order =
            operand::compare(domain, (wanted, &call.args[0].ty.sql), (v, &call.args[n + 1].ty.sql), cx)?;
        if order.is_some_and(|o| o.is_eq()) {
            return Ok(Value::Int(n as i64 + 1));
        }
    }
    Ok(Value::Int(0))
}

fn integer_bits(v: &Value) -> Option<u64> {
    match v {
        Value::Int(v) => Some(*v as u64),
        Value::UInt(v) => Some(*v),
        _ => None,
    }
}

fn elt_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let longest = args[1..].iter().map(length).max().unwrap_or(0);
    string("elt", &args[1..].iter().collect::<Vec<_>>(), longest, true)
}

fn elt(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(number) = integer(&values[0], cx)? else { return Ok(Value::Null) };
    match usize::try_from(number) {
        Ok(n @ 1..) if n < values.len() => match call.text(values, n) {
            Some(text) => call.string(text),
            None => Ok(Value::Null),
        },
        _ => Ok(Value::Null),
    }
}

fn find_in_set_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    build::compared_by("find_in_set", &[&args[0], &args[1]])?;
    super::args::bigint(args)
}

fn find_in_set(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(wanted), Some(list)) = (call.text(values, 0), call.text(values, 1)) else {
        return Ok(Value::Null);
    };
    let (mut collation, coercibility) =
        build::merge_collations("find_in_set", call.args.iter().map(|a| &a.ty))?;
    if coercibility >= Coercibility::Numeric {
        collation = build::TEXT_OF_NUMBER;
    }
    if list.is_empty() {
        return Ok(Value::Int(0));
    }
    let mut steps = cx.steps();
    for (n, member) in list.split(|b| *b == b',').enumerate() {
        steps.take(member.len() + wanted.len() + 1)?;
        if collation.compare(member, &wanted).is_eq() {
            return Ok(Value::Int(n as i64 + 1));
        }
    }
    Ok(Value::Int(0))
}

fn make_set_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let longest = args[1..].iter().map(|a| length(a) + 1).sum();
    string("make_set", &args[1..].iter().collect::<Vec<_>>(), longest, args[0].ty.nullable)
}

fn make_set(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(bits) = super::bits::bits(&values[0], &call.args[0].ty.sql, cx)? else { return Ok(Value::Null) };
    call.made(cx, values, |out| {
        let mut first = true;
        for n in (0..(values.len() - 1).min(64)).filter(|n| bits >> n & 1 == 1) {
            let Some(text) = call.text(values, n + 1) else { continue };
            if !std::mem::take(&mut first) {
                out.push_byte(b',')?;
            }
            out.push(&text)?;
        }
        Ok(Made::String)
    })
}

fn export_set_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let one = length(&args[1]).max(length(&args[2]));
    let between = args.get(3).map_or(1, length);
    let texts: Vec<&Expr> = args[1..].iter().take(3).collect();
    string("export_set", &texts, one * 64 + between * 63, nullable(args))
}

/// Writes the bits from the lowest on, each as one of two texts.
fn export_set(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(bits) = super::bits::bits(&values[0], &call.args[0].ty.sql, cx)? else { return Ok(Value::Null) };
    let (Some(on), Some(off)) = (call.text(values, 1), call.text(values, 2)) else { return Ok(Value::Null) };
    let separator = match values.len() {
        3 => Some(b",".as_slice().into()),
        _ => call.text(values, 3),
    };
    let Some(separator) = separator else { return Ok(Value::Null) };
    let count = match values.get(4) {
        None => 64,
        Some(count) => match low_bits(count, cx)? {
            Some(count) => count.min(64),
            None => return Ok(Value::Null),
        },
    };
    call.made(cx, values, |out| {
        for n in 0..count {
            if n > 0 {
                out.push(&separator)?;
            }
            out.push(if bits >> n & 1 == 1 { &on } else { &off })?;
        }
        Ok(Made::String)
    })
}

/// Returns how many of the numbers behind the first, which ascend, are at most the first; -1 for NULL.
fn interval(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    if values[0].is_null() {
        return Ok(Value::Int(-1));
    }
    let exact = |e: &Expr| e.ty.sql.is_integer() || matches!(e.ty.sql, SqlType::Decimal { .. });
    let domain = if call.args.iter().all(exact) { CompareDomain::Decimal } else { CompareDomain::Double };
    for (n, v) in values.iter().enumerate().skip(1) {
        // A NULL bounds nothing.
        let bound = (v, &call.args[n].ty.sql);
        let order = operand::compare(domain, bound, (&values[0], &call.args[0].ty.sql), cx)?;
        if order.is_some_and(|o| o.is_gt()) {
            return Ok(Value::Int(n as i64 - 1));
        }
    }
    Ok(Value::Int(values.len() as i64 - 1))
}
