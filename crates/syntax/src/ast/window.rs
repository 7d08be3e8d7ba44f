//! Window functions, and the windows they are computed over.

use super::{Expr, Ident, IntervalUnit, OrderItem};

/// `function(args) OVER ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// What is computed.
    pub function: WindowFunction,
    /// Over which rows.
    pub over: Over,
}

/// What stands before OVER.
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
    /// `OVER name`: the window of that name as it is, with its frame.
    Name(Ident),
    /// `OVER (..)`.
    Spec(Box<WindowSpec>),
}

/// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The window that it goes on from.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame, when written.
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

/// `ROWS|RANGE BETWEEN start AND end`; without BETWEEN the end is the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// In what bounds count.
    pub unit: FrameUnit,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// In what the bounds of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Differences of the value of ORDER BY.
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

/// `n` or `INTERVAL n unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameDistance {
    /// How much.
    pub amount: Expr,
    /// Of what, for INTERVAL.
    pub unit: Option<IntervalUnit>,
}
