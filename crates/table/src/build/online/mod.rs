//! Building from a table while others go on changing it.
//!
//! ```text
//! gates closed: watch the table, take snapshot 0
//! gates open:   build from the rows of snapshot 0; writers note which rows they change
//!               round k: take snapshot k; for each row noted, what it was at k - 1 and is at k changes what was built
//!               ... until little is noted in a round; compare all of it with the rows
//! gates closed: the last round; publish
//! ```
//! So what is built is at each moment that of a snapshot, exactly, and needs neither timestamps nor ghosts: whoever reads it has a snapshot
//! from after the last round. The log of concurrent changes is a set of keys; rows are read from the table and its old versions,
//! whatever became of them in between. It serves whatever is made of rows, and since a crash ends the build, it is not logged. (The
//! change buffer could keep the entries of an index that is being built, but not the rows of a table, and would log them.)
//!
//! What is made of rows is a [`Derivation`]: the entries of new indexes, or the trees of a table that is built anew
//! (`crate::alter`). The rows are those of a table, or of all partitions of one, whose gates are closed together.
//!
//! | module | does |
//! |---|---|
//! | `changes` | the log of changed keys |
//! | `source` | the rows of a snapshot |
//! | `derive` | what the changes of rows are to trees |
//! | `apply` | changes of trees, sorted |
//! | `catch_up` | the rounds |
//! | `verify` | what was built against the rows |

mod apply;
mod catch_up;
mod changes;
mod derive;
mod source;
mod verify;

pub(crate) use apply::{BuiltTree, TreeChanges};
pub(crate) use catch_up::CatchUp;
pub(crate) use changes::ChangeLogs;
pub(crate) use derive::{Derivation, IndexEntries, SeenRow, Watched};
pub(crate) use source::SnapshotSource;
pub(crate) use verify::{disagreement, sum_of_tree};
