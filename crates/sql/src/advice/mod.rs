//! Advice on indexes.

mod redundant;

pub(crate) use redundant::redundant_indexes;
