//! Catalog rows of stored programs.
//!
//! A program is divided into pieces. Each piece is a row of the catalog with the key: 12, program id u64, number of
//! the piece u16 (big-endian). The payloads of the pieces, each without its format byte, form together:
//!
//! | field                | type                                                                                   |
//! |----------------------|----------------------------------------------------------------------------------------|
//! | kind                 | u8: 0 PROCEDURE, 1 FUNCTION, 2 TRIGGER, 3 EVENT                                         |
//! | names                | strings: database, name, user and host of the definer                                  |
//! | context              | sql_mode u64, name of the client's character set, collations of the connection and of the database u16 |
//! | created, modified    | i64 each: microseconds since 1970, UTC                                                 |
//! | comment              | string                                                                                 |
//! | of a routine         | DETERMINISTIC u8, use of data u8 (0 CONTAINS, 1 NO, 2 READS, 3 MODIFIES), SQL SECURITY INVOKER u8 |
//! | of a trigger         | table, AFTER u8, change u8 (0 INSERT, 1 UPDATE, 2 DELETE), order u32                    |
//! | of an event          | EVERY u8; AT: time i64; EVERY: amount string, unit u8, STARTS i64, ENDS u8 and i64; PRESERVE u8, status u8 (0 enabled, 1 disabled, 2 disabled on a replica), executed u8 and i64, originator u32, time zone string |
//! | source               | string                                                                                 |
//!
//! A string is a length (u32) and the bytes. A time that may be missing is a u8 (1 if it is there) and an i64. The unit
//! is its place in `IntervalUnit::ALL`.

use super::program::{
    EventDef, EventSchedule, ProgramAttributes, ProgramContext, ProgramDef, RoutineDef, TriggerDef,
};
use super::row::CatalogRow;
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use leafline_types::words::{DataAccess, EventStatus, ProgramKind, Security, TriggerEvent, TriggerTime};
use leafline_types::{Charset, Collation, IntervalUnit, MysqlError};

/// The first byte of the key.
pub(super) const PROGRAM: u8 = 12;
const FORMAT: u8 = 1;
/// The length of a piece in bytes, which fits into half of the smallest page.
const PIECE: usize = 1024;

const KINDS: [ProgramKind; 4] =
    [ProgramKind::Procedure, ProgramKind::Function, ProgramKind::Trigger, ProgramKind::Event];
const DATA: [DataAccess; 4] =
    [DataAccess::ContainsSql, DataAccess::NoSql, DataAccess::ReadsSqlData, DataAccess::ModifiesSqlData];
const CHANGES: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
const STATUS: [EventStatus; 3] =
    [EventStatus::Enabled, EventStatus::Disabled, EventStatus::DisabledOnReplica];

impl CatalogRow {
    /// The rows of a program.
    ///
    /// # Errors
    /// 1235 if the program is too long.
    pub(crate) fn program(program: &ProgramDef) -> Result<Vec<CatalogRow>> {
        let bytes = encode(program);
        let pieces = bytes.chunks(PIECE);
        if pieces.len() > usize::from(u16::MAX) {
            return Err(MysqlError::not_supported("a stored program of 64 MiB").into());
        }
        let rows = (0u16..).zip(pieces).map(|(number, piece)| {
            let mut key = vec![PROGRAM];
            key.extend_from_slice(&program.id.to_be_bytes());
            key.extend_from_slice(&number.to_be_bytes());
            CatalogRow { key, payload: [&[FORMAT], piece].concat() }
        });
        Ok(rows.collect())
    }
}

/// The code of `value`, which is its place in `all`.
fn code<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|known| known == value).unwrap_or(0) as u8
}

fn encode(program: &ProgramDef) -> Vec<u8> {
    let mut out = ByteWriter::with_capacity(256 + program.text.len());
    out.u8(code(&KINDS, &program.kind)).string(&program.database).string(&program.name);
    out.string(&program.definer.0).string(&program.definer.1);
    let ProgramContext { sql_mode, client_charset, connection_collation, database_collation } =
        program.context;
    out.u64(sql_mode).string(client_charset.name());
    out.u16(connection_collation.id()).u16(database_collation.id());
    out.i64(program.created).i64(program.modified).string(&program.comment);
    match &program.attributes {
        ProgramAttributes::Routine(RoutineDef { deterministic, data, security }) => {
            out.bool(*deterministic).u8(code(&DATA, data)).bool(*security == Security::Invoker);
        }
        ProgramAttributes::Trigger(TriggerDef { table, time, event, order }) => {
            out.string(table).bool(*time == TriggerTime::After).u8(code(&CHANGES, event)).u32(*order);
        }
        ProgramAttributes::Event(event) => encode_event(&mut out, event),
    }
    out.string(&program.text);
    out.finish()
}

fn encode_event(out: &mut ByteWriter, event: &EventDef) {
    match &event.schedule {
        EventSchedule::At(time) => {
            out.bool(false).i64(*time);
        }
        EventSchedule::Every { amount, unit, starts, ends } => {
            out.bool(true).string(amount).u8(code(&IntervalUnit::ALL, unit)).i64(*starts);
            out.bool(ends.is_some()).i64(ends.unwrap_or(0));
        }
    }
    out.bool(event.preserve).u8(code(&STATUS, &event.status));
    out.bool(event.last_executed.is_some()).i64(event.last_executed.unwrap_or(0));
    out.u32(event.originator).string(&event.time_zone);
}

/// The pieces of programs, added in the order of their keys.
#[derive(Default)]
pub(super) struct Pieces(Vec<(u64, u16, Vec<u8>)>);

impl Pieces {
    /// Adds a piece of the program with this number.
    ///
    /// # Errors
    /// `Corrupt` if the piece before it is missing.
    pub(super) fn add(&mut self, id: u64, number: u16, payload: &[u8]) -> Result<()> {
        let mut from = ByteReader::new("catalog program", payload);
        from.format(FORMAT)?;
        match self.0.last_mut().filter(|(last, ..)| *last == id) {
            Some((_, last, bytes)) if last.checked_add(1) == Some(number) => {
                *last = number;
                bytes.extend_from_slice(from.rest());
            }
            None if number == 0 => self.0.push((id, 0, from.rest().to_vec())),
            _ => return Err(from.damaged(format!("a piece before piece {number} is missing"))),
        }
        Ok(())
    }

    /// Decodes the programs.
    ///
    /// # Errors
    /// `Corrupt` for one that makes no sense.
    pub(super) fn finish(self) -> Result<Vec<ProgramDef>> {
        self.0.into_iter().map(|(id, _, bytes)| decode(id, &bytes)).collect()
    }
}

/// Reads a code and returns the value at that place in `all`.
fn of_code<T: Copy>(from: &mut ByteReader<'_>, all: &[T], what: &str) -> Result<T> {
    let code = from.u8()?;
    all.get(usize::from(code)).copied().ok_or_else(|| from.damaged(format!("{what} {code} is not known")))
}

fn collation(from: &mut ByteReader<'_>) -> Result<Collation> {
    let number = from.u16()?;
    Collation::from_id(number).ok_or_else(|| from.damaged(format!("collation {number} is not known")))
}

fn time(from: &mut ByteReader<'_>) -> Result<Option<i64>> {
    let (is_there, time) = (from.bool()?, from.i64()?);
    Ok(is_there.then_some(time))
}

fn decode(id: u64, bytes: &[u8]) -> Result<ProgramDef> {
    let mut from = ByteReader::new("catalog program", bytes);
    let from = &mut from;
    let kind = of_code(from, &KINDS, "kind")?;
    let (database, name) = (from.string()?, from.string()?);
    let definer = (from.string()?, from.string()?);
    let (sql_mode, charset) = (from.u64()?, from.string()?);
    let client_charset = Charset::from_name(&charset)
        .ok()
        .ok_or_else(|| from.damaged(format!("character set {charset} is not known")))?;
    let (connection_collation, database_collation) = (collation(from)?, collation(from)?);
    let context = ProgramContext { sql_mode, client_charset, connection_collation, database_collation };
    let (created, modified, comment) = (from.i64()?, from.i64()?, from.string()?);
    let attributes = match kind {
        ProgramKind::Procedure | ProgramKind::Function => ProgramAttributes::Routine(RoutineDef {
            deterministic: from.bool()?,
            data: of_code(from, &DATA, "use of data")?,
            security: if from.bool()? { Security::Invoker } else { Security::Definer },
        }),
        ProgramKind::Trigger => ProgramAttributes::Trigger(TriggerDef {
            table: from.string()?,
            time: if from.bool()? { TriggerTime::After } else { TriggerTime::Before },
            event: of_code(from, &CHANGES, "change")?,
            order: from.u32()?,
        }),
        ProgramKind::Event => ProgramAttributes::Event(decode_event(from)?),
    };
    let text = from.string()?;
    from.end()?;
    Ok(ProgramDef {
        id,
        kind,
        database,
        name,
        text,
        definer,
        context,
        created,
        modified,
        comment,
        attributes,
    })
}

fn decode_event(from: &mut ByteReader<'_>) -> Result<EventDef> {
    let schedule = match from.bool()? {
        false => EventSchedule::At(from.i64()?),
        true => EventSchedule::Every {
            amount: from.string()?,
            unit: of_code(from, &IntervalUnit::ALL, "unit")?,
            starts: from.i64()?,
            ends: time(from)?,
        },
    };
    Ok(EventDef {
        schedule,
        preserve: from.bool()?,
        status: of_code(from, &STATUS, "status")?,
        last_executed: time(from)?,
        originator: from.u32()?,
        time_zone: from.string()?,
    })
}
