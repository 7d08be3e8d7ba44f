//! Tuning constants: each with its unit, its effect and the origin of its value.
//!
//! "Chosen" means that the value seemed right and was kept: no record of a measurement supports it.

/// Maximum number of rows, and bytes of values outside them, in a batch that an operator makes: the limits of a scan's batches.
pub use leafline_access::params::{BATCH_BYTES, BATCH_ROWS};

// Batches.

/// Size in bytes from which on a row is long, so that batches of such rows are cut by bytes. Chosen.
pub(crate) const LONG_ROW_BYTES: usize = 4 << 10;
/// Assumed bytes of a value that is not a string. Chosen.
pub(crate) const FIXED_VALUE_BYTES: usize = 16;
/// Number of characters of a type from which on its values may be long. Chosen.
pub(crate) const LONG_CHARACTERS: usize = 4096;
/// Number of rows in the first batch of a lateral join or a JSON_TABLE. Chosen.
pub(crate) const FIRST_JOINED_ROWS: usize = 16;
/// Growth factor of batches, and of batches of outer rows to look up. Chosen.
pub(crate) const BATCH_GROWTH: usize = 8;
/// Number of outer rows in the first lookup of a join. Chosen: a LIMIT needs few lookups.
pub(crate) const FIRST_OUTER_ROWS: usize = 1;
/// Maximum number of outer rows whose matches are collected to be put in order. Chosen.
pub(crate) const ORDERED_OUTER_ROWS: usize = 1024;
/// Number of candidates kept beyond twice the wanted rows, so that they are not reduced after every batch. Chosen.
pub(crate) const TOP_N_SLACK_ROWS: usize = 1024;

// Point plans.

/// Number of executions that operators run after a point plan was tried in vain. Chosen.
pub const EXECUTIONS_BY_OPERATORS: u32 = 32;

// Memory.

/// Maximum number of rows that an adaptive plan holds until its primary plan completes; a LIMIT of more rows has no budget.
/// Chosen.
pub(crate) const MAX_HELD_ROWS: u64 = 1_000;
/// Bytes of a column of results from which on it is delivered a part at a time. Chosen.
pub(crate) const LONG_RESULT_BYTES: usize = 64 << 20;
/// Maximum bytes of the remembered answers of one subquery; beyond them the answers are forgotten. Chosen.
pub(crate) const MEMO_BYTES: usize = 16 << 20;
/// Divisor of a statement's memory: the share that the rows of one table may take. Chosen.
pub(crate) const STORED_ROWS_PART: usize = 4;
/// Divisor of a statement's memory: the least share that keys take before they go to a file. Chosen.
pub(crate) const KNOWN_ROWS_PART: usize = 32;
/// Divisor of a statement's memory: the share that the rows of a frame of MIN or MAX may take. Chosen.
pub(crate) const FRAME_PART: usize = 16;
/// Divisor of a statement's memory: the share that the blocks of a file may take. Chosen.
pub(crate) const WINDOW_BLOCKS_PART: usize = 16;
/// Minimum number of blocks of a file that are held: each row needs a few places. Chosen.
pub(crate) const MIN_WINDOW_BLOCKS: usize = 4;
/// Maximum number of blocks of a file that are held. Chosen.
pub(crate) const MAX_WINDOW_BLOCKS: usize = 64;
/// Approximate bytes of a block. Chosen.
pub(crate) const WINDOW_BLOCK_BYTES: usize = 128 << 10;
/// Number of files that rows are spread over when they do not fit into memory. Chosen.
pub(crate) const SPILL_PARTITIONS: usize = 16;
/// Divisor of a statement's memory: the share that one sort on disk takes. Chosen.
pub(crate) const SORT_PART: usize = 8;
/// Minimum bytes of one sort on disk. Chosen.
pub(crate) const MIN_SORT_BYTES: usize = 64 << 10;
/// Maximum number of times that the rows of a hash join are spread over files again. Chosen.
pub(crate) const MAX_SPILL_DEPTH: usize = 3;

// Threads.

/// Number of pieces that a thread takes in the first round; each round has twice as many as the one before. A scan that may end
/// early begins with few; at the end of a round the threads wait for each other. Chosen.
pub(crate) const FIRST_ROUND_PIECES: usize = 16;
/// Maximum number of pieces that a thread takes in a round. Chosen.
pub(crate) const MAX_ROUND_PIECES: usize = 256;
/// Bytes of rows after which a thread ends its round. Chosen.
pub(crate) const ROUND_BYTES: usize = 4 << 20;
/// Maximum bytes of rows that wait for earlier ones. Chosen.
pub(crate) const WAITING_BYTES: usize = 32 << 20;
