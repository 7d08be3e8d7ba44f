//! Tuning constants: each with its unit, what it decides and where its value comes from.
//!
//! "Chosen" means that the value seemed right and was kept: no record of a measurement supports it.

/// Rows, and bytes of values outside them, in a batch that an operator makes, at most: as many as a scan delivers.
pub use leafline_access::params::{BATCH_BYTES, BATCH_ROWS};

// Batches.

/// Bytes from which on a row is long, so that batches of such rows are cut by bytes. Chosen.
pub(crate) const LONG_ROW_BYTES: usize = 4 << 10;
/// Bytes that are taken for a value that is no string. Chosen.
pub(crate) const FIXED_VALUE_BYTES: usize = 16;
/// Characters of a type from which on its values may be long. Chosen.
pub(crate) const LONG_CHARACTERS: usize = 4096;
/// Rows in the first batch of a lateral join or a JSON_TABLE. Chosen.
pub(crate) const FIRST_JOINED_ROWS: usize = 16;
/// Factor by which batches, and those of outer rows to look up, grow. Chosen.
pub(crate) const BATCH_GROWTH: usize = 8;
/// Outer rows in the first lookups of a join. Chosen: a LIMIT looks little up.
pub(crate) const FIRST_OUTER_ROWS: usize = 1;
/// Outer rows whose partners are collected to be put in order, at most. Chosen.
pub(crate) const ORDERED_OUTER_ROWS: usize = 1024;
/// Candidates kept beyond twice the rows wanted, so that they are not sorted out for every batch. Chosen.
pub(crate) const TOP_N_SLACK_ROWS: usize = 1024;

// Memory.

/// Rows that an adaptive plan holds until it is decided, at most: for a LIMIT of more there is no budget. Chosen.
pub(crate) const MAX_HELD_ROWS: u64 = 1_000;
/// Bytes of a column of results from which on it is delivered a part at a time. Chosen.
pub(crate) const LONG_RESULT_BYTES: usize = 64 << 20;
/// Bytes that the answers of one subquery may take; when they are more they are forgotten. Chosen.
pub(crate) const MEMO_BYTES: usize = 16 << 20;
/// The part of a statement's memory (one of so many) that the rows of one table may take. Chosen.
pub(crate) const STORED_ROWS_PART: usize = 4;
/// The part of a statement's memory that keys take at least before they go to a file. Chosen.
pub(crate) const KNOWN_ROWS_PART: usize = 32;
/// The part of a statement's memory that the rows of a frame of MIN or MAX may take. Chosen.
pub(crate) const FRAME_PART: usize = 16;
/// The part of a statement's memory that the blocks of a file may take. Chosen.
pub(crate) const WINDOW_BLOCKS_PART: usize = 16;
/// Blocks of a file that are held in any case: a few places are looked at for each row. Chosen.
pub(crate) const MIN_WINDOW_BLOCKS: usize = 4;
/// Blocks of a file that are held, at most. Chosen.
pub(crate) const MAX_WINDOW_BLOCKS: usize = 64;
/// About the bytes of a block. Chosen.
pub(crate) const WINDOW_BLOCK_BYTES: usize = 128 << 10;
/// Files that rows are spread over when they do not fit into memory. Chosen.
pub(crate) const SPILL_PARTITIONS: usize = 16;
/// The part of a statement's memory that one sort on disk takes. Chosen.
pub(crate) const SORT_PART: usize = 8;
/// Bytes that one sort on disk takes, at least. Chosen.
pub(crate) const MIN_SORT_BYTES: usize = 64 << 10;
/// How often the rows of a hash join are spread over files again. Chosen.
pub(crate) const MAX_SPILL_DEPTH: usize = 3;

// Threads.

/// Pieces that a thread takes in the first round; each round has twice as many as the one before. A scan that may be ended
/// begins with little; at the end of a round the threads wait for each other. Chosen.
pub(crate) const FIRST_ROUND_PIECES: usize = 16;
/// Pieces that a thread takes in a round, at most. Chosen.
pub(crate) const MAX_ROUND_PIECES: usize = 256;
/// Bytes of rows after which a thread ends its round. Chosen.
pub(crate) const ROUND_BYTES: usize = 4 << 20;
/// Bytes of rows that may wait for others. Chosen.
pub(crate) const WAITING_BYTES: usize = 32 << 20;
