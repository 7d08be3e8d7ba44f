//! Which values of its parameters a plan is for, and what they are for it.

use super::evaluate;
use leafline_expr::build;
use leafline_types::{Collation, ExprType, SqlType, Value};
use std::borrow::Cow;

/// What a plan takes its parameters to be.
pub(super) struct Parameters {
    /// Their types.
    pub(super) types: Vec<ExprType>,
    /// Those that are compared with dates or times, and the types of these.
    pub(super) beside_times: Vec<(usize, SqlType)>,
    /// Those that are compared with columns of numbers.
    pub(super) beside_numbers: Vec<usize>,
}

impl Parameters {
    /// Whether these values are of the types that they were taken to have.
    pub(super) fn are(&self, values: &[Value], collation: Collation) -> bool {
        let is_of = |value: &Value, ty: &ExprType| evaluate::parameter_type(value, collation) == *ty;
        values.len() == self.types.len()
            && values.iter().zip(&self.types).all(|(value, ty)| is_of(value, ty))
            && self.beside_times.iter().all(|(number, time)| {
                values.get(*number).is_none_or(|value| build::is_comparable(value, time))
            })
    }
}

/// The types that these values have.
pub(super) fn types_of(values: &[Value], collation: Collation) -> Vec<ExprType> {
    values.iter().map(|value| evaluate::parameter_type(value, collation)).collect()
}

/// The values: texts of digits, of parameters with these numbers, are the numbers that they are as literals beside columns of numbers.
pub(super) fn with_numbers<'v>(values: &'v [Value], beside_numbers: &[usize]) -> Cow<'v, [Value]> {
    let mut taken = Cow::Borrowed(values);
    for &at in beside_numbers {
        if let Some(number) = values.get(at).and_then(build::number_of_text)
            && let Some(value) = taken.to_mut().get_mut(at)
        {
            *value = number;
        }
    }
    taken
}
