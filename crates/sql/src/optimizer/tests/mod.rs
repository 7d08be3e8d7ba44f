//! Plans against the reference interpreter, and what they look like.

mod differential;
mod plans;
mod tpch;
mod unnesting;
