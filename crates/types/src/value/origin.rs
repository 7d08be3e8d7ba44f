//! The origin of a value, for messages and EXPLAIN.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The column, or the aggregate, that the binder took a value from. It travels with a type through all passes that
/// renumber columns, and influences nothing: all origins compare equal.
#[derive(Clone, Default)]
pub struct Origin(Option<Arc<Named>>);

enum Named {
    Column { database: Box<str>, table: Box<str>, column: Box<str> },
    Text { full: Box<str>, short: Box<str> },
}

impl Origin {
    /// An unknown origin.
    pub const UNKNOWN: Origin = Origin(None);

    /// Makes the origin of a column; `database` and `table` may be empty.
    pub fn column(database: &str, table: &str, column: &str) -> Origin {
        Origin(Some(Arc::new(Named::Column {
            database: database.into(),
            table: table.into(),
            column: column.into(),
        })))
    }

    /// Makes the origin of a value without a name, such as an aggregate, with its text for messages (`full`) and for
    /// EXPLAIN (`short`).
    pub fn text(full: &str, short: &str) -> Origin {
        Origin(Some(Arc::new(Named::Text { full: full.into(), short: short.into() })))
    }

    /// Returns the text for messages: all names, in backquotes.
    pub fn full(&self) -> Option<String> {
        self.0.as_deref().map(|named| match named {
            Named::Text { full, .. } => full.to_string(),
            Named::Column { database, table, column } => {
                let names = [database, table, column].into_iter().filter(|name| !name.is_empty());
                let quoted = names.map(|name| format!("`{}`", name.replace('`', "``")));
                quoted.collect::<Vec<_>>().join(".")
            }
        })
    }

    /// Returns the text for EXPLAIN: `table.column`.
    pub fn short(&self) -> Option<String> {
        self.0.as_deref().map(|named| match named {
            Named::Text { short, .. } => short.to_string(),
            Named::Column { table, column, .. } if table.is_empty() => column.to_string(),
            Named::Column { table, column, .. } => format!("{table}.{column}"),
        })
    }
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short().as_deref().unwrap_or("unknown"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_in_messages_and_do_not_tell_types_apart() {
        let origin = Origin::column("d", "t", "a`b");
        assert_eq!(origin.full().as_deref(), Some("`d`.`t`.`a``b`"));
        assert_eq!(origin.short().as_deref(), Some("t.a`b"));
        assert_eq!(Origin::column("", "", "a").full().as_deref(), Some("`a`"));
        let sum = Origin::text("sum(`d`.`t`.`a`)", "sum(t.a)");
        assert_eq!((sum.full().unwrap().len(), sum.short().as_deref()), (16, Some("sum(t.a)")));
        assert_eq!(origin, Origin::UNKNOWN);
    }
}
