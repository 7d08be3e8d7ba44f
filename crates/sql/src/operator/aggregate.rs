//! One row per group: grouping by hash of the encoded keys; without keys, one row in all.

use super::gather::batch_bytes;
use super::key_table::KeyTable;
use super::limit::slice;
use super::memory::Held;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use leafline_types::aggregate::{AggregateCall, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder};
use leafline_types::expr::{Expr, evaluate};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Aggregate {
    input: BoxedOperator,
    keys: Arc<[Expr]>,
    grouping: usize,
    aggregates: Arc<[AggregateCall]>,
    result: Option<(Batch, usize)>,
    held: Held,
}

impl Aggregate {
    pub fn new(
        input: BoxedOperator,
        keys: Arc<[Expr]>,
        grouping: usize,
        aggregates: Arc<[AggregateCall]>,
    ) -> Aggregate {
        Aggregate { input, keys, grouping, aggregates, result: None, held: Held::default() }
    }

    fn run(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Batch, MysqlError> {
        let mut grouping = Grouping::new(&self.keys, self.grouping);
        let mut accumulators: Vec<GroupedAccumulator> =
            self.aggregates.iter().map(GroupedAccumulator::new).collect();
        while let Some(batch) = self.input.next(cx)? {
            grouping.number(&self.keys, &batch, cx)?;
            for (call, accumulator) in self.aggregates.iter().zip(&mut accumulators) {
                let mut args = Vec::with_capacity(call.args.len());
                for arg in &call.args {
                    args.push(evaluate(arg, &batch, &mut cx.eval)?);
                }
                accumulator.update(grouping.groups(), grouping.count(), batch.rows, &args, &mut cx.eval)?;
            }
            let accumulated: usize = accumulators.iter().map(GroupedAccumulator::memory).sum();
            self.held.set(accumulated + grouping.memory_bytes(), cx.memory)?;
        }
        let rows = grouping.count();
        let mut columns = grouping.finish(&self.keys)?;
        for accumulator in &mut accumulators {
            columns.push(accumulator.finish(rows, &mut cx.eval)?);
        }
        Ok(Batch { columns, rows })
    }
}

impl Operator for Aggregate {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if self.result.is_none() {
            self.result = Some((self.run(cx)?, 0));
        }
        let Some((result, delivered)) = &mut self.result else { return Ok(None) };
        let rows = (result.rows - *delivered).min(BATCH_ROWS);
        if rows == 0 {
            return Ok(None);
        }
        let batch = slice(result, *delivered, rows);
        *delivered += rows;
        Ok(Some(batch))
    }
}

/// The numbers of the groups of a batch's rows, and the keys of all groups.
struct Grouping {
    encoder: KeyEncoder,
    encoded: EncodedKeys,
    /// How many of the keys tell groups apart.
    grouping: usize,
    table: KeyTable,
    ids: Vec<u32>,
    /// Key columns of the groups, in the order of their numbers: a piece for each batch that had new ones.
    pieces: Vec<Vec<ArrayRef>>,
    piece_bytes: usize,
    keyed: bool,
}

impl Grouping {
    fn new(keys: &[Expr], grouping: usize) -> Grouping {
        Grouping {
            encoder: KeyEncoder::new(keys.iter().take(grouping).map(|key| &key.ty)),
            encoded: EncodedKeys::default(),
            grouping,
            table: KeyTable::default(),
            ids: Vec::new(),
            pieces: Vec::new(),
            piece_bytes: 0,
            keyed: !keys.is_empty(),
        }
    }

    fn number(
        &mut self,
        keys: &[Expr],
        batch: &Batch,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        if !self.keyed {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys.iter().take(self.grouping) {
            columns.push(evaluate(key, batch, &mut cx.eval)?);
        }
        self.encoder.encode(&columns, batch.rows, &mut self.encoded)?;
        self.ids.clear();
        let mut opened = Vec::new();
        for row in 0..batch.rows {
            let known = self.table.len();
            let id = self.table.find_or_insert(self.encoded.get(row));
            if id as usize == known {
                opened.push(row as u32);
            }
            self.ids.push(id);
        }
        if !opened.is_empty() {
            let opened = UInt32Array::from(opened);
            for key in keys.iter().skip(self.grouping) {
                columns.push(evaluate(key, batch, &mut cx.eval)?);
            }
            let mut piece = Vec::with_capacity(columns.len());
            for (column, key) in columns.into_iter().zip(keys) {
                let column = column.into_array(&key.ty.sql, batch.rows)?;
                piece.push(take(&column, &opened, None).map_err(MysqlError::internal)?);
            }
            self.piece_bytes += batch_bytes(&Batch { columns: piece.clone(), rows: opened.len() });
            self.pieces.push(piece);
        }
        Ok(())
    }

    fn groups(&self) -> Groups<'_> {
        if self.keyed { Groups::Ids(&self.ids) } else { Groups::One }
    }

    fn count(&self) -> usize {
        if self.keyed { self.table.len() } else { 1 }
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.piece_bytes
    }

    fn finish(self, keys: &[Expr]) -> Result<Vec<ArrayRef>, MysqlError> {
        if self.pieces.is_empty() {
            let empty = |key: &Expr| leafline_types::ColumnBuilder::for_type(&key.ty.sql).finish();
            return Ok(keys.iter().map(empty).collect());
        }
        (0..keys.len())
            .map(|column| {
                let pieces: Vec<&dyn Array> =
                    self.pieces.iter().filter_map(|piece| piece.get(column).map(AsRef::as_ref)).collect();
                concat(&pieces).map_err(MysqlError::internal)
            })
            .collect()
    }
}
