//! The types of parameters that a plan is made for.

use leafline_expr::build;
use leafline_types::{Coercibility, Collation, ExprType, SqlType, Value};
use std::borrow::Cow;

/// The types that a plan assumes of its parameters.
pub(crate) struct Parameters {
    pub(crate) types: Vec<ExprType>,
    /// Parameters that are compared with dates or times, and the types of those.
    pub(crate) compared_with_times: Vec<(usize, SqlType)>,
    /// Parameters that are compared with columns of numbers.
    pub(crate) compared_with_numbers: Vec<usize>,
    /// The parameters are variables of a stored program, whose types do not depend on their values.
    pub(crate) are_declared: bool,
}

impl Parameters {
    /// True if the values have the assumed types.
    pub(crate) fn are(&self, values: &[Value], collation: Collation) -> bool {
        let is_of = |value: &Value, ty: &ExprType| parameter_type(value, collation) == *ty;
        values.len() == self.types.len()
            && (self.are_declared || values.iter().zip(&self.types).all(|(value, ty)| is_of(value, ty)))
            && self.compared_with_times.iter().all(|(number, time)| {
                values.get(*number).is_none_or(|value| build::is_comparable(value, time))
            })
    }
}

/// The types of these values.
pub(crate) fn types_of(values: &[Value], collation: Collation) -> Vec<ExprType> {
    values.iter().map(|value| parameter_type(value, collation)).collect()
}

/// The values as a plan sees them: among parameters compared with columns of numbers, a text of digits
/// becomes a number, as a literal would.
pub(crate) fn with_numbers<'v>(values: &'v [Value], compared_with_numbers: &[usize]) -> Cow<'v, [Value]> {
    let mut taken = Cow::Borrowed(values);
    for &at in compared_with_numbers {
        if let Some(number) = values.get(at).and_then(build::number_of_text)
            && let Some(value) = taken.to_mut().get_mut(at)
        {
            *value = number;
        }
    }
    taken
}

/// The assumed type for the value of a parameter or user variable.
pub(crate) fn parameter_type(value: &Value, collation: Collation) -> ExprType {
    match value {
        Value::Null => ExprType::NULL,
        Value::Int(_) => ExprType::numeric(SqlType::BIGINT, false),
        Value::UInt(_) => ExprType::numeric(SqlType::BIGINT_UNSIGNED, false),
        Value::Decimal(decimal) => {
            // Rounded up, as below: decimals are stored in groups of nine digits before the point.
            let whole = decimal.digits().saturating_sub(decimal.scale()).max(1).next_multiple_of(9);
            let precision = whole.saturating_add(decimal.scale()).min(65);
            let ty = SqlType::decimal(precision, decimal.scale());
            ExprType::numeric(ty, false)
        }
        Value::Double(_) => ExprType::numeric(SqlType::Double, false),
        Value::String(text) => {
            // Rounded up, so that the plan fits values of other lengths.
            let characters = if text.len() <= 32 { 32 } else { text.chars().count().max(32) };
            let length = characters.next_power_of_two();
            let ty = SqlType::Varchar { len: u32::try_from(length).unwrap_or(u32::MAX) };
            ExprType::string(ty, false, collation, Coercibility::Coercible)
        }
        Value::Bytes(bytes) => {
            let ty = SqlType::Varbinary { len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) };
            ExprType::string(ty, false, Collation::Binary, Coercibility::Coercible)
        }
        Value::Json(_) => ExprType::json(false),
        Value::Date(_) => ExprType::numeric(SqlType::Date, false),
        Value::DateTime(_) => ExprType::numeric(SqlType::DateTime { fsp: 6 }, false),
        Value::Time(_) => ExprType::numeric(SqlType::Time { fsp: 6 }, false),
    }
}

/// The SQL type of a value from an embedding program.
pub fn type_of(value: &Value) -> SqlType {
    parameter_type(value, Collation::DEFAULT).sql
}
