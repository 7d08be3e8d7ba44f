//! EXPLAIN: shows a plan in MySQL's tabular form, as MySQL's JSON document and as a tree with figures.
//!
//! All formats show the object that runs: each node describes itself by one record ([`Explained`](crate::plan::Explained)), which
//! every format renders. The table lists base and derived tables in the order of the joins, as MySQL does; steps above the joins
//! (grouping, sorting) stand in the `Extra` of the first table.

mod document;
mod json;
mod key_len;
mod picture;
mod rows;
mod scan_notes;
mod table_row;
mod trace;
mod tree;

pub use document::Object;
pub use json::{Change, explain_json};
pub use picture::plan_steps;
pub use picture::{ActualStep, PlanPicture, PlanStep, RejectedPath};
pub use rows::explain_rows;
pub use table_row::{ExplainRow, explain_columns};
pub use trace::explain_trace;
pub use tree::explain_tree;
