//! The function table: every scalar function, once.

use std::fmt;

use crate::error::MysqlError;
use crate::expr::{Datum, EvalContext, Expr};
use crate::value::{ExprType, Value};

/// A function, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(u16);

/// How often the value of a function changes while its arguments do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    /// Never.
    Immutable,
    /// From statement to statement: `NOW()`, `DATABASE()`.
    Statement,
    /// With every evaluation: `RAND()`, `SLEEP()`.
    Volatile,
}

/// A call as a kernel sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Which function.
    pub function: FunctionId,
    /// The arguments' expressions, for their types.
    pub args: &'a [Expr],
    /// The type of the result.
    pub ty: &'a ExprType,
}

/// Computes the type of a call, or finds its arguments wrong.
pub type TypeRule = fn(&[Expr]) -> Result<ExprType, MysqlError>;
/// Computes a call for one row.
pub type ScalarKernel = fn(&mut EvalContext<'_>, Call<'_>, &[Value]) -> Result<Value, MysqlError>;
/// Computes a call for all rows of a batch; None where it does not know the types at hand.
pub type VectorKernel =
    fn(&mut EvalContext<'_>, Call<'_>, &[Datum], usize) -> Result<Option<Datum>, MysqlError>;

/// One function.
pub struct Function {
    /// Its name, in upper case.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// The least number of arguments.
    pub min_args: usize,
    /// The greatest number of arguments.
    pub max_args: usize,
    /// The type of its result.
    pub type_rule: TypeRule,
    /// How it is computed.
    pub scalar: ScalarKernel,
    /// How it is computed faster.
    pub vector: Option<VectorKernel>,
    /// How often it changes.
    pub volatility: Volatility,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every function.
pub fn table() -> &'static [Function] {
    todo!()
}

/// The function of that name, in any case.
pub fn lookup(_name: &str) -> Option<FunctionId> {
    let _ = FunctionId(0);
    todo!()
}

impl FunctionId {
    /// What the table says of it.
    pub fn definition(self) -> &'static Function {
        &table()[usize::from(self.0)]
    }
}
