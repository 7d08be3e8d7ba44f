//! User variables: `@name`, with the type of what was last assigned.

use std::collections::HashMap;

use crate::convert::to_text;
use crate::value::{SqlType, Value};

/// The user variables of a session. Names are compared without case.
#[derive(Clone, Debug, Default)]
pub struct UserVariables(HashMap<String, (Value, SqlType)>);

impl UserVariables {
    /// The value and type of a variable: NULL if it was never set.
    pub fn get(&self, name: &str) -> (Value, SqlType) {
        self.0.get(&name.to_lowercase()).cloned().unwrap_or((Value::Null, SqlType::Null))
    }

    /// Sets a variable. There are no variables of temporal types: dates become text.
    pub fn set(&mut self, name: &str, value: Value, ty: SqlType) {
        let text = if ty.is_temporal() { to_text(&value, &ty) } else { None };
        let assigned = match text {
            Some(text) => {
                let len = text.len() as u32;
                (Value::String(text), SqlType::Varchar { len })
            }
            None => (value, ty),
        };
        self.0.insert(name.to_lowercase(), assigned);
    }
}
