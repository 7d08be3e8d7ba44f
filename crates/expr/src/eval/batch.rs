//! The evaluator for batches. It computes operands for all rows at once, except where that could be observed in rows
//! that a lazy node would skip: such operands are computed only for the rows that need them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use super::super::context::EvalContext;
use super::super::context::held::{ColumnBytes, LONG};
use super::super::datum::Datum;
use super::super::function::{Call, Volatility};
use super::super::ir::{CompareOp, Expr, ExprKind, FunctionId, InSet, When};
use super::super::like::LikePattern;
use super::compare_batch::Strings;
use super::lanes::{Lanes, TruthColumn, compare_constant, pack};
use super::row::{BatchRow, NoColumns};
use super::subset::{Subset, is_identity_conversion};
use super::{arithmetic_batch, asked, compare_batch, matching, operand, row};
use leafline_types::column::{Batch, ColumnBuilder, arrow_type, byte_len_at};
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Returns the value of an expression for each row. Afterwards only the value itself is [held](crate::context), not its
/// operands.
pub(super) fn datum_of(e: &Expr, batch: &Batch, cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
    let made = match &e.kind {
        // Literals and columns are shared.
        ExprKind::Literal(v) => return Ok(Datum::Scalar(v.clone())),
        ExprKind::Column(n) => {
            return match batch.columns.get(*n) {
                Some(array) => Ok(Datum::Array(array.clone())),
                None => Err(MysqlError::internal(format_args!("no column #{n}"))),
            };
        }
        ExprKind::Parameter(n) => return row::parameter(*n, cx).map(Datum::Scalar),
        ExprKind::Outer(n) => return row::outer(*n, cx).map(Datum::Scalar),
        _ => cx.releasing(|cx| computed(e, batch, cx))?,
    };
    let bytes = match &made {
        Datum::Array(array) => string_bytes(array),
        Datum::Scalar(v) => v.byte_len(),
    };
    if bytes >= LONG {
        cx.hold_bytes(bytes)?;
    }
    Ok(made)
}

/// Returns the total length of the values of a string column.
pub(super) fn string_bytes(array: &ArrayRef) -> usize {
    let between = |offsets: &[i32]| match offsets {
        [first, .., last] => (last - first) as usize,
        _ => 0,
    };
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        _ => 0,
    }
}

/// Returns the values of a node that has operands.
fn computed(e: &Expr, batch: &Batch, cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
    match &e.kind {
        ExprKind::Subquery(subquery) => {
            let operands: Vec<&Expr> = subquery.needle.iter().chain(&subquery.outer).collect();
            let data = operands.iter().map(|a| datum_of(a, batch, cx)).collect::<Result<Vec<_>, _>>()?;
            asked::values(e, (&operands, &data), batch.rows, cx, |values, cx| {
                let (needle, outer) = values.split_at(subquery.needle.len());
                cx.answer(subquery, needle, outer)
            })
        }
        ExprKind::Program(call) => {
            let operands: Vec<&Expr> = call.args.iter().collect();
            let data = operands.iter().map(|a| datum_of(a, batch, cx)).collect::<Result<Vec<_>, _>>()?;
            asked::values(e, (&operands, &data), batch.rows, cx, |values, cx| cx.call(call, values))
        }
        ExprKind::Match(call) => {
            let operands: Vec<&Expr> = call.operands().collect();
            let data = operands.iter().map(|a| datum_of(a, batch, cx)).collect::<Result<Vec<_>, _>>()?;
            asked::values(e, (&operands, &data), batch.rows, cx, |values, cx| {
                matching::score(call, values, cx)
            })
        }
        ExprKind::Call { function, args } => call(e, *function, args, batch, cx),
        ExprKind::Arithmetic { op, left, right } => {
            let a = datum_of(left, batch, cx)?;
            let b = datum_of(right, batch, cx)?;
            arithmetic_batch::arithmetic(e, *op, (&a, &left.ty.sql), (&b, &right.ty.sql), batch.rows, cx)
        }
        ExprKind::Negate(operand) => {
            let v = datum_of(operand, batch, cx)?;
            arithmetic_batch::negate(e, &v, &operand.ty.sql, batch.rows, cx)
        }
        ExprKind::Case { operand, whens, otherwise } => {
            case(e, operand.as_deref(), whens, otherwise.as_deref(), batch, cx)
        }
        ExprKind::Coalesce(list) => coalesce(e, list, batch, cx),
        ExprKind::Cast { operand } => {
            let v = datum_of(operand, batch, cx)?;
            cast(v, &operand.ty.sql, &e.ty.sql, batch.rows, cx)
        }
        _ => Ok(match truth_column(e, batch, cx)? {
            TruthColumn::Scalar(t) => Datum::Scalar(operand::condition_value(t)),
            TruthColumn::Rows(array) => {
                let values: Vec<i64> = array.values().iter().map(i64::from).collect();
                Datum::Array(Arc::new(Int64Array::new(values.into(), array.nulls().cloned())))
            }
        }),
    }
}

fn call(
    e: &Expr,
    function: FunctionId,
    args: &[Expr],
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let definition = function.definition();
    let data = args.iter().map(|a| datum_of(a, batch, cx)).collect::<Result<Vec<_>, _>>()?;
    let call = Call { function, args, ty: &e.ty, row: &NoColumns };
    let constant = data.iter().all(|d| matches!(d, Datum::Scalar(_)));
    if constant && definition.volatility != Volatility::Volatile {
        let values: Vec<Value> = data.iter().zip(args).map(|(d, a)| d.value(0, &a.ty.sql)).collect();
        let value = call.compute(cx, &values)?;
        return row::finite(value, e, cx).map(Datum::Scalar);
    }
    if let Some(vector) = definition.vector
        && let Some(datum) = vector(cx, call, &data, batch.rows)?
    {
        if e.ty.sql.is_real()
            && let Datum::Array(array) = &datum
            && let Some(numbers) = array.as_primitive_opt::<Float64Type>()
            && let Some(number) = numbers.iter().flatten().find(|number| !number.is_finite())
        {
            row::finite(Value::Double(number), e, cx)?;
        }
        return Ok(datum);
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, batch.rows);
    let mut values: Vec<Value> = vec![Value::Null; args.len()];
    let mut bytes = ColumnBytes::default();
    for row in 0..batch.rows {
        // A call may take long.
        cx.cancel.check()?;
        for ((value, datum), arg) in values.iter_mut().zip(&data).zip(args) {
            *value = datum.value(row, &arg.ty.sql);
        }
        let call = Call { row: &BatchRow { batch, row }, ..call };
        let made = row::finite(call.compute(cx, &values)?, e, cx)?;
        bytes.add(&made, cx)?;
        out.push_value(&made)?;
    }
    Ok(Datum::Array(out.finish()))
}

fn cast(
    v: Datum,
    from: &SqlType,
    to: &SqlType,
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    match v {
        Datum::Scalar(v) => operand::cast(&v, from, to, cx).map(Datum::Scalar),
        same if is_identity_conversion(from, to) => Ok(same),
        array => {
            let mut out = ColumnBuilder::with_capacity(to, rows);
            let mut bytes = ColumnBytes::default();
            for n in 0..rows {
                let made = operand::cast(&array.value(n, from), from, to, cx)?;
                bytes.add(&made, cx)?;
                out.push_value(&made)?;
            }
            Ok(Datum::Array(out.finish()))
        }
    }
}

/// Converts values of type `from` to type `to`; see [`operand::conform`].
fn conform(
    v: Datum,
    from: &SqlType,
    to: &SqlType,
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let array = match v {
        Datum::Scalar(v) => return operand::conform(v, from, to, cx).map(Datum::Scalar),
        Datum::Array(array) => array,
    };
    let wanted = arrow_type(to);
    let relabelled: Option<ArrayRef> = match (array.data_type(), &wanted) {
        (have, wanted) if have == wanted => return Ok(Datum::Array(array)),
        (DataType::Decimal128(p, s), DataType::Decimal128(q, t)) if s == t && p <= q => {
            let decimals = array.as_primitive::<arrow_array::types::Decimal128Type>().clone();
            decimals.with_precision_and_scale(*q, *t).ok().map(|d| Arc::new(d) as ArrayRef)
        }
        _ => None,
    };
    if let Some(array) = relabelled {
        return Ok(Datum::Array(array));
    }
    let array = Datum::Array(array);
    let mut out = ColumnBuilder::with_capacity(to, rows);
    let mut bytes = ColumnBytes::default();
    for n in 0..rows {
        let made = operand::conform(array.value(n, from), from, to, cx)?;
        bytes.add(&made, cx)?;
        out.push_value(&made)?;
    }
    Ok(Datum::Array(out.finish()))
}

/// The sources of a column whose rows come from several expressions.
struct Pieces<'a> {
    ty: &'a SqlType,
    arrays: Vec<ArrayRef>,
    /// The array and the row in it that each row comes from. Array 0 is one NULL.
    source: Vec<(usize, usize)>,
}

impl<'a> Pieces<'a> {
    fn new(ty: &'a SqlType, rows: usize) -> Result<Self, MysqlError> {
        let null = Datum::Scalar(Value::Null).into_array(ty, 1)?;
        Ok(Pieces { ty, arrays: vec![null], source: vec![(0, 0); rows] })
    }

    /// Takes the rows in `bits` from `e`, which is evaluated for these rows only if evaluating others could be
    /// observed.
    fn take(
        &mut self,
        e: &Expr,
        bits: &BooleanBuffer,
        batch: &Batch,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let partial = bits.count_set_bits() < batch.rows && e.may_raise();
        let datum = if partial {
            let subset = Subset::new(bits.clone());
            let rows = subset.batch(batch, e)?;
            conform(datum_of(e, &rows, cx)?, &e.ty.sql, self.ty, rows.rows, cx)?
        } else {
            conform(datum_of(e, batch, cx)?, &e.ty.sql, self.ty, batch.rows, cx)?
        };
        self.place(datum, bits, partial)
    }

    /// Takes the rows in `bits` from `datum`, which has only those rows if it is `partial`.
    fn place(&mut self, datum: Datum, bits: &BooleanBuffer, partial: bool) -> Result<(), MysqlError> {
        let piece = self.arrays.len();
        let scalar = matches!(datum, Datum::Scalar(_));
        match datum {
            Datum::Array(array) => self.arrays.push(array),
            scalar => self.arrays.push(scalar.into_array(self.ty, 1)?),
        }
        for (n, row) in bits.set_indices().enumerate() {
            self.source[row] = (
                piece,
                if scalar {
                    0
                } else if partial {
                    n
                } else {
                    row
                },
            );
        }
        Ok(())
    }

    /// Returns the column. A constant that many rows have is not repeated if that would take more than a batch may
    /// hold.
    fn finish(self, cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
        let bytes: usize =
            self.source.iter().map(|(piece, row)| byte_len_at(&self.arrays[*piece], *row)).sum();
        if bytes >= LONG {
            cx.hold_bytes(bytes)?;
        }
        let arrays: Vec<&dyn Array> = self.arrays.iter().map(|a| a.as_ref()).collect();
        interleave(&arrays, &self.source).map(Datum::Array).map_err(MysqlError::internal)
    }
}

fn case(
    e: &Expr,
    operand: Option<&Expr>,
    whens: &[When],
    otherwise: Option<&Expr>,
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let subject = match operand {
        Some(operand) => Some((datum_of(operand, batch, cx)?, &operand.ty.sql)),
        None => None,
    };
    let mut remaining = BooleanBuffer::new_set(batch.rows);
    let mut pieces = Pieces::new(&e.ty.sql, batch.rows)?;
    for when in whens {
        let taken =
            on_rows(&when.condition, &remaining, batch, Some(false), cx, &mut |rows, subset, cx| match (
                &subject,
                when.domain,
            ) {
                (Some((subject, ty)), Some(domain)) => {
                    let subject = match subset {
                        Some(subset) => subset.datum(subject)?,
                        None => subject.clone(),
                    };
                    let v = datum_of(&when.condition, rows, cx)?;
                    let value = (&v, &when.condition.ty.sql);
                    compare_batch::compare(CompareOp::Eq, domain, (&subject, ty), value, rows.rows, cx)
                }
                _ => truth_column(&when.condition, rows, cx),
            })?;
        let taken = &taken.bits_where(true, batch.rows) & &remaining;
        if taken.count_set_bits() == 0 {
            continue;
        }
        pieces.take(&when.result, &taken, batch, cx)?;
        remaining = &remaining & &!&taken;
        if remaining.count_set_bits() == 0 {
            break;
        }
    }
    if let Some(otherwise) = otherwise
        && remaining.count_set_bits() > 0
    {
        pieces.take(otherwise, &remaining, batch, cx)?;
    }
    pieces.finish(cx)
}

fn coalesce(e: &Expr, list: &[Expr], batch: &Batch, cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
    let mut remaining = BooleanBuffer::new_set(batch.rows);
    let mut pieces = Pieces::new(&e.ty.sql, batch.rows)?;
    for candidate in list {
        let open = remaining.count_set_bits();
        if open == 0 {
            break;
        }
        let partial = open < batch.rows && candidate.may_raise();
        let (datum, present) = if partial {
            let subset = Subset::new(remaining.clone());
            let rows = subset.batch(batch, candidate)?;
            let datum = datum_of(candidate, &rows, cx)?;
            let datum = conform(datum, &candidate.ty.sql, &e.ty.sql, rows.rows, cx)?;
            let found = TruthColumn::rows(present(&datum, rows.rows), None);
            let present = subset.scatter(found, Some(false)).values().clone();
            // Placed with the rows that came here, so that the rows of the datum and of the bits agree.
            pieces.place(datum, &remaining, true)?;
            remaining = &remaining & &!&present;
            continue;
        } else {
            let datum = datum_of(candidate, batch, cx)?;
            let datum = conform(datum, &candidate.ty.sql, &e.ty.sql, batch.rows, cx)?;
            let present = present(&datum, batch.rows);
            (datum, present)
        };
        if open == batch.rows && present.count_set_bits() == batch.rows {
            return Ok(datum);
        }
        pieces.place(datum, &(&remaining & &present), false)?;
        remaining = &remaining & &!&present;
    }
    pieces.finish(cx)
}

/// Returns a bit for each row that is not NULL.
fn present(datum: &Datum, rows: usize) -> BooleanBuffer {
    match datum {
        Datum::Scalar(v) if v.is_null() => BooleanBuffer::new_unset(rows),
        Datum::Scalar(_) => BooleanBuffer::new_set(rows),
        Datum::Array(array) => !&compare_batch::null_bits(array),
    }
}

type Evaluation<'f> =
    dyn FnMut(&Batch, Option<&Subset>, &mut EvalContext<'_>) -> Result<TruthColumn, MysqlError> + 'f;

/// Computes truths with `f`: for all rows, or only for those in `bits` if evaluating `e` for others could be
/// observed; the others then have `rest`.
fn on_rows(
    e: &Expr,
    bits: &BooleanBuffer,
    batch: &Batch,
    rest: Option<bool>,
    cx: &mut EvalContext<'_>,
    f: &mut Evaluation<'_>,
) -> Result<TruthColumn, MysqlError> {
    if bits.count_set_bits() == batch.rows || !e.may_raise() {
        return f(batch, None, cx);
    }
    let subset = Subset::new(bits.clone());
    let rows = subset.batch(batch, e)?;
    let truths = f(&rows, Some(&subset), cx)?;
    Ok(TruthColumn::Rows(subset.scatter(truths, rest)))
}

/// Returns the truth of an expression for each row.
pub(super) fn truth_column(
    e: &Expr,
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<TruthColumn, MysqlError> {
    let rows = batch.rows;
    match &e.kind {
        ExprKind::And(list) => chain(list, false, batch, cx),
        ExprKind::Or(list) => chain(list, true, batch, cx),
        ExprKind::Xor(left, right) => {
            let a = truth_column(left, batch, cx)?.into_array(rows);
            let b = truth_column(right, batch, cx)?.into_array(rows);
            let nulls = NullBuffer::union(a.nulls(), b.nulls());
            Ok(TruthColumn::rows(a.values() ^ b.values(), nulls))
        }
        ExprKind::Not(operand) => Ok(match truth_column(operand, batch, cx)? {
            TruthColumn::Scalar(t) => TruthColumn::Scalar(t.map(|t| !t)),
            TruthColumn::Rows(array) => TruthColumn::rows(!array.values(), array.nulls().cloned()),
        }),
        ExprKind::Compare { op, left, right, domain } => {
            let a = datum_of(left, batch, cx)?;
            let b = datum_of(right, batch, cx)?;
            compare_batch::compare(*op, *domain, (&a, &left.ty.sql), (&b, &right.ty.sql), rows, cx)
        }
        ExprKind::IsNull { operand, negated } => Ok(match datum_of(operand, batch, cx)? {
            Datum::Scalar(v) => TruthColumn::Scalar(Some(v.is_null() != *negated)),
            Datum::Array(array) => {
                let nulls = compare_batch::null_bits(&array);
                TruthColumn::rows(if *negated { !&nulls } else { nulls }, None)
            }
        }),
        ExprKind::IsTruth { operand, truth, negated } => {
            let bits = truth_column(operand, batch, cx)?.bits_where(*truth, rows);
            Ok(TruthColumn::rows(if *negated { !&bits } else { bits }, None))
        }
        ExprKind::InList { needle, list, negated, set, .. } => {
            let v = datum_of(needle, batch, cx)?;
            if let (Datum::Array(array), Some(set)) = (&v, set)
                && let Some(found) = in_set(array, set)
            {
                return Ok(in_set_truths(found, array.nulls(), set, *negated));
            }
            let members = list.iter().map(|m| datum_of(m, batch, cx)).collect::<Result<Vec<_>, _>>()?;
            each_row(&v, rows, members.iter().any(|m| matches!(m, Datum::Array(_))), &mut |n| {
                let needle = v.value(n, &needle.ty.sql);
                let mut member = |m: usize, _: &mut EvalContext<'_>| Ok(members[m].value(n, &list[m].ty.sql));
                row::in_list(e, &needle, &mut member, cx)
            })
        }
        ExprKind::InRows { needle, .. } => {
            let data = needle.iter().map(|part| datum_of(part, batch, cx)).collect::<Result<Vec<_>, _>>()?;
            let (mut values, mut key) = (Vec::with_capacity(needle.len()), Vec::new());
            let mut found = |n: usize| {
                values.clear();
                values.extend(data.iter().zip(needle).map(|(v, part)| v.value(n, &part.ty.sql)));
                row::in_rows(e, &values, &mut key, cx)
            };
            match data.iter().all(|v| matches!(v, Datum::Scalar(_))) {
                true => found(0).map(TruthColumn::Scalar),
                false => (0..rows).map(found).collect::<Result<BooleanArray, _>>().map(TruthColumn::Rows),
            }
        }
        ExprKind::Like { value, pattern, escape, negated, collation, compiled } => {
            let v = datum_of(value, batch, cx)?;
            let p = datum_of(pattern, batch, cx)?;
            if let (Datum::Array(array), Datum::Scalar(p)) = (&v, &p)
                && let (Some(strings), Some(text)) = (Strings::of(array), p.as_bytes())
            {
                let ready = match compiled {
                    Some(compiled) => compiled.clone(),
                    None => LikePattern::room_for(text)
                        .map(|()| Arc::new(LikePattern::new(text, *escape, *collation)))?,
                };
                let mut failed = None;
                let bits = BooleanBuffer::collect_bool(rows, |n| {
                    failed.is_none()
                        && match ready.matches_unless(strings.get(n), cx.cancel) {
                            Ok(matched) => matched != *negated,
                            Err(error) => {
                                failed = Some(error);
                                false
                            }
                        }
                });
                if let Some(error) = failed {
                    return Err(error);
                }
                return Ok(TruthColumn::rows(bits, array.nulls().cloned()));
            }
            each_row(&v, rows, matches!(p, Datum::Array(_)), &mut |n| {
                row::like(e, &v.value(n, &value.ty.sql), &p.value(n, &pattern.ty.sql), cx)
            })
        }
        _ => {
            let v = datum_of(e, batch, cx)?;
            truths_of_datum(&v, &e.ty.sql, rows, cx)
        }
    }
}

/// Evaluates AND (`decided` is false) or OR (true). A decided row is not evaluated further if that could be observed.
fn chain(
    list: &[Expr],
    decided: bool,
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<TruthColumn, MysqlError> {
    let mut so_far = TruthColumn::Scalar(Some(!decided));
    for c in list {
        if matches!(so_far, TruthColumn::Scalar(t) if t == Some(decided)) {
            break;
        }
        let next = if c.may_raise() {
            let open = !&so_far.bits_where(decided, batch.rows);
            if batch.rows > 0 && open.count_set_bits() == 0 {
                break;
            }
            on_rows(c, &open, batch, Some(!decided), cx, &mut |rows, _, cx| truth_column(c, rows, cx))?
        } else {
            truth_column(c, batch, cx)?
        };
        so_far = combined(so_far, next, decided, batch.rows)?;
    }
    Ok(so_far)
}

fn combined(a: TruthColumn, b: TruthColumn, decided: bool, rows: usize) -> Result<TruthColumn, MysqlError> {
    match (a, b) {
        (TruthColumn::Scalar(Some(t)), other) | (other, TruthColumn::Scalar(Some(t))) => {
            Ok(if t == decided { TruthColumn::Scalar(Some(decided)) } else { other })
        }
        (TruthColumn::Scalar(None), TruthColumn::Scalar(None)) => Ok(TruthColumn::Scalar(None)),
        (a, b) => {
            let any = &a.bits_where(decided, rows) | &b.bits_where(decided, rows);
            let both = &a.bits_where(!decided, rows) & &b.bits_where(!decided, rows);
            let known = NullBuffer::new(&any | &both);
            Ok(TruthColumn::Rows(BooleanArray::new(if decided { any } else { both }, Some(known))))
        }
    }
}

/// Computes truths row by row; one for all rows if the operands are the same for all.
fn each_row(
    first: &Datum,
    rows: usize,
    others_vary: bool,
    f: &mut dyn FnMut(usize) -> Result<Option<bool>, MysqlError>,
) -> Result<TruthColumn, MysqlError> {
    if matches!(first, Datum::Scalar(_)) && !others_vary {
        return f(0).map(TruthColumn::Scalar);
    }
    (0..rows).map(f).collect::<Result<BooleanArray, _>>().map(TruthColumn::Rows)
}

/// Returns the bits of `array IN (set)`; None if the set must be asked value by value.
fn in_set(array: &ArrayRef, set: &InSet) -> Option<BooleanBuffer> {
    if let Some(strings) = Strings::of(array).filter(|_| set.is_string()) {
        return Some(BooleanBuffer::collect_bool(array.len(), |row| set.contains_bytes(strings.get(row))));
    }
    match Lanes::of(array.as_ref())? {
        Lanes::I64(lane) if set.is_integer() => Some(pack(lane, |v| set.contains_i64(v))),
        Lanes::U64(lane) if set.is_integer() => Some(pack(lane, |v| set.contains_u64(v))),
        Lanes::Days(lane) if set.is_date() => Some(pack(lane, |v| set.contains_days(v))),
        Lanes::Micros(lane) if set.is_datetime() => Some(pack(lane, |v| set.contains_micros(v))),
        _ => None,
    }
}

fn in_set_truths(
    found: BooleanBuffer,
    nulls: Option<&NullBuffer>,
    set: &InSet,
    negated: bool,
) -> TruthColumn {
    let nulls = if set.has_null() {
        // A value that is not found may equal the NULL.
        NullBuffer::union(nulls, Some(&NullBuffer::new(found.clone())))
    } else {
        nulls.cloned()
    };
    TruthColumn::rows(if negated { !&found } else { found }, nulls)
}

fn truths_of_datum(
    v: &Datum,
    ty: &SqlType,
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<TruthColumn, MysqlError> {
    let array = match v {
        Datum::Scalar(v) => return operand::truth(v, cx).map(TruthColumn::Scalar),
        Datum::Array(array) => array,
    };
    let bits = match array.data_type() {
        DataType::Int64 => {
            Some(compare_constant(CompareOp::Ne, array.as_primitive::<Int64Type>().values(), 0, |v| v))
        }
        DataType::UInt64 => {
            Some(compare_constant(CompareOp::Ne, array.as_primitive::<UInt64Type>().values(), 0, |v| v))
        }
        DataType::Float64 => {
            Some(compare_constant(CompareOp::Ne, array.as_primitive::<Float64Type>().values(), 0.0, |v| v))
        }
        _ => None,
    };
    match bits {
        Some(bits) => Ok(TruthColumn::rows(bits, array.nulls().cloned())),
        None => (0..rows)
            .map(|row| operand::truth(&v.value(row, ty), cx))
            .collect::<Result<BooleanArray, _>>()
            .map(TruthColumn::Rows),
    }
}
