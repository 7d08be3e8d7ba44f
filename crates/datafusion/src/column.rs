//! Columns of a table: the types that DataFusion sees, and how far its comparisons of their values agree with
//! Leafline's.

use crate::arrays;
use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::error::Result;
use leafline::{ColumnFlags, ColumnMeta, SqlType};
use leafline_arrow_array::new_empty_array;
use leafline_types::Collation;
use leafline_types::collation::Charset;
use std::sync::Arc;

/// The time zone of TIMESTAMP columns: Leafline stores them in UTC.
const UTC: &str = "UTC";

/// The extent to which DataFusion compares a column's values as Leafline does.
///
/// | meaning | columns | differences |
/// |---|---|---|
/// | `Same` | integers, DECIMAL, BIT, TIME, binary strings, text of `utf8mb4_0900_bin` | none |
/// | `Year` | YEAR | the number 70, which Leafline takes for 1970 |
/// | `Double` | FLOAT, DOUBLE | zero: to DataFusion -0 is less than 0, by IEEE 754's total order. Leafline has no NaN and no infinity |
/// | `Text` | text of other collations, ENUM, SET | which strings are equal (case, accents, trailing spaces, members as sets), and their order; but a string equals itself |
/// | `Date` | DATE, DATETIME | dates that do not exist (`0000-00-00`, `2024-02-30`): values to Leafline, NULL in Arrow |
/// | `Moment` | TIMESTAMP | `0000-00-00 00:00:00`: a value to Leafline, NULL in Arrow |
/// | `Opaque` | JSON, and all others | everything but NULL |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Same,
    Year,
    Double,
    Text {
        /// Whether the character set may lack characters: a string that is not ASCII may then be an error there.
        ascii: bool,
    },
    Date,
    Moment,
    Opaque,
}

impl Meaning {
    fn of(column: &ColumnMeta) -> Meaning {
        match &column.ty {
            ty if ty.is_integer() && *ty != SqlType::Year => Meaning::Same,
            SqlType::Year => Meaning::Year,
            SqlType::Decimal { .. } | SqlType::Bit { .. } | SqlType::Time { .. } => Meaning::Same,
            SqlType::Binary { .. } | SqlType::Varbinary { .. } | SqlType::Blob { .. } => Meaning::Same,
            SqlType::Double | SqlType::Real { .. } => Meaning::Double,
            SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. } => match column.collation {
                Collation::Utf8mb4_0900Bin => Meaning::Same,
                other => Meaning::text(other),
            },
            SqlType::Enum(members) | SqlType::Set(members) => Meaning::text(members.collation()),
            SqlType::Date | SqlType::DateTime { .. } => Meaning::Date,
            SqlType::Timestamp { .. } => Meaning::Moment,
            _ => Meaning::Opaque,
        }
    }

    fn text(collation: Collation) -> Meaning {
        Meaning::Text { ascii: collation.charset() != Charset::Utf8mb4 }
    }

    /// Whether the order of an index is that of Arrow's values. For dates it is not: one that does not exist lies
    /// between others, but is NULL. The only TIMESTAMP of this kind comes first, as NULL does.
    pub fn keeps_order(self) -> bool {
        matches!(self, Meaning::Same | Meaning::Year | Meaning::Moment)
    }

    /// Whether a value may be NULL in Arrow only.
    pub fn loses_values(self) -> bool {
        matches!(self, Meaning::Date | Meaning::Moment)
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The name for statements, in backticks.
    pub quoted: String,
    /// The field that DataFusion sees.
    pub field: Arc<Field>,
    pub meaning: Meaning,
    /// Whether it is a part of the primary key.
    pub is_key: bool,
}

impl Column {
    pub fn new(column: &ColumnMeta) -> Result<Column> {
        let layout = leafline::ArrowLayout::new(std::slice::from_ref(column)).schema();
        let given = layout.field(0);
        let data_type = match arrays::data_type(&new_empty_array(given.data_type()))? {
            DataType::Timestamp(TimeUnit::Microsecond, None) if Meaning::of(column) == Meaning::Moment => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
            }
            other => other,
        };
        Ok(Column {
            quoted: quoted(&column.name),
            field: Arc::new(Field::new(&column.name, data_type, given.is_nullable())),
            meaning: Meaning::of(column),
            is_key: column.flags.has(ColumnFlags::PRIMARY_KEY),
        })
    }
}

/// Returns a name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
