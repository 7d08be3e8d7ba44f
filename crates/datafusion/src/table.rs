//! A table or view of Leafline as a table provider of DataFusion.

use crate::column::{Column, quoted};
use crate::filter::condition;
use crate::scan::{LeaflineScan, Read};
use crate::snapshot::{Snapshot, connect, failed, select_all};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use leafline::{ColumnMeta, Database};
use std::sync::Arc;

/// The default number of examined rows that a further piece is worth.
const ROWS_PER_PIECE: u64 = 16_384;

/// A table or a view of a database. Its rows are read when it is queried. Its columns are those at its opening, and a
/// query is refused if the table has others by then. The definition of its tables cannot change, but has to wait, as
/// long as a physical plan or one of its streams exists.
///
/// Columns have the types of [`leafline::ArrowLayout`], except that a TIMESTAMP is a moment in UTC. Dates that do not
/// exist are NULL, so that DATE, DATETIME and TIMESTAMP columns are nullable.
#[derive(Debug)]
pub struct LeaflineTable {
    database: Database,
    /// The name for statements.
    name: Arc<str>,
    columns: Arc<[Column]>,
    /// The columns in Leafline's form.
    opened: Arc<[ColumnMeta]>,
    schema: SchemaRef,
    table_type: TableType,
    rows_per_piece: u64,
}

impl LeaflineTable {
    /// Opens the table or view of that name.
    ///
    /// # Errors
    /// Leafline's, as external errors: 1049 if there is no such schema, 1146 if there is no such table.
    pub fn open(database: &Database, schema: &str, name: &str) -> Result<LeaflineTable> {
        let mut connection = connect(database)?;
        let full_name = format!("{}.{}", quoted(schema), quoted(name));
        let statement = connection.prepare(&select_all(&full_name)).map_err(failed)?;
        let columns = statement.columns().iter().map(Column::new).collect::<Result<Vec<_>>>()?;
        let fields: Vec<_> = columns.iter().map(|column| column.field.clone()).collect();
        let is_view = statement.columns().iter().any(|column| !column.org_table.eq(name));
        Ok(LeaflineTable {
            database: database.clone(),
            name: full_name.into(),
            columns: columns.into(),
            opened: statement.columns().into(),
            schema: Arc::new(Schema::new(fields)),
            table_type: if is_view { TableType::View } else { TableType::Base },
            rows_per_piece: ROWS_PER_PIECE,
        })
    }

    /// Sets how many rows have to be examined for each further piece; one thread reads fewer. The default is 16,384.
    #[must_use]
    pub fn with_rows_per_piece(mut self, rows: u64) -> LeaflineTable {
        self.rows_per_piece = rows;
        self
    }
}

#[async_trait]
impl TableProvider for LeaflineTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        self.table_type
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match condition(filter, &self.columns) {
            Some(condition) if condition.exact => TableProviderFilterPushDown::Exact,
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns: Vec<Column> = match projection {
            None => self.columns.to_vec(),
            Some(positions) => {
                let column = |at: &usize| self.columns.get(*at).cloned();
                let columns = positions.iter().map(column).collect::<Option<_>>();
                columns.ok_or_else(|| {
                    exec_datafusion_err!("a projection of columns that {} has not", self.name)
                })?
            }
        };
        let conditions = filters.iter().filter_map(|filter| condition(filter, &self.columns)).collect();
        let read = Read {
            table: self.name.clone(),
            columns,
            conditions,
            in_index_order: self.columns.iter().any(|column| column.is_key && column.meaning.keeps_order()),
            limit,
            order: Vec::new(),
            most_pieces: state.config().target_partitions(),
            rows_per_piece: self.rows_per_piece,
        };
        let (query, database, opened) =
            (Snapshot::query_of(state), self.database.clone(), self.opened.clone());
        // Planning reads pages.
        let planned = tokio::task::spawn_blocking(move || {
            LeaflineScan::plan(read, &opened, Snapshot::of(&query, &database)?)
        });
        let scan = planned.await.map_err(|error| exec_datafusion_err!("planning ended early: {error}"))??;
        Ok(Arc::new(scan))
    }
}
