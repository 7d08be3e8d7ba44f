//! INSERT, UPDATE, DELETE and REPLACE with subqueries, joins, views and defaults.

use super::generate::{Generator, Place, Scope};
use super::schema::{CHANGEABLE, Named};

/// A statement that changes data.
pub struct Change {
    pub sql: String,
    /// Whether the rows afterwards are independent of the order in which rows are found.
    pub determined: bool,
}

impl Generator {
    /// Returns a statement that changes data.
    pub fn change(&mut self) -> Change {
        self.begin();
        match self.below(8) {
            0 | 1 => self.update(),
            2 => self.joined_update(),
            3 => self.delete(),
            4 => self.joined_delete(),
            _ => self.insert(),
        }
    }

    fn target(&mut self) -> &'static Named {
        &CHANGEABLE[self.below(CHANGEABLE.len())]
    }

    fn scope_of(table: &Named, alias: &str) -> Scope {
        Scope::of(table.columns.iter().map(|column| format!("{alias}.{column}")).collect())
    }

    fn assigned(&mut self) -> String {
        match self.below(8) {
            0 => "DEFAULT".to_owned(),
            1 => "NULL".to_owned(),
            2 => "CAST('-1' AS UNSIGNED)".to_owned(),
            _ => self.value(Place::ROW),
        }
    }

    fn assignments(&mut self, table: &Named, alias: &str) -> String {
        let count = 1 + self.below(2);
        let parts: Vec<String> = (0..count)
            .map(|_| {
                let column = self.of(table.columns);
                format!("{alias}.{column} = {}", self.assigned())
            })
            .collect();
        parts.join(", ")
    }

    fn update(&mut self) -> Change {
        let table = self.target();
        let ignore = self.of(&["", "IGNORE "]);
        self.scopes.push(Self::scope_of(table, table.name));
        let assignments = self.assignments(table, table.name);
        let filter =
            if self.chance(70) { format!(" WHERE {}", self.condition(Place::ROW)) } else { String::new() };
        Change {
            sql: format!("UPDATE {ignore}{} SET {assignments}{filter}", table.name),
            determined: ignore.is_empty(),
        }
    }

    /// Returns the target joined with another table, and its alias.
    fn joined_target(&mut self) -> (&'static Named, String, String) {
        let table = self.target();
        let alias = self.name("g");
        let (from, mut scope) = self.from();
        let others = from.trim_start_matches(" FROM ").to_owned();
        scope.columns.extend(Self::scope_of(table, &alias).columns);
        self.scopes.push(scope);
        let text = match self.below(3) {
            0 => format!("{} {alias}, {others}", table.name),
            1 => format!("{} {alias} JOIN ({others}) ON {}", table.name, self.condition(Place::ROW)),
            _ => format!("{} {alias} LEFT JOIN ({others}) ON {}", table.name, self.condition(Place::ROW)),
        };
        (table, alias, text)
    }

    fn joined_update(&mut self) -> Change {
        let (table, alias, text) = self.joined_target();
        let assignments = self.assignments(table, &alias);
        let sql = format!("UPDATE {text} SET {assignments} WHERE {}", self.condition(Place::ROW));
        Change { sql, determined: false }
    }

    fn delete(&mut self) -> Change {
        let table = self.target();
        self.scopes.push(Self::scope_of(table, table.name));
        let filter =
            if self.chance(85) { format!(" WHERE {}", self.condition(Place::ROW)) } else { String::new() };
        Change { sql: format!("DELETE FROM {}{filter}", table.name), determined: true }
    }

    fn joined_delete(&mut self) -> Change {
        let (_, alias, text) = self.joined_target();
        let sql = format!("DELETE {alias} FROM {text} WHERE {}", self.condition(Place::ROW));
        Change { sql, determined: true }
    }

    fn insert(&mut self) -> Change {
        let table = self.target();
        let width = 1 + self.below(table.columns.len());
        let columns = table.columns[..width].join(", ");
        let verb = self.of(&["INSERT", "INSERT IGNORE", "REPLACE", "INSERT"]);
        let rows = if self.chance(50) {
            self.query(width)
        } else {
            let values: Vec<String> = (0..width).map(|_| self.assigned()).collect();
            format!("VALUES ({})", values.join(", "))
        };
        let update = if verb != "REPLACE" && self.chance(40) {
            self.scopes.push(Self::scope_of(table, table.name));
            let column = self.of(table.columns);
            let value = match self.below(3) {
                0 => format!("VALUES({})", self.of(table.columns)),
                _ => self.assigned(),
            };
            format!(" ON DUPLICATE KEY UPDATE {column} = {value}")
        } else {
            String::new()
        };
        let sql = format!("{verb} INTO {} ({columns}) {rows}{update}", table.name);
        Change { sql, determined: false }
    }
}
