//! The state of one call of a program: its variables, open cursors and active handlers.
//!
//! Frames are data. CALL inside a procedure pushes a frame, so that recursion takes no stack of the thread.

use crate::accounts::Access;
use crate::program_code::{Code, StepPlans};
use crate::settings::Modes;
use leafline_table::ProgramDef;
use leafline_types::{Batch, Charset, Collation, ExprType, Value, Warning, Warnings, WarningsMark};
use std::collections::VecDeque;
use std::sync::Arc;

/// One call of a program.
pub(crate) struct Frame {
    /// The program.
    pub(crate) code: Arc<Code>,
    /// Its definition; `None` for a program that is not in the catalog.
    pub(crate) def: Option<Arc<ProgramDef>>,
    /// The step that runs.
    pub(crate) at: usize,
    /// The variables.
    pub(crate) slots: Vec<Value>,
    /// Whether each variable was assigned; kept for triggers, and empty elsewhere.
    pub(crate) assigned: Vec<bool>,
    /// The open cursors.
    pub(crate) cursors: Vec<Option<OpenCursor>>,
    /// The handlers whose bodies run, the innermost last.
    pub(crate) active: Vec<ActiveHandler>,
    /// The plans of steps.
    pub(crate) plans: StepPlans,
    /// The variables that take the values of OUT and INOUT parameters.
    pub(crate) outputs: Vec<(usize, Target)>,
    /// The settings of the caller, which come back at the end.
    pub(crate) caller: Option<CallerContext>,
    /// The place in the diagnostics at which the call began.
    pub(crate) mark: WarningsMark,
    /// The mark of the prepared statement whose EXECUTE calls the program.
    pub(crate) executed: Option<Arc<()>>,
}

impl Frame {
    /// Notes that a variable of a trigger was assigned.
    #[inline]
    pub(crate) fn note_assigned(&mut self, slot: usize) {
        if let Some(assigned) = self.assigned.get_mut(slot) {
            *assigned = true;
        }
    }
}

/// A variable that takes the value of an OUT or INOUT parameter.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A user variable.
    User(String),
    /// A variable of the calling program.
    Slot(usize),
    /// A parameter of the client's prepared statement, by its number: the value goes to the client.
    Client(usize),
}

/// A handler whose body runs.
pub(crate) struct ActiveHandler {
    /// The depth of the scope that declares it.
    pub(crate) depth: usize,
    /// The step at which CONTINUE goes on.
    pub(crate) resume: usize,
    /// The condition, and the diagnostics when the handler began.
    pub(crate) handled: Arc<(Warning, Warnings)>,
    /// The place in the diagnostics at which it began.
    pub(crate) mark: WarningsMark,
}

/// An open cursor: its rows, read when it was opened.
pub(crate) struct OpenCursor {
    /// The types of the columns.
    pub(crate) types: Vec<ExprType>,
    /// The batches that are not fetched.
    pub(crate) batches: VecDeque<Batch>,
    /// The next row of the first batch.
    pub(crate) row: usize,
    /// The memory of the rows, bytes.
    pub(crate) bytes: usize,
}

/// The settings of a caller that a program replaces.
pub(crate) struct CallerContext {
    /// `sql_mode`.
    pub(crate) sql_mode: Modes,
    /// `character_set_client`.
    pub(crate) client_charset: Charset,
    /// `collation_connection`.
    pub(crate) collation: Collation,
    /// `collation_database`.
    pub(crate) database_collation: Collation,
    /// The current database, if it is another than the program's.
    pub(crate) database: Option<Option<String>>,
    /// `CURRENT_USER()`, if the definer is another one in the program.
    pub(crate) current_user: Option<String>,
    /// The rights.
    pub(crate) access: Arc<Access>,
}
