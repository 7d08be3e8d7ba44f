//! The tests, on trees whose leaves have the format that this module is named after.

mod bulk;
mod concurrency;
mod contended;
mod crash;
mod damage;
mod estimates;
mod fill;
mod finger;
mod fixture;
mod held;
mod lookup;
mod model;
mod read_ahead;
mod rehearse;
mod runs;
mod shape;
mod splits;

/// Returns the format of the leaves of the trees.
fn format() -> leafline_btree::LeafFormat {
    match module_path!().rsplit("::").next() {
        Some("packed") => leafline_btree::LeafFormat::Packed,
        _ => leafline_btree::LeafFormat::Plain,
    }
}
