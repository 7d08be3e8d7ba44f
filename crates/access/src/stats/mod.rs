//! What is known of tables and indexes, for prices and row estimates.
//!
//! Nothing is collected ahead of time. Sizes and residency are read off branch pages when a statement is planned;
//! what takes a look at leaves (entries per distinct key prefix, how index order and row order go together) is sampled when first
//! asked for and kept until the table has grown or shrunk by a tenth, or `ANALYZE TABLE` asks again.

mod guess;
mod index;
mod joint;
mod sample;

pub use guess::guess_selectivity;
pub use index::{IndexStatistics, Statistics};
pub(crate) use joint::{Known, joint_selectivity};
pub use sample::{Sample, sample_rows};
