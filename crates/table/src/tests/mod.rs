//! Tests of the whole crate: transactions, snapshots, crashes, DDL, loads, threads, against simple models.

mod alter;
mod basics;
mod change_buffer;
mod crash;
mod ddl;
mod faults;
mod half_applied;
mod history;
mod interleaved;
mod large;
mod leaping;
mod load;
mod memory;
mod model;
mod overflow;
mod power_cuts;
mod private;
mod quarantine;
mod random_faults;
mod reapply;
mod repair;
mod rescue;
mod spilled;
mod threads;
mod threads_cut;
