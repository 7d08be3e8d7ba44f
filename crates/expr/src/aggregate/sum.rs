//! SUM and AVG. Exact sums are kept in 128 bits, and in 256 from the first sum on that does not fit.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::i256;
use arrow_schema::DataType;

use super::{Groups, for_each};
use crate::functions::rounding::double_digits;
use crate::{EvalContext, eval_operand as operand};
use leafline_types::column::{ColumnBuilder, value_at};
use leafline_types::decimal::{DIVISION_SCALE_INCREMENT, Decimal};
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Sums of exact numbers.
#[derive(Debug)]
pub(super) struct DecimalSum {
    sums: Sums,
    /// The number of values of each group; a group without values is NULL.
    counts: Vec<u64>,
    /// The scale of the arguments.
    scale: u8,
    /// The scale of the averages, if averages are wanted.
    average_scale: Option<u8>,
}

#[derive(Debug)]
enum Sums {
    Narrow(Vec<i128>),
    Wide(Vec<i256>),
}

fn overflow() -> MysqlError {
    MysqlError::data_out_of_range("DECIMAL", "sum")
}

impl DecimalSum {
    pub(super) fn new(scale: u8, average_scale: Option<u8>) -> Self {
        DecimalSum { sums: Sums::Narrow(Vec::new()), counts: Vec::new(), scale, average_scale }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
        match &mut self.sums {
            Sums::Narrow(sums) => sums.resize(groups, 0),
            Sums::Wide(sums) => sums.resize(groups, i256::ZERO),
        }
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        match array.data_type() {
            DataType::Int64 => {
                self.add(groups, array, array.as_primitive::<Int64Type>().values(), i128::from)
            }
            DataType::UInt64 => {
                self.add(groups, array, array.as_primitive::<UInt64Type>().values(), i128::from)
            }
            DataType::Decimal128(_, s) if *s == self.scale as i8 => {
                self.add(groups, array, array.as_primitive::<Decimal128Type>().values(), |v| v)
            }
            DataType::Decimal256(_, s) if *s == self.scale as i8 => {
                let lane = array.as_primitive::<Decimal256Type>().values();
                // Most columns of wide types hold values that fit 128 bits.
                if lane.iter().all(|v| v.to_i128().is_some()) {
                    return self.add(groups, array, lane, i256::as_i128);
                }
                self.add_converted(groups, array, lane, |v| v)
            }
            _ => {
                for row in 0..array.len() {
                    if let Some(d) = operand::decimal(&value_at(array.as_ref(), row, ty), cx)? {
                        let d = d.round(self.scale.into()).ok_or_else(overflow)?;
                        self.add_one(groups.of(row), d.unscaled())?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Adds 128-bit numbers; those that overflow a sum are added in 256 bits afterwards.
    #[inline(always)]
    fn add<T: Copy>(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        lane: &[T],
        get: impl Fn(T) -> i128,
    ) -> Result<(), MysqlError> {
        let Sums::Narrow(sums) = &mut self.sums else {
            return self.add_converted(groups, array, lane, |v| i256::from_i128(get(v)));
        };
        let counts = &mut self.counts;
        if let (Groups::One, [sum], [count]) = (groups, sums.as_mut_slice(), counts.as_mut_slice()) {
            let (mut local, mut overflowed) = (*sum, false);
            for_each(groups, array, lane, |_, v| {
                let (added, over) = local.overflowing_add(get(v));
                local = added;
                overflowed |= over;
            });
            if overflowed {
                return self.add_converted(groups, array, lane, |v| i256::from_i128(get(v)));
            }
            *sum = local;
            *count += (lane.len() - array.null_count()) as u64;
            return Ok(());
        }
        let mut overflowed = Vec::new();
        for_each(groups, array, lane, |g, v| {
            let (added, over) = sums[g].overflowing_add(get(v));
            if over {
                overflowed.push((g, get(v)));
            } else {
                sums[g] = added;
                counts[g] += 1;
            }
        });
        overflowed.into_iter().try_for_each(|(g, v)| self.add_one(g, i256::from_i128(v)))
    }

    fn widen(&mut self) -> &mut Vec<i256> {
        if let Sums::Narrow(sums) = &self.sums {
            self.sums = Sums::Wide(sums.iter().map(|v| i256::from_i128(*v)).collect());
        }
        match &mut self.sums {
            Sums::Wide(sums) => sums,
            Sums::Narrow(_) => unreachable!("made wide above"),
        }
    }

    fn add_converted<T: Copy>(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        lane: &[T],
        get: impl Fn(T) -> i256,
    ) -> Result<(), MysqlError> {
        let mut result = Ok(());
        for_each(groups, array, lane, |g, v| {
            if result.is_ok() {
                result = self.add_one(g, get(v));
            }
        });
        result
    }

    fn add_one(&mut self, group: usize, v: i256) -> Result<(), MysqlError> {
        self.counts[group] += 1;
        if let (Sums::Narrow(sums), Some(v)) = (&mut self.sums, v.to_i128())
            && let Some(sum) = sums[group].checked_add(v)
        {
            sums[group] = sum;
            return Ok(());
        }
        let sums = self.widen();
        sums[group] = sums[group].checked_add(v).ok_or_else(overflow)?;
        Ok(())
    }

    /// Returns the number of groups.
    pub(super) fn groups(&self) -> usize {
        self.counts.len()
    }

    /// Adds to the count of each group.
    pub(super) fn add_to_counts(&mut self, more: impl Iterator<Item = u64>) {
        self.counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
    }

    /// Returns the current result of a group.
    pub(super) fn value(&self, group: usize) -> Result<Value, MysqlError> {
        let count = self.counts[group];
        if count == 0 {
            return Ok(Value::Null);
        }
        let sum = match &self.sums {
            Sums::Narrow(sums) => Decimal::from_i128(sums[group], self.scale),
            Sums::Wide(sums) => Decimal::from_i256(sums[group], self.scale).ok_or_else(overflow)?,
        };
        let count = Decimal::from_u64(count);
        let result = match self.average_scale {
            // An average that an expression continues with has the digits of a quotient.
            Some(scale) if scale > self.scale + DIVISION_SCALE_INCREMENT => sum
                .checked_div_within(&count, DIVISION_SCALE_INCREMENT)
                .and_then(|average| average.round(scale.into())),
            Some(scale) => sum.checked_div(&count, scale),
            None => Some(sum),
        };
        result.map(Value::Decimal).ok_or_else(overflow)
    }

    /// Subtracts the values of rows from the only group.
    pub(super) fn retract(
        &mut self,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let mut taken = DecimalSum::new(self.scale, None);
        taken.grow(1);
        taken.update(Groups::One, array, ty, cx)?;
        self.counts[0] -= taken.counts[0];
        if let (Sums::Narrow(sums), Sums::Narrow(taken)) = (&mut self.sums, &taken.sums)
            && let Some(left) = sums[0].checked_sub(taken[0])
        {
            sums[0] = left;
            return Ok(());
        }
        let taken = taken.widen()[0];
        let sums = self.widen();
        sums[0] = sums[0].checked_sub(taken).ok_or_else(overflow)?;
        Ok(())
    }

    pub(super) fn finish(&mut self, ty: &SqlType) -> Result<ArrayRef, MysqlError> {
        let mut out = ColumnBuilder::with_capacity(ty, self.counts.len());
        for group in 0..self.counts.len() {
            out.push_value(&self.value(group)?).map_err(|_| overflow())?;
        }
        self.counts = Vec::new();
        self.sums = Sums::Narrow(Vec::new());
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        let sums = match &self.sums {
            Sums::Narrow(sums) => sums.capacity() * 16,
            Sums::Wide(sums) => sums.capacity() * 32,
        };
        sums + self.counts.capacity() * 8
    }
}

/// Sums of doubles, and of values read as doubles.
#[derive(Debug)]
pub(super) struct DoubleSum {
    sums: Vec<f64>,
    counts: Vec<u64>,
    average: bool,
    /// The digits after the point that results are rounded to.
    digits: Option<u8>,
}

impl DoubleSum {
    pub(super) fn new(average: bool, digits: Option<u8>) -> Self {
        DoubleSum { sums: Vec::new(), counts: Vec::new(), average, digits }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, 0.0);
        self.counts.resize(groups, 0);
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        let mut add = |g: usize, v: f64| {
            sums[g] += v;
            counts[g] += 1;
        };
        if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
            for_each(groups, array, doubles.values(), add);
            return Ok(());
        }
        for row in 0..array.len() {
            if let Some(v) = operand::double(&value_at(array.as_ref(), row, ty), cx)? {
                add(groups.of(row), v);
            }
        }
        Ok(())
    }

    /// Returns the current result of a group.
    pub(super) fn value(&self, group: usize) -> Result<Value, MysqlError> {
        let (sum, count) = (self.sums[group], self.counts[group]);
        if count == 0 {
            return Ok(Value::Null);
        }
        if !sum.is_finite() {
            let what = if self.average { "avg" } else { "sum" };
            return Err(MysqlError::data_out_of_range("DOUBLE", what));
        }
        let result = if self.average { sum / count as f64 } else { sum };
        Ok(Value::Double(match self.digits {
            Some(digits) => double_digits(result, digits.into(), true),
            None => result,
        }))
    }

    /// Subtracts the values of rows from the only group; exact if [`DoubleSum::exact_total`] says so.
    pub(super) fn retract(&mut self, array: &ArrayRef) {
        let Some(doubles) = array.as_primitive_opt::<Float64Type>() else { return };
        for_each(Groups::One, array, doubles.values(), |_, v| {
            self.sums[0] -= v;
            self.counts[0] -= 1;
        });
    }

    /// Returns the new sum of magnitudes if all sums of these values, and of others whose magnitudes add up to
    /// `total`, are exact in any order of addition: then they are whole numbers and not large. Otherwise None.
    pub(super) fn exact_total(array: &ArrayRef, mut total: f64) -> Option<f64> {
        const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
        let doubles = array.as_primitive_opt::<Float64Type>()?;
        let mut whole = true;
        for_each(Groups::One, array, doubles.values(), |_, v| {
            whole &= v.fract() == 0.0;
            total += v.abs();
        });
        (whole && total < EXACT).then_some(total)
    }

    pub(super) fn finish(&mut self, ty: &SqlType) -> Result<ArrayRef, MysqlError> {
        let mut out = ColumnBuilder::with_capacity(ty, self.counts.len());
        for group in 0..self.counts.len() {
            out.push_value(&self.value(group)?)?;
        }
        self.counts = Vec::new();
        self.sums = Vec::new();
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        (self.sums.capacity() + self.counts.capacity()) * 8
    }
}
