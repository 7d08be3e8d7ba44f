//! Makes expression nodes: checks operands and types results as MySQL 8.0 does, with MySQL's errors.
//!
//! | module       | makes                                                                     |
//! |--------------|---------------------------------------------------------------------------|
//! | `types`      | common types, collations of several operands, precision of operands       |
//! | `arithmetic` | `+ - * / DIV %` and the sign                                              |
//! | `compare`    | comparisons and their domains, BETWEEN, IN, LIKE, keys of hash joins      |
//! | `logic`      | AND, OR, XOR, NOT, IS                                                     |
//! | `control`    | CASE, IF, IFNULL, COALESCE, NULLIF                                        |
//! | `padding`    | values of CHAR columns with their trailing spaces                         |
//! | `plain`, `stored` | operands of types whose stored form is not the form that expressions see, and comparisons with them |
//! | `adapted`    | literals that are read as the type of what they are compared with         |
//! | `real`       | the digits of FLOAT and DOUBLE results                                    |
//! | `cast`       | CAST and COLLATE                                                          |
//! | `charset`    | text combined with binary strings                                         |
//! | `json`       | JSON_VALUE                                                                |
//! | `variable`   | user variables that their statement assigns                               |
//! | `call`, `node` | calls of the function table, and the functions with a syntax of their own |

mod adapted;
mod arithmetic;
mod call;
mod cast;
mod charset;
mod compare;
mod control;
mod json;
mod logic;
mod node;
mod padding;
mod plain;
mod real;
mod stored;
#[cfg(test)]
mod tests;
mod types;
mod variable;

use crate::ir::{Expr, ExprKind};
use leafline_types::collation::Collation;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub use adapted::{number_of_text, reads_text_as_number};
pub(crate) use arithmetic::{SHOWN, quotient_digits};
pub use arithmetic::{arithmetic, negate, operand_of_rounding, shown, signed, without_rounding};
pub use call::{
    TrimSide, bits, call, characters, condition_count, date_add, extract, get_format,
    has_no_operand_collation, interval_of, invert_bits, is_function, member_of, timestamp_diff, trim,
};
pub use cast::{CastTarget, cast, collate};
pub use charset::convert_using;
pub use compare::{between, compare, in_list, in_rows, is_comparable, join_keys, like, retype};
pub use control::{case, conformed};
pub use json::{JsonResponse, json_value};
pub use logic::{and, is_null, is_truth, not, or, xor};
pub use padding::{of_padded, padded, unpadded};
pub(crate) use plain::{NUMBER_OF_TEMPORAL_TEXT, bit_number, document, number};
pub use plain::{json_truth, plain};
pub(crate) use real::{digits_of_quotient, real};
pub(crate) use types::{
    TEXT_OF_NUMBER, bigint, compared_by, merge_collations, merge_operands, shown_digits, text_length,
    text_type,
};
pub use types::{common_type, convert_constants, convert_constants_beside, decimal_digits, type_of};
pub(crate) use variable::{ASSIGN_VARIABLE, READ_VARIABLE};
pub use variable::{assign_variable, read_variable};

/// Makes a literal of its value's type; a string has the default collation (see [`string`] for others).
pub fn literal(v: Value) -> Expr {
    let sql = type_of(&v);
    let ty = match &v {
        Value::Null => ExprType::NULL,
        Value::String(_) => ExprType::string(sql, false, TEXT_OF_NUMBER, Coercibility::Coercible),
        Value::Bytes(_) => ExprType::string(sql, false, Collation::Binary, Coercibility::Coercible),
        Value::Json(_) => ExprType::json(false),
        _ => ExprType::numeric(sql, false),
    };
    Expr { kind: ExprKind::Literal(v), ty }
}

/// Makes a string literal of the connection's collation.
pub fn string(text: &str, collation: Collation) -> Expr {
    let mut e = literal(Value::string(text));
    e.ty.collation = collation;
    e
}

/// Makes `NULL`.
pub fn null() -> Expr {
    Expr { kind: ExprKind::Literal(Value::Null), ty: ExprType::NULL }
}

/// Makes a column reference.
pub fn column(number: usize, ty: ExprType) -> Expr {
    Expr { kind: ExprKind::Column(number), ty }
}

/// Makes a parameter, of the type of the literal it stands for.
pub fn parameter(number: usize, ty: ExprType) -> Expr {
    Expr { kind: ExprKind::Parameter(number), ty }
}

/// Makes a condition, whose type is BIGINT and whose value is 0, 1 or NULL.
fn condition(kind: ExprKind, nullable: bool) -> Expr {
    Expr { kind, ty: ExprType::numeric(SqlType::BIGINT, nullable) }
}
