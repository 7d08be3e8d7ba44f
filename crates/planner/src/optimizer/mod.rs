//! From bound queries to physical plans.
//!
//! | module | does |
//! |---|---|
//! | `merge` | makes simple derived tables part of the query around them |
//! | `loose` | GROUP BY and DISTINCT off an index, one entry a group |
//! | `lateral_nest` | several tables on the inner side of a left join, lateral ones among them, as one lateral query |
//! | `pushdown` | conditions on derived tables, evaluated inside them |
//! | `unnest` | makes subqueries of conditions joins |
//! | `generated` | reads expressions from the indexed columns that are generated from them |
//! | `graph` | FROM and WHERE as a join graph; outer joins that are inner joins |
//! | `factor`, `equalities`, `null_rejection` | what conditions imply |
//! | `members`, `join_order`, `selectivity` | access paths and join order together, by price |
//! | `order` | ORDER BY provided by an index |
//! | `sources` | set operations, VALUES, the queries of WITH |
//! | `emit` | the chosen plan with columns as positions in batches |
//! | `joins` | the plan for the joins of a block, with what comes above them in mind |
//! | `block` | a whole query block: the joins, grouping, HAVING, DISTINCT, ORDER BY, LIMIT |
//! | `operators`, `block_node` | operators above the joins; where columns stand in them |
//! | `finish` | demand, runtime filters, threads and numbers, on the finished plan |
//! | `parallel` | what several threads share |
//! | `rollup` | WITH ROLLUP |
//! | `trace` | what was compared, for OPTIMIZER_TRACE |
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
mod pushdown;
mod rollup;
mod runtime_filters;
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
pub use settings::{OptimizerContext, OptimizerSwitches, Parallelism, Patience, RuntimeFilterSettings};
pub use trace::{Trace, TraceStep};
