//! The objects that DDL statements define: checks them against MySQL's rules, and resolves names to
//! positions.

use super::column::{CheckDef, ColumnDef, GeneratedKind, StoredColumn};
use super::definition::{Organisation, TableDef, TableOptions};
use super::fulltext::FulltextSpec;
use super::index_def::{HIDDEN_CLUSTERED, IndexDef, IndexKind, IndexPart, PRIMARY};
use super::partition_scheme::PartitionScheme;
use super::words_spec::WordsSpec;
use crate::error::Result;
use crate::limits::Limits;
use leafline_types::words::ReferentialAction;
use leafline_types::{MysqlError, SqlType};
use std::sync::Arc;

/// The maximum number of columns of a table, as in InnoDB.
const MAX_COLUMNS: usize = 1017;
/// The maximum number of secondary indexes of a table, as in InnoDB.
pub(super) const MAX_INDEXES: usize = 64;
/// The maximum number of parts of an index, as in MySQL.
const MAX_INDEX_PARTS: usize = 16;
/// The maximum length of a name, in characters.
const MAX_NAME: usize = 64;
/// The maximum length of a table's comment, in characters.
pub(super) const MAX_TABLE_COMMENT: usize = 2048;
/// The maximum length of the comment of a column, an index or a partition, in characters.
pub(super) const MAX_COMMENT: usize = 1024;
/// The maximum declared length of a row in bytes, without TEXT columns, as in MySQL.
const MAX_DECLARED_ROW: usize = 65535;

/// A table to be made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TableSpec {
    /// The database that will contain it.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Its indexes, in any order.
    pub indexes: Vec<IndexSpec>,
    /// Its FULLTEXT indexes.
    pub fulltext: Vec<FulltextSpec>,
    /// Its CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKeySpec>,
    /// Whether `foreign_key_checks` is off, so that parents of foreign keys may be missing.
    pub unchecked_references: bool,
    /// Its division into partitions; columns are positions in `columns`.
    pub partitioning: Option<Arc<PartitionScheme>>,
    /// Its options.
    pub options: TableOptions,
}

/// A foreign key to be made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForeignKeySpec {
    /// The CONSTRAINT name; a key without one is called `table_ibfk_1` and so on.
    pub name: Option<String>,
    /// The name for the index that is created if there is none, unless the key has a name.
    pub index_name: Option<String>,
    /// The names of the referring columns.
    pub columns: Vec<String>,
    /// The database of the parent.
    pub parent_database: String,
    /// The name of the parent.
    pub parent_table: String,
    /// The names of the referenced columns.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

/// The three ways to declare an index.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IndexSpecKind {
    /// `PRIMARY KEY`.
    Primary,
    /// `UNIQUE`.
    Unique,
    /// `KEY` or `INDEX`.
    #[default]
    Plain,
}

/// An index to be made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct IndexSpec {
    /// Its name; `None` names it after its first column.
    pub name: Option<String>,
    /// Its kind.
    pub kind: IndexSpecKind,
    /// Its parts.
    pub parts: Vec<IndexSpecPart>,
    /// Its comment.
    pub comment: String,
    /// `INVISIBLE`.
    pub invisible: bool,
    /// Whether a foreign key needs it. It is dropped when an index is added that serves as well.
    pub for_foreign_key: bool,
    /// PACKED: `Some(true)`, NOT PACKED: `Some(false)`.
    pub packed: Option<bool>,
    /// The number of the existing index of the altered table that it is.
    pub existing: Option<u64>,
}

impl TableSpec {
    /// The definition that would make `table` again, without its foreign keys. Its indexes refer to the
    /// existing ones.
    pub fn of(table: &TableDef) -> TableSpec {
        let shown = table.ordered_indexes().iter().filter(|index| !index.parts.is_empty());
        TableSpec {
            database: table.database.clone(),
            name: table.name.clone(),
            columns: table.columns.clone(),
            indexes: shown.map(|index| IndexSpec::of(index, &table.columns)).collect(),
            fulltext: table.fulltext().map(|index| FulltextSpec::of(index, &table.columns)).collect(),
            checks: table.checks.clone(),
            partitioning: table.partitioning.as_ref().map(|partitioning| partitioning.scheme.clone()),
            options: table.options.clone(),
            ..TableSpec::default()
        }
    }
}

impl IndexSpec {
    fn of(index: &IndexDef, columns: &[ColumnDef]) -> IndexSpec {
        let part = |part: &IndexPart| {
            let column = columns.get(part.column)?.name.clone();
            Some(IndexSpecPart { column, descending: part.descending, prefix: part.prefix })
        };
        let (name, kind) = match index.kind {
            _ if index.is_primary() => (None, IndexSpecKind::Primary),
            IndexKind::Clustered | IndexKind::Unique => (Some(index.name.clone()), IndexSpecKind::Unique),
            IndexKind::Secondary | IndexKind::Words => (Some(index.name.clone()), IndexSpecKind::Plain),
        };
        IndexSpec {
            name,
            kind,
            parts: index.parts.iter().filter_map(part).collect(),
            comment: index.comment.clone(),
            invisible: index.invisible,
            for_foreign_key: index.for_foreign_key,
            packed: index.packing.declared,
            existing: Some(index.id),
        }
    }
}

/// A part of an index to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSpecPart {
    /// The name of the column.
    pub column: String,
    /// `DESC`.
    pub descending: bool,
    /// The length of the prefix, in characters, or bytes of a binary string; `None` for the whole value.
    pub prefix: Option<u32>,
}

impl IndexSpecPart {
    /// A whole column in ascending order.
    pub fn new(column: impl Into<String>) -> IndexSpecPart {
        IndexSpecPart { column: column.into(), descending: false, prefix: None }
    }
}

/// An index whose parts are resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IndexDraft {
    pub(crate) name: String,
    pub(crate) kind: IndexKind,
    pub(crate) parts: Vec<IndexPart>,
    pub(crate) comment: String,
    pub(crate) invisible: bool,
    pub(crate) for_foreign_key: bool,
    pub(crate) packed: Option<bool>,
    /// The rules of a FULLTEXT index.
    pub(crate) words: Option<Arc<WordsSpec>>,
    pub(crate) existing: Option<u64>,
}

impl IndexDraft {
    /// Copies the properties that need no resolving.
    fn like(index: &IndexSpec) -> IndexDraft {
        IndexDraft {
            name: String::new(),
            kind: IndexKind::Secondary,
            parts: Vec::new(),
            comment: index.comment.clone(),
            invisible: index.invisible,
            for_foreign_key: index.for_foreign_key,
            packed: index.packed,
            words: None,
            existing: index.existing,
        }
    }
}

/// A table that has passed all checks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableDraft {
    pub(crate) columns: Vec<ColumnDef>,
    /// The indexes, in the order of [`index_order`].
    pub(crate) indexes: Vec<IndexDraft>,
}

impl TableDraft {
    /// The parts of the clustered key; `None` if rows are to have a hidden row id.
    pub(crate) fn clustered_key(&self) -> Option<&[IndexPart]> {
        let clustered = self.indexes.first().map(|clustered| clustered.parts.as_slice());
        clustered.filter(|parts| !parts.is_empty())
    }

    /// Returns whether there is a FULLTEXT index.
    pub(crate) fn has_fulltext(&self) -> bool {
        self.indexes.iter().any(|index| index.kind == IndexKind::Words)
    }

    /// The columns that each index is ordered by, including those that make its keys unique.
    pub(crate) fn keys(&self) -> Vec<Vec<usize>> {
        let clustered = self.clustered_key().unwrap_or_default();
        let key = |index: &IndexDraft| {
            let missing =
                clustered.iter().filter(|part| !index.parts.iter().any(|own| own.column == part.column));
            let whole = index.parts.iter().chain(missing).take_while(|part| part.prefix.is_none());
            whole.map(|part| part.column).collect()
        };
        self.indexes.iter().filter(|index| index.kind != IndexKind::Words).map(key).collect()
    }

    /// Checks `spec`.
    pub(crate) fn new(spec: &TableSpec, limits: &Limits) -> Result<TableDraft> {
        check_name(&spec.name, |name| MysqlError::wrong_table_name(name))?;
        check_comments(spec)?;
        let mut columns = spec.columns.clone();
        check_columns(&columns, limits)?;
        StoredColumn::place_all(&mut columns);
        let mut primary = spec.indexes.iter().filter(|index| index.kind == IndexSpecKind::Primary);
        let primary = match (primary.next(), primary.next()) {
            (Some(_), Some(_)) => return Err(MysqlError::multiple_primary_key().into()),
            (Some(index), None) => Some(primary_draft(index, spec, &mut columns, limits)?),
            (None, _) => None,
        };
        let mut indexes = Vec::with_capacity(spec.indexes.len() + 1);
        if primary.as_ref().is_none_or(|primary| primary.kind != IndexKind::Clustered) {
            indexes.push(IndexDraft {
                name: HIDDEN_CLUSTERED.to_owned(),
                kind: IndexKind::Clustered,
                parts: Vec::new(),
                comment: String::new(),
                invisible: false,
                for_foreign_key: false,
                packed: None,
                words: None,
                existing: None,
            });
        }
        indexes.extend(primary);
        for index in spec.indexes.iter().filter(|index| index.kind != IndexSpecKind::Primary) {
            let taken: Vec<&str> = indexes.iter().map(|index| index.name.as_str()).collect();
            let draft = validate_index(index, &columns, &taken, limits)?;
            indexes.push(draft);
        }
        let counts = |index: &&IndexDraft| index.kind != IndexKind::Clustered && index.name != PRIMARY;
        for index in &spec.fulltext {
            if spec.partitioning.is_some() {
                return Err(MysqlError::table_cannot_have_fulltext().into());
            }
            let taken: Vec<&str> = indexes.iter().map(|index| index.name.as_str()).collect();
            let index = validate_fulltext(index, &columns, &taken)?;
            indexes.push(index);
        }
        if indexes.iter().filter(counts).count() > MAX_INDEXES {
            return Err(MysqlError::too_many_keys(MAX_INDEXES).into());
        }
        indexes.sort_by_key(|index| index_order(index, &columns));
        check_auto_increment(&columns, &indexes)?;
        check_visibility(&columns, &indexes)?;
        Ok(TableDraft { columns, indexes })
    }
}

fn is_longer(comment: &str, most: usize) -> bool {
    comment.len() > most && comment.chars().count() > most
}

/// Returns error 1688 if the comment of an index is too long.
fn check_comment(index: &str, comment: &str) -> Result<()> {
    match is_longer(comment, MAX_COMMENT) {
        true => Err(MysqlError::index_comment_too_long(index, MAX_COMMENT).into()),
        false => Ok(()),
    }
}

/// Returns error 1628, 1629, 1688 or 1793 if a comment is too long.
fn check_comments(spec: &TableSpec) -> Result<()> {
    if is_longer(&spec.options.comment, MAX_TABLE_COMMENT) {
        return Err(MysqlError::table_comment_too_long(&spec.name, MAX_TABLE_COMMENT).into());
    }
    if let Some(column) = spec.columns.iter().find(|column| is_longer(&column.comment, MAX_COMMENT)) {
        return Err(MysqlError::column_comment_too_long(&column.name, MAX_COMMENT).into());
    }
    for index in &spec.indexes {
        check_comment(index.name.as_deref().unwrap_or(PRIMARY), &index.comment)?;
    }
    let partitions = spec.partitioning.iter().flat_map(|scheme| &scheme.partitions);
    let mut comments = partitions.flat_map(|partition| {
        let below = partition.subpartitions.iter().map(|below| (&below.name, &below.comment));
        std::iter::once((&partition.name, &partition.comment)).chain(below)
    });
    match comments.find(|(_, comment)| is_longer(comment, MAX_COMMENT)) {
        Some((name, _)) => Err(MysqlError::partition_comment_too_long(name, MAX_COMMENT).into()),
        None => Ok(()),
    }
}

/// Resolves the primary key, and makes its columns NOT NULL.
fn primary_draft(
    index: &IndexSpec,
    spec: &TableSpec,
    columns: &mut [ColumnDef],
    limits: &Limits,
) -> Result<IndexDraft> {
    let parts = resolve_parts(index, columns, limits)?;
    for part in &parts {
        if let Some(column) = columns.get_mut(part.column) {
            column.nullable = false;
        }
    }
    let kind = match spec.options.organisation {
        Organisation::Clustered => IndexKind::Clustered,
        Organisation::Heap => IndexKind::Unique,
    };
    let name = PRIMARY.to_owned();
    Ok(IndexDraft { name, kind, parts, ..IndexDraft::like(index) })
}

/// The rank of an index in its table's list. The clustered index comes first; then follows MySQL's order:
/// the primary key, unique indexes without NULL, other unique indexes, and the rest.
fn index_order(index: &IndexDraft, columns: &[ColumnDef]) -> u8 {
    let nullable = |part: &IndexPart| columns.get(part.column).is_some_and(|column| column.nullable);
    match index.kind {
        IndexKind::Clustered => 0,
        IndexKind::Unique if index.name == PRIMARY => 1,
        IndexKind::Unique if !index.parts.iter().any(nullable) => 2,
        IndexKind::Unique => 3,
        IndexKind::Secondary => 4,
        IndexKind::Words => 5,
    }
}

/// Checks and names an index, other than the primary key, of a table with `columns`. `taken` contains the
/// names of the table's other indexes.
pub(super) fn validate_index(
    index: &IndexSpec,
    columns: &[ColumnDef],
    taken: &[&str],
    limits: &Limits,
) -> Result<IndexDraft> {
    let parts = resolve_parts(index, columns, limits)?;
    let name = match &index.name {
        Some(name) => {
            check_name(name, |name| MysqlError::wrong_index_name(name))?;
            if primary_name_is_reserved(name) {
                return Err(MysqlError::wrong_index_name(name).into());
            }
            if taken.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
                return Err(MysqlError::duplicate_key_name(name).into());
            }
            name.clone()
        }
        None => index_name(index.parts.first().map_or("", |part| part.column.as_str()), taken),
    };
    let kind = match index.kind {
        IndexSpecKind::Unique => IndexKind::Unique,
        IndexSpecKind::Plain => IndexKind::Secondary,
        IndexSpecKind::Primary => return Err(MysqlError::multiple_primary_key().into()),
    };
    Ok(IndexDraft { name, kind, parts, ..IndexDraft::like(index) })
}

/// Resolves and names the index of a table with `columns`. `taken` has the names of the table's other indexes.
///
/// # Errors
/// 1061, 1280 and 1059 for its name; 1072 and 1060 for its columns; 1283 for columns that are not text, or are not all of one
/// collation; 3106 for virtual columns.
fn validate_fulltext(index: &FulltextSpec, columns: &[ColumnDef], taken: &[&str]) -> Result<IndexDraft> {
    if index.columns.len() > MAX_INDEX_PARTS {
        return Err(MysqlError::too_many_key_parts(MAX_INDEX_PARTS).into());
    }
    let mut positions = Vec::with_capacity(index.columns.len());
    for name in &index.columns {
        let named = |column: &ColumnDef| column.name.eq_ignore_ascii_case(name) && !column.is_hidden();
        let Some((position, column)) = columns.iter().enumerate().find(|(_, column)| named(column)) else {
            return Err(MysqlError::key_column_missing(name).into());
        };
        if positions.contains(&position) {
            return Err(MysqlError::duplicate_column(name).into());
        }
        let first = positions.first().and_then(|first: &usize| columns.get(*first));
        let same_collation = first.is_none_or(|first| first.collation == column.collation);
        if !is_text(column) || !same_collation {
            return Err(MysqlError::bad_fulltext_column(&column.name).into());
        }
        if matches!(&column.generated, Some(generated) if generated.kind == GeneratedKind::Virtual) {
            let action = "Fulltext index on virtual generated column";
            return Err(MysqlError::unsupported_on_generated_column(action).into());
        }
        positions.push(position);
    }
    let parts =
        positions.into_iter().map(|column| IndexPart { column, descending: false, prefix: None }).collect();
    let name = match &index.name {
        Some(name) => {
            check_name(name, |name| MysqlError::wrong_index_name(name))?;
            if primary_name_is_reserved(name) {
                return Err(MysqlError::wrong_index_name(name).into());
            }
            if taken.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
                return Err(MysqlError::duplicate_key_name(name).into());
            }
            name.clone()
        }
        None => index_name(index.columns.first().map_or("", String::as_str), taken),
    };
    check_comment(&name, &index.comment)?;
    let Some(words) = index.words.clone() else {
        return Err(MysqlError::internal("a FULLTEXT index without rules").into());
    };
    Ok(IndexDraft {
        name,
        kind: IndexKind::Words,
        parts,
        comment: index.comment.clone(),
        invisible: index.invisible,
        for_foreign_key: false,
        packed: None,
        words: Some(Arc::new(words)),
        existing: index.existing,
    })
}

/// Returns whether the values of a column are texts, in a character set that contains ASCII.
fn is_text(column: &ColumnDef) -> bool {
    let is_text = matches!(column.ty, SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. });
    is_text && column.ty.is_character() && column.collation.charset().min_bytes() == 1
}

/// Returns whether only the primary key or the clustered index may have this name.
fn primary_name_is_reserved(name: &str) -> bool {
    name.eq_ignore_ascii_case(PRIMARY) || name.eq_ignore_ascii_case(HIDDEN_CLUSTERED)
}

/// The name that MySQL gives an index without one: `base`, that of its first column, with `_2`, `_3`, ... if it is
/// taken.
fn index_name(base: &str, taken: &[&str]) -> String {
    let free = |name: &str| {
        !primary_name_is_reserved(name) && !taken.iter().any(|taken| taken.eq_ignore_ascii_case(name))
    };
    if free(base) {
        return base.to_owned();
    }
    let mut number = 2;
    loop {
        let name = format!("{base}_{number}");
        if free(&name) {
            return name;
        }
        number += 1;
    }
}

/// Checks a name; `wrong` makes the error for an invalid one.
pub(crate) fn check_name(name: &str, wrong: impl FnOnce(&str) -> MysqlError) -> Result<()> {
    if name.chars().count() > MAX_NAME {
        return Err(MysqlError::identifier_too_long(name).into());
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong(name).into());
    }
    Ok(())
}

fn check_columns(columns: &[ColumnDef], limits: &Limits) -> Result<()> {
    if columns.is_empty() {
        return Err(MysqlError::table_without_columns().into());
    }
    if columns.iter().all(|column| column.invisible) {
        return Err(MysqlError::table_without_visible_columns().into());
    }
    if columns.len() > MAX_COLUMNS {
        return Err(MysqlError::too_many_columns().into());
    }
    for (position, column) in columns.iter().enumerate() {
        check_name(&column.name, |name| MysqlError::wrong_column_name(name))?;
        if columns.iter().take(position).any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            return Err(MysqlError::duplicate_column(&column.name).into());
        }
    }
    let text = |column: &&ColumnDef| !column.ty.is_large();
    let declared: usize = columns.iter().filter(text).map(declared_bytes).sum();
    if declared > MAX_DECLARED_ROW {
        return Err(MysqlError::too_big_row_size(MAX_DECLARED_ROW).into());
    }
    // The least length of a row, with every string empty.
    let least: usize =
        columns.iter().map(|column| if column.ty.is_variable() { 2 } else { declared_bytes(column) }).sum();
    if least > limits.max_entry {
        return Err(MysqlError::too_big_row_size(limits.max_entry).into());
    }
    Ok(())
}

/// Returns error 3522 if the primary key is invisible, or the index that serves as primary key in a table
/// without one.
fn check_visibility(columns: &[ColumnDef], indexes: &[IndexDraft]) -> Result<()> {
    let mut declared = indexes.iter().filter(|index| !index.parts.is_empty());
    let identifies = |index: &&IndexDraft| index_order(index, columns) < 3;
    match declared.next().filter(identifies) {
        Some(first) if first.invisible => Err(MysqlError::primary_key_cannot_be_invisible().into()),
        _ => Ok(()),
    }
}

fn check_auto_increment(columns: &[ColumnDef], indexes: &[IndexDraft]) -> Result<()> {
    let mut automatic = columns.iter().enumerate().filter(|(_, column)| column.auto_increment);
    let Some((position, column)) = automatic.next() else { return Ok(()) };
    let is_key = |index: &IndexDraft| {
        index.kind != IndexKind::Words && index.parts.first().is_some_and(|part| part.column == position)
    };
    if automatic.next().is_some() || !indexes.iter().any(is_key) {
        return Err(MysqlError::wrong_auto_key().into());
    }
    if matches!(column.ty, SqlType::Year | SqlType::Bit { .. })
        || !column.ty.is_integer() && !column.ty.is_real()
    {
        return Err(MysqlError::incorrect_column_specifier(&column.name).into());
    }
    if column.ty.is_real() {
        return Err(MysqlError::not_supported("AUTO_INCREMENT on a DOUBLE column").into());
    }
    if column.default.is_some() {
        return Err(MysqlError::invalid_default(&column.name).into());
    }
    Ok(())
}

fn resolve_parts(index: &IndexSpec, columns: &[ColumnDef], limits: &Limits) -> Result<Vec<IndexPart>> {
    if index.parts.is_empty() {
        return Err(MysqlError::wrong_index_name(index.name.as_deref().unwrap_or_default()).into());
    }
    if index.parts.len() > MAX_INDEX_PARTS {
        return Err(MysqlError::too_many_key_parts(MAX_INDEX_PARTS).into());
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(index.parts.len());
    let mut bytes = 0;
    for part in &index.parts {
        let named = columns.iter().position(|column| column.name.eq_ignore_ascii_case(&part.column));
        let Some(position) = named else {
            return Err(MysqlError::key_column_missing(&part.column).into());
        };
        let column = &columns[position];
        if parts.iter().any(|other| other.column == position) {
            return Err(MysqlError::duplicate_column(&part.column).into());
        }
        if column.ty == SqlType::Json {
            return Err(MysqlError::json_used_as_key(&column.name).into());
        }
        if column.ty.is_string() && declared_bytes(column) == 0 {
            return Err(MysqlError::wrong_key_column(&column.name).into());
        }
        let prefix = prefix_of(part, column)?;
        if column.ty.is_large() && prefix.is_none() {
            return Err(MysqlError::blob_key_without_length(&column.name).into());
        }
        bytes += match prefix {
            Some(prefix) => prefix as usize * bytes_per_character(column),
            None => declared_bytes(column),
        };
        parts.push(IndexPart { column: position, descending: part.descending, prefix });
    }
    if bytes > limits.max_key {
        return Err(MysqlError::key_too_long(limits.max_key).into());
    }
    Ok(parts)
}

/// The prefix of a part, unless it covers the whole column. Returns error 1089 or 1391 for a prefix that is
/// not allowed.
fn prefix_of(part: &IndexSpecPart, column: &ColumnDef) -> Result<Option<u32>> {
    let Some(prefix) = part.prefix else { return Ok(None) };
    let longest = match column.ty {
        SqlType::Char { len }
        | SqlType::Varchar { len }
        | SqlType::Binary { len }
        | SqlType::Varbinary { len } => len,
        SqlType::Text { .. } | SqlType::Blob { .. } => u32::MAX,
        _ => 0,
    };
    match prefix {
        0 => Err(MysqlError::key_part_length_zero(&column.name).into()),
        prefix if prefix > longest => Err(MysqlError::wrong_prefix_key().into()),
        prefix => Ok((prefix < longest).then_some(prefix)),
    }
}

/// The maximum length of a character of the column in bytes; 1 if the column counts in bytes.
pub(super) fn bytes_per_character(column: &ColumnDef) -> usize {
    if column.ty.is_character() { column.collation.charset().max_bytes() as usize } else { 1 }
}

/// The maximum length of a value of the column in bytes, as MySQL counts it.
pub(super) fn declared_bytes(column: &ColumnDef) -> usize {
    let per_character = bytes_per_character(column);
    match &column.ty {
        SqlType::Decimal { precision, .. } => usize::from(*precision).div_ceil(2),
        SqlType::Double | SqlType::Real { .. } | SqlType::DateTime { .. } | SqlType::Time { .. } => 8,
        SqlType::Timestamp { .. } | SqlType::Enum(_) | SqlType::Set(_) => 8,
        SqlType::Char { len } | SqlType::Varchar { len } => *len as usize * per_character,
        SqlType::Binary { len } | SqlType::Varbinary { len } => *len as usize,
        SqlType::Text { max_bytes } | SqlType::Blob { max_bytes } => *max_bytes as usize,
        SqlType::Date => 4,
        other => other.integer_width().unwrap_or(0),
    }
}
