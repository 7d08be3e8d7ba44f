//! Tables with partitions, which cannot be made yet: what is wrong with a definition is said as MySQL says it, what is right is refused.

use super::evaluate::constant;
use crate::binder::partition::{BoundValue, check_keys, check_shape, check_values, partition_columns, rows};
use crate::parser::ast::{CreateTable, PartitionBound};
use crate::parser::parse_stored;
use crate::session::Session;
use leafline_table::TableSpec;
use leafline_types::MysqlError;

/// Checks the PARTITION BY of a CREATE TABLE that asks for `spec`.
///
/// # Errors
/// MySQL's for definitions that cannot be; 1235 for all others.
pub(super) fn refuse_partitions(
    session: &mut Session,
    create: &CreateTable,
    spec: &TableSpec,
) -> Result<(), MysqlError> {
    let Some(by) = &create.partition_by else { return Ok(()) };
    if create.temporary {
        return Err(MysqlError::partitioned_temporary_table());
    }
    check_shape(by)?;
    let found = partition_columns(by, spec, &session.bind_context(&[]))?;
    let mut values = Vec::with_capacity(by.partitions.len());
    for partition in &by.partitions {
        let mut own = Vec::new();
        for row in rows(partition) {
            let row = row.iter().map(|bound| evaluated(session, bound));
            own.push(row.collect::<Result<Vec<BoundValue>, MysqlError>>()?);
        }
        values.push(own);
    }
    check_values(by, &found, &values, session.settings.time_settings())?;
    check_keys(&found, spec)?;
    Err(MysqlError::not_supported("PARTITION BY"))
}

fn evaluated(session: &mut Session, bound: &PartitionBound) -> Result<BoundValue, MysqlError> {
    match bound {
        PartitionBound::MaxValue => Ok(None),
        PartitionBound::Value(text) => {
            constant(session, &parse_stored(text)?, (text, &[])).map(|(v, _)| Some(v))
        }
    }
}
