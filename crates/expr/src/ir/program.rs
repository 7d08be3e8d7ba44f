//! Calls of stored functions as operands.

use super::Expr;
use std::sync::Arc;

/// A call of a stored function.
///
/// The expression knows the function by name alone; a [`ProgramRunner`](crate::ProgramRunner) finds and runs it. A call runs
/// statements, so it is never evaluated under a latch or by a thread of a parallel scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCall {
    /// The function.
    pub function: Arc<ProgramName>,
    /// The arguments, before they are converted to the types of the parameters.
    pub args: Vec<Expr>,
    /// Whether two calls with the same arguments can differ. Without it the arguments are constants, and the function is called
    /// at most once in an execution, when a row needs its value.
    pub is_volatile: bool,
}

/// The name of a stored function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgramName {
    /// The database.
    pub database: String,
    /// The name in it.
    pub name: String,
}
