//! The rows of a batch that passed a filter.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::FilterBuilder;

use leafline_types::column::Batch;
use leafline_types::error::MysqlError;

/// The rows of a batch that passed a filter.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// All of this many rows.
    All(usize),
    /// None of this many rows.
    None(usize),
    /// The rows whose bit is set; at least one, and not all.
    Some(BooleanBuffer),
}

impl Selection {
    /// Makes a selection of one bit per row.
    pub fn from_bits(bits: BooleanBuffer) -> Self {
        let (rows, passed) = (bits.len(), bits.count_set_bits());
        if passed == rows {
            Selection::All(rows)
        } else if passed == 0 {
            Selection::None(rows)
        } else {
            Selection::Some(bits)
        }
    }

    /// Returns how many rows the batch has.
    pub fn rows(&self) -> usize {
        match self {
            Selection::All(rows) | Selection::None(rows) => *rows,
            Selection::Some(bits) => bits.len(),
        }
    }

    /// Returns how many rows passed.
    pub fn count(&self) -> usize {
        match self {
            Selection::All(rows) => *rows,
            Selection::None(_) => 0,
            Selection::Some(bits) => bits.count_set_bits(),
        }
    }

    /// Whether `row` passed.
    pub fn contains(&self, row: usize) -> bool {
        match self {
            Selection::All(rows) => row < *rows,
            Selection::None(_) => false,
            Selection::Some(bits) => row < bits.len() && bits.value(row),
        }
    }

    /// Returns the rows that passed, ascending.
    pub fn indices(&self) -> Vec<usize> {
        match self {
            Selection::All(rows) => (0..*rows).collect(),
            Selection::None(_) => Vec::new(),
            Selection::Some(bits) => bits.set_indices().collect(),
        }
    }

    /// Returns one bit per row.
    pub fn to_bits(&self) -> BooleanBuffer {
        match self {
            Selection::All(rows) => BooleanBuffer::new_set(*rows),
            Selection::None(rows) => BooleanBuffer::new_unset(*rows),
            Selection::Some(bits) => bits.clone(),
        }
    }

    /// Returns the batch with only the rows that passed.
    pub fn apply(&self, batch: &Batch) -> Result<Batch, MysqlError> {
        match self {
            Selection::All(_) => Ok(batch.clone()),
            Selection::None(_) => {
                Ok(Batch { columns: batch.columns.iter().map(|c| c.slice(0, 0)).collect(), rows: 0 })
            }
            Selection::Some(bits) => {
                let filter = FilterBuilder::new(&BooleanArray::new(bits.clone(), None)).optimize().build();
                let columns = batch.columns.iter().map(|c| filter.filter(c)).collect::<Result<_, _>>();
                Ok(Batch { columns: columns.map_err(MysqlError::internal)?, rows: filter.count() })
            }
        }
    }
}
