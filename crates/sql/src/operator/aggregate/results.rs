//! The rows that grouping gives, a part at a time. What goes to files while it is gathered is put together as it is asked for.

use super::super::{BATCH_ROWS, ExecutionContext};
use super::gathered::GroupEntries;
use arrow_array::ArrayRef;
use leafline_types::aggregate::GroupedAccumulator;
use leafline_types::{Batch, ColumnBuilder, MysqlError, SqlType, Value};

/// A column of results.
pub(super) enum Column {
    /// All groups are finished.
    Ready(ArrayRef),
    /// Groups are finished one after the other.
    Gathered(Box<GroupByGroup>),
}

/// An aggregate whose groups are finished one after the other.
pub(super) struct GroupByGroup {
    pub accumulator: GroupedAccumulator,
    pub entries: GroupEntries,
    pub ty: SqlType,
}

/// A row for each group.
pub(super) struct Results {
    columns: Vec<Column>,
    rows: usize,
    delivered: usize,
}

impl Results {
    pub fn new(columns: Vec<Column>, rows: usize) -> Results {
        Results { columns, rows, delivered: 0 }
    }

    pub fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let first = self.delivered;
        let most = self.rows.min(first + BATCH_ROWS);
        if first == most {
            return Ok(None);
        }
        let (gathered, end) = self.gather(first, most, cx)?;
        self.delivered = end;
        let mut gathered = gathered.into_iter();
        let columns = self.columns.iter().filter_map(|column| match column {
            Column::Ready(array) => Some(array.slice(first, end - first)),
            Column::Gathered(_) => gathered.next(),
        });
        Ok(Some(Batch { columns: columns.collect(), rows: end - first }))
    }

    /// Finishes groups from the first on, at least one and not beyond `most`, until there is enough of them: the columns, and the
    /// group that comes next.
    fn gather(
        &mut self,
        first: usize,
        most: usize,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(Vec<ArrayRef>, usize), MysqlError> {
        let mut gathering: Vec<(&mut GroupByGroup, ColumnBuilder)> = Vec::new();
        for column in &mut self.columns {
            if let Column::Gathered(column) = column {
                let builder = ColumnBuilder::for_type(&column.ty);
                gathering.push((column, builder));
            }
        }
        if gathering.is_empty() {
            return Ok((Vec::new(), most));
        }
        let enough = cx.memory.share();
        let (mut bytes, mut end) = (0, first);
        while end < most && bytes <= enough {
            cx.eval.cancel.check()?;
            for (column, builder) in &mut gathering {
                let value = column.entries.finish_group(end as u32, &mut column.accumulator, cx)?;
                bytes += value_bytes(&value);
                builder.push_value(&value)?;
            }
            end += 1;
        }
        Ok((gathering.iter_mut().map(|(_, builder)| builder.finish()).collect(), end))
    }
}

fn value_bytes(value: &Value) -> usize {
    let more = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(json) => json.as_bytes().len(),
        _ => 0,
    };
    size_of::<Value>() + more
}
