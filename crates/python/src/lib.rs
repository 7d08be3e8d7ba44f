//! The native part of the Python package `leafline`: DB-API 2.0 (PEP 249) over the embedded database.
//!
//! | module | is |
//! |---|---|
//! | `registry` | the databases that this process has open, shared by connections to the same directory |
//! | `handle` | what a connection, its cursors and its Arrow streams share: one session, used by one thread at a time |
//! | `signals` | Ctrl-C while a statement runs |
//! | `connection`, `cursor` | the classes |
//! | `parameters`, `values` | Python's values and SQL's, both ways |
//! | `arrow` | results as Arrow streams (the PyCapsule interface) |
//! | `append` | Arrow streams into tables |
//! | `error` | MySQL's error numbers as DB-API's exceptions |
//!
//! No thread holds the interpreter while it waits for a session or for the registry, and none that has them waits for the interpreter except
//! to handle signals.

mod append;
mod arrow;
mod connection;
mod cursor;
mod error;
mod handle;
mod parameters;
mod registry;
mod signals;
mod values;

/// Of what is in Rust alone: statements allocate little and often, and threads give back what others took.
#[global_allocator]
static MEMORY: leafline::CountingAllocator<mimalloc::MiMalloc> =
    leafline::CountingAllocator(mimalloc::MiMalloc);

/// The native part of the package.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::ArrowStream;
    #[pymodule_export]
    use super::connection::{Connection, connect};
    #[pymodule_export]
    use super::cursor::Cursor;
    #[pymodule_export]
    use super::registry::close_all;
}
