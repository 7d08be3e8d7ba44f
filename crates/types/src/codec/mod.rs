//! Encodes values of the fixed-width types as integers of a few bytes, which a key holds big-endian and in order, a
//! row little-endian.
//!
//! | module | does |
//! |---|---|
//! | `fixed` | converts one value, in either direction |
//! | `narrow` | appends values of many rows to a column |

pub mod fixed;
pub mod narrow;
