//! Random tables with random indexes.
//!
//! Beside its random columns each table has `id`, which identifies a row; `u`, whose values are unique or NULL;
//! `rev`, a number that no other version of any row has; and `g`, which grows with `id`. A row belongs to the session
//! whose number is `id` modulo [`SESSIONS`]; `u` has the same remainder, so that sessions never wait for each other.
//! Some tables gain and lose columns by definition alone when half of their rows are there.

use super::kinds::{Column, Indexed, KINDS};
use super::partitions::divided;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Sessions that change tables.
pub const SESSIONS: u32 = 3;
/// Row numbers are below this at first.
pub const IDS: u32 = 9000;
/// The least number of different values of `u`; a prime.
const UNIQUE: u32 = 20_011;
/// Rows with the same `g`.
pub const GROUPED: u32 = 500;

#[derive(Debug)]
pub struct Part {
    pub column: usize,
    pub prefix: Option<u32>,
    pub descending: bool,
}

#[derive(Debug)]
pub struct Index {
    pub name: String,
    pub unique: bool,
    /// Whether the rows are stored in the order of the index.
    pub clustered: bool,
    pub parts: Vec<Part>,
}

#[derive(Debug)]
pub struct Table {
    pub name: String,
    /// `id`, `u`, `rev`, `g` and the random columns.
    pub columns: Vec<Column>,
    /// The indexes. A declared primary key is called PRIMARY, whether it is clustered or beside others.
    pub indexes: Vec<Index>,
    /// The CREATE TABLE statement.
    pub definition: String,
    /// The columns that the table lacks at first. `alterations` add them, and the last indexes.
    pub late: Vec<usize>,
    pub alterations: Vec<String>,
    /// The PARTITION BY clause; empty without partitions.
    pub partitions: String,
    /// The first rows: `id`, and the `u` of the row if it is not drawn as NULL.
    pub rows: Vec<(u32, u32)>,
}

impl Table {
    pub fn new(number: usize, random: &mut SmallRng) -> Table {
        // The last table is small enough for joins without a condition.
        let sizes: &[u32] = match number {
            0 => &[200, 700, 1500, 2500],
            1 => &[60, 200, 400],
            _ => &[0, 1, 5, 20],
        };
        let count = *sizes.choose(random).unwrap_or(&10);
        let mut ids: Vec<u32> = (0..count).map(|_| random.random_range(0..IDS)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.shuffle(random);
        let rows: Vec<(u32, u32)> = (1..).zip(ids).map(|(nth, id)| (id, unique(nth, id))).collect();
        let mut columns = vec![
            Column::number("id", false, rows.iter().map(|(id, _)| *id).collect()),
            Column::number("u", true, rows.iter().map(|(_, u)| *u).collect()),
            Column::number("rev", false, Arc::default()),
            Column::number("g", true, (0..=IDS / GROUPED).collect()),
        ];
        for at in 0..random.random_range(2..7) {
            columns.push(Column {
                name: format!("c{at}"),
                kind: random.random_range(0..KINDS.len()),
                nullable: random.random_ratio(5, 6),
                many: random.random(),
                known: Arc::default(),
            });
        }
        let mut indexes = Vec::new();
        if random.random_ratio(4, 5) {
            let parts = primary_parts(&mut columns, random);
            let clustered = !drawn_by(&columns, "ENGINE").is_multiple_of(3);
            indexes.push(Index { name: "PRIMARY".into(), unique: true, clustered, parts });
        }
        for at in 0..random.random_range(2..6) {
            let parts = parts(&columns, random);
            let has_u = parts.iter().any(|part| columns[part.column].name == "u");
            let unique = has_u && random.random_ratio(2, 3);
            indexes.push(Index { name: format!("k{number}{at}"), unique, clustered: false, parts });
        }
        let name = format!("t{number}");
        // Wide rows: few fit a leaf, so that threads have leaves to share and the buffer pool does not hold all of
        // them.
        let pad = ((150..1000).contains(&rows.len()) && random.random_ratio(3, 4)).then_some(1700);
        let (definition, alterations, late) = (String::new(), Vec::new(), Vec::new());
        let partitions = divided(&columns, &mut indexes, random);
        let mut table = Table { name, columns, indexes, definition, late, alterations, partitions, rows };
        if random.random() {
            table.alter_later(random);
        }
        table.definition = table.create(pad) + &table.partitions;
        table
    }

    /// Makes ALTER TABLE add some columns, in several steps, and drop others.
    fn alter_later(&mut self, random: &mut SmallRng) {
        let primary = self.indexes.iter().find(|index| index.name == "PRIMARY");
        let is_key =
            |at: usize| primary.is_some_and(|index| index.parts.iter().any(|part| part.column == at));
        let mut late: Vec<usize> = (4..self.columns.len()).filter(|at| !is_key(*at)).collect();
        late.retain(|at| !self.partitions.contains(&format!("({}", self.columns[*at].name)));
        late.retain(|_| random.random());
        self.late = late;
        for at in &self.late {
            let column = &self.columns[*at];
            let place = match random.random_range(0..3) {
                0 => "FIRST".to_owned(),
                1 => format!("AFTER {}", self.columns[random.random_range(0..4)].name),
                _ => String::new(),
            };
            let default = match column.kind().ty {
                "TEXT" => String::new(),
                _ => format!("DEFAULT {}", column.literal(random)),
            };
            let definition = column.definition();
            self.alterations.push(format!(
                "ALTER TABLE {} ADD {definition} {default} {place}, ALGORITHM=INSTANT",
                self.name
            ));
        }
        self.alterations
            .push(format!("ALTER TABLE {} DROP gone, DROP gone_too, ALGORITHM=INSTANT", self.name));
        self.alterations.shuffle(random);
        let late = self.indexes.iter().filter(|index| self.is_late(index));
        let keys: Vec<String> =
            late.map(|index| format!("ALTER TABLE {} ADD {}", self.name, self.key(index))).collect();
        self.alterations.extend(keys);
    }

    fn is_late(&self, index: &Index) -> bool {
        index.parts.iter().any(|part| self.late.contains(&part.column))
    }

    fn create(&self, pad: Option<u32>) -> String {
        let mut sql = format!("CREATE TABLE {} (", self.name);
        if !self.alterations.is_empty() {
            sql.push_str("gone VARCHAR(20) DEFAULT 'gone', ");
        }
        for (at, column) in self.columns.iter().enumerate().filter(|(at, _)| !self.late.contains(at)) {
            let comma = if at > 0 { ", " } else { "" };
            let _ = write!(sql, "{comma}{}", column.definition());
        }
        if !self.alterations.is_empty() {
            sql.push_str(", gone_too INT DEFAULT 7");
        }
        if let Some(bytes) = pad {
            let _ = write!(sql, ", pad VARBINARY({bytes}) NOT NULL DEFAULT '{}'", "x".repeat(bytes as usize));
        }
        for index in self.indexes.iter().filter(|index| !self.is_late(index)) {
            let _ = write!(sql, ", {}", self.key(index));
        }
        let heap = self.indexes.iter().any(|index| index.name == "PRIMARY" && !index.clustered);
        sql + if heap { ") ENGINE=MyISAM" } else { ")" }
    }

    fn key(&self, index: &Index) -> String {
        let parts: Vec<String> = index.parts.iter().map(|part| self.part(part)).collect();
        let what = match index.name.as_str() {
            "PRIMARY" => "PRIMARY KEY".to_owned(),
            name if index.unique => format!("UNIQUE KEY {name}"),
            name => format!("KEY {name}"),
        };
        format!("{what} ({}){}", parts.join(", "), self.packing(index))
    }

    /// PACKED, NOT PACKED or neither, drawn by a hash of the table.
    fn packing(&self, index: &Index) -> &'static str {
        match drawn_by(&self.columns, &index.name) % 4 {
            0 => " NOT PACKED",
            1 => "",
            _ => " PACKED",
        }
    }

    fn part(&self, part: &Part) -> String {
        let prefix = part.prefix.map(|bytes| format!("({bytes})")).unwrap_or_default();
        let direction = if part.descending { " DESC" } else { "" };
        format!("{}{prefix}{direction}", self.columns[part.column].name)
    }

    /// The names of the indexes.
    pub fn index_names(&self) -> Vec<&str> {
        self.indexes.iter().map(|index| index.name.as_str()).collect()
    }
}

/// Returns the `u` of a row. Numbers `nth` below [`UNIQUE`] give different values.
pub fn unique(nth: u32, id: u32) -> u32 {
    nth * 7919 % UNIQUE * SESSIONS + id % SESSIONS
}

/// Returns a number that depends on the columns of a table and on a name alone.
fn drawn_by(columns: &[Column], what: &str) -> u64 {
    let mut drawn = DefaultHasher::new();
    what.hash(&mut drawn);
    columns.iter().for_each(|column| column.definition().hash(&mut drawn));
    drawn.finish()
}

/// Draws the parts of the primary key. `id` is among them, and makes it unique.
fn primary_parts(columns: &mut [Column], random: &mut SmallRng) -> Vec<Part> {
    let mut parts: Vec<usize> = vec![0];
    if random.random_ratio(3, 5) {
        let mut others: Vec<usize> =
            (1..columns.len()).filter(|at| columns[*at].kind().indexed != Indexed::Prefix).collect();
        others.shuffle(random);
        others.truncate(random.random_range(1..3));
        let place = random.random_range(0..2.min(others.len()) + 1);
        others.insert(place, 0);
        parts = others;
    }
    for at in &parts {
        columns[*at].nullable = false;
    }
    let part = |column| Part { column, prefix: None, descending: random.random_ratio(1, 4) };
    parts.into_iter().map(part).collect()
}

fn parts(columns: &[Column], random: &mut SmallRng) -> Vec<Part> {
    let mut places: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].name != "rev").collect();
    places.shuffle(random);
    places.truncate(*[1, 2, 2, 3, 4].choose(random).unwrap_or(&1));
    let part = |column: usize| {
        let prefix = match columns[column].kind().indexed {
            Indexed::Whole => None,
            Indexed::Either => random.random_ratio(1, 4).then_some(2),
            Indexed::Prefix => Some(random.random_range(1..12)),
        };
        Part { column, prefix, descending: random.random_ratio(1, 3) }
    };
    places.into_iter().map(part).collect()
}
