//! Aggregate functions over groups of rows, and the keys that rows are grouped, joined and sorted by.

mod group_key;

use arrow_array::ArrayRef;

use crate::error::MysqlError;
use crate::expr::{Datum, EvalContext, Expr};
use crate::value::ExprType;

pub use group_key::{EncodedKeys, KeyEncoder};

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

impl AggregateFunction {
    /// The function of that name, in any case (`COUNT` is [`AggregateFunction::Count`]).
    pub fn from_name(_name: &str) -> Option<Self> {
        todo!()
    }
}

impl AggregateCall {
    /// A call with the type that MySQL gives it. Error 1582 for a wrong number of arguments.
    pub fn new(_function: AggregateFunction, _distinct: bool, _args: Vec<Expr>) -> Result<Self, MysqlError> {
        todo!()
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

/// The state of one aggregate call for many groups.
#[derive(Debug)]
pub struct GroupedAccumulator {}

impl GroupedAccumulator {
    /// No groups yet.
    pub fn new(_call: &AggregateCall) -> Self {
        todo!()
    }

    /// Takes in the rows of a batch: `args` are the values of the call's arguments. Groups are numbered from 0;
    /// `group_count` says how many there are by now.
    pub fn update(
        &mut self,
        _groups: Groups<'_>,
        _group_count: usize,
        _rows: usize,
        _args: &[Datum],
        _cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        todo!()
    }

    /// The results of groups 0 to `group_count` - 1, also of groups without rows (0 for COUNT, else NULL). The state
    /// is empty afterwards.
    pub fn finish(&mut self, _group_count: usize, _cx: &mut EvalContext<'_>) -> Result<ArrayRef, MysqlError> {
        todo!()
    }

    /// The bytes of memory that it holds, roughly.
    pub fn memory(&self) -> usize {
        todo!()
    }
}
