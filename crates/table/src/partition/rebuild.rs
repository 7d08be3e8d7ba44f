//! Writes the rows of an altered table to the new tables that hold them.

use crate::build::{BuildControl, TableBuilder};
use crate::catalog::{PartitionScheme, TableDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::new_table;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::overflow;
use crate::overflow::{joined, part_of_payload, values_of_row};
use crate::trees::TreeHandle;
use leafline_types::Value;
use std::sync::Arc;

/// A table that rows are written to.
pub(crate) struct Target<'e> {
    table: TableDef,
    outside: Option<TableDef>,
    core: &'e Core,
    builder: TableBuilder,
    /// The trees of an empty overflow table, which are kept if no others replace them.
    new: NewTrees,
    keeps_empty: bool,
}

/// A table with all its rows.
pub(crate) struct Finished {
    /// The table.
    pub(crate) table: TableDef,
    /// Its overflow table.
    pub(crate) values: Option<TableDef>,
    /// The counters of both.
    pub(crate) counters: Vec<CounterChange>,
}

impl<'e> Target<'e> {
    /// Makes a table with the definition `shell`, whose indexes have no trees yet. `among` is how many tables are
    /// built at the same time.
    pub(crate) fn new(
        core: &'e Core,
        shell: &TableDef,
        among: usize,
        control: &BuildControl,
    ) -> Result<Target<'e>> {
        let mut table = shell.clone();
        let mut new = NewTrees::new(core);
        let outside = new_table::new_overflow_table(core, &mut table, &mut new)?;
        let values = outside.clone().map(Arc::new);
        let builder = TableBuilder::sharing(core, &table, values, among, control)?;
        Ok(Target { table, outside, core, builder, new, keeps_empty: false })
    }

    /// Adds a row, with the hidden row id `row_id` if there is one. Returns its hidden row id; 0 if it has none.
    pub(crate) fn push(&mut self, row: &[Value], row_id: Option<u64>) -> Result<u64> {
        self.builder.push_with(self.core, &self.table, row, row_id)
    }

    /// The number of entries still to be put into trees after the last row.
    pub(crate) fn entries_left(&self) -> u64 {
        self.builder.entries_left(&self.table, 0)
    }

    /// Builds the trees.
    pub(crate) fn finish(&mut self) -> Result<Finished> {
        let mut table = self.table.clone();
        let rows = self.builder.rows();
        self.builder.finish(self.core, &mut table, None)?;
        let values = self.builder.finish_values(self.core, |_| Ok(None))?;
        self.keeps_empty = values.is_none();
        let empty = |outside: TableDef| {
            let counters = CounterChange { table: outside.id, ..CounterChange::default() };
            (outside, counters)
        };
        let (values, of_values) = values.or(self.outside.take().map(empty)).unzip();
        let counts = self.builder.counters(self.core, table.id, rows);
        Ok(Finished { table, values, counters: [counts].into_iter().chain(of_values).collect() })
    }
}

/// Keeps the trees, because the catalog names them now.
pub(crate) fn keep_trees(targets: Vec<Target<'_>>) -> Result<()> {
    targets.into_iter().try_for_each(|mut target| {
        if target.keeps_empty {
            target.new.keep();
        }
        target.builder.keep(target.core)
    })
}

/// All tables that hold the rows of one table.
pub(crate) struct Targets<'e> {
    scheme: Option<Arc<PartitionScheme>>,
    pub(crate) tables: Vec<Target<'e>>,
    rows: u64,
}

impl<'e> Targets<'e> {
    /// Makes the tables for `shell`, whose indexes have no trees; with a `scheme` they are its partitions.
    pub(crate) fn new(
        core: &'e Core,
        shell: &TableDef,
        scheme: Option<Arc<PartitionScheme>>,
        control: &BuildControl,
    ) -> Result<Targets<'e>> {
        let Some(division) = &scheme else {
            let tables = vec![Target::new(core, shell, 1, control)?];
            return Ok(Targets { scheme, tables, rows: 0 });
        };
        let count = division.tables();
        let partitions = (0..count).map(|_| {
            let partition = partition_shell(core, shell);
            Target::new(core, &partition, count, control)
        });
        let tables = partitions.collect::<Result<_>>()?;
        Ok(Targets { scheme, tables, rows: 0 })
    }

    /// Adds a row like [`Target::push`], to the table it belongs to.
    pub(crate) fn push(&mut self, row: &[Value], row_id: Option<u64>) -> Result<u64> {
        let number = self.scheme.as_ref().map_or(Ok(0), |scheme| scheme.table_of(row))?;
        let target = self.tables.get_mut(number);
        self.rows += 1;
        target
            .ok_or_else(|| TableError::Internal("a row for a partition that is not there".into()))?
            .push(row, row_id)
    }

    /// The number of rows added so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Builds the trees of all tables.
    pub(crate) fn finish(&mut self) -> Result<Vec<Finished>> {
        self.tables.iter_mut().map(Target::finish).collect()
    }

    /// The number of entries still to be put into trees after the last row.
    pub(crate) fn entries_left(&self) -> u64 {
        self.tables.iter().map(Target::entries_left).sum()
    }
}

/// Reads the rows of a table to which nobody commits, with their overflow values.
pub(crate) struct StoredRows<'a> {
    core: &'a Core,
    table: &'a TableDef,
    outside: Option<(Arc<TableDef>, Arc<TreeHandle>)>,
}

impl<'a> StoredRows<'a> {
    pub(crate) fn new(core: &'a Core, table: &'a TableDef) -> Result<StoredRows<'a>> {
        let outside = table.overflow.map(|_| {
            let outside = overflow::overflow_table(core, table)?;
            let tree = core.trees.current(outside.clustered().tree)?;
            Ok::<_, TableError>((outside, tree))
        });
        Ok(StoredRows { core, table, outside: outside.transpose()? })
    }

    pub(crate) fn row(&self, key: &[u8], payload: &[u8]) -> Result<Vec<Value>> {
        values_of_row(self.table, (key, payload), |reference| {
            let Some((outside, tree)) = &self.outside else { return Ok(Vec::new()) };
            joined(outside, &self.core.limits, reference, |key, value| {
                tree.tree.get(key, |entry| {
                    if let Some(entry) = entry {
                        value.extend_from_slice(part_of_payload(outside, entry.payload)?);
                    }
                    Ok(())
                })?
            })
        })
    }
}

/// A partition of `table` with a number of its own. Its indexes have no trees yet.
pub(super) fn partition_shell(core: &Core, table: &TableDef) -> TableDef {
    let id = TableId(core.counters.new_object());
    let mut shell = TableDef { id, ..table.as_partition() };
    for index in &mut shell.indexes {
        Arc::make_mut(index).id = core.counters.new_object();
    }
    shell
}
