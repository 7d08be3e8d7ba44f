//! Access paths at work: bounds to ranges, ranges to entries, entries to rows.
//!
//! | module | is |
//! |---|---|
//! | `path_scan` | a path at work; inside, the same over the partitions of a table; `point_read`: the few rows of one key range, without a scan |
//! | `leap_scan`, `merge_scan`, `targets`, `walk`, `conditions`, `row_fetch`, `read_ahead`, `page_order`, `in_order` | its steps |
//! | `piece`, `pieces`, `row_pieces` | a scan cut up for several threads |
//! | `locators`, `locator_sets`, `search` | the rows that entries name; those that several indexes name together; those that a search finds |
//! | `runtime_filter` | keys of a hash join as constraints of a scan |
//! | `context` | what a scan shares with the execution that it is part of |

mod conditions;
mod context;
mod in_order;
mod leap_scan;
mod locator_sets;
mod locators;
mod merge_scan;
#[cfg(test)]
mod narrowed_tests;
mod page_order;
mod path_scan;
#[cfg(test)]
mod path_scan_tests;
mod piece;
mod pieces;
mod point_read;
mod read_ahead;
mod row_fetch;
mod row_pieces;
mod runtime_filter;
mod search;
mod targets;
mod walk;

pub use context::{Budget, Demand, ScanBatch, ScanContext};
pub use path_scan::PathScan;
pub use piece::{ScanPiece, Share};
pub use pieces::ScanPieces;
pub use point_read::PointRead;
pub use runtime_filter::{FilterValues, RuntimeFilter};
