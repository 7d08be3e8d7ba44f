//! Aggregates of parts of the rows, and the merging of their results.
//!
//! Where several threads aggregate parts of the rows, one more call merges the results of the parts. That is only
//! done where it cannot change the result: sums and averages of DOUBLE depend on the order of the additions.
//!
//! | of all      | of a part     |
//! |-------------|---------------|
//! | COUNT       | COUNT         |
//! | SUM         | SUM           |
//! | AVG         | SUM and COUNT |
//! | MIN, MAX    | the same      |

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::sum::DecimalSum;
use super::{AggregateCall, AggregateFunction, Groups, for_each};
use crate::{Datum, EvalContext, Expr};
use leafline_types::decimal::MAX_PRECISION;
use leafline_types::error::MysqlError;
use leafline_types::value::SqlType;

impl AggregateCall {
    /// Returns the calls over a part of the rows whose results [`AggregateCall::merging`] combines; None if the
    /// combination might differ from the result over all rows.
    pub fn parts(&self) -> Option<Vec<AggregateCall>> {
        if self.distinct || self.merges {
            return None;
        }
        let values = |function| AggregateCall::new(function, false, self.args.clone()).ok();
        Some(match self.function {
            AggregateFunction::CountAll
            | AggregateFunction::Count
            | AggregateFunction::Min
            | AggregateFunction::Max => vec![self.clone()],
            AggregateFunction::Sum => vec![self.exact_sum()?],
            AggregateFunction::Avg => vec![self.exact_sum()?, values(AggregateFunction::Count)?],
            _ => return None,
        })
    }

    /// Returns the sum of the arguments with all the digits that they are computed with, if there is room for them.
    fn exact_sum(&self) -> Option<AggregateCall> {
        let sum = AggregateCall::new(AggregateFunction::Sum, false, self.args.clone()).ok()?;
        let SqlType::Decimal { precision, scale, .. } = sum.ty.sql else { return None };
        (precision < MAX_PRECISION || scale <= self.ty.sql.scale()).then_some(sum)
    }

    /// Returns the call that merges the results of [the parts](AggregateCall::parts), which are in these columns.
    pub fn merging(&self, columns: Vec<Expr>) -> AggregateCall {
        AggregateCall { args: columns, merges: true, ..self.clone() }
    }
}

fn array(args: &[Datum], at: usize) -> Result<&dyn Array, MysqlError> {
    match args.get(at) {
        Some(Datum::Array(array)) => Ok(array.as_ref()),
        _ => Err(MysqlError::internal("the result of a part is no column")),
    }
}

/// Adds the counts of parts.
pub(super) fn add_counts(
    counts: &mut [i64],
    groups: Groups<'_>,
    rows: usize,
    args: &[Datum],
) -> Result<(), MysqlError> {
    let parts = array(args, 0)?;
    let Some(parts) = parts.as_primitive_opt::<Int64Type>().filter(|parts| parts.len() == rows) else {
        return Err(MysqlError::internal("the count of a part is no integer"));
    };
    for_each(groups, parts, parts.values(), |group, count| counts[group] += count);
    Ok(())
}

/// Adds the sums of parts; for averages the second argument is the number of values in each sum.
pub(super) fn add_sums(
    sum: &mut DecimalSum,
    groups: Groups<'_>,
    rows: usize,
    args: &[Datum],
    ty: &SqlType,
    cx: &mut EvalContext<'_>,
) -> Result<(), MysqlError> {
    let Some(Datum::Array(sums)) = args.first() else {
        return Err(MysqlError::internal("the sum of a part is no column"));
    };
    sum.update(groups, sums, ty, cx)?;
    if args.len() < 2 {
        return Ok(());
    }
    // Each sum was counted as one value above.
    let mut counts: Vec<i64> = vec![0; sum.groups()];
    add_counts(&mut counts, groups, rows, &args[1..])?;
    let mut known: Vec<i64> = vec![0; sum.groups()];
    for row in (0..rows).filter(|row| sums.is_valid(*row)) {
        known[groups.of(row)] += 1;
    }
    sum.add_to_counts(counts.iter().zip(&known).map(|(all, known)| (all - known) as u64));
    Ok(())
}
