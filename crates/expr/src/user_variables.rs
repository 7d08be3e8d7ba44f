//! User variables: `@name`, with the type of the value last assigned, and a limit of their memory.

use std::collections::HashMap;

use leafline_types::collation::Collation;
use leafline_types::convert::to_text;
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

/// The memory of a variable besides its name and the bytes of its value.
const OVERHEAD: usize = 128;

/// The user variables of a session. Names are compared without case. A NULL variable takes no memory.
#[derive(Clone, Debug)]
pub struct UserVariables {
    /// Their values, types, and the collations of those that are text.
    values: HashMap<String, (Value, SqlType, Option<Collation>)>,
    /// The memory that they take.
    bytes: usize,
    /// The limit of `bytes`.
    room: usize,
}

impl Default for UserVariables {
    fn default() -> UserVariables {
        UserVariables { values: HashMap::new(), bytes: 0, room: usize::MAX }
    }
}

impl UserVariables {
    /// Returns the value and type of a variable: NULL if it was never set.
    pub fn get(&self, name: &str) -> (Value, SqlType) {
        let known = self.values.get(&name.to_lowercase());
        known.map_or((Value::Null, SqlType::Null), |(value, ty, _)| (value.clone(), ty.clone()))
    }

    /// Returns the collation of a variable that was assigned text; for a date's text that of the connection.
    pub fn collation(&self, name: &str) -> Option<Collation> {
        self.values.get(&name.to_lowercase())?.2
    }

    /// Returns about how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the limit of their memory in bytes.
    pub fn set_room(&mut self, bytes: usize) {
        self.room = bytes;
    }

    /// Sets a variable. No variable has a temporal type: dates become text.
    ///
    /// # Errors
    /// 1041 if all of them together would exceed the limit; then the variable keeps its value.
    pub fn set(&mut self, name: &str, value: Value, ty: &ExprType) -> Result<(), MysqlError> {
        let collation = Some(ty.collation).filter(|_| ty.sql.is_character());
        let ty = ty.sql.clone();
        let text = if ty.is_temporal() { to_text(&value, &ty) } else { None };
        let assigned = match text {
            Some(text) => {
                let len = text.len() as u32;
                (Value::String(text), SqlType::Varchar { len }, None)
            }
            None => (value, ty, collation),
        };
        let name = name.to_lowercase();
        let held = self.values.get(&name).map_or(0, |(old, ..)| size(&name, old));
        if assigned.0.is_null() {
            self.values.remove(&name);
            self.bytes -= held;
            if self.values.is_empty() {
                self.values.shrink_to_fit();
            }
            return Ok(());
        }
        let needed = size(&name, &assigned.0);
        let bytes = (self.bytes - held).saturating_add(needed);
        if bytes > self.room && needed > held {
            return Err(MysqlError::session_memory("user variables"));
        }
        self.bytes = bytes;
        self.values.insert(name, assigned);
        Ok(())
    }
}

fn size(name: &str, value: &Value) -> usize {
    OVERHEAD
        + name.len()
        + match value {
            Value::String(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Json(json) => json.as_bytes().len(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::value::Coercibility;

    #[test]
    fn bytes_are_those_of_what_is_there_and_no_more_than_allowed() -> Result<(), MysqlError> {
        let text = |len: usize| Value::string("x".repeat(len));
        let text_type = SqlType::Text { max_bytes: u32::MAX };
        let ty = &ExprType::string(text_type, true, Collation::Latin1Bin, Coercibility::Implicit);
        let mut variables = UserVariables::default();
        variables.set_room(10_000);
        variables.set("a", text(5_000), ty)?;
        variables.set("b", text(4_000), ty)?;
        let error = variables.set("C", text(4_000), ty);
        assert_eq!(error.map_err(|error| error.code), Err(1041));
        assert_eq!(variables.get("c").0, Value::Null);
        assert_eq!((variables.collation("A"), variables.collation("c")), (Some(Collation::Latin1Bin), None));
        // A new value releases the memory of the old one, and NULL takes none.
        variables.set("A", text(2_000), ty)?;
        variables.set("B", Value::Null, ty)?;
        variables.set("c", text(4_000), ty)?;
        assert_eq!(variables.bytes(), 2 * (OVERHEAD + 1) + 6_000);
        variables.set("a", Value::Null, &ExprType::NULL)?;
        variables.set("c", Value::Null, &ExprType::NULL)?;
        assert_eq!(variables.bytes(), 0);
        Ok(())
    }
}
