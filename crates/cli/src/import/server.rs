//! Copies databases of a MySQL or MariaDB server, or of another Leafline: definitions as the server shows them, and
//! rows at one snapshot, several tables at a time.

use super::super::args::ImportOptions;
use super::definitions::adapted;
use super::report::{Report, is_unsupported};
use crate::address::Address;
use crate::dump::definitions;
use crate::dump::programs::{self, Program, Wanted};
use crate::dump::schema::{self, Column, Kind, Schema, Table};
use crate::failure::Failure;
use crate::link::{Link, Place, literal, quoted};
use crate::progress::Progress;
use crate::remote::Answer;
use crate::snapshot;
use leafline::{Connection, Database, Error};
use leafline_sql::RowSource;
use leafline_types::{MysqlError, Value};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rows between two movements of the bar.
const STEP: u64 = 1000;

/// Copies what `url` names.
pub fn run(
    options: &ImportOptions,
    url: &str,
    database: &Database,
    report: &mut Report,
) -> Result<(), Failure> {
    let address = Address::parse(url).and_then(|address| address.vouched_for(options.tls_ca.as_deref()));
    let address = address.map_err(Failure::Message)?;
    let names: Vec<String> = match (&address.database, &options.table[..]) {
        (None, []) => Vec::new(),
        (None, _) => return Err(Failure::Message("--table needs the name of a database in --from".into())),
        (Some(database), []) => vec![quoted(database)],
        (Some(database), tables) => {
            tables.iter().map(|table| format!("{}.{}", quoted(database), quoted(table))).collect()
        }
    };
    let place = Place::Server(address);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut links = snapshot::connections(&place, options.threads.unwrap_or(cores))?;
    let Some(leader) = links.first_mut() else { return Ok(()) };
    let schema = schema::read(leader, &names)?;
    let mut connection = session(database)?;
    make(options, &schema, &mut connection, report)?;
    load(options, &schema, links, database, report)?;
    let mut link = place.connect()?;
    let found = programs::read(&mut link, &schema, Wanted::ALL)?;
    let is_routine =
        |program: &&Program| matches!(program.kind, programs::Kind::Function | programs::Kind::Procedure);
    // Views may call routines; triggers must not act while rows are loaded.
    for program in found.iter().filter(is_routine) {
        create_program(options, program, &mut connection, report)?;
    }
    views(options, &schema, &mut connection, report)?;
    for program in found.iter().filter(|program| !is_routine(program)) {
        create_program(options, program, &mut connection, report)?;
    }
    for database in &schema.databases {
        sequences(&mut link, &database.name, report)?;
    }
    Ok(())
}

/// Opens a connection that stores rows unchanged.
pub(super) fn session(database: &Database) -> Result<Connection, Failure> {
    let mut connection = database.connect()?;
    let set = "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0";
    connection.execute(set, ())?;
    Ok(connection)
}

/// Returns the database here that receives one of the server.
fn target_database<'n>(options: &'n ImportOptions, there: &'n str) -> &'n str {
    options.database.as_deref().unwrap_or(there)
}

/// Creates databases and tables.
fn make(
    options: &ImportOptions,
    schema: &Schema,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    if options.database.is_some() && schema.databases.len() > 1 {
        return Err(Failure::Message(
            "--database is for the tables of one database; name it in --from".into(),
        ));
    }
    for database in &schema.databases {
        super::use_database(connection, Some(target_database(options, &database.name)))?;
        for table in schema.tables.iter().filter(|table| table.database == database.name) {
            let Err(error) = connection.execute(&table.create, ()) else { continue };
            let wrong = |error: Error| Failure::Message(format!("table {}: {error}", table.title()));
            if !matches!(&error, Error::Sql(error) if is_unsupported(error)) {
                return Err(wrong(error));
            }
            let (create, left_out) = adapted(&table.create);
            if left_out.is_empty() {
                return Err(wrong(error));
            }
            for what in left_out {
                report.leave_out(format!("table {}", table.title()), &what)?;
            }
            connection.execute(&create, ()).map_err(wrong)?;
        }
    }
    Ok(())
}

/// Loads the rows of all tables.
fn load(
    options: &ImportOptions,
    schema: &Schema,
    links: Vec<Link>,
    database: &Database,
    report: &mut Report,
) -> Result<(), Failure> {
    let bar = Progress::rows("import", schema.tables.iter().map(|table| table.rows).sum());
    let mut order: Vec<&Table> = schema.tables.iter().collect();
    order.sort_by_key(|table| table.bytes);
    let (waiting, is_over, rows) = (Mutex::new(order), AtomicBool::default(), AtomicU64::default());
    let one = |mut link: Link| -> Result<(), Failure> {
        let mut connection = session(database)?;
        while let Some(table) = waiting.lock().ok().and_then(|mut waiting| waiting.pop()) {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            let done = load_table(
                table,
                target_database(options, &table.database),
                &mut link,
                &mut connection,
                (&bar, &is_over),
            );
            is_over.fetch_or(done.is_err(), Ordering::Relaxed);
            rows.fetch_add(done?, Ordering::Relaxed);
        }
        Ok(())
    };
    let one = &one;
    let result = std::thread::scope(|scope| {
        let started: Vec<_> = links.into_iter().map(|link| scope.spawn(move || one(link))).collect();
        let mut result = Ok(());
        for thread in started {
            let other = thread.join().unwrap_or_else(|_| Err(Failure::Message("a thread has ended".into())));
            if matches!(result, Ok(()) | Err(Failure::Silent)) {
                result = other;
            }
        }
        result
    });
    bar.hide();
    result?;
    report.rows += rows.into_inner();
    report.tables.extend(schema.tables.iter().map(Table::title));
    Ok(())
}

fn load_table(
    table: &Table,
    database: &str,
    link: &mut Link,
    connection: &mut Connection,
    (bar, is_over): (&Progress, &AtomicBool),
) -> Result<u64, Failure> {
    let Link::Server(client) = link else { return Ok(0) };
    let answer = client.query(&table.select())?;
    let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let mut rows =
        Rows { answer, columns: &table.columns, places: Vec::new(), lost: None, number: 0, bar, is_over };
    let loaded = connection.session().load_values((database, &table.name), &columns, &mut rows);
    match (loaded, rows.lost.take()) {
        (Ok(done), _) => Ok(done.affected),
        (Err(_), Some(lost)) => Err(lost),
        (Err(error), None) => {
            let (title, number) = (table.title(), rows.number);
            Err(Failure::Message(format!("table {title}, row {number}: {error}\nno row of it was loaded")))
        }
    }
}

/// The rows that a server sends.
struct Rows<'r> {
    answer: Answer<'r>,
    columns: &'r [Column],
    places: Vec<Option<Range<usize>>>,
    /// Why the rows ended early.
    lost: Option<Failure>,
    number: u64,
    bar: &'r Progress,
    is_over: &'r AtomicBool,
}

impl RowSource for Rows<'_> {
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        match self.answer.next(&mut self.places) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(lost) => {
                self.lost = Some(lost);
                return Err(MysqlError::unknown_error("the server sends no more"));
            }
        }
        self.number += 1;
        if self.number.is_multiple_of(STEP) {
            self.bar.add(STEP);
            if self.is_over.load(Ordering::Relaxed) {
                self.lost = Some(Failure::Silent);
                return Err(MysqlError::unknown_error("another table has failed"));
            }
        }
        for (column, place) in self.columns.iter().zip(&self.places) {
            let bytes = place.clone().and_then(|place| self.answer.bytes().get(place));
            row.push(bytes.map_or(Value::Null, |bytes| value(bytes, column.kind)));
        }
        Ok(true)
    }
}

/// Converts a value of a column that was sent as text.
fn value(bytes: &[u8], kind: Kind) -> Value {
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| kind != Kind::Binary) else {
        return Value::bytes(bytes);
    };
    let number = match kind {
        Kind::Integer { unsigned: false, .. } => text.parse().ok().map(Value::Int),
        Kind::Integer { .. } | Kind::Bit => text.parse().ok().map(Value::UInt),
        Kind::Float | Kind::Double => text.parse().ok().map(Value::Double),
        _ => None,
    };
    number.unwrap_or_else(|| Value::string(text))
}

/// Creates views as they are defined, except for the account that is their definer.
fn views(
    options: &ImportOptions,
    schema: &Schema,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    for view in &schema.views {
        super::use_database(connection, Some(target_database(options, &view.database)))?;
        let title = format!("view {}.{}", view.database, view.name);
        if let Err(error) = connection.execute(&definitions::view(&view.create, None), ()) {
            report.leave_out(title, &error.to_string())?;
        }
    }
    Ok(())
}

/// Creates a program as it is defined, except for the account that is its definer, under the settings of its own definition.
fn create_program(
    options: &ImportOptions,
    program: &Program,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    super::use_database(connection, Some(target_database(options, &program.database)))?;
    let mut before = vec![format!("SET SESSION sql_mode = {}", literal(&program.sql_mode))];
    if !program.collation.is_empty() {
        before.push(format!("SET collation_connection = {}", program.collation));
    }
    before.extend(program.time_zone.as_ref().map(|zone| format!("SET time_zone = {}", literal(zone))));
    let create = program.create_as_own();
    let all = before.iter().chain([&create]);
    let done = all.map(|sql| connection.execute(sql, ())).find_map(Result::err);
    let restored = "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00'";
    connection.execute("SET NAMES utf8mb4", ())?;
    connection.execute(restored, ())?;
    match done {
        None => Ok(()),
        Some(error) => {
            let kind = program.kind.word().to_ascii_lowercase();
            report.leave_out(format!("{kind} {}.{}", program.database, program.name), &error.to_string())
        }
    }
}

/// Finds the sequences of MariaDB in a database, which are left out.
fn sequences(link: &mut Link, database: &str, report: &mut Report) -> Result<(), Failure> {
    let mut found = Vec::new();
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'SEQUENCE' AND TABLE_SCHEMA = {}",
        literal(database)
    );
    link.query(&sql, &mut |row| {
        found.push(format!("sequence {database}.{}", row.text(0)));
        Ok(())
    })?;
    found.into_iter().try_for_each(|what| report.leave_out(what, "it is not supported"))
}
