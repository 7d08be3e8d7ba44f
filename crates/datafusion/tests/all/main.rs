//! Tests Leafline's tables in DataFusion through SQL: values of every type, filters that Leafline evaluates or does
//! not, plans, snapshots, cancellation, TPC-H.

mod differential;
mod plans;
mod streams;
mod support;
mod tpch;
mod types;
