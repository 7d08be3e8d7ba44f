//! Expressions: the IR, MySQL's typing rules, and the evaluator.
//!
//! | module       | holds                                                                              |
//! |--------------|------------------------------------------------------------------------------------|
//! | `ir`         | the nodes                                                                          |
//! | [`build`]    | the making of nodes: operand checks, result types, comparison domains, collations  |
//! | `walk`       | visiting and rewriting                                                             |
//! | `identity`   | structural equality and hash                                                       |
//! | `canonical`  | canonical forms, to compare expressions of statements with those of tables         |
//! | `display`    | SQL text, for EXPLAIN, column names and error messages                             |
//! | [`subquery`] | subqueries as operands, and the trait that runs them                               |
//! | `in_set`, `in_rows` | constant lists of values and of rows, as sets                               |
//! | `narrow`     | the rounding of constants to the grid of a column's values                         |
//! | `normalize`  | constant folding, binding of parameters, NOT pushed to the leaves, conjuncts       |
//! | `eval`       | the evaluator, over batches of columns and over single rows                        |
//! | `byte_range` | sets of key bytes                                                                  |
//! | `prefix_range` | sets of key bytes of parts that hold only the beginning of strings               |
//! | [`domain`]   | the values of a column that satisfy `column op constant`, as ranges of key bytes   |
//! | [`encoded`]  | conditions compiled to tests of key bytes                                          |
//! | `screen`     | conditions tested on the bytes of rows                                             |
//! | [`functions`] | the function table                                                                |
//! | [`aggregate`] | aggregate functions, and the keys to group, join and sort by                      |
//! | `user_variables` | the values of `@name`                                                          |

pub mod aggregate;
pub mod build;
mod byte_range;
mod canonical;
mod context;
mod display;
pub mod domain;
pub mod encoded;
#[cfg(test)]
pub(crate) mod encoded_tests;
mod eval;
pub mod functions;
mod identity;
mod in_rows;
mod in_set;
mod ir;
mod like;
mod narrow;
mod normalize;
mod prefix_range;
mod screen;
pub mod subquery;
#[cfg(test)]
#[path = "../../types/src/testing.rs"]
mod testing;
#[cfg(test)]
pub(crate) mod testkit;
mod user_variables;
mod walk;
mod xml;

pub use context::{CallState, EvalContext, SessionFacts, SqlMode};
pub(crate) use eval::operand as eval_operand;
pub use eval::{
    Datum, Selection, evaluate, evaluate_condition, evaluate_filter, evaluate_first, evaluate_row,
    evaluate_scalar, evaluate_some, row_passes, truth,
};
pub(crate) use eval::{Row, value_of};
pub use in_rows::{RowColumn, RowList};
pub use in_set::InSet;
pub use ir::{ArithmeticOp, CompareDomain, CompareOp, Expr, ExprKind, When};
pub use like::LikePattern;
pub use normalize::{bind_parameters, conjuncts, fold, push_down_not};
pub use screen::{PrefilterCounts, RowPrefilter};
pub use subquery::{Subquery, SubqueryRunner, SubqueryUse};
pub use user_variables::UserVariables;
