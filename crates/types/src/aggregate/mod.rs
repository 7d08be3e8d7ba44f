//! Aggregate functions over groups of rows, and the keys that rows are grouped, joined and sorted by.
//!
//! | result of            | type                                               | without rows |
//! |----------------------|----------------------------------------------------|--------------|
//! | COUNT                | BIGINT                                             | 0            |
//! | SUM of exact numbers | DECIMAL(p + 22, s), at most 65 digits              | NULL         |
//! | AVG of exact numbers | DECIMAL(p + 4, s + 4), rounded half away from zero | NULL         |
//! | SUM, AVG of others   | DOUBLE                                             | NULL         |
//! | MIN, MAX             | the argument's                                     | NULL         |
//!
//! NULLs are left out. A state holds one array indexed by group, and takes in a batch in one loop.

mod distinct;
mod extreme;
mod group_key;
mod sum;
#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};

use crate::decimal::{DIVISION_SCALE_INCREMENT, MAX_PRECISION, MAX_SCALE};
use crate::error::MysqlError;
use crate::expr::{Datum, EvalContext, Expr, build};
use crate::value::{ExprType, SqlType, Value};

use distinct::Distinct;
use extreme::Extreme;
pub use group_key::{EncodedKeys, KeyEncoder};
use sum::{DecimalSum, DoubleSum};

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// `COUNT(*)`
    CountAll,
    /// `COUNT([DISTINCT] x, ..)`
    Count,
    /// `SUM([DISTINCT] x)`
    Sum,
    /// `AVG([DISTINCT] x)`
    Avg,
    /// `MIN(x)`
    Min,
    /// `MAX(x)`
    Max,
}

impl AggregateFunction {
    /// The function of that name, in any case (`COUNT` is [`AggregateFunction::Count`]).
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "COUNT" => AggregateFunction::Count,
            "SUM" => AggregateFunction::Sum,
            "AVG" => AggregateFunction::Avg,
            "MIN" => AggregateFunction::Min,
            "MAX" => AggregateFunction::Max,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::CountAll | AggregateFunction::Count => "COUNT",
            AggregateFunction::Sum => "SUM",
            AggregateFunction::Avg => "AVG",
            AggregateFunction::Min => "MIN",
            AggregateFunction::Max => "MAX",
        }
    }
}

/// A call of an aggregate function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// Its arguments: none for `COUNT(*)`, one or more for `COUNT(DISTINCT ..)`, else one.
    pub args: Vec<Expr>,
    /// The type of the result.
    pub ty: ExprType,
}

impl AggregateCall {
    /// A call with the type that MySQL gives it. Error 1582 for a wrong number of arguments.
    pub fn new(function: AggregateFunction, distinct: bool, args: Vec<Expr>) -> Result<Self, MysqlError> {
        let count = match function {
            AggregateFunction::CountAll => 0..=0,
            AggregateFunction::Count if distinct => 1..=usize::MAX,
            _ => 1..=1,
        };
        if !count.contains(&args.len()) {
            return Err(MysqlError::wrong_parameter_count(function.name()));
        }
        // A least TIMESTAMP is the same as it is kept; a least ENUM is the least text.
        let as_kept = |arg: &Expr| match function {
            AggregateFunction::Count => true,
            AggregateFunction::Min | AggregateFunction::Max => !arg.ty.sql.has_members(),
            _ => false,
        };
        let args: Vec<Expr> = args
            .into_iter()
            .map(|arg| match function {
                AggregateFunction::Sum | AggregateFunction::Avg => build::number(arg),
                _ if as_kept(&arg) => arg,
                _ => build::plain(arg),
            })
            .collect();
        let ty = match (function, args.first()) {
            (AggregateFunction::Min | AggregateFunction::Max, Some(arg)) => {
                ExprType { nullable: true, ..arg.ty.clone() }
            }
            (AggregateFunction::Sum | AggregateFunction::Avg, Some(arg)) => {
                let sql = match build::decimal_digits(arg) {
                    Some((p, s)) if function == AggregateFunction::Sum => {
                        SqlType::Decimal { precision: (p + 22).min(MAX_PRECISION), scale: s, unsigned: false }
                    }
                    Some((p, s)) => SqlType::Decimal {
                        precision: (p + DIVISION_SCALE_INCREMENT).min(MAX_PRECISION),
                        scale: (s + DIVISION_SCALE_INCREMENT).min(MAX_SCALE),
                        unsigned: false,
                    },
                    None => SqlType::Double,
                };
                ExprType::numeric(sql, true)
            }
            _ => ExprType::numeric(SqlType::BIGINT, false),
        };
        let args = match function {
            AggregateFunction::Sum | AggregateFunction::Avg => {
                args.into_iter().map(build::all_digits).collect()
            }
            _ => args,
        };
        // The least and the greatest are the same with and without repetitions.
        let repeats_matter =
            matches!(function, AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg);
        let distinct = distinct && repeats_matter;
        Ok(AggregateCall { function, distinct, args, ty })
    }
}

/// The group of each row of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Groups<'a> {
    /// All rows are of group 0.
    One,
    /// One number per row.
    Ids(&'a [u32]),
}

impl Groups<'_> {
    /// The group of a row.
    #[inline]
    fn of(self, row: usize) -> usize {
        match self {
            Groups::One => 0,
            Groups::Ids(ids) => ids[row] as usize,
        }
    }
}

/// The state of one aggregate call for many groups.
#[derive(Debug)]
pub struct GroupedAccumulator {
    distinct: Option<Distinct>,
    arg_type: SqlType,
    result: SqlType,
    state: State,
}

#[derive(Debug)]
enum State {
    Count(Vec<i64>),
    Decimal(DecimalSum),
    Double(DoubleSum),
    Extreme(Extreme),
}

impl GroupedAccumulator {
    /// No groups yet.
    pub fn new(call: &AggregateCall) -> Self {
        let average = call.function == AggregateFunction::Avg;
        let arg = call.args.first().map(|a| a.ty.clone()).unwrap_or(ExprType::NULL);
        let state = match call.function {
            AggregateFunction::CountAll | AggregateFunction::Count => State::Count(Vec::new()),
            AggregateFunction::Min => State::Extreme(Extreme::new(&arg, false)),
            AggregateFunction::Max => State::Extreme(Extreme::new(&arg, true)),
            AggregateFunction::Sum | AggregateFunction::Avg => match call.ty.sql {
                SqlType::Decimal { scale, .. } => {
                    let arg_scale = call.args.first().and_then(build::decimal_digits).map_or(0, |d| d.1);
                    State::Decimal(DecimalSum::new(arg_scale, average.then_some(scale)))
                }
                _ => State::Double(DoubleSum::new(average)),
            },
        };
        GroupedAccumulator {
            distinct: call.distinct.then(|| Distinct::new(&call.args)),
            arg_type: arg.sql,
            result: call.ty.sql.clone(),
            state,
        }
    }

    /// Takes in the rows of a batch: `args` are the values of the call's arguments. Groups are numbered from 0;
    /// `group_count` says how many there are by now.
    pub fn update(
        &mut self,
        groups: Groups<'_>,
        group_count: usize,
        rows: usize,
        args: &[Datum],
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        self.state.grow(group_count);
        let Some(distinct) = &mut self.distinct else {
            return self.state.update(groups, rows, args.first(), &self.arg_type, cx);
        };
        let fresh = distinct.first_seen(groups, rows, args)?;
        if fresh.groups.is_empty() {
            return Ok(());
        }
        let arg = match args.first() {
            Some(Datum::Array(array)) => Some(Datum::Array(fresh.take(array)?)),
            other => other.cloned(),
        };
        // COUNT(DISTINCT a, b) counts rows without any NULL, which these are.
        let arg = if matches!(self.state, State::Count(_)) { None } else { arg };
        let ids = Groups::Ids(&fresh.groups);
        self.state.update(ids, fresh.groups.len(), arg.as_ref(), &self.arg_type, cx)
    }

    /// The results of groups 0 to `group_count` - 1, also of groups without rows (0 for COUNT, else NULL). The state
    /// is empty afterwards.
    pub fn finish(&mut self, group_count: usize, cx: &mut EvalContext<'_>) -> Result<ArrayRef, MysqlError> {
        cx.cancel.check()?;
        self.state.grow(group_count);
        if let Some(distinct) = &mut self.distinct {
            distinct.clear();
        }
        match &mut self.state {
            State::Count(counts) => {
                let counts = std::mem::take(counts);
                Ok(std::sync::Arc::new(arrow_array::Int64Array::from(counts)))
            }
            State::Decimal(sum) => sum.finish(&self.result),
            State::Double(sum) => sum.finish(&self.result),
            State::Extreme(extreme) => extreme.finish(&self.result),
        }
    }

    /// The bytes of memory that it holds, roughly.
    pub fn memory(&self) -> usize {
        let state = match &self.state {
            State::Count(counts) => counts.capacity() * 8,
            State::Decimal(sum) => sum.memory(),
            State::Double(sum) => sum.memory(),
            State::Extreme(extreme) => extreme.memory(),
        };
        state + self.distinct.as_ref().map_or(0, Distinct::memory)
    }
}

impl State {
    fn grow(&mut self, groups: usize) {
        match self {
            State::Count(counts) => counts.resize(groups, 0),
            State::Decimal(sum) => sum.grow(groups),
            State::Double(sum) => sum.grow(groups),
            State::Extreme(extreme) => extreme.grow(groups),
        }
    }

    fn update(
        &mut self,
        groups: Groups<'_>,
        rows: usize,
        arg: Option<&Datum>,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let repeated;
        let array = match arg {
            None => None,
            Some(Datum::Scalar(Value::Null)) => return Ok(()),
            Some(Datum::Scalar(_)) if matches!(self, State::Count(_)) => None,
            Some(Datum::Array(array)) => Some(array),
            Some(scalar) => {
                repeated = scalar.clone().into_array(ty, rows)?;
                Some(&repeated)
            }
        };
        match (self, array) {
            (State::Count(counts), array) => count(counts, groups, rows, array),
            (State::Decimal(sum), Some(array)) => sum.update(groups, array, ty, cx)?,
            (State::Double(sum), Some(array)) => sum.update(groups, array, ty, cx)?,
            (State::Extreme(extreme), Some(array)) => extreme.update(groups, array, ty, cx)?,
            (_, None) => return Err(MysqlError::internal("an aggregate without its argument")),
        }
        Ok(())
    }
}

fn count(counts: &mut [i64], groups: Groups<'_>, rows: usize, array: Option<&ArrayRef>) {
    let nulls = array.and_then(|a| a.logical_nulls()).filter(|n| n.null_count() > 0);
    match (groups, nulls) {
        (Groups::One, nulls) => {
            let present = rows - nulls.map_or(0, |n| n.null_count());
            if let Some(only) = counts.first_mut() {
                *only += present as i64;
            }
        }
        (Groups::Ids(ids), None) => ids.iter().for_each(|g| counts[*g as usize] += 1),
        (Groups::Ids(ids), Some(nulls)) => {
            for row in nulls.inner().set_indices() {
                counts[ids[row] as usize] += 1;
            }
        }
    }
}

/// Calls `f` with the group and the value of each row that is not NULL.
#[inline(always)]
fn for_each<T: Copy>(groups: Groups<'_>, array: &dyn Array, lane: &[T], mut f: impl FnMut(usize, T)) {
    match (groups, array.nulls().filter(|n| n.null_count() > 0)) {
        (Groups::One, None) => lane.iter().for_each(|v| f(0, *v)),
        (Groups::Ids(ids), None) => ids.iter().zip(lane).for_each(|(g, v)| f(*g as usize, *v)),
        (groups, Some(nulls)) => nulls.inner().set_indices().for_each(|row| f(groups.of(row), lane[row])),
    }
}
