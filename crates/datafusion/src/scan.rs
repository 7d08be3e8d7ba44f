//! Reads a table: a plan of DataFusion whose partitions are pieces of an index.
//!
//! The read is a SELECT, which Leafline plans like any other. All pieces are read at one snapshot, which exists as
//! long as the plan or one of its streams.
//!
//! **Order.** Where Leafline walks an index, the rows of each piece come in its order, and all rows of a piece before
//! those of the next. The plan declares this order as far as Arrow's values have the order of the keys. When
//! DataFusion would sort, it asks for another order (`try_pushdown_sort`): the SELECT is planned again with an ORDER
//! BY, and used if Leafline does not sort for it either. DataFusion's default for ascending orders, NULLs last, is
//! not the order of an index, except for columns that are never NULL; otherwise the query needs NULLS FIRST.
//!
//! **Limits.** A small LIMIT without an order becomes part of the SELECT, which then is one piece. Any other ends
//! each piece after that many rows.

use crate::column::Column;
use crate::filter::Condition;
use crate::snapshot::Snapshot;
use crate::stream;
use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as ColumnAt;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan, PlanProperties,
};
use leafline::{ColumnMeta, Cut, Pieces, SqlType, Value};
use leafline_types::convert::to_text;
use std::fmt;
use std::sync::Arc;

/// The largest LIMIT that becomes part of the SELECT: for more rows pieces are worth it.
const SMALL_LIMIT: usize = 8192;

/// A read of a table.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub table: Arc<str>,
    pub columns: Vec<Column>,
    pub conditions: Vec<Condition>,
    /// Whether an order that costs nothing is useful.
    pub in_index_order: bool,
    pub limit: Option<usize>,
    /// The columns by which rows are ordered, and whether the order is descending.
    pub order: Vec<(usize, bool)>,
    pub most_pieces: usize,
    pub rows_per_piece: u64,
}

impl Read {
    fn sql(&self) -> (String, Vec<Value>) {
        let columns: Vec<&str> = self.columns.iter().map(|column| &*column.quoted).collect();
        // Rows without columns are only counted.
        let list = if columns.is_empty() { "1".to_owned() } else { columns.join(", ") };
        let mut sql = format!("SELECT {list} FROM {}", self.table);
        if !self.conditions.is_empty() {
            sql += &format!(" WHERE {}", self.constraint());
        }
        if !self.order.is_empty() {
            sql += &format!(" ORDER BY {}", self.order_text());
        }
        if let Some(limit) = self.small_limit() {
            sql += &format!(" LIMIT {limit}");
        }
        (sql, self.conditions.iter().flat_map(|condition| condition.values.iter().cloned()).collect())
    }

    fn constraint(&self) -> String {
        let texts: Vec<&str> = self.conditions.iter().map(|condition| &*condition.text).collect();
        texts.join(" AND ")
    }

    fn order_text(&self) -> String {
        let key = |&(at, descending): &(usize, bool)| {
            let name = self.columns.get(at).map_or("", |column| &*column.quoted);
            format!("{name}{}", if descending { " DESC" } else { "" })
        };
        self.order.iter().map(key).collect::<Vec<_>>().join(", ")
    }

    fn small_limit(&self) -> Option<usize> {
        self.limit.filter(|limit| *limit <= SMALL_LIMIT)
    }
}

/// A planned read of a table.
#[derive(Debug)]
pub struct LeaflineScan {
    read: Arc<Read>,
    snapshot: Arc<Snapshot>,
    pieces: Arc<Pieces>,
    /// The most rows of each partition.
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LeaflineScan {
    /// Plans a read; `columns` are those of the table when it was opened.
    pub(crate) fn plan(read: Read, columns: &[ColumnMeta], snapshot: Arc<Snapshot>) -> Result<LeaflineScan> {
        let (sql, values) = read.sql();
        let cut = Cut {
            most: if read.small_limit().is_some() { 1 } else { read.most_pieces },
            least_rows: read.rows_per_piece,
            in_index_order: read.in_index_order,
        };
        let pieces = snapshot.pieces(&sql, &values, cut)?;
        snapshot.check(&read.table, columns)?;
        let fetch = read.limit;
        LeaflineScan::of(read, snapshot, pieces, fetch, None)
    }

    /// Makes a scan; `partitions` is the number of partitions of the plan that it replaces.
    fn of(
        read: Read,
        snapshot: Arc<Snapshot>,
        pieces: Arc<Pieces>,
        fetch: Option<usize>,
        partitions: Option<usize>,
    ) -> Result<LeaflineScan> {
        let fields: Vec<_> = read.columns.iter().map(|column| column.field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema.clone(), orders(&read, &pieces)),
            Partitioning::UnknownPartitioning(partitions.unwrap_or(pieces.count().max(1))),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(LeaflineScan {
            read: Arc::new(read),
            snapshot,
            pieces,
            fetch,
            properties: Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative)),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    fn with(&self, fetch: Option<usize>) -> LeaflineScan {
        LeaflineScan {
            read: self.read.clone(),
            snapshot: self.snapshot.clone(),
            pieces: self.pieces.clone(),
            fetch,
            properties: self.properties.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Returns the columns and directions of an order that an index can have, and that Arrow's values then have, too.
    fn index_order(&self, order: &[PhysicalSortExpr]) -> Option<Vec<(usize, bool)>> {
        let key = |key: &PhysicalSortExpr| {
            let at = key.expr.downcast_ref::<ColumnAt>()?.index();
            let column = self.read.columns.get(at)?;
            let SortOptions { descending, nulls_first } = key.options;
            // NULL is the smallest value.
            let nulls = !column.field.is_nullable() || nulls_first != descending;
            (nulls && column.meaning.keeps_order()).then_some((at, descending))
        };
        let wanted: Vec<(usize, bool)> = order.iter().map(key).collect::<Option<_>>()?;
        (before_lost_values(&self.read, &wanted).len() == wanted.len()).then_some(wanted)
    }
}

/// Cuts an order behind the first column of which several values are NULL in Arrow: among such rows, which Arrow sees
/// as equal, later columns are not in order.
fn before_lost_values<'o>(read: &Read, order: &'o [(usize, bool)]) -> &'o [(usize, bool)] {
    let loses =
        |&(at, _): &(usize, bool)| read.columns.get(at).is_none_or(|column| column.meaning.loses_values());
    let end = order.iter().position(loses).map_or(order.len(), |at| at + 1);
    order.get(..end).unwrap_or_default()
}

/// Returns the orders of the rows in DataFusion's form.
fn orders(read: &Read, pieces: &Pieces) -> Vec<Vec<PhysicalSortExpr>> {
    let known = pieces.order();
    let key = |&(at, descending): &(usize, bool)| {
        let column = read.columns.get(at).filter(|column| column.meaning.keeps_order())?;
        let expr: Arc<dyn PhysicalExpr> = Arc::new(ColumnAt::new(column.field.name(), at));
        Some(PhysicalSortExpr { expr, options: SortOptions { descending, nulls_first: !descending } })
    };
    // Columns with a single value can be left out.
    let order = |from: usize| {
        let known = before_lost_values(read, known.get(from..).unwrap_or_default());
        known.iter().map_while(key).collect::<Vec<_>>()
    };
    (0..=pieces.fixed()).map(order).filter(|order| !order.is_empty()).collect()
}

impl DisplayAs for LeaflineScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> =
            self.read.columns.iter().map(|column| column.field.name().as_str()).collect();
        write!(f, "LeaflineScan: table={}, columns=[{}]", self.read.table, columns.join(", "))?;
        if !self.read.conditions.is_empty() {
            let values: Vec<String> =
                self.read.conditions.iter().flat_map(|condition| &condition.values).map(value_text).collect();
            write!(f, ", constraint={} [{}]", self.read.constraint(), values.join(", "))?;
        }
        if !self.read.order.is_empty() {
            write!(f, ", order=[{}]", self.read.order_text())?;
        }
        if let Some(fetch) = self.fetch {
            write!(f, ", fetch={fetch}")?;
        }
        write!(f, ", pieces={}", self.pieces.count())
    }
}

fn value_text(value: &Value) -> String {
    let ty = match value {
        Value::String(text) => return format!("'{text}'"),
        Value::Bytes(bytes) => return format!("{} bytes", bytes.len()),
        Value::DateTime(_) => SqlType::DateTime { fsp: 6 },
        Value::Time(_) => SqlType::Time { fsp: 6 },
        Value::Date(_) => SqlType::Date,
        Value::Decimal(number) => return number.to_string(),
        Value::Double(_) => SqlType::Double,
        _ => SqlType::BigInt { unsigned: false },
    };
    to_text(value, &ty).map_or_else(|| "NULL".to_owned(), |text| text.to_string())
}

impl ExecutionPlan for LeaflineScan {
    fn name(&self) -> &str {
        "LeaflineScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no inputs") }
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition >= self.partitions() {
            return internal_err!("partition {partition} of {}", self.partitions());
        }
        let schema: SchemaRef = self.schema();
        if partition >= self.pieces.count() {
            return Ok(Box::pin(EmptyRecordBatchStream::new(schema)));
        }
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let work = stream::Piece {
            snapshot: self.snapshot.clone(),
            pieces: self.pieces.clone(),
            number: partition,
            most_rows: self.fetch,
            schema,
        };
        Ok(stream::read(work, metrics))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let share = if args.partition().is_some() { self.partitions() } else { 1 };
        // A float that is too large saturates.
        let expected = (self.pieces.expected_rows() / share as f64).ceil() as usize;
        let rows = self
            .fetch
            .map_or(expected, |fetch| fetch.saturating_mul(self.partitions() / share).min(expected));
        let column = |column: &Column| {
            let nulls = if column.field.is_nullable() { Precision::Absent } else { Precision::Exact(0) };
            ColumnStatistics::new_unknown().with_null_count(nulls)
        };
        Ok(Arc::new(Statistics {
            num_rows: Precision::Inexact(rows),
            total_byte_size: Precision::Absent,
            column_statistics: self.read.columns.iter().map(column).collect(),
        }))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        // A LIMIT in the SELECT stays.
        let fetch = limit.into_iter().chain(self.read.small_limit()).min();
        Some(Arc::new(self.with(fetch)))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let Some(wanted) = self.index_order(order).filter(|_| self.fetch.is_none()) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let read = Read { order: wanted.clone(), in_index_order: true, ..(*self.read).clone() };
        let (sql, values) = read.sql();
        let cut = Cut { most: self.partitions(), least_rows: read.rows_per_piece, in_index_order: true };
        let pieces = self.snapshot.pieces(&sql, &values, cut)?;
        let is_given =
            |from: usize| pieces.order().get(from..).is_some_and(|order| order.starts_with(&wanted));
        if !(0..=pieces.fixed()).any(is_given) {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let inner = LeaflineScan::of(read, self.snapshot.clone(), pieces, None, Some(self.partitions()))?;
        Ok(SortOrderPushdownResult::Exact { inner: Arc::new(inner) })
    }
}
