//! LIMIT without an order, and the row counts of limits.

use super::{Explained, Node, PlanNode, Role, Step};
use leafline_expr::Expr;
use leafline_types::convert::cast;
use leafline_types::temporal::DateRules;
use leafline_types::{SqlType, Value, Warnings};
use std::fmt::{Display, Formatter, Result};

/// Delivers the first rows in the order of the input.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The rows to deliver.
    pub limit: RowLimit,
}

impl PlanNode for Limit {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        Explained { label: format!("Limit: {}", self.limit), step: Step::Rows(&self.input) }
    }

    fn asks_for_all(&self, _input: usize, _all: bool) -> bool {
        false
    }
}

/// LIMIT and OFFSET: constants or parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLimit {
    /// Rows to skip.
    pub offset: LimitValue,
    /// Rows to deliver; `None`: all.
    pub count: Option<LimitValue>,
}

/// Writes the limit as EXPLAIN FORMAT=TREE shows it.
impl Display for RowLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let value = |value: LimitValue| match value {
            LimitValue::Constant(rows) => rows.to_string(),
            LimitValue::Parameter(_) => "?".to_string(),
        };
        let count = self.count.map_or_else(|| "all".to_string(), value);
        match self.offset {
            LimitValue::Constant(0) => write!(f, "{count} row(s)"),
            offset => write!(f, "{}/{count} row(s)", value(offset)),
        }
    }
}

/// A number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitValue {
    /// A number that is known when the statement is planned.
    Constant(u64),
    /// The position of the parameter that holds the number.
    Parameter(usize),
}

impl LimitValue {
    /// Returns the number for the parameters of an execution; `None` if the parameter is negative. As in MySQL, a parameter of
    /// another type is converted to an integer (many drivers bind every value as text), and NULL is 0.
    pub fn resolve(self, parameters: &[Value]) -> Option<u64> {
        match self {
            LimitValue::Constant(rows) => Some(rows),
            LimitValue::Parameter(position) => match parameters.get(position)? {
                Value::Int(rows) => u64::try_from(*rows).ok(),
                Value::UInt(rows) => Some(*rows),
                Value::Null => Some(0),
                other => {
                    match cast(other, &SqlType::Null, &SqlType::BIGINT, DateRules::DAYS, &mut Warnings::new())
                    {
                        Ok(Value::Int(rows)) => u64::try_from(rows).ok(),
                        _ => None,
                    }
                }
            },
        }
    }
}
