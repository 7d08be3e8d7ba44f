//! CREATE TABLE: turns the syntax tree into the table definition that the catalog is asked to make.
//!
//! This module checks single columns and options. The catalog checks the table as a whole (names, key lengths, row size).

use leafline_table::{
    CheckDef, ColumnDef, DefaultValue, ForeignKeySpec, FulltextSpec, GeneratedColumn, GeneratedKind,
    IndexSpec, IndexSpecKind, IndexSpecPart, Organisation, StoredColumn, TableOptions, TableSpec,
};
use leafline_types::temporal::TimeSettings;
use leafline_types::{Charset, Collation, MysqlError, SqlType, StoreContext, Value, Warnings, store_cast};

use super::data_type::{ColumnType, TypeRules, column_type, table_collation, type_warnings};
use super::literal::constant_value;
use leafline_syntax::ast::{
    self, ColumnDefinition, CreateTable, ForeignKeyDefinition, KeyDefinition, KeyKind, PackKeys,
};

/// Makes the table of a CREATE TABLE, in `database` with the collation `default`, and returns warnings. `times` has the time
/// zone of a TIMESTAMP's default.
///
/// # Errors
/// MySQL's errors for types, defaults and options of columns; 1235 for unsupported constructs.
pub fn table_spec(
    create: &CreateTable,
    database: &str,
    default: Collation,
    times: TimeSettings<'_>,
) -> Result<(TableSpec, Vec<MysqlError>), MysqlError> {
    let options = &create.options;
    let organisation = organisation(options).unwrap_or_default();
    let collation = table_collation(options.charset.as_ref(), options.collation.as_ref(), default)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    let (mut indexes, mut notes) = (Vec::new(), Vec::new());
    for column in &create.columns {
        columns.push(column_def(column, collation, times, &mut notes)?);
        if let Some(kind) = column.key {
            let parts = vec![IndexSpecPart::new(&column.name.value)];
            indexes.push(IndexSpec { kind: spec_kind(kind), parts, ..IndexSpec::default() });
        }
    }
    let (words, keys): (Vec<_>, Vec<_>) = create.keys.iter().partition(|key| key.kind == KeyKind::Fulltext);
    indexes.extend(keys.into_iter().map(index_spec));
    let primary = indexes.iter().filter(|i| i.kind == IndexSpecKind::Primary).flat_map(|i| &i.parts);
    for part in primary {
        let written_null = |c: &&ColumnDefinition| {
            c.nullable == Some(true) && c.name.value.eq_ignore_ascii_case(&part.column)
        };
        if create.columns.iter().any(|c| written_null(&c)) {
            return Err(MysqlError::primary_cannot_have_null());
        }
    }
    let spec = TableSpec {
        database: database.to_owned(),
        name: create.name.name.value.clone(),
        columns,
        indexes,
        fulltext: words.into_iter().map(fulltext_spec).collect::<Result<_, _>>()?,
        checks: checks(create)?,
        foreign_keys: create.foreign_keys.iter().map(|key| foreign_key_spec(key, database)).collect(),
        unchecked_references: false,
        partitioning: None,
        options: TableOptions {
            comment: options.comment.clone().unwrap_or_default(),
            collation: Some(collation),
            auto_increment_start: options.auto_increment,
            pack_keys: options.pack_keys.and_then(pack_keys),
            organisation,
        },
    };
    let mut warnings: Vec<MysqlError> =
        create.columns.iter().flat_map(|column| column_warnings(column, times)).collect();
    warnings.append(&mut notes);
    warnings.extend(option_warnings(options));
    create.keys.iter().for_each(|key| warnings.extend(key_warnings(key)));
    Ok((spec, warnings))
}

/// Returns the organisation that ENGINE asks for; none for an unknown engine, which the statement has replaced by then.
pub(super) fn organisation(options: &ast::TableOptions) -> Option<Organisation> {
    Organisation::of_engine(&options.engine.as_ref()?.value)
}

/// For each CHECK constraint of a new table, returns the column that declares it.
pub fn check_owners(create: &CreateTable) -> Vec<Option<usize>> {
    let of_column = |(at, column): (usize, &ColumnDefinition)| vec![Some(at); column.checks.len()];
    let mut owners: Vec<Option<usize>> = create.columns.iter().enumerate().flat_map(of_column).collect();
    owners.resize(owners.len() + create.checks.len(), None);
    owners
}

/// Returns the CHECK constraints, column constraints first. Constraints without a name are called `table_chk_1` and so on. Error
/// 3822 for a repeated name.
fn checks(create: &CreateTable) -> Result<Vec<CheckDef>, MysqlError> {
    let of_columns = create.columns.iter().flat_map(|column| &column.checks);
    let mut checks: Vec<CheckDef> = Vec::new();
    let mut number = 0;
    for check in of_columns.chain(&create.checks) {
        let name = match &check.name {
            Some(name) => name.value.clone(),
            None => {
                number += 1;
                format!("{}_chk_{number}", create.name.name.value)
            }
        };
        if checks.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            return Err(MysqlError::check_duplicate_name(name));
        }
        checks.push(CheckDef { name, expression: check.expression.clone(), enforced: check.enforced });
    }
    Ok(checks)
}

/// Makes the foreign key of a definition, for a table in `database`.
pub fn foreign_key_spec(key: &ForeignKeyDefinition, database: &str) -> ForeignKeySpec {
    let name = |name: &ast::Ident| name.value.clone();
    ForeignKeySpec {
        name: key.name.as_ref().map(name),
        index_name: key.index_name.as_ref().map(name),
        columns: key.columns.iter().map(name).collect(),
        parent_database: key.parent.database.as_ref().map_or_else(|| database.to_owned(), name),
        parent_table: key.parent.name.value.clone(),
        parent_columns: key.parent_columns.iter().map(name).collect(),
        on_delete: key.on_delete,
        on_update: key.on_update,
    }
}

/// Makes the index of a key definition. The caller makes the columns of functional parts (`functional_key`).
pub fn index_spec(key: &KeyDefinition) -> IndexSpec {
    let part = |p: &ast::KeyPartDefinition| match &p.value {
        ast::KeyPartValue::Column { name, prefix } => {
            IndexSpecPart { column: name.value.clone(), descending: p.descending, prefix: *prefix }
        }
        ast::KeyPartValue::Expression(_) => {
            IndexSpecPart { column: String::new(), descending: p.descending, prefix: None }
        }
    };
    IndexSpec {
        name: key.name.as_ref().map(|n| n.value.clone()),
        kind: spec_kind(key.kind),
        parts: key.parts.iter().map(part).collect(),
        comment: key.options.comment.clone().unwrap_or_default(),
        invisible: key.options.invisible,
        for_foreign_key: false,
        packed: key.options.packed,
        existing: None,
    }
}

/// Makes the FULLTEXT index of a key definition; the statement settles its rules. The lengths of prefixes have no effect, as in
/// MySQL.
///
/// # Errors
/// 1128 for a parser other than `ngram`; 1221 for DESC; 1235 for an expression.
pub(super) fn fulltext_spec(key: &KeyDefinition) -> Result<FulltextSpec, MysqlError> {
    let mut columns = Vec::with_capacity(key.parts.len());
    for part in &key.parts {
        if part.descending {
            return Err(MysqlError::wrong_usage("spatial/fulltext/hash index", "explicit index order"));
        }
        match &part.value {
            ast::KeyPartValue::Column { name, .. } => columns.push(name.value.clone()),
            ast::KeyPartValue::Expression(_) => {
                return Err(MysqlError::not_supported("FULLTEXT index on an expression"));
            }
        }
    }
    let by_ngrams = match &key.options.parser {
        Some(parser) if parser.value.eq_ignore_ascii_case("ngram") => true,
        Some(parser) => return Err(MysqlError::function_not_defined(&parser.value)),
        None => false,
    };
    Ok(FulltextSpec {
        name: key.name.as_ref().map(|name| name.value.clone()),
        columns,
        by_ngrams,
        words: None,
        comment: key.options.comment.clone().unwrap_or_default(),
        invisible: key.options.invisible,
        existing: None,
    })
}

/// Returns the stored form of PACK_KEYS: `None` for DEFAULT.
pub(super) fn pack_keys(option: PackKeys) -> Option<bool> {
    match option {
        PackKeys::Default => None,
        PackKeys::Off => Some(false),
        PackKeys::On => Some(true),
    }
}

/// Returns the kind of an index with a tree.
pub(super) fn spec_kind(kind: KeyKind) -> IndexSpecKind {
    match kind {
        KeyKind::Primary => IndexSpecKind::Primary,
        KeyKind::Unique => IndexSpecKind::Unique,
        KeyKind::Index | KeyKind::Fulltext => IndexSpecKind::Plain,
    }
}

/// Returns warnings about key options that have no effect.
pub(super) fn key_warnings(key: &KeyDefinition) -> Vec<MysqlError> {
    let mut warnings = Vec::new();
    if key.options.hash {
        warnings.push(MysqlError::index_algorithm_not_supported("HASH"));
    }
    if key.options.block_size {
        warnings.push(without_effect("KEY_BLOCK_SIZE"));
    }
    warnings
}

fn without_effect(name: &str) -> MysqlError {
    let text = format!("Table storage engine 'Leafline' does not support the create option '{name}'");
    MysqlError::with_message(1478, text)
}

/// Returns warning 1478 for each option that has no effect.
pub(super) fn option_warnings(options: &ast::TableOptions) -> Vec<MysqlError> {
    let mut names: Vec<&str> = options.without_effect.iter().map(|o| o.value.as_str()).collect();
    let formats = ["DEFAULT", "DYNAMIC"];
    if options.row_format.as_ref().is_some_and(|f| !formats.iter().any(|k| k.eq_ignore_ascii_case(&f.value)))
    {
        names.push("ROW_FORMAT");
    }
    names.into_iter().map(without_effect).collect()
}

/// Makes the definition of a column of a table with that collation. `notes` collects notes about its type.
pub(super) fn column_def(
    column: &ColumnDefinition,
    table_collation: Collation,
    times: TimeSettings<'_>,
    notes: &mut Vec<MysqlError>,
) -> Result<ColumnDef, MysqlError> {
    let name = &column.name.value;
    let has_default = matches!(&column.default, Some(ast::DefaultValue::Literal(_)));
    let rules = TypeRules { strict: times.strict, has_default };
    let column_type = column_type(name, &column.data_type, table_collation, rules)?;
    let ColumnType { ty, collation, notes: mut of_type } = column_type;
    notes.append(&mut of_type);
    if column.auto_increment {
        if !ty.is_integer() {
            return Err(MysqlError::incorrect_column_specifier(name));
        }
        if column.default.as_ref().is_some_and(|default| !is_null(default)) {
            return Err(MysqlError::invalid_default(name));
        }
    }
    if column.generated.is_some() {
        let wrong = [
            (column.default.is_some(), "DEFAULT"),
            (column.auto_increment, "AUTO_INCREMENT"),
            (column.on_update.is_some(), "ON UPDATE"),
        ];
        if let Some((_, what)) = wrong.iter().find(|(given, _)| *given) {
            return Err(MysqlError::wrong_usage(what, "generated column"));
        }
    }
    if column.on_update.is_some() && !matches!(ty, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) {
        return Err(MysqlError::invalid_on_update(name));
    }
    let nullable = column.nullable.unwrap_or(!column.auto_increment) && column.key != Some(KeyKind::Primary);
    let default = column
        .default
        .as_ref()
        .filter(|default| !(loses_default(column, times) || column.auto_increment && is_null(default)))
        .map(|d| default_value(d, name, (&ty, collation.charset()), nullable, times))
        .transpose()?;
    Ok(ColumnDef {
        name: name.clone(),
        ty,
        nullable,
        collation,
        default,
        on_update_now: column.on_update.is_some(),
        auto_increment: column.auto_increment,
        invisible: column.invisible,
        generated: column.generated.as_ref().map(|generated| GeneratedColumn {
            expression: generated.expression.clone(),
            kind: if generated.stored { GeneratedKind::Stored } else { GeneratedKind::Virtual },
        }),
        comment: column.comment.clone().unwrap_or_default(),
        stored: StoredColumn::default(),
    })
}

/// Whether the column is a TEXT or BLOB with `DEFAULT ''`, which is dropped outside of strict mode.
fn loses_default(column: &ColumnDefinition, times: TimeSettings<'_>) -> bool {
    use ast::TypeName::{Blob, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText};
    let is_large = matches!(
        column.data_type.name,
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob
    );
    let is_empty = |literal| constant_value(literal).is_ok_and(|value| value == Some(Value::string("")));
    let literal = match &column.default {
        Some(ast::DefaultValue::Literal(literal)) => Some(literal),
        _ => None,
    };
    is_large && !times.strict && literal.is_some_and(is_empty)
}

/// Collects the warnings that a column's type and default give.
pub(super) fn column_warnings(column: &ColumnDefinition, times: TimeSettings<'_>) -> Vec<MysqlError> {
    let mut warnings = type_warnings(&column.data_type);
    if loses_default(column, times) {
        warnings.push(MysqlError::blob_cannot_have_default(&column.name.value));
    }
    warnings
}

/// Whether the default is DEFAULT NULL, which an AUTO_INCREMENT column may have without effect.
fn is_null(default: &ast::DefaultValue) -> bool {
    matches!(default, ast::DefaultValue::Literal(literal) if matches!(literal.kind, ast::ExprKind::Literal(ast::Literal::Null)))
}

/// Returns the default of a column, in its type. Error 1067 for a value that the column cannot hold.
pub(super) fn default_value(
    default: &ast::DefaultValue,
    name: &str,
    (ty, charset): (&SqlType, Charset),
    nullable: bool,
    times: TimeSettings<'_>,
) -> Result<DefaultValue, MysqlError> {
    match default {
        ast::DefaultValue::Expression(text) => Ok(DefaultValue::Expression(text.clone())),
        ast::DefaultValue::CurrentTimestamp { fsp, .. } => match ty {
            SqlType::DateTime { fsp: own } | SqlType::Timestamp { fsp: own } if own == fsp => {
                Ok(DefaultValue::CurrentTimestamp)
            }
            _ => Err(MysqlError::invalid_default(name)),
        },
        ast::DefaultValue::Literal(literal) => {
            let value = constant_value(literal)?.ok_or_else(|| MysqlError::invalid_default(name))?;
            let value = match &value {
                // A hexadecimal literal is a number for a numeric column.
                Value::Bytes(bytes) if ty.is_numeric() && bytes.len() <= size_of::<u64>() => {
                    Value::UInt(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
                }
                _ => value,
            };
            if value.is_null() {
                return match nullable {
                    true => Ok(DefaultValue::Constant(Value::Null)),
                    false => Err(MysqlError::invalid_default(name)),
                };
            }
            if ty.is_large() {
                return Err(MysqlError::blob_cannot_have_default(name));
            }
            let from = leafline_expr::build::type_of(&value);
            let mut warnings = Warnings::new();
            let mut cx = StoreContext {
                column: name,
                charset,
                row: 1,
                strict: true,
                dates: times.dates,
                zone: times.zone,
                max_document: usize::MAX,
                warnings: &mut warnings,
            };
            match store_cast(&value, &from, ty, nullable, &mut cx) {
                Ok(value) => Ok(DefaultValue::Constant(value)),
                Err(_) => Err(MysqlError::invalid_default(name)),
            }
        }
    }
}
