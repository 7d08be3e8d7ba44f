//! Plans against the reference interpreter, and what they look like.

mod differential;
mod leaps;
mod merges;
mod parallel;
mod plans;
mod tpch;
mod unnesting;
