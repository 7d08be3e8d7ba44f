//! Tests of the whole crate: transactions, snapshots, crashes, DDL, loads, threads, against simple models.

mod basics;
mod crash;
mod ddl;
mod faults;
mod history;
mod large;
mod load;
mod model;
mod reapply;
mod repair;
mod spilled;
mod threads;
