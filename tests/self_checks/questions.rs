//! Random queries, each as text to run and as text whose answer comes from full scans.

use super::conditions::{Conditions, Scope};
use super::kinds::Column;
use super::tables::{Part, Table};
use rand::Rng;
use rand::seq::IndexedRandom;

/// A query. Its texts name each table as `{number alias}`.
#[derive(Clone, Debug)]
pub struct Question {
    /// The number and the alias of each table of FROM.
    pub tables: Vec<(usize, String)>,
    pub distinct: bool,
    pub items: Vec<String>,
    pub from: String,
    pub condition: String,
    pub group: Vec<String>,
    pub order: Vec<String>,
    /// OFFSET and LIMIT: the number of rows to skip, and the number to return.
    pub limit: Option<(usize, usize)>,
    /// The index that the query is made for: its alias, its name, and the hint that forces it.
    pub aim: Option<(String, String, &'static str)>,
}

impl Question {
    /// A query for the rows of `from` that meet a condition.
    pub fn plain(from: String, scope: &Scope, condition: String) -> Question {
        Question {
            tables: scope.tables.clone(),
            distinct: false,
            items: Vec::new(),
            from,
            condition,
            group: Vec::new(),
            order: Vec::new(),
            limit: None,
            aim: None,
        }
    }

    /// Draws a query of any kind.
    pub fn new(make: &mut Conditions<'_>) -> Question {
        let (from, scope) = from(make);
        let condition = make.condition(&scope, 3);
        let mut question = Question::plain(from, &scope, condition);
        match make.random.random_range(0..10) {
            0..6 => question.rows(make, &scope),
            6 | 7 => question.groups(make, &scope),
            8 => question.distinct(make, &scope),
            _ => question.aggregates(make, &scope),
        }
        question
    }

    fn rows(&mut self, make: &mut Conditions<'_>, scope: &Scope) {
        let keys = match make.random.random_range(0..5) {
            0 | 1 => Vec::new(),
            2 | 3 => of_index(make, scope, true),
            _ => some(make, scope, 2),
        };
        let directions = directions(make, &keys);
        self.order = keys.iter().zip(directions).map(|(key, desc)| format!("{}{desc}", key.name)).collect();
        let shown = match make.random.random_range(0..3) {
            0 => scope.columns.clone(),
            1 => of_index(make, scope, false),
            _ => some(make, scope, 3),
        };
        // The order keys are in the select list, so that equal rows have one place in the order.
        let shown = if self.order.is_empty() && shown.is_empty() { some(make, scope, 1) } else { shown };
        self.items = keys.iter().chain(&shown).map(|column| column.name.clone()).collect();
        self.cut(make);
    }

    fn groups(&mut self, make: &mut Conditions<'_>, scope: &Scope) {
        let mut keys = of_index(make, scope, false);
        let behind = if keys.len() > 1 && make.random.random() { keys.pop() } else { None };
        if keys.is_empty() {
            keys = some(make, scope, 1);
        }
        self.group = keys.iter().map(|key| key.name.clone()).collect();
        self.items = keys.iter().map(Column::exact).collect();
        let aggregates = match behind {
            Some(column) => vec![extreme(make, &column)],
            None => (0..make.random.random_range(1..3)).map(|_| aggregate(make, scope)).collect(),
        };
        self.items.extend(aggregates);
        if make.random.random() {
            let directions = directions(make, &keys);
            self.order =
                keys.iter().zip(directions).map(|(key, desc)| format!("{}{desc}", key.name)).collect();
            self.cut(make);
        }
    }

    fn distinct(&mut self, make: &mut Conditions<'_>, scope: &Scope) {
        let mut shown = of_index(make, scope, false);
        if shown.is_empty() {
            shown = some(make, scope, 2);
        }
        self.distinct = true;
        self.items = shown.iter().map(Column::exact).collect();
    }

    fn aggregates(&mut self, make: &mut Conditions<'_>, scope: &Scope) {
        self.items = match make.random.random_range(0..3) {
            0 => {
                let first = of_index(make, scope, false).into_iter().next();
                let column = first.or_else(|| some(make, scope, 1).into_iter().next());
                column.map(|column| vec![extreme(make, &column)]).unwrap_or_default()
            }
            1 => vec!["COUNT(*)".to_owned()],
            _ => (0..make.random.random_range(1..4)).map(|_| aggregate(make, scope)).collect(),
        };
        if self.items.is_empty() {
            self.items.push("COUNT(*)".to_owned());
        }
    }

    fn cut(&mut self, make: &mut Conditions<'_>) {
        let often = if self.order.is_empty() { 5 } else { 2 };
        if make.random.random_ratio(1, often) {
            let offset = *[0, 0, 0, 1, 7].choose(make.random).unwrap_or(&0);
            let count = *[1, 2, 5, 20, 200].choose(make.random).unwrap_or(&1);
            self.limit = Some((offset, count));
        }
    }

    /// The query as text, with hints.
    pub fn text(&self, hints: &str, table: &dyn Fn(usize, &str) -> String) -> String {
        let order = match self.order.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", self.order.join(", ")),
        };
        let limit = match self.limit {
            Some((offset, count)) => format!(" LIMIT {offset}, {count}"),
            None => String::new(),
        };
        let text = self.select(hints, &self.items.join(", "));
        with_tables(&format!("{text}{order}{limit}"), table)
    }

    /// The query without LIMIT, over tables whose indexes are ignored; behind the values of each row stands its rank
    /// in the order.
    pub fn whole(&self, tables: &[Table]) -> String {
        let table = |number: usize, alias: &str| {
            let Table { name, columns, .. } = &tables[number];
            let columns: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let ignored = tables[number].index_names().join(", ");
            let ignored = if ignored.is_empty() { ignored } else { format!(" IGNORE INDEX ({ignored})") };
            format!("(SELECT {} FROM {name}{ignored}) {alias}", columns.join(", "))
        };
        let mut items = self.items.join(", ");
        if !self.order.is_empty() {
            items = format!("{items}, DENSE_RANK() OVER (ORDER BY {})", self.order.join(", "));
        }
        with_tables(&self.select("", &items), &table)
    }

    /// The number of a table, which a subquery may name, by its alias.
    pub fn number_of(&self, alias: &str) -> Option<usize> {
        let mut places = self.condition.split('{').filter_map(|rest| rest.split_once('}')?.0.split_once(' '));
        places.find(|(_, known)| *known == alias)?.0.parse().ok()
    }

    fn select(&self, hints: &str, items: &str) -> String {
        let distinct = if self.distinct { " DISTINCT" } else { "" };
        let group = match self.group.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", self.group.join(", ")),
        };
        format!("SELECT{hints}{distinct} {items} FROM {} WHERE {}{group}", self.from, self.condition)
    }
}

/// Replaces each `{number alias}` of a text by a table.
pub fn with_tables(text: &str, table: &dyn Fn(usize, &str) -> String) -> String {
    let mut parts = text.split('{');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once('}').expect("the end of a place");
        let (number, alias) = place.split_once(' ').expect("a number and an alias");
        all.push_str(&table(number.parse().expect("a number"), alias));
        all.push_str(rest);
    }
    all
}

fn from(make: &mut Conditions<'_>) -> (String, Scope) {
    let any = |make: &mut Conditions<'_>| make.random.random_range(0..make.tables.len());
    let first = any(make);
    let mut scope = make.scope(&[(first, "a")]);
    let mut text = format!("{{{first} a}}");
    let joins = *[0, 0, 0, 0, 0, 0, 1, 1, 1, 2].choose(make.random).unwrap_or(&0);
    for alias in ["b", "c"].into_iter().take(joins) {
        // A join of two large tables returns too many rows.
        let number = match alias {
            "c" => make.tables.len() - 1,
            _ if first == 0 => make.random.random_range(1..make.tables.len()),
            _ => any(make),
        };
        let right = make.scope(&[(number, alias)]);
        let both = Scope {
            tables: scope.tables.iter().chain(&right.tables).cloned().collect(),
            columns: scope.columns.iter().chain(&right.columns).cloned().collect(),
        };
        let mut on = equality(make, &scope, &right);
        match make.random.random_range(0..6) {
            0 => on = format!("{on} AND {}", make.tree(&both, 1)),
            1 => on = format!("{on} AND {}", equality(make, &scope, &right)),
            _ => {}
        }
        let word = make.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        text = format!("{text} {word} {{{number} {alias}}} ON {on}");
        scope = both;
    }
    (text, scope)
}

fn equality(make: &mut Conditions<'_>, left: &Scope, right: &Scope) -> String {
    let mut pairs = Vec::new();
    for one in &left.columns {
        for other in &right.columns {
            let same = one.kind == other.kind && one.many == other.many;
            let alike = one.kind().family == other.kind().family;
            let times = if same { 4 } else { usize::from(alike) };
            pairs.extend(std::iter::repeat_n((one, other), times));
        }
    }
    let Some((one, other)) = pairs.choose(make.random) else { return "TRUE".to_owned() };
    let (one, other) = (one.name.clone(), other.name.clone());
    let operator = make.pick(&["=", "=", "=", "=", "=", "<=>"]);
    format!("{one} {operator} {other}")
}

pub fn some(make: &mut Conditions<'_>, scope: &Scope, most: usize) -> Vec<Column> {
    let count = make.random.random_range(1..=most);
    (0..count).filter_map(|_| scope.columns.choose(make.random).cloned()).collect()
}

/// The leading columns of an index; for an order, often without the last ones.
fn of_index(make: &mut Conditions<'_>, scope: &Scope, for_order: bool) -> Vec<Column> {
    let Some((number, alias)) = scope.tables.choose(make.random) else { return Vec::new() };
    let table = &make.tables[*number];
    let Some(index) = table.indexes.choose(make.random) else { return Vec::new() };
    let column = |part: &Part| super::conditions::qualified(alias, &table.columns[part.column]);
    let mut columns: Vec<Column> = index.parts.iter().map(column).collect();
    // The order may begin behind a part that a condition may fix.
    let start = usize::from(for_order && columns.len() > 1 && make.random.random_ratio(1, 3));
    columns.drain(..start);
    let count = make.random.random_range(0..columns.len()) + 1;
    columns.truncate(count);
    columns
}

/// ASC or DESC for each key: the directions of an index, the opposite ones, or random ones.
fn directions(make: &mut Conditions<'_>, keys: &[Column]) -> Vec<&'static str> {
    let mut found = None;
    for Table { columns, indexes, .. } in make.tables {
        for index in indexes {
            let place = |key: &Column| {
                let name = key.name.rsplit('.').next().unwrap_or_default();
                index.parts.iter().find(|part| columns[part.column].name == name)
            };
            let parts: Option<Vec<bool>> = keys.iter().map(|key| Some(place(key)?.descending)).collect();
            if found.is_none() || make.random.random_ratio(1, 3) {
                found = parts.or(found);
            }
        }
    }
    let how = make.random.random_range(0..5);
    let found = found.unwrap_or_else(|| vec![false; keys.len()]);
    let word = |descending: bool| if descending { " DESC" } else { "" };
    match how {
        0 | 1 => found.into_iter().map(word).collect(),
        2 | 3 => found.into_iter().map(|descending| word(!descending)).collect(),
        _ => keys.iter().map(|_| word(make.random.random())).collect(),
    }
}

pub fn extreme(make: &mut Conditions<'_>, column: &Column) -> String {
    column.extreme(make.pick(&["MIN", "MAX"]))
}

fn aggregate(make: &mut Conditions<'_>, scope: &Scope) -> String {
    let Some(column) = scope.columns.choose(make.random).cloned() else { return "COUNT(*)".to_owned() };
    match make.random.random_range(0..6) {
        0 => "COUNT(*)".to_owned(),
        1 => format!("COUNT({})", column.name),
        2 => format!("COUNT(DISTINCT {})", column.name),
        3 if column.kind().sums => format!("SUM({})", column.name),
        _ => extreme(make, &column),
    }
}
