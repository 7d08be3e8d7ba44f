//! Compiles the programs of the catalog.

use crate::program_code::{Code, CompileContext, Slot, compile};
use crate::session::Session;
use crate::settings::{Modes, Settings};
use leafline_expr::ProgramName;
use leafline_planner::binder::StoredFunction;
use leafline_syntax::ast::StatementKind;
use leafline_syntax::{MAX_NESTING, ParseLimits, Privilege};
use leafline_table::ProgramDef;
use leafline_types::MysqlError;
use leafline_types::words::ProgramKind;
use std::sync::Arc;

/// A program's definition and its compiled form.
pub(crate) type Loaded = (Arc<ProgramDef>, Arc<Code>);

/// Returns a program of the catalog in compiled form; `None` if there is none of that name.
///
/// # Errors
/// Errors of compiling it.
pub(crate) fn program(
    session: &mut Session,
    kind: ProgramKind,
    database: &str,
    name: &str,
) -> Result<Option<Loaded>, MysqlError> {
    let catalog = session.instance.engine().catalog();
    let Some(def) = catalog.program(kind, database, name) else { return Ok(None) };
    code(session, def).map(|code| Some((def.clone(), code)))
}

/// Returns the compiled form of a definition.
///
/// # Errors
/// Errors of compiling it.
pub(super) fn code(session: &mut Session, def: &Arc<ProgramDef>) -> Result<Arc<Code>, MysqlError> {
    if let Some(code) = session.kept.programs.find(def) {
        return Ok(code);
    }
    let code = shared(session, def)?;
    session.kept.programs.keep(def, &code);
    Ok(code)
}

/// Compiles a procedure, function or event that is about to be created.
///
/// # Errors
/// Errors of compiling it, such as 1074 for a type.
pub(crate) fn check_body(session: &Session, def: &ProgramDef) -> Result<(), MysqlError> {
    compiled(session, def, Vec::new()).map(|_| ())
}

/// Returns the compiled form that all sessions share.
///
/// # Errors
/// Errors of compiling it.
fn shared(session: &Session, def: &Arc<ProgramDef>) -> Result<Arc<Code>, MysqlError> {
    let programs = session.instance.programs();
    if let Some(code) = programs.find(def) {
        return Ok(code);
    }
    let code = Arc::new(compiled(session, def, Vec::new())?);
    programs.keep(def, &code);
    Ok(code)
}

/// Compiles a definition under the `sql_mode` that it was created with. `rows` are the columns of a trigger's rows: `NEW` or `OLD`,
/// and the column.
///
/// # Errors
/// Errors of parsing and compiling its text.
pub(super) fn compiled(
    session: &Session,
    def: &ProgramDef,
    rows: Vec<(&'static str, Slot)>,
) -> Result<Code, MysqlError> {
    let text = format!("CREATE {}", def.text);
    let settings = Settings { sql_mode: Modes::from_bits(def.context.sql_mode)?, ..session.settings.clone() };
    let limits =
        ParseLimits { cancel: Some(&session.cancel), memory: settings.parser_memory, nesting: MAX_NESTING };
    let statement = leafline_syntax::parse_within(&text, settings.lex_mode(), limits)?;
    let StatementKind::CreateProgram(create) = statement.kind else {
        return Err(MysqlError::internal("the text of a stored program is another statement"));
    };
    let context = CompileContext {
        name: format!("{}.{}", def.database, def.name),
        collation: def.context.database_collation,
        rows,
        text: &text,
    };
    compile(&create, context)
}

/// Checks the privilege to run a routine.
///
/// # Errors
/// 1370.
pub(super) fn check_execute(session: &Session, def: &ProgramDef) -> Result<(), MysqlError> {
    session.login.access.check_routine(Privilege::Execute, def.kind, &def.database, &def.name)
}

impl Session {
    /// Returns the facts about a stored function that binding a call needs; `None` if there is none of that name.
    ///
    /// # Errors
    /// Errors of compiling it.
    pub(crate) fn stored_function(
        &self,
        database: &str,
        name: &str,
    ) -> Result<Option<StoredFunction>, MysqlError> {
        let catalog = self.instance.engine().catalog();
        let Some(def) = catalog.program(ProgramKind::Function, database, name) else { return Ok(None) };
        let code = match self.kept.programs.find(def) {
            Some(code) => code,
            None => shared(self, def)?,
        };
        let Some(returns) = &code.returns else {
            return Err(MysqlError::internal("a stored function without a type"));
        };
        Ok(Some(StoredFunction {
            name: Arc::new(ProgramName { database: def.database.clone(), name: def.name.clone() }),
            parameters: code.parameters.len(),
            returns: returns.expr_type(),
            is_deterministic: def.routine().is_some_and(|routine| routine.deterministic),
        }))
    }
}
