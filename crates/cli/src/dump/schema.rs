//! Reads the databases, tables and views to dump from `information_schema`, in a way that works on any server.

use super::super::failure::Failure;
use super::super::link::{Link, literal, quoted};

/// The names of a server's own databases.
const SYSTEM: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// Everything that is dumped.
#[derive(Debug, Default)]
pub struct Schema {
    pub databases: Vec<Database>,
    pub tables: Vec<Table>,
    /// In an order in which they can be created, as far as their texts tell.
    pub views: Vec<View>,
}

/// A database.
#[derive(Debug)]
pub struct Database {
    pub name: String,
    /// `CREATE DATABASE ..`.
    pub create: String,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    pub database: String,
    pub name: String,
    /// `CREATE TABLE ..`, as the server shows it.
    pub create: String,
    /// The columns whose values are stored, not computed.
    pub columns: Vec<Column>,
    /// About how many rows it has.
    pub rows: u64,
    /// About how many bytes it takes.
    pub bytes: u64,
}

/// A view.
#[derive(Debug)]
pub struct View {
    pub database: String,
    pub name: String,
    /// `CREATE VIEW ..`.
    pub create: String,
    /// The collation of the connection that created it, which its literals have.
    pub collation: String,
    pub columns: Vec<String>,
    /// Whether it depends on later views, because views refer to each other in a cycle: a placeholder is created
    /// first.
    pub in_circle: bool,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
}

/// The kind of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Integer {
        bits: u8,
        unsigned: bool,
    },
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
    Bit,
    Year,
    Date,
    DateTime,
    Timestamp,
    /// Up to 838 hours, of either sign.
    Time,
    Text,
    Enum,
    Json,
    Binary,
}

impl Kind {
    /// Returns the kind of a type in `information_schema.COLUMNS`.
    fn of(data_type: &str, column_type: &str, precision: u8, scale: u8) -> Kind {
        let integer = |bits| Kind::Integer { bits, unsigned: column_type.contains("unsigned") };
        match data_type {
            "tinyint" => integer(8),
            "smallint" => integer(16),
            "mediumint" => integer(24),
            "int" => integer(32),
            "bigint" => integer(64),
            "decimal" => Kind::Decimal { precision, scale },
            "float" => Kind::Float,
            "double" => Kind::Double,
            "bit" => Kind::Bit,
            "year" => Kind::Year,
            "date" => Kind::Date,
            "datetime" => Kind::DateTime,
            "timestamp" => Kind::Timestamp,
            "time" => Kind::Time,
            "enum" => Kind::Enum,
            "json" => Kind::Json,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "set" | "uuid"
            | "inet4" | "inet6" => Kind::Text,
            _ => Kind::Binary,
        }
    }

    /// Whether values are written without quotes in SQL.
    pub fn is_number(self) -> bool {
        use Kind::{Bit, Decimal, Double, Float, Integer, Year};
        matches!(self, Integer { .. } | Decimal { .. } | Float | Double | Bit | Year)
    }
}

impl Table {
    /// Returns the statement that reads it. A FLOAT is read as DOUBLE, because its own text has only six digits, and
    /// a BIT as a number.
    pub fn select(&self) -> String {
        let expression = |column: &Column| match column.kind {
            Kind::Float => format!("{} + 0e0", quoted(&column.name)),
            Kind::Bit => format!("{} + 0", quoted(&column.name)),
            _ => quoted(&column.name),
        };
        let columns: Vec<String> = self.columns.iter().map(expression).collect();
        format!("SELECT {} FROM {}.{}", columns.join(","), quoted(&self.database), quoted(&self.name))
    }

    /// Returns the name for messages.
    pub fn title(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }
}

/// Reads the databases, tables and views that `names` names; all that are not the server's own if `names` is empty.
///
/// # Errors
/// A name that names nothing; errors of the server.
pub fn read(link: &mut Link, names: &[String]) -> Result<Schema, Failure> {
    let mut databases = Vec::new();
    link.query("SHOW DATABASES", &mut |row| {
        databases.push(row.text(0));
        Ok(())
    })?;
    let mut wanted: Vec<(String, Option<Vec<String>>)> = Vec::new();
    if names.is_empty() {
        databases.retain(|name| !SYSTEM.iter().any(|system| system.eq_ignore_ascii_case(name)));
        wanted = databases.into_iter().map(|name| (name, None)).collect();
    } else {
        for name in names {
            let (database, table) = parts(name)
                .filter(|(database, _)| databases.contains(database))
                .ok_or_else(|| Failure::Message(format!("there is no database {name}")))?;
            let at = wanted.iter().position(|(other, _)| *other == database).unwrap_or_else(|| {
                wanted.push((database, Some(Vec::new())));
                wanted.len() - 1
            });
            let Some((_, tables)) = wanted.get_mut(at) else { continue };
            match (table, &mut *tables) {
                (Some(table), Some(tables)) => tables.push(table),
                _ => *tables = None,
            }
        }
    }
    let mut schema = Schema::default();
    for (database, tables) in wanted {
        add(&mut schema, link, &database, tables)?;
    }
    schema.views = in_order(schema.views);
    Ok(schema)
}

/// Splits a name as it is typed: `database` or `database.table`, each with or without backquotes.
fn parts(name: &str) -> Option<(String, Option<String>)> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut chars) = (false, name.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '`' if is_quoted && chars.peek() == Some(&'`') => {
                chars.next();
                parts.last_mut()?.push('`');
            }
            '`' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(String::new()),
            c => parts.last_mut()?.push(c),
        }
    }
    let mut parts = parts.into_iter();
    let (database, table) = (parts.next()?, parts.next());
    (!is_quoted && parts.next().is_none()).then_some((database, table))
}

/// Adds the tables and views of a database; only the named ones, if some are named.
fn add(
    schema: &mut Schema,
    link: &mut Link,
    database: &str,
    named: Option<Vec<String>>,
) -> Result<(), Failure> {
    let create = link.value(&format!("SHOW CREATE DATABASE {}", quoted(database)), 1)?;
    let of = is_named("TABLE_SCHEMA", database);
    let (mut tables, mut views) = (Vec::new(), Vec::new());
    let sql = format!(
        "SELECT TABLE_NAME, TABLE_TYPE, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE {of} ORDER BY TABLE_NAME"
    );
    link.query(&sql, &mut |row| {
        let (name, number) = (row.text(0), |at| row.text(at).parse().unwrap_or(0));
        if named.as_ref().is_some_and(|named| !named.contains(&name)) {
            return Ok(());
        }
        match row.text(1).as_str() {
            "VIEW" => {
                let database = database.to_owned();
                views.push(View {
                    database,
                    name,
                    create: String::new(),
                    collation: String::new(),
                    columns: Vec::new(),
                    in_circle: false,
                });
            }
            "BASE TABLE" | "SYSTEM VERSIONED" => tables.push(Table {
                database: database.to_owned(),
                name,
                create: String::new(),
                columns: Vec::new(),
                rows: number(2),
                bytes: number(3),
            }),
            // A sequence of MariaDB.
            _ => {}
        }
        Ok(())
    })?;
    let found = |name: &String| {
        tables.iter().any(|table| table.name == *name) || views.iter().any(|view| view.name == *name)
    };
    if let Some(missing) = named.iter().flatten().find(|name| !found(name)) {
        return Err(Failure::Message(format!("there is no table {database}.{missing}")));
    }
    for table in &mut tables {
        let name = format!("{}.{}", quoted(database), quoted(&table.name));
        table.create = link.value(&format!("SHOW CREATE TABLE {name}"), 1)?;
        table.columns = columns(link, database, &table.name)?;
    }
    for view in &mut views {
        let name = format!("{}.{}", quoted(database), quoted(&view.name));
        link.query(&format!("SHOW CREATE VIEW {name}"), &mut |cells| {
            (view.create, view.collation) = (cells.text(1), cells.text(3));
            Ok(())
        })?;
        view.columns = columns(link, database, &view.name)?.into_iter().map(|column| column.name).collect();
    }
    schema.databases.push(Database { name: database.to_owned(), create });
    schema.tables.append(&mut tables);
    schema.views.append(&mut views);
    Ok(())
}

/// Returns the condition that a column of information_schema equals that name. These columns are utf8mb3, which has
/// no characters beyond U+FFFF.
fn is_named(column: &str, name: &str) -> String {
    let is_beyond = |c: char| u32::from(c) > 0xFFFF;
    match name.contains(is_beyond) {
        true => format!("CONVERT({column} USING utf8mb4) = {}", literal(name)),
        false => format!("{column} = {}", literal(name)),
    }
}

fn columns(link: &mut Link, database: &str, table: &str) -> Result<Vec<Column>, Failure> {
    let sql = format!(
        "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE, IS_NULLABLE, EXTRA FROM \
         information_schema.COLUMNS WHERE {} AND {} ORDER BY ORDINAL_POSITION",
        is_named("TABLE_SCHEMA", database),
        is_named("TABLE_NAME", table)
    );
    let mut columns = Vec::new();
    link.query(&sql, &mut |row| {
        let number = |at| row.text(at).parse().unwrap_or(0);
        let kind = Kind::of(
            &row.text(1).to_ascii_lowercase(),
            &row.text(2).to_ascii_lowercase(),
            number(3),
            number(4),
        );
        let extra = row.text(6).to_ascii_uppercase();
        if !["VIRTUAL GENERATED", "STORED GENERATED"].iter().any(|word| extra.contains(word)) {
            columns.push(Column { name: row.text(0), kind, nullable: row.text(5) == "YES" });
        }
        Ok(())
    })?;
    Ok(columns)
}

/// Orders views behind those that their texts name. A name in a text may mean something else, so there may be cycles.
fn in_order(mut views: Vec<View>) -> Vec<View> {
    let mut ordered: Vec<View> = Vec::with_capacity(views.len());
    while !views.is_empty() {
        let is_free = |view: &View| {
            views.iter().all(|other| std::ptr::eq(other, view) || !names(&view.create, &other.name))
        };
        let at = views.iter().position(is_free);
        let mut view = views.remove(at.unwrap_or(0));
        view.in_circle = at.is_none();
        ordered.push(view);
    }
    ordered
}

/// Whether a text contains a name, quoted or not.
fn names(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase().replace('`', "``"));
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(&name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let behind = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_quoted() {
        for (typed, database, table) in [
            ("a", "a", None),
            ("a.b", "a", Some("b")),
            ("`a.b`.`c``d`", "a.b", Some("c`d")),
            ("`x`", "x", None),
        ] {
            assert_eq!(parts(typed), Some((database.into(), table.map(str::to_owned))), "{typed}");
        }
        assert_eq!((parts("a.b.c"), parts("`a")), (None, None));
    }

    #[test]
    fn views_stand_behind_what_they_need() {
        let view = |name: &str, create: &str| View {
            database: "d".into(),
            name: name.into(),
            create: create.into(),
            collation: String::new(),
            columns: Vec::new(),
            in_circle: false,
        };
        let views = vec![
            view("a", "CREATE VIEW `a` AS SELECT * FROM B"),
            view("b", "CREATE VIEW `b` AS SELECT * FROM `c d`"),
            view("c d", "CREATE VIEW `c d` AS SELECT x AS bb FROM t"),
        ];
        let ordered = in_order(views);
        assert_eq!(ordered.iter().map(|view| view.name.as_str()).collect::<Vec<_>>(), ["c d", "b", "a"]);
        assert!(ordered.iter().all(|view| !view.in_circle));
        let circle = in_order(vec![view("a", "SELECT b"), view("b", "SELECT a")]);
        assert_eq!(circle.iter().map(|view| view.in_circle).collect::<Vec<_>>(), [true, false]);
    }
}
