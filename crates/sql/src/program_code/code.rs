//! The compiled form of a stored program: flat steps over typed slots.
//!
//! A [`Code`] is immutable and shared between sessions. Its steps refer to slots, expressions, statements and
//! cursors by number. Handlers need no steps of their own to come into force: each step names the scope of
//! handlers that apply to it.

use super::names::Names;
use leafline_syntax::ast::{Direction, Expr, Span, Statement};
use leafline_types::words::ProgramKind;
use leafline_types::{Collation, ExprType, SqlType};
use std::ops::Range;
use std::sync::Arc;

/// A compiled stored program.
#[derive(Debug)]
pub(crate) struct Code {
    /// The text of the CREATE statement, which the spans of expressions and statements refer to.
    pub(crate) text: String,
    /// The kind of the program.
    pub(crate) kind: ProgramKind,
    /// Its name with its database, as errors name it.
    pub(crate) name: String,
    /// The variables; the parameters come first.
    pub(crate) slots: Vec<Slot>,
    /// The types of the slots, as expressions see them.
    pub(crate) types: Vec<ExprType>,
    /// The directions of the parameters.
    pub(crate) parameters: Vec<Direction>,
    /// The result of a function.
    pub(crate) returns: Option<Slot>,
    /// The steps; the last one is [`StepKind::End`].
    pub(crate) steps: Vec<Step>,
    /// The scopes of handlers; the first one has none.
    pub(crate) scopes: Vec<HandlerScope>,
    /// The expressions of steps.
    pub(crate) expressions: Vec<ExpressionCode>,
    /// The statements of steps and the queries of cursors.
    pub(crate) statements: Vec<StatementCode>,
    /// The statement of each cursor.
    pub(crate) cursors: Vec<usize>,
}

/// A variable.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// The name, for messages.
    pub(crate) name: String,
    /// The declared type.
    pub(crate) ty: SqlType,
    /// The collation of its text.
    pub(crate) collation: Collation,
}

impl Slot {
    /// The type that expressions see.
    pub(crate) fn expr_type(&self) -> ExprType {
        ExprType::column(self.ty.clone(), true, self.collation)
    }
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// The action.
    pub(crate) kind: StepKind,
    /// The scope of handlers that apply.
    pub(crate) scope: usize,
    /// The step that follows a CONTINUE handler of a condition of this step.
    pub(crate) resume: usize,
}

/// The action of a step.
#[derive(Debug)]
pub(crate) enum StepKind {
    /// Assigns the value of an expression to a slot.
    Set { slot: usize, value: usize },
    /// Sets a slot to NULL.
    Clear(usize),
    /// Continues at another step.
    Jump(usize),
    /// Continues at another step unless a condition is true.
    JumpUnless { condition: usize, target: usize },
    /// Continues at the step with the number that an expression gives.
    Switch { branch: usize, targets: Vec<usize> },
    /// Raises 1339.
    CaseMissing,
    /// Runs a statement.
    Sql(usize),
    /// Opens a cursor.
    Open(usize),
    /// Fetches a row of a cursor into slots.
    Fetch { cursor: usize, into: Vec<usize> },
    /// Closes a cursor.
    Close(usize),
    /// Closes the open cursors of blocks that are left.
    CloseAll(Range<usize>),
    /// Ends the body of a handler; goes on at the step, or where the condition was raised.
    EndHandler(Option<usize>),
    /// Ends a function with the value of an expression.
    Return(usize),
    /// Ends the program.
    End,
}

/// The handlers of one block.
#[derive(Debug, Default)]
pub(crate) struct HandlerScope {
    /// The scope of the block around it.
    pub(crate) parent: Option<usize>,
    /// The number of scopes around it.
    pub(crate) depth: usize,
    /// The handlers, in the order of their declarations.
    pub(crate) handlers: Vec<HandlerCode>,
}

/// A handler.
#[derive(Debug)]
pub(crate) struct HandlerCode {
    /// The conditions that it handles.
    pub(crate) conditions: Vec<Condition>,
    /// The first step of its body.
    pub(crate) entry: usize,
}

/// A condition that a handler names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A MySQL error number.
    Number(u16),
    /// An SQLSTATE.
    State([u8; 5]),
    /// SQLWARNING.
    Warning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    Exception,
}

/// An expression of a step. Its parameters are the slots, by number.
#[derive(Debug)]
pub(crate) struct ExpressionCode {
    /// The expression.
    pub(crate) expr: Expr,
    /// The names of variables that it may use.
    pub(crate) names: Arc<Names>,
}

/// A statement of a step. Its parameters are the slots that its text names.
#[derive(Debug)]
pub(crate) struct StatementCode {
    /// The statement.
    pub(crate) statement: Statement,
    /// Its place in the text.
    pub(crate) span: Span,
    /// The names of variables, with the positions in `slots`.
    pub(crate) names: Arc<Names>,
    /// The slots that are its parameters.
    pub(crate) slots: Vec<usize>,
    /// Their types.
    pub(crate) types: Arc<[ExprType]>,
}
