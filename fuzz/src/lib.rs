//! The fuzz targets: functions of arbitrary bytes, which must return, and whose assertions must hold.
//!
//! | target | bytes are | checked |
//! |---|---|---|
//! | `page` | a tree page below its checksum | every reader reports damage, or reads within the page |
//! | `record` | redo records, applied to a sound page | a record is refused, or leaves a page that can be opened |
//! | `tree` | operations on a small tree | it behaves as a sorted map, and the verifier finds no fault |
//! | `key` | parts of a key, and values | bytes sort as values do; what is decoded encodes to the same bytes |
//! | `log` | commits, and damage to their log | opening the store gives a store or an error |
//! | `protocol` | the bytes of a client | they are decoded or refused; the server answers or ends the connection |
//! | `statement` | SQL | it is parsed, bound, planned and run, or refused, within the limits of the session |
//!
//! They run under libFuzzer (`fuzz/run`) and, on the corpus that it leaves, as tests.

mod input;
mod key;
mod log;
mod page;
mod protocol;
mod record;
mod statement;
mod tree;

/// A function that is fuzzed.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("page", page::target),
    ("record", record::target),
    ("tree", tree::target),
    ("key", key::target),
    ("log", log::target),
    ("protocol", protocol::target),
    ("statement", statement::target),
];
