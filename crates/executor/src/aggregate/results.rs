//! The result rows of grouping, a part at a time. Values that went to files are combined when their rows are asked for.

use super::super::{BATCH_ROWS, ExecutionContext};
use super::gathered::GroupEntries;
use crate::params::BATCH_BYTES;
use arrow_array::{Array, ArrayRef, new_empty_array};
use leafline_expr::aggregate::GroupedAccumulator;
use leafline_types::{Batch, ColumnBuilder, MysqlError, SqlType, Value};

/// A column of results.
pub(super) enum Column {
    /// All groups are finished, in one array.
    Ready(ArrayRef),
    /// All groups are finished, in several arrays because one would be too large.
    Pieces(Vec<ArrayRef>),
    /// Groups are finished one after another.
    Gathered(Box<GroupByGroup>),
}

/// An aggregate whose groups are finished one after another.
pub(super) struct GroupByGroup {
    pub accumulator: GroupedAccumulator,
    /// The entries that are on disk.
    pub entries: Option<GroupEntries>,
    pub ty: SqlType,
}

/// The rows of all groups.
pub(super) struct Results {
    columns: Vec<Column>,
    rows: usize,
    delivered: usize,
    /// The ends of the pieces of columns; all columns in pieces share them.
    ends: Vec<usize>,
}

impl Results {
    pub fn new(columns: Vec<Column>, rows: usize) -> Results {
        let pieces = columns.iter().find_map(|column| match column {
            Column::Pieces(pieces) => Some(pieces),
            _ => None,
        });
        let mut end = 0;
        let ends = pieces.into_iter().flatten().map(|piece| {
            end += piece.len();
            end
        });
        Results { ends: ends.collect(), columns, rows, delivered: 0 }
    }

    pub fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let first = self.delivered;
        let piece = self.ends.partition_point(|end| *end <= first);
        let begin = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        let most = self.rows.min(first + BATCH_ROWS).min(self.ends.get(piece).copied().unwrap_or(usize::MAX));
        if first == most {
            return Ok(None);
        }
        let (gathered, end) = self.gather(first, most, cx)?;
        self.delivered = end;
        let mut gathered = gathered.into_iter();
        let is_last_of_piece = self.ends.get(piece) == Some(&end);
        let columns = self.columns.iter_mut().filter_map(|column| match column {
            Column::Ready(array) => Some(array.slice(first, end - first)),
            Column::Pieces(pieces) => pieces.get_mut(piece).map(|array| {
                let part = array.slice(first - begin, end - first);
                if is_last_of_piece {
                    *array = new_empty_array(array.data_type());
                }
                part
            }),
            Column::Gathered(_) => gathered.next(),
        });
        Ok(Some(Batch { columns: columns.collect(), rows: end - first }))
    }

    /// Returns the bytes of the undelivered pieces; none if there are no pieces, or if groups are finished one after another.
    pub fn bytes_of_pieces(&self) -> Option<usize> {
        if self.ends.is_empty() {
            return None;
        }
        self.columns.iter().try_fold(0, |bytes, column| match column {
            Column::Ready(_) => Some(bytes),
            Column::Pieces(pieces) => {
                Some(bytes + pieces.iter().map(|piece| piece.get_array_memory_size()).sum::<usize>())
            }
            Column::Gathered(_) => None,
        })
    }

    /// Finishes groups from the first on, at least one and not beyond `most`, until the batch is full. Returns the columns, and
    /// the number of the next group.
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
        let enough = cx.memory.share().min(BATCH_BYTES);
        let (mut bytes, mut end) = (0, first);
        while end < most && bytes <= enough {
            cx.eval.cancel.check()?;
            for (column, builder) in &mut gathering {
                let value = match &mut column.entries {
                    Some(entries) => entries.finish_group(end as u32, &mut column.accumulator, cx)?,
                    None => column.accumulator.finish_group(end, &mut cx.eval)?,
                };
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
