//! The columns that CREATE TABLE .. SELECT makes of the columns of a query (manual: "CREATE TABLE ... SELECT Statement").

use leafline_expr::{ArithmeticOp, Expr, ExprKind};
use leafline_table::{ColumnDef, DefaultValue};
use leafline_types::{Collation, MysqlError, SqlType, Value};

use crate::bound::{BoundOutput, BoundSelect, ColumnOrigin, RelationSource};
use leafline_table::implicit_default;

/// Maximum number of characters of a VARCHAR; longer text becomes TEXT.
pub(super) const LONGEST_VARCHAR: u32 = 512;
/// Maximum number of characters, the sign included, of an integer that becomes an INT: for results of functions, and for literals
/// and other expressions.
const LONGEST_INT: u32 = 11;
const LONGEST_LITERAL_INT: u32 = 9;
/// Number of characters of a BIGINT.
const BIGINT_LENGTH: u32 = 20;

/// Makes the columns of a table with the rows of `select`. A column of a table keeps its definition without keys and numbering;
/// an expression becomes a column of its type.
///
/// # Errors
/// The errors of a type without a default of its own.
pub fn selected_columns(select: &BoundSelect) -> Result<Vec<ColumnDef>, MysqlError> {
    select.output.iter().map(|output| column_of(select, output)).collect()
}

fn column_of(select: &BoundSelect, output: &BoundOutput) -> Result<ColumnDef, MysqlError> {
    let ty = &output.expr.ty;
    let name = output.meta.name.clone();
    match origin(select, &output.expr) {
        Some(Origin::Stored(stored)) => {
            let default = match &stored.default {
                _ if stored.auto_increment => Some(DefaultValue::Constant(implicit_default(stored)?)),
                // The default may read columns that the new table lacks.
                Some(DefaultValue::Expression(_) | DefaultValue::Dropped) => None,
                // An outer join made the column nullable.
                _ if ty.nullable && !stored.nullable => None,
                default => default.clone(),
            };
            Ok(ColumnDef {
                name,
                nullable: ty.nullable,
                default,
                auto_increment: false,
                generated: None,
                invisible: false,
                ..stored.clone()
            })
        }
        Some(Origin::Derived(inner, output)) => {
            let column = column_of(inner, output)?;
            let default = if ty.nullable { None } else { own_default(&column)? };
            Ok(ColumnDef { name, nullable: ty.nullable, default, on_update_now: false, ..column })
        }
        None => computed(name, &output.expr),
    }
}

/// Makes the column of a computed expression.
fn computed(name: String, expr: &Expr) -> Result<ColumnDef, MysqlError> {
    let ty = &expr.ty;
    let of_function = matches!(
        expr.kind,
        ExprKind::Call { .. }
            | ExprKind::Arithmetic { .. }
            | ExprKind::Negate(_)
            | ExprKind::Cast { .. }
            | ExprKind::Case { .. }
            | ExprKind::Coalesce(_)
    );
    let longest = if of_function { LONGEST_INT } else { LONGEST_LITERAL_INT };
    let sql = match &ty.sql {
        SqlType::Null => SqlType::Binary { len: 0 },
        SqlType::Boolean => SqlType::Int { unsigned: false },
        SqlType::BigInt { unsigned } if fits_int(expr, longest) => SqlType::Int { unsigned: *unsigned },
        SqlType::Char { len } | SqlType::Varchar { len } => match len {
            0 => SqlType::Char { len: 0 },
            len => varying(*len, ty.collation),
        },
        SqlType::Binary { len } | SqlType::Varbinary { len } if *len > LONGEST_VARCHAR => {
            SqlType::Blob { max_bytes: large(u64::from(*len)) }
        }
        SqlType::Binary { len } if *len > 0 => SqlType::Varbinary { len: *len },
        other => other.clone(),
    };
    let nullable = ty.nullable || ty.sql == SqlType::Null;
    let collation = if sql.is_character() || sql.has_members() { ty.collation } else { Collation::Binary };
    let mut column = ColumnDef::new(name, sql, nullable, collation);
    if !nullable {
        column.default = own_default(&column)?;
    }
    Ok(column)
}

/// Returns the implicit default of a NOT NULL column without default, where its type has one.
fn own_default(column: &ColumnDef) -> Result<Option<DefaultValue>, MysqlError> {
    let has_none = column.ty.is_large() || column.ty.has_members();
    Ok(if has_none { None } else { Some(DefaultValue::Constant(implicit_default(column)?)) })
}

/// The origin of a column of a query.
enum Origin<'a> {
    /// A column of a stored table.
    Stored(&'a ColumnDef),
    /// An output of a query in FROM.
    Derived(&'a BoundSelect, &'a BoundOutput),
}

/// Returns the origin of an expression that is a column, or a group key that is one.
fn origin<'a>(select: &'a BoundSelect, expr: &Expr) -> Option<Origin<'a>> {
    let (relation, ordinal) = match select.columns.get(expr.as_column()?)?.origin {
        ColumnOrigin::Relation { relation, ordinal } => (relation, ordinal),
        ColumnOrigin::GroupKey(at) => {
            return origin(select, &select.aggregation.as_ref()?.keys.get(at)?.expr);
        }
        _ => return None,
    };
    match &select.relations.get(relation)?.source {
        RelationSource::Base(table) => table.columns.get(ordinal).map(Origin::Stored),
        RelationSource::Derived(inner) => Some(Origin::Derived(inner, inner.output.get(ordinal)?)),
        RelationSource::Common(common) if common.recursion.is_none() => {
            Some(Origin::Derived(&common.query, common.query.output.get(ordinal)?))
        }
        _ => None,
    }
}

/// Whether an integer is short enough for an INT. Unlike MySQL, the greatest unsigned integers must fit too.
fn fits_int(expr: &Expr, longest: u32) -> bool {
    let most = if expr.ty.sql.is_unsigned() { longest.min(LONGEST_LITERAL_INT) } else { longest };
    length(expr) <= most
}

/// Returns the maximum number of characters of an integer, its sign included, as MySQL counts.
fn length(expr: &Expr) -> u32 {
    let sign = u32::from(!expr.ty.sql.is_unsigned());
    match &expr.kind {
        ExprKind::Literal(Value::Int(value)) => value.to_string().len() as u32,
        ExprKind::Literal(Value::UInt(value)) => value.to_string().len() as u32,
        ExprKind::Compare { .. }
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InRows { .. }
        | ExprKind::Like { .. } => 1,
        ExprKind::Arithmetic { op, left, right } => match op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => digits(left).max(digits(right)) + 1 + sign,
            ArithmeticOp::Multiply => digits(left) + digits(right) + sign,
            ArithmeticOp::IntegerDivide => length(left),
            _ => length(left).max(length(right)),
        },
        ExprKind::Negate(operand) => length(operand) + 1,
        // A signed number may become the greatest unsigned one.
        ExprKind::Cast { operand }
            if sign == 0 && !operand.ty.sql.is_unsigned() && !operand.ty.sql.is_string() =>
        {
            BIGINT_LENGTH
        }
        ExprKind::Cast { operand } => match &operand.ty.sql {
            SqlType::Varchar { len } | SqlType::Char { len } => (*len).min(BIGINT_LENGTH + 1),
            _ => length(operand),
        },
        ExprKind::Case { whens, otherwise, .. } => {
            let results = whens.iter().map(|when| &when.result).chain(otherwise.as_deref());
            results.map(length).max().unwrap_or(0)
        }
        ExprKind::Call { function, args } => match function.definition().name {
            "ABS" | "CEILING" | "FLOOR" | "ROUND" | "TRUNCATE" => args.first().map_or(BIGINT_LENGTH, length),
            name => {
                SHORT.iter().find(|(short, _)| *short == name).map_or(BIGINT_LENGTH, |(_, length)| *length)
            }
        },
        _ => match &expr.ty.sql {
            SqlType::Null => 0,
            SqlType::Boolean => 1,
            SqlType::Year => 4,
            SqlType::TinyInt { .. } => 3 + sign,
            SqlType::SmallInt { .. } => 5 + sign,
            SqlType::MediumInt { .. } => 8 + sign,
            SqlType::Int { .. } => 10 + sign,
            _ => BIGINT_LENGTH,
        },
    }
}

/// Returns the number of digits of an integer.
fn digits(expr: &Expr) -> u32 {
    match expr.kind {
        ExprKind::Literal(_) => length(expr),
        _ => length(expr).saturating_sub(u32::from(!expr.ty.sql.is_unsigned())).max(1),
    }
}

/// The functions with short integer results, by name.
const SHORT: &[(&str, u32)] = &[
    ("ASCII", 3),
    ("BIT_COUNT", 2),
    ("BIT_LENGTH", 11),
    ("CHAR_LENGTH", 10),
    ("COERCIBILITY", 10),
    ("CRC32", 10),
    ("DATEDIFF", 10),
    ("DAYOFMONTH", 2),
    ("DAYOFWEEK", 1),
    ("DAYOFYEAR", 3),
    ("FIELD", 3),
    ("FIND_IN_SET", 3),
    ("HOUR", 3),
    ("INSTR", 11),
    ("INTERVAL", 2),
    ("ISNULL", 1),
    ("LENGTH", 10),
    ("LOCATE", 11),
    ("MICROSECOND", 6),
    ("MINUTE", 2),
    ("MONTH", 2),
    ("ORD", 7),
    ("PERIOD_ADD", 6),
    ("PERIOD_DIFF", 6),
    ("QUARTER", 2),
    ("REGEXP_INSTR", 11),
    ("SECOND", 2),
    ("SIGN", 2),
    ("STRCMP", 2),
    ("TIME_TO_SEC", 10),
    ("TO_DAYS", 6),
    ("WEEK", 2),
    ("WEEKDAY", 1),
    ("WEEKOFYEAR", 2),
    ("YEAR", 5),
    ("YEARWEEK", 6),
];

fn varying(len: u32, collation: Collation) -> SqlType {
    match len > LONGEST_VARCHAR {
        true => {
            SqlType::Text { max_bytes: large(u64::from(len) * u64::from(collation.charset().max_bytes())) }
        }
        false => SqlType::Varchar { len },
    }
}

/// Returns the capacity in bytes of the smallest TEXT or BLOB type for that many bytes.
fn large(bytes: u64) -> u32 {
    let sizes = [0xff, 0xffff, 0xff_ffff, u32::MAX];
    sizes.into_iter().find(|&max| bytes <= u64::from(max)).unwrap_or(u32::MAX)
}
