//! Expressions.
//!
//! AND and OR chains are flat lists, however they were nested by associativity, so that a predicate of ten
//! thousand terms is not ten thousand levels deep. Parentheses leave no node.

use super::{Ident, OrderItem, Query, Span, WindowCall};
pub use leafline_types::IntervalUnit;
pub use leafline_types::words::AggregateFunction;
pub use leafline_types::words::{CompareOp, TrimSide};

/// An expression and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// From its first to its last token; outer parentheses not included.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A column, or an alias where aliases are allowed.
    Column(ColumnName),
    /// The `?` with this number, counted from 0 in the order of the text.
    Parameter(usize),
    /// `@name`.
    UserVariable(String),
    /// `@name := value`.
    AssignVariable {
        /// The variable.
        name: String,
        /// Its new value.
        value: Box<Expr>,
    },
    /// `@@name`, `@@global.name`, `@@session.name`.
    SystemVariable {
        /// The scope, when written.
        scope: Option<VariableScope>,
        /// The name, dots of structured variables included.
        name: String,
    },
    /// `-x`, `+x`, `~x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// Arithmetic and bit operators.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// A comparison of two expressions.
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `a op ALL (query)`, `a op ANY (query)`.
    CompareQuantified {
        /// The operator.
        op: CompareOp,
        /// True for ALL, false for ANY and SOME.
        all: bool,
        /// Left operand.
        left: Box<Expr>,
        /// The query on the right.
        query: Box<Query>,
    },
    /// A chain of AND with at least two terms.
    And(Vec<Expr>),
    /// A chain of OR with at least two terms.
    Or(Vec<Expr>),
    /// `a XOR b`.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT a` and `!a`.
    Not(Box<Expr>),
    /// `a IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// The operand.
        operand: Box<Expr>,
        /// What it is compared with.
        test: IsTest,
        /// With NOT.
        negated: bool,
    },
    /// `a [NOT] BETWEEN low AND high`.
    Between {
        /// The operand.
        operand: Box<Expr>,
        /// Lower bound, inclusive.
        low: Box<Expr>,
        /// Upper bound, inclusive.
        high: Box<Expr>,
        /// With NOT.
        negated: bool,
    },
    /// `a [NOT] IN (x, y, ..)`.
    InList {
        /// The operand.
        operand: Box<Expr>,
        /// The list, never empty.
        list: Vec<Expr>,
        /// With NOT.
        negated: bool,
    },
    /// `a [NOT] IN (query)`.
    InQuery {
        /// The operand.
        operand: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// With NOT.
        negated: bool,
    },
    /// `a [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// The operand.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character, when written.
        escape: Option<Box<Expr>>,
        /// With NOT.
        negated: bool,
    },
    /// `a [NOT] REGEXP pattern`, `a [NOT] RLIKE pattern`.
    Regexp {
        /// The operand.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// With NOT.
        negated: bool,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`.
    Case {
        /// The compared expression of the simple form.
        operand: Option<Box<Expr>>,
        /// (condition or value, result) pairs, never empty.
        branches: Vec<(Expr, Expr)>,
        /// The ELSE result.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS type)`, `CONVERT(x, type)`, `BINARY x`.
    Cast {
        /// The operand.
        operand: Box<Expr>,
        /// The target.
        target: CastTarget,
    },
    /// `CONVERT(x USING charset)`.
    ConvertUsing {
        /// The operand.
        operand: Box<Expr>,
        /// The character set.
        charset: Ident,
    },
    /// `x COLLATE name`.
    Collate {
        /// The operand.
        operand: Box<Expr>,
        /// The collation.
        collation: Ident,
    },
    /// `x + INTERVAL n unit`, `x - INTERVAL n unit`, DATE_ADD, DATE_SUB, ADDDATE, SUBDATE.
    DateArithmetic {
        /// The date.
        operand: Box<Expr>,
        /// How many units.
        amount: Box<Expr>,
        /// The unit.
        unit: IntervalUnit,
        /// True when the interval is taken away.
        subtract: bool,
    },
    /// `EXTRACT(unit FROM x)`.
    Extract {
        /// The part.
        unit: IntervalUnit,
        /// The date.
        operand: Box<Expr>,
    },
    /// `TRIM([LEADING|TRAILING|BOTH] [remove] FROM x)` and `TRIM(x)`.
    Trim {
        /// Which ends.
        side: TrimSide,
        /// What is removed; a space when absent.
        remove: Option<Box<Expr>>,
        /// The operand.
        operand: Box<Expr>,
    },
    /// A function call: `name(args)`. Forms with words between the arguments (`SUBSTRING(x FROM a FOR b)`,
    /// `POSITION(a IN b)`, `TIMESTAMPDIFF(unit, a, b)`) arrive as plain calls.
    Function {
        /// The name as written.
        name: Ident,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `COUNT(*)`, `COUNT(DISTINCT a, b)`, `SUM(a)`: any aggregate function.
    Aggregate {
        /// Which one.
        function: AggregateFunction,
        /// With DISTINCT.
        distinct: bool,
        /// The arguments; empty for `COUNT(*)`.
        args: Vec<Expr>,
    },
    /// `GROUP_CONCAT([DISTINCT] a, b ORDER BY c SEPARATOR '..')`.
    GroupConcat {
        /// With DISTINCT.
        distinct: bool,
        /// What is put together; at least one.
        args: Vec<Expr>,
        /// The order, if any.
        order_by: Vec<OrderItem>,
        /// What is between rows.
        separator: String,
    },
    /// `GROUPING(keys)`: which of them a row of WITH ROLLUP leaves out.
    Grouping(Vec<Expr>),
    /// `function(args) OVER ..`.
    Window(Box<WindowCall>),
    /// `CHAR(codes USING charset)`.
    CharUsing {
        /// The characters' codes.
        codes: Vec<Expr>,
        /// The character set.
        charset: Ident,
    },
    /// `JSON_VALUE(..)`.
    JsonValue(Box<JsonValue>),
    /// `(query)` as a value.
    Subquery(Box<Query>),
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `(a, b, ..)` and `ROW(a, b, ..)`.
    Row(Vec<Expr>),
    /// `DEFAULT` as a value of INSERT and UPDATE, and `DEFAULT(column)`.
    Default(Option<ColumnName>),
    /// `VALUES(column)`: what INSERT would have stored.
    InsertedValue(ColumnName),
    /// A unit name standing as a function argument (`TIMESTAMPDIFF(DAY, a, b)`).
    Unit(IntervalUnit),
}

/// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    /// The document.
    pub document: Expr,
    /// The path.
    pub path: String,
    /// The type of the value; CHAR(512) when absent.
    pub returning: Option<CastTarget>,
    /// What is given where the path leads nowhere.
    pub on_empty: JsonResponse,
    /// What is given where there are several values, or one that is not of the type.
    pub on_error: JsonResponse,
}

/// What is given in place of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonResponse {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// A constant.
    Default(Expr),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// Digits without point or exponent, if 64 bits hold them.
    Integer(u64),
    /// Digits with a point and no exponent, or more digits than 64 bits hold: exact.
    Decimal(String),
    /// With an exponent: approximate.
    Float(String),
    /// A character string.
    String {
        /// The value, escapes resolved, adjacent literals joined.
        value: String,
        /// The length in bytes of the first of adjacent literals (it alone names a result column).
        first_part: usize,
        /// The introducer (`_utf8mb4'..'`), without its underscore; `N'..'` says utf8mb3.
        charset: Option<String>,
    },
    /// `_charset x'..'` and `_charset b'..'`: text in the bytes of a character set.
    Encoded {
        /// The bytes.
        value: Vec<u8>,
        /// The introducer without its underscore.
        charset: String,
    },
    /// `x'..'`, `0x..`, `b'..'`, `0b..`, and strings under `_binary`.
    Bytes {
        /// The value.
        value: Vec<u8>,
        /// How it was written.
        form: BytesForm,
    },
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` and the `{d '..'}` forms.
    Temporal {
        /// Which type.
        kind: TemporalKind,
        /// The text between the quotes.
        text: String,
    },
}

/// How a byte string was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesForm {
    /// `x'..'` or `0x..`.
    Hex,
    /// `b'..'` or `0b..`.
    Bit,
    /// `_binary'..'`.
    String,
}

/// The type of a temporal literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// TIMESTAMP, a DATETIME value.
    Timestamp,
}

/// `[[database.]table.]column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// The database.
    pub database: Option<Ident>,
    /// The table or its alias.
    pub table: Option<Ident>,
    /// The column.
    pub column: Ident,
}

/// `@@global.`, `@@session.`, `@@persist.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    /// GLOBAL.
    Global,
    /// SESSION or LOCAL.
    Session,
    /// PERSIST.
    Persist,
    /// PERSIST_ONLY.
    PersistOnly,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Minus,
    /// `~`.
    BitNot,
}

/// Arithmetic and bit operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// DIV.
    IntegerDivide,
    /// `%` and MOD.
    Modulo,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `^`.
    BitXor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
}

/// The right side of IS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsTest {
    /// NULL.
    Null,
    /// TRUE.
    True,
    /// FALSE.
    False,
    /// UNKNOWN.
    Unknown,
}

/// The target of CAST.
#[derive(Debug, Clone, PartialEq)]
pub struct CastTarget {
    /// The type.
    pub kind: CastKind,
    /// Where it stands.
    pub span: Span,
}

/// The types that CAST knows.
#[derive(Debug, Clone, PartialEq)]
pub enum CastKind {
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// DECIMAL[(precision[, scale])].
    Decimal {
        /// Digits in all.
        precision: Option<u64>,
        /// Digits after the point.
        scale: Option<u64>,
    },
    /// FLOAT[(p)].
    Float {
        /// Binary digits; above 24 the result is DOUBLE.
        precision: Option<u64>,
    },
    /// DOUBLE, REAL.
    Double,
    /// CHAR[(n)] [CHARACTER SET name].
    Char {
        /// Characters kept.
        length: Option<u64>,
        /// The character set.
        charset: Option<Ident>,
        /// The BINARY attribute: the character set's `_bin` collation.
        binary: bool,
    },
    /// BINARY[(n)], also of the `BINARY x` operator.
    Binary {
        /// Bytes kept.
        length: Option<u64>,
    },
    /// DATE.
    Date,
    /// DATETIME[(fsp)].
    DateTime {
        /// Fractional digits.
        fsp: Option<u64>,
    },
    /// TIME[(fsp)].
    Time {
        /// Fractional digits.
        fsp: Option<u64>,
    },
    /// YEAR.
    Year,
    /// JSON.
    Json,
}
