//! The inputs of a window's calls: columns of the window's input, and expressions over them, which are evaluated once for each
//! row.

use crate::project::{may_be_long, with_values};
use crate::{BoxedOperator, ExecutionContext};
use leafline_expr::{Expr, evaluate};
use leafline_planner::plan;
use leafline_planner::window::{FrameBound, FrameUnit, WindowCall, WindowFunction};
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

/// The columns that calls need in addition to the columns of the input; they follow those.
pub(super) struct Inputs {
    /// The expressions; empty if the values come with the rows.
    exprs: Vec<Expr>,
    /// The types of all columns.
    pub types: Arc<[ExprType]>,
    /// Number of columns of the input.
    pub input: usize,
    pub calls: Vec<CallInputs>,
}

/// The columns of one call.
#[derive(Default)]
pub(super) struct CallInputs {
    /// The value, or the arguments of an aggregate.
    pub args: Vec<usize>,
    /// The default value of LAG and LEAD.
    pub default: Option<usize>,
    /// The key of the order that the limits of bounds are compared with.
    pub key: Option<usize>,
    /// The limits of the frame's bounds.
    pub start: Option<usize>,
    pub end: Option<usize>,
}

impl Inputs {
    /// Makes the inputs, and the operator that delivers the rows. Values that may be long come with the rows from that operator,
    /// so that their memory is known.
    pub fn new(plan: &plan::WindowSpec, input: BoxedOperator) -> (Inputs, BoxedOperator) {
        let mut columns = Columns { exprs: Vec::new(), types: plan.input.to_vec(), input: plan.input.len() };
        let calls = plan.calls.iter().map(|call| columns.of_call(call)).collect();
        let mut inputs =
            Inputs { exprs: columns.exprs, types: columns.types.into(), input: columns.input, calls };
        if !inputs.exprs.iter().any(may_be_long) {
            return (inputs, input);
        }
        let exprs = std::mem::take(&mut inputs.exprs);
        (inputs, with_values(input, &plan.input, exprs))
    }

    /// Returns rows of the input with all columns.
    pub fn of(&self, mut batch: Batch, cx: &mut ExecutionContext<'_>) -> Result<Batch, MysqlError> {
        for expr in &self.exprs {
            let values = evaluate(expr, &batch, &mut cx.eval)?.into_array(&expr.ty.sql, batch.rows)?;
            batch.columns.push(values);
        }
        Ok(batch)
    }
}

struct Columns {
    exprs: Vec<Expr>,
    types: Vec<ExprType>,
    input: usize,
}

impl Columns {
    fn of(&mut self, expr: &Expr) -> usize {
        match expr.as_column() {
            Some(column) if column < self.input => column,
            _ => {
                self.exprs.push(expr.clone());
                self.types.push(expr.ty.clone());
                self.types.len() - 1
            }
        }
    }

    fn of_bound(&mut self, bound: &FrameBound) -> Option<usize> {
        match bound {
            FrameBound::Preceding(distance) | FrameBound::Following(distance) => {
                distance.limit.as_ref().map(|limit| self.of(limit))
            }
            FrameBound::Unbounded | FrameBound::CurrentRow => None,
        }
    }

    fn of_call(&mut self, call: &WindowCall) -> CallInputs {
        let mut inputs = CallInputs::default();
        match &call.function {
            WindowFunction::Shifted { value, default, .. } => {
                inputs.args.push(self.of(value));
                inputs.default = default.as_ref().map(|default| self.of(default));
            }
            WindowFunction::Framed { value, .. } => inputs.args.push(self.of(value)),
            WindowFunction::Aggregate(aggregate) => {
                inputs.args.extend(aggregate.args.iter().map(|arg| self.of(arg)));
            }
            // The other functions only look at positions.
            _ => return inputs,
        }
        if let FrameUnit::Range { key: Some(key), .. } = &call.frame.unit {
            inputs.key = Some(self.of(key));
        }
        inputs.start = self.of_bound(&call.frame.start);
        inputs.end = self.of_bound(&call.frame.end);
        inputs
    }
}
