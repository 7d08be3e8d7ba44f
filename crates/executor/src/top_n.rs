//! Delivers the first rows in order, holding no more than a multiple of the wanted rows. If these do not fit into memory, all
//! rows are sorted on disk.

use super::gather::{Delivery, RowRef, RowStore, batch_bytes};
use super::limit::resolve;
use super::row_keys::RowKeys;
use super::sort::{Sorted, SortedRows};
use super::spill::DiskSort;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::TOP_N_SLACK_ROWS;
use arrow_buffer::BooleanBuffer;
use leafline_expr::Selection;
use leafline_expr::aggregate::EncodedKeys;
use leafline_planner::plan::{self, Node, RowLimit, SortKey};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

pub(super) struct TopN {
    input: BoxedOperator,
    types: Arc<[ExprType]>,
    keys: Arc<[SortKey]>,
    /// Keys in whose order the rows come.
    presorted: Arc<[SortKey]>,
    limit: RowLimit,
    result: Option<Sorted>,
    held: Held,
}

impl TopN {
    /// Makes the operator. The rows come in the order of the first `presorted` keys.
    pub fn new(
        input: BoxedOperator,
        types: &Arc<[ExprType]>,
        (keys, presorted): (Arc<[SortKey]>, usize),
        limit: RowLimit,
    ) -> TopN {
        let presorted = keys[..presorted].into();
        TopN { input, types: types.clone(), keys, presorted, limit, result: None, held: Held::default() }
    }

    fn first_rows(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Sorted, MysqlError> {
        let (skip, deliver) = resolve(&self.limit, cx.eval.parameters)?;
        let wanted = usize::try_from(skip.saturating_add(deliver)).unwrap_or(usize::MAX);
        let mut kept = TopCandidates::default();
        if deliver > 0 {
            let mut encoder = RowKeys::new(&self.keys);
            let mut leading = RowKeys::new(&self.presorted);
            while let Some((batch, keys)) = encoder.next(&mut self.input, cx)? {
                let last = match self.presorted.is_empty() {
                    true => None,
                    false => Some(leading.of_last(&batch, cx)?),
                };
                kept.add(batch, keys)?;
                if let Some(last) = last
                    && kept.rows.len() >= wanted
                {
                    kept.shrink(wanted)?;
                    // All later rows have these leading keys or greater ones.
                    if kept.bound.as_ref().is_some_and(|bound| bound.as_slice() < last) {
                        break;
                    }
                }
                if kept.rows.len() >= wanted.saturating_mul(2).saturating_add(TOP_N_SLACK_ROWS) {
                    kept.shrink(wanted)?;
                }
                if !self.held.fits(kept.memory_bytes(), cx.memory)
                    && kept.rows.len() >= wanted.saturating_mul(2)
                {
                    kept.shrink(wanted)?;
                }
                if !self.held.fits(kept.memory_bytes(), cx.memory) {
                    let mut disk = DiskSort::new(&self.types, cx);
                    kept.rows.move_to(kept.store, &mut disk)?;
                    self.held.set(0, cx.memory)?;
                    disk.push_rest(&mut self.input, &mut encoder, cx)?;
                    return Ok(Sorted::Disk(Box::new(disk.finish(skip, deliver)?)));
                }
                cx.eval.cancel.check()?;
            }
        }
        let mut rows = kept.rows.into_sorted();
        rows.truncate(wanted);
        rows.drain(..rows.len().min(usize::try_from(skip).unwrap_or(usize::MAX)));
        Ok(Sorted::Memory(Delivery::new(kept.store, rows)))
    }
}

impl Build for plan::TopN {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let (input, keys) = (builder.build(&self.input), (self.keys.clone(), self.presorted));
        Box::new(TopN::new(input, &self.input.types, keys, self.limit.clone()))
    }
}

impl Operator for TopN {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if self.result.is_none() {
            self.result = Some(self.first_rows(cx)?);
        }
        match &mut self.result {
            Some(result) => result.next(cx),
            None => Ok(None),
        }
    }

    fn reset(&mut self) -> bool {
        self.result = None;
        self.held = Held::default();
        self.input.reset()
    }
}

/// Candidates for the first rows.
#[derive(Default)]
struct TopCandidates {
    store: RowStore,
    store_bytes: usize,
    rows: SortedRows,
    /// Key of the last row that was among the first when the candidates were last reduced. A row that does not sort before it
    /// cannot be delivered, because an equal row that came earlier takes precedence.
    bound: Option<Vec<u8>>,
}

impl TopCandidates {
    fn add(&mut self, batch: Batch, keys: &EncodedKeys) -> Result<(), MysqlError> {
        let selection = match &self.bound {
            Some(bound) => Selection::from_bits(BooleanBuffer::collect_bool(batch.rows, |row| {
                keys.get(row) < bound.as_slice()
            })),
            None => Selection::All(batch.rows),
        };
        if selection.count() == 0 {
            return Ok(());
        }
        let passed = selection.apply(&batch)?;
        self.store_bytes += batch_bytes(&passed);
        let number = self.store.push(passed);
        for (position, row) in selection.indices().into_iter().enumerate() {
            self.rows.push(keys.get(row), RowRef { batch: number, row: position as u32 });
        }
        Ok(())
    }

    /// Drops all but the first `wanted` candidates.
    fn shrink(&mut self, wanted: usize) -> Result<(), MysqlError> {
        self.bound = self.rows.truncate(wanted).map(<[u8]>::to_vec);
        let (keys, rows) = self.rows.take();
        let refs: Vec<RowRef> = rows.iter().map(|(_, row)| *row).collect();
        let compact = Batch { columns: self.store.gather(&refs)?, rows: refs.len() };
        self.store = RowStore::default();
        self.store_bytes = batch_bytes(&compact);
        let batch = self.store.push(compact);
        for (row, (key, _)) in rows.iter().enumerate() {
            self.rows.push(keys.get(*key as usize), RowRef { batch, row: row as u32 });
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.store_bytes + self.rows.memory_bytes()
    }
}
