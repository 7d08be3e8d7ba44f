//! `information_schema.INNODB_INDEX_STATS`: the layout of the trees of indexes in the file. The first columns
//! are those of Percona's table of that name; the others are estimates from a sample of leaves.
//! `leafline inspect` reads all leaves.

use super::sizes::Sizes;
use super::{
    Columns, Rows, SystemView, count_column, name_column, nullable_column, of_current, text, text_column,
    users_tables,
};
use crate::accounts::Privilege;
use leafline_btree::SampledLeaves;
use leafline_table::{TableDef, TableError, Tree};
use leafline_types::{Decimal, MysqlError, SqlType, Value};
use std::sync::Arc;

/// Size of the sample of an index: at most this many leaves.
const LEAVES: SampledLeaves = SampledLeaves { most: 32, read: true };

pub(super) fn columns() -> Columns {
    vec![
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        name_column("INDEX_NAME"),
        count_column("FIELDS"),
        text_column("ROWS_PER_KEY", SqlType::Varchar { len: 512 }),
        count_column("INDEX_TOTAL_PAGES"),
        count_column("INDEX_LEAF_PAGES"),
        text_column("PARTITION_NAME", SqlType::Varchar { len: 64 }),
        count_column("LEVELS"),
        count_column("ENTRIES"),
        nullable_column("FILL_PERCENT", SqlType::decimal(4, 1)),
        nullable_column("BREAKS_PERCENT", SqlType::decimal(4, 1)),
        nullable_column("RESIDENT_PERCENT", SqlType::decimal(4, 1)),
        count_column("EXTENTS"),
        count_column("BYTES"),
        count_column("BYTES_FREE"),
        count_column("PAGE_SPLITS"),
        count_column("PAGE_MERGES"),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    system.access.check_any(&[Privilege::Process])?;
    let sizes = Sizes::now(system);
    let mut rows = Rows::new();
    for table in users_tables(system) {
        rows.extend(of_current(system, &table, |table| rows_of(system, table, &sizes))?);
    }
    Ok(rows)
}

fn rows_of(system: &SystemView<'_>, table: &Arc<TableDef>, sizes: &Sizes) -> Result<Rows, MysqlError> {
    let engine = system.instance.engine();
    let mut rows = Rows::new();
    for (at, stored) in table.stored().enumerate() {
        let partition = table.partitioning.as_ref().map(|all| all.name(at));
        let readable = stored.indexes.iter().filter(|index| !engine.is_quarantined(index));
        for index in readable {
            let tree = engine.tree(index)?;
            let estimate = tree.estimate(&[], None).map_err(TableError::from)?;
            let per_key = match index.is_words() {
                true => String::new(),
                false => {
                    let statistics = system.instance.statistics().index(engine, stored, index)?;
                    let per_key = (1..=index.parts.len()).map(|parts| statistics.entries_per(parts).round());
                    per_key.map(|rows| rows.to_string()).collect::<Vec<_>>().join(", ")
                }
            };
            let pages = sizes.segment(index.tree).map_or(0, |segment| segment.pages);
            let extents = sizes.segment(index.tree).map_or(0, |segment| segment.extents);
            let (used, free) = sizes.of_tree(index.tree);
            rows.push(vec![
                text(table.database.as_str()),
                text(table.name.as_str()),
                text(index.name.as_str()),
                Value::UInt(index.parts.len() as u64),
                text(per_key.as_str()),
                Value::UInt(pages),
                Value::UInt(estimate.leaves.round() as u64),
                text(partition.as_deref()),
                Value::UInt(estimate.depth.into()),
                Value::UInt(estimate.entries.round() as u64),
                fill(&tree)?.map_or(Value::Null, percent),
                tree.breaks().map_err(TableError::from)?.map_or(Value::Null, percent),
                percent(estimate.resident_fraction),
                Value::UInt(extents),
                Value::UInt(used + free),
                Value::UInt(free),
                Value::UInt(tree.splits()),
                Value::UInt(tree.merges()),
            ]);
        }
    }
    Ok(rows)
}

/// A share in percent, with one decimal.
fn percent(share: f64) -> Value {
    Decimal::parse(&format!("{:.1}", share * 100.0)).map_or(Value::Null, Value::Decimal)
}

/// Mean fill of a sample of leaves, as a share of their size; `None` if no leaf was read.
fn fill(tree: &Tree) -> Result<Option<f64>, MysqlError> {
    let (mut leaves, mut sum) = (0, 0.0);
    let looked = tree.sample(&[], None, LEAVES, &mut |leaf, _| {
        leaves += 1;
        sum += leaf.fill();
    });
    looked.map_err(TableError::from)?;
    Ok((leaves > 0).then(|| sum / f64::from(leaves)))
}
