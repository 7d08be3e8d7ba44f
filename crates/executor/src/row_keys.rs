//! Encodes the sort keys of rows as bytes.

use super::limit::slice;
use super::{BoxedOperator, ExecutionContext};
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::evaluate_first;
use leafline_planner::plan::SortKey;
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

/// Evaluates and encodes sort keys. A batch with long keys is processed in pieces.
pub(super) struct RowKeys {
    keys: Arc<[SortKey]>,
    encoder: KeyEncoder,
    encoded: EncodedKeys,
    /// Rows whose keys are not encoded yet.
    rest: Option<Batch>,
}

impl RowKeys {
    pub fn new(keys: &Arc<[SortKey]>) -> RowKeys {
        let encoder = KeyEncoder::ordered(keys.iter().map(|key| (&key.expr.ty, key.descending)));
        RowKeys { keys: keys.clone(), encoder, encoded: EncodedKeys::default(), rest: None }
    }

    /// Returns the next rows of an input, and their keys.
    pub fn next(
        &mut self,
        input: &mut BoxedOperator,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Option<(Batch, &EncodedKeys)>, MysqlError> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match input.next(cx)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let rows = self.encode_first(&batch, cx)?;
        if rows < batch.rows {
            self.rest = Some(slice(&batch, rows, batch.rows - rows));
        }
        cx.counters.sort_rows += rows as u64;
        Ok(Some((slice(&batch, 0, rows), &self.encoded)))
    }

    /// Returns the key of the last row of a batch.
    pub fn of_last(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<&[u8], MysqlError> {
        self.encode_first(&slice(batch, batch.rows - 1, 1), cx)?;
        Ok(self.encoded.get(0))
    }

    /// Encodes the keys of the first rows of a batch, and returns the number of these rows.
    fn encode_first(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<usize, MysqlError> {
        let exprs = self.keys.iter().map(|key| &key.expr);
        let (columns, rows) = evaluate_first(exprs, batch, &mut cx.eval)?;
        self.encoder.encode(&columns, rows, &mut self.encoded)?;
        Ok(rows)
    }
}
