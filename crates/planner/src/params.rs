//! Tuning constants: each with its unit, its effect and the origin of its value.
//!
//! "Chosen" means that the value seemed right and was kept: no record of a measurement supports it.

// Estimates.

/// Number of entries that any path reads about equally fast. A plan that reads no more is kept for other values. Chosen.
pub(crate) const SMALL_SCAN_ENTRIES: f64 = 128.0;
/// The assumed share of distinct values of an expression that is not a column of a table. Chosen.
pub(crate) const DISTINCT_SHARE: f64 = 0.1;
/// The expected number of rounds of a recursive common table. Chosen.
pub(crate) const EXPECTED_ROUNDS: f64 = 10.0;
/// The expected number of rows that JSON_TABLE makes of a document. Chosen.
pub(crate) const JSON_TABLE_ROWS: f64 = 10.0;
/// The least share of the left rows that an anti join is expected to leave. Chosen.
pub(crate) const ANTI_JOIN_LEAST_SHARE: f64 = 0.05;
/// Number of halvings in the search for the share of a plan that is worth its price. Chosen.
pub(crate) const SHARE_HALVINGS: u32 = 8;
/// The share of a plan below which a smaller share makes no difference. Chosen.
pub(crate) const LEAST_SHARE: f64 = 1e-5;

// Prices.

/// Price to start a run of a subquery, microseconds. Chosen.
pub(crate) const SUBQUERY_RUN_US: f64 = 2.0;
/// Price of a table scan that FORCE INDEX makes a last resort, microseconds: more than any other plan. Chosen.
pub(crate) const AVOIDED_SCAN_US: f64 = 1e12;
/// Left rows of a lookup join from which on the optimizer estimates how close together their keys lie. Chosen.
pub(crate) const KEY_SPAN_LEAST_ROWS: f64 = 16.0;

// Limits of planning.

/// Maximum number of plan levels that a chain of INTERSECTs and EXCEPTs between other operators makes. Each level is a frame of
/// several KiB on the stack. Chosen.
pub(crate) const MAX_SET_LEVELS: usize = 200;
/// Maximum number of operands of a run of INTERSECTs or EXCEPTs of which each is a level of the plan. Chosen.
pub(crate) const CHAINED_OPERANDS: usize = 8;
/// Maximum nesting of choices by price; deeper queries stay as they are. Each choice multiplies the planning time of the queries
/// inside it. Chosen.
pub(crate) const MAX_NESTED_CHOICES: usize = 3;
/// Maximum number of members of a join for which every order is tried. Chosen.
pub(crate) const MAX_EXHAUSTIVE_MEMBERS: usize = 12;
/// Number of considered joins of a statement after which the optimizer no longer compares rewritten queries by price: the queries
/// stay as they are. Chosen.
pub(crate) const MAX_JOINS_TO_CHOOSE: usize = 20_000;
/// Number of considered joins after which the search for a join order is greedy instead of exhaustive. Chosen.
pub(crate) const MAX_JOINS_TO_SEARCH: usize = 100_000;
/// Number of considered joins after which tables are joined in their order, connected ones first. Chosen.
pub(crate) const MAX_JOINS_TO_COMPARE: usize = 200_000;
/// Maximum number of candidate lists that are kept for reuse; a list takes some KiB. Chosen.
pub(crate) const MAX_KEPT_CANDIDATES: usize = 4096;

// Lists that are searched.

/// Number of columns of a layout, and of searches in it, from which on a map is built. Chosen.
pub(crate) const LISTED_POSITIONS: usize = 32;
/// Maximum number of conjuncts of a branch of an OR that are searched in a list, which is quicker than building a set. Chosen.
pub(crate) const LISTED_CONJUNCTS: usize = 16;
/// Maximum number of expressions that are compared one by one, which takes less time than hashing one. Chosen.
pub(crate) const LISTED_EXPRESSIONS: usize = 16;
/// Maximum number of rows of an IN list that becomes comparisons, which give ranges of several columns. Chosen.
pub(crate) const COMPARED_ROWS: usize = 1000;

// Threads.

/// Number of rows per group, in a part, from which on the threads do the grouping. Chosen.
pub(crate) const PARALLEL_ROWS_PER_GROUP: f64 = 16.0;
/// Number of examined rows per delivered row from which on threads share a scan whose rows go straight to the client. Chosen.
pub(crate) const PARALLEL_EXAMINED_PER_ROW: f64 = 8.0;
/// Price of a part of a plan from which on threads share it, microseconds. Starting threads and waiting for the last one is small
/// against it. Chosen.
pub(crate) const PARALLEL_LEAST_COST_US: f64 = 10_000.0;
/// Maximum number of leaves of a piece of a scan: 2 MiB of pages of 16 KiB. Chosen.
pub(crate) const PARALLEL_PIECE_LEAVES: usize = 128;
