//! Catalog rows: the keys and payloads of the catalog's tree.
//!
//! Keys are big-endian, so that the rows lie in the order in which they are decoded: databases, tables,
//! columns by table and position, indexes by table and position. Payloads are little-endian and begin with
//! a format byte.
//!
//! | row      | key                             | payload after the format byte                               |
//! |----------|---------------------------------|-------------------------------------------------------------|
//! | database | 1, database id u64              | name, collation u16                                          |
//! | table    | 2, table id u64                 | database, name, schema version u16, comment, collation u16 (0: none), first AUTO_INCREMENT value u64 (0: none), PACK_KEYS u8 (see `catalog::packing`), organisation u8 (see `catalog::organisation`), number of its overflow table u64 (0: none), whether it is an overflow table u8, number of the table that it is a partition of u64 (0: none; else its columns are those of that table and are not stored) |
//! | column   | 3, table id u64, position u16   | name, type (tag u8, two u32 parameters), flags u8 (1 nullable, 2 AUTO_INCREMENT, 4 ON UPDATE, 8 unsigned, 16 INVISIBLE, 32 ZEROFILL of a DECIMAL, FLOAT or DOUBLE), collation u16, texts of an ENUM or SET, default u8 (0 none, 1 constant, 2 CURRENT_TIMESTAMP, 3 expression, 4 dropped), constant as a one-column row or text of the expression, comment, generated u8 (0 no, 1 VIRTUAL, 2 STORED, 3 for a functional key part), text of its expression, place u16, first schema version whose rows have it u16, value of older rows as a one-column row |
//! | index    | 4, table id u64, position u16   | index id u64, name, kind u8, parts (u16 count, each: column u16, descending u8, length of its prefix u32 (0: the whole value)), tree u64, root page u64, comment, flags u8 (1 INVISIBLE, 2 made for a foreign key), packing u8 (see `catalog::packing`) |
//! | check    | 5, table id u64, position u16   | name, text of the condition, enforced u8 |
//! | foreign key | 6, table id u64, position u16 | name, columns (u16 count, each u16), database and name of the parent, names of its columns (as many), ON DELETE u8, ON UPDATE u8 (0 NO ACTION, 1 RESTRICT, 2 CASCADE, 3 SET NULL) |
//! | view     | 7, view id u64                  | database, name, count of columns u16 and their names, text of the query, algorithm u8 (0 UNDEFINED, 1 MERGE, 2 TEMPTABLE; +16 with LOCAL CHECK OPTION, +32 with CASCADED CHECK OPTION, +64 with SQL SECURITY INVOKER, +128 if the definer follows: user, host) |
//! | histogram | 8, table id u64, position of the column u16, piece u16 | see `catalog::histogram` |
//! | dropped column | 9, table id u64, number u16 | the row of the column without a name, then the first version without it u16 |
//! | partitioning | 10, table id u64         | method u8 (0 RANGE, 1 LIST, 2 HASH, 3 KEY), flags u8 (1 LINEAR, 2 KEY without columns, 4 partitions listed, 8 by a function, 16 subpartitions), text of the function, deciding columns (u16 count, each u16); with subpartitions the same fields for them, and the number in each partition u16 |
//! | partition, or subpartition | 11, table id u64, position u16 | name, comment, number of the table with its rows u64, rows of values (u32 count, each: u16 count, each value: u8 (0 MAXVALUE, 1 value, 2 unsigned number of a function), value as a one-column row); of a subpartition: its own name and comment |
//!
//! Names, texts, comments and the constant consist of a length (u32) and the bytes.

use super::column::{ColumnDef, DefaultValue, GeneratedColumn, GeneratedKind, StoredColumn, column_layout};
use super::definition::{ForeignKeyDef, Organisation, TableDef, TableId, TableOptions};
use super::histogram;
use super::index_def::{IndexDef, IndexKind, IndexPart, Packing};
use super::packing::{decode_choice, encode_choice};
use super::published::DatabaseDef;
use super::row::CatalogRow;
use super::stored_partitions::{PartitionRows, partition_rows};
use super::type_code::{ENUM, SET, UNSIGNED, ZEROFILL, type_code, type_of_code};
use super::view::{CheckOption, ViewAlgorithm, ViewDef};
use super::words_spec;
use super::words_spec::WordsSpec;
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::{Result, TableError};
use leafline_storage::{PageNo, SegmentId};
use leafline_types::row::DroppedColumn;
use leafline_types::words::ReferentialAction;
use leafline_types::{Collation, ColumnLayout, RowLayout, SqlType, Value};
use std::sync::Arc;

pub(super) const FORMAT: u8 = 11;
pub(super) const DATABASE: u8 = 1;
pub(super) const TABLE: u8 = 2;
pub(super) const COLUMN: u8 = 3;
pub(super) const INDEX: u8 = 4;
pub(super) const CHECK: u8 = 5;
pub(super) const FOREIGN_KEY: u8 = 6;
pub(super) const VIEW: u8 = 7;
pub(super) const DROPPED: u8 = 9;
pub(super) const PARTITIONING: u8 = 10;
pub(super) const PARTITION: u8 = 11;
/// The kind of the change buffer's row: see `crate::change_buffer`.
pub(crate) const CHANGE_BUFFER: u8 = 15;

const NULLABLE: u8 = 1;
const AUTO_INCREMENT: u8 = 2;
const ON_UPDATE: u8 = 4;
const INVISIBLE: u8 = 16;

pub(super) const INVISIBLE_INDEX: u8 = 1;
pub(super) const FOR_FOREIGN_KEY: u8 = 2;

const HAS_COLLATION: u8 = 8;
const CHECK_LOCAL: u8 = 16;
const CHECK_CASCADED: u8 = 32;
const BY_INVOKER: u8 = 64;
const HAS_DEFINER: u8 = 128;

impl CatalogRow {
    /// The row of a database.
    pub(crate) fn database(database: &DatabaseDef) -> CatalogRow {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).string(&database.name).u16(database.collation.id());
        CatalogRow { key: key(DATABASE, database.id, None), payload: out.finish() }
    }

    /// The row of a view.
    pub(crate) fn view(view: &ViewDef) -> CatalogRow {
        let mut out = ByteWriter::default();
        out.u8(FORMAT).string(&view.database).string(&view.name).u16(view.columns.len() as u16);
        for column in &view.columns {
            out.string(column);
        }
        let algorithm = match view.algorithm {
            ViewAlgorithm::Undefined => 0,
            ViewAlgorithm::Merge => 1,
            ViewAlgorithm::TempTable => 2,
        };
        let check_option = match view.check_option {
            CheckOption::None => 0,
            CheckOption::Local => CHECK_LOCAL,
            CheckOption::Cascaded => CHECK_CASCADED,
        };
        let security = if view.by_invoker { BY_INVOKER } else { 0 };
        let definer = if view.definer.is_some() { HAS_DEFINER } else { 0 };
        let has_collation = view.collation != Collation::DEFAULT;
        let collation = if has_collation { HAS_COLLATION } else { 0 };
        out.string(&view.query).u8(algorithm | check_option | security | definer | collation);
        if let Some((user, host)) = &view.definer {
            out.string(user).string(host);
        }
        if has_collation {
            out.u16(view.collation.id());
        }
        CatalogRow { key: key(VIEW, view.id, None), payload: out.finish() }
    }

    /// The rows of a table, its columns, indexes and constraints.
    pub(crate) fn table(table: &TableDef) -> Result<Vec<CatalogRow>> {
        let mut rows = Vec::with_capacity(1 + table.columns.len() + table.indexes.len());
        let mut out = ByteWriter::default();
        out.u8(FORMAT).string(&table.database).string(&table.name).u16(table.schema_version);
        out.string(&table.options.comment).u16(table.options.collation.map_or(0, Collation::id));
        out.u64(table.options.auto_increment_start.unwrap_or(0)).u8(encode_choice(table.options.pack_keys));
        out.u8(table.options.organisation.encode());
        out.u64(table.overflow.map_or(0, |overflow| overflow.0)).bool(table.is_overflow);
        out.u64(table.partition_of.map_or(0, |of| of.0));
        rows.push(CatalogRow { key: key(TABLE, table.id.0, None), payload: out.finish() });
        // A partition has the columns of its table.
        let own = if table.partition_of.is_none() { table.columns.as_slice() } else { &[] };
        for (position, column) in own.iter().enumerate() {
            let payload = encode_column(column)?;
            rows.push(CatalogRow { key: key(COLUMN, table.id.0, Some(position as u16)), payload });
        }
        for (position, index) in table.indexes.iter().enumerate() {
            let payload = encode_index(index);
            rows.push(CatalogRow { key: key(INDEX, table.id.0, Some(position as u16)), payload });
        }
        for (position, check) in table.checks.iter().enumerate() {
            let mut out = ByteWriter::default();
            out.u8(FORMAT).string(&check.name).string(&check.expression).bool(check.enforced);
            let key = key(CHECK, table.id.0, Some(position as u16));
            rows.push(CatalogRow { key, payload: out.finish() });
        }
        for (position, foreign) in table.foreign_keys.iter().enumerate() {
            let key = key(FOREIGN_KEY, table.id.0, Some(position as u16));
            rows.push(CatalogRow { key, payload: encode_foreign_key(foreign) });
        }
        for (number, column) in table.dropped.iter().enumerate() {
            let key = key(DROPPED, table.id.0, Some(number as u16));
            rows.push(CatalogRow { key, payload: encode_dropped(column)? });
        }
        rows.extend(histogram::rows(table)?);
        if let Some(PartitionRows { scheme, partitions }) = partition_rows(table)? {
            rows.push(CatalogRow { key: key(PARTITIONING, table.id.0, None), payload: scheme });
            rows.extend((0u16..).zip(partitions).map(|(position, payload)| CatalogRow {
                key: key(PARTITION, table.id.0, Some(position)),
                payload,
            }));
        }
        Ok(rows)
    }
}

pub(super) fn key(kind: u8, id: u64, position: Option<u16>) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&id.to_be_bytes());
    if let Some(position) = position {
        key.extend_from_slice(&position.to_be_bytes());
    }
    key
}

fn constant_layout(ty: &SqlType, collation: Collation) -> RowLayout {
    RowLayout::new(0, &[ColumnLayout { ty: ty.clone(), nullable: true, collation }])
}

fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

pub(super) fn encode_column(column: &ColumnDef) -> Result<Vec<u8>> {
    let mut out = ByteWriter::default();
    let (tag, first, second) = type_code(&column.ty)?;
    out.u8(FORMAT).string(&column.name).u8(tag).u32(first).u32(second);
    let is_zerofill = !column.ty.is_integer() && column.ty.zerofill_width().is_some();
    out.u8(flag(column.nullable, NULLABLE)
        | flag(column.auto_increment, AUTO_INCREMENT)
        | flag(column.on_update_now, ON_UPDATE)
        | flag(column.ty.is_unsigned(), UNSIGNED)
        | flag(column.invisible, INVISIBLE)
        | flag(is_zerofill, ZEROFILL));
    out.u16(column.collation.id());
    if let SqlType::Enum(members) | SqlType::Set(members) = &column.ty {
        members.names().for_each(|name| {
            out.string(name);
        });
    }
    match &column.default {
        None => out.u8(0).bytes(&[]),
        Some(DefaultValue::Constant(value)) => {
            let mut row = Vec::new();
            constant_layout(&column.ty, column.collation).encode(std::slice::from_ref(value), &mut row)?;
            out.u8(1).bytes(&row)
        }
        Some(DefaultValue::CurrentTimestamp) => out.u8(2).bytes(&[]),
        Some(DefaultValue::Expression(text)) => out.u8(3).string(text),
        Some(DefaultValue::Dropped) => out.u8(4).bytes(&[]),
    };
    out.string(&column.comment);
    match &column.generated {
        None => out.u8(0).string(""),
        Some(generated) => {
            let kind = match generated.kind {
                GeneratedKind::Virtual => 1,
                GeneratedKind::Stored => 2,
                GeneratedKind::KeyPart => 3,
            };
            out.u8(kind).string(&generated.expression)
        }
    };
    let StoredColumn { place, since, older } = &column.stored;
    let mut row = Vec::new();
    constant_layout(&column.ty, column.collation).encode(std::slice::from_ref(older), &mut row)?;
    out.u16(*place).u16(*since).bytes(&row);
    Ok(out.finish())
}

pub(super) fn decode_column(payload: &[u8]) -> Result<ColumnDef> {
    let mut from = ByteReader::new("catalog column", payload);
    from.format(FORMAT)?;
    let name = from.string()?;
    // The flags follow the type, but decoding the type needs one of them.
    let type_bytes = from.take_slice(9)?;
    let flags = from.u8()?;
    let collation = from.u16()?;
    let collation = known_collation(collation, &from)?;
    let count = match type_bytes {
        [ENUM | SET, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    let names = (0..count).map(|_| from.string()).collect::<Result<Vec<_>>>()?;
    let mut type_reader = ByteReader::new("catalog column", type_bytes);
    let ty = type_of_code(&mut type_reader, flags, (names, collation))?;
    let kind = from.u8()?;
    let constant = from.bytes()?;
    let default = match kind {
        0 => None,
        1 => Some(DefaultValue::Constant(constant_layout(&ty, collation).decode_value(constant, 0)?)),
        2 => Some(DefaultValue::CurrentTimestamp),
        3 => match std::str::from_utf8(constant) {
            Ok(text) => Some(DefaultValue::Expression(text.into())),
            Err(_) => return Err(from.damaged("its default is no text")),
        },
        4 => Some(DefaultValue::Dropped),
        other => return Err(from.damaged(format!("default {other} is not known"))),
    };
    let comment = from.string()?;
    let (kind, expression) = (from.u8()?, from.string()?);
    let generated = match kind {
        0 => None,
        1 => Some(GeneratedColumn { expression, kind: GeneratedKind::Virtual }),
        2 => Some(GeneratedColumn { expression, kind: GeneratedKind::Stored }),
        3 => Some(GeneratedColumn { expression, kind: GeneratedKind::KeyPart }),
        other => return Err(from.damaged(format!("way {other} to generate it is not known"))),
    };
    let (place, since) = (from.u16()?, from.u16()?);
    let older = constant_layout(&ty, collation).decode_value(from.bytes()?, 0)?;
    from.end()?;
    Ok(ColumnDef {
        name,
        ty,
        nullable: flags & NULLABLE != 0,
        collation,
        default,
        on_update_now: flags & ON_UPDATE != 0,
        auto_increment: flags & AUTO_INCREMENT != 0,
        generated,
        invisible: flags & INVISIBLE != 0,
        comment,
        stored: StoredColumn { place, since, older },
    })
}

fn encode_index(index: &IndexDef) -> Vec<u8> {
    let mut out = ByteWriter::default();
    let kind = match index.kind {
        IndexKind::Clustered => 1,
        IndexKind::Unique => 2,
        IndexKind::Secondary => 3,
        IndexKind::Words => 4,
    };
    out.u8(FORMAT).u64(index.id).string(&index.name).u8(kind).u16(index.parts.len() as u16);
    for part in &index.parts {
        out.u16(part.column as u16).bool(part.descending).u32(part.prefix.unwrap_or(0));
    }
    out.u64(index.tree.0).u64(index.root.0).string(&index.comment);
    out.u8(flag(index.invisible, INVISIBLE_INDEX) | flag(index.for_foreign_key, FOR_FOREIGN_KEY));
    out.u8(index.packing.encode());
    if let Some(words) = &index.words {
        words_spec::encode(words, &mut out);
    }
    out.finish()
}

pub(super) fn decode_view(id: u64, payload: &[u8]) -> Result<ViewDef> {
    let mut from = ByteReader::new("catalog view", payload);
    from.format(FORMAT)?;
    let (database, name) = (from.string()?, from.string()?);
    let count = from.u16()?;
    let columns = (0..count).map(|_| from.string()).collect::<Result<Vec<_>>>()?;
    let query = from.string()?;
    let options = from.u8()?;
    let checks = CHECK_LOCAL | CHECK_CASCADED;
    let algorithm = match options & !(checks | BY_INVOKER | HAS_DEFINER | HAS_COLLATION) {
        0 => ViewAlgorithm::Undefined,
        1 => ViewAlgorithm::Merge,
        2 => ViewAlgorithm::TempTable,
        other => return Err(from.damaged(format!("algorithm {other} is not known"))),
    };
    let check_option = match options & checks {
        0 => CheckOption::None,
        CHECK_LOCAL => CheckOption::Local,
        CHECK_CASCADED => CheckOption::Cascaded,
        other => return Err(from.damaged(format!("check option {other} is not known"))),
    };
    let definer = match options & HAS_DEFINER {
        0 => None,
        _ => Some((from.string()?, from.string()?)),
    };
    let collation = match options & HAS_COLLATION {
        0 => Collation::DEFAULT,
        _ => {
            let number = from.u16()?;
            let known = Collation::from_id(number);
            known.ok_or_else(|| from.damaged(format!("collation {number} is not known")))?
        }
    };
    from.end()?;
    let by_invoker = options & BY_INVOKER != 0;
    Ok(ViewDef {
        id,
        database,
        name,
        columns,
        query,
        algorithm,
        check_option,
        definer,
        collation,
        by_invoker,
    })
}

fn encode_foreign_key(key: &ForeignKeyDef) -> Vec<u8> {
    let mut out = ByteWriter::default();
    out.u8(FORMAT).string(&key.name).u16(key.columns.len() as u16);
    for column in &key.columns {
        out.u16(*column as u16);
    }
    out.string(&key.parent_database).string(&key.parent_table);
    for column in &key.parent_columns {
        out.string(column);
    }
    for action in [key.on_delete, key.on_update] {
        out.u8(match action {
            ReferentialAction::NoAction => 0,
            ReferentialAction::Restrict => 1,
            ReferentialAction::Cascade => 2,
            ReferentialAction::SetNull => 3,
        });
    }
    out.finish()
}

pub(super) fn decode_foreign_key(payload: &[u8], columns: usize) -> Result<ForeignKeyDef> {
    let mut from = ByteReader::new("catalog foreign key", payload);
    from.format(FORMAT)?;
    let name = from.string()?;
    let count = from.u16()?;
    let own = (0..count).map(|_| from.u16().map(usize::from)).collect::<Result<Vec<_>>>()?;
    if own.iter().any(|column| *column >= columns) {
        return Err(from.damaged("it names a column that is not there"));
    }
    let (parent_database, parent_table) = (from.string()?, from.string()?);
    let parent_columns = (0..count).map(|_| from.string()).collect::<Result<Vec<_>>>()?;
    let mut action = || {
        Ok(match from.u8()? {
            0 => ReferentialAction::NoAction,
            1 => ReferentialAction::Restrict,
            2 => ReferentialAction::Cascade,
            3 => ReferentialAction::SetNull,
            other => return Err(from.damaged(format!("action {other} is not known"))),
        })
    };
    let (on_delete, on_update) = (action()?, action()?);
    from.end()?;
    Ok(ForeignKeyDef {
        name,
        columns: own,
        parent_database,
        parent_table,
        parent_columns,
        on_delete,
        on_update,
    })
}

/// An index as its row describes it, before its physical description is derived.
pub(super) struct IndexRow {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: IndexKind,
    pub(super) parts: Vec<IndexPart>,
    pub(super) tree: SegmentId,
    pub(super) root: PageNo,
    pub(super) comment: String,
    pub(super) flags: u8,
    pub(super) packing: Packing,
    pub(super) words: Option<Arc<WordsSpec>>,
}

pub(super) fn decode_index(payload: &[u8], columns: usize) -> Result<IndexRow> {
    let mut from = ByteReader::new("catalog index", payload);
    from.format(FORMAT)?;
    let (id, name) = (from.u64()?, from.string()?);
    let kind = match from.u8()? {
        1 => IndexKind::Clustered,
        2 => IndexKind::Unique,
        3 => IndexKind::Secondary,
        4 => IndexKind::Words,
        other => return Err(from.damaged(format!("kind {other} is not known"))),
    };
    let mut parts = Vec::new();
    for _ in 0..from.u16()? {
        let (column, descending) = (usize::from(from.u16()?), from.bool()?);
        let prefix = Some(from.u32()?).filter(|prefix| *prefix > 0);
        let part = IndexPart { column, descending, prefix };
        if part.column >= columns {
            return Err(from.damaged("it names a column that is not there"));
        }
        parts.push(part);
    }
    let (tree, root, comment) = (SegmentId(from.u64()?), PageNo(from.u64()?), from.string()?);
    let (flags, packing) = (from.u8()?, Packing::decode(&mut from)?);
    if flags & !(INVISIBLE_INDEX | FOR_FOREIGN_KEY) != 0 {
        return Err(from.damaged("an index has flags that are not known"));
    }
    let words = match kind {
        IndexKind::Words => Some(Arc::new(words_spec::decode(&mut from)?)),
        _ => None,
    };
    from.end()?;
    Ok(IndexRow { id, name, kind, parts, tree, root, comment, flags, packing, words })
}

pub(super) fn known_collation(id: u16, from: &ByteReader<'_>) -> Result<Collation> {
    Collation::from_id(id).ok_or_else(|| from.damaged("its collation is not known"))
}

/// Encodes the catalog's row of a dropped column.
pub(super) fn encode_dropped(column: &DroppedColumn) -> Result<Vec<u8>> {
    let ColumnLayout { ty, nullable, collation } = column.layout.clone();
    let mut definition = ColumnDef::new("", ty, nullable, collation);
    definition.stored = StoredColumn { place: column.place, since: column.added_in, older: Value::Null };
    let mut out = ByteWriter::default();
    out.u8(FORMAT).bytes(&encode_column(&definition)?).u16(column.dropped_in);
    Ok(out.finish())
}

/// Decodes the catalog's row of a dropped column.
pub(super) fn decode_dropped(payload: &[u8]) -> Result<DroppedColumn> {
    let mut from = ByteReader::new("catalog column that is gone", payload);
    from.format(FORMAT)?;
    let column = decode_column(from.bytes()?)?;
    let dropped_in = from.u16()?;
    from.end()?;
    let StoredColumn { place, since, .. } = column.stored;
    Ok(DroppedColumn { layout: column_layout(&column), place, added_in: since, dropped_in })
}

pub(super) fn decode_table(id: TableId, payload: &[u8]) -> Result<TableDef> {
    let mut from = ByteReader::new("catalog table", payload);
    from.format(FORMAT)?;
    let (database, name, schema_version) = (from.string()?, from.string()?, from.u16()?);
    let (comment, collation, start, keys) = (from.string()?, from.u16()?, from.u64()?, from.u8()?);
    let (pack_keys, organisation) = (decode_choice(keys, &from)?, Organisation::decode(&mut from)?);
    let collation = match collation {
        0 => None,
        id => Some(known_collation(id, &from)?),
    };
    let (overflow, is_overflow, partition_of) = (from.u64()?, from.bool()?, from.u64()?);
    from.end()?;
    let auto_increment_start = (start != 0).then_some(start);
    Ok(TableDef {
        id,
        database,
        name,
        columns: Vec::new(),
        dropped: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        histograms: Vec::new(),
        schema_version,
        overflow: (overflow != 0).then_some(TableId(overflow)),
        is_overflow,
        is_private: false,
        partitioning: None,
        partition_of: (partition_of != 0).then_some(TableId(partition_of)),
        options: TableOptions { comment, collation, auto_increment_start, pack_keys, organisation },
    })
}

pub(super) struct KeyReader<'a>(pub(super) &'a [u8]);

impl KeyReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let short = || TableError::Corrupt("catalog: a key is too short".into());
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take()?))
    }
}
