//! Partitioned tables: the partition that a row belongs to, and the partitions that a condition may select rows from.
//!
//! A partition is a table of its own, with trees, locks, versions and counters like any other, but no statement can
//! name it. The table that has the name holds no rows, and its indexes have no trees, so that code that reads rows
//! from it gets an error. The table knows how rows are divided ([`PartitionScheme`](crate::PartitionScheme)) and which
//! tables hold them ([`Partitioning`](crate::Partitioning), `catalog::partitioning`). An index that is unique in every
//! partition is unique in the table, because every unique key must contain the columns that decide about the partition
//! (error 1503).
//!
//! | module | contents |
//! |---|---|
//! | `possible` | the partitions that ranges of keys may be in |
//! | `define`, `rebuild` | DDL: adding, dropping, truncating and exchanging partitions; moving rows between them |

pub(crate) mod define;
mod possible;
mod rebuild;

pub use define::PartitionChange;
pub use possible::Possible;
pub(crate) use rebuild::{Finished, Targets, keep_trees};
