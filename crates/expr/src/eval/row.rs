//! The evaluator for one row, which defines every node. A lazy node evaluates only the operands it needs.

use super::super::context::EvalContext;
use super::super::datum::Row;
use super::super::function::Call;
use super::super::ir::{CompareOp, Expr, ExprKind};
use super::super::like::LikePattern;
use super::operand::{cast, compare, condition_value, conform, text, truth};
use super::{arithmetic, matching};
use leafline_types::column::{Batch, byte_len_at, value_at};
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::value::{SqlType, Value};

/// Rows of a list that are compared between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 1024;

/// A row without columns.
#[derive(Debug)]
pub(super) struct NoColumns;

impl Row for NoColumns {
    fn value(&self, column: usize, _: &SqlType) -> Result<Value, MysqlError> {
        Err(MysqlError::internal(format_args!("column #{column} in a constant expression")))
    }
}

impl Row for &[Value] {
    fn value(&self, column: usize, _: &SqlType) -> Result<Value, MysqlError> {
        self.get(column).cloned().ok_or_else(|| MysqlError::internal(format_args!("no column #{column}")))
    }
}

/// A row of a batch.
#[derive(Debug)]
pub(super) struct BatchRow<'a> {
    pub batch: &'a Batch,
    pub row: usize,
}

impl Row for BatchRow<'_> {
    fn value(&self, column: usize, ty: &SqlType) -> Result<Value, MysqlError> {
        match self.batch.columns.get(column) {
            Some(array) => {
                room_for(byte_len_at(array, self.row))?;
                Ok(value_at(array, self.row, ty))
            }
            None => Err(MysqlError::internal(format_args!("no column #{column}"))),
        }
    }
}

/// Returns the value of an expression. Afterwards only the value itself is [held](crate::context), not its operands.
pub(crate) fn value_of(e: &Expr, row: &dyn Row, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    let v = match &e.kind {
        // Literals, parameters and outer values are shared.
        ExprKind::Literal(v) => return Ok(v.clone()),
        ExprKind::Parameter(n) => return parameter(*n, cx),
        ExprKind::Outer(n) => return outer(*n, cx),
        ExprKind::Column(n) => row.value(*n, &e.ty.sql)?,
        _ => cx.releasing(|cx| computed(e, row, cx))?,
    };
    cx.hold(&v)?;
    Ok(v)
}

/// Returns the value of a node that has operands.
fn computed(e: &Expr, row: &dyn Row, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    match &e.kind {
        ExprKind::Subquery(subquery) => {
            let needle =
                subquery.needle.iter().map(|e| value_of(e, row, cx)).collect::<Result<Vec<_>, _>>()?;
            let outer = subquery.outer.iter().map(|e| value_of(e, row, cx)).collect::<Result<Vec<_>, _>>()?;
            cx.answer(subquery, &needle, &outer)
        }
        ExprKind::Program(call) => {
            let args = call.args.iter().map(|e| value_of(e, row, cx)).collect::<Result<Vec<_>, _>>()?;
            cx.call(call, &args)
        }
        ExprKind::Match(call) => {
            let values = call.operands().map(|e| value_of(e, row, cx)).collect::<Result<Vec<_>, _>>()?;
            matching::score(call, &values, cx)
        }
        ExprKind::Call { function, args } => {
            let call = Call { function: *function, args, ty: &e.ty, row };
            let value = match args.as_slice() {
                [] => call.compute(cx, &[]),
                [a] => {
                    let values = [value_of(a, row, cx)?];
                    call.compute(cx, &values)
                }
                [a, b] => {
                    let values = [value_of(a, row, cx)?, value_of(b, row, cx)?];
                    call.compute(cx, &values)
                }
                [a, b, c] => {
                    let values = [value_of(a, row, cx)?, value_of(b, row, cx)?, value_of(c, row, cx)?];
                    call.compute(cx, &values)
                }
                args => {
                    let values = args.iter().map(|a| value_of(a, row, cx)).collect::<Result<Vec<_>, _>>()?;
                    call.compute(cx, &values)
                }
            };
            finite(value?, e, cx)
        }
        ExprKind::Arithmetic { op, left, right } => {
            let left = value_of(left, row, cx)?;
            let right = value_of(right, row, cx)?;
            arithmetic::binary(e, *op, &left, &right, cx)
        }
        ExprKind::Negate(operand) => {
            let v = value_of(operand, row, cx)?;
            arithmetic::negate(e, &v, cx)
        }
        ExprKind::Case { operand, whens, otherwise } => {
            let subject = match operand {
                Some(operand) => Some((value_of(operand, row, cx)?, &operand.ty.sql)),
                None => None,
            };
            for when in whens {
                let taken = match (&subject, when.domain) {
                    (Some((subject, ty)), Some(domain)) => {
                        let v = value_of(&when.condition, row, cx)?;
                        let order = compare(domain, (subject, ty), (&v, &when.condition.ty.sql), cx)?;
                        order.is_some_and(|o| o.is_eq())
                    }
                    _ => condition_of(&when.condition, row, cx)? == Some(true),
                };
                if taken {
                    let v = value_of(&when.result, row, cx)?;
                    return conform(v, &when.result.ty.sql, &e.ty.sql, cx);
                }
            }
            match otherwise {
                Some(otherwise) => {
                    let v = value_of(otherwise, row, cx)?;
                    conform(v, &otherwise.ty.sql, &e.ty.sql, cx)
                }
                None => Ok(Value::Null),
            }
        }
        ExprKind::Coalesce(list) => {
            for candidate in list {
                let v = value_of(candidate, row, cx)?;
                if !v.is_null() {
                    return conform(v, &candidate.ty.sql, &e.ty.sql, cx);
                }
            }
            Ok(Value::Null)
        }
        ExprKind::Cast { operand } => {
            let v = value_of(operand, row, cx)?;
            cast(&v, &operand.ty.sql, &e.ty.sql, cx)
        }
        _ => condition_of(e, row, cx).map(condition_value),
    }
}

/// Returns the result of a call, or error 1690 if it is not a finite number.
#[inline]
pub(super) fn finite(value: Value, e: &Expr, cx: &EvalContext<'_>) -> Result<Value, MysqlError> {
    match value {
        Value::Double(number) if !number.is_finite() => Err(infinite(e, cx)),
        value => Ok(value),
    }
}

#[cold]
fn infinite(e: &Expr, cx: &EvalContext<'_>) -> MysqlError {
    MysqlError::data_out_of_range("DOUBLE", e.with_parameters(cx.parameters))
}

/// Returns the value of a parameter.
pub(super) fn parameter(n: usize, cx: &EvalContext<'_>) -> Result<Value, MysqlError> {
    cx.parameters.get(n).cloned().ok_or_else(|| MysqlError::wrong_arguments("EXECUTE"))
}

/// Returns a value of an enclosing query's row.
pub(super) fn outer(n: usize, cx: &EvalContext<'_>) -> Result<Value, MysqlError> {
    let value = cx.outer.get(n).cloned();
    value.ok_or_else(|| MysqlError::internal("a value of an enclosing query outside of a subquery"))
}

/// Returns the truth of an expression; None for NULL.
pub(super) fn condition_of(
    e: &Expr,
    row: &dyn Row,
    cx: &mut EvalContext<'_>,
) -> Result<Option<bool>, MysqlError> {
    cx.releasing(|cx| decided(e, row, cx))
}

fn decided(e: &Expr, row: &dyn Row, cx: &mut EvalContext<'_>) -> Result<Option<bool>, MysqlError> {
    match &e.kind {
        ExprKind::And(list) => {
            let mut all = Some(true);
            for c in list {
                match condition_of(c, row, cx)? {
                    Some(true) => {}
                    Some(false) => return Ok(Some(false)),
                    None => all = None,
                }
            }
            Ok(all)
        }
        ExprKind::Or(list) => {
            let mut any = Some(false);
            for c in list {
                match condition_of(c, row, cx)? {
                    Some(false) => {}
                    Some(true) => return Ok(Some(true)),
                    None => any = None,
                }
            }
            Ok(any)
        }
        ExprKind::Xor(left, right) => {
            let left = condition_of(left, row, cx)?;
            let right = condition_of(right, row, cx)?;
            Ok(left.zip(right).map(|(a, b)| a != b))
        }
        ExprKind::Not(operand) => Ok(condition_of(operand, row, cx)?.map(|t| !t)),
        ExprKind::Compare { op, left, right, domain } => {
            let a = value_of(left, row, cx)?;
            let b = value_of(right, row, cx)?;
            if *op == CompareOp::NullSafeEq && (a.is_null() || b.is_null()) {
                return Ok(Some(a.is_null() && b.is_null()));
            }
            let order = compare(*domain, (&a, &left.ty.sql), (&b, &right.ty.sql), cx)?;
            match order {
                None if *op == CompareOp::NullSafeEq => Ok(Some(false)),
                order => Ok(order.map(|o| op.holds(o))),
            }
        }
        ExprKind::IsNull { operand, negated } => Ok(Some(value_of(operand, row, cx)?.is_null() != *negated)),
        ExprKind::IsTruth { operand, truth, negated } => {
            Ok(Some((condition_of(operand, row, cx)? == Some(*truth)) != *negated))
        }
        ExprKind::InList { needle, list, .. } => {
            let v = value_of(needle, row, cx)?;
            in_list(e, &v, &mut |n, cx| value_of(&list[n], row, cx), cx)
        }
        ExprKind::InRows { needle, .. } => {
            let values = needle.iter().map(|part| value_of(part, row, cx)).collect::<Result<Vec<_>, _>>()?;
            in_rows(e, &values, &mut Vec::new(), cx)
        }
        ExprKind::Like { value, pattern, .. } => {
            let v = value_of(value, row, cx)?;
            let p = value_of(pattern, row, cx)?;
            like(e, &v, &p, cx)
        }
        _ => {
            let v = value_of(e, row, cx)?;
            truth(&v, cx)
        }
    }
}

/// Evaluates `IN` for the needle `v`; `member` returns the list's values.
pub(super) fn in_list(
    e: &Expr,
    v: &Value,
    member: &mut dyn FnMut(usize, &mut EvalContext<'_>) -> Result<Value, MysqlError>,
    cx: &mut EvalContext<'_>,
) -> Result<Option<bool>, MysqlError> {
    let ExprKind::InList { needle, list, negated, domain, set } = &e.kind else {
        return Err(MysqlError::internal("not an IN"));
    };
    if v.is_null() {
        return Ok(None);
    }
    if let Some(set) = set
        && let Some(found) = set.contains(v)
    {
        return Ok(if !found && set.has_null() { None } else { Some(found != *negated) });
    }
    let mut unknown = false;
    for (n, item) in list.iter().enumerate() {
        let candidate = member(n, cx)?;
        match compare(*domain, (v, &needle.ty.sql), (&candidate, &item.ty.sql), cx)? {
            Some(order) if order.is_eq() => return Ok(Some(!negated)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(*negated) })
}

/// Evaluates `IN` of rows for the row `values`; `key` is a buffer.
pub(super) fn in_rows(
    e: &Expr,
    values: &[Value],
    key: &mut Vec<u8>,
    cx: &mut EvalContext<'_>,
) -> Result<Option<bool>, MysqlError> {
    let ExprKind::InRows { needle, list, negated } = &e.kind else {
        return Err(MysqlError::internal("not an IN of rows"));
    };
    if let Some(found) = list.contains(values, key, cx.cancel)? {
        return Ok(found.map(|found| found != *negated));
    }
    let mut unknown = false;
    for row in 0..list.rows() {
        let mut equal = Some(true);
        for (((v, part), column), member) in values.iter().zip(needle).zip(list.columns()).zip(list.row(row))
        {
            let value = member.as_literal().unwrap_or(&Value::Null);
            let order = compare(column.domain, (v, &part.ty.sql), (value, &member.ty.sql), cx)?;
            match order.map(|order| order.is_eq()) {
                Some(true) => {}
                Some(false) => {
                    equal = Some(false);
                    break;
                }
                None => equal = None,
            }
        }
        match equal {
            Some(true) => return Ok(Some(!negated)),
            Some(false) => {}
            None => unknown = true,
        }
        if row % ROWS_BETWEEN_CHECKS == 0 {
            cx.cancel.check()?;
        }
    }
    Ok(if unknown { None } else { Some(*negated) })
}

/// Evaluates `LIKE` for a text and a pattern.
pub(super) fn like(e: &Expr, v: &Value, p: &Value, cx: &EvalContext<'_>) -> Result<Option<bool>, MysqlError> {
    let ExprKind::Like { value, pattern, escape, negated, collation, compiled } = &e.kind else {
        return Err(MysqlError::internal("not a LIKE"));
    };
    let Some(text_bytes) = text(v, &value.ty.sql) else { return Ok(None) };
    let matched = match compiled {
        Some(compiled) => compiled.matches_unless(&text_bytes, cx.cancel)?,
        None => {
            let Some(pattern_bytes) = text(p, &pattern.ty.sql) else { return Ok(None) };
            LikePattern::room_for(&pattern_bytes)?;
            LikePattern::new(&pattern_bytes, *escape, *collation).matches_unless(&text_bytes, cx.cancel)?
        }
    };
    Ok(Some(matched != *negated))
}
