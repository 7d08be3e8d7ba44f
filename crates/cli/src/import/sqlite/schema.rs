//! Reads the schema of a SQLite database by its pragmas.

use super::types::{Chosen, Facts, choose};
use rusqlite::{Connection, Result, Row};

/// A table.
pub struct Table {
    pub name: String,
    /// Its CREATE TABLE.
    pub sql: String,
    pub columns: Vec<Column>,
    /// Positions of the columns of its primary key.
    pub primary_key: Vec<usize>,
    pub indexes: Vec<Index>,
    pub foreign_keys: Vec<ForeignKey>,
}

pub struct Column {
    pub name: String,
    pub declared: String,
    pub not_null: bool,
    /// The default as written, an expression.
    pub default: Option<String>,
    /// Whether it is computed from others; it becomes an ordinary column.
    pub is_generated: bool,
    /// Whether the case of ASCII letters is ignored.
    pub no_case: bool,
    pub facts: Facts,
    pub chosen: Chosen,
}

pub struct Index {
    pub name: String,
    pub unique: bool,
    /// Whether it has a WHERE, or expressions.
    pub is_partial: bool,
    /// Positions of columns, and whether the order is descending.
    pub parts: Vec<(usize, bool)>,
}

pub struct ForeignKey {
    pub parent: String,
    pub columns: Vec<String>,
    /// The columns referred to; empty for the parent's primary key.
    pub referred: Vec<String>,
    pub on_update: String,
    pub on_delete: String,
}

/// Returns a name in SQLite's quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the rows of a statement.
pub fn rows<T>(of: &Connection, sql: &str, row: impl FnMut(&Row<'_>) -> Result<T>) -> Result<Vec<T>> {
    let mut statement = of.prepare(sql)?;
    statement.query_map([], row)?.collect()
}

/// Reads a table's definition and properties.
pub fn table(of: &Connection, name: &str) -> Result<Table> {
    let literal = name.replace('\'', "''");
    let sql: Option<String> =
        of.query_row("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [name], |row| {
            row.get(0)
        })?;
    let mut keys = Vec::new();
    let mut columns = Vec::new();
    let listed = rows(
        of,
        &format!(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo('{literal}')"
        ),
        |row| {
            let column = Column {
                name: row.get(0)?,
                declared: row.get(1)?,
                not_null: row.get(2)?,
                default: row.get(3)?,
                is_generated: row.get::<_, i64>(5)? >= 2,
                no_case: false,
                facts: Facts::default(),
                chosen: choose("", &Facts::default(), false),
            };
            Ok((column, row.get::<_, i64>(4)?, row.get::<_, i64>(5)?))
        },
    )?;
    // Hidden columns are those of virtual tables.
    for (mut column, key, _) in listed.into_iter().filter(|(_, _, hidden)| *hidden != 1) {
        let (_, collation, ..) = of.column_metadata(None, name, column.name.as_str())?;
        column.no_case = collation.is_some_and(|name| name.to_bytes().eq_ignore_ascii_case(b"NOCASE"));
        if key > 0 {
            keys.push((key, columns.len()));
        }
        columns.push(column);
    }
    keys.sort_unstable();
    let primary_key: Vec<usize> = keys.into_iter().map(|(_, at)| at).collect();
    let mut table = Table {
        name: name.to_owned(),
        sql: sql.unwrap_or_default(),
        columns,
        primary_key,
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
    };
    indexes(of, &mut table, &literal)?;
    foreign_keys(of, &mut table, &literal)?;
    for at in 0..table.columns.len() {
        let kept = table.primary_key.contains(&at)
            || table.indexes.iter().any(|index| index.parts.iter().any(|(part, _)| *part == at))
            || table.columns.get(at).is_some_and(|column| {
                table.foreign_keys.iter().any(|key| key.columns.contains(&column.name))
            });
        if let Some(column) = table.columns.get_mut(at) {
            column.facts = facts(of, name, &column.name)?;
            column.chosen = choose(&column.declared, &column.facts, kept);
        }
    }
    Ok(table)
}

fn indexes(of: &Connection, table: &mut Table, literal: &str) -> Result<()> {
    let sql = format!(
        "SELECT name, \"unique\", partial FROM pragma_index_list('{literal}') WHERE origin <> 'pk' ORDER BY seq DESC"
    );
    for (name, unique, partial) in
        rows(of, &sql, |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?
    {
        let literal = name.replace('\'', "''");
        let sql = format!(
            "SELECT name, \"desc\" FROM pragma_index_xinfo('{literal}') WHERE key = 1 ORDER BY seqno"
        );
        let parts = rows(of, &sql, |row| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, bool>(1)?)))?;
        let position = |(name, descends): &(Option<String>, bool)| {
            let at = table.columns.iter().position(|column| Some(&column.name) == name.as_ref());
            at.map(|at| (at, *descends))
        };
        let found: Vec<(usize, bool)> = parts.iter().filter_map(position).collect();
        let is_partial = partial || found.len() < parts.len();
        table.indexes.push(Index { name, unique, is_partial, parts: found });
    }
    Ok(())
}

fn foreign_keys(of: &Connection, table: &mut Table, literal: &str) -> Result<()> {
    let sql = format!(
        "SELECT id, \"table\", \"from\", \"to\", on_update, on_delete FROM pragma_foreign_key_list('{literal}') ORDER BY id DESC, seq"
    );
    let mut last = None;
    let listed = rows(of, &sql, |row| {
        let key = ForeignKey {
            parent: row.get(1)?,
            columns: vec![row.get(2)?],
            referred: row.get::<_, Option<String>>(3)?.into_iter().collect(),
            on_update: row.get(4)?,
            on_delete: row.get(5)?,
        };
        Ok((row.get::<_, i64>(0)?, key))
    })?;
    for (id, mut key) in listed {
        match table.foreign_keys.last_mut().filter(|_| last == Some(id)) {
            Some(before) => {
                before.columns.append(&mut key.columns);
                before.referred.append(&mut key.referred);
            }
            None => table.foreign_keys.push(key),
        }
        last = Some(id);
    }
    Ok(())
}

/// Examines all values of a column.
fn facts(of: &Connection, table: &str, column: &str) -> Result<Facts> {
    let c = quoted(column);
    let of_type = |name: &str| format!("coalesce(sum(typeof({c}) = '{name}'), 0)");
    let sql = format!(
        "SELECT count(*), {}, {}, {}, {}, \
         coalesce(min(iif(typeof({c}) = 'integer', {c}, NULL)), 0), coalesce(max(iif(typeof({c}) = 'integer', {c}, NULL)), 0), \
         coalesce(sum(typeof({c}) = 'text' AND date({c}) = {c}), 0), \
         coalesce(sum(typeof({c}) = 'text' AND datetime({c}) = replace(substr({c}, 1, 19), 'T', ' ') \
           AND (length({c}) = 19 OR substr({c}, 20) GLOB '.[0-9]' OR (substr({c}, 20) GLOB '.[0-9][0-9]*' AND substr({c}, 21) NOT GLOB '*[^0-9]*' \
           AND length({c}) <= 26))), 0), \
         coalesce(max(iif(typeof({c}) = 'blob', 0, length({c}))), 0), coalesce(max(iif(typeof({c}) = 'blob', length({c}), 0)), 0), \
         coalesce(max(iif(typeof({c}) IN ('integer', 'real'), abs({c} * 1.0), 0.0)), 0.0), \
         coalesce(max(iif(typeof({c}) = 'real', iif(instr(CAST({c} AS TEXT), 'e'), 99, length(CAST({c} AS TEXT)) - instr(CAST({c} AS TEXT), '.')), 0)), 0) \
         FROM {}",
        of_type("integer"),
        of_type("real"),
        of_type("text"),
        of_type("blob"),
        quoted(table)
    );
    of.query_row(&sql, [], |row| {
        Ok(Facts {
            rows: row.get(0)?,
            integers: row.get(1)?,
            reals: row.get(2)?,
            texts: row.get(3)?,
            blobs: row.get(4)?,
            least: row.get(5)?,
            most: row.get(6)?,
            dates: row.get(7)?,
            times: row.get(8)?,
            characters: row.get(9)?,
            bytes: row.get(10)?,
            magnitude: row.get(11)?,
            decimals: row.get(12)?,
        })
    })
}
