//! Translates filters of DataFusion to conditions of Leafline.
//!
//! A condition is *exact* if it is true for the same rows as the filter; DataFusion does not evaluate the filter
//! then. Any other condition is true for these rows and perhaps for more. If there is no such condition, DataFusion
//! alone evaluates the filter. Which values compare as equal, and in which order, depends on the column
//! ([`Meaning`]):
//!
//! | filter | `Same` | `Year` | `Double` | `Text` | `Date`, `Moment` | `Opaque` |
//! |---|---|---|---|---|---|---|
//! | `=`, IN | exact | exact, 1901 to 2155 | exact; with a zero both zeros | more | more | |
//! | `<`, `<=`, `>`, `>=`, BETWEEN | exact | exact, 1901 to 2155 | exact; with a zero both zeros | | more | |
//! | `<>`, NOT IN, NOT BETWEEN | exact | exact, 1901 to 2155 | exact; with a zero none | | more | |
//! | LIKE 'abc%' | exact, of text | | | more | | |
//! | NOT LIKE 'abc%' | exact, of text | | | | | |
//! | IS NULL | exact | exact | exact | exact | | exact |
//! | IS NOT NULL | exact | exact | exact | exact | more | exact |
//!
//! For dates that do not exist a condition may be true in addition: to DataFusion they are NULL, so it drops their
//! rows afterwards, whatever Leafline's comparison returned. That is why a condition on dates is never exact, and why
//! none tests for NULL.
//!
//! AND is exact if both sides are; if one side has no condition, AND has that of the other. OR needs both. NOT of
//! anything else has no condition: the negation of a condition that is true for more rows would be true for fewer.
//! Literals have the type of the column, because DataFusion has coerced both sides to one type before; a filter that
//! casts the column has no condition. Literals are sent as parameters, which need no quoting.

use crate::column::{Column, Meaning};
use arrow::array::types::{Decimal256Type, DecimalType};
use arrow::datatypes::DataType;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator};
use datafusion::scalar::ScalarValue;
use leafline::{Date, DateTime, Decimal, Time, Value};

/// The most values of one filter; DataFusion alone evaluates larger filters.
const MOST_VALUES: usize = 4096;
/// The most sides of one OR or AND.
const MOST_SIDES: usize = 512;
/// The deepest nesting of ORs within ANDs within ORs.
const MOST_LEVELS: usize = 16;
/// The years that a number stands for unchanged.
const YEARS: std::ops::RangeInclusive<u64> = 1901..=2155;

/// A condition in SQL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// The text, with a `?` for each value.
    pub text: String,
    pub values: Vec<Value>,
    pub exact: bool,
}

impl Condition {
    fn new(text: String, values: Vec<Value>, exact: bool) -> Condition {
        Condition { text, values, exact }
    }
}

/// Returns the condition for a filter, if there is one.
pub(crate) fn condition(filter: &Expr, columns: &[Column]) -> Option<Condition> {
    Reader { columns, levels: 0 }.read(filter).filter(|condition| condition.values.len() <= MOST_VALUES)
}

struct Reader<'c> {
    columns: &'c [Column],
    levels: usize,
}

impl Reader<'_> {
    fn read(&mut self, filter: &Expr) -> Option<Condition> {
        match filter {
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
                self.sides(filter, *op)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                if let Some(column) = self.column(left) {
                    compared(column, *op, literal(column, right)?)
                } else {
                    let column = self.column(right)?;
                    compared(column, op.swap()?, literal(column, left)?)
                }
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let column = self.column(expr)?;
                let (low, high) = (literal(column, low)?, literal(column, high)?);
                if *negated {
                    any([compared(column, Operator::Lt, low)?, compared(column, Operator::Gt, high)?])
                } else {
                    all([compared(column, Operator::GtEq, low)?, compared(column, Operator::LtEq, high)?])
                }
            }
            Expr::InList(InList { expr, list, negated }) => {
                if list.is_empty() || list.len() > MOST_VALUES {
                    return None;
                }
                let column = self.column(expr)?;
                let values: Vec<Value> =
                    list.iter().map(|item| literal(column, item)).collect::<Option<_>>()?;
                in_list(column, values, *negated)
            }
            Expr::IsNull(inner) => {
                let column = self.column(inner)?;
                let text = format!("{} IS NULL", column.quoted);
                (!column.meaning.loses_values()).then(|| Condition::new(text, Vec::new(), true))
            }
            Expr::IsNotNull(inner) => {
                let column = self.column(inner)?;
                let text = format!("{} IS NOT NULL", column.quoted);
                Some(Condition::new(text, Vec::new(), !column.meaning.loses_values()))
            }
            Expr::Like(like) => like_prefix(self.column(&like.expr)?, like),
            _ => None,
        }
    }

    fn column(&self, expr: &Expr) -> Option<&Column> {
        let Expr::Column(named) = expr else { return None };
        self.columns.iter().find(|column| *column.field.name() == named.name)
    }

    /// Combines both sides of AND or OR. Flattens sides with the same operator, which the parser may nest deeply.
    fn sides(&mut self, filter: &Expr, of: Operator) -> Option<Condition> {
        if self.levels == MOST_LEVELS {
            return None;
        }
        self.levels += 1;
        let found = self.each_side(filter, of);
        self.levels -= 1;
        let found = found?;
        if of == Operator::Or {
            return any(found.into_iter().collect::<Option<Vec<_>>>()?);
        }
        let is_whole = found.iter().all(Option::is_some);
        all(found.into_iter().flatten()).map(|both| Condition { exact: both.exact && is_whole, ..both })
    }

    /// Returns the conditions of all sides; None if there are too many sides.
    fn each_side(&mut self, filter: &Expr, of: Operator) -> Option<Vec<Option<Condition>>> {
        let (mut waiting, mut found) = (vec![filter], Vec::new());
        while let Some(side) = waiting.pop() {
            if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = side
                && *op == of
            {
                waiting.extend([&**right, &**left]);
                continue;
            }
            found.push(self.read(side));
            if found.len() > MOST_SIDES {
                return None;
            }
        }
        Some(found)
    }
}

fn all(conditions: impl IntoIterator<Item = Condition>) -> Option<Condition> {
    joined(conditions, " AND ")
}

fn any(conditions: impl IntoIterator<Item = Condition>) -> Option<Condition> {
    joined(conditions, " OR ")
}

/// Joins conditions; None if there are none.
fn joined(conditions: impl IntoIterator<Item = Condition>, by: &str) -> Option<Condition> {
    let mut joined: Option<Condition> = None;
    let mut several = false;
    for one in conditions {
        joined = Some(match joined {
            None => one,
            Some(before) => {
                several = true;
                let values = before.values.into_iter().chain(one.values).collect();
                Condition::new(before.text + by + &one.text, values, before.exact && one.exact)
            }
        });
    }
    let text = |text: String| if several { format!("({text})") } else { text };
    joined.map(|joined| Condition { text: text(joined.text), ..joined })
}

/// Whether a value is a zero, of which there are two.
fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Double(number) if *number == 0.0)
}

fn compared(column: &Column, op: Operator, value: Value) -> Option<Condition> {
    let zero = is_zero(&value);
    let (sign, exact) = match (op, column.meaning) {
        (_, Meaning::Opaque) => return None,
        (Operator::Eq, Meaning::Text { .. }) => ("=", false),
        (_, Meaning::Text { .. }) => return None,
        (Operator::Eq, _) => ("=", !zero),
        (Operator::NotEq, _) if zero => return None,
        (Operator::NotEq, _) => ("<>", true),
        // One of the two zeros may be on the other side of the literal.
        (Operator::Lt | Operator::LtEq, _) if zero => ("<=", false),
        (Operator::Gt | Operator::GtEq, _) if zero => (">=", false),
        (Operator::Lt, _) => ("<", true),
        (Operator::LtEq, _) => ("<=", true),
        (Operator::Gt, _) => (">", true),
        (Operator::GtEq, _) => (">=", true),
        _ => return None,
    };
    let text = format!("{} {sign} ?", column.quoted);
    Some(Condition::new(text, vec![value], exact && !column.meaning.loses_values()))
}

fn in_list(column: &Column, values: Vec<Value>, negated: bool) -> Option<Condition> {
    let zero = values.iter().any(is_zero);
    let exact = match column.meaning {
        Meaning::Opaque => return None,
        Meaning::Text { .. } if negated => return None,
        Meaning::Double if negated && zero => return None,
        Meaning::Text { .. } | Meaning::Date | Meaning::Moment => false,
        Meaning::Same | Meaning::Year | Meaning::Double => !zero,
    };
    let not = if negated { "NOT " } else { "" };
    let places = vec!["?"; values.len()].join(", ");
    Some(Condition::new(format!("{} {not}IN ({places})", column.quoted), values, exact))
}

/// Handles LIKE with no wildcard but a `%` at the end.
fn like_prefix(column: &Column, like: &Like) -> Option<Condition> {
    let exact = match column.meaning {
        Meaning::Same if *column.field.data_type() == DataType::Utf8 => true,
        Meaning::Text { .. } if !like.negated => false,
        _ => return None,
    };
    if like.case_insensitive {
        return None;
    }
    let pattern = literal(column, &like.pattern)?;
    let prefix = pattern.as_str()?.strip_suffix('%')?;
    if prefix.is_empty()
        || prefix.contains(['%', '_', '\\'])
        || like.escape_char.is_some_and(|c| prefix.contains(c))
    {
        return None;
    }
    let not = if like.negated { "NOT " } else { "" };
    Some(Condition::new(format!("{} {not}LIKE ?", column.quoted), vec![pattern], exact))
}

/// Converts a literal of a column's type to a Leafline value with the same meaning; None for NULL.
fn literal(column: &Column, expr: &Expr) -> Option<Value> {
    let Expr::Literal(scalar, _) = expr else { return None };
    let is_text = *column.field.data_type() == DataType::Utf8;
    let is_bytes = *column.field.data_type() == DataType::Binary;
    match scalar {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
            if is_text =>
        {
            let known = match column.meaning {
                // A text that is not a member may have another meaning than its text.
                Meaning::Text { ascii } => !text.is_empty() && (!ascii || text.is_ascii()),
                _ => true,
            };
            known.then(|| Value::String(text.as_str().into()))
        }
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
            if is_bytes =>
        {
            Some(Value::Bytes(bytes.as_slice().into()))
        }
        other if other.data_type() != *column.field.data_type() => None,
        ScalarValue::Int64(Some(number)) => Some(Value::Int(*number)),
        ScalarValue::UInt64(Some(number)) => {
            (column.meaning != Meaning::Year || YEARS.contains(number)).then_some(Value::UInt(*number))
        }
        ScalarValue::Float64(Some(number)) => number.is_finite().then_some(Value::Double(*number)),
        ScalarValue::Decimal128(Some(number), _, scale) => {
            Some(Value::Decimal(Decimal::from_i128(*number, u8::try_from(*scale).ok()?)))
        }
        ScalarValue::Decimal256(Some(number), precision, scale) => {
            let text = Decimal256Type::format_decimal(*number, *precision, *scale);
            Decimal::parse(&text).map(Value::Decimal)
        }
        ScalarValue::Date32(Some(days)) => Date::from_epoch_days(*days).map(Value::Date),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => {
            DateTime::from_epoch_micros(*micros).map(Value::DateTime)
        }
        ScalarValue::DurationMicrosecond(Some(micros)) => Time::from_micros(*micros).map(Value::Time),
        _ => None,
    }
}
