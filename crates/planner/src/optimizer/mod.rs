//! Turns bound queries into physical plans.
//!
//! | module | does |
//! |---|---|
//! | `merge` | merges simple derived tables into the query around them |
//! | `loose` | GROUP BY and DISTINCT by loose index scans, one entry for each group |
//! | `lateral_nest` | several tables on the inner side of a left join, lateral ones among them, as one lateral query |
//! | `pushdown` | moves conditions on derived tables into them |
//! | `unnest` | turns subqueries of conditions into joins |
//! | `generated` | reads expressions from the indexed columns that they define |
//! | `graph` | FROM and WHERE as a join graph; outer joins that are inner joins |
//! | `factor`, `equalities`, `null_rejection` | implied conditions |
//! | `members`, `join_order`, `selectivity` | access paths and join order together, by price |
//! | `order` | ORDER BY provided by an index |
//! | `searches` | searches for words: scores as columns, the order of scores |
//! | `sources` | set operations, VALUES, common tables |
//! | `emit` | the chosen plan as operators, with columns as positions in batches |
//! | `joins` | the plan for the joins of a block, with regard to the steps above them |
//! | `block` | a whole query block: the joins, grouping, HAVING, DISTINCT, ORDER BY, LIMIT |
//! | `operators`, `block_node` | operators above the joins, and the positions of columns in them |
//! | `finish` | demand, runtime filters, threads and numbers, on the finished plan |
//! | `parallel` | the parts of a plan that several threads share |
//! | `rollup` | WITH ROLLUP |
//! | `trace` | the plans that were compared, for OPTIMIZER_TRACE |
//! | `window` | window functions, and the sorts they share |
//!
//! Prices and row estimates come from [`leafline_access::Planner`].

mod block;
mod block_node;
mod distinct;
mod early;
mod emit;
mod equalities;
mod factor;
mod finish;
mod first_rows;
mod generated;
mod graph;
mod hash_fallback;
mod join_order;
mod joins;
mod lateral_nest;
mod locking;
mod loose;
mod members;
mod merge;
mod null_rejection;
mod operators;
mod order;
mod parallel;
mod partial;
mod point;
mod pushdown;
mod rollup;
mod runtime_filters;
mod searches;
mod selectivity;
mod settings;
mod sources;
mod switches;
mod trace;
mod trace_steps;
mod unnest;
mod window;

pub use block::{plan_parts, plan_rows_to_change, plan_select};
pub use operators::row_limit;
pub use parallel::read_in_pieces;
pub use settings::UNUSED_SWITCHES;
pub use settings::{BudgetSettings, OptimizerContext, OptimizerSwitches, Parallelism, RuntimeFilterSettings};
pub use trace::{Trace, TraceStep};
