//! Stored programs that a statement calls: functions in its expressions, and triggers of the tables that it changes.

use super::Binder;
use super::expression::{Bound, ExpressionBinder};
use leafline_expr::{Expr, ExprKind, ProgramCall, ProgramName};
use leafline_syntax::ast;
use leafline_table::TableDef;
use leafline_types::{ExprType, MysqlError};
use std::sync::Arc;

/// The facts about a stored function that an expression which calls it depends on.
#[derive(Debug, Clone)]
pub struct StoredFunction {
    /// The function's name.
    pub name: Arc<ProgramName>,
    /// The number of its parameters.
    pub parameters: usize,
    /// The type of its result.
    pub returns: ExprType,
    /// Whether it promises the same result for the same arguments (DETERMINISTIC).
    pub is_deterministic: bool,
}

impl Binder<'_> {
    /// Notes that a statement changes rows of a table: its triggers are stored programs that the statement calls.
    pub(super) fn note_triggers(&mut self, table: &TableDef) {
        self.calls_programs |= self.context.catalog.has_triggers(table);
    }
}

impl ExpressionBinder<'_, '_, '_> {
    /// Binds the call of a stored function of `database`, or without one of the current database.
    ///
    /// # Errors
    /// 1305 if there is no such function, 1318 for a wrong number of arguments, 1370 without the privilege EXECUTE.
    pub(super) fn stored_call(&mut self, database: Option<&str>, name: &str, args: &[ast::Expr]) -> Bound {
        let context = self.binder.context;
        let Some(database) = database.or(context.database) else {
            return Err(MysqlError::does_not_exist("FUNCTION", name));
        };
        let Some(function) = context.catalog.stored_function(database, name)? else {
            return Err(MysqlError::does_not_exist("FUNCTION", format_args!("{database}.{name}")));
        };
        // In a view this is the definer's privilege.
        context.access.check_function(&function.name.database, &function.name.name)?;
        if function.parameters != args.len() {
            let ProgramName { database, name } = &*function.name;
            let name = format!("{database}.{name}");
            return Err(MysqlError::wrong_routine_argument_count(
                "FUNCTION",
                name,
                function.parameters,
                args.len(),
            ));
        }
        let args = self.list(args)?;
        let is_constant = args.iter().all(|arg| arg.is_constant() && arg.is_constant_for_planning());
        self.binder.calls_programs = true;
        if !function.is_deterministic {
            self.binder.volatile_calls += 1;
        }
        let is_volatile = !(function.is_deterministic && is_constant);
        let call = ProgramCall { function: function.name.clone(), args, is_volatile };
        Ok(Expr { kind: ExprKind::Program(Box::new(call)), ty: function.returns })
    }
}
