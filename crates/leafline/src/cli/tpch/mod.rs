//! `leafline tpch`: the tables of the TPC-H benchmark.

pub mod rows;
pub mod schema;
