//! Leafline's tables in DataFusion.
//!
//! ```
//! # use datafusion::prelude::SessionContext;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("db");
//! let database = leafline::Database::open(path)?;
//! let mut connection = database.connect()?;
//! connection.execute("CREATE DATABASE shop", ())?;
//! connection.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40), stock INT NOT NULL)", ())?;
//! connection.execute("INSERT INTO shop.item VALUES (1, 'pen', 10), (2, 'ink', 5), (3, 'nib', 0)", ())?;
//!
//! let context = SessionContext::new();
//! leafline_datafusion::register_all(&context, &database, "shop")?;
//! let stock = context.sql("SELECT name FROM item WHERE stock > 0 ORDER BY id").await?;
//! assert_eq!(stock.count().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `table` | [`LeaflineTable`]: a table or view, with the filters that Leafline evaluates |
//! | `catalog` | [`register_all`], [`LeaflineCatalog`], [`LeaflineSchema`] |
//! | `scan` | [`LeaflineScan`]: a planned read in pieces, with its order |
//! | `stream` | the rows of a piece, read by a thread |
//! | `filter`, `column` | which filters mean the same to both, column by column |
//! | `snapshot` | one snapshot for all tables of a query |
//! | `arrays` | arrays from one release of `arrow` to another |
//!
//! Names are as in Leafline: DataFusion converts names without double quotes to lower case.

mod arrays;
mod catalog;
mod column;
mod filter;
mod scan;
mod snapshot;
mod stream;
mod table;

pub use catalog::{LeaflineCatalog, LeaflineSchema, register_all};
pub use scan::LeaflineScan;
pub use table::LeaflineTable;
