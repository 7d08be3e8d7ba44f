//! Building from a table while others go on changing it.
//!
//! ```text
//! gate closed:  watch the table, take snapshot 0
//! gate open:    build from the rows of snapshot 0; writers note which rows they change
//!               round k: take snapshot k; for each row noted, what it was at k - 1 and is at k changes what was built
//!               ... until little is noted in a round; compare all of it with the rows
//! gate closed:  the last round; publish
//! ```
//! So what is built is at each moment that of a snapshot, exactly, and needs neither timestamps nor ghosts: whoever reads it has a snapshot
//! from after the last round. The log of concurrent changes is a set of keys; rows are read from the table and its old versions,
//! whatever became of them in between. It serves whatever is made of rows, and since a crash ends the build, it is not logged. (The
//! change buffer could keep the entries of an index that is being built, but not the rows of a table, and would log them.)
//!
//! | module | is |
//! |---|---|
//! | `changes` | which rows are changed |
//! | `source` | the rows of a snapshot |
//! | `catch_up` | the rounds, for secondary indexes |
//! | `verify` | what was built against the rows |

mod catch_up;
mod changes;
mod source;
mod verify;

pub(crate) use catch_up::CatchUp;
pub(crate) use changes::ChangeLogs;
pub(crate) use source::SnapshotSource;
