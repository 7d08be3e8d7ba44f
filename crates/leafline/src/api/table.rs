//! Tables row by row, without SQL, for programs that look up rows by primary key a million times a second.
//!
//! A [`Table`] names a table once. A [`Snapshot`] reads what was committed when it was taken. A [`Writer`] is a
//! transaction at REPEATABLE READ with row locks, like one of SQL; SQL sees its commits. Keys are given as the values
//! of the primary key's columns in order, rows as one value per column. Names are looked up, values converted and
//! errors numbered as in SQL's strict mode.

use super::database::Database;
use super::error::{Error, Result};
use super::value::{FromValue, Parameter, Params, finite, parameters};
use leafline_sql::type_of;
use leafline_table::{
    ColumnDef, Direction, Engine, IndexDef, Isolation, Organisation, ReadView, RowReader, RowRef, TableDef,
    TableError, Transaction, TxnMode,
};
use leafline_types::convert::{StoreContext, store_cast};
use leafline_types::row::stored_value;
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{
    MysqlError, OverflowRef, SqlType, StringPlace, Value, Warnings, convert, encode_part, encode_stored_text,
};
use std::fmt;
use std::sync::Arc;

impl Database {
    /// Returns a table, for use without SQL.
    ///
    /// # Errors
    /// 1049 if there is no such database, 1146 if there is no such table, 1105 if it has no primary key, 1235 if it
    /// is a heap.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = leafline::Database::open(directory.path().join("db"))?;
    /// # let mut connection = database.connect()?;
    /// connection.execute("CREATE DATABASE shop", ())?;
    /// connection.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40), stock INT)", ())?;
    /// let items = database.table("shop", "item")?;
    ///
    /// let mut writer = database.begin();
    /// writer.insert(&items, (1, "pen", 10))?;
    /// writer.put(&items, (2, "ink", 5))?;
    /// writer.commit()?;
    ///
    /// let snapshot = database.snapshot();
    /// let reader = snapshot.read(&items)?;
    /// let name: Option<String> = reader.get((2,), |row| row.get(1))?.transpose()?;
    /// assert_eq!(name.as_deref(), Some("ink"));
    /// let mut stock = 0;
    /// reader.scan((1,), |row| row.get::<i64>(2).map(|n| stock += n).is_ok())?;
    /// assert_eq!(stock, 15);
    /// # Ok(())
    /// # }
    /// ```
    pub fn table(&self, database: &str, name: &str) -> Result<Table> {
        let def = self.instance().engine().table(database, name).map_err(MysqlError::from)?;
        if def.options.organisation == Organisation::Heap {
            return Err(MysqlError::not_supported("tables with ENGINE=MyISAM outside SQL").into());
        }
        if def.has_hidden_row_id() {
            return Err(MysqlError::unknown_error(format_args!("Table '{name}' has no primary key")).into());
        }
        if def.has_expressions() {
            let what = "generated columns, CHECK constraints and DEFAULT (expression) outside SQL";
            return Err(MysqlError::not_supported(what).into());
        }
        if def.is_partitioned() {
            return Err(MysqlError::not_supported("partitioned tables outside SQL").into());
        }
        if def.clustered().has_prefixes() {
            return Err(MysqlError::not_supported("prefixes in a primary key outside SQL").into());
        }
        Ok(Table { def })
    }

    /// Takes a snapshot of what is committed now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            view: self
                .instance()
                .engine()
                .transactions()
                .begin(Isolation::RepeatableRead, TxnMode::ReadOnly)
                .view(),
        }
    }

    /// Begins a transaction.
    pub fn begin(&self) -> Writer {
        let engine: &Arc<Engine> = self.instance().engine();
        Writer { transaction: engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite) }
    }
}

/// A table with a primary key.
#[derive(Clone)]
pub struct Table {
    def: Arc<TableDef>,
}

impl Table {
    /// Returns the position of the column with this name, in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.def.column(name)
    }

    fn clustered(&self) -> &IndexDef {
        self.def.clustered()
    }

    /// Encodes a key, or the first values of one.
    fn encode_key(&self, values: impl Params, whole: bool) -> Result<Vec<u8>> {
        let clustered = self.clustered();
        let mut parts = clustered.parts.iter().zip(&clustered.key_parts);
        let mut key = Vec::with_capacity(32);
        values.each(&mut |value| {
            let (part, encoded) = parts.next().ok_or_else(|| MysqlError::wrong_value_count(1))?;
            let stored = match value {
                Parameter::Text(text) => {
                    encode_stored_text(encoded, text, &mut key).map_err(MysqlError::from)?
                }
                // The conversion below finds the error for a number out of range. A YEAR needs the conversion,
                // because few numbers are years unchanged.
                Parameter::Value(ref number @ (Value::Int(_) | Value::UInt(_)))
                    if encoded.ty.is_integer() && encoded.ty != SqlType::Year =>
                {
                    encode_part(encoded, number, &mut key).is_ok()
                }
                _ => false,
            };
            if !stored {
                let value = self.stored(part.column, &finite(value.into_value())?)?;
                encode_part(encoded, &value, &mut key).map_err(MysqlError::from)?;
            }
            Ok(())
        })?;
        if whole && parts.next().is_some() {
            return Err(MysqlError::wrong_value_count(1).into());
        }
        Ok(key)
    }

    fn row(&self, params: impl Params) -> Result<Vec<Value>> {
        let mut row = parameters(params)?;
        if row.len() != self.def.columns.len() {
            return Err(MysqlError::wrong_value_count(1).into());
        }
        for (column, value) in row.iter_mut().enumerate() {
            *value = self.stored(column, value)?;
        }
        Ok(row)
    }

    /// Converts a value to the form that a column stores.
    fn stored(&self, column: usize, value: &Value) -> Result<Value> {
        let column: &ColumnDef =
            self.def.columns.get(column).ok_or_else(|| MysqlError::internal("a column that is not there"))?;
        let mut warnings = Warnings::new();
        let mut cx = StoreContext {
            column: &column.name,
            charset: column.collation.charset(),
            row: 1,
            strict: true,
            dates: DateRules::ANY,
            zone: &Zone::UTC,
            // The value does not come in a packet.
            max_document: usize::MAX,
            warnings: &mut warnings,
        };
        let nullable = column.nullable || column.auto_increment;
        Ok(store_cast(value, &type_of(value), &column.ty, nullable, &mut cx)?)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}.{})", self.def.database, self.def.name)
    }
}

/// A snapshot: shows what was committed when it was taken. Old versions of rows are kept as long as it exists.
#[derive(Clone)]
pub struct Snapshot {
    view: ReadView,
}

impl Snapshot {
    /// Returns a reader of a table.
    ///
    /// # Errors
    /// 1412 if the table is newer than the snapshot, or was dropped or rebuilt since it was looked up.
    pub fn read(&self, table: &Table) -> Result<Reader> {
        Reader::new(&self.view, table)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// A transaction. Dropping it rolls it back.
///
/// If its first write meets a row changed since the transaction's snapshot, the transaction takes a newer snapshot,
/// provided that it has not read or written before; a later conflict is error 1213.
#[derive(Debug)]
pub struct Writer {
    transaction: Transaction,
}

impl Writer {
    /// Returns a reader of a table, which shows what was committed at the transaction's snapshot, and what the
    /// transaction has written until now.
    ///
    /// # Errors
    /// The errors of [`Snapshot::read`].
    pub fn read(&mut self, table: &Table) -> Result<Reader> {
        self.transaction.begin_statement();
        self.transaction.set_shown();
        Reader::new(&self.transaction.view(), table)
    }

    /// Inserts a row, one value per column. NULL or 0 makes an AUTO_INCREMENT column generate a value, which is
    /// returned.
    ///
    /// # Errors
    /// 1062 if the key exists; others as [`put`](Self::put).
    pub fn insert(&mut self, table: &Table, row: impl Params) -> Result<Option<u64>> {
        let row = table.row(row)?;
        self.write(table, |transaction| Ok(transaction.insert(&table.def, &row)?.auto_increment))
    }

    /// Inserts a row, or replaces the one with the same primary key. Returns whether it replaced one.
    ///
    /// # Errors
    /// 1062 if another row has one of its other unique keys; 1235 if the table has or is referred to by a foreign
    /// key; 1213 after a conflict or deadlock, 1205 if a lock is not granted in time; those of values that the
    /// columns cannot hold.
    pub fn put(&mut self, table: &Table, row: impl Params) -> Result<bool> {
        let row = table.row(row)?;
        self.write(table, |transaction| transaction.put_row(&table.def, &row))
    }

    /// Deletes the row with a key. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    pub fn delete(&mut self, table: &Table, key: impl Params) -> Result<bool> {
        let key = table.encode_key(key, true)?;
        self.write(table, |transaction| transaction.delete_key(&table.def, &key))
    }

    fn write<R>(
        &mut self,
        table: &Table,
        mut write: impl FnMut(&mut Transaction) -> Result<R, TableError>,
    ) -> Result<R> {
        let TableDef { database, name, foreign_keys, .. } = &*table.def;
        let catalog = self.transaction.core().catalog();
        if !foreign_keys.is_empty() || catalog.references(database, name).next().is_some() {
            return Err(MysqlError::not_supported("writing to tables with foreign keys outside SQL").into());
        }
        loop {
            match write(&mut self.transaction) {
                // The row is locked now, so a newer snapshot shows its newest version.
                Err(TableError::WriteConflict)
                    if self.transaction.can_restart() && !self.transaction.has_writes() =>
                {
                    self.transaction.refresh_snapshot().map_err(MysqlError::from)?;
                }
                result => return Ok(result.map_err(MysqlError::from)?),
            }
        }
    }

    /// Makes the writes visible and durable; returns when they are.
    ///
    /// # Errors
    /// 1412 if a table was changed meanwhile, 1021 if the disk is full; nothing is changed then.
    pub fn commit(self) -> Result<()> {
        self.transaction.commit().map_err(MysqlError::from)?;
        Ok(())
    }

    /// Drops the writes.
    pub fn rollback(self) {}
}

/// The number of rows that are copied at once from tables that may have values outside their rows.
const ROWS_COPIED: usize = 64;

/// Reads the rows of a table.
pub struct Reader {
    rows: RowReader,
    table: Table,
    /// For each column whose bytes can be read in place: where they are.
    shown: Vec<Option<StringPlace>>,
}

impl Reader {
    fn new(view: &ReadView, table: &Table) -> Result<Reader> {
        let rows = view.rows(&table.def).map_err(MysqlError::from)?;
        let is_key = |column| table.clustered().parts.iter().any(|part| part.column == column);
        let is_string = |ty: &SqlType| ty.is_string();
        let format = &table.clustered().format;
        let place = |(at, column): (usize, &ColumnDef)| {
            let shown = is_string(&column.ty) && !is_key(at);
            shown.then(|| format.newest_string_place(at)).flatten()
        };
        let shown = table.def.columns.iter().enumerate().map(place).collect();
        Ok(Reader { rows, table: table.clone(), shown })
    }

    /// Returns the result of `f` for the row with a key; `None` if there is none. `f` may block writers of
    /// neighbouring rows, and must not use the database.
    ///
    /// # Errors
    /// Errors of values that the key cannot hold; errors of the engine.
    pub fn get<R>(&self, key: impl Params, f: impl FnOnce(RowView<'_>) -> R) -> Result<Option<R>> {
        let key = self.table.encode_key(key, true)?;
        if self.table.def.overflow.is_none() {
            let found = self.rows.get(&key, |row| row.map(|row| f(self.view(row, &[]))));
            return Ok(found.map_err(MysqlError::from)?);
        }
        let payload = self.rows.get(&key, |row| row.map(|row| row.payload.to_vec()));
        payload.map_err(MysqlError::from)?.map(|payload| self.show_copy(&key, &payload, f)).transpose()
    }

    /// Passes rows in the order of the primary key to `f`, until it returns false. Begins with the first row whose
    /// key is not less than `from`, the first values of a key (`()`: from the beginning). `f` may block writers of
    /// neighbouring rows, and must not use the database.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    pub fn scan(&self, from: impl Params, mut f: impl FnMut(RowView<'_>) -> bool) -> Result<()> {
        let from = self.table.encode_key(from, false)?;
        if self.table.def.overflow.is_none() {
            let visit = |row: RowRef<'_>| f(self.view(row, &[]));
            return Ok(self.rows.scan(Direction::Forward, Some(&from), visit).map_err(MysqlError::from)?);
        }
        // Values outside the rows cannot be read under the leaf's latch, so rows are copied first.
        let mut from = from;
        loop {
            let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let visit = |row: RowRef<'_>| {
                rows.push((row.key.to_vec(), row.payload.to_vec()));
                rows.len() < ROWS_COPIED
            };
            self.rows.scan(Direction::Forward, Some(&from), visit).map_err(MysqlError::from)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            from = [last.as_slice(), &[0]].concat();
            for (key, payload) in &rows {
                if !self.show_copy(key, payload, &mut f)? {
                    return Ok(());
                }
            }
        }
    }

    /// Passes a row that may have values outside it to `f`.
    fn show_copy<R>(&self, key: &[u8], payload: &[u8], f: impl FnOnce(RowView<'_>) -> R) -> Result<R> {
        let outside = self.table.clustered().format.overflow(payload).map_err(MysqlError::from)?;
        let references: Vec<OverflowRef> = outside.iter().map(|(_, reference)| *reference).collect();
        let values = match references.as_slice() {
            [] => Vec::new(),
            references => self.rows.overflow_values(references).map_err(MysqlError::from)?,
        };
        let outside: Vec<(usize, Vec<u8>)> = outside.iter().map(|(column, _)| *column).zip(values).collect();
        Ok(f(self.view(RowRef { key, payload }, &outside)))
    }

    fn view<'r>(&'r self, row: RowRef<'r>, outside: &'r [(usize, Vec<u8>)]) -> RowView<'r> {
        RowView { reader: self, row, outside }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("table", &self.table).finish_non_exhaustive()
    }
}

/// A row in place, in its leaf or a copy.
#[derive(Clone, Copy)]
pub struct RowView<'r> {
    reader: &'r Reader,
    row: RowRef<'r>,
    /// The columns whose values are outside the row, with the values.
    outside: &'r [(usize, Vec<u8>)],
}

impl<'r> RowView<'r> {
    /// Returns the value of a column, by position.
    ///
    /// # Errors
    /// [`Error::NoSuchColumn`]; [`Error::WrongType`] if the value is not a `T`, or is NULL and `T` is not an
    /// `Option`.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        let def = self.column(column)?;
        let value = self.value(column)?;
        match T::from_value(value.borrowed(), &def.ty) {
            Some(value) => Ok(value),
            None => {
                let text = convert::to_text(&value, &def.ty);
                let found = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
                Err(Error::WrongType { column: def.name.clone(), found, wanted: T::WANTED })
            }
        }
    }

    /// Returns the bytes of a string, without a copy; `None` for NULL.
    ///
    /// # Errors
    /// [`Error::NoSuchColumn`]; [`Error::WrongType`] for a column of another type, and for columns of the primary
    /// key.
    #[inline]
    pub fn bytes(&self, column: usize) -> Result<Option<&'r [u8]>> {
        let Some(Some(place)) = self.reader.shown.get(column) else { return Err(self.not_shown(column)) };
        if let Some(value) = self.outside(column) {
            return Ok(Some(value));
        }
        let bytes = match place.is_in(self.row.payload) {
            true => place.bytes(self.row.payload),
            false => self.reader.table.clustered().format.stored_bytes(self.row.payload, column),
        };
        Ok(bytes.map_err(MysqlError::from)?)
    }

    #[cold]
    fn not_shown(&self, column: usize) -> Error {
        match self.column(column) {
            Ok(def) => Error::WrongType {
                column: def.name.clone(),
                found: format!("{:?}", def.ty),
                wanted: "bytes as they are stored",
            },
            Err(error) => error,
        }
    }

    fn column(&self, column: usize) -> Result<&'r ColumnDef> {
        self.reader
            .table
            .def
            .columns
            .get(column)
            .ok_or_else(|| Error::NoSuchColumn(format!("number {column}")))
    }

    /// Returns the bytes of a column if they are outside the row.
    fn outside(&self, column: usize) -> Option<&'r [u8]> {
        self.outside.iter().find(|(outside, _)| *outside == column).map(|(_, value)| value.as_slice())
    }

    fn value(&self, column: usize) -> Result<Value> {
        if let Some(value) = self.outside(column) {
            return Ok(stored_value(&self.column(column)?.ty, value).map_err(MysqlError::from)?);
        }
        let format = &self.reader.table.clustered().format;
        Ok(format.decode_value(self.row.key, self.row.payload, column).map_err(MysqlError::from)?)
    }
}

impl fmt::Debug for RowView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = (0..self.reader.table.def.columns.len()).map(|column| self.value(column).ok());
        f.debug_map()
            .entries(self.reader.table.def.columns.iter().map(|column| &column.name).zip(values))
            .finish()
    }
}
