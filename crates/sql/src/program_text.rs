//! The text of stored programs: their parts, and the statement that creates one again.

use crate::definition_text::literal;
use crate::settings::{Modes, TimeZone};
use leafline_syntax::ast::{CreateProgram, ProgramForm, Routine};
use leafline_syntax::{AccountId, ParseLimits, parse_program, quoted};
use leafline_table::{EventDef, EventSchedule, ProgramDef};
use leafline_types::convert::to_text;
use leafline_types::words::{DataAccess, EventStatus, ProgramKind, Security};
use leafline_types::{DateTime, IntervalUnit, MysqlError, SqlType, Value};
use std::fmt::Write as _;

/// Parses the source of a program.
///
/// # Errors
/// The errors of the parser; 1231 for modes that are not known.
pub(crate) fn parsed(program: &ProgramDef) -> Result<CreateProgram, MysqlError> {
    let mode = Modes::from_bits(program.context.sql_mode)?.lex_mode();
    parse_program(&program.text, mode, ParseLimits::default())
}

/// The text of a program's body.
///
/// # Errors
/// The errors of [`parsed`].
pub(crate) fn body(program: &ProgramDef) -> Result<&str, MysqlError> {
    Ok(parsed(program)?.body.span.text(&program.text))
}

/// The parameters and characteristics of a procedure or function.
pub(crate) fn routine(create: &CreateProgram) -> Option<&Routine> {
    match &create.form {
        ProgramForm::Procedure(routine) | ProgramForm::Function { routine, .. } => Some(routine),
        ProgramForm::Trigger(_) | ProgramForm::Event(_) => None,
    }
}

/// The account of a program's definer.
pub(crate) fn definer(program: &ProgramDef) -> AccountId {
    AccountId::new(&program.definer.0, &program.definer.1)
}

/// The statement that creates a program. `returns` is the type of a function's result.
///
/// # Errors
/// The errors of [`parsed`].
pub(crate) fn create_statement(program: &ProgramDef, returns: Option<&str>) -> Result<String, MysqlError> {
    let create = parsed(program)?;
    let body = create.body.span.text(&program.text);
    let mut out = format!(
        "CREATE DEFINER={} {} {}",
        definer(program).backquoted(),
        program.kind.name(),
        quoted(&program.name)
    );
    match program.kind {
        ProgramKind::Procedure | ProgramKind::Function => {
            let parameters = routine(&create).map_or("", |own| own.parameters_span.text(&program.text));
            let _ = write!(out, "({parameters})");
            if let Some(returns) = returns {
                let _ = write!(out, " RETURNS {returns}");
            }
            out.push('\n');
            characteristics(&mut out, program);
        }
        ProgramKind::Trigger => {
            if let Some(own) = program.trigger() {
                let (time, event) = (own.time.name(), own.event.name());
                let _ = write!(out, " {time} {event} ON {} FOR EACH ROW ", quoted(&own.table));
            }
        }
        ProgramKind::Event => {
            if let Some(event) = program.event() {
                schedule(&mut out, event);
                if !program.comment.is_empty() {
                    let _ = write!(out, " COMMENT {}", literal(&program.comment));
                }
            }
            out.push_str(" DO ");
        }
    }
    out.push_str(body);
    Ok(out)
}

/// Writes the characteristics of a routine that are not MySQL's defaults.
fn characteristics(out: &mut String, program: &ProgramDef) {
    if let Some(own) = program.routine() {
        if own.data != DataAccess::ContainsSql {
            let _ = writeln!(out, "    {}", own.data.name());
        }
        if own.deterministic {
            out.push_str("    DETERMINISTIC\n");
        }
        if own.security == Security::Invoker {
            out.push_str("    SQL SECURITY INVOKER\n");
        }
    }
    if !program.comment.is_empty() {
        let _ = writeln!(out, "    COMMENT {}", literal(&program.comment));
    }
}

/// Writes the schedule and the state of an event.
fn schedule(out: &mut String, event: &EventDef) {
    let time = |micros: i64| {
        let local = local_time(micros, event).map_or(Value::Null, Value::DateTime);
        to_text(&local, &SqlType::DateTime { fsp: 0 }).unwrap_or_default()
    };
    match &event.schedule {
        EventSchedule::At(at) => {
            let _ = write!(out, " ON SCHEDULE AT '{}'", time(*at));
        }
        EventSchedule::Every { amount, unit, starts, ends } => {
            let _ = write!(
                out,
                " ON SCHEDULE EVERY {} {} STARTS '{}'",
                shown_amount(amount, *unit),
                unit.name(),
                time(*starts)
            );
            if let Some(ends) = ends {
                let _ = write!(out, " ENDS '{}'", time(*ends));
            }
        }
    }
    out.push_str(if event.preserve { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" });
    out.push_str(match event.status {
        EventStatus::Enabled => " ENABLE",
        EventStatus::Disabled => " DISABLE",
        EventStatus::DisabledOnReplica => " DISABLE ON SLAVE",
    });
}

/// The amount of an interval as SHOW EVENTS writes it: quoted if its unit has several parts.
pub(crate) fn shown_amount(amount: &str, unit: IntervalUnit) -> String {
    if unit.parts().len() > 1 { format!("'{amount}'") } else { amount.to_owned() }
}

/// A time of an event's schedule in the event's time zone.
pub(crate) fn local_time(micros: i64, event: &EventDef) -> Option<DateTime> {
    let zone = TimeZone::parse(&event.time_zone).unwrap_or_else(|_| TimeZone::system());
    zone.zone().to_local(DateTime::from_epoch_micros(micros)?)
}
