//! ALTER TABLE .. ANALYZE, CHECK, OPTIMIZE and REPAIR PARTITION: do for some partitions what ANALYZE TABLE and the others do for
//! a table.

use super::maintenance::{NO_REPAIR, checked, failed, full_name, message, messages, optimize_by};
use super::partitions::known;
use crate::result::RowSet;
use crate::session::Session;
use crate::show::base_table;
use leafline_planner::binder::partition::bind_partition_function;
use leafline_syntax::ast::{AlterAction, PartitionAction, PartitionMaintenance, PartitionOperation};
use leafline_table::{CheckOptions, Partitioning, TableDef};
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs the statement. An error of the table or of a partition's name is a row of the result, as in MySQL.
///
/// # Errors
/// 1317 and 3024 if the statement is stopped.
pub(super) fn run(session: &mut Session, wanted: &PartitionMaintenance) -> Result<RowSet, MysqlError> {
    let mut rows = messages();
    let name = full_name(session, &wanted.table);
    let operation = match wanted.operation {
        PartitionOperation::Analyze => "analyze",
        PartitionOperation::Check(_) => "check",
        PartitionOperation::Optimize => "optimize",
        PartitionOperation::Repair => "repair",
    };
    let (table, partitioning, chosen) = match chosen(session, wanted) {
        Ok(chosen) => chosen,
        Err(error) => {
            failed(&mut rows, &name, operation, &error);
            return Ok(rows);
        }
    };
    match wanted.operation {
        PartitionOperation::Analyze => {
            let partitions = chosen.iter().filter_map(|number| partitioning.get(*number));
            partitions.for_each(|partition| session.instance.statistics().forget(&partition.table));
            message(&mut rows, &name, operation, "status", "OK");
        }
        PartitionOperation::Check(depth) => {
            let options =
                CheckOptions { depth, read_ahead: session.settings.read_ahead, ..CheckOptions::default() };
            let narrowed = partitioning.narrowed(|number| chosen.contains(&number));
            let only = Arc::new(TableDef { partitioning: Some(narrowed), ..TableDef::clone(&table) });
            let engine = session.instance.engine();
            let check = engine.maintenance().check_table_with(&only, options, &|_| (), &session.cancel);
            session.cancel.check()?;
            checked(&mut rows, &name, check.map_err(MysqlError::from));
        }
        PartitionOperation::Optimize => {
            let rebuild = PartitionAction::Rebuild(wanted.names.clone());
            let action = AlterAction::Partitions(Box::new(rebuild));
            optimize_by(session, &wanted.table, action, &mut rows)?;
        }
        PartitionOperation::Repair => message(&mut rows, &name, operation, "note", NO_REPAIR),
    }
    Ok(rows)
}

/// Returns the table, its partitioning, and the numbers of the named partitions. Error 1505 if the table is not partitioned,
/// 1735 for an unknown partition.
fn chosen(
    session: &Session,
    wanted: &PartitionMaintenance,
) -> Result<(Arc<TableDef>, Partitioning, BTreeSet<usize>), MysqlError> {
    let table = base_table(session, &wanted.table)?;
    let partitioning =
        table.partitioning.clone().ok_or_else(MysqlError::partition_management_on_nonpartitioned)?;
    bind_partition_function(&table, &session.bind_context(&[]))?;
    let numbers = match &wanted.names {
        Some(names) => known(&table, &partitioning, names)?,
        None => partitioning.partitions.iter().map(|partition| partition.number).collect(),
    };
    Ok((table, partitioning, numbers))
}
