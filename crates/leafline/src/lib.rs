//! Leafline: an embedded relational database with MySQL's SQL dialect and protocol.
//!
//! A [`Database`] is a directory. [`Connection`]s run SQL on it, each from one thread at a time and any number of
//! them at once; [`Rows`] stream.
//!
//! ```
//! # fn main() -> leafline::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("db");
//! let database = leafline::Database::open(path)?;
//! let mut connection = database.connect()?;
//! connection.execute("CREATE DATABASE shop", ())?;
//! connection.execute("USE shop", ())?;
//! connection.execute("CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), price DECIMAL(8,2))", ())?;
//! let done = connection.execute("INSERT INTO item (name, price) VALUES (?, ?), (?, ?)", ("pen", "1.20", "ink", 4))?;
//! assert_eq!((done.rows_affected, done.last_insert_id), (2, 1));
//!
//! for row in connection.query("SELECT name, price FROM item WHERE price > ?", (2,))? {
//!     let row = row?;
//!     let name: String = row.get("name")?;
//!     let price: leafline::Decimal = row.get(1)?;
//!     assert_eq!((name.as_str(), price.to_string().as_str()), ("ink", "4.00"));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `database` | [`Database`], [`OpenOptions`]: opening, creating, closing |
//! | `connection` | [`Connection`], [`Transaction`], [`InterruptHandle`] |
//! | `statement` | [`Statement`]: prepared once, run often |
//! | `table` | [`Table`], [`Snapshot`], [`Writer`]: rows by key, without SQL |
//! | `rows` | [`Rows`], [`Row`] |
//! | `arrow` | [`ArrowBatches`], [`ArrowLayout`]: rows as Arrow record batches |
//! | `pieces` | [`Pieces`]: a query that several connections share |
//! | `value` | [`ToValue`], [`FromValue`], [`Params`]: conversion between Rust's types and SQL's |
//! | `error` | [`Error`] |
//! | `counting_allocator` | [`CountingAllocator`]: for programs that limit the memory of all statements together |
//! | `overflow` | blocks of memory in files, for allocations of such a program beyond its bound |

mod api;
mod counting_allocator;
mod overflow;

/// The program in the README is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use api::arrow::{ArrowBatches, ArrowLayout};
pub use api::connection::{Connection, ExecuteResult, InterruptHandle, Transaction};
pub use api::database::{Database, OpenOptions};
pub use api::error::{Error, Result};
pub use api::pieces::Pieces;
pub use api::rows::{ColumnIndex, Row, Rows};
pub use api::statement::Statement;
pub use api::table::{Reader, RowView, Snapshot, Table, Writer};
pub use api::value::{FromValue, Parameter, Params, ToValue};
pub use counting_allocator::{CountingAllocator, tune as tune_allocator};
pub use leafline_access::cost::DeviceClass;
pub use leafline_sql::{ColumnFlags, ColumnMeta, Cut};
pub use leafline_storage::device::DiskModel;
pub use leafline_storage::{FlushPolicy, RecoveryStep};
pub use leafline_types::statement::Watch;
pub use leafline_types::{Date, DateTime, Decimal, MysqlError, SqlType, Time, Value, ValueRef};
pub use overflow::set_directory as set_overflow_directory;
