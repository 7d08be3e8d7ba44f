//! User variables in statements that assign them: `@name := value`, and `@name`.
//!
//! As in MySQL, `@name` has one type for the whole statement, that of its value when the statement begins. It decides
//! the type of an operation and the domain in which operands are compared. But the operation reads the value at that
//! moment, as a number or text of the operation's own kind: after `SET @s = 0`, `@s + 1.5` adds to the decimal that
//! was assigned meanwhile, and `CONCAT(@s, 'x')` appends to the text; only a bare `@s`, and integer operations, round
//! it to an integer.

use super::literal;
use super::node::call_of;
use super::plain::plain;
use super::types::TEXT_OF_NUMBER;
use crate::function::{Function, Volatility};
use crate::ir::{CompareDomain, Expr, ExprKind};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// The name of the function that assigns a variable.
pub(crate) const ASSIGN_VARIABLE: &str = ":=";

/// The name of the function that reads a variable which its statement assigns.
pub(crate) const READ_VARIABLE: &str = "@";

/// Text of any length.
const TEXT: SqlType = SqlType::Text { max_bytes: u32::MAX };

/// The digits of a DECIMAL in a variable; as many are behind the point as in the assigned value.
const DIGITS: u8 = leafline_types::decimal::MAX_PRECISION;

/// Makes `@name := value`.
pub fn assign_variable(name: &str, value: Expr) -> Result<Expr, MysqlError> {
    call_of(ASSIGN_VARIABLE, vec![literal(Value::from(name)), plain(value)])
}

/// Makes `@name` in a statement that assigns variables. `now` has the type that the variable has when the statement
/// begins, and `scale` is how many digits behind the point the statement assigns to it.
pub fn read_variable(name: &str, mut now: Expr, scale: u8) -> Result<Expr, MysqlError> {
    now.ty = match &now.ty.sql {
        // A variable that was never set is text, whatever is assigned.
        SqlType::Null => ExprType::string(TEXT, true, TEXT_OF_NUMBER, Coercibility::Implicit),
        SqlType::Decimal { scale: own, .. } => {
            ExprType::numeric(SqlType::decimal(DIGITS, scale.max(*own)), true)
        }
        sql if sql.is_bytes() => ExprType { sql: SqlType::Varbinary { len: u32::MAX }, ..now.ty },
        sql if sql.is_character() => ExprType { sql: TEXT, ..now.ty },
        _ => now.ty,
    };
    call_of(READ_VARIABLE, vec![literal(Value::from(name)), plain(now)])
}

fn is_read(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Call { function, .. } if function.definition().name == READ_VARIABLE)
}

/// Converts the operand of an operation of type `sql`: a variable is read as a number or text of that kind.
pub(super) fn read_as(mut e: Expr, sql: &SqlType) -> Expr {
    if e.ty.sql == *sql || !is_read(&e) {
        return e;
    }
    match sql {
        SqlType::Decimal { .. } if e.ty.sql.is_integer() => {
            e.ty = ExprType::numeric(SqlType::decimal(DIGITS, leafline_types::decimal::MAX_SCALE), true);
            // With the digits of the value.
            if let ExprKind::Call { args, .. } = &mut e.kind {
                args.push(literal(Value::Int(1)));
            }
        }
        sql if sql.is_real() && e.ty.sql.is_numeric() => e.ty = ExprType::numeric(SqlType::Double, true),
        sql if sql.is_string() && e.ty.sql.is_numeric() => {
            e.ty = ExprType::string(TEXT, true, TEXT_OF_NUMBER, Coercibility::Implicit);
        }
        _ => {}
    }
    e
}

/// Returns an expression for the value that `e` has just had: an assignment is not repeated, its variable is read
/// instead. `None` if there is no such expression.
pub(super) fn again(e: &Expr) -> Option<Expr> {
    if let ExprKind::Call { function, args } = &e.kind
        && function.definition().name == ASSIGN_VARIABLE
    {
        let mut read =
            call_of(READ_VARIABLE, vec![args.first()?.clone(), super::null(), literal(Value::Int(1))])
                .ok()?;
        read.ty = ExprType { nullable: true, ..e.ty.clone() };
        return Some(read);
    }
    let changes = e.any(&mut |part| match &part.kind {
        ExprKind::Subquery(subquery) => subquery.is_volatile,
        ExprKind::Program(call) => call.is_volatile,
        ExprKind::Call { function, .. } => {
            function.definition().volatility == Volatility::Volatile && !is_read(part)
        }
        _ => false,
    });
    (!changes).then(|| e.clone())
}

/// Converts the operand of a comparison in a domain.
pub(super) fn read_in(e: Expr, domain: CompareDomain) -> Expr {
    match domain {
        CompareDomain::Decimal => read_as(e, &SqlType::decimal(DIGITS, 0)),
        CompareDomain::Double => read_as(e, &SqlType::Double),
        CompareDomain::String(_) => read_as(e, &TEXT),
        _ => e,
    }
}

/// Converts the arguments of a function.
pub(super) fn arguments(function: &Function, args: Vec<Expr>) -> Vec<Expr> {
    if !args.iter().any(is_read) || !function.texts {
        return args;
    }
    let read = |(at, arg)| if function.number_args.contains(&at) { arg } else { read_as(arg, &TEXT) };
    args.into_iter().enumerate().map(read).collect()
}
