//! Expressions: the IR, MySQL's typing rules, and the evaluator.
//!
//! | module       | holds                                                                              |
//! |--------------|------------------------------------------------------------------------------------|
//! | `ir`         | the nodes, with constant lists of values and of rows as sets                       |
//! | [`build`]    | the making of nodes: operand checks, result types, comparison domains, collations  |
//! | `walk`       | visiting and rewriting                                                             |
//! | `identity`   | structural equality and hash                                                       |
//! | `canonical`  | canonical forms, to compare expressions of statements with those of tables         |
//! | `display`    | SQL text, for EXPLAIN, column names and error messages                             |
//! | [`subquery`] | the making of subqueries, and comparison with their rows                           |
//! | `context`    | what an evaluation reads and keeps besides rows, and the trait that runs subqueries |
//! | `datum`      | the columns of a row, the values for the rows of a batch                           |
//! | `narrow`     | the rounding of constants to the grid of a column's values                         |
//! | `normalize`  | constant folding, binding of parameters, NOT pushed to the leaves, conjuncts       |
//! | `eval`       | the evaluator, over batches of columns and over single rows                        |
//! | `byte_range` | sets of key bytes                                                                  |
//! | `prefix_range` | sets of key bytes of parts that hold only the beginning of strings               |
//! | [`domain`]   | the values of a column that satisfy `column op constant`, as ranges of key bytes   |
//! | [`encoded`]  | conditions compiled to tests of key bytes                                          |
//! | `screen`     | conditions tested on the bytes of rows                                             |
//! | `function`   | the row of a function in the table                                                 |
//! | [`functions`] | the functions, and the table of them                                              |
//! | `regexp`, `xml`, `block_encryption`, `locale`, `named_locks`, `password_strength` | what functions compute with, without SQL's types |
//! | [`aggregate`] | aggregate functions, and the keys to group, join and sort by                      |
//! | `user_variables` | the values of `@name`                                                          |

pub mod aggregate;
mod block_encryption;
pub mod build;
mod byte_range;
mod canonical;
mod characters;
mod context;
mod datum;
mod display;
pub mod domain;
pub mod encoded;
#[cfg(test)]
pub(crate) mod encoded_tests;
mod eval;
mod function;
pub mod functions;
mod identity;
mod ir;
mod letter_case;
mod like;
mod locale;
mod named_locks;
mod narrow;
mod normalize;
mod parsed_cache;
mod part_range;
mod password_strength;
mod prefix_range;
mod regexp;
mod screen;
mod search;
pub mod subquery;
#[cfg(test)]
#[path = "../../types/src/testing.rs"]
mod testing;
#[cfg(test)]
pub(crate) mod testkit;
mod user_variables;
mod walk;
mod xml;

pub use block_encryption::BlockEncryption;
pub use context::{CallState, EvalContext, ProgramRunner, SessionFacts, SqlMode, SubqueryRunner};
pub use datum::Datum;
pub(crate) use eval::operand as eval_operand;
pub(crate) use eval::value_of;
pub use eval::{
    Selection, evaluate, evaluate_condition, evaluate_filter, evaluate_first, evaluate_row, evaluate_scalar,
    evaluate_some, integer_of, row_passes, truth,
};
pub use function::{Function, Volatility};
pub use ir::{
    ArithmeticOp, CompareDomain, CompareOp, Expr, ExprKind, FunctionId, InSet, MatchCall, ProgramCall,
    ProgramName, RowColumn, RowList, Subquery, SubqueryUse, When,
};
pub use like::LikePattern;
pub use locale::{TimeNames, locale_name};
pub use named_locks::{NamedLocks, SharedLocks};
pub use normalize::{bind_parameters, conjuncts, fold, push_down_not};
pub use password_strength::{PasswordStrength, SharedPasswordStrength};
pub use screen::{PrefilterCounts, RowPrefilter};
pub use search::{FoundRows, Scorer, ScorerKey, Search, bytes_of, text_of};
pub use user_variables::UserVariables;
