//! Values of variables without an effect, and constants.

use leafline_types::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value that is known at compile time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// NULL.
    Null,
    /// ON or OFF.
    Switch(bool),
    /// A number.
    Number(u64),
    /// A number below zero.
    Negative(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// A string.
    Text(&'static str),
}

impl Constant {
    pub(super) const fn is_switch(self) -> bool {
        matches!(self, Constant::Switch(_))
    }

    pub(super) fn value(self) -> Value {
        match self {
            Constant::Null => Value::Null,
            Constant::Switch(on) => super::on_off(on),
            Constant::Number(number) => Value::UInt(number),
            Constant::Negative(number) => Value::Int(number),
            Constant::Fraction(number) => Value::Double(number),
            Constant::Text(text) => super::text(text),
        }
    }
}

/// The values that differ from the defaults. Sessions share them until one of them sets a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptValues(Option<Arc<BTreeMap<&'static str, Value>>>);

impl KeptValues {
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.0.as_ref()?.get(name).cloned()
    }

    pub(super) fn set(&mut self, name: &'static str, value: Value) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(name, value);
    }

    /// Removes the value of a variable that was set back to its default.
    pub(super) fn forget(&mut self, name: &str) {
        let Some(values) = &mut self.0 else { return };
        let values = Arc::make_mut(values);
        values.remove(name);
        if values.is_empty() {
            self.0 = None;
        }
    }
}
