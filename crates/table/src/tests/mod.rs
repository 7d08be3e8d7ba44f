//! Tests of the whole crate: transactions, snapshots, crashes, DDL, against simple models.

mod basics;
mod crash;
mod model;
