//! The nodes of an expression, and what each says beyond its operands.
//!
//! An expression is immutable and shared between executions: what changes from run to run (parameters, the time,
//! the session) is read from the `EvalContext`. Nodes are made by `build`, which gives them MySQL's types; a pass
//! that rewrites a tree keeps the types it finds.

pub use leafline_types::words::CompareOp;
use std::fmt;
use std::sync::Arc;

use super::in_rows::RowList;
use super::in_set::InSet;
use super::like::LikePattern;
use super::subquery::Subquery;
use crate::functions::FunctionId;
use leafline_types::collation::Collation;
use leafline_types::value::{ExprType, Value};

/// An expression and its type.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of its value. Conditions have BIGINT, with the values 0, 1 and NULL.
    pub ty: ExprType,
}

/// What an expression computes.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A constant.
    Literal(Value),
    /// A column: the binder's number in a bound statement, the position in the batch in a physical plan.
    Column(usize),
    /// A parameter of the statement, numbered from 0.
    Parameter(usize),
    /// A value of the row of an enclosing query, numbered from 0: in a subquery.
    Outer(usize),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// A function of the table in [`crate::functions`].
    Call {
        /// Which.
        function: FunctionId,
        /// As many as the function takes.
        args: Vec<Expr>,
    },
    /// `left op right`. Its own type says in which domain: an integer type, DECIMAL or DOUBLE.
    Arithmetic {
        /// Which.
        op: ArithmeticOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `-operand`.
    Negate(Box<Expr>),
    /// All of two or more; evaluated in order, and not beyond what is FALSE already.
    And(Vec<Expr>),
    /// Any of two or more; evaluated in order, and not beyond what is TRUE already.
    Or(Vec<Expr>),
    /// Exactly one of two.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT operand`.
    Not(Box<Expr>),
    /// `left op right`.
    Compare {
        /// Which.
        op: CompareOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// What both operands are converted to before they are compared.
        domain: CompareDomain,
    },
    /// `operand IS [NOT] NULL`; `IS UNKNOWN` too.
    IsNull {
        /// The operand.
        operand: Box<Expr>,
        /// `IS NOT NULL`.
        negated: bool,
    },
    /// `operand IS [NOT] TRUE` or `FALSE`: never NULL.
    IsTruth {
        /// The operand.
        operand: Box<Expr>,
        /// What it is tested for.
        truth: bool,
        /// `IS NOT`.
        negated: bool,
    },
    /// `needle [NOT] IN (list)`, all compared in one domain.
    InList {
        /// What is looked for.
        needle: Box<Expr>,
        /// Where; not empty. Shared, as lists can be long and conditions are copied while a plan is looked for.
        list: Arc<[Expr]>,
        /// `NOT IN`.
        negated: bool,
        /// What needle and list are converted to.
        domain: CompareDomain,
        /// The list as a set, where all of it is literal. Who walks or rewrites the tree does not meet the members then.
        set: Option<Arc<InSet>>,
    },
    /// `(needle, ..) [NOT] IN ((..), ..)` of rows that are all literal.
    InRows {
        /// The parts of the row that is looked for.
        needle: Vec<Expr>,
        /// Where. Who walks or rewrites the tree does not meet it.
        list: Arc<RowList>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `value [NOT] LIKE pattern [ESCAPE escape]`.
    Like {
        /// The text.
        value: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that takes the meaning from `%`, `_` and itself; none if it was given as ''.
        escape: Option<char>,
        /// `NOT LIKE`.
        negated: bool,
        /// How characters compare. LIKE never ignores trailing spaces.
        collation: Collation,
        /// The pattern made ready, where it is a literal.
        compiled: Option<Arc<LikePattern>>,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE otherwise] END`; `IF` too.
    Case {
        /// Compared with each `WHEN`, and evaluated once.
        operand: Option<Box<Expr>>,
        /// Tried in order.
        whens: Vec<When>,
        /// The result if no branch is taken; NULL if there is none.
        otherwise: Option<Box<Expr>>,
    },
    /// The first that is not NULL; `IFNULL` too.
    Coalesce(Vec<Expr>),
    /// `CAST(operand AS ..)`: to the type of the node.
    Cast {
        /// What is converted.
        operand: Box<Expr>,
    },
}

/// One branch of a `CASE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct When {
    /// A condition, or with an operand the value it is compared with.
    pub condition: Expr,
    /// How it is compared with the operand, if there is one.
    pub domain: Option<CompareDomain>,
    /// The value of the `CASE` if this branch is taken.
    pub result: Expr,
}

/// What two operands are converted to before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareDomain {
    /// Integers of either sign, by value: -1 is less than 18446744073709551615.
    Integer,
    /// Exact decimals.
    Decimal,
    /// DOUBLE: a string against a number, and whatever meets a DOUBLE.
    Double,
    /// Strings under a collation; numbers and dates as their text.
    String(Collation),
    /// Days.
    Date,
    /// Days with a time of day; a DATE is its midnight, a TIME is of today.
    DateTime,
    /// Times.
    Time,
    /// Documents; of a string the document that is this string.
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
