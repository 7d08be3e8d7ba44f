//! Variances and standard deviations by Welford's recurrence, as MySQL computes them: one pass, and no difference of
//! large sums.

use arrow_array::{Array, ArrayRef, Float64Array};

use super::Groups;
use crate::{EvalContext, eval_operand as operand};
use leafline_types::column::value_at;
use leafline_types::error::MysqlError;
use leafline_types::value::SqlType;

/// Counts, means, and sums of squared distances from the means.
#[derive(Debug)]
pub(super) struct Moments {
    groups: Vec<Moment>,
    /// Whether the divisor is the count less one.
    sample: bool,
    /// Whether the result is the square root of the variance.
    root: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn new(sample: bool, root: bool) -> Self {
        Moments { groups: Vec::new(), sample, root }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, Moment::default());
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            let Some(v) = operand::double(&value_at(array, row, ty), cx)? else { continue };
            let moment = &mut self.groups[groups.of(row)];
            moment.count += 1;
            if moment.count == 1 {
                moment.mean = v;
                continue;
            }
            let before = moment.mean;
            moment.mean = before + (v - before) / moment.count as f64;
            moment.squares += (v - before) * (v - moment.mean);
            if !(moment.mean.is_finite() && moment.squares.is_finite()) {
                return Err(MysqlError::data_out_of_range("DOUBLE", self.name()));
            }
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match (self.root, self.sample) {
            (true, true) => "stddev_samp",
            (true, false) => "std",
            (false, true) => "var_samp",
            (false, false) => "variance",
        }
    }

    /// Returns the current result of a group.
    pub(super) fn value(&self, group: usize) -> Option<f64> {
        let m = &self.groups[group];
        let divisor = m.count.checked_sub(u64::from(self.sample)).filter(|d| *d > 0)?;
        let variance = m.squares / divisor as f64;
        Some(if self.root { variance.sqrt() } else { variance })
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        let results: Float64Array = (0..self.groups.len()).map(|group| self.value(group)).collect();
        self.groups = Vec::new();
        std::sync::Arc::new(results)
    }

    pub(super) fn memory(&self) -> usize {
        self.groups.capacity() * size_of::<Moment>()
    }
}
