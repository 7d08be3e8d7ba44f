//! The embedded API. `lib.rs` lists what is public.

pub mod arrow;
pub mod connection;
pub mod database;
mod dropped_statements;
pub mod error;
pub mod pieces;
pub mod rows;
mod shared;
pub mod statement;
pub mod table;
pub mod value;
