//! Window functions, and the windows they are computed over.

use super::{Expr, Ident, IntervalUnit, OrderItem};

/// `function(args) OVER ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function computed.
    pub function: WindowFunction,
    /// The window that it is computed over.
    pub over: Over,
}

/// The function before OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// A function that has no meaning without OVER, with its arguments.
    Own(WindowFunctionName, Vec<Expr>),
    /// A call of an aggregate function.
    Aggregate(Expr),
}

/// The functions that have no meaning without OVER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowFunctionName {
    /// `ROW_NUMBER()`.
    RowNumber,
    /// `RANK()`.
    Rank,
    /// `DENSE_RANK()`.
    DenseRank,
    /// `PERCENT_RANK()`.
    PercentRank,
    /// `CUME_DIST()`.
    CumeDist,
    /// `NTILE(n)`.
    Ntile,
    /// `LAG(value [, rows [, default]])`.
    Lag,
    /// `LEAD(value [, rows [, default]])`.
    Lead,
    /// `FIRST_VALUE(value)`.
    FirstValue,
    /// `LAST_VALUE(value)`.
    LastValue,
    /// `NTH_VALUE(value, n)`.
    NthValue,
}

/// The window of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER name`: the named window unchanged, with its frame.
    Name(Ident),
    /// `OVER (..)`.
    Spec(Box<WindowSpec>),
}

/// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The named window that it extends.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame, if written.
    pub frame: Option<Frame>,
}

/// `name AS (..)` of the WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name.
    pub name: Ident,
    /// The window.
    pub spec: WindowSpec,
}

/// `ROWS|RANGE BETWEEN start AND end`; without BETWEEN the frame ends at the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The unit of the bounds.
    pub unit: FrameUnit,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// The unit that the bounds of a frame count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Differences between values of ORDER BY.
    Range,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(FrameDistance),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(FrameDistance),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// The distance of a bound: `n`, or `INTERVAL n unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameDistance {
    /// The amount.
    pub amount: Expr,
    /// The unit, for INTERVAL.
    pub unit: Option<IntervalUnit>,
}
