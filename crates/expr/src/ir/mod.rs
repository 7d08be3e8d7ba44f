//! The nodes of an expression, and the attributes of each besides its operands.
//!
//! An expression is immutable and shared between executions: it reads what changes from run to run (parameters, the
//! time, the session) from the `EvalContext`. `build` makes nodes and gives them MySQL's types; a pass that rewrites
//! a tree keeps the types it finds.

mod in_rows;
mod in_set;
mod match_call;
mod program;
mod subquery;

pub use in_rows::{RowColumn, RowList};
pub use in_set::InSet;
pub use leafline_types::words::CompareOp;
pub use match_call::MatchCall;
pub use program::{ProgramCall, ProgramName};
pub use subquery::{Subquery, SubqueryUse};

use std::fmt;
use std::sync::Arc;

use crate::like::LikePattern;
use leafline_types::collation::Collation;
use leafline_types::value::{ExprType, Value};

/// An expression and its type.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The computation.
    pub kind: ExprKind,
    /// The type of its value. Conditions have BIGINT, with the values 0, 1 and NULL.
    pub ty: ExprType,
}

/// A function, as its place in the function table. The module [`crate::functions`] assembles the table, above the
/// nodes and the evaluator, and there are the methods that look functions up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub(crate) u16);

/// The computation of an expression.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A constant.
    Literal(Value),
    /// A column: the binder's number in a bound statement, the position in the batch in a physical plan.
    Column(usize),
    /// A parameter of the statement, numbered from 0.
    Parameter(usize),
    /// In a subquery, a value of an enclosing query's row, numbered from 0.
    Outer(usize),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// A call of a stored function.
    Program(Box<ProgramCall>),
    /// `MATCH .. AGAINST`.
    Match(Box<MatchCall>),
    /// A function of the table in [`crate::functions`].
    Call {
        /// The function.
        function: FunctionId,
        /// The arguments, as many as the function takes.
        args: Vec<Expr>,
    },
    /// `left op right`. The node's type gives the domain: an integer type, DECIMAL or DOUBLE.
    Arithmetic {
        /// The operator.
        op: ArithmeticOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `-operand`.
    Negate(Box<Expr>),
    /// The conjunction of two or more; evaluated in order, up to the first that is FALSE.
    And(Vec<Expr>),
    /// The disjunction of two or more; evaluated in order, up to the first that is TRUE.
    Or(Vec<Expr>),
    /// `left XOR right`.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT operand`.
    Not(Box<Expr>),
    /// `left op right`.
    Compare {
        /// The operator.
        op: CompareOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// The domain into which both operands are converted.
        domain: CompareDomain,
    },
    /// `operand IS [NOT] NULL`, and `IS [NOT] UNKNOWN`.
    IsNull {
        /// The operand.
        operand: Box<Expr>,
        /// Whether it is `IS NOT NULL`.
        negated: bool,
    },
    /// `operand IS [NOT] TRUE` or `FALSE`: never NULL.
    IsTruth {
        /// The operand.
        operand: Box<Expr>,
        /// The truth it is tested for.
        truth: bool,
        /// Whether it is `IS NOT`.
        negated: bool,
    },
    /// `needle [NOT] IN (list)`, all compared in one domain.
    InList {
        /// The value that is looked up.
        needle: Box<Expr>,
        /// The list, which is not empty. Shared, because lists can be long and the planner copies conditions.
        list: Arc<[Expr]>,
        /// Whether it is `NOT IN`.
        negated: bool,
        /// The domain into which needle and list are converted.
        domain: CompareDomain,
        /// The list as a set, if all of it is literal. Then walks and rewrites of the tree skip the members.
        set: Option<Arc<InSet>>,
    },
    /// `(needle, ..) [NOT] IN ((..), ..)` of rows that are all literal.
    InRows {
        /// The parts of the row that is looked up.
        needle: Vec<Expr>,
        /// The list. Walks and rewrites of the tree skip it.
        list: Arc<RowList>,
        /// Whether it is `NOT IN`.
        negated: bool,
    },
    /// `value [NOT] LIKE pattern [ESCAPE escape]`.
    Like {
        /// The text.
        value: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that makes `%`, `_` and itself literal; None if it was given as ''.
        escape: Option<char>,
        /// Whether it is `NOT LIKE`.
        negated: bool,
        /// The collation that compares characters. LIKE never ignores trailing spaces.
        collation: Collation,
        /// The compiled pattern, if it is a literal.
        compiled: Option<Arc<LikePattern>>,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE otherwise] END`, and `IF`.
    Case {
        /// The value that is compared with each `WHEN`; evaluated once.
        operand: Option<Box<Expr>>,
        /// The branches, tried in order.
        whens: Vec<When>,
        /// The result if no branch is taken; NULL if None.
        otherwise: Option<Box<Expr>>,
    },
    /// The first operand that is not NULL; also `IFNULL`.
    Coalesce(Vec<Expr>),
    /// `CAST(operand AS ..)` to the type of the node.
    Cast {
        /// The operand.
        operand: Box<Expr>,
    },
}

/// One branch of a `CASE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct When {
    /// A condition, or with an operand the value it is compared with.
    pub condition: Expr,
    /// The domain of the comparison with the operand, if there is one.
    pub domain: Option<CompareDomain>,
    /// The value of the `CASE` if this branch is taken.
    pub result: Expr,
}

/// The domain into which two operands are converted before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareDomain {
    /// Integers of either sign, by value: -1 is less than 18446744073709551615.
    Integer,
    /// Exact decimals.
    Decimal,
    /// DOUBLE: for a string and a number, and whenever one operand is DOUBLE.
    Double,
    /// Strings under a collation; numbers and dates as their text.
    String(Collation),
    /// Days.
    Date,
    /// Days with a time of day; a DATE is its midnight, a TIME is of today.
    DateTime,
    /// Times.
    Time,
    /// Documents; a string is converted to a JSON string.
    Json,
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: DECIMAL or DOUBLE, never an integer.
    Divide,
    /// `DIV`: the integer part of the quotient.
    IntegerDivide,
    /// `%`, `MOD`: the remainder, with the sign of the left operand.
    Modulo,
}

impl fmt::Display for ArithmeticOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::IntegerDivide => "DIV",
            ArithmeticOp::Modulo => "%",
        })
    }
}
