//! Aggregate functions over groups of rows, and the keys by which rows are grouped, joined and sorted.
//!
//! | function             | type of the result                                 | without rows |
//! |----------------------|----------------------------------------------------|--------------|
//! | COUNT                | BIGINT                                             | 0            |
//! | SUM of exact numbers | DECIMAL(p + 22, s), at most 65 digits              | NULL         |
//! | AVG of exact numbers | DECIMAL(p + 4, s + 4), rounded half away from zero | NULL         |
//! | SUM, AVG of others   | DOUBLE                                             | NULL         |
//! | MIN, MAX             | the argument's                                     | NULL         |
//! | STDDEV, VARIANCE     | DOUBLE                                             | NULL         |
//! | BIT_AND, _OR, _XOR   | BIGINT UNSIGNED, or a binary argument's            | neutral bits |
//! | GROUP_CONCAT         | TEXT, or a binary string                           | NULL         |
//! | JSON_ARRAYAGG, JSON_OBJECTAGG | JSON                                      | NULL         |
//!
//! All ignore NULLs except the JSON functions. A state holds one array indexed by group, and takes in a batch in one
//! loop.

mod bits;
mod concat;
mod distinct;
mod documents;
mod entries;
mod extreme;
mod group_key;
mod key_table;
mod matches;
mod partial;
mod sliding;
mod statistics;
mod sum;
#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};
pub use leafline_types::words::AggregateFunction;

use crate::{Datum, EvalContext, Expr, build};
use leafline_types::collation::Collation;
use leafline_types::column::ColumnBuilder;
use leafline_types::decimal::{DIVISION_SCALE_INCREMENT, MAX_PRECISION, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

use bits::{BitFold, BitOp};
use concat::Concat;
pub use concat::ConcatOptions;
use distinct::Distinct;
use documents::Documents;
pub use entries::{Entry, Gathering};
use extreme::Extreme;
pub use group_key::{EncodedKeys, KeyEncoder};
pub use key_table::{KeyBuffer, KeyTable};
use matches::Matches;
pub use matches::{MatchAggregate, MatchOptions};
pub use sliding::{FrameRows, FrameSource, SlidingAggregate};
use statistics::Moments;
use sum::{DecimalSum, DoubleSum};

/// Returns the operation of an aggregate of bits.
fn bit_op(function: AggregateFunction) -> Option<BitOp> {
    Some(match function {
        AggregateFunction::BitAnd => BitOp::And,
        AggregateFunction::BitOr => BitOp::Or,
        AggregateFunction::BitXor => BitOp::Xor,
        _ => return None,
    })
}

/// Makes the state of a variance or standard deviation.
fn moments(function: AggregateFunction) -> Option<Moments> {
    Some(match function {
        AggregateFunction::StddevPop => Moments::new(false, true),
        AggregateFunction::StddevSamp => Moments::new(true, true),
        AggregateFunction::VarPop => Moments::new(false, false),
        AggregateFunction::VarSamp => Moments::new(true, false),
        _ => return None,
    })
}

/// A call of an aggregate function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AggregateCall {
    /// The function.
    pub function: AggregateFunction,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// The arguments: none for `COUNT(*)`, one or more for `COUNT(DISTINCT ..)` and GROUP_CONCAT, otherwise one, or
    /// two for JSON_OBJECTAGG.
    pub args: Vec<Expr>,
    /// The options of GROUP_CONCAT.
    pub concat: Option<ConcatOptions>,
    /// The options of an aggregate of a search for words.
    pub matches: Option<MatchOptions>,
    /// Whether the arguments are results of the call's [parts](AggregateCall::parts), not values.
    pub merges: bool,
    /// The type of the result.
    pub ty: ExprType,
}

impl AggregateCall {
    /// Makes a call with the type that MySQL gives it. Error 1582 for a wrong number of arguments. COUNT of a column
    /// that is never NULL counts all rows without reading the column.
    pub fn new(function: AggregateFunction, distinct: bool, args: Vec<Expr>) -> Result<Self, MysqlError> {
        let count = match function {
            AggregateFunction::CountAll => 0..=0,
            AggregateFunction::Count if distinct => 1..=usize::MAX,
            AggregateFunction::JsonObject => 2..=2,
            _ => 1..=1,
        };
        if !count.contains(&args.len()) {
            return Err(MysqlError::wrong_parameter_count(function.name()));
        }
        let (function, args) = match (function, args.as_slice()) {
            (AggregateFunction::Count, [arg])
                if !distinct && arg.as_column().is_some() && !arg.ty.nullable =>
            {
                (AggregateFunction::CountAll, Vec::new())
            }
            _ => (function, args),
        };
        // The least TIMESTAMP in stored form is the least in any form; the least ENUM is the least text.
        let as_kept = |arg: &Expr| match function {
            AggregateFunction::Count => true,
            AggregateFunction::Min | AggregateFunction::Max => !arg.ty.sql.has_members(),
            _ => false,
        };
        let args: Vec<Expr> = args
            .into_iter()
            .map(|arg| match function {
                AggregateFunction::Sum | AggregateFunction::Avg => build::number(arg),
                AggregateFunction::JsonArray | AggregateFunction::JsonObject => build::document(arg),
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
                        SqlType::decimal((p + 22).min(MAX_PRECISION), s)
                    }
                    Some((p, s)) => SqlType::decimal(
                        (p + DIVISION_SCALE_INCREMENT).min(MAX_PRECISION),
                        (s + DIVISION_SCALE_INCREMENT).min(MAX_SCALE),
                    ),
                    None if function == AggregateFunction::Sum => build::real(build::shown_digits(arg)),
                    None => build::real(build::digits_of_quotient(build::shown_digits(arg))),
                };
                ExprType::numeric(sql, true)
            }
            (AggregateFunction::JsonArray | AggregateFunction::JsonObject, _) => ExprType::json(true),
            (_, Some(arg)) if bit_op(function).is_some() => bits_type(arg),
            (_, Some(_)) if moments(function).is_some() => ExprType::numeric(SqlType::Double, true),
            _ => ExprType::numeric(SqlType::BIGINT, false),
        };
        let args = match function {
            // DISTINCT compares values in the form in which they are shown.
            AggregateFunction::Sum | AggregateFunction::Avg if !distinct => {
                args.into_iter().map(build::without_rounding).collect()
            }
            _ => args,
        };
        // Repetitions do not change the minimum or maximum.
        let repeats_matter =
            matches!(function, AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg);
        let distinct = distinct && repeats_matter;
        Ok(AggregateCall { function, distinct, args, concat: None, matches: None, merges: false, ty })
    }

    /// Returns the call with all the digits that MySQL computes its result with, if these are more than it shows: the
    /// digits of quotients in its arguments, and of the quotient that an average is. Expressions over the result
    /// continue with them.
    pub fn with_all_digits(&self) -> Option<AggregateCall> {
        let args: Vec<Expr> = match self.distinct {
            true => self.args.clone(),
            false => self.args.iter().cloned().map(build::without_rounding).collect(),
        };
        let (precision, scale) = build::decimal_digits(args.first()?)?;
        let (whole, scale) = match self.function {
            AggregateFunction::Sum => (precision + 22 - scale, scale),
            AggregateFunction::Avg => (precision - scale, build::quotient_digits(scale, 0)),
            AggregateFunction::Min | AggregateFunction::Max => (precision - scale, scale),
            _ => return None,
        };
        let SqlType::Decimal { scale: shown, .. } = self.ty.sql else { return None };
        if scale <= shown {
            return None;
        }
        let precision = (whole + scale).min(MAX_PRECISION);
        let ty = ExprType { sql: SqlType::decimal(precision, scale), ..self.ty.clone() };
        Some(AggregateCall { args, ty, ..self.clone() })
    }

    /// Makes `GROUP_CONCAT(values ORDER BY order)`; `options` says how many of `args` are values.
    pub fn group_concat(distinct: bool, args: Vec<Expr>, options: ConcatOptions) -> Result<Self, MysqlError> {
        // BIT is a number where values are compared or ordered, bytes elsewhere.
        let keeps_values = distinct || options.values < args.len();
        let as_number = |arg: Expr| match arg.ty.sql {
            SqlType::Bit { .. } if keeps_values => build::bit_number(arg),
            _ => arg,
        };
        let args: Vec<Expr> = args.into_iter().map(as_number).collect();
        let values = &args[..options.values.min(args.len())];
        let (mut collation, coercibility) =
            build::merge_collations("group_concat", values.iter().map(|e| &e.ty))?;
        if coercibility >= Coercibility::Numeric {
            collation = build::TEXT_OF_NUMBER;
        }
        let length = options.max_length.min(u32::MAX as usize) as u32;
        let sql = match collation {
            Collation::Binary => SqlType::Varbinary { len: length },
            _ => SqlType::Text { max_bytes: if length <= 0xffff { 0xffff } else { u32::MAX } },
        };
        let ty = ExprType::string(sql, true, collation, coercibility.min(Coercibility::Coercible));
        Ok(AggregateCall {
            function: AggregateFunction::GroupConcat,
            distinct,
            args,
            concat: Some(options),
            matches: None,
            merges: false,
            ty,
        })
    }

    /// Makes an aggregate of a search for words. The arguments are texts of the row, the query and, of counts of an expanded
    /// query, the words that were collected.
    pub fn of_matches(args: Vec<Expr>, options: MatchOptions) -> Self {
        let sql = SqlType::Blob { max_bytes: u32::MAX };
        let ty = ExprType::string(sql, true, Collation::Binary, Coercibility::Coercible);
        let function = AggregateFunction::Matches;
        AggregateCall {
            function,
            distinct: false,
            args,
            concat: None,
            matches: Some(options),
            merges: false,
            ty,
        }
    }
}

/// Returns BIGINT UNSIGNED, or a binary string as long as the argument can be.
fn bits_type(arg: &Expr) -> ExprType {
    if !arg.ty.sql.is_string() || arg.ty.sql.is_character() {
        return ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
    }
    let len = build::text_length(&arg.ty.sql).min(u32::MAX.into()) as u32;
    ExprType::string(SqlType::Varbinary { len }, false, Collation::Binary, Coercibility::Coercible)
}

/// The group of each row of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Groups<'a> {
    /// All rows belong to group 0.
    One,
    /// The group's number of each row.
    Ids(&'a [u32]),
}

impl Groups<'_> {
    /// Returns the group of a row.
    #[inline]
    pub fn of(self, row: usize) -> usize {
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
    merges: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Count(Vec<i64>),
    Decimal(DecimalSum),
    Double(DoubleSum),
    Extreme(Extreme),
    Moments(Moments),
    Bits(BitFold),
    Concat(Box<Concat>),
    Documents(Documents),
    Matches(Box<Matches>),
}

impl GroupedAccumulator {
    /// Makes a state without groups.
    pub fn new(call: &AggregateCall) -> Self {
        let average = call.function == AggregateFunction::Avg;
        let arg = call.args.first().map(|a| a.ty.clone()).unwrap_or(ExprType::NULL);
        let state = match call.function {
            AggregateFunction::Min => State::Extreme(Extreme::new(&arg, false)),
            AggregateFunction::Max => State::Extreme(Extreme::new(&arg, true)),
            AggregateFunction::Sum | AggregateFunction::Avg => match call.ty.sql {
                SqlType::Decimal { scale, .. } => {
                    let arg_scale = call.args.first().and_then(build::decimal_digits).map_or(0, |d| d.1);
                    State::Decimal(DecimalSum::new(arg_scale, average.then_some(scale)))
                }
                SqlType::Real { digits: Some((_, digits)), .. } => {
                    State::Double(DoubleSum::new(average, Some(digits)))
                }
                _ => State::Double(DoubleSum::new(average, None)),
            },
            AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                State::Documents(Documents::new(&call.args))
            }
            AggregateFunction::Matches if call.matches.is_some() => match &call.matches {
                Some(options) => State::Matches(Box::new(Matches::new(options, &call.args))),
                None => State::Count(Vec::new()),
            },
            other => match (bit_op(other), moments(other), &call.concat) {
                (Some(op), ..) => State::Bits(BitFold::new(op, &arg.sql)),
                (_, Some(moments), _) => State::Moments(moments),
                (.., Some(options)) => State::Concat(Box::new(Concat::new(call, options))),
                _ => State::Count(Vec::new()),
            },
        };
        GroupedAccumulator {
            // GROUP_CONCAT handles DISTINCT itself, because its arguments include the keys of its order.
            distinct: (call.distinct && call.concat.is_none()).then(|| Distinct::new(&call.args)),
            arg_type: arg.sql,
            result: call.ty.sql.clone(),
            merges: call.merges,
            state,
        }
    }

    /// Takes in the rows of a batch; `args` are the values of the call's arguments. Groups are numbered from 0, and
    /// `group_count` is their number so far.
    pub fn update(
        &mut self,
        groups: Groups<'_>,
        group_count: usize,
        rows: usize,
        args: &[Datum],
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        self.state.grow(group_count);
        match &mut self.state {
            State::Concat(concat) => return concat.update(groups, rows, args, cx),
            State::Documents(documents) => return documents.update(groups, rows, args, cx),
            State::Matches(matches) => return matches.update(rows, args, cx),
            State::Count(counts) if self.merges => return partial::add_counts(counts, groups, rows, args),
            State::Decimal(sum) if self.merges => {
                return partial::add_sums(sum, groups, rows, args, &self.arg_type, cx);
            }
            _ => {}
        }
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
        // COUNT(DISTINCT a, b) counts rows without any NULL; only such rows are left.
        let arg = if matches!(self.state, State::Count(_)) { None } else { arg };
        let ids = Groups::Ids(&fresh.groups);
        self.state.update(ids, fresh.groups.len(), arg.as_ref(), &self.arg_type, cx)
    }

    /// Whether it keeps the arguments that groups have had, because equal ones count once.
    pub fn keeps_arguments(&self) -> bool {
        self.distinct.is_some()
    }

    /// Returns which entries count, if it collects the values of all rows; None for other functions.
    pub fn gathering(&self) -> Option<Gathering> {
        match &self.state {
            State::Concat(concat) => Some(concat.gathering()),
            State::Documents(_) => Some(Gathering::All),
            _ => None,
        }
    }

    /// Keeps nothing more. From now on rows with unknown arguments are [left out](Self::left_out), and an aggregate
    /// that [collects](Self::gathering) values returns [entries](Self::entries).
    pub fn close(&mut self) {
        self.distinct.iter_mut().for_each(Distinct::close);
        match &mut self.state {
            State::Concat(concat) => concat.close(),
            State::Documents(documents) => documents.close(),
            _ => {}
        }
    }

    /// Returns the entries of the last batch, once it is closed. The caller [passes them back](Self::take_back) group
    /// by group, sorted by key.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let entries = match &self.state {
            State::Concat(concat) => Some(concat.entries()),
            State::Documents(documents) => Some(documents.entries()),
            _ => None,
        };
        entries.into_iter().flat_map(|entries| entries.iter())
    }

    /// Adds an entry to its group.
    pub fn take_back(&mut self, entry: Entry<'_>, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        match &mut self.state {
            State::Concat(concat) => concat.take_back(entry, cx)?,
            State::Documents(documents) => documents.take_back(entry)?,
            _ => return Err(MysqlError::internal("an aggregate that gives out no entries")),
        }
        Ok(())
    }

    /// Whether its results can be long, so that they are [returned group by group](Self::finish_group).
    pub fn has_values(&self) -> bool {
        matches!(self.state, State::Extreme(_) | State::Concat(_) | State::Documents(_) | State::Matches(_))
    }

    /// Returns the result of a group of an aggregate that [has values](Self::has_values), and drops its state.
    pub fn finish_group(&mut self, group: usize, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        match &mut self.state {
            State::Concat(concat) => concat.finish(group, &self.result, cx),
            State::Documents(documents) => documents.finish(group),
            State::Extreme(extreme) => Ok(extreme.take(group)),
            State::Matches(matches) => Ok(matches.finish()),
            _ => Err(MysqlError::internal("an aggregate that is finished for all groups at once")),
        }
    }

    /// Returns the rows of the last batch that were left out, each with a key that equal arguments of a group share.
    pub fn left_out(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.distinct.iter().flat_map(Distinct::left_out)
    }

    /// Forgets the arguments that groups have had and takes rows in again. The caller then passes the rows that were
    /// left out, and of equal ones all.
    pub fn forget_arguments(&mut self) {
        self.distinct.iter_mut().for_each(Distinct::clear);
    }

    /// Returns the results of groups 0 to `group_count` - 1, including groups without rows (0 for COUNT, otherwise
    /// NULL). The state is empty afterwards.
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
            State::Moments(moments) => Ok(moments.finish()),
            State::Bits(bits) => bits.finish(&self.result),
            State::Concat(_) | State::Documents(_) | State::Matches(_) => {
                let mut out = ColumnBuilder::with_capacity(&self.result, group_count);
                for group in 0..group_count {
                    out.push_value(&self.finish_group(group, cx)?)?;
                }
                match &mut self.state {
                    State::Concat(concat) => concat.clear(),
                    State::Documents(documents) => documents.clear(),
                    _ => {}
                }
                Ok(out.finish())
            }
        }
    }

    /// Returns about how many bytes of memory it holds.
    pub fn memory(&self) -> usize {
        let state = match &self.state {
            State::Count(counts) => counts.capacity() * 8,
            State::Decimal(sum) => sum.memory(),
            State::Double(sum) => sum.memory(),
            State::Extreme(extreme) => extreme.memory(),
            State::Moments(moments) => moments.memory(),
            State::Bits(bits) => bits.memory(),
            State::Concat(concat) => concat.memory(),
            State::Documents(documents) => documents.memory(),
            State::Matches(matches) => matches.memory(),
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
            State::Moments(moments) => moments.grow(groups),
            State::Bits(bits) => bits.grow(groups),
            State::Concat(concat) => concat.grow(groups),
            State::Documents(documents) => documents.grow(groups),
            State::Matches(_) => {}
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
            (State::Moments(moments), Some(array)) => moments.update(groups, array, ty, cx)?,
            (State::Bits(bits), Some(array)) => bits.update(groups, array, ty, cx)?,
            (State::Concat(_) | State::Documents(_) | State::Matches(_), Some(_)) => {
                return Err(MysqlError::internal("an aggregate of one argument only"));
            }
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
