//! Expressions.
//!
//! Chains of AND and of OR are flat lists, however the parser associated them, so that a predicate of ten thousand
//! terms is not a tree ten thousand levels deep. Parentheses leave no node.

use super::{Ident, OrderItem, Query, Span, StoredCall, WindowCall};
pub use leafline_types::IntervalUnit;
pub use leafline_types::words::AggregateFunction;
pub use leafline_types::words::{CompareOp, TrimSide};

/// An expression and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// The expression's form, with its operands.
    pub kind: ExprKind,
    /// Its place, from its first to its last token, without outer parentheses.
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
        /// The scope, if written.
        scope: Option<VariableScope>,
        /// The name, including the dots of structured variables.
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
        /// The right side.
        test: IsTest,
        /// Whether NOT was written.
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
        /// Whether NOT was written.
        negated: bool,
    },
    /// `a [NOT] IN (x, y, ..)`.
    InList {
        /// The operand.
        operand: Box<Expr>,
        /// The list, never empty.
        list: Vec<Expr>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `a [NOT] IN (query)`.
    InQuery {
        /// The operand.
        operand: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `a [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// The operand.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character, if written.
        escape: Option<Box<Expr>>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `a [NOT] REGEXP pattern`, `a [NOT] RLIKE pattern`.
    Regexp {
        /// The operand.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// Whether NOT was written.
        negated: bool,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`.
    Case {
        /// The expression that the simple form compares with each value.
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
        /// The target type.
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
        /// The number of units.
        amount: Box<Expr>,
        /// The unit.
        unit: IntervalUnit,
        /// Whether the interval is subtracted rather than added.
        subtract: bool,
    },
    /// `EXTRACT(unit FROM x)`.
    Extract {
        /// The part extracted.
        unit: IntervalUnit,
        /// The date.
        operand: Box<Expr>,
    },
    /// `TRIM([LEADING|TRAILING|BOTH] [remove] FROM x)` and `TRIM(x)`.
    Trim {
        /// The ends that are trimmed.
        side: TrimSide,
        /// The text removed; `None` removes spaces.
        remove: Option<Box<Expr>>,
        /// The operand.
        operand: Box<Expr>,
    },
    /// A function call: `name(args)`. Forms with words between the arguments (`SUBSTRING(x FROM a FOR b)`,
    /// `POSITION(a IN b)`, `TIMESTAMPDIFF(unit, a, b)`) arrive as plain calls.
    Function {
        /// The name, as it was written.
        name: Ident,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `database.name(arguments)`: a call of a stored function. Without a database it arrives as a [`Self::Function`] whose
    /// name is that of no function of the server.
    StoredCall(StoredCall),
    /// `COUNT(*)`, `COUNT(DISTINCT a, b)`, `SUM(a)`: any aggregate function.
    Aggregate {
        /// The function.
        function: AggregateFunction,
        /// Whether DISTINCT was written.
        distinct: bool,
        /// The arguments; empty for `COUNT(*)`.
        args: Vec<Expr>,
    },
    /// `GROUP_CONCAT([DISTINCT] a, b ORDER BY c SEPARATOR '..')`.
    GroupConcat {
        /// Whether DISTINCT was written.
        distinct: bool,
        /// The expressions concatenated; at least one.
        args: Vec<Expr>,
        /// ORDER BY; may be empty.
        order_by: Vec<OrderItem>,
        /// The text between two rows.
        separator: String,
    },
    /// `GROUPING(keys)`: which of the keys WITH ROLLUP has left out of the row.
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
    /// `MATCH (columns) AGAINST (query)`.
    Match(Box<MatchAgainst>),
    /// `(query)` as a value.
    Subquery(Box<Query>),
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `(a, b, ..)` and `ROW(a, b, ..)`.
    Row(Vec<Expr>),
    /// `DEFAULT` as a value of INSERT and UPDATE, and `DEFAULT(column)`.
    Default(Option<ColumnName>),
    /// `VALUES(column)`: the value that INSERT would have stored.
    InsertedValue(ColumnName),
    /// A unit's name as a function's argument (`TIMESTAMPDIFF(DAY, a, b)`).
    Unit(IntervalUnit),
}

/// `MATCH (columns) AGAINST (query mode)`.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchAgainst {
    /// The columns.
    pub columns: Vec<ColumnName>,
    /// The words that are sought.
    pub query: Expr,
    /// The mode of the search.
    pub mode: SearchMode,
}

/// The modes of a search for words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// IN NATURAL LANGUAGE MODE.
    Natural,
    /// WITH QUERY EXPANSION.
    Expanded,
    /// IN BOOLEAN MODE.
    Boolean,
}

/// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    /// The document.
    pub document: Expr,
    /// The path.
    pub path: String,
    /// The type of the value; `None` is CHAR(512).
    pub returning: Option<CastTarget>,
    /// The answer if the path leads nowhere.
    pub on_empty: JsonResponse,
    /// The answer if the path leads to several values, or to one that the type cannot hold.
    pub on_error: JsonResponse,
}

/// The answer that a JSON function gives in place of a value.
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
    /// Digits without point or exponent that fit in 64 bits.
    Integer(u64),
    /// Digits with a point and no exponent, or more digits than fit in 64 bits: an exact number.
    Decimal(String),
    /// Digits with an exponent: an approximate number.
    Float(String),
    /// A character string.
    String {
        /// The value, escapes resolved, adjacent literals joined.
        value: String,
        /// The length in bytes of the first of adjacent literals, the only one that a result column is named after.
        first_part: usize,
        /// The introducer (`_utf8mb4'..'`) without its underscore; utf8mb3 for `N'..'`.
        charset: Option<String>,
    },
    /// `_charset x'..'` and `_charset b'..'`: a text, given as bytes in a character set.
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
        /// The notation it was written in.
        form: BytesForm,
    },
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` and the `{d '..'}` forms.
    Temporal {
        /// The literal's type.
        kind: TemporalKind,
        /// The text between the quotes.
        text: String,
    },
}

/// The notation that a byte string was written in.
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
    /// TIMESTAMP; its value is a DATETIME.
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

/// The scope of a system variable: `@@global.`, `@@session.`, `@@persist.`.
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

/// Binary operators.
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
    /// Its place in the text.
    pub span: Span,
}

/// The types that CAST converts to.
#[derive(Debug, Clone, PartialEq)]
pub enum CastKind {
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// DECIMAL[(precision[, scale])].
    Decimal {
        /// The number of digits.
        precision: Option<u64>,
        /// The number of digits after the point.
        scale: Option<u64>,
    },
    /// FLOAT[(p)].
    Float {
        /// The number of binary digits; above 24 the result is a DOUBLE.
        precision: Option<u64>,
    },
    /// DOUBLE, REAL.
    Double,
    /// CHAR[(n)] [CHARACTER SET name].
    Char {
        /// The number of characters kept.
        length: Option<u64>,
        /// The character set.
        charset: Option<Ident>,
        /// The BINARY attribute: the character set's `_bin` collation.
        binary: bool,
    },
    /// BINARY[(n)], and the `BINARY x` operator.
    Binary {
        /// The number of bytes kept.
        length: Option<u64>,
    },
    /// DATE.
    Date,
    /// DATETIME[(fsp)].
    DateTime {
        /// The number of fractional digits.
        fsp: Option<u64>,
    },
    /// TIME[(fsp)].
    Time {
        /// The number of fractional digits.
        fsp: Option<u64>,
    },
    /// YEAR.
    Year,
    /// JSON.
    Json,
}
