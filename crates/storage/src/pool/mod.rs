//! The buffer pool.
mod guard;
pub use guard::SharedGuard;
