//! CREATE EVENT and ALTER EVENT: the schedule, and what happens to one that is over.

use super::definitions::database_of;
use super::program_context::{context_of, definer_of, note_missing_definer};
use crate::evaluate;
use crate::session::Session;
use leafline_syntax::ast::{
    AlterEvent, CastKind, CastTarget, Event, Expr, ExprKind, ProgramKind, Schedule, Span,
};
use leafline_table::{EventDef, EventSchedule, ProgramAttributes};
use leafline_types::convert::to_text;
use leafline_types::words::EventStatus;
use leafline_types::{Interval, IntervalUnit, MysqlError, SqlType, Value};

/// Returns the attributes of a new event; `None`, with a note, if its schedule is over and it would not be preserved.
///
/// # Errors
/// 1525, 1542 and 1543 for a schedule that makes no sense; the errors of its expressions.
pub(super) fn attributes(
    session: &mut Session,
    event: &Event,
    text: (&str, &[Value]),
) -> Result<Option<EventDef>, MysqlError> {
    let schedule = evaluated(session, &event.schedule, text)?;
    let mut made = EventDef {
        schedule,
        preserve: event.preserve.unwrap_or_default(),
        status: event.status.unwrap_or_default(),
        last_executed: None,
        originator: 1,
        time_zone: session.settings.time_zone.to_string(),
    };
    if is_over(session, &made.schedule) {
        if !made.preserve {
            session.warnings.note(MysqlError::event_created_in_the_past());
            return Ok(None);
        }
        made.status = EventStatus::Disabled;
        session.warnings.note(MysqlError::event_in_the_past());
    }
    Ok(Some(made))
}

/// Runs ALTER EVENT.
///
/// # Errors
/// 1046 without a database, 1539 if there is no such event, 1537 and 1551 for its new name, 1589 for a new schedule that is
/// over unless the event is preserved; the errors of [`attributes`]; errors of the engine.
pub(super) fn alter(
    session: &mut Session,
    alter: &AlterEvent,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    let database = database_of(session, &alter.name)?;
    let name = &alter.name.name.value;
    let catalog = session.instance.engine().catalog();
    let Some(known) = catalog.program(ProgramKind::Event, &database, name) else {
        return Err(MysqlError::unknown_event(name));
    };
    let mut changed = (**known).clone();
    let schedule = match &alter.schedule {
        Some(schedule) => Some(evaluated(session, schedule, text)?),
        None => None,
    };
    if let ProgramAttributes::Event(event) = &mut changed.attributes {
        event.preserve = alter.preserve.unwrap_or(event.preserve);
        event.status = alter.status.unwrap_or(event.status);
        if let Some(schedule) = schedule {
            event.schedule = schedule;
            event.time_zone = session.settings.time_zone.to_string();
            if is_over(session, &event.schedule) {
                if !event.preserve {
                    return Err(MysqlError::event_altered_in_the_past());
                }
                event.status = EventStatus::Disabled;
                session.warnings.note(MysqlError::event_in_the_past());
            }
        }
    }
    if let Some(comment) = &alter.comment {
        changed.comment.clone_from(comment);
    }
    if let Some(body) = alter.stored_text(text.0, session.settings.lex_mode()) {
        changed.text = body;
        changed.context = context_of(session, changed.context.database_collation);
    }
    if let Some(to) = &alter.rename {
        changed.database = database_of(session, to)?;
        changed.name.clone_from(&to.name.value);
        let is_same = changed.name.to_lowercase() == known.name.to_lowercase();
        if is_same && changed.database == known.database {
            return Err(MysqlError::event_same_name());
        }
    }
    let definer = definer_of(session, alter.definer.as_ref())?;
    changed.definer = (definer.user.clone(), definer.host.clone());
    changed.modified = session.now().utc.epoch_micros().unwrap_or(changed.modified);
    session.instance.engine().ddl().alter_program(changed)?;
    session.instance.events().wake();
    note_missing_definer(session, alter.definer.as_ref(), &definer);
    Ok(())
}

/// Whether no execution is left in a schedule.
fn is_over(session: &Session, schedule: &EventSchedule) -> bool {
    let now = session.now().utc.epoch_micros().unwrap_or(0);
    match schedule {
        EventSchedule::At(at) => *at < now - now.rem_euclid(1_000_000),
        EventSchedule::Every { ends, .. } => ends.is_some_and(|ends| ends < now),
    }
}

/// Evaluates the expressions of a schedule.
fn evaluated(
    session: &mut Session,
    schedule: &Schedule,
    text: (&str, &[Value]),
) -> Result<EventSchedule, MysqlError> {
    let (amount, unit, starts, ends) = match schedule {
        Schedule::At(at) => return Ok(EventSchedule::At(moment(session, at, "AT", text)?)),
        Schedule::Every { amount, unit, starts, ends } => (amount, *unit, starts, ends),
    };
    if unit.has_fraction() {
        return Err(MysqlError::not_supported("MICROSECOND"));
    }
    let (value, ty) = evaluate::constant(session, amount, text)?;
    let amount = to_text(&value, &ty.sql).and_then(|text| amount_of(&text, unit));
    let amount = amount.ok_or_else(MysqlError::event_interval_not_positive)?;
    let starts = match starts {
        Some(starts) => moment(session, starts, "STARTS", text)?,
        None => {
            let now = session.now().utc.epoch_micros().unwrap_or(0);
            now - now.rem_euclid(1_000_000)
        }
    };
    let ends = match ends {
        Some(ends) => Some(moment(session, ends, "ENDS", text)?),
        None => None,
    };
    if ends.is_some_and(|ends| ends <= starts) {
        return Err(MysqlError::event_ends_before_starts());
    }
    Ok(EventSchedule::Every { amount, unit, starts, ends })
}

/// Evaluates a time in the session's time zone. Returns microseconds since 1970, UTC.
///
/// # Errors
/// 1525 for a value that is no time, or none that TIMESTAMP can hold.
fn moment(
    session: &mut Session,
    expr: &Expr,
    clause: &str,
    text: (&str, &[Value]),
) -> Result<i64, MysqlError> {
    let target = CastTarget { kind: CastKind::DateTime { fsp: None }, span: Span::default() };
    let cast = Expr { kind: ExprKind::Cast { operand: Box::new(expr.clone()), target }, ..expr.clone() };
    let (value, _) = evaluate::constant(session, &cast, text)?;
    let Value::DateTime(local) = value else {
        let (written, ty) = evaluate::constant(session, expr, text)?;
        let written = to_text(&written, &ty.sql);
        return Err(MysqlError::wrong_value(clause, written.as_deref().unwrap_or("NULL")));
    };
    let utc = session.settings.time_zone.zone().to_utc(local).and_then(|(utc, _)| utc.epoch_micros());
    utc.filter(|micros| *micros >= 0).ok_or_else(|| {
        let written = to_text(&value, &SqlType::DateTime { fsp: 0 });
        MysqlError::wrong_value(clause, written.as_deref().unwrap_or("NULL"))
    })
}

/// The amount of an interval in the canonical form of its unit; `None` if it is not positive.
fn amount_of(text: &str, unit: IntervalUnit) -> Option<String> {
    let interval = Interval::parse(text, unit)?;
    if interval.months() <= 0 && interval.micros() <= 0 {
        return None;
    }
    let seconds = interval.micros() / 1_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let (hour, minute, second) = (hours % 24, minutes % 60, seconds % 60);
    Some(match unit {
        IntervalUnit::Year => (interval.months() / 12).to_string(),
        IntervalUnit::Quarter => (interval.months() / 3).to_string(),
        IntervalUnit::Month => interval.months().to_string(),
        IntervalUnit::YearMonth => format!("{}-{}", interval.months() / 12, interval.months() % 12),
        IntervalUnit::Week => (days / 7).to_string(),
        IntervalUnit::Day => days.to_string(),
        IntervalUnit::Hour => hours.to_string(),
        IntervalUnit::Minute => minutes.to_string(),
        IntervalUnit::Second => seconds.to_string(),
        IntervalUnit::DayHour => format!("{days} {hour}"),
        IntervalUnit::DayMinute => format!("{days} {hour}:{minute}"),
        IntervalUnit::DaySecond => format!("{days} {hour}:{minute}:{second}"),
        IntervalUnit::HourMinute => format!("{hours}:{minute}"),
        IntervalUnit::HourSecond => format!("{hours}:{minute}:{second}"),
        IntervalUnit::MinuteSecond => format!("{minutes}:{second}"),
        IntervalUnit::Microsecond
        | IntervalUnit::DayMicrosecond
        | IntervalUnit::HourMicrosecond
        | IntervalUnit::MinuteMicrosecond
        | IntervalUnit::SecondMicrosecond => return None,
    })
}
