//! COUNT, SUM and AVG of DISTINCT values beyond memory.
//!
//! When memory runs out, the known values of groups stay in memory, and rows with other values go to files by group and value
//! ([`leafline_expr::aggregate::GroupedAccumulator::close`]). After the last row the known values are forgotten, and the files
//! are read one after another: equal values of a group are in one file. Values that still do not fit go to files again.

use super::super::ExecutionContext;
use super::super::spill::{Partitions, SpillFile};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, UInt64Array};
use leafline_expr::Datum;
use leafline_expr::aggregate::{AggregateCall, GroupedAccumulator, Groups};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError, SqlType};
use std::sync::Arc;

/// Rows with values that were unknown when memory ran out.
pub(super) struct SpilledDistinct {
    /// The types of the group's number and of the arguments.
    types: Arc<[ExprType]>,
    files: Partitions,
}

impl SpilledDistinct {
    /// Stops the accumulator of a call from keeping more values; none if it keeps none.
    pub fn begin(call: &AggregateCall, accumulator: &mut GroupedAccumulator) -> Option<SpilledDistinct> {
        if !accumulator.keeps_arguments() {
            return None;
        }
        accumulator.close();
        let number = ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
        let types: Arc<[ExprType]> =
            std::iter::once(number).chain(call.args.iter().map(|arg| arg.ty.clone())).collect();
        Some(SpilledDistinct { files: Partitions::new(&types), types })
    }

    /// Writes the rows of the last batch that the accumulator left out.
    pub fn write(
        &mut self,
        accumulator: &GroupedAccumulator,
        groups: Groups<'_>,
        rows: usize,
        args: Vec<Datum>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        let mut left_out = accumulator.left_out().peekable();
        if left_out.peek().is_none() {
            return Ok(());
        }
        let numbers = UInt64Array::from_iter_values((0..rows).map(|row| groups.of(row) as u64));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers)];
        for (arg, ty) in args.into_iter().zip(self.types.iter().skip(1)) {
            columns.push(arg.into_array(&ty.sql, rows)?);
        }
        let batch = Batch { columns, rows };
        left_out.try_for_each(|(row, key)| self.files.push(key, &batch, row as usize, cx))
    }

    /// Gives the rows to the accumulator, which has `groups` groups. `others`: bytes held elsewhere.
    pub fn finish(
        self,
        accumulator: &mut GroupedAccumulator,
        groups: usize,
        others: usize,
        held: &mut Held,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        let SpilledDistinct { types, files } = self;
        let mut waiting = files.finish()?;
        while let Some(file) = waiting.pop() {
            if file.is_empty() {
                continue;
            }
            accumulator.forget_arguments();
            waiting.extend(take_in(&file, &types, accumulator, groups, others, held, cx)?);
        }
        accumulator.forget_arguments();
        Ok(())
    }
}

/// Gives the rows of a file to the accumulator; rows without room go to the returned files.
fn take_in(
    file: &SpillFile,
    types: &Arc<[ExprType]>,
    accumulator: &mut GroupedAccumulator,
    groups: usize,
    others: usize,
    held: &mut Held,
    cx: &mut ExecutionContext<'_>,
) -> Result<Vec<SpillFile>, MysqlError> {
    let mut left: Option<SpilledDistinct> = None;
    let mut rows = file.read();
    while let Some(Batch { columns, rows: count }) = rows.next(cx)? {
        let mut columns = columns.into_iter();
        let numbers = columns.next();
        let Some(numbers) = numbers.as_ref().and_then(|column| column.as_primitive_opt::<UInt64Type>())
        else {
            return Err(MysqlError::internal("rows of groups without the groups' numbers"));
        };
        let ids: Vec<u32> = numbers.values().iter().map(|number| *number as u32).collect();
        let args: Vec<Datum> = columns.map(Datum::Array).collect();
        accumulator.update(Groups::Ids(&ids), groups, count, &args, &mut cx.eval)?;
        match &mut left {
            Some(left) => left.write(accumulator, Groups::Ids(&ids), count, args, cx)?,
            None if !held.fits(others + accumulator.memory(), cx.memory) => {
                accumulator.close();
                left = Some(SpilledDistinct { types: types.clone(), files: Partitions::new(types) });
            }
            None => {}
        }
    }
    left.map_or(Ok(Vec::new()), |left| left.files.finish())
}
