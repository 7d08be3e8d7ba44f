//! MIN and MAX. Of strings that are equal under their collation, the first is kept.

use leafline_invariant::invariant;
use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;

use super::{Groups, for_each};
use crate::{CompareDomain, EvalContext, eval_operand as operand};
use leafline_types::collation::Collation;
use leafline_types::column::{ColumnBuilder, value_at};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{Date, DateTime};
use leafline_types::value::{ExprType, SqlType, Value};

/// The smallest or largest values of groups.
#[derive(Debug)]
pub(super) struct Extreme {
    best: Vec<Value>,
    /// The total length of the strings in `best`.
    string_bytes: usize,
    greatest: bool,
    domain: CompareDomain,
}

impl Extreme {
    pub(super) fn new(arg: &ExprType, greatest: bool) -> Self {
        let domain = match &arg.sql {
            SqlType::Decimal { .. } => CompareDomain::Decimal,
            ty if ty.is_real() => CompareDomain::Double,
            SqlType::Date => CompareDomain::Date,
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => CompareDomain::DateTime,
            SqlType::Time { .. } => CompareDomain::Time,
            SqlType::Json => CompareDomain::Json,
            ty if ty.is_character() => CompareDomain::String(arg.collation),
            ty if ty.is_string() => CompareDomain::String(Collation::Binary),
            _ => CompareDomain::Integer,
        };
        Extreme { best: Vec::new(), string_bytes: 0, greatest, domain }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.best.resize(groups, Value::Null);
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        match array.data_type() {
            DataType::Null => {}
            DataType::Int64 => self.fold::<Int64Type>(groups, array, Value::Int),
            DataType::UInt64 => self.fold::<UInt64Type>(groups, array, Value::UInt),
            DataType::Float64 => self.fold::<Float64Type>(groups, array, Value::Double),
            DataType::Decimal128(_, scale) => {
                let scale = *scale as u8;
                self.fold::<Decimal128Type>(groups, array, |v| Value::Decimal(Decimal::from_i128(v, scale)));
            }
            DataType::Date32 => self.fold::<Date32Type>(groups, array, |v| {
                Date::from_ordinal(v).map_or(Value::Null, Value::Date)
            }),
            DataType::Timestamp(..) => self.fold::<TimestampMicrosecondType>(groups, array, |v| {
                DateTime::from_ordinal(v).map_or(Value::Null, Value::DateTime)
            }),
            DataType::Utf8 => {
                let strings = array.as_string::<i32>();
                self.strings(
                    groups,
                    array,
                    |row| strings.value(row).as_bytes(),
                    |row| Value::from(strings.value(row)),
                );
            }
            DataType::Binary if self.domain != CompareDomain::Json => {
                let strings = array.as_binary::<i32>();
                self.strings(groups, array, |row| strings.value(row), |row| Value::bytes(strings.value(row)));
            }
            _ => {
                for row in 0..array.len() {
                    let v = value_at(array.as_ref(), row, ty);
                    if !v.is_null() {
                        self.offer(groups.of(row), v, ty, cx)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn wants(&self, order: Ordering) -> bool {
        if self.greatest { order.is_gt() } else { order.is_lt() }
    }

    /// Folds a column of native values. For a single group, first finds the best value of the batch.
    fn fold<P: ArrowPrimitiveType>(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        make: impl Fn(P::Native) -> Value,
    ) where
        P::Native: PartialOrd,
    {
        let lane = array.as_primitive::<P>().values();
        let greatest = self.greatest;
        let mut offer = |group: usize, v: P::Native| {
            let v = make(v);
            let best: &mut Value = &mut self.best[group];
            let better = match native_order(&v, best) {
                None => true,
                Some(order) if greatest => order.is_gt(),
                Some(order) => order.is_lt(),
            };
            if better {
                *best = v;
            }
        };
        if matches!(groups, Groups::Ids(_)) {
            return for_each(groups, array, lane, offer);
        }
        let mut local: Option<P::Native> = None;
        for_each(groups, array, lane, |_, v| {
            if local.is_none_or(|best| if greatest { v > best } else { v < best }) {
                local = Some(v);
            }
        });
        if let Some(v) = local {
            offer(0, v);
        }
    }

    fn strings<'a>(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        bytes: impl Fn(usize) -> &'a [u8],
        make: impl Fn(usize) -> Value,
    ) {
        let CompareDomain::String(collation) = self.domain else { return };
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            let group = groups.of(row);
            let better = match self.best[group].as_bytes() {
                None => true,
                Some(best) => self.wants(collation.compare(bytes(row), best)),
            };
            if better {
                self.string_bytes -= self.best[group].as_bytes().map_or(0, <[u8]>::len);
                self.string_bytes += bytes(row).len();
                self.best[group] = make(row);
            }
        }
    }

    fn offer(
        &mut self,
        group: usize,
        v: Value,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let order = operand::compare(self.domain, (&v, ty), (&self.best[group], ty), cx)?;
        if order.is_none_or(|order| self.wants(order)) {
            self.best[group] = v;
        }
        Ok(())
    }

    /// Returns the current result of a group.
    pub(super) fn value(&self, group: usize) -> Value {
        self.best[group].clone()
    }

    /// Returns the result of a group and drops its value.
    pub(super) fn take(&mut self, group: usize) -> Value {
        let value = self.best.get_mut(group).map_or(Value::Null, |best| std::mem::replace(best, Value::Null));
        let bytes = value.as_bytes().map_or(0, <[u8]>::len);
        invariant!(bytes <= self.string_bytes, "{bytes} bytes leave, {} were counted", self.string_bytes);
        self.string_bytes -= bytes;
        value
    }

    pub(super) fn finish(&mut self, ty: &SqlType) -> Result<ArrayRef, MysqlError> {
        let best = std::mem::take(&mut self.best);
        self.string_bytes = 0;
        let mut out = ColumnBuilder::with_capacity(ty, best.len());
        best.iter().try_for_each(|v| out.push_value(v))?;
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        self.best.capacity() * size_of::<Value>() + self.string_bytes
    }
}

/// Compares two values of one kind; None if the second is NULL.
fn native_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::DateTime(a), Value::DateTime(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
