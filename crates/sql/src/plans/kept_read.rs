//! The reader of a kept point plan.

use crate::result::ColumnMeta;
use leafline_executor::PointReader;
use leafline_planner::plan::PointRows;
use leafline_types::MysqlError;

/// The state of a point plan that is kept between executions.
pub(crate) struct KeptRead {
    pub(crate) reader: PointReader,
    /// Columns whose client form differs from the stored one.
    pub(crate) converted: Vec<usize>,
}

impl KeptRead {
    pub(crate) fn new(rows: &PointRows, columns: &[ColumnMeta]) -> Result<KeptRead, MysqlError> {
        let converted = columns.iter().enumerate().filter(|(_, column)| column.ty.plain().is_some());
        let converted = converted.map(|(at, _)| at).collect();
        Ok(KeptRead { reader: PointReader::new(rows)?, converted })
    }
}
