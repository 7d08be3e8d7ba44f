//! CALL, and calls of stored functions.

use super::context;
use super::evaluate::{Surroundings, converted};
use super::frame::{Frame, Target};
use super::loaded;
use super::run::{Run, drive};
use crate::evaluate;
use crate::program_code::{Code, StatementCode};
use crate::session::{CallHost, Outcome, Session};
use leafline_expr::{EvalContext, ProgramCall, ProgramRunner};
use leafline_syntax::ast::{Call, Direction, Expr, ExprKind};
use leafline_table::ProgramDef;
use leafline_types::words::ProgramKind;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The qualifier of the columns that a BEFORE trigger may assign.
const NEW: &str = "NEW";

/// The statement that calls.
pub(super) struct Source<'s> {
    /// Its text.
    pub(super) sql: &'s str,
    /// Its parameters.
    pub(super) parameters: &'s [Value],
    /// The user variables of EXECUTE .. USING.
    pub(super) using: Option<&'s [String]>,
    /// The statement of the program that contains it.
    pub(super) caller: Option<&'s StatementCode>,
    /// Whether that is a BEFORE trigger, whose columns of the new row are variables.
    pub(super) assigns_new: bool,
}

/// Runs CALL outside of programs.
pub(crate) fn call(
    session: &mut Session,
    call: &Call,
    (sql, parameters): (&str, &[Value]),
) -> Result<Outcome, MysqlError> {
    let executed = session.take_executed();
    let using = executed.as_ref().map(|executed| executed.using.as_slice());
    let mut frame =
        frame(session, call, Source { sql, parameters, using, caller: None, assigns_new: false })?;
    frame.executed = executed.map(|executed| executed.call);
    let run = Box::new(Run::new(session, sql, frame)?);
    drive(run, session)
}

/// Makes the frame of a call: finds the procedure, checks the rights, evaluates the arguments, enters its
/// settings.
///
/// # Errors
/// 1305, 1318, 1370, 1414; errors of the arguments.
pub(super) fn frame(session: &mut Session, call: &Call, source: Source<'_>) -> Result<Frame, MysqlError> {
    let name = &call.name.name.value;
    let database = call.name.database.as_ref().map(|database| database.value.clone());
    let database = database.or_else(|| session.database().map(str::to_owned));
    let database = database.ok_or_else(MysqlError::no_database_selected)?;
    let Some((def, code)) = loaded::program(session, ProgramKind::Procedure, &database, name)? else {
        return Err(MysqlError::does_not_exist("PROCEDURE", format_args!("{database}.{name}")));
    };
    loaded::check_execute(session, &def)?;
    if code.parameters.len() != call.arguments.len() {
        let (expected, got) = (code.parameters.len(), call.arguments.len());
        return Err(MysqlError::wrong_routine_argument_count("PROCEDURE", &code.name, expected, got));
    }
    let mut outputs = Vec::new();
    let mut slots = vec![Value::Null; code.slots.len()];
    let around = Surroundings::of(session);
    for (at, (argument, direction)) in call.arguments.iter().zip(&code.parameters).enumerate() {
        if *direction != Direction::In {
            let target = target(argument, &source);
            let target = target.ok_or_else(|| MysqlError::argument_not_variable(at + 1, &code.name))?;
            outputs.push((at, target));
        }
        if *direction == Direction::Out {
            continue;
        }
        let (value, ty) = evaluate::constant(session, argument, (source.sql, source.parameters))?;
        if let (Some(slot), Some(declared)) = (slots.get_mut(at), code.slots.get(at)) {
            *slot = converted(session, declared, value, &ty.sql, &around)?;
        }
    }
    begin(session, (Some(def), code), slots, outputs)
}

/// Makes the frame of a program whose arguments are known.
pub(super) fn begin(
    session: &mut Session,
    (def, code): (Option<Arc<ProgramDef>>, Arc<Code>),
    slots: Vec<Value>,
    outputs: Vec<(usize, Target)>,
) -> Result<Frame, MysqlError> {
    let caller = def.as_ref().map(|def| context::enter(session, def)).transpose()?;
    let week_format = session.settings.default_week_format;
    let plans = session.kept.programs.take_plans(def.as_ref(), &code, week_format);
    let cursors = code.cursors.iter().map(|_| None).collect();
    let (active, mark) = (Vec::new(), session.warnings.mark());
    let assigned = Vec::new();
    Ok(Frame {
        code,
        def,
        at: 0,
        slots,
        assigned,
        cursors,
        active,
        plans,
        outputs,
        caller,
        mark,
        executed: None,
    })
}

/// The variable that takes the value of an OUT or INOUT parameter.
fn target(argument: &Expr, source: &Source<'_>) -> Option<Target> {
    match &argument.kind {
        ExprKind::UserVariable(name) => Some(Target::User(name.clone())),
        ExprKind::Parameter(number) => match source.using {
            Some(names) => names.get(*number).map(|name| Target::User(name.clone())),
            None => source.caller.is_none().then_some(Target::Client(*number)),
        },
        ExprKind::Column(name) if name.database.is_none() => {
            let caller = source.caller?;
            let row = name.table.as_ref().map(|table| table.value.as_str());
            if row.is_some_and(|row| !(source.assigns_new && row.eq_ignore_ascii_case(NEW))) {
                return None;
            }
            let at = caller.names.find(row, &name.column.value)?;
            caller.slots.get(at).map(|slot| Target::Slot(*slot))
        }
        _ => None,
    }
}

impl ProgramRunner for CallHost {
    fn call(
        &self,
        call: &ProgramCall,
        args: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        if !call.is_volatile
            && let Some(value) = self.kept(call)
        {
            return Ok(value);
        }
        let value =
            self.run(&mut cx.state.variables, cx.warnings, |inner| call_function(inner, call, args))?;
        if !call.is_volatile {
            self.keep(call, &value);
        }
        Ok(value)
    }
}

/// Runs a stored function with these arguments, and returns its value.
///
/// # Errors
/// 1305 if there is no such function any more, 1424 if it is called inside its own call; errors of its
/// statements.
fn call_function(
    session: &mut Session,
    call: &ProgramCall,
    arguments: &[Value],
) -> Result<Value, MysqlError> {
    let (database, name) = (&call.function.database, &call.function.name);
    let Some((def, code)) = loaded::program(session, ProgramKind::Function, database, name)? else {
        return Err(MysqlError::does_not_exist("FUNCTION", format_args!("{database}.{name}")));
    };
    let around = Surroundings::of(session);
    let mut slots = Vec::with_capacity(code.slots.len());
    for ((value, argument), declared) in arguments.iter().zip(&call.args).zip(&code.slots) {
        slots.push(converted(session, declared, value.clone(), &argument.ty.sql, &around)?);
    }
    slots.resize(code.slots.len(), Value::Null);
    session.inside_program(&def.clone(), |session| {
        let frame = begin(session, (Some(def), code), slots, Vec::new())?;
        let mut run = Run::new(session, "", frame)?;
        let result = run.go(session);
        run.end(session);
        match result? {
            Some(rows) => {
                drop(rows);
                Err(MysqlError::no_result_set("function"))
            }
            None => run.returned.take().ok_or_else(|| MysqlError::internal("a function without a value")),
        }
    })
}

/// Runs the body of an event to its end, and gives up its results. `text` is the body, as other sessions see it.
///
/// # Errors
/// Errors of compiling it, 1449 if its definer does not exist, errors of its statements.
pub(crate) fn run_event(session: &mut Session, def: &Arc<ProgramDef>, text: &str) -> Result<(), MysqlError> {
    let mut outcome = session.run_as_statement(text, |session| {
        let code = loaded::code(session, def)?;
        let slots = vec![Value::Null; code.slots.len()];
        let frame = begin(session, (Some(def.clone()), code), slots, Vec::new())?;
        let run = Box::new(Run::new(session, text, frame)?);
        drive(run, session)
    })?;
    loop {
        if let Outcome::Rows(mut rows) = outcome {
            while rows.next_batch(session)?.is_some() {}
        }
        match session.next_result()? {
            Some(next) => outcome = next,
            None => return Ok(()),
        }
    }
}
