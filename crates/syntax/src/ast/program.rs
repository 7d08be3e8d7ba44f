//! The body of a stored program: compound statements, declarations and flow of control.
//!
//! Names of variables, conditions, cursors and labels stand as written. The parser checks that each is declared where it is
//! used (1324, 1327, 1308, 1319), once in its block (1330, 1331, 1332, 1333), and in MySQL's order of declarations.

use super::{DataType, DiagnosticsCondition, Expr, Ident, Span, Statement};

/// One statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramStatement {
    /// The statement's kind, with its parts.
    pub kind: ProgramStatementKind,
    /// Its place in the text of the whole CREATE statement, without the semicolon.
    pub span: Span,
}

/// The kinds of statements in a body.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramStatementKind {
    /// BEGIN .. END.
    Block(Box<Block>),
    /// IF.
    If {
        /// Conditions and their branches, in order.
        branches: Vec<(Expr, Vec<ProgramStatement>)>,
        /// ELSE.
        otherwise: Option<Vec<ProgramStatement>>,
    },
    /// CASE as a statement.
    Case {
        /// The value that the simple form compares.
        operand: Option<Expr>,
        /// WHEN and their branches, in order.
        branches: Vec<(Expr, Vec<ProgramStatement>)>,
        /// ELSE. Without it a value that no branch takes is error 1339.
        otherwise: Option<Vec<ProgramStatement>>,
    },
    /// `[label:] LOOP .. END LOOP`.
    Loop {
        /// The label.
        label: Option<Ident>,
        /// The statements.
        body: Vec<ProgramStatement>,
    },
    /// `[label:] WHILE condition DO .. END WHILE`.
    While {
        /// The label.
        label: Option<Ident>,
        /// The condition, tested before each round.
        condition: Expr,
        /// The statements.
        body: Vec<ProgramStatement>,
    },
    /// `[label:] REPEAT .. UNTIL condition END REPEAT`.
    Repeat {
        /// The label.
        label: Option<Ident>,
        /// The statements.
        body: Vec<ProgramStatement>,
        /// The condition, tested after each round; true ends the loop.
        until: Expr,
    },
    /// LEAVE label.
    Leave(Ident),
    /// ITERATE label.
    Iterate(Ident),
    /// RETURN expression.
    Return(Expr),
    /// OPEN cursor.
    Open(Ident),
    /// `FETCH [[NEXT] FROM] cursor INTO variables`.
    Fetch {
        /// The cursor.
        cursor: Ident,
        /// The variables of the program that take the columns.
        into: Vec<Ident>,
    },
    /// CLOSE cursor.
    Close(Ident),
    /// A statement that could stand outside a program too.
    Sql(Box<Statement>),
}

/// `[label:] BEGIN .. END`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// The label.
    pub label: Option<Ident>,
    /// The declarations, in order: variables and conditions, then cursors, then handlers.
    pub declarations: Vec<Declaration>,
    /// The statements.
    pub body: Vec<ProgramStatement>,
}

/// One DECLARE.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// Variables of one type with one default.
    Variables {
        /// The names.
        names: Vec<Ident>,
        /// Their type.
        data_type: Box<DataType>,
        /// DEFAULT, evaluated once for each name; without it NULL.
        default: Option<Expr>,
    },
    /// A name for a condition.
    Condition {
        /// The name.
        name: Ident,
        /// The condition, never another name.
        value: ConditionValue,
    },
    /// A cursor.
    Cursor {
        /// The name.
        name: Ident,
        /// Its query, a [`super::StatementKind::Query`].
        query: Box<Statement>,
        /// The query's place in the text.
        span: Span,
    },
    /// A handler.
    Handler(Box<HandlerDeclaration>),
}

/// DECLARE .. HANDLER.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerDeclaration {
    /// CONTINUE or EXIT.
    pub action: HandlerAction,
    /// The conditions it handles, never names: the parser puts the value of a name's declaration.
    pub conditions: Vec<ConditionValue>,
    /// Its body.
    pub body: ProgramStatement,
}

/// The place where a program goes on after a handler's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerAction {
    /// CONTINUE: the statement behind the one that raised the condition.
    Continue,
    /// EXIT: the end of the block that declares the handler.
    Exit,
}

/// A condition, as DECLARE CONDITION, DECLARE HANDLER and SIGNAL name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    /// A MySQL error number.
    Number(u16),
    /// `SQLSTATE [VALUE] 'xxxxx'`.
    State([u8; 5]),
    /// A name that DECLARE CONDITION gave; only SIGNAL and RESIGNAL keep it.
    Name(Ident),
    /// SQLWARNING.
    Warning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    Exception,
}

/// SIGNAL and RESIGNAL.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// True for RESIGNAL.
    pub again: bool,
    /// The condition, a state or a name; `None` only in RESIGNAL.
    pub condition: Option<ConditionValue>,
    /// SET item = value, in order, each item once (1641).
    pub items: Vec<(SignalItem, Expr)>,
    /// The state that a name in `condition` stands for, if its declaration is in scope; the parser puts it there.
    pub declared: Option<ConditionValue>,
}

/// An item that SIGNAL sets and GET DIAGNOSTICS reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalItem {
    /// CLASS_ORIGIN.
    ClassOrigin,
    /// SUBCLASS_ORIGIN.
    SubclassOrigin,
    /// CONSTRAINT_CATALOG.
    ConstraintCatalog,
    /// CONSTRAINT_SCHEMA.
    ConstraintSchema,
    /// CONSTRAINT_NAME.
    ConstraintName,
    /// CATALOG_NAME.
    CatalogName,
    /// SCHEMA_NAME.
    SchemaName,
    /// TABLE_NAME.
    TableName,
    /// COLUMN_NAME.
    ColumnName,
    /// CURSOR_NAME.
    CursorName,
    /// MESSAGE_TEXT.
    MessageText,
    /// MYSQL_ERRNO.
    MysqlErrno,
}

/// A variable that a statement writes: `@name`, or a variable of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariableTarget {
    /// A user variable, without `@`.
    User(String),
    /// A variable of the program.
    Local(Ident),
}

/// GET [CURRENT | STACKED] DIAGNOSTICS.
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    /// STACKED: the area that the handler's begin found (1787 outside a handler).
    pub stacked: bool,
    /// The items wanted.
    pub wanted: DiagnosticsWanted,
}

/// The items that GET DIAGNOSTICS reads.
#[derive(Debug, Clone, PartialEq)]
pub enum DiagnosticsWanted {
    /// Of the statement.
    Statement(Vec<(VariableTarget, StatementItem)>),
    /// `CONDITION number`.
    Condition {
        /// The number, from 1.
        number: Expr,
        /// Targets and items.
        items: Vec<(VariableTarget, DiagnosticsCondition)>,
    },
}

/// An item of the whole diagnostics area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementItem {
    /// NUMBER: how many conditions there are.
    Number,
    /// ROW_COUNT.
    RowCount,
}
