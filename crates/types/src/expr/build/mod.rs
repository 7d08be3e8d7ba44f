//! How nodes are made. Operands are checked and results typed as MySQL does it; errors are MySQL's.

use super::ir::{ArithmeticOp, CompareDomain, CompareOp, Expr, ExprKind};
use crate::collation::Collation;
use crate::error::MysqlError;
use crate::temporal::IntervalUnit;
use crate::value::{ExprType, SqlType, Value};

/// A literal of the type that its value has; a string has `utf8mb4_0900_bin` (see [`string`] for others).
pub fn literal(_v: Value) -> Expr {
    todo!()
}
/// A string literal of the connection's collation.
pub fn string(_text: &str, _collation: Collation) -> Expr {
    todo!()
}
/// `NULL`.
pub fn null() -> Expr {
    Expr { kind: ExprKind::Literal(Value::Null), ty: ExprType::NULL }
}
/// A column.
pub fn column(number: usize, ty: ExprType) -> Expr {
    Expr { kind: ExprKind::Column(number), ty }
}
/// A parameter, of the type of the literal it stands for.
pub fn parameter(number: usize, ty: ExprType) -> Expr {
    Expr { kind: ExprKind::Parameter(number), ty }
}
/// `left op right`.
pub fn arithmetic(_op: ArithmeticOp, _left: Expr, _right: Expr) -> Result<Expr, MysqlError> {
    todo!()
}
/// `-operand`.
pub fn negate(_operand: Expr) -> Result<Expr, MysqlError> {
    todo!()
}
/// `left op right`.
pub fn compare(_op: CompareOp, _left: Expr, _right: Expr) -> Result<Expr, MysqlError> {
    todo!()
}
/// The two sides of an equality as expressions of one type, for a hash join: equal keys of them (under the first's
/// collation) are equal in `domain`.
pub fn join_keys(_left: Expr, _right: Expr, _domain: CompareDomain) -> (Expr, Expr) {
    todo!()
}
/// `operand [NOT] BETWEEN low AND high`.
pub fn between(_operand: Expr, _low: Expr, _high: Expr, _negated: bool) -> Result<Expr, MysqlError> {
    todo!()
}
/// All of `conditions`; TRUE for none.
pub fn and(_conditions: Vec<Expr>) -> Expr {
    todo!()
}
/// Any of `conditions`; FALSE for none.
pub fn or(_conditions: Vec<Expr>) -> Expr {
    todo!()
}
/// `left XOR right`.
pub fn xor(_left: Expr, _right: Expr) -> Expr {
    todo!()
}
/// `NOT operand`.
pub fn not(_operand: Expr) -> Expr {
    todo!()
}
/// `operand IS [NOT] NULL`, `IS [NOT] UNKNOWN`.
pub fn is_null(_operand: Expr, _negated: bool) -> Expr {
    todo!()
}
/// `operand IS [NOT] TRUE`, `IS [NOT] FALSE`.
pub fn is_truth(_operand: Expr, _truth: bool, _negated: bool) -> Expr {
    todo!()
}
/// `needle [NOT] IN (list)`.
pub fn in_list(_needle: Expr, _list: Vec<Expr>, _negated: bool) -> Result<Expr, MysqlError> {
    todo!()
}
/// `value [NOT] LIKE pattern [ESCAPE escape]`; no `ESCAPE` is `Some('\\')`, `ESCAPE ''` is None.
pub fn like(_value: Expr, _pattern: Expr, _escape: Option<char>, _negated: bool) -> Result<Expr, MysqlError> {
    todo!()
}
/// `CASE [operand] WHEN .. THEN .. [ELSE otherwise] END`.
pub fn case(
    _operand: Option<Expr>,
    _whens: Vec<(Expr, Expr)>,
    _otherwise: Option<Expr>,
) -> Result<Expr, MysqlError> {
    todo!()
}
/// What CAST converts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTarget {
    /// `SIGNED`.
    Signed,
    /// `UNSIGNED`.
    Unsigned,
    /// `CHAR[(characters)]`.
    Char(Option<u32>),
    /// `BINARY[(bytes)]`.
    Binary(Option<u32>),
    /// `DECIMAL(precision, scale)`; `DECIMAL` alone is (10, 0).
    Decimal(u8, u8),
    /// `DOUBLE`, `REAL`.
    Double,
    /// `DATE`.
    Date,
    /// `DATETIME[(fsp)]`.
    DateTime(u8),
}
/// `CAST(operand AS to)`; `collation` is that of the connection, which `CHAR` takes.
pub fn cast(_operand: Expr, _to: CastTarget, _collation: Collation) -> Result<Expr, MysqlError> {
    todo!()
}
/// `operand COLLATE collation`.
pub fn collate(_operand: Expr, _collation: Collation) -> Result<Expr, MysqlError> {
    todo!()
}
/// `name(args)`, of the function table (in any case). Error 1305 for a function that does not exist, 1582 for a wrong
/// number of arguments.
pub fn call(_name: &str, _args: Vec<Expr>) -> Result<Expr, MysqlError> {
    todo!()
}
/// `DATE_ADD(date, INTERVAL count unit)`, `date + INTERVAL count unit`; or `DATE_SUB`.
pub fn date_add(_date: Expr, _count: Expr, _unit: IntervalUnit, _subtract: bool) -> Result<Expr, MysqlError> {
    todo!()
}
/// `EXTRACT(unit FROM operand)`.
pub fn extract(_unit: IntervalUnit, _operand: Expr) -> Result<Expr, MysqlError> {
    todo!()
}
/// Which end `TRIM` cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    /// The beginning.
    Leading,
    /// The end.
    Trailing,
    /// Both.
    Both,
}
/// `TRIM([LEADING | TRAILING | BOTH] [remove FROM] text)`.
pub fn trim(_side: TrimSide, _remove: Option<Expr>, _text: Expr) -> Result<Expr, MysqlError> {
    todo!()
}
/// The type of values that come from several sources: CASE branches, the blocks of a UNION. `operation` is named in
/// the error about collations that do not mix.
pub fn common_type(_operation: &str, _types: &[&ExprType]) -> Result<ExprType, MysqlError> {
    todo!()
}
/// The type that a value has by itself.
pub fn type_of(_v: &Value) -> SqlType {
    todo!()
}
