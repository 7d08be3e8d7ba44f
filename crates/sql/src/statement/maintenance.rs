//! ANALYZE TABLE, CHECK TABLE, CHECKSUM TABLE, OPTIMIZE TABLE, REPAIR TABLE, LOAD INDEX INTO CACHE, FLUSH, KILL.

use super::{alter, evaluate, metadata};
use crate::result::RowSet;
use crate::session::{Outcome, Session};
use crate::show;
use crate::statement::account::authorize_kill;
use leafline_planner::binder::partition::bind_partition_function;
use leafline_planner::binder::view_faults;
use leafline_syntax::ast::{
    AlterAction, AlterAlgorithm, AlterLock, AlterTable, Expr, FlushItem, Ident, LoadIndex, StatementKind,
    TableName,
};
use leafline_syntax::quoted;
use leafline_table::{CheckDepth, CheckOptions, TableCheck, TableDef, ViewDef};
use leafline_types::convert::cast;
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, SqlType, TextColumns, Value, WarningLevel};

/// Makes an empty result of a maintenance statement. Each message has a table, an operation, a type and a text.
pub(super) fn messages() -> RowSet {
    RowSet::new([
        ("Table", SqlType::Varchar { len: 128 }),
        ("Op", SqlType::Varchar { len: 10 }),
        ("Msg_type", SqlType::Varchar { len: 10 }),
        ("Msg_text", SqlType::Varchar { len: 1024 }),
    ])
}

pub(super) fn full_name(session: &Session, table: &TableName) -> String {
    let database = table.database.as_ref().map(|name| name.value.as_str()).or(session.database());
    format!("{}.{}", database.unwrap_or_default(), table.name.value)
}

pub(super) fn message(rows: &mut RowSet, table: &str, operation: &str, kind: &str, text: &str) {
    rows.push([table, operation, kind, text].map(Value::string).to_vec());
}

/// Runs ANALYZE TABLE: forgets the statistics, so that the next plan samples the indexes anew. Estimates of ranges need no
/// ANALYZE, because planning reads them from the trees.
pub(super) fn analyze(session: &mut Session, tables: &[TableName]) -> RowSet {
    let mut rows = messages();
    for table in tables {
        let name = full_name(session, table);
        match show::base_table(session, table) {
            Ok(table) => {
                session.instance.statistics().forget(&table);
                message(&mut rows, &name, "analyze", "status", "OK");
            }
            Err(error) => failed(&mut rows, &name, "analyze", &error),
        }
    }
    rows
}

/// Runs CHECK TABLE: checks the structure of every tree, every row against its entries, and every entry against its row.
pub(super) fn check(
    session: &mut Session,
    tables: &[TableName],
    depth: CheckDepth,
) -> Result<RowSet, MysqlError> {
    let mut rows = messages();
    let read_ahead = session.settings.read_ahead;
    let options = CheckOptions { depth, read_ahead, ..CheckOptions::default() };
    for table in tables {
        let name = full_name(session, table);
        if let Some(view) = show::view(session, table)? {
            check_view(session, &view, &name, &mut rows);
            continue;
        }
        let check = show::resolve(session, table).and_then(|table| {
            bind_partition_function(&table, &session.bind_context(&[]))?;
            let engine = session.instance.engine();
            Ok(engine.maintenance().check_table_with(&table, options, &|_| (), &session.cancel)?)
        });
        session.cancel.check()?;
        checked(&mut rows, &name, check);
    }
    Ok(rows)
}

/// Adds a message for each fault that a check has found.
pub(super) fn checked(rows: &mut RowSet, name: &str, check: Result<TableCheck, MysqlError>) {
    match check {
        Ok(check) if check.is_sound() => message(rows, name, "check", "status", "OK"),
        Ok(check) => {
            for fault in check.faults {
                message(rows, name, "check", "error", &fault.to_string());
            }
            if check.unlisted > 0 {
                let more = format!("{} more faults", check.unlisted);
                message(rows, name, "check", "warning", &more);
            }
            message(rows, name, "check", "error", "Corrupt");
        }
        Err(error) => failed(rows, name, "check", &error),
    }
}

/// Runs CHECK TABLE of a view: binds its query, and adds a message for each name that the view lacks.
fn check_view(session: &Session, view: &ViewDef, name: &str, rows: &mut RowSet) {
    let faults = view_faults(view, &session.bind_context(&[]));
    for fault in &faults {
        message(rows, name, "check", "Error", &fault.message);
    }
    match faults.is_empty() {
        true => message(rows, name, "check", "status", "OK"),
        false => message(rows, name, "check", "error", "Corrupt"),
    }
}

/// Runs CHECKSUM TABLE: computes a sum over the rows that changes with any value and does not depend on their order.
pub(super) fn checksum(
    session: &mut Session,
    tables: &[TableName],
    quick: bool,
) -> Result<RowSet, MysqlError> {
    let mut rows =
        RowSet::new([("Table", SqlType::Varchar { len: 128 }), ("Checksum", SqlType::BIGINT_UNSIGNED)]);
    for name in tables {
        let sum = match show::base_table(session, name) {
            Ok(_) if quick => Value::Null,
            Ok(table) => Value::UInt(sum_of_rows(session, &table)?),
            Err(error) => {
                session.warnings.push(WarningLevel::Error, error);
                Value::Null
            }
        };
        rows.push(vec![Value::string(full_name(session, name)), sum]);
    }
    Ok(rows)
}

fn sum_of_rows(session: &mut Session, table: &TableDef) -> Result<u64, MysqlError> {
    let columns: Vec<String> = table.named_columns().map(|(_, column)| quoted(&column.name)).collect();
    let (database, name) = (quoted(&table.database), quoted(&table.name));
    let sql = format!("SELECT {} FROM {database}.{name}", columns.join(","));
    let statement = session.parse(&sql)?;
    let planned = session.plan_statement(&statement, &sql, Some(&[]))?;
    let planned = planned.ok_or_else(|| MysqlError::internal("a SELECT that is not planned"))?;
    let Outcome::Rows(mut stream) = session.run_part(&planned, &[])? else { return Ok(0) };
    let types = stream.types();
    let mut sum = 0u32;
    let mut row_text = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            row_text.clear();
            for column in 0..types.len() {
                let start = row_text.len();
                // The lengths give different rows different texts.
                let is_null = !columns.append(row, column, &mut row_text);
                let length = if is_null { u64::MAX } else { (row_text.len() - start) as u64 };
                row_text.extend_from_slice(&length.to_le_bytes());
            }
            sum = sum.wrapping_add(crc32c::crc32c(&row_text));
        }
    }
    Ok(sum.into())
}

/// Runs LOAD INDEX INTO CACHE: reads indexes into the buffer pool, in the order of the file. The name of the clustered index
/// stands for the table itself.
pub(super) fn load_index(session: &mut Session, tables: &[LoadIndex]) -> Result<RowSet, MysqlError> {
    const OPERATION: &str = "preload_keys";
    let mut rows = messages();
    for wanted in tables {
        let name = full_name(session, &wanted.table);
        let loaded = show::base_table(session, &wanted.table).and_then(|table| {
            let mut chosen = Vec::new();
            for index in &wanted.indexes {
                let known = table.indexes.iter().find(|known| known.name.eq_ignore_ascii_case(&index.value));
                chosen.push(
                    known.ok_or_else(|| MysqlError::key_does_not_exist(&index.value, &table.name))?.clone(),
                );
            }
            if wanted.indexes.is_empty() {
                chosen.clone_from(&table.indexes);
            }
            for index in chosen {
                let position = table.indexes.iter().position(|known| known.id == index.id);
                for stored in table.stored() {
                    let index = &stored.indexes[position.expect("the index is one of the table")];
                    session.instance.engine().maintenance().preload(
                        index,
                        !wanted.ignore_leaves,
                        &session.cancel,
                    )?;
                }
            }
            Ok(())
        });
        session.cancel.check()?;
        match loaded {
            Ok(()) => message(&mut rows, &name, OPERATION, "status", "OK"),
            Err(error) => failed(&mut rows, &name, OPERATION, &error),
        }
    }
    Ok(rows)
}

/// MySQL's message for engines without repair.
pub(super) const NO_REPAIR: &str = "The storage engine for the table doesn't support repair";

/// Runs REPAIR TABLE: repairs nothing and answers as MySQL does for engines without repair.
pub(super) fn repair(session: &mut Session, tables: &[TableName]) -> RowSet {
    let mut rows = messages();
    for table in tables {
        let name = full_name(session, table);
        match show::base_table(session, table) {
            Ok(_) => message(&mut rows, &name, "repair", "note", NO_REPAIR),
            Err(error) => failed(&mut rows, &name, "repair", &error),
        }
    }
    rows
}

/// Runs OPTIMIZE TABLE: builds the trees anew, dense and in key order, like ALTER TABLE .. FORCE. The answer is InnoDB's.
pub(super) fn optimize(session: &mut Session, tables: &[TableName]) -> Result<RowSet, MysqlError> {
    let mut rows = messages();
    for table in tables {
        optimize_by(session, table, AlterAction::Force, &mut rows)?;
    }
    Ok(rows)
}

/// Runs `action` of ALTER TABLE, which builds a table or partitions anew, and adds the messages of OPTIMIZE.
pub(super) fn optimize_by(
    session: &mut Session,
    table: &TableName,
    action: AlterAction,
    rows: &mut RowSet,
) -> Result<(), MysqlError> {
    const OPERATION: &str = "optimize";
    let name = full_name(session, table);
    let rebuild = StatementKind::AlterTable(Box::new(AlterTable {
        table: table.clone(),
        actions: vec![action],
        algorithm: AlterAlgorithm::Default,
        lock: AlterLock::Default,
    }));
    let done = show::base_table(session, table).and_then(|_| {
        let _excluding = metadata::excluded_by(session, &rebuild)?;
        let StatementKind::AlterTable(alter) = &rebuild else { return Ok(()) };
        alter::alter_table(session, alter).map(drop)
    });
    session.cancel.check()?;
    match done {
        Ok(()) => {
            let text = "Table does not support optimize, doing recreate + analyze instead";
            message(rows, &name, OPERATION, "note", text);
            message(rows, &name, OPERATION, "status", "OK");
        }
        Err(error) => failed(rows, &name, OPERATION, &error),
    }
    Ok(())
}

pub(super) fn failed(rows: &mut RowSet, table: &str, operation: &str, error: &MysqlError) {
    message(rows, table, operation, "Error", &error.message);
    message(rows, table, operation, "status", "Operation failed");
}

/// Runs FLUSH. Tables and privileges need no flush, because no cache of them differs from the disk. FLUSH TABLES and
/// FLUSH LOGS make a checkpoint.
pub(super) fn flush(session: &mut Session, items: &[FlushItem]) -> Result<(), MysqlError> {
    for item in items {
        let database = session.database().map(str::to_owned);
        if let FlushItem::Tables(tables) = item {
            session.check_flush(tables)?;
        }
        match item {
            FlushItem::Tables(tables) | FlushItem::ReadLockOf(tables) if !tables.is_empty() => {
                session
                    .objects
                    .handlers
                    .lose_places(|of| tables.iter().any(|table| is_table(table, of, database.as_deref())));
            }
            FlushItem::Tables(_) | FlushItem::ReadLock => session.objects.handlers.lose_places(|_| true),
            _ => {}
        }
        match item {
            FlushItem::Status => session.flush_status(),
            FlushItem::Tables(_) | FlushItem::Logs => {
                session.instance.engine().store().checkpoint().map_err(leafline_table::TableError::from)?;
                if *item == FlushItem::Logs {
                    session.instance.slow_log().reopen(session.instance.facts())?;
                }
            }
            FlushItem::SlowLogs => session.instance.slow_log().reopen(session.instance.facts())?,
            FlushItem::ReadLock => session.lock_everything()?,
            FlushItem::ReadLockOf(tables) => session.lock_for_reading(tables)?,
            FlushItem::Privileges => session.instance.accounts().failed_logins.forget_all(),
            FlushItem::UserResources => session.instance.accounts().usage.reset(None),
        }
    }
    Ok(())
}

/// Returns whether `name` means `table`, whose name has its database.
fn is_table(name: &TableName, table: &TableName, current: Option<&str>) -> bool {
    let value = |ident: &Option<Ident>| ident.as_ref().map(|ident| ident.value.clone());
    let database = value(&name.database).or(current.map(str::to_owned));
    name.name.value == table.name.value && database == value(&table.database)
}

/// Runs `KILL [QUERY | CONNECTION] number`.
pub(super) fn kill(
    session: &mut Session,
    query_only: bool,
    target: &Expr,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    // MySQL casts the value to an integer: clients that fill in parameters themselves send texts.
    let (value, ty) = evaluate::constant(session, target, text)?;
    let rules = session.settings().evaluation_mode().dates;
    let number = cast(&value, &ty.sql, &SqlType::BIGINT, rules, &mut session.warnings)?;
    let id = number.as_integer().and_then(|id| u64::try_from(id).ok());
    let id = id.ok_or_else(|| MysqlError::no_such_thread(evaluate::text(&value, &ty.sql)))?;
    authorize_kill(session, id)?;
    let reason = if query_only { CancelReason::QueryKilled } else { CancelReason::ConnectionKilled };
    session.instance.kill(id, reason)?;
    // A session that kills itself gets the error.
    session.cancel.check()
}
