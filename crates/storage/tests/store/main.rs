//! Tests of the store through its public interface, most of them on the simulated device.

#![expect(clippy::unwrap_used, reason = "a failing test panics")]

mod backup;
mod basic;
mod bulk;
mod crash;
mod faults;
mod logical;
mod pool;
mod release;
mod remains;
mod space;
mod support;
mod threads;
