//! HANDLER walks through a table by one of its indexes, a few rows at a time (MySQL manual, "HANDLER Statement").
//!
//! Between two statements a handler keeps nothing open. It remembers the table's definition and the key of its place. Each READ
//! looks the table up again, takes a view of the rows (the transaction's, if one is open) and seeks that key. Other sessions may
//! therefore change rows and definitions meanwhile. A handler whose table's definition has changed begins at the first row
//! again. DDL of the handler's own session closes it, as in MySQL.
//!
//! Rows are ordered by the bytes of their keys in the index, and rows of equal keys by the number of their partition: the bytes
//! of a key identify a row within its partition.

use crate::evaluate::{Filter, constant};
use crate::handlers::entries::{Entry, Place, Walk, next_entries};
use crate::handlers::{OpenHandler, Order};
use crate::information_schema;
use crate::plans::TableUse;
use crate::plans::parameters::types_of;
use crate::result::RowSet;
use crate::session::Session;
use crate::show;
use leafline_btree::Direction;
use leafline_planner::binder::bind_over_table;
use leafline_planner::bound::BoundExpression;
use leafline_syntax::ast::{
    Expr, HandlerRead, HandlerStart, Ident, KeyComparison, Limit, TableName, TableReference,
};
use leafline_syntax::parse;
use leafline_syntax::quoted;
use leafline_table::{IndexDef, ReadView, RowDecoder, TableDef, locator_of, row_decoder};
use leafline_types::key::prefix_successor;
use leafline_types::memory::server;
use leafline_types::{
    Batch, MysqlError, RowBlock, SqlType, StoreContext, Value, Warnings, encode_part, store_cast,
};
use std::sync::Arc;

/// Most keys that are read ahead of their rows.
const MOST_ENTRIES: usize = 256;
/// The clause that error 1109 names for an unknown handler.
const PLACE: &str = "HANDLER";

/// Runs `HANDLER table OPEN`.
///
/// # Errors
/// 1066 if the name is in use, 1192 under LOCK TABLES, 1221 and 1347 for anything but a stored table; errors of selecting from
/// the table.
pub(super) fn open(
    session: &mut Session,
    table: &TableName,
    alias: Option<&Ident>,
) -> Result<(), MysqlError> {
    if session.has_only_locked_tables() {
        return Err(MysqlError::active_transaction());
    }
    let alias = alias.unwrap_or(&table.name).clone();
    let name = alias.value.to_lowercase();
    if session.objects.handlers.0.contains_key(&name) {
        return Err(MysqlError::not_unique_table(&alias.value));
    }
    let database = match &table.database {
        Some(database) => database.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    if information_schema::definition(&database, &table.name.value).is_some() {
        return Err(MysqlError::wrong_usage("HANDLER OPEN", &database));
    }
    let database = Ident { value: database, span: table.name.span };
    let table = TableName { database: Some(database), name: table.name.clone() };
    let handler = opened(session, table, alias)?;
    session.objects.handlers.0.insert(name, handler);
    Ok(())
}

fn opened(session: &mut Session, table: TableName, alias: Ident) -> Result<OpenHandler, MysqlError> {
    let definition = show::base_table(session, &table)?;
    let positions =
        definition.named_columns().filter(|(_, column)| !column.invisible).map(|(at, _)| at).collect();
    let name = format!("{}.{}", quoted(&definition.database), quoted(&definition.name));
    let sql = format!("SELECT * FROM {name} AS {}", quoted(&alias.value));
    let statement = parse(&sql, Default::default())?;
    let planned = session.plan_statement(&statement, &sql, None)?;
    let columns = planned.map_or_else(Vec::new, |planned| planned.columns().to_vec());
    Ok(OpenHandler { table, alias, definition, shown: (columns, positions), place: None })
}

/// Runs `HANDLER name CLOSE`.
///
/// # Errors
/// 1109 for an unknown handler, 1192 under LOCK TABLES.
pub(super) fn close(session: &mut Session, name: &Ident) -> Result<(), MysqlError> {
    if session.has_only_locked_tables() {
        return Err(MysqlError::active_transaction());
    }
    let closed = session.objects.handlers.0.remove(&name.value.to_lowercase());
    closed.map(|_| ()).ok_or_else(|| MysqlError::unknown_table_in(&name.value, PLACE))
}

/// Runs `HANDLER name READ`; `text` is the statement with its parameters.
///
/// # Errors
/// 1109 for an unknown handler, 1176 for an unknown index, 1070 for more values than the index has parts, 1192 under LOCK
/// TABLES.
pub(super) fn read(
    session: &mut Session,
    name: &Ident,
    read: &HandlerRead,
    text: (&str, &[Value]),
) -> Result<RowSet, MysqlError> {
    if session.has_only_locked_tables() {
        return Err(MysqlError::active_transaction());
    }
    let name_of_it = name.value.to_lowercase();
    let Some(mut handler) = session.objects.handlers.0.remove(&name_of_it) else {
        return Err(MysqlError::unknown_table_in(&name.value, PLACE));
    };
    let rows = handler.read(session, read, text);
    session.objects.handlers.0.insert(name_of_it, handler);
    rows
}

impl OpenHandler {
    fn read(
        &mut self,
        session: &mut Session,
        read: &HandlerRead,
        text: (&str, &[Value]),
    ) -> Result<RowSet, MysqlError> {
        self.look_up_again(session)?;
        let (skipped, wanted) = window(session, read.limit.as_ref(), text)?;
        let mut filter = match &read.condition {
            None => None,
            Some(condition) => {
                let bound = self.bound(session, condition, text)?;
                Some(Filter::new(session, bound, text.1)?)
            }
        };
        let order = match &read.index {
            None => Order::Stored,
            Some(index) => Order::Index(self.position_of(index)?),
        };
        let index = match order {
            Order::Index(at) => self.definition.indexes[at].clone(),
            Order::Stored => self.definition.clustered().clone(),
        };
        let mut walk = self.walk(session, &read.start, &index, order, text)?;
        let view = session.read_view();
        let mut reader = Reader::new(&self.definition, view)?;
        let mut rows = RowSet { columns: self.shown.0.clone(), rows: Vec::new() };
        let (mut skipped, mut left) = (skipped, wanted);
        while left > 0 {
            session.cancel.check()?;
            let most = match filter {
                None => {
                    usize::try_from(skipped.saturating_add(left)).unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES)
                }
                Some(_) => MOST_ENTRIES,
            };
            let entries = next_entries(&reader.view, &self.definition, &index, &walk, most)?;
            session.counters.access.handler_read_key += 1;
            if entries.is_empty() {
                walk.from = walk.end();
                break;
            }
            for entry in entries {
                let batch = reader.row(&entry, &index)?;
                let passes = match (&mut filter, &batch) {
                    (_, None) => false,
                    (None, Some(_)) => true,
                    (Some(filter), Some(batch)) => filter.holds(session, batch)?.first() == Some(&true),
                };
                walk.pass(entry);
                walk.count(&mut session.counters.access);
                if !passes {
                    continue;
                }
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                server::push(&mut rows.rows, reader.values(&self.shown.1))?;
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        self.place = Some((order, walk.from));
        Ok(rows)
    }

    /// Binds an expression over the columns of the table.
    fn bound(
        &self,
        session: &Session,
        expression: &Expr,
        text: (&str, &[Value]),
    ) -> Result<BoundExpression, MysqlError> {
        let reference = TableReference::Table {
            name: self.table.clone(),
            partitions: Vec::new(),
            alias: Some(self.alias.clone()),
            index_hints: Vec::new(),
        };
        let types = types_of(text.1, session.settings.collation);
        bind_over_table(expression, text.0, &session.bind_context(&types), &reference)
    }

    /// Looks the table up again, and opens the handler anew if the definition has changed.
    fn look_up_again(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        let mut found = show::base_table(session, &self.table)?;
        let used = TableUse::new(&session.locks, &found, Some(&self.alias.value), None);
        if let Some(used) = used {
            session.use_tables(&[used])?;
            // The transaction that was waited for may have changed the definition.
            found = show::base_table(session, &self.table)?;
        }
        if !Arc::ptr_eq(&found, &self.definition) {
            *self = opened(session, self.table.clone(), self.alias.clone())?;
        }
        Ok(())
    }

    fn position_of(&self, name: &Ident) -> Result<usize, MysqlError> {
        let named =
            |index: &Arc<IndexDef>| !index.parts.is_empty() && index.name.eq_ignore_ascii_case(&name.value);
        let position = self.definition.ordered_indexes().iter().position(named);
        position.ok_or_else(|| MysqlError::key_does_not_exist(&name.value, &self.alias.value))
    }

    fn walk(
        &self,
        session: &mut Session,
        start: &HandlerStart,
        index: &IndexDef,
        order: Order,
        text: (&str, &[Value]),
    ) -> Result<Walk, MysqlError> {
        let stands = self.place.as_ref().filter(|(known, _)| *known == order).map(|(_, place)| place.clone());
        let (forward, reverse) = (Direction::Forward, Direction::Reverse);
        Ok(match start {
            HandlerStart::First => Walk::new(forward, Place::first()),
            HandlerStart::Last => Walk::new(reverse, Place::end()),
            HandlerStart::Next => Walk::new(forward, stands.unwrap_or(Place::first())),
            HandlerStart::Previous => Walk::new(reverse, stands.unwrap_or(Place::end())),
            HandlerStart::Key(comparison, values) => {
                let key = self.key(session, index, values, text)?;
                let behind = || Place::Before(prefix_successor(&key));
                match comparison {
                    KeyComparison::Equal => Walk::within(key),
                    KeyComparison::GreaterOrEqual => Walk::new(forward, Place::Before(Some(key))),
                    KeyComparison::Greater => Walk::new(forward, behind()),
                    KeyComparison::LessOrEqual => Walk::new(reverse, behind()),
                    KeyComparison::Less => Walk::new(reverse, Place::Before(Some(key))),
                }
            }
        })
    }

    /// Returns the bytes that begin the keys with these values. Values are converted as for storing, without warnings.
    fn key(
        &self,
        session: &mut Session,
        index: &IndexDef,
        values: &[Expr],
        text: (&str, &[Value]),
    ) -> Result<Vec<u8>, MysqlError> {
        if values.len() > index.parts.len() {
            return Err(MysqlError::too_many_key_parts(index.parts.len()));
        }
        let mut key = Vec::new();
        for ((value, part), at) in values.iter().zip(&index.key_parts).zip(&index.key_columns) {
            let column = &self.definition.columns[*at];
            let (value, ty) = constant(session, value, text).map_err(|error| {
                let is_of_column = self.bound(session, value, text).is_ok();
                if is_of_column { MysqlError::wrong_arguments("HANDLER ... READ") } else { error }
            })?;
            let mode = session.settings.evaluation_mode();
            let mut cx = StoreContext {
                column: &column.name,
                charset: column.collation.charset(),
                row: 1,
                strict: false,
                dates: mode.dates,
                zone: session.settings.time_zone.zone(),
                max_document: mode.max_result,
                warnings: &mut Warnings::default(),
            };
            let stored = store_cast(&value, &ty.sql, &column.ty, true, &mut cx)?;
            encode_part(part, &stored, &mut key).map_err(MysqlError::internal)?;
        }
        Ok(key)
    }
}

/// Returns how many rows LIMIT skips, and how many it lets through.
fn window(
    session: &mut Session,
    limit: Option<&Limit>,
    text: (&str, &[Value]),
) -> Result<(u64, u64), MysqlError> {
    let Some(limit) = limit else { return Ok((0, 1)) };
    let mut number = |expr| -> Result<u64, MysqlError> {
        match constant(session, expr, text)?.0 {
            Value::UInt(number) => Ok(number),
            Value::Int(number) => u64::try_from(number).map_err(|_| MysqlError::wrong_arguments("LIMIT")),
            _ => Err(MysqlError::wrong_arguments("LIMIT")),
        }
    };
    let skipped = limit.offset.as_ref().map_or(Ok(0), &mut number)?;
    Ok((skipped, number(&limit.count)?))
}

/// Reads whole rows, one at a time.
struct Reader {
    view: ReadView,
    /// The tables that hold the rows, by the numbers of their partitions.
    stored: Vec<Arc<TableDef>>,
    decoder: RowDecoder,
    types: Vec<SqlType>,
    row: RowBlock,
    locator: Vec<u8>,
}

impl Reader {
    fn new(table: &Arc<TableDef>, view: ReadView) -> Result<Reader, MysqlError> {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        Ok(Reader {
            view,
            stored: table.stored().cloned().collect(),
            decoder: row_decoder(table, &columns)?,
            types: table.columns.iter().map(|column| column.ty.clone()).collect(),
            row: RowBlock::default(),
            locator: Vec::new(),
        })
    }

    /// Reads the row of an index entry.
    fn row(&mut self, entry: &Entry, index: &IndexDef) -> Result<Option<Batch>, MysqlError> {
        let Some(table) = self.stored.get(entry.partition) else { return Ok(None) };
        self.locator.clear();
        locator_of(index, &entry.key, &mut self.locator)?;
        self.row.clear(self.types.len());
        let (decoder, row) = (&self.decoder, &mut self.row);
        let found = self.view.row(table, &self.locator, |found| {
            found.map(|found| decoder.append_row(found.key, found.payload, row))
        })?;
        match found {
            None => return Ok(None),
            Some(decoded) => decoded.map_err(MysqlError::internal)?,
        }
        server::ask(self.row.string_bytes())?;
        self.view.complete_block(table, &mut self.row, &self.types)?;
        self.row.to_batch(&self.types).map(Some).map_err(MysqlError::internal)
    }

    /// Returns the values at these positions of the row that was read last.
    fn values(&self, columns: &[usize]) -> Vec<Value> {
        columns.iter().map(|column| self.row.get(0, *column).to_value()).collect()
    }
}
