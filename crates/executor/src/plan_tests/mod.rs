//! Plans, and their results against the reference interpreter.

mod differential;
mod effort;
mod leaps;
mod merges;
mod parallel;
mod plans;
mod runtime_filters;
mod tpch;
mod unnesting;
