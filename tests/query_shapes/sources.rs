//! FROM: tables, views, derived and lateral tables, queries of WITH, and joins of any nesting.

use super::generate::{Generator, Place, Scope};
use super::schema::READABLE;

impl Generator {
    /// Returns a FROM clause and its columns.
    pub fn from(&mut self) -> (String, Scope) {
        let (mut text, mut scope) = self.table(&Scope::default());
        while self.chance(35) && self.takes(1) {
            let (joined, all) = self.join(text, scope);
            (text, scope) = (joined, all);
        }
        if self.chance(8) && self.takes(1) {
            let (other, seen) = self.table(&scope);
            text = format!("{text}, {other}");
            scope.columns.extend(seen.columns);
        }
        (format!(" FROM {text}"), scope)
    }

    /// Adds a join.
    fn join(&mut self, left: String, scope: Scope) -> (String, Scope) {
        let single = !left.contains(" JOIN ") && self.chance(10);
        let kind = match single {
            true => self.of(&["NATURAL JOIN", "NATURAL LEFT JOIN"]),
            false => self.kind_of_join(),
        };
        let visible = if kind.starts_with("RIGHT") { Scope::default() } else { scope.clone() };
        let (right, seen) = if self.chance(20) && self.takes(2) {
            let (inner, inner_scope) = self.table(&visible);
            let (inner, inner_scope) = self.join(inner, inner_scope);
            (format!("({inner})"), inner_scope)
        } else {
            self.table(&visible)
        };
        let mut all = scope;
        all.columns.extend(seen.columns);
        if matches!(kind, "CROSS JOIN") || kind.starts_with("NATURAL") {
            return (format!("{left} {kind} {right}"), all);
        }
        self.scopes.push(all.clone());
        let condition = match self.below(10) {
            0 => "TRUE".to_owned(),
            1..=4 => self.equality(),
            _ => self.condition(Place::ROW),
        };
        self.scopes.pop();
        (format!("{left} {kind} {right} ON {condition}"), all)
    }

    fn kind_of_join(&mut self) -> &'static str {
        self.of(&["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN", "LEFT JOIN"])
    }

    fn equality(&mut self) -> String {
        match (self.column(), self.column()) {
            (Some(left), Some(right)) => format!("{left} = {right}"),
            _ => "TRUE".to_owned(),
        }
    }

    /// Returns a table of FROM behind others.
    fn table(&mut self, before: &Scope) -> (String, Scope) {
        match self.below(100) {
            0..=11 if self.takes(3) => {
                let width = 1 + self.below(2);
                let query = self.query(width);
                self.derived("", &query, width)
            }
            12..=18 if !before.columns.is_empty() && self.takes(3) => {
                let width = 1 + self.below(2);
                self.scopes.push(before.clone());
                let query = self.query(width);
                self.scopes.pop();
                self.derived("LATERAL ", &query, width)
            }
            19..=30 if !self.commons.is_empty() => {
                let at = self.below(self.commons.len());
                let common = self.commons[at].clone();
                let alias = self.name("x");
                let columns = common.columns.iter().map(|column| format!("{alias}.{column}")).collect();
                (format!("{} {alias}", common.name), Scope::of(columns))
            }
            31..=33 if !before.columns.is_empty() && self.takes(1) => {
                self.scopes.push(before.clone());
                let value = self.value(Place::ROW);
                self.scopes.pop();
                let alias = self.name("j");
                let text = format!(
                    "JSON_TABLE(JSON_ARRAY({value}, 2), '$[*]' COLUMNS (o FOR ORDINALITY, v INT PATH '$')) {alias}"
                );
                (text, Scope::of(vec![format!("{alias}.o"), format!("{alias}.v")]))
            }
            _ => {
                let readable = &READABLE[self.below(READABLE.len())];
                let alias = self.name("x");
                let columns = readable.columns.iter().map(|column| format!("{alias}.{column}")).collect();
                (format!("{} {alias}", readable.name), Scope::of(columns))
            }
        }
    }

    fn derived(&mut self, lateral: &str, query: &str, width: usize) -> (String, Scope) {
        let alias = self.name("d");
        let names: Vec<String> = (0..width).map(|_| self.name("e")).collect();
        let columns = names.iter().map(|name| format!("{alias}.{name}")).collect();
        (format!("{lateral}({query}) {alias} ({})", names.join(", ")), Scope::of(columns))
    }
}
