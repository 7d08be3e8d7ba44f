//! The native part of the Python package `leafline`: DB-API 2.0 (PEP 249) over the embedded database.
//!
//! | module | holds |
//! |---|---|
//! | `registry` | the databases that this process has open, shared by connections to the same directory |
//! | `handle` | the session that a connection, its cursors and its Arrow streams share; one thread uses it at a time |
//! | `signals` | handling of Ctrl-C while a statement runs |
//! | `connection`, `cursor` | the classes |
//! | `parameters`, `values` | conversion between Python's values and SQL's |
//! | `arrow` | results as Arrow streams (the PyCapsule interface) |
//! | `append` | Arrow streams into tables |
//! | `error` | MySQL's error numbers as DB-API's exceptions |
//!
//! No thread holds the interpreter while it waits for a session or for the registry, and no thread that holds one of
//! these waits for the interpreter except to handle signals.

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

/// The allocator of the Rust part: statements allocate small blocks often, and threads free what others allocated.
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
