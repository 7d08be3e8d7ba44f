//! Plans against the reference interpreter, and what they look like.

mod differential;
mod effort;
mod leaps;
mod merges;
mod parallel;
mod plans;
mod runtime_filters;
mod tpch;
mod unnesting;
