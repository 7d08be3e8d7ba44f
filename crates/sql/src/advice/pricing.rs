//! Prices of statements with hypothetical indexes, and the cost of an index in writes and space.

use super::workload::Query;
use crate::session::{HypotheticalIndexes, Session};
use leafline_access::cost::entry_change_us;
use leafline_btree::Estimate;
use leafline_table::{IndexDef, IndexPart, IndexSpec, IndexSpecPart, TableDef};
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Limit of the characters of an index name that is made of column names.
const MOST_NAME: usize = 60;

/// Estimates of a plan.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    /// Microseconds.
    pub cost_us: f64,
    /// Rows of the result, or changed rows.
    pub rows: f64,
    /// Ids of the indexes that the plan may read.
    pub indexes: BTreeSet<u64>,
}

/// A proposed index.
#[derive(Debug)]
pub(super) struct Proposal {
    pub table: Arc<TableDef>,
    pub parts: Vec<IndexPart>,
    pub spec: IndexSpec,
    /// Id as a hypothetical index.
    pub id: u64,
    pub bytes: f64,
    /// Cost of the workload's writes to it, microseconds.
    pub writes_us: f64,
}

impl Session {
    /// Prices a statement with the hypothetical indexes of `supposed` and no others.
    pub(super) fn price(
        &mut self,
        query: &Query,
        supposed: &HypotheticalIndexes,
    ) -> Result<Priced, MysqlError> {
        let own = std::mem::replace(&mut self.objects.hypothetical, supposed.clone());
        let planned = self.in_database(query.database.as_deref(), |session| {
            session.plan_statement(&query.explain, &query.sql, Some(&[]))
        });
        self.objects.hypothetical = own;
        let planned = planned?.ok_or_else(|| MysqlError::internal("a query that is not planned"))?;
        Ok(Priced { cost_us: planned.cost_us(), rows: planned.expected_rows(), indexes: planned.indexes() })
    }

    /// The size of an index, which may be hypothetical.
    pub(super) fn index_size(&self, table: &TableDef, index: &IndexDef) -> Result<Estimate, MysqlError> {
        let instance = self.instance.clone();
        Ok(instance.statistics().size(instance.engine(), table, index)?)
    }

    /// Bytes of the rows of a table.
    pub(super) fn table_bytes(&self, table: &TableDef) -> Result<f64, MysqlError> {
        Ok(self.bytes_of(&self.index_size(table, table.clustered())?))
    }

    /// Bytes of an index.
    pub(super) fn bytes_of(&self, size: &Estimate) -> f64 {
        size.leaves * self.instance.engine().store().page_size() as f64
    }

    /// The cost of an index for the writes of a workload. The number of rows that a statement changes comes
    /// from its price.
    pub(super) fn writes_us<'q>(
        &self,
        (table, index): (&TableDef, &IndexDef),
        size: &Estimate,
        queries: impl Iterator<Item = (&'q Query, &'q Priced)>,
    ) -> f64 {
        let model = self.instance.cost_model(&self.settings.device);
        let one = entry_change_us(&model, size.resident_fraction);
        let mut entries = 0.0;
        for (query, priced) in queries {
            for change in query.changes.iter().filter(|change| change.table == table.id) {
                let rows = change.rows.map(|rows| rows as f64).or(query.affected).unwrap_or(priced.rows);
                let per_row = match &change.columns {
                    // An update of a key deletes the old entry and inserts a new one.
                    Some(columns) if index.key_columns.iter().any(|column| columns.contains(column)) => 2.0,
                    Some(_) => 0.0,
                    None => 1.0,
                };
                entries += query.runs * rows * per_row;
            }
        }
        entries * one
    }

    /// Proposes an index; `None` if the table cannot have it.
    pub(super) fn propose<'q>(
        &mut self,
        table: &Arc<TableDef>,
        parts: &[IndexPart],
        queries: impl Iterator<Item = (&'q Query, &'q Priced)>,
    ) -> Result<Option<Proposal>, MysqlError> {
        let spec = IndexSpec {
            name: Some(name(table, parts)),
            parts: parts.iter().filter_map(|part| spec_part(table, part)).collect(),
            ..IndexSpec::default()
        };
        let id = IndexSpec::hypothetical_number();
        let limits = self.instance.engine().limits();
        let Ok(with) = table.with_hypothetical_index(&spec, id, limits) else { return Ok(None) };
        let Some(index) = with.index_by_id(id) else { return Ok(None) };
        let size = self.index_size(&with, index)?;
        let writes_us = self.writes_us((&with, index), &size, queries);
        let bytes = self.bytes_of(&size);
        Ok(Some(Proposal { table: table.clone(), parts: parts.to_vec(), spec, id, bytes, writes_us }))
    }
}

fn spec_part(table: &TableDef, part: &IndexPart) -> Option<IndexSpecPart> {
    let column = table.columns.get(part.column)?.name.clone();
    Some(IndexSpecPart { column, descending: part.descending, prefix: part.prefix })
}

/// A name that no index of the table has.
fn name(table: &TableDef, parts: &[IndexPart]) -> String {
    let columns = parts.iter().filter_map(|part| table.columns.get(part.column));
    let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    let base: String = columns.join("_").chars().take(MOST_NAME).collect();
    let names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}_{number}")));
    let mut free = names.filter(|name| !name.ends_with(' ') && table.index(name).is_none());
    free.next().unwrap_or(base)
}
