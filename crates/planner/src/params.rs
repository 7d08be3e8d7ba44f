//! Tuning constants: each with its unit, what it decides and where its value comes from.
//!
//! "Chosen" means that the value seemed right and was kept: no record of a measurement supports it.

// Estimates.

/// Entries so few that they are read as quickly along one path as along another: a plan that reads no more is kept for other
/// values. Chosen.
pub(crate) const SMALL_SCAN_ENTRIES: f64 = 128.0;
/// The share of the rows that is taken to be distinct in an expression that is no column of a table. Chosen.
pub(crate) const DISTINCT_SHARE: f64 = 0.1;
/// Rounds that a recursive table is expected to take. Chosen.
pub(crate) const EXPECTED_ROUNDS: f64 = 10.0;
/// Rows that JSON_TABLE is expected to make of a document. Chosen.
pub(crate) const JSON_TABLE_ROWS: f64 = 10.0;
/// The share of the left rows that an antijoin is expected to leave, at least. Chosen.
pub(crate) const ANTI_JOIN_LEAST_SHARE: f64 = 0.05;
/// Halvings that find how much of a plan is worth its price. Chosen.
pub(crate) const SHARE_HALVINGS: u32 = 8;
/// The share of a plan below which less makes no difference. Chosen.
pub(crate) const LEAST_SHARE: f64 = 1e-5;

// Prices.

/// Time to begin a run of a subquery, microseconds. Chosen.
pub(crate) const SUBQUERY_RUN_US: f64 = 2.0;
/// Price of a table scan that FORCE INDEX makes a last resort, microseconds: more than anything else costs. Chosen.
pub(crate) const AVOIDED_SCAN_US: f64 = 1e12;
/// Left rows of a lookup join from which on it is worth a look how close together their keys lie. Chosen.
pub(crate) const KEY_SPAN_LEAST_ROWS: f64 = 16.0;

// Limits of planning.

/// Levels of a plan that a chain of INTERSECTs and EXCEPTs between others makes, at most: each is a frame of several KiB on the
/// stack. Chosen.
pub(crate) const MAX_SET_LEVELS: usize = 200;
/// Operands of a run of INTERSECTs or EXCEPTs up to which each is a level of the plan. Chosen.
pub(crate) const CHAINED_OPERANDS: usize = 8;
/// Choices by price inside one another beyond which a query stays as it is: each takes a few times the planning of what is
/// inside. Chosen.
pub(crate) const MAX_NESTED_CHOICES: usize = 3;
/// Members of a join up to which every order is tried. Chosen.
pub(crate) const MAX_EXHAUSTIVE_MEMBERS: usize = 12;
/// Joins considered for a statement after which no more rewritings of its queries are compared by price: they stay as they are.
/// Chosen.
pub(crate) const MAX_JOINS_TO_CHOOSE: usize = 20_000;
/// Joins considered after which the order of joins is no longer sought exhaustively, but greedily. Chosen.
pub(crate) const MAX_JOINS_TO_SEARCH: usize = 100_000;
/// Joins considered after which tables are joined as they come, those first that a condition connects. Chosen.
pub(crate) const MAX_JOINS_TO_COMPARE: usize = 200_000;
/// Lists of candidates that are kept to be found again, at most; a list takes some KiB. Chosen.
pub(crate) const MAX_KEPT_CANDIDATES: usize = 4096;

// Lists that are searched.

/// Columns of a layout, and searches of it, from which on a map is made of it. Chosen.
pub(crate) const LISTED_POSITIONS: usize = 32;
/// Conjuncts of a branch of an OR up to which they are searched in a list, which is quicker than to make a set of them. Chosen.
pub(crate) const LISTED_CONJUNCTS: usize = 16;
/// Expressions up to which they are compared one by one: that takes less time than to hash one. Chosen.
pub(crate) const LISTED_EXPRESSIONS: usize = 16;
/// Rows of an IN list up to which it becomes comparisons, of which ranges of several columns are made. Chosen.
pub(crate) const COMPARED_ROWS: usize = 1000;

// Threads.

/// Rows of a part to each of its groups from which on grouping is done in the threads. Chosen.
pub(crate) const PARALLEL_ROWS_PER_GROUP: f64 = 16.0;
/// Rows examined to each that is delivered from which on threads share a scan whose rows go to the client as they come. Chosen.
pub(crate) const PARALLEL_EXAMINED_PER_ROW: f64 = 8.0;
/// Price of a part of a plan from which on threads share it, microseconds: starting threads and waiting for the last of them is
/// small against it. Chosen.
pub(crate) const PARALLEL_LEAST_COST_US: f64 = 10_000.0;
/// Leaves of a piece of a scan, at most: 2 MiB of pages of 16 KiB. Chosen.
pub(crate) const PARALLEL_PIECE_LEAVES: usize = 128;
