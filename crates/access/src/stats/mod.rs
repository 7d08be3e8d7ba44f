//! Statistics of tables and indexes, for prices and row estimates.
//!
//! | module | has |
//! |---|---|
//! | `index` | entries per distinct key prefix; how index order and row order go together |
//! | `hypothetical` | the same of an index that is not built |
//! | `order_spread` | how those that pass are spread over the order of a column |
//! | `key_span` | where the keys lie that rows of another table look up |
//! | `table` | sampled rows |
//! | `samples` | which of them pass the conditions of a statement |
//! | `histogram` | the spread of the values of a column |
//! | `analyze` | histograms that are asked for, and kept in the catalog |
//! | `sample` | a look at entries in ranges of an index |
//! | `selectivity`, `guess` | what share of the rows a condition lets pass |
//! | `joint` | the same of all conditions, with what the paths know of some |
//! | `statistics`, `kept` | where it is kept, and for how long |
//!
//! Nothing is collected ahead of time but what `ANALYZE TABLE ... UPDATE HISTOGRAM` is told to. Sizes and residency are read off branch pages when a statement is planned;
//! what takes a look at leaves is sampled when first asked for and kept until a tenth of the table has been written, or
//! `ANALYZE TABLE` asks again.

mod analyze;
mod extent;
mod guess;
mod histogram;
mod hypothetical;
mod index;
mod joint;
mod kept;
mod key_span;
mod order_spread;
mod sample;
mod selectivity;
mod statement_samples;
mod statistics;
mod table;

pub use analyze::analyze_column;
pub(crate) use extent::Extent;
pub use guess::guess_selectivity;
pub use histogram::Histogram;
pub use hypothetical::HypotheticalIndex;
pub use index::IndexStatistics;
pub(crate) use joint::{PartialSelectivity, joint_selectivity};
pub use key_span::{KeySpan, key_span};
pub use sample::Sample;
pub(crate) use sample::sample_rows;
pub use selectivity::Selectivity;
pub use statement_samples::StatementSamples;
pub use statistics::Statistics;
pub(crate) use statistics::largest_with;
