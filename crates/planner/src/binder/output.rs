//! Result columns: their headings and the metadata that clients receive.

use leafline_expr::build;
use leafline_table::{DefaultValue, IndexKind, TableDef};
use leafline_types::{Collation, ExprType, SqlType};

use super::scope::{Block, Item};
use crate::bound::{BoundSelect, ColumnId, ColumnOrigin, RelationSource};
use leafline_syntax::ast::{self, ExprKind, Literal};
use leafline_types::result_column::{ColumnFlags, ColumnMeta};

/// Maximum length of a heading, in characters.
const MAX_HEADING: usize = 256;

/// Returns the heading of an expression without an alias: a column's name, a string's value, else the source text.
pub(super) fn heading(expr: &ast::Expr, source: &str) -> String {
    let text = match &expr.kind {
        ExprKind::Column(name) => name.column.value.as_str(),
        ExprKind::Literal(Literal::String { value, first_part, .. }) => {
            value.get(..*first_part).unwrap_or(value).trim_start_matches(|c: char| c.is_control() || c == ' ')
        }
        ExprKind::Literal(Literal::Null) => "NULL",
        ExprKind::Literal(Literal::Boolean(true)) => "TRUE",
        ExprKind::Literal(Literal::Boolean(false)) => "FALSE",
        _ => source,
    };
    text.chars().take(MAX_HEADING).collect()
}

/// Returns the metadata of an entry of the select list.
pub(super) fn meta(block: &Block, item: &Item) -> ColumnMeta {
    let ty = &item.expr.ty;
    let mut meta = ColumnMeta {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: item.name.clone(),
        org_name: String::new(),
        ty: ty.sql.clone(),
        collation: match &ty.sql {
            SqlType::Enum(members) | SqlType::Set(members) => members.collation(),
            sql if sql.is_character() => ty.collation,
            _ => Collation::Binary,
        },
        flags: expression_flags(ty),
    };
    let value =
        build::operand_of_rounding(&item.expr).or_else(|| build::of_padded(&item.expr)).unwrap_or(&item.expr);
    let column = value.as_column().and_then(|id| block.columns.get(id).map(|c| (id, c.origin)));
    if let Some((id, ColumnOrigin::Relation { relation, ordinal })) = column
        && let Some(relation) = block.relations.get(relation)
    {
        meta.table = relation.alias.clone();
        meta.org_name = block.names.get(id).cloned().unwrap_or_default();
        if let RelationSource::Base(table) = &relation.source {
            meta.database = relation.database.clone();
            meta.org_table = table.name.clone();
            meta.flags = column_flags(table, ordinal, ty);
        }
    }
    meta
}

fn expression_flags(ty: &ExprType) -> ColumnFlags {
    let mut flags = type_flags(ty);
    if !ty.sql.is_character() && !ty.sql.has_members() {
        flags = flags.with(ColumnFlags::BINARY);
    }
    flags
}

/// Returns the flags that any column of this type has.
fn type_flags(ty: &ExprType) -> ColumnFlags {
    let mut flags = ColumnFlags::default();
    if !ty.nullable {
        flags = flags.with(ColumnFlags::NOT_NULL);
    }
    match &ty.sql {
        SqlType::Enum(_) => flags = flags.with(ColumnFlags::ENUM),
        SqlType::Set(_) => flags = flags.with(ColumnFlags::SET),
        sql if sql.is_unsigned() => flags = flags.with(ColumnFlags::UNSIGNED),
        _ => {}
    }
    // MySQL also flags text of a _bin collation, which is not MySQL's default. A _bin collation is Leafline's default, and
    // drivers that look only at this flag return bytes where their users expect text.
    let bytes = ty.sql.is_variable() && !ty.sql.is_character();
    if bytes || ty.sql.is_temporal() {
        flags = flags.with(ColumnFlags::BINARY);
    }
    if ty.sql.is_large() {
        flags = flags.with(ColumnFlags::BLOB);
    }
    if ty.sql.zerofill_width().is_some() || ty.sql == SqlType::Year {
        flags = flags.with(ColumnFlags::ZEROFILL);
    }
    flags
}

/// Returns the flags of a table's column: its keys besides its type.
fn column_flags(table: &TableDef, ordinal: usize, ty: &ExprType) -> ColumnFlags {
    let mut flags = type_flags(ty);
    for index in table.ordered_indexes() {
        let is_first = index.parts.first().is_some_and(|p| p.column == ordinal);
        let is_part = index.parts.iter().any(|p| p.column == ordinal);
        if is_part {
            flags = flags.with(ColumnFlags::PART_KEY);
        }
        flags = match index.kind {
            _ if index.is_primary() && is_part => flags.with(ColumnFlags::PRIMARY_KEY),
            IndexKind::Unique if is_first && index.parts.len() == 1 => flags.with(ColumnFlags::UNIQUE_KEY),
            IndexKind::Unique | IndexKind::Secondary if is_first => flags.with(ColumnFlags::MULTIPLE_KEY),
            _ => flags,
        };
    }
    if table.fulltext().any(|index| index.parts.first().is_some_and(|part| part.column == ordinal)) {
        flags = flags.with(ColumnFlags::MULTIPLE_KEY);
    }
    if let Some(column) = table.columns.get(ordinal) {
        let is_default = matches!(column.default, Some(DefaultValue::CurrentTimestamp));
        if is_default || column.on_update_now {
            flags = flags.with(ColumnFlags::TIMESTAMP);
        }
        if column.on_update_now {
            flags = flags.with(ColumnFlags::ON_UPDATE_NOW);
        }
        if column.auto_increment {
            flags = flags.with(ColumnFlags::AUTO_INCREMENT);
        } else if column.has_no_default() {
            flags = flags.with(ColumnFlags::NO_DEFAULT_VALUE);
        }
    }
    flags
}

/// Returns `database.table.column` of a bound block's column, for errors.
pub(super) fn column_text(bound: &BoundSelect, id: ColumnId) -> String {
    let origin = bound.columns.get(id).map(|c| c.origin);
    let Some(ColumnOrigin::Relation { relation, ordinal }) = origin else { return "an aggregate".to_owned() };
    let Some(relation) = bound.relations.get(relation) else { return String::new() };
    match &relation.source {
        RelationSource::Base(table) => {
            let column = table.columns.get(ordinal).map_or("", |c| c.name.as_str());
            format!("{}.{}.{column}", relation.database, relation.alias)
        }
        source @ (RelationSource::Derived(_) | RelationSource::Lateral(_)) => {
            let Some(query) = source.query() else { return String::new() };
            let column = query.output.get(ordinal).map_or("", |o| o.meta.name.as_str());
            format!("{}.{column}", relation.alias)
        }
        _ => format!("{}.{ordinal}", relation.alias),
    }
}
