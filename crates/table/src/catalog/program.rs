//! Stored programs: procedures, functions, triggers and events.

use leafline_types::words::{DataAccess, EventStatus, ProgramKind, Security, TriggerEvent, TriggerTime};
use leafline_types::{Charset, Collation, IntervalUnit};

/// A stored program. The catalog keeps its source; sessions compile it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramDef {
    /// Its number, never reused.
    pub id: u64,
    /// Its kind. Each kind has its own names in a database.
    pub kind: ProgramKind,
    /// The database that contains it.
    pub database: String,
    /// Its name.
    pub name: String,
    /// The source, from the word PROCEDURE, FUNCTION, TRIGGER or EVENT on. The name in it, the characteristics and
    /// a trigger's table may be older than those of the definition, which count.
    pub text: String,
    /// The user and host of the account that defined it.
    pub definer: (String, String),
    /// The settings under which its source is understood and runs.
    pub context: ProgramContext,
    /// The time of its creation, in microseconds since 1970, UTC.
    pub created: i64,
    /// The time of its last change, in microseconds since 1970, UTC.
    pub modified: i64,
    /// COMMENT.
    pub comment: String,
    /// The attributes that differ by kind.
    pub attributes: ProgramAttributes,
}

/// The settings of the session that created a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramContext {
    /// The bits of `sql_mode`.
    pub sql_mode: u64,
    /// `character_set_client`.
    pub client_charset: Charset,
    /// `collation_connection`, the collation of literals.
    pub connection_collation: Collation,
    /// The collation of the database at that time, the default of variables.
    pub database_collation: Collation,
}

/// Attributes of a program that differ by kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProgramAttributes {
    /// Attributes of a procedure or function.
    Routine(RoutineDef),
    /// Attributes of a trigger.
    Trigger(TriggerDef),
    /// Attributes of an event.
    Event(EventDef),
}

/// Characteristics of a routine, which ALTER can change.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RoutineDef {
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// The use of data.
    pub data: DataAccess,
    /// SQL SECURITY.
    pub security: Security,
}

/// Attributes of a trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TriggerDef {
    /// The name of its table, in the trigger's database.
    pub table: String,
    /// BEFORE or AFTER.
    pub time: TriggerTime,
    /// The change that fires it.
    pub event: TriggerEvent,
    /// Its place among the triggers of the same table, time and event, which fire in ascending order.
    pub order: u32,
}

/// Attributes of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventDef {
    /// ON SCHEDULE.
    pub schedule: EventSchedule,
    /// ON COMPLETION PRESERVE.
    pub preserve: bool,
    /// ENABLE, DISABLE.
    pub status: EventStatus,
    /// The time of the last execution, in microseconds since 1970, UTC.
    pub last_executed: Option<i64>,
    /// The `server_id` of the server where it was created.
    pub originator: u32,
    /// `time_zone` of the session that created it, in which its schedule is shown and its body runs.
    pub time_zone: String,
}

/// When an event runs. Times are microseconds since 1970, UTC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventSchedule {
    /// AT: once.
    At(i64),
    /// EVERY: again and again.
    Every {
        /// The amount, as text of the unit: `1`, or `1:30` for HOUR_MINUTE.
        amount: String,
        /// The unit.
        unit: IntervalUnit,
        /// STARTS.
        starts: i64,
        /// ENDS.
        ends: Option<i64>,
    },
}

impl EventDef {
    /// Whether it runs at the same times as another definition of the event.
    pub fn has_schedule_of(&self, other: &EventDef) -> bool {
        (self.status, &self.schedule, &self.time_zone) == (other.status, &other.schedule, &other.time_zone)
    }
}

impl ProgramDef {
    /// The characteristics of a routine.
    pub fn routine(&self) -> Option<&RoutineDef> {
        match &self.attributes {
            ProgramAttributes::Routine(routine) => Some(routine),
            _ => None,
        }
    }

    /// The attributes of a trigger.
    pub fn trigger(&self) -> Option<&TriggerDef> {
        match &self.attributes {
            ProgramAttributes::Trigger(trigger) => Some(trigger),
            _ => None,
        }
    }

    /// The attributes of an event.
    pub fn event(&self) -> Option<&EventDef> {
        match &self.attributes {
            ProgramAttributes::Event(event) => Some(event),
            _ => None,
        }
    }
}
