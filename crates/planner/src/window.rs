//! Calls of window functions, as bound statements and plans have them.
//!
//! A call sees the rows of its partition in the order of its window. Its frame is a run of these rows for each row; both its ends
//! move forward only, as one goes through the partition. In a bound statement the expressions are over columns of the block, in a
//! plan over the columns of the operator's input.

use leafline_expr::Expr;
use leafline_expr::aggregate::AggregateCall;
use leafline_types::ExprType;

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// What is computed.
    pub function: WindowFunction,
    /// Over which rows of the partition; functions that do not look at it have the default one.
    pub frame: Frame,
    /// The type of the result.
    pub ty: ExprType,
}

/// What a window function computes.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// The number of the row, from 1.
    RowNumber,
    /// The number of the first row that equals this one in the order.
    Rank,
    /// How many different rows, in the order, there are up to this one.
    DenseRank,
    /// (RANK - 1) / (rows - 1), 0 in a partition of one row.
    PercentRank,
    /// The share of the rows up to the last that equals this one.
    CumeDist,
    /// The number of the row's part, when the partition is cut in so many as nearly equal parts.
    Ntile(Expr),
    /// The value of a row so many before this one, or behind it.
    Shifted {
        /// The value.
        value: Expr,
        /// How many rows; a constant.
        rows: Expr,
        /// LEAD: behind this one.
        ahead: bool,
        /// The value where there is no such row, of the type of the result.
        default: Option<Expr>,
    },
    /// The value of a row of the frame.
    Framed {
        /// The value.
        value: Expr,
        /// Which row.
        row: FrameRow,
    },
    /// An aggregate of the rows of the frame.
    Aggregate(AggregateCall),
}

/// A row of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameRow {
    /// FIRST_VALUE.
    First,
    /// LAST_VALUE.
    Last,
    /// NTH_VALUE: by its number from 1; a constant.
    Nth(Expr),
}

/// The rows of the partition that a call sees from a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// In what the bounds count.
    pub unit: FrameUnit,
}

/// In what the bounds of a frame count.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Values of the only key of the order, where a bound has a distance: the row itself stands for all that equal it.
    Range {
        /// What the limits of the bounds are compared with.
        key: Option<Expr>,
        /// The order is a descending one.
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
    /// Behind it.
    Following(Distance),
}

/// How far a bound is from the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// A constant.
    pub amount: Expr,
    /// For RANGE: the greatest or least value of the key within the bound, as seen from a row.
    pub limit: Option<Expr>,
}

impl Frame {
    /// From the first row of the partition to the last that equals the current one: the default.
    pub fn running() -> Frame {
        let unit = FrameUnit::Range { key: None, descending: false };
        Frame { start: FrameBound::Unbounded, end: FrameBound::CurrentRow, unit }
    }

    /// Whether it is the whole partition for every row.
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
    /// Its name, as MySQL writes it.
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

    /// Calls `f` on each of its expressions.
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

    /// Its arguments, for EXPLAIN.
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

    /// How much of the partition has to be there before the value of a row is known.
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

/// How much of a partition a call needs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The rows up to the current one.
    Row,
    /// The rows that equal the current one, too.
    Peers,
    /// All rows.
    Partition,
}
