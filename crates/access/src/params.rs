//! Tuning constants: each with its unit, what it decides and where its value comes from.
//!
//! "Chosen" means that the value seemed right and was kept: no record of a measurement supports it. Prices of the device and of the
//! processor, which are measured, are in [`cost`](crate::cost).

// Batches.

/// Entries in the first batch of a scan whose rows may not all be asked for. Chosen: a point query ends in one batch.
pub(crate) const FIRST_BATCH_ENTRIES: usize = 16;
/// Factor by which batches grow. Chosen.
pub(crate) const BATCH_GROWTH: usize = 4;
/// Factor by which the batches of ranges that are merged grow: there are many at once. Chosen.
pub(crate) const MERGED_BATCH_GROWTH: usize = 2;
/// Entries for which the first large batch has room from the start. Chosen.
pub(crate) const EXPECTED_BATCH_ENTRIES: usize = 256;
/// Rows in a delivered batch, at most. Chosen.
pub const BATCH_ROWS: usize = 8192;
/// Rows fetched between two looks at whether the statement was cancelled. Chosen.
pub(crate) const FETCH_ROWS: usize = 2048;
/// Entries whose rows are fetched in one sweep over the table, at most. Chosen.
pub(crate) const FETCH_ENTRIES: usize = 65_536;
/// Bytes of the values outside its rows with which a batch is complete. Chosen.
pub const BATCH_BYTES: usize = 8 << 20;
/// Entries that a read without operators examines, at most. Chosen.
pub(crate) const POINT_READ_ENTRIES: usize = 1024;
/// Bytes of strings in the rows of a read without operators, at most. Chosen.
pub(crate) const POINT_READ_BYTES: usize = 256 << 10;

// Walking an index.

/// Leaps in a row that may gain little before a scan leaps no more. Chosen.
pub(crate) const LEAP_PATIENCE: u8 = 4;
/// Entries that a leap has to go over to be quicker than testing them: those of [`ENTRIES_PER_SEEK`].
pub(crate) const LEAP_LEAST_ENTRIES: usize = ENTRIES_PER_SEEK as usize;
/// Entries in a row that pass their tests before it is looked up how far all do. Chosen.
pub(crate) const PASSES_BEFORE_LOOKUP: u8 = 4;
/// Ranges of a scan up to which the entries of a leaf are taken together: where there are more, they are short. Chosen.
pub(crate) const TARGETS_TAKEN_TOGETHER: usize = 8;
/// Leaves that a scan has visited when it is no short one any more. Chosen.
pub(crate) const SHORT_SCAN_LEAVES: u64 = 2;
/// Ranges of a scan up to which its leaves are put in the order of their pages: where there are more, they are short. Chosen.
pub(crate) const TARGETS_IN_PAGE_ORDER: usize = 64;
/// Leaves that are put in the order of their pages at a time. Chosen.
pub(crate) const PAGE_ORDER_LEAVES: usize = 65_536;
/// Ranges that are merged, at most; the rows of more are sorted. Chosen.
pub(crate) const MAX_MERGED_RANGES: f64 = 128.0;
/// Entries that are read in the time in which one is sought within a leaf or its neighbours. Chosen.
pub(crate) const ENTRIES_PER_SEEK: f64 = 6.0;

// Reading ahead.

/// Pages in the first window of a scan of several ranges that may end early. Chosen.
pub(crate) const FIRST_WINDOW_OF_TARGETS: usize = 8;
/// Pages in the first window of a part of a long range. Chosen.
pub(crate) const FIRST_WINDOW_OF_PART: usize = 64;
/// Pages in the first window of several ranges, all of whose rows will be asked for. Chosen.
pub(crate) const FIRST_WINDOW_OF_ALL: usize = 256;
/// Ranges all of whose leaves are asked for, at most. Chosen.
pub(crate) const TARGETS_READ_WHOLE: usize = 8;
/// Ranges whose first leaves are looked up at a time. Chosen.
pub(crate) const FIRST_LEAVES_AT_A_TIME: usize = 256;
/// Ranges whose leaves make a window, at most: the more there are in it, the fewer sweeps it takes to read them. Chosen.
pub(crate) const WINDOW_TARGETS: usize = 4096;
/// Leaves that are looked at in branch pages at a time, wanted or not. Chosen.
pub(crate) const BRANCH_LEAVES_AT_A_TIME: usize = 4096;
/// Leaps that may be needed to see that a leaf has nothing: to another value of a part, and to what is asked of the next.
/// Chosen.
pub(crate) const LEAPS_OVER_LEAF: usize = 4;

// Threads.

/// Pieces of a scan for each thread, at least, where there is enough to read: one that comes upon more rows than others leaves
/// some of its pieces to them. Chosen.
pub(crate) const PIECES_PER_THREAD: usize = 8;
/// Pieces of a scan for each thread where rows are fetched: with the entries of a smaller piece fewer rows are found on each page. Chosen.
pub(crate) const FETCHING_PIECES_PER_THREAD: usize = 4;
/// How many times more leaves a piece may have where rows are fetched. Chosen.
pub(crate) const FETCHING_PIECE_FACTOR: usize = 8;
/// Places for each piece at which a scan that is cut beforehand may be cut: by so little of one its pieces differ. Chosen.
pub(crate) const CUTS_PER_PIECE: usize = 16;
/// Rows of a piece, save the last, for each leaf that a piece of a walk may have, at least: less is not worth beginning a batch.
/// Chosen.
pub(crate) const ROWS_PER_PIECE_LEAF: usize = 4;

// Runtime filters.

/// Rows after which it is known whether runtime filters are of use. Chosen.
pub(crate) const FILTER_TRIAL_ROWS: u64 = 8192;
/// Runtime filters go on where they remove one of so many rows, or more. Chosen.
pub(crate) const FILTER_LEAST_PART: u64 = 16;
/// Values that a runtime filter keeps one by one, at most. Chosen.
pub(crate) const FILTER_LISTED_VALUES: usize = 16_384;
/// Values of which a runtime filter is made, at most. Chosen.
pub const MAX_FILTER_VALUES: usize = 1 << 20;
/// Entries of a scan to each value of a filter from which on the values are sought one by one. Chosen.
pub(crate) const FILTER_ENTRIES_PER_SEEK: f64 = 16.0;
/// Values of a filter that are sought one by one, at most. Chosen.
pub(crate) const FILTER_MAX_SEEKS: usize = 1024;

// Index merge.

/// Bytes of the locators of a set, at most: instead of a larger one the table is read. Chosen.
pub(crate) const MAX_LOCATOR_SET_BYTES: usize = 64 << 20;
/// A table that is read in the time of so many seeks is not worth a look at more than one index at a time. Chosen.
pub(crate) const MERGE_LEAST_SEEKS: f64 = 40.0;
/// Time to copy, sort and merge one locator, microseconds. Chosen by measuring, without a record.
pub(crate) const LOCATOR_US: f64 = 0.06;
/// Time to look one locator up in a set, microseconds. Chosen by measuring, without a record.
pub(crate) const LOCATOR_PROBE_US: f64 = 0.1;
/// Branches of an OR for each of which every index is asked how many entries it has. Chosen.
pub(crate) const UNION_WEIGHED_BRANCHES: usize = 16;
/// Sets from which an intersection may start, beside unions. Chosen.
pub(crate) const INTERSECTION_STARTS: usize = 3;
/// ORs that are looked at for a union: those of the fewest branches. The others are evaluated on rows. Chosen.
pub(crate) const MAX_UNIONS: usize = 8;
/// Branches of an OR that is looked at for a union: for each of them every index is asked what it says. Chosen.
pub(crate) const UNION_MAX_BRANCHES: usize = 1_000;
/// Conjuncts beside its OR that a union asks of the entries of an index. Chosen.
pub(crate) const UNION_MAX_CONJUNCTS: usize = 16;
/// Sets that are intersected, at most. Chosen.
pub(crate) const MAX_INTERSECTED: usize = 8;
/// The share of the price that an intersection with another set may leave. Chosen.
pub(crate) const INTERSECTION_LEAST_GAIN: f64 = 0.95;

// Constraints.

/// Ranges up to which the points of one part are multiplied with the sets of the next. Chosen.
pub(crate) const MAX_KEY_RANGES: usize = 16_384;
/// Edges that are made for one diagram, at most. Chosen.
pub(crate) const MAX_DIAGRAM_EDGES: usize = 1 << 20;
/// Branches of an OR up to which it is kept. Chosen.
pub(crate) const MAX_OR_BRANCHES: usize = 1 << 16;
/// Most branches where each outer row has bounds of its own. Chosen.
pub(crate) const MAX_CORRELATED_BRANCHES: usize = 64;
/// ORs about several parts that are kept of one WHERE. Chosen.
pub(crate) const MAX_JOINT_ORS: usize = 8;
/// Elements of a `NOT IN` list that becomes ranges, at most: each adds one. Chosen.
pub(crate) const MAX_NEGATED_LIST: usize = 64;
/// Values of constraints up to which they are searched in a list, which is quicker than to keep places. Chosen.
pub(crate) const LISTED_SLOTS: usize = 16;

// Planning.

/// Conditions up to which a list is searched; more are hashed. Chosen.
pub(crate) const LISTED_CONDITIONS: usize = 16;
/// Entries of a range from which on a sample of it is worth its time. Chosen.
pub(crate) const SAMPLE_LEAST_ENTRIES: f64 = 64.0;
/// Rows of a table from which on some are looked at where nothing but what is shown depends on it. Chosen.
pub(crate) const SAMPLE_LEAST_ROWS: f64 = 1000.0;
/// Ranges that are dived into; where there are more, the others are taken to be like these. Chosen.
pub(crate) const MAX_DIVES: usize = 32;
/// Most dives into the ranges of common values, which differ more. Chosen.
pub(crate) const MAX_COMMON_DIVES: usize = 64;
/// Most dives of either kind where each may be a read from the device. Chosen.
pub(crate) const MAX_COLD_DIVES: usize = 4;
/// The share of an index in memory up to which each dive may be a read from the device. Chosen.
pub(crate) const COLD_SHARE: f64 = 0.5;
/// Partitions that are dived into; the others are taken to be like these. Chosen.
pub(crate) const MAX_DIVED_PARTITIONS: usize = 16;
/// Leaves that may have to be read for a dive: those of both ends of the range.
pub(crate) const READS_PER_DIVE: f64 = 2.0;
/// Edges of a node of a constraint at which an estimate of leaps looks; where there are more, the others are taken to be like
/// these. Chosen.
pub(crate) const LEAP_ESTIMATE_EDGES: usize = 64;
/// Ranges at which an estimate of leaps looks. Chosen.
pub(crate) const LEAP_ESTIMATE_RANGES: usize = 64;

// Statistics.

/// Leaves at which a sample for one statement looks. Chosen.
pub(crate) const SAMPLE_LEAVES: usize = 16;
/// The share of the leaves that has to be in memory for the larger of two samples. Chosen.
pub(crate) const SAMPLE_WARM_SHARE: f64 = 0.9;
/// Entries at which a sample for one statement looks, at most. Chosen.
pub(crate) const SAMPLE_ENTRIES: usize = 256;
/// Ranges into which a sample for one statement looks, at most. Chosen.
pub(crate) const SAMPLE_RANGES: usize = 4;
/// Leaves at which the statistics of an index look. Chosen.
pub(crate) const INDEX_LEAVES: usize = 32;
/// Most leaves of an index where each may be a read from the device. Chosen.
pub(crate) const INDEX_COLD_LEAVES: usize = 8;
/// Consecutive entries of a leaf whose rows are located. Chosen.
pub(crate) const LOCATED_ENTRIES: usize = 32;
/// Leaves whose entries have their rows located. Chosen.
pub(crate) const LOCATED_LEAVES: usize = 4;
/// Entries to a value, on average, from which on values are taken to repeat. Chosen.
pub(crate) const REPEATED_ENTRIES: f64 = 1.5;
/// Leaves at which the sample of a table looks. Chosen.
pub(crate) const TABLE_LEAVES: usize = 64;
/// Most leaves of a table where each may be a read from the device. Chosen.
pub(crate) const TABLE_COLD_LEAVES: usize = 16;
/// Rows that the sample of a table keeps. Chosen.
pub(crate) const TABLE_ROWS: usize = 2048;
/// Buckets for the values of a sampled column that are not among its most common ones. Chosen.
pub(crate) const TABLE_BUCKETS: usize = 64;
/// Rows that have to have their value with others for it to be said what it determines. Chosen.
pub(crate) const DEPENDENCE_LEAST_ROWS: usize = 32;
/// Rows at which ANALYZE looks: of a larger table, those of leaves that are spread evenly over it. Chosen.
pub(crate) const ANALYZE_ROWS: f64 = 200_000.0;
/// Characters of a string, bytes of a binary one, that a histogram keeps: as in MySQL.
pub(crate) const HISTOGRAM_CHARACTERS: usize = 42;
/// Most common values that are kept, at most. Chosen.
pub(crate) const COMMON_VALUES: usize = 128;
/// Rows in which a value must have been seen to count as common, if not all rows were seen. Chosen.
pub(crate) const COMMON_LEAST_ROWS: usize = 4;
/// Leaves on which a value must have been seen to count as common, if not all rows were seen. Chosen.
pub(crate) const COMMON_LEAST_LEAVES: usize = 3;
/// Rows that pass conditions from which on they tell how such rows are spread over an order. Chosen.
pub(crate) const SPREAD_LEAST_PASSING: usize = 8;
/// How many times fewer rows are expected to be read than if those that pass were evenly spread, at most: the first of few may
/// come early by chance. Chosen.
pub(crate) const SPREAD_MOST_GAIN: f64 = 4.0;
/// Rows whose values are looked at for a span of an order, at least. Chosen.
pub(crate) const SPREAD_LEAST_ROWS: usize = 16;
/// The share of a table that has to be written, or to have come or gone, before it is sampled again. Chosen: 10 %, as InnoDB
/// recomputes its persistent statistics.
pub(crate) const STALE_SHARE: f64 = 0.1;
/// The share of rows that an equality is guessed to leave: MySQL's `COND_FILTER_EQUALITY`.
pub(crate) const GUESS_EQUALITY: f64 = 0.1;
/// The share of rows that a comparison is guessed to leave: MySQL's `COND_FILTER_INEQUALITY`.
pub(crate) const GUESS_INEQUALITY: f64 = 1.0 / 3.0;
/// The share of rows that a BETWEEN is guessed to leave: MySQL's `COND_FILTER_BETWEEN`.
pub(crate) const GUESS_BETWEEN: f64 = 1.0 / 9.0;
/// The share of rows that an IN list is guessed to leave, at most. Chosen.
pub(crate) const GUESS_LIST_MAX: f64 = 0.5;
/// Sampled rows with the same prefix from which on what they say of a range behind it is believed. Chosen.
pub(crate) const HYPOTHETICAL_LEAST_ROWS: usize = 8;

// Prices.

/// Comparisons in whose time a function is called. Chosen.
pub(crate) const COMPARISONS_PER_CALL: usize = 2;
/// Functions in whose time the texts of a row are searched for words. Chosen.
pub(crate) const CALLS_PER_SEARCH: usize = 100;
/// The share of the rows of a table that a search is expected to find, and the most rows. Few enough, so that a
/// search wins wherever the condition is one, as in MySQL.
pub(crate) const SEARCH_SHARE: f64 = 0.01;
pub(crate) const SEARCH_MOST_ROWS: f64 = 1_000.0;
/// Microseconds until a search has found its first row, and for each row more.
pub(crate) const SEARCH_US: f64 = 20.0;
pub(crate) const SEARCH_ROW_US: f64 = 1.0;

// Observing the device.

/// Single reads after which the profile of the device takes a step. Chosen.
pub(crate) const STEP_SINGLE_READS: u64 = 64;
/// Stretches of scattered reads, each of 16 reads or more, after which it takes a step. Chosen.
pub(crate) const STEP_SCATTERED_READS: u64 = 8;
/// Stretches of sequential reads, each of 4 MiB or more, after which it takes a step. Chosen.
pub(crate) const STEP_SEQUENTIAL_READS: u64 = 4;
/// How far a step goes, of the logarithm of the ratio between the profile and what was observed. Chosen.
pub(crate) const STEP_WEIGHT: f64 = 0.25;
/// The greatest factor of a step. Chosen.
pub(crate) const STEP_MOST: f64 = 1.5;
/// The factor by which a figure has to differ for plans to be made anew. Chosen.
pub(crate) const PROFILE_NEWS: f64 = 1.1;
/// Least and greatest time of a random read that is believed, microseconds. Chosen.
pub(crate) const READ_TIMES_US: (f64, f64) = (0.1, 1e6);
/// Least and greatest transfer rate that is believed, bytes per microsecond. Chosen.
pub(crate) const READ_RATES: (f64, f64) = (1.0, 1e5);
/// Reads at once beyond which the time of none matters. Chosen.
pub(crate) const MAX_PARALLEL_READS: f64 = 64.0;
