//! The evaluator: expressions over batches of columns, and over single rows.
//!
//! | module             | holds                                                                     |
//! |--------------------|---------------------------------------------------------------------------|
//! | `row`              | the definition: every node for one row, lazily                            |
//! | `batch`            | every node for a batch; falls back on `row`'s rules value by value        |
//! | `operand`          | conversion of values to the domain of a comparison, truth                 |
//! | `arithmetic`       | arithmetic on two values                                                  |
//! | `integers`         | the part of `row` for signed integers, without a context                  |
//! | `lanes`, `*_batch` | loops over native values                                                  |
//! | `asked`            | subqueries, stored functions and searches, row by row                     |
//! | `subset`           | which expressions must be evaluated for some rows only, and doing so      |
//! | `selection`        | the result of a filter                                                    |

mod arithmetic;
mod arithmetic_batch;
mod asked;
mod batch;
mod compare_batch;
mod integers;
mod lanes;
mod matching;
pub(crate) mod operand;
mod row;
mod selection;
mod subset;
#[cfg(test)]
mod tests;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBufferBuilder;

use super::context::EvalContext;
use super::context::held::{ColumnBytes, LONG, PIECE_BYTES, in_batch};
use super::datum::Datum;
use super::ir::Expr;
use leafline_types::column::{Batch, ColumnBuilder, byte_len_at};
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

pub use integers::integer_of;
pub use operand::truth;
pub(crate) use row::value_of;
pub use selection::Selection;

/// If less than one row in this many is left, the rows left are copied together before the next conjunct is
/// evaluated; otherwise comparing them all is cheaper than copying some.
const SPARSE: usize = 16;

/// Rows evaluated one by one between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 256;

/// Evaluates `expr` for every row of `batch`; its columns are positions in the batch.
pub fn evaluate(expr: &Expr, batch: &Batch, cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
    cx.cancel.check()?;
    if expr.as_column().is_some() {
        return batch::datum_of(expr, batch, cx);
    }
    if batch.rows == 1 {
        return cx.releasing(|cx| value_of(expr, &row::BatchRow { batch, row: 0 }, cx)).map(Datum::Scalar);
    }
    if !in_turn(std::iter::once(expr), cx)
        && let Some(datum) = in_batch(cx, |cx| batch::datum_of(expr, batch, cx))?
    {
        return Ok(datum);
    }
    let (mut columns, _) = by_rows(&[expr], batch, usize::MAX, cx)?;
    columns.pop().map(Datum::Array).ok_or_else(|| MysqlError::internal("an expression without a column"))
}

/// The most values of a batch that are computed at a time.
const MOST_VALUES: usize = 4 << 20;

/// Evaluates `exprs` for the first rows of `batch`. Returns the columns and the number of rows: all of them, unless
/// the values are so long, or `exprs` so many, that fewer should be kept at a time; at least one, if there is one. If
/// user variables are assigned, each row is computed from the first expression to the last, so that later ones read
/// what earlier ones assign.
pub fn evaluate_some(
    exprs: &[Expr],
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<(Vec<ArrayRef>, usize), MysqlError> {
    cx.cancel.check()?;
    if batch.rows == 1 {
        let mut columns = Vec::with_capacity(exprs.len());
        for e in exprs {
            columns.push(evaluate(e, batch, cx)?.into_array(&e.ty.sql, 1)?);
        }
        return Ok((columns, 1));
    }
    let most = (MOST_VALUES / exprs.len().max(1)).max(1);
    if batch.rows > most {
        let first = batch.columns.iter().map(|column| column.slice(0, most)).collect();
        return evaluate_some(exprs, &Batch { columns: first, rows: most }, cx);
    }
    let all: Vec<&Expr> = exprs.iter().collect();
    if in_turn(exprs.iter(), cx) {
        return by_rows(&all, batch, PIECE_BYTES, cx);
    }
    let whole = in_batch(cx, |cx| {
        let mut columns = Vec::with_capacity(exprs.len());
        for e in exprs {
            let datum = batch::datum_of(e, batch, cx)?;
            if let Datum::Scalar(v) = &datum {
                // The value will be repeated.
                let bytes = v.byte_len().saturating_mul(batch.rows);
                if bytes >= LONG {
                    cx.hold_bytes(bytes)?;
                }
            }
            columns.push(datum.into_array(&e.ty.sql, batch.rows)?);
        }
        Ok(columns)
    })?;
    match whole {
        Some(columns) => Ok((columns, batch.rows)),
        None => by_rows(&all, batch, PIECE_BYTES, cx),
    }
}

/// Evaluates `exprs` for the first rows of `batch` like [`evaluate_some`], but does not repeat a value that is the
/// same for all rows. A piece of long values has at most about 8 MiB of them, so that its users' memory is bounded,
/// too.
pub fn evaluate_first<'e>(
    exprs: impl Iterator<Item = &'e Expr> + Clone,
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<(Vec<Datum>, usize), MysqlError> {
    cx.cancel.check()?;
    if batch.rows == 1 {
        return Ok((exprs.map(|e| evaluate(e, batch, cx)).collect::<Result<_, _>>()?, 1));
    }
    if !in_turn(exprs.clone(), cx) {
        let work = |cx: &mut EvalContext<'_>| exprs.clone().map(|e| batch::datum_of(e, batch, cx)).collect();
        let whole: Option<Vec<Datum>> = in_batch(cx, work)?;
        if let Some(mut values) = whole {
            let rows = rows_of_a_piece(&values, batch.rows);
            if rows < batch.rows {
                for value in &mut values {
                    if let Datum::Array(array) = value {
                        *array = array.slice(0, rows);
                    }
                }
            }
            return Ok((values, rows));
        }
    }
    let (columns, rows) = by_rows(&exprs.collect::<Vec<_>>(), batch, PIECE_BYTES, cx)?;
    Ok((columns.into_iter().map(Datum::Array).collect(), rows))
}

/// Returns how many of the first rows form a piece.
fn rows_of_a_piece(values: &[Datum], rows: usize) -> usize {
    let arrays = || {
        values.iter().filter_map(|value| match value {
            Datum::Array(array) => Some(array),
            Datum::Scalar(_) => None,
        })
    };
    let bytes: usize = arrays().map(batch::string_bytes).sum();
    if bytes <= PIECE_BYTES {
        return rows;
    }
    let mut total = 0;
    let fits = (0..rows).take_while(|row| {
        total += arrays().map(|array| byte_len_at(array, *row)).sum::<usize>();
        total <= PIECE_BYTES
    });
    fits.count().max(1).min(rows)
}

/// Whether expressions are evaluated row by row from the start: if user variables are assigned, or if volatile calls
/// are beside values that may be long. A batch of these might be abandoned halfway, and the calls would be made
/// twice.
fn in_turn<'e>(mut exprs: impl Iterator<Item = &'e Expr> + Clone, cx: &EvalContext<'_>) -> bool {
    let mut others = exprs.clone();
    exprs.any(Expr::is_volatile) && (cx.row_by_row || others.any(Expr::may_make_long))
}

/// Evaluates row by row, up to the row with which the values have `enough` bytes.
fn by_rows(
    exprs: &[&Expr],
    batch: &Batch,
    enough: usize,
    cx: &mut EvalContext<'_>,
) -> Result<(Vec<ArrayRef>, usize), MysqlError> {
    let mut columns: Vec<(ColumnBuilder, ColumnBytes)> =
        exprs.iter().map(|e| (ColumnBuilder::for_type(&e.ty.sql), ColumnBytes::default())).collect();
    let mut rows = 0;
    cx.releasing(|cx| {
        while rows < batch.rows && columns.iter().map(|(_, bytes)| bytes.total()).sum::<usize>() < enough {
            if rows % ROWS_BETWEEN_CHECKS == 0 {
                cx.cancel.check()?;
            }
            for (e, (builder, bytes)) in exprs.iter().zip(&mut columns) {
                let v = cx.releasing(|cx| value_of(e, &row::BatchRow { batch, row: rows }, cx))?;
                bytes.add(&v, cx)?;
                builder.push_value(&v)?;
            }
            rows += 1;
        }
        Ok::<(), MysqlError>(())
    })?;
    Ok((columns.iter_mut().map(|(builder, _)| builder.finish()).collect(), rows))
}

/// Returns the rows of `batch` for which all `conjuncts` are TRUE. A conjunct is evaluated only on rows that passed
/// the previous ones, as far as that can be observed: errors and warnings of other rows do not arise.
pub fn evaluate_filter(
    conjuncts: &[Expr],
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<Selection, MysqlError> {
    cx.cancel.check()?;
    let mut passed = Selection::All(batch.rows);
    if batch.rows == 1 {
        return Ok(if row_passes(conjuncts, batch, 0, cx)? { passed } else { Selection::None(1) });
    }
    if cx.row_by_row && conjuncts.iter().any(Expr::is_volatile) {
        let mut bits = BooleanBufferBuilder::new(batch.rows);
        for row in 0..batch.rows {
            bits.append(row_passes(conjuncts, batch, row, cx)?);
        }
        return Ok(Selection::from_bits(bits.finish()));
    }
    for c in conjuncts {
        passed = match passed {
            Selection::None(_) => break,
            Selection::Some(bits) if c.may_raise() || bits.count_set_bits() * SPARSE < batch.rows => {
                let subset = subset::Subset::new(bits);
                let rows = subset.batch(batch, c)?;
                let truths = truths(c, &rows, cx)?;
                let scattered = subset.scatter(truths, Some(false));
                let bits = lanes::TruthColumn::Rows(scattered).bits_where(true, batch.rows);
                Selection::from_bits(bits)
            }
            Selection::Some(bits) => {
                let truths = truths(c, batch, cx)?.bits_where(true, batch.rows);
                Selection::from_bits(&bits & &truths)
            }
            Selection::All(_) => Selection::from_bits(truths(c, batch, cx)?.bits_where(true, batch.rows)),
        };
    }
    Ok(passed)
}

/// Returns the truth of a condition for each row.
fn truths(c: &Expr, batch: &Batch, cx: &mut EvalContext<'_>) -> Result<lanes::TruthColumn, MysqlError> {
    if !in_turn(std::iter::once(c), cx)
        && let Some(truths) = in_batch(cx, |cx| batch::truth_column(c, batch, cx))?
    {
        return Ok(truths);
    }
    let of_row = |row| {
        if row % ROWS_BETWEEN_CHECKS == 0 {
            cx.cancel.check()?;
        }
        row::condition_of(c, &row::BatchRow { batch, row }, cx)
    };
    Ok(lanes::TruthColumn::Rows((0..batch.rows).map(of_row).collect::<Result<_, _>>()?))
}

/// Whether all `conjuncts` are TRUE for a row of `batch`.
pub fn row_passes(
    conjuncts: &[Expr],
    batch: &Batch,
    row: usize,
    cx: &mut EvalContext<'_>,
) -> Result<bool, MysqlError> {
    let one = row::BatchRow { batch, row };
    for c in conjuncts {
        if row::condition_of(c, &one, cx)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Evaluates an expression without columns.
pub fn evaluate_scalar(expr: &Expr, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    cx.releasing(|cx| value_of(expr, &row::NoColumns, cx))
}

/// Evaluates `expr` for one row; its columns are positions in `row`.
pub fn evaluate_row(expr: &Expr, row: &[Value], cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    cx.releasing(|cx| value_of(expr, &row, cx))
}

/// Whether all `conjuncts` are TRUE for one row.
pub fn evaluate_condition(
    conjuncts: &[Expr],
    row: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<bool, MysqlError> {
    for c in conjuncts {
        if row::condition_of(c, &row, cx)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}
