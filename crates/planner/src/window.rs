//! Calls of window functions, in bound statements and in plans.
//!
//! A call sees the rows of its partition in the order of its window. Each row has a frame: a run of rows of the partition. Both
//! ends of the frame only move forward from one row to the next. Expressions of a bound statement are over columns of the block,
//! expressions of a plan over the columns of the operator's input.

use leafline_expr::Expr;
use leafline_expr::aggregate::AggregateCall;
use leafline_types::ExprType;

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// The frame; functions that ignore it have the default one.
    pub frame: Frame,
    /// The type of the result.
    pub ty: ExprType,
}

/// A window function and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// The number of the row, from 1.
    RowNumber,
    /// The number of the first peer of the row.
    Rank,
    /// The number of peer groups up to and including the row's.
    DenseRank,
    /// (RANK - 1) / (rows - 1), 0 in a partition of one row.
    PercentRank,
    /// The share of the rows up to the last peer of the row.
    CumeDist,
    /// The number of the row's bucket when the partition is cut into this many nearly equal buckets.
    Ntile(Expr),
    /// LAG or LEAD: the value of the row at a distance before or after the current one.
    Shifted {
        /// The value.
        value: Expr,
        /// The distance in rows; a constant.
        rows: Expr,
        /// LEAD: the row after the current one.
        ahead: bool,
        /// The value where there is no such row; it has the type of the result.
        default: Option<Expr>,
    },
    /// FIRST_VALUE, LAST_VALUE or NTH_VALUE: the value of a row of the frame.
    Framed {
        /// The value.
        value: Expr,
        /// The row.
        row: FrameRow,
    },
    /// An aggregate of the rows of the frame.
    Aggregate(AggregateCall),
}

/// The row of a frame that a function reads.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameRow {
    /// FIRST_VALUE.
    First,
    /// LAST_VALUE.
    Last,
    /// NTH_VALUE: the row with this number, from 1; a constant.
    Nth(Expr),
}

/// The rows of the partition that a call sees from the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// The unit of the bounds.
    pub unit: FrameUnit,
}

/// The unit of the bounds of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Values of the only key of the order, where a bound has a distance. The current row stands for all its peers.
    Range {
        /// The key that the limits of the bounds are compared with.
        key: Option<Expr>,
        /// The order is descending.
        descending: bool,
    },
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// The end of the partition on the side of the bound.
    Unbounded,
    /// The current row.
    CurrentRow,
    /// Before the current row.
    Preceding(Distance),
    /// After the current row.
    Following(Distance),
}

/// The distance of a bound from the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// The distance; a constant.
    pub amount: Expr,
    /// RANGE: the greatest or least key within the bound, computed from the current row.
    pub limit: Option<Expr>,
}

impl Frame {
    /// Returns the default frame: from the first row of the partition to the last peer of the current row.
    pub fn running() -> Frame {
        let unit = FrameUnit::Range { key: None, descending: false };
        Frame { start: FrameBound::Unbounded, end: FrameBound::CurrentRow, unit }
    }

    /// Whether the frame is the whole partition for every row.
    pub fn is_whole(&self) -> bool {
        (&self.start, &self.end) == (&FrameBound::Unbounded, &FrameBound::Unbounded)
    }

    fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for bound in [&mut self.start, &mut self.end] {
            if let FrameBound::Preceding(distance) | FrameBound::Following(distance) = bound {
                f(&mut distance.amount);
                distance.limit.iter_mut().for_each(&mut *f);
            }
        }
        if let FrameUnit::Range { key, .. } = &mut self.unit {
            key.iter_mut().for_each(f);
        }
    }
}

impl WindowCall {
    /// Returns MySQL's name of the function.
    pub fn name(&self) -> &'static str {
        match &self.function {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Ntile(_) => "ntile",
            WindowFunction::Shifted { ahead: false, .. } => "lag",
            WindowFunction::Shifted { ahead: true, .. } => "lead",
            WindowFunction::Framed { row: FrameRow::First, .. } => "first_value",
            WindowFunction::Framed { row: FrameRow::Last, .. } => "last_value",
            WindowFunction::Framed { row: FrameRow::Nth(_), .. } => "nth_value",
            WindowFunction::Aggregate(call) => call.function.name(),
        }
    }

    /// Calls `f` on each expression of the call.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.function {
            WindowFunction::Ntile(parts) => f(parts),
            WindowFunction::Shifted { value, rows, default, .. } => {
                f(value);
                f(rows);
                default.iter_mut().for_each(&mut *f);
            }
            WindowFunction::Framed { value, row } => {
                f(value);
                if let FrameRow::Nth(number) = row {
                    f(number);
                }
            }
            WindowFunction::Aggregate(call) => call.args.iter_mut().for_each(&mut *f),
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => {}
        }
        self.frame.for_each_expr_mut(f);
    }

    /// Returns the arguments, for EXPLAIN.
    pub fn args(&self) -> Vec<&Expr> {
        match &self.function {
            WindowFunction::Ntile(parts) => vec![parts],
            WindowFunction::Shifted { value, rows, default, .. } => {
                [value, rows].into_iter().chain(default).collect()
            }
            WindowFunction::Framed { value, row: FrameRow::Nth(number) } => vec![value, number],
            WindowFunction::Framed { value, .. } => vec![value],
            WindowFunction::Aggregate(call) => call.args.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns how much of the partition must be present before the value of a row is known.
    pub fn reach(&self) -> Reach {
        use WindowFunction::{Aggregate, DenseRank, Rank, RowNumber};
        match (&self.function, &self.frame) {
            (RowNumber | Rank | DenseRank, _) => Reach::Row,
            (Aggregate(_), Frame { start: FrameBound::Unbounded, end: FrameBound::CurrentRow, unit }) => {
                match unit {
                    FrameUnit::Rows => Reach::Row,
                    FrameUnit::Range { .. } => Reach::Peers,
                }
            }
            _ => Reach::Partition,
        }
    }
}

/// The part of a partition that a call needs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The rows up to the current one.
    Row,
    /// The rows up to the last peer of the current one.
    Peers,
    /// All rows.
    Partition,
}
