//! Trees in a store: compared with a model, with many threads, after crashes. Every test runs with plain leaves and
//! with packed ones.

#![expect(clippy::duplicate_mod, reason = "the same tests run once for each format")]

#[path = "suite.rs"]
mod packed;
#[path = "suite.rs"]
mod plain;
