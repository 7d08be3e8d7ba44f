//! Definitions as the statements that would make them: SHOW CREATE TABLE.

use leafline_table::{ColumnDef, DefaultValue, GeneratedKind, IndexDef, IndexKind, TableDef};
use leafline_types::convert::{local, to_text};
use leafline_types::temporal::Zone;
use leafline_types::{SqlType, Value};
use std::fmt::Write as _;

/// A name in backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\0', "\\0"))
}

/// The CREATE TABLE statement of a table, with the AUTO_INCREMENT value that is due next; times are shown as so many seconds ahead
/// of UTC.
pub(crate) fn create_table(table: &TableDef, next_auto_increment: u64, zone: &Zone) -> String {
    let mut lines: Vec<String> = table.named_columns().map(|(_, one)| column(one, zone)).collect();
    lines.extend(table.indexes.iter().filter(|index| !index.parts.is_empty()).map(|index| key(table, index)));
    let foreign = table.foreign_keys.iter();
    lines.extend(foreign.map(|key| key.definition(&table.database, &table.columns)));
    for check in &table.checks {
        let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        lines.push(format!("CONSTRAINT {} CHECK (({})){enforced}", quoted(&check.name), check.expression));
    }
    let kind = if table.is_private { "TEMPORARY TABLE" } else { "TABLE" };
    let mut text =
        format!("CREATE {kind} {} (\n  {}\n) ENGINE=Leafline", quoted(&table.name), lines.join(",\n  "));
    if table.auto_increment_column().is_some() && next_auto_increment > 1 {
        write!(text, " AUTO_INCREMENT={next_auto_increment}").ok();
    }
    let collation = table.options.collation.unwrap_or(crate::statement::definitions::DEFAULT_COLLATION);
    write!(text, " DEFAULT CHARSET={} COLLATE={}", collation.charset().name(), collation.name()).ok();
    if !table.options.comment.is_empty() {
        write!(text, " COMMENT={}", literal(&table.options.comment)).ok();
    }
    text
}

fn column(column: &ColumnDef, zone: &Zone) -> String {
    let mut text = format!("{} {}", quoted(&column.name), column.ty);
    if column.ty.is_character() || column.ty.has_members() {
        write!(
            text,
            " CHARACTER SET {} COLLATE {}",
            column.collation.charset().name(),
            column.collation.name()
        )
        .ok();
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.kind == GeneratedKind::Stored { "STORED" } else { "VIRTUAL" };
        write!(text, " GENERATED ALWAYS AS ({}) {kind}", generated.expression).ok();
    }
    if !column.nullable {
        text.push_str(" NOT NULL");
    }
    if column.generated.is_some() {
    } else if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    } else {
        match &column.default {
            Some(DefaultValue::Dropped) => None,
            Some(default) => write!(text, " DEFAULT {}", default_text(default, &column.ty, true, zone)).ok(),
            None if column.nullable && (!column.ty.is_large() || column.ty == SqlType::Json) => {
                write!(text, " DEFAULT NULL").ok()
            }
            None => None,
        };
    }
    if column.on_update_now {
        write!(text, " ON UPDATE {}", current_timestamp(&column.ty)).ok();
    }
    if !column.comment.is_empty() {
        write!(text, " COMMENT {}", literal(&column.comment)).ok();
    }
    if column.invisible {
        text.push_str(" /*!80023 INVISIBLE */");
    }
    text
}

/// A default: as a literal for a statement, or bare as SHOW COLUMNS has it.
pub(crate) fn default_text(default: &DefaultValue, ty: &SqlType, as_literal: bool, zone: &Zone) -> String {
    match default {
        DefaultValue::Constant(Value::Null) => "NULL".into(),
        DefaultValue::Constant(Value::UInt(bits)) if matches!(ty, SqlType::Bit { .. }) => {
            format!("b'{bits:b}'")
        }
        DefaultValue::Constant(Value::DateTime(t)) if matches!(ty, SqlType::Timestamp { .. }) => {
            let text = to_text(&local(*t, zone), ty).map_or_else(String::new, |text| text.to_string());
            if as_literal { literal(&text) } else { text }
        }
        DefaultValue::Constant(value) => {
            let text = to_text(value, ty).map_or_else(String::new, |text| text.to_string());
            if as_literal { literal(&text) } else { text }
        }
        DefaultValue::Dropped => String::new(),
        DefaultValue::CurrentTimestamp => current_timestamp(ty),
        DefaultValue::Expression(text) if as_literal => format!("({text})"),
        DefaultValue::Expression(text) => text.clone(),
    }
}

/// `CURRENT_TIMESTAMP` with a column's fractional digits.
pub(crate) fn current_timestamp(ty: &SqlType) -> String {
    match ty.scale() {
        0 => "CURRENT_TIMESTAMP".into(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

fn key(table: &TableDef, index: &IndexDef) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .filter_map(|part| {
            let column = table.columns.get(part.column)?;
            let mut text = match &column.generated {
                Some(generated) if column.is_hidden() => format!("({})", generated.expression),
                _ => quoted(&column.name),
            };
            if let Some(prefix) = part.prefix {
                write!(text, "({prefix})").ok();
            }
            if part.descending {
                text.push_str(" DESC");
            }
            Some(text)
        })
        .collect();
    let parts = parts.join(",");
    let mut text = match index.kind {
        IndexKind::Clustered => format!("PRIMARY KEY ({parts})"),
        IndexKind::Unique => format!("UNIQUE KEY {} ({parts})", quoted(&index.name)),
        IndexKind::Secondary => format!("KEY {} ({parts})", quoted(&index.name)),
    };
    if !index.comment.is_empty() {
        write!(text, " COMMENT {}", literal(&index.comment)).ok();
    }
    if index.invisible {
        text.push_str(" /*!80000 INVISIBLE */");
    }
    text
}
