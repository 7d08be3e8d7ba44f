//! Definitions of stored programs: procedures, functions, triggers and events, and calls of them.

use super::{AccountName, DataType, Expr, Ident, ProgramKind, ProgramStatement, SignalItem, Span, TableName};
pub use leafline_types::words::{DataAccess, EventStatus, Security, TriggerEvent, TriggerTime};

/// CREATE PROCEDURE, FUNCTION, TRIGGER and EVENT.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateProgram {
    /// DEFINER; `None` is the current account.
    pub definer: Option<AccountName>,
    /// Whether IF NOT EXISTS was written.
    pub if_not_exists: bool,
    /// The name.
    pub name: TableName,
    /// The parts that differ by kind.
    pub form: ProgramForm,
    /// The body.
    pub body: ProgramStatement,
    /// The place from CREATE's end without DEFINER and IF NOT EXISTS, that is from PROCEDURE, FUNCTION, TRIGGER or EVENT to
    /// the end of the statement. The catalog keeps this text.
    pub span: Span,
}

impl CreateProgram {
    /// The kind of the program.
    pub fn kind(&self) -> ProgramKind {
        match self.form {
            ProgramForm::Procedure(_) => ProgramKind::Procedure,
            ProgramForm::Function { .. } => ProgramKind::Function,
            ProgramForm::Trigger(_) => ProgramKind::Trigger,
            ProgramForm::Event(_) => ProgramKind::Event,
        }
    }
}

/// The head of a stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramForm {
    /// PROCEDURE.
    Procedure(Routine),
    /// FUNCTION.
    Function {
        /// Parameters and characteristics; every parameter is IN.
        routine: Routine,
        /// RETURNS.
        returns: DataType,
    },
    /// TRIGGER.
    Trigger(Trigger),
    /// EVENT.
    Event(Event),
}

/// Parameters and characteristics of a procedure or function.
#[derive(Debug, Clone, PartialEq)]
pub struct Routine {
    /// The parameters, in order.
    pub parameters: Vec<RoutineParameter>,
    /// The place of the text between the parentheses of the parameter list.
    pub parameters_span: Span,
    /// The characteristics.
    pub characteristics: Characteristics,
}

/// One parameter of a routine.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParameter {
    /// IN, OUT or INOUT.
    pub direction: Direction,
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: DataType,
}

/// The direction of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// IN.
    #[default]
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
}

/// Characteristics of a routine; `None` and false where nothing was written. The last of each kind counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Characteristics {
    /// COMMENT.
    pub comment: Option<String>,
    /// DETERMINISTIC: `Some(true)`, NOT DETERMINISTIC: `Some(false)`.
    pub deterministic: Option<bool>,
    /// The use of data.
    pub data: Option<DataAccess>,
    /// SQL SECURITY.
    pub security: Option<Security>,
}

/// The head of a trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// The table.
    pub table: TableName,
    /// BEFORE or AFTER.
    pub time: TriggerTime,
    /// The change that fires it.
    pub event: TriggerEvent,
    /// FOLLOWS or PRECEDES.
    pub order: Option<TriggerOrder>,
}

/// A trigger's place among those of the same table, time and event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOrder {
    /// True for FOLLOWS, false for PRECEDES.
    pub follows: bool,
    /// The other trigger.
    pub other: Ident,
}

/// The head of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// ON SCHEDULE.
    pub schedule: Schedule,
    /// ON COMPLETION PRESERVE: `Some(true)`, NOT PRESERVE: `Some(false)`.
    pub preserve: Option<bool>,
    /// ENABLE, DISABLE, DISABLE ON REPLICA.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<String>,
}

/// ON SCHEDULE.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// AT a moment.
    At(Expr),
    /// EVERY amount unit.
    Every {
        /// The amount.
        amount: Box<Expr>,
        /// The unit.
        unit: super::IntervalUnit,
        /// STARTS.
        starts: Option<Expr>,
        /// ENDS.
        ends: Option<Expr>,
    },
}

/// ALTER PROCEDURE, FUNCTION and EVENT.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterProgram {
    /// ALTER PROCEDURE or FUNCTION: the characteristics written replace the old ones.
    Routine {
        /// Procedure or function.
        kind: ProgramKind,
        /// The name.
        name: TableName,
        /// The characteristics.
        characteristics: Characteristics,
    },
    /// ALTER EVENT; at least one part is there.
    Event(Box<AlterEvent>),
}

/// ALTER EVENT.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    /// DEFINER.
    pub definer: Option<AccountName>,
    /// The event.
    pub name: TableName,
    /// ON SCHEDULE.
    pub schedule: Option<Schedule>,
    /// ON COMPLETION PRESERVE: `Some(true)`, NOT PRESERVE: `Some(false)`.
    pub preserve: Option<bool>,
    /// RENAME TO.
    pub rename: Option<TableName>,
    /// ENABLE, DISABLE.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<String>,
    /// DO: the new body, whose place is in its span.
    pub body: Option<ProgramStatement>,
}

/// `CALL name [(arguments)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The procedure.
    pub name: TableName,
    /// The arguments.
    pub arguments: Vec<Expr>,
}

/// A call of a stored function by its qualified name.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCall {
    /// The function.
    pub name: TableName,
    /// The arguments.
    pub arguments: Vec<Expr>,
}

/// An item of one condition of the diagnostics area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticsCondition {
    /// An item that SIGNAL can set.
    Item(SignalItem),
    /// RETURNED_SQLSTATE.
    ReturnedSqlstate,
}
