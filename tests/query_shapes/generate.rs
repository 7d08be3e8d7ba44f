//! Random statements: query expressions, query blocks, and the state that their parts share.
//!
//! A statement has a budget of parts, so that it ends. Names come from the scopes of the enclosing blocks, usually
//! the nearest, so that subqueries depend on rows at any distance. Rows are determined except for their order, as far
//! as MySQL determines them: LIMIT stands only in forms that pass all rows or none.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The names that are visible in a block.
#[derive(Clone, Default)]
pub struct Scope {
    /// Columns, qualified.
    pub columns: Vec<String>,
    /// Whether aggregates of the block are allowed at the current place.
    pub aggregates: bool,
}

impl Scope {
    pub fn of(columns: Vec<String>) -> Scope {
        Scope { columns, aggregates: false }
    }
}

/// A query of WITH.
#[derive(Clone)]
pub struct Common {
    pub name: String,
    pub columns: Vec<String>,
}

/// The parts that an expression may contain at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub aggregates: bool,
    pub windows: bool,
}

impl Place {
    /// A place without aggregates and windows.
    pub const ROW: Place = Place { aggregates: false, windows: false };
    /// A place in HAVING.
    pub const GROUP: Place = Place { aggregates: true, windows: false };
}

/// Generates statements.
pub struct Generator {
    rng: SmallRng,
    names: usize,
    /// The number of parts that the statement may still have.
    budget: usize,
    /// The enclosing blocks, the innermost last.
    pub scopes: Vec<Scope>,
    pub commons: Vec<Common>,
    /// Whether the place is inside of an aggregate or window function.
    pub nested: bool,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            rng: SmallRng::seed_from_u64(seed),
            names: 0,
            budget: 0,
            scopes: Vec::new(),
            commons: Vec::new(),
            nested: false,
        }
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end)
    }

    /// Returns true with a chance of `percent`.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    pub fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Returns a new alias.
    pub fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// Takes `parts` from the budget; returns whether there were enough.
    pub fn takes(&mut self, parts: usize) -> bool {
        let enough = self.budget >= parts;
        self.budget = self.budget.saturating_sub(parts);
        enough
    }

    /// Begins a statement.
    pub fn begin(&mut self) {
        self.budget = [6, 12, 24, 40][self.below(4)];
        self.names = 0;
        self.scopes.clear();
        self.commons.clear();
        self.nested = false;
    }

    /// Returns a SELECT.
    pub fn select(&mut self) -> String {
        self.begin();
        let width = 1 + self.below(3);
        self.query(width)
    }

    /// Returns a query expression of `width` columns.
    pub fn query(&mut self, width: usize) -> String {
        let commons = self.commons.len();
        let with = if self.chance(12) && self.takes(3) { self.with() } else { String::new() };
        let body = self.body(width);
        self.commons.truncate(commons);
        format!("{with}{body}")
    }

    fn with(&mut self) -> String {
        let mut parts = Vec::new();
        let mut recursive = false;
        for _ in 0..1 + self.below(2) {
            let name = self.name("c");
            let columns: Vec<String> = (0..1 + self.below(2)).map(|_| self.name("f")).collect();
            let common = Common { name: name.clone(), columns: columns.clone() };
            if self.chance(25) {
                recursive = true;
                let seed: Vec<String> = columns.iter().map(|_| self.below(3).to_string()).collect();
                let next: Vec<String> = columns.iter().map(|column| format!("{column} + 1")).collect();
                let (first, all) = (&columns[0], self.of(&["ALL ", "", "DISTINCT "]));
                let condition = if self.chance(30) && self.takes(2) {
                    let columns = columns.iter().map(|column| format!("{name}.{column}")).collect();
                    self.scopes.push(Scope::of(columns));
                    let condition = format!(" AND {}", self.condition(Place::ROW));
                    self.scopes.pop();
                    condition
                } else {
                    String::new()
                };
                parts.push(format!(
                    "{name} ({}) AS (SELECT {} UNION {all}SELECT {} FROM {name} WHERE {first} < 4{condition})",
                    columns.join(", "),
                    seed.join(", "),
                    next.join(", ")
                ));
            } else {
                let query = self.query(columns.len());
                parts.push(format!("{name} ({}) AS ({query})", columns.join(", ")));
            }
            self.commons.push(common);
        }
        format!("WITH {}{} ", if recursive { "RECURSIVE " } else { "" }, parts.join(", "))
    }

    fn body(&mut self, width: usize) -> String {
        if !self.chance(15) || !self.takes(3) {
            return self.block(width);
        }
        if self.chance(15) {
            let row = |generator: &mut Generator| {
                let values: Vec<String> = (0..width).map(|_| generator.value(Place::ROW)).collect();
                format!("ROW({})", values.join(", "))
            };
            return format!("VALUES {}, {}", row(self), row(self));
        }
        let mut text = self.operand(width);
        for _ in 0..1 + self.below(2) {
            let operator =
                self.of(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"]);
            let operand = self.operand(width);
            text = format!("{text} {operator} {operand}");
        }
        if self.chance(20) {
            text = format!("{text} ORDER BY {}", 1 + self.below(width));
        }
        text
    }

    fn operand(&mut self, width: usize) -> String {
        if self.chance(15) && self.takes(2) {
            return format!("({})", self.query(width));
        }
        format!("({})", self.block(width))
    }

    /// Returns a query block of `width` columns.
    pub fn block(&mut self, width: usize) -> String {
        let (nested, depth) = (std::mem::take(&mut self.nested), self.scopes.len());
        let (from, scope) = if self.chance(90) { self.from() } else { (String::new(), Scope::default()) };
        self.scopes.push(scope);
        let has_from = !from.is_empty();
        let (mut text, mut order) = (String::new(), String::new());
        let filter =
            if self.chance(60) { format!(" WHERE {}", self.condition(Place::ROW)) } else { String::new() };
        let grouped = has_from && self.chance(20);
        let place = Place { aggregates: grouped || self.chance(15), windows: self.chance(8) };
        self.allow_aggregates(place.aggregates);
        let mut aliases = Vec::new();
        let outputs: Vec<String> = (0..width)
            .map(|_| {
                let (value, alias) = (self.value(place), self.name("o"));
                let output = format!("{value} AS {alias}");
                aliases.push(alias);
                output
            })
            .collect();
        self.allow_aggregates(false);
        let distinct = if self.chance(12) { "DISTINCT " } else { "" };
        let straight = if self.chance(3) { "STRAIGHT_JOIN " } else { "" };
        text += &format!("SELECT {straight}{distinct}{}{from}{filter}", outputs.join(", "));
        let mut results = aliases;
        if grouped {
            let keys: Vec<String> = (0..1 + self.below(2)).map(|_| self.value(Place::ROW)).collect();
            let rollup = if self.chance(20) { " WITH ROLLUP" } else { "" };
            text += &format!(" GROUP BY {}{rollup}", keys.join(", "));
            results.extend(
                keys.into_iter().filter(|key| key.starts_with(['x', 'd', 'j']) && !key.contains(' ')),
            );
        }
        self.allow_aggregates(place.aggregates);
        if self.chance(15) {
            let key = if self.chance(40) { (1 + self.below(width)).to_string() } else { self.value(place) };
            order = format!(" ORDER BY {key}{}", self.of(&["", " DESC"]));
        }
        if self.chance(if place.aggregates { 30 } else { 4 }) {
            // Names in HAVING are results.
            if let Some(scope) = self.scopes.last_mut() {
                scope.columns = results;
            }
            text += &format!(" HAVING {}", self.condition(Place::GROUP));
        }
        text += &order;
        self.scopes.truncate(depth);
        self.nested = nested;
        text
    }

    /// Sets whether aggregates of the innermost block are allowed.
    fn allow_aggregates(&mut self, allowed: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.aggregates = allowed;
        }
    }

    /// Returns a column of a block whose aggregates are allowed here.
    pub fn aggregated_column(&mut self) -> Option<String> {
        let allowed: Vec<usize> =
            (0..self.scopes.len()).filter(|level| self.scopes[*level].aggregates).collect();
        let level = match allowed.len() {
            0 => return None,
            count if self.chance(60) => allowed[count - 1],
            count => allowed[self.below(count)],
        };
        let count = self.scopes[level].columns.len();
        if count == 0 {
            return None;
        }
        let at = self.below(count);
        Some(self.scopes[level].columns[at].clone())
    }

    /// Returns a visible column, usually of the innermost block.
    pub fn column(&mut self) -> Option<String> {
        let levels = self.scopes.len();
        for _ in 0..3 {
            let mut level = levels.checked_sub(1)?;
            while level > 0 && self.chance(35) {
                level -= 1;
            }
            let count = self.scopes[level].columns.len();
            if count > 0 {
                let at = self.below(count);
                return Some(self.scopes[level].columns[at].clone());
            }
        }
        None
    }
}
