//! Trees in a store: against a model, with many threads, after crashes.

mod bulk;
mod concurrency;
mod contended;
mod crash;
mod damage;
mod estimates;
mod fill;
mod finger;
mod fixture;
mod lookup;
mod model;
mod read_ahead;
mod shape;
mod splits;
