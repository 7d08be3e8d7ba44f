//! Filters of DataFusion as conditions of Leafline.
//!
//! A condition is *exact* if the rows for which it is true are those for which the filter is; DataFusion does not evaluate the filter then.
//! Any other condition is true for these rows at least, and may be for more. Where that cannot be had there is none, and the filter is
//! DataFusion's alone. What the two take for equal, and in which order, depends on the column ([`Meaning`]):
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
//! Dates that are no days are more than all others that a comparison could be true for: to DataFusion they are NULL, so that whatever
//! Leafline says of them the rows are thrown away afterwards. That is why a condition on dates is never exact, and why none asks for NULL.
//!
//! AND is exact if both sides are, and has what one side gives where the other gives nothing. OR needs both. NOT of anything else has none: what is true for
//! more rows is not when it is negated. Literals have the type of the column, since DataFusion has brought both sides to one type before: a filter that casts
//! the column has no condition. They are sent as parameters, whose values need no quoting.

use crate::column::{Column, Meaning};
use arrow::array::types::{Decimal256Type, DecimalType};
use arrow::datatypes::DataType;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator};
use datafusion::scalar::ScalarValue;
use leafline::{Date, DateTime, Decimal, Time, Value};

/// Values that one filter may have; larger ones are DataFusion's alone.
const MOST_VALUES: usize = 4096;
/// Sides of one OR, or AND.
const MOST_SIDES: usize = 512;
/// ORs within ANDs within ORs.
const MOST_LEVELS: usize = 16;
/// The years that a number stands for itself as.
const YEARS: std::ops::RangeInclusive<u64> = 1901..=2155;

/// A condition in SQL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// Its text, with a `?` for each value.
    pub text: String,
    pub values: Vec<Value>,
    pub exact: bool,
}

impl Condition {
    fn new(text: String, values: Vec<Value>, exact: bool) -> Condition {
        Condition { text, values, exact }
    }
}

/// What a filter is to Leafline, if it is anything.
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

    /// Both sides of AND or OR, and the sides of those that are the same again: what the parser leaves nested deeply is flat.
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

    /// None if there are too many.
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

/// None if there are none.
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

/// Whether a value is a zero that has another one beside it.
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
        // Of two zeros one may be on the other side of the literal.
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

/// LIKE with nothing but a `%` at the end.
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

/// A literal of a column's type as a value of Leafline that means the same; not NULL.
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
                // What is no member may mean something else than its text.
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
