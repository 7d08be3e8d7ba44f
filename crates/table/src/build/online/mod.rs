//! Builds from a table while others go on changing it.
//!
//! ```text
//! gates closed: watch the table, take snapshot 0
//! gates open:   build from the rows of snapshot 0; writers note which rows they change
//!               round k: take snapshot k; for each noted row, compare its state at k - 1 with its state at k,
//!               and change the trees accordingly
//!               ... until a round notes few rows; compare the trees with the rows
//! gates closed: the last round; publish
//! ```
//! At every moment the trees thus correspond exactly to a snapshot, and need neither timestamps nor ghosts:
//! everyone who will read them has a snapshot from after the last round. The log of concurrent changes is a
//! set of keys. The rows are read from the table and its old versions, whatever happened to them in
//! between. The log works for anything built from rows, and it is not written to the redo log, because a
//! crash ends the build. (The change buffer could hold the entries of an index being built, but not the
//! rows of a table, and would log them.)
//!
//! A [`Derivation`] says what is built from the rows: the entries of new indexes, or the trees of a table
//! that is rebuilt (`crate::alter`). The rows are those of a table, or of all partitions of one, whose
//! gates are closed together.
//!
//! [`crate::change_log`] has the log of changed keys.
//!
//! | module | contents |
//! |---|---|
//! | `source` | the rows of a snapshot |
//! | `derive` | the trees derived from rows, and their changes |
//! | `apply` | changes of trees, sorted |
//! | `catch_up` | the rounds |
//! | `verify` | the comparison of the trees with the rows |

mod apply;
mod catch_up;
mod derive;
mod source;
mod verify;

pub(crate) use apply::{BuiltTree, TreeChanges};
pub(crate) use catch_up::CatchUp;
pub(crate) use derive::{Derivation, IndexEntries, SeenRow, Watched};
pub(crate) use source::SnapshotSource;
pub(crate) use verify::{disagreement, sum_of_tree};
