//! Databases of Leafline as catalogs, and their schemas.

use crate::snapshot::{connect, failed};
use crate::table::LeaflineTable;
use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::{TableReference, exec_datafusion_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionContext;
use leafline::{Database, Params};
use leafline_types::error::errno;
use std::sync::Arc;

/// Registers every table and view of a schema under its name.
///
/// # Errors
/// The errors of [`LeaflineTable::open`], and DataFusion's.
pub fn register_all(context: &SessionContext, database: &Database, schema: &str) -> Result<()> {
    if !names(database, SCHEMA, (schema,))?.iter().any(|name| name == schema) {
        return Err(exec_datafusion_err!("there is no schema '{schema}' in the database"));
    }
    for name in names(database, TABLES, (schema,))? {
        let table = Arc::new(LeaflineTable::open(database, schema, &name)?);
        context.register_table(TableReference::bare(name), table)?;
    }
    Ok(())
}

const SCHEMA: &str = "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?";
const SCHEMAS: &str = "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name";
const TABLES: &str =
    "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name";
const TABLE: &str =
    "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_name = ?";

fn names(database: &Database, sql: &str, values: impl Params) -> Result<Vec<String>> {
    let mut connection = connect(database)?;
    let rows = connection.query(sql, values).map_err(failed)?;
    rows.map(|row| row.and_then(|row| row.get(0)).map_err(failed)).collect()
}

/// A database as a catalog: its schemas, with the tables that exist when they are asked for.
#[derive(Clone, Debug)]
pub struct LeaflineCatalog {
    database: Database,
}

impl LeaflineCatalog {
    /// Makes the catalog of a database.
    pub fn new(database: &Database) -> LeaflineCatalog {
        LeaflineCatalog { database: database.clone() }
    }
}

impl CatalogProvider for LeaflineCatalog {
    /// Returns no names if they cannot be read.
    fn schema_names(&self) -> Vec<String> {
        names(&self.database, SCHEMAS, ()).unwrap_or_default()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let found = names(&self.database, SCHEMA, (name,)).unwrap_or_default();
        let is_there = found.iter().any(|found| found == name);
        is_there.then(|| Arc::new(LeaflineSchema::new(&self.database, name)) as Arc<dyn SchemaProvider>)
    }
}

/// A schema of a database.
#[derive(Clone, Debug)]
pub struct LeaflineSchema {
    database: Database,
    name: String,
}

impl LeaflineSchema {
    /// Makes the schema of that name, which may be created later.
    pub fn new(database: &Database, name: &str) -> LeaflineSchema {
        LeaflineSchema { database: database.clone(), name: name.to_owned() }
    }
}

#[async_trait]
impl SchemaProvider for LeaflineSchema {
    /// Returns no names if they cannot be read.
    fn table_names(&self) -> Vec<String> {
        names(&self.database, TABLES, (self.name.as_str(),)).unwrap_or_default()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let (schema, name) = (self.clone(), name.to_owned());
        let open = move || LeaflineTable::open(&schema.database, &schema.name, &name);
        let opened = tokio::task::spawn_blocking(open).await;
        match opened.map_err(|error| exec_datafusion_err!("a table could not be opened: {error}"))? {
            Ok(table) => Ok(Some(Arc::new(table))),
            Err(error) if code(&error) == Some(errno::ER_NO_SUCH_TABLE) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        let found = names(&self.database, TABLE, (self.name.as_str(), name)).unwrap_or_default();
        found.iter().any(|found| found == name)
    }
}

/// Returns the number of a Leafline error.
fn code(error: &DataFusionError) -> Option<u16> {
    match error {
        DataFusionError::External(error) => Some(error.downcast_ref::<leafline::Error>()?.code()),
        _ => None,
    }
}
