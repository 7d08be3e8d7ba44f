//! Definitions as the statements that would create them: SHOW CREATE TABLE.

use leafline_syntax::OWN_VERSION;
use leafline_syntax::quoted;
use leafline_table::{
    BoundValue, ColumnDef, DefaultValue, GeneratedKind, IndexDef, IndexKind, PartitionKey, PartitionMethod,
    PartitionScheme, PartitionSpec, TableDef,
};
use leafline_types::convert::{local, to_text};
use leafline_types::temporal::Zone;
use leafline_types::{Collation, SqlType, Value};
use leafline_words::WordParser;
use std::fmt::Write as _;

/// A string literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\0', "\\0"))
}

/// The CREATE TABLE statement of a table, with its next AUTO_INCREMENT value; times are shown in `zone`.
pub(crate) fn create_table(table: &TableDef, next_auto_increment: u64, zone: &Zone) -> String {
    let mut lines: Vec<String> = table.named_columns().map(|(_, one)| column(one, zone)).collect();
    lines.extend(table.indexes.iter().filter(|index| !index.parts.is_empty()).map(|index| key(table, index)));
    let mut foreign: Vec<_> = table.foreign_keys.iter().collect();
    // The order of MySQL.
    foreign.sort_by_cached_key(|key| key.name.to_lowercase());
    lines.extend(foreign.into_iter().map(|key| key.definition(&table.database, &table.columns)));
    for check in &table.checks {
        let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        lines.push(format!("CONSTRAINT {} CHECK (({})){enforced}", quoted(&check.name), check.expression));
    }
    let kind = if table.is_private { "TEMPORARY TABLE" } else { "TABLE" };
    let engine = table.options.organisation.engine();
    let mut text =
        format!("CREATE {kind} {} (\n  {}\n) ENGINE={engine}", quoted(&table.name), lines.join(",\n  "));
    if table.auto_increment_column().is_some() && next_auto_increment > 1 {
        write!(text, " AUTO_INCREMENT={next_auto_increment}").ok();
    }
    let collation = table.options.collation.unwrap_or(Collation::DEFAULT);
    write!(text, " DEFAULT CHARSET={} COLLATE={}", collation.charset().name(), collation.name()).ok();
    if let Some(pack_keys) = table.options.pack_keys {
        write!(text, " PACK_KEYS={}", u8::from(pack_keys)).ok();
    }
    if !table.options.comment.is_empty() {
        write!(text, " COMMENT={}", literal(&table.options.comment)).ok();
    }
    if let Some(partitioning) = &table.partitioning {
        text.push_str(&partition_by(&partitioning.scheme, table, zone));
    }
    text
}

/// PARTITION BY in MySQL's form: within a comment that other servers skip.
fn partition_by(scheme: &PartitionScheme, table: &TableDef, zone: &Zone) -> String {
    let columns = &table.columns;
    let names: Vec<String> =
        scheme.columns.iter().filter_map(|at| columns.get(*at)).map(|column| quoted(&column.name)).collect();
    let (version, key) = match &scheme.key {
        PartitionKey::Function(text) => ("50100", format!(" ({text})")),
        PartitionKey::Columns => ("50500", format!("  COLUMNS({})", names.join(","))),
    };
    let linear = |linear: bool| if linear { "LINEAR " } else { "" };
    let (version, method) = match scheme.method {
        PartitionMethod::Range => (version, format!("RANGE{key}")),
        PartitionMethod::List => (version, format!("LIST{key}")),
        PartitionMethod::Hash { linear: is_linear } => (version, format!("{}HASH{key}", linear(is_linear))),
        PartitionMethod::Key { linear: is_linear, implicit } => {
            let names = if implicit { String::new() } else { names.join(",") };
            ("50100", format!("{}KEY ({names})", linear(is_linear)))
        }
    };
    let mut text = format!("\n/*!{version} PARTITION BY {method}\n");
    if let Some(below) = &scheme.subdivision {
        text.push_str(&subpartition_by(below, columns));
    }
    if !scheme.listed {
        write!(text, "PARTITIONS {} */", scheme.partitions.len()).ok();
        return text;
    }
    let partitions: Vec<String> =
        scheme.partitions.iter().map(|partition| partition_text(scheme, partition, table, zone)).collect();
    write!(text, "({}) */", partitions.join(",\n ")).ok();
    text
}

/// SUBPARTITION BY, and a line for the number of subpartitions if they are not listed.
fn subpartition_by(below: &PartitionScheme, columns: &[ColumnDef]) -> String {
    let names = || {
        let columns = below.columns.iter().filter_map(|at| columns.get(*at));
        columns.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(",")
    };
    let (linear, method) = match (below.method, &below.key) {
        (PartitionMethod::Hash { linear }, PartitionKey::Function(text)) => {
            (linear, format!("HASH ({text})"))
        }
        (PartitionMethod::Key { linear, .. }, _) => (linear, format!("KEY ({})", names())),
        _ => (false, String::new()),
    };
    let mut text = format!("SUBPARTITION BY {}{method}\n", if linear { "LINEAR " } else { "" });
    if !below.listed {
        writeln!(text, "SUBPARTITIONS {}", below.partitions.len()).ok();
    }
    text
}

fn partition_text(
    scheme: &PartitionScheme,
    partition: &PartitionSpec,
    table: &TableDef,
    zone: &Zone,
) -> String {
    let mut text = match is_plain(&partition.name) {
        true => format!("PARTITION {}", partition.name),
        false => format!("PARTITION {}", quoted(&partition.name)),
    };
    let rows: Vec<String> = partition
        .values
        .iter()
        .map(|row| partition_values(scheme, row, &table.columns, zone).join(","))
        .collect();
    let several = scheme.columns.len() > 1 && !scheme.has_function();
    match scheme.method {
        PartitionMethod::Range if scheme.has_function() && rows == ["MAXVALUE"] => {
            text.push_str(" VALUES LESS THAN MAXVALUE");
        }
        PartitionMethod::Range => {
            write!(text, " VALUES LESS THAN ({})", rows.join(",")).ok();
        }
        PartitionMethod::List => {
            let rows = rows.into_iter().map(|row| if several { format!("({row})") } else { row });
            write!(text, " VALUES IN ({})", rows.collect::<Vec<_>>().join(",")).ok();
        }
        PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => {}
    }
    if !partition.comment.is_empty() {
        write!(text, " COMMENT = {}", literal(&partition.comment)).ok();
    }
    let engine = table.options.organisation.engine();
    if scheme.subdivision.as_ref().is_some_and(|below| below.listed) {
        let below = partition.subpartitions.iter().map(|below| {
            let name = if is_plain(&below.name) { below.name.clone() } else { quoted(&below.name) };
            let comment = match below.comment.is_empty() {
                true => String::new(),
                false => format!(" COMMENT = {}", literal(&below.comment)),
            };
            format!("SUBPARTITION {name}{comment} ENGINE = {engine}")
        });
        write!(text, "\n ({})", below.collect::<Vec<_>>().join(",\n  ")).ok();
    } else {
        write!(text, " ENGINE = {engine}").ok();
    }
    text
}

/// The values of a row as literals of the columns' types.
pub(crate) fn partition_values(
    scheme: &PartitionScheme,
    row: &[BoundValue],
    columns: &[ColumnDef],
    zone: &Zone,
) -> Vec<String> {
    let value = |(at, value): (usize, &BoundValue)| {
        let column = scheme.columns.get(at).and_then(|column| columns.get(*column));
        match (value, column) {
            (None, _) => "MAXVALUE".to_owned(),
            (Some(Value::Int(number)), _) => number.to_string(),
            (Some(Value::UInt(number)), _) => number.to_string(),
            (Some(value), Some(column)) => {
                default_text(&DefaultValue::Constant(value.clone()), &column.ty, true, zone)
            }
            (Some(_), None) => "NULL".to_owned(),
        }
    };
    row.iter().enumerate().map(value).collect()
}

/// True if a name needs no quotes.
fn is_plain(name: &str) -> bool {
    name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_' || one == '$')
        && name.chars().any(|one| !one.is_ascii_digit())
}

pub(crate) fn column(column: &ColumnDef, zone: &Zone) -> String {
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

/// A default as a literal for a statement, or without quotes for SHOW COLUMNS.
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
        _ if index.is_primary() => format!("PRIMARY KEY ({parts})"),
        IndexKind::Clustered | IndexKind::Unique => format!("UNIQUE KEY {} ({parts})", quoted(&index.name)),
        IndexKind::Secondary => format!("KEY {} ({parts})", quoted(&index.name)),
        IndexKind::Words => format!("FULLTEXT KEY {} ({parts})", quoted(&index.name)),
    };
    if index.words.as_ref().is_some_and(|words| matches!(words.parser(), WordParser::Ngram(_))) {
        text.push_str(" /*!50100 WITH PARSER `ngram` */ ");
    }
    if !index.comment.is_empty() {
        write!(text, " COMMENT {}", literal(&index.comment)).ok();
    }
    if index.invisible {
        text.push_str(" /*!80000 INVISIBLE */");
    }
    if let Some(packed) = index.packing.declared {
        write!(text, " /*!{OWN_VERSION} {} */", if packed { "PACKED" } else { "NOT PACKED" }).ok();
    }
    text
}
