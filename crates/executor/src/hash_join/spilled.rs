//! Hash joins whose build side does not fit into memory.
//!
//! The join spreads both inputs over files by the hash of their keys, and joins each pair of files by itself, recursively up to
//! [`MAX_SPILL_DEPTH`] times (Kitsuregawa, Tanaka and Moto-Oka, 1983). An input that does not shrink this way, because there are
//! no keys or too many rows of one key, is joined a part of the build side at a time, and the other side is read again for each
//! part. To keep the order of the probe rows, they carry a number that the result is sorted by.

use super::{BuildTable, HashJoin, MatchedRows, Shape};
use crate::params::MAX_SPILL_DEPTH;
use crate::spill::{DiskSort, Partitions, SpillFile, picked};
use crate::{BoxedOperator, ExecutionContext, Operator};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{UInt64Array, new_null_array};
use leafline_access::JoinType;
use leafline_types::column::arrow_type;
use leafline_types::{Batch, ExprType, MysqlError, SqlType};
use std::sync::Arc;

/// Joins the rows of a join that has read as much of its build side as fits. `rest` is the part that it has not read.
pub(super) fn spilled(
    join: &mut HashJoin,
    rest: BoxedOperator,
    cx: &mut ExecutionContext<'_>,
) -> Result<BoxedOperator, MysqlError> {
    let is_last = join.depth >= MAX_SPILL_DEPTH || (join.depth > 0 && join.shape.build_keys.is_empty());
    match join.probe_file.clone() {
        Some(probe) if is_last => Ok(Box::new(Chunked::new(join, rest, probe))),
        _ => partitioned(join, rest, cx),
    }
}

fn partitioned(
    join: &mut HashJoin,
    mut rest: BoxedOperator,
    cx: &mut ExecutionContext<'_>,
) -> Result<BoxedOperator, MysqlError> {
    let shape = join.shape.clone();
    let table = std::mem::take(&mut join.table);
    let mut builds = match shape.build_keys.is_empty() {
        true => Partitions::single(&shape.build_types),
        false => Partitions::new(&shape.build_types),
    };
    for batch in table.store.batches() {
        spread(join, batch, true, &mut builds, cx)?;
    }
    drop(table);
    join.held.set(0, cx.memory)?;
    while let Some(batch) = rest.next(cx)? {
        spread(join, &batch, true, &mut builds, cx)?;
    }
    let inner = match shape.keep_order {
        true => Arc::new(shape.numbered()),
        false => shape.clone(),
    };
    let mut probes = Partitions::like(&builds, &inner.probe_types);
    let mut rows = 0;
    while let Some(mut batch) = join.probe.next(cx)? {
        if shape.keep_order {
            let numbers = UInt64Array::from_iter_values(rows..rows + batch.rows as u64);
            rows += batch.rows as u64;
            batch.columns.push(Arc::new(numbers));
        }
        spread(join, &batch, false, &mut probes, cx)?;
    }
    let pairs: Vec<_> = probes.finish()?.into_iter().zip(builds.finish()?).collect();
    let mut joined = Partitioned { pairs, current: None, shape: inner, depth: join.depth + 1 };
    if !shape.keep_order {
        return Ok(Box::new(joined));
    }
    let mut types = shape.probe_types.to_vec();
    if shape.join_type.delivers_partners() {
        types.extend(shape.build_types.iter().cloned());
    }
    let mut sort = DiskSort::new(&types.into(), cx);
    while let Some(mut batch) = joined.next(cx)? {
        let numbers = batch.columns.remove(shape.probe_types.len());
        let numbers = numbers.as_primitive::<UInt64Type>();
        for row in 0..batch.rows {
            sort.push(&numbers.value(row).to_be_bytes(), &batch, row)?;
        }
    }
    Ok(Box::new(sort.finish(0, u64::MAX)?))
}

/// Writes the rows of a batch that can be in the result to the files for their keys.
fn spread(
    join: &mut HashJoin,
    batch: &Batch,
    is_build: bool,
    files: &mut Partitions,
    cx: &mut ExecutionContext<'_>,
) -> Result<(), MysqlError> {
    cx.eval.cancel.check()?;
    let joinable = join.encode(batch, is_build, cx)?;
    let alone = !is_build && matches!(join.shape.join_type, JoinType::LeftOuter | JoinType::Anti);
    for row in 0..batch.rows {
        if joinable.contains(row) {
            files.push(join.keys.get(row), batch, row, cx)?;
        } else if alone {
            files.push(&[], batch, row, cx)?;
        }
    }
    Ok(())
}

impl Shape {
    /// Returns the shape of the join of the same rows, with a number after the columns of the probe rows.
    fn numbered(&self) -> Shape {
        let width = self.probe_types.len();
        let mut probe_types = self.probe_types.to_vec();
        probe_types.push(ExprType::numeric(SqlType::BIGINT_UNSIGNED, false));
        let moved = |column: usize| if column < width { column } else { column + 1 };
        Shape {
            probe_types: probe_types.into(),
            conditions: self.conditions.iter().map(|e| e.map_columns(&mut { moved })).collect(),
            keep_order: false,
            ..self.clone()
        }
    }
}

/// Joins pairs of files, one after another.
struct Partitioned {
    pairs: Vec<(SpillFile, SpillFile)>,
    current: Option<HashJoin>,
    shape: Arc<Shape>,
    depth: usize,
}

impl Operator for Partitioned {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(batch) = current.next(cx)? {
                    return Ok(Some(batch));
                }
                current.held.set(0, cx.memory)?;
                self.current = None;
            }
            let Some((probe, build)) = self.pairs.pop() else { return Ok(None) };
            let needs_partner = matches!(self.shape.join_type, JoinType::Inner | JoinType::Semi);
            if probe.is_empty() || (build.is_empty() && needs_partner) {
                continue;
            }
            let mut join = HashJoin::with(probe.read(), build.read(), self.shape.clone());
            (join.depth, join.probe_file) = (self.depth, Some(probe));
            self.current = Some(join);
        }
    }
}

/// Joins a part of the build side at a time.
struct Chunked {
    join: HashJoin,
    rows: JoinType,
    rest: Option<BoxedOperator>,
    probe: SpillFile,
    /// Reads the probe rows once more after all parts, to deliver rows with or without match.
    last: Option<BoxedOperator>,
}

impl Chunked {
    fn new(join: &mut HashJoin, rest: BoxedOperator, probe: SpillFile) -> Chunked {
        let shape = Shape { join_type: JoinType::Inner, ..join.shape.as_ref().clone() };
        let mut part = HashJoin::with(probe.read(), probe.read(), Arc::new(shape));
        part.build = None;
        part.table = std::mem::take(&mut join.table);
        part.held = std::mem::take(&mut join.held);
        part.noted = Some(MatchedRows { matched: vec![false; probe.rows() as usize], first: 0, next: 0 });
        Chunked { join: part, rows: join.shape.join_type, rest: Some(rest), probe, last: None }
    }

    /// Returns the next pairs with rows of the current part, if there are any.
    fn next_of_part(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if self.rows.delivers_partners() {
            return self.join.next(cx);
        }
        while let Some(batch) = self.join.probe.next(cx)? {
            let matched = self.join.partners(&batch, cx)?;
            if let Some(noted) = &mut self.join.noted {
                noted.begin(batch.rows);
                (0..batch.rows).filter(|row| matched[*row]).for_each(|row| noted.add(row));
            }
        }
        Ok(None)
    }

    /// Delivers the probe rows with or without match.
    fn next_of_last(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let Some(last) = &mut self.last else { return Ok(None) };
        while let Some(batch) = last.next(cx)? {
            let Some(noted) = &mut self.join.noted else { return Ok(None) };
            noted.begin(batch.rows);
            let wanted = self.rows == JoinType::Semi;
            let rows: Vec<u32> =
                (0..batch.rows).filter(|row| noted.has(*row) == wanted).map(|row| row as u32).collect();
            if rows.is_empty() {
                continue;
            }
            let mut batch = picked(&batch, &rows)?;
            if self.rows == JoinType::LeftOuter {
                let nulls = |ty: &ExprType| new_null_array(&arrow_type(&ty.sql), rows.len());
                batch.columns.extend(self.join.shape.build_types.iter().map(nulls));
            }
            return Ok(Some(batch));
        }
        Ok(None)
    }
}

impl Operator for Chunked {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if self.last.is_some() {
                return self.next_of_last(cx);
            }
            if let Some(batch) = self.next_of_part(cx)? {
                return Ok(Some(batch));
            }
            self.join.table = BuildTable::default();
            self.join.held.set(0, cx.memory)?;
            if let Some(noted) = &mut self.join.noted {
                (noted.first, noted.next) = (0, 0);
            }
            match self.rest.take() {
                Some(rest) => {
                    self.rest = self.join.read_build(rest, cx)?;
                    self.join.current = None;
                    self.join.probe = self.probe.read();
                }
                None if self.rows == JoinType::Inner => return Ok(None),
                None => self.last = Some(self.probe.read()),
            }
        }
    }
}
