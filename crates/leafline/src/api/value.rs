//! Conversion between Rust's types and SQL's: parameters in, columns out.
//!
//! | Rust | as a parameter | from a column |
//! |---|---|---|
//! | `i8` .. `i64`, `u8` .. `u64` | BIGINT, signed or unsigned | any whole number that fits |
//! | `bool` | 0 or 1 | a whole number, true unless 0 |
//! | `f64`, `f32` | DOUBLE | any number, rounded |
//! | `&str`, `String` | string | a string; `String` takes the text of every other value too |
//! | `&[u8]`, `Vec<u8>` | binary string | a string's or binary string's bytes |
//! | [`Decimal`], [`Date`], [`DateTime`], [`Time`] | the same | the same; a whole number is a `Decimal`, a DATE is a `DateTime` |
//! | `Option<T>` | NULL for `None` | `None` for NULL, which is an error for all others |
//! | [`Value`] | itself | any |

use super::error::{Error, Result};
use leafline_types::{Date, DateTime, Decimal, MysqlError, SqlType, Time, Value, ValueRef, convert};

/// A type whose values can be parameters.
pub trait ToValue {
    /// Returns the SQL value.
    fn to_value(&self) -> Value;

    /// Returns the SQL value; a string is borrowed.
    fn to_parameter(&self) -> Parameter<'_> {
        Parameter::Value(self.to_value())
    }
}

/// A parameter, which may borrow the caller's string.
#[derive(Debug)]
pub enum Parameter<'p> {
    /// A string.
    Text(&'p str),
    /// A binary string.
    Bytes(&'p [u8]),
    /// Any value.
    Value(Value),
}

impl Parameter<'_> {
    /// Returns an owned SQL value.
    pub fn into_value(self) -> Value {
        match self {
            Parameter::Text(text) => Value::string(text),
            Parameter::Bytes(bytes) => Value::bytes(bytes),
            Parameter::Value(value) => value,
        }
    }
}

/// A type to which column values convert.
pub trait FromValue: Sized {
    /// The type's name in messages.
    const WANTED: &'static str;

    /// Converts a value of SQL type `ty`; `None` if it does not fit.
    fn from_value(value: ValueRef<'_>, ty: &SqlType) -> Option<Self>;
}

macro_rules! integers {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl ToValue for $signed {
            fn to_value(&self) -> Value {
                Value::Int((*self).into())
            }
        }

        impl ToValue for $unsigned {
            fn to_value(&self) -> Value {
                Value::UInt((*self).into())
            }
        }

        impl FromValue for $signed {
            const WANTED: &'static str = stringify!($signed);

            fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<$signed> {
                match value {
                    ValueRef::Int(number) => number.try_into().ok(),
                    ValueRef::UInt(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        }

        impl FromValue for $unsigned {
            const WANTED: &'static str = stringify!($unsigned);

            fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<$unsigned> {
                match value {
                    ValueRef::Int(number) => number.try_into().ok(),
                    ValueRef::UInt(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers! { i8, u8; i16, u16; i32, u32; i64, u64; }

impl ToValue for bool {
    fn to_value(&self) -> Value {
        Value::Int((*self).into())
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value {
        Value::Double(*self)
    }
}

impl ToValue for f32 {
    fn to_value(&self) -> Value {
        Value::Double((*self).into())
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value {
        self.to_parameter().into_value()
    }

    fn to_parameter(&self) -> Parameter<'_> {
        Parameter::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value {
        self.to_parameter().into_value()
    }

    fn to_parameter(&self) -> Parameter<'_> {
        Parameter::Text(self)
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value {
        self.to_parameter().into_value()
    }

    fn to_parameter(&self) -> Parameter<'_> {
        Parameter::Bytes(self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value {
        self.to_parameter().into_value()
    }

    fn to_parameter(&self) -> Parameter<'_> {
        Parameter::Bytes(self)
    }
}

impl ToValue for Decimal {
    fn to_value(&self) -> Value {
        Value::Decimal(self.clone())
    }
}

impl ToValue for Date {
    fn to_value(&self) -> Value {
        Value::Date(*self)
    }
}

impl ToValue for DateTime {
    fn to_value(&self) -> Value {
        Value::DateTime(*self)
    }
}

impl ToValue for Time {
    fn to_value(&self) -> Value {
        Value::Time(*self)
    }
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.to_parameter().into_value()
    }

    fn to_parameter(&self) -> Parameter<'_> {
        self.as_ref().map_or(Parameter::Value(Value::Null), T::to_parameter)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        T::to_value(self)
    }

    fn to_parameter(&self) -> Parameter<'_> {
        T::to_parameter(self)
    }
}

impl FromValue for bool {
    const WANTED: &'static str = "bool";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<bool> {
        match value {
            ValueRef::Int(number) => Some(number != 0),
            ValueRef::UInt(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl FromValue for f64 {
    const WANTED: &'static str = "f64";

    fn from_value(value: ValueRef<'_>, ty: &SqlType) -> Option<f64> {
        match value {
            ValueRef::Int(number) => Some(number as f64),
            ValueRef::UInt(number) => Some(number as f64),
            ValueRef::Double(number) => Some(number),
            ValueRef::Decimal(_) => convert::to_text(&value.to_value(), ty)?.parse().ok(),
            _ => None,
        }
    }
}

impl FromValue for f32 {
    const WANTED: &'static str = "f32";

    fn from_value(value: ValueRef<'_>, ty: &SqlType) -> Option<f32> {
        f64::from_value(value, ty).map(|number| number as f32)
    }
}

impl FromValue for String {
    const WANTED: &'static str = "String";

    fn from_value(value: ValueRef<'_>, ty: &SqlType) -> Option<String> {
        match value {
            ValueRef::String(text) => Some(text.to_owned()),
            ValueRef::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok(),
            other => convert::to_text(&other.to_value(), ty).map(|text| text.as_ref().to_owned()),
        }
    }
}

impl FromValue for Vec<u8> {
    const WANTED: &'static str = "Vec<u8>";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<Vec<u8>> {
        match value {
            ValueRef::Bytes(bytes) => Some(bytes.to_vec()),
            ValueRef::String(text) => Some(text.as_bytes().to_vec()),
            _ => None,
        }
    }
}

impl FromValue for Decimal {
    const WANTED: &'static str = "Decimal";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<Decimal> {
        match value {
            ValueRef::Decimal(decimal) => Some(decimal.clone()),
            ValueRef::Int(number) => Some(Decimal::from_i128(number.into(), 0)),
            ValueRef::UInt(number) => Some(Decimal::from_i128(number.into(), 0)),
            _ => None,
        }
    }
}

impl FromValue for Date {
    const WANTED: &'static str = "Date";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<Date> {
        match value {
            ValueRef::Date(date) => Some(date),
            _ => None,
        }
    }
}

impl FromValue for DateTime {
    const WANTED: &'static str = "DateTime";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<DateTime> {
        match value {
            ValueRef::DateTime(time) => Some(time),
            ValueRef::Date(date) => Some(date.to_datetime()),
            _ => None,
        }
    }
}

impl FromValue for Time {
    const WANTED: &'static str = "Time";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<Time> {
        match value {
            ValueRef::Time(time) => Some(time),
            _ => None,
        }
    }
}

impl FromValue for Value {
    const WANTED: &'static str = "Value";

    fn from_value(value: ValueRef<'_>, _: &SqlType) -> Option<Value> {
        Some(value.to_value())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn from_value(value: ValueRef<'_>, ty: &SqlType) -> Option<Option<T>> {
        if value.is_null() { Some(None) } else { T::from_value(value, ty).map(Some) }
    }
}

/// The parameters of a statement, for its `?`s in order: `()` for none, a tuple, an array, a slice or a vector.
pub trait Params {
    /// Calls `f` with each parameter in order, until it fails.
    ///
    /// # Errors
    /// The error of `f`.
    fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()>;
}

impl Params for () {
    fn each(&self, _: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

impl<T: ToValue> Params for [T] {
    fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|one| f(one.to_parameter()))
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
        self.as_slice().each(f)
    }
}

impl<T: ToValue> Params for Vec<T> {
    fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
        self.as_slice().each(f)
    }
}

impl<P: Params + ?Sized> Params for &P {
    fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
        P::each(self, f)
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: ToValue),*> Params for ($($name,)*) {
            #[expect(non_snake_case, reason = "values are named as their types")]
            fn each(&self, f: &mut dyn FnMut(Parameter<'_>) -> Result<()>) -> Result<()> {
                let ($($name,)*) = self;
                $(f($name.to_parameter())?;)*
                Ok(())
            }
        }
    };
}

tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J K }
tuples! { A B C D E F G H I J K L }

/// Returns the values of `params`. SQL has neither infinities nor NaN, so these are errors.
pub(crate) fn parameters(params: impl Params) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    put_parameters(params, &mut values)?;
    Ok(values)
}

/// Appends the values of `params` to `values`.
pub(crate) fn put_parameters(params: impl Params, values: &mut Vec<Value>) -> Result<()> {
    params.each(&mut |parameter| {
        values.push(finite(parameter.into_value())?);
        Ok(())
    })
}

/// Returns the value, or an error if SQL has no such number.
pub(crate) fn finite(value: Value) -> Result<Value> {
    match value {
        Value::Double(number) if !number.is_finite() => {
            Err(Error::Sql(MysqlError::illegal_value_for_type("double", number)))
        }
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIGINT: SqlType = SqlType::BigInt { unsigned: false };

    #[test]
    fn numbers_fit_or_are_refused() {
        assert_eq!(u8::from_value(Value::Int(255).borrowed(), &BIGINT), Some(255));
        assert_eq!(u8::from_value(Value::Int(256).borrowed(), &BIGINT), None);
        assert_eq!(u64::from_value(Value::Int(-1).borrowed(), &BIGINT), None);
        assert_eq!(i64::from_value(Value::UInt(u64::MAX).borrowed(), &BIGINT), None);
        assert_eq!(i64::from_value(ValueRef::Null, &BIGINT), None);
        assert_eq!(Option::<i64>::from_value(ValueRef::Null, &BIGINT), Some(None));
        assert_eq!(Option::<i8>::from_value(Value::Int(300).borrowed(), &BIGINT), None);
        let decimal = Value::Decimal(Decimal::from_i128(-125, 2));
        assert_eq!(f64::from_value(decimal.borrowed(), &SqlType::decimal(5, 2)), Some(-1.25));
    }

    #[test]
    fn parameters_keep_their_order_and_types() {
        let values = parameters((1, "a", None::<i64>, 2.5, u64::MAX, b"x".as_slice())).unwrap();
        let expected = [
            Value::Int(1),
            Value::string("a"),
            Value::Null,
            Value::Double(2.5),
            Value::UInt(u64::MAX),
            Value::bytes(*b"x"),
        ];
        assert_eq!(values, expected);
        let mixed: [&dyn ToValue; 2] = [&1, &"x"];
        assert_eq!(parameters(mixed).unwrap(), [Value::Int(1), Value::string("x")]);
        assert_eq!(parameters([f64::NAN]).unwrap_err().code(), 1367);
    }
}
