//! Queries that aim at a certain access path: paths that random queries seldom reach.

use super::conditions::{Conditions, Scope, qualified};
use super::kinds::Column;
use super::questions::{Question, extreme, some};
use super::tables::{GROUPED, IDS, Index, Table};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

/// A table, an index of it, and the index's columns under the alias.
struct Aim<'t> {
    number: usize,
    table: &'t Table,
    index: &'t Index,
    columns: Vec<Column>,
    scope: Scope,
}

impl<'t> Aim<'t> {
    /// Aims at an index of at least `parts` parts.
    fn new(make: &mut Conditions<'t>, alias: &str, parts: usize) -> Option<Aim<'t>> {
        Aim::at(make, alias, &|_, index| index.parts.len() >= parts)
    }

    /// Aims at an index whose first value many rows share.
    fn repeating(make: &mut Conditions<'t>, alias: &str) -> Option<Aim<'t>> {
        let repeats = |table: &Table, index: &Index| {
            let first = index.parts.first().map(|part| &table.columns[part.column]);
            index.parts.len() > 1
                && first.is_some_and(|first| !["id", "u", "rev"].contains(&first.name.as_str()))
        };
        Aim::at(make, alias, &repeats).or_else(|| Aim::new(make, alias, 2))
    }

    fn at(make: &mut Conditions<'t>, alias: &str, fits: &dyn Fn(&Table, &Index) -> bool) -> Option<Aim<'t>> {
        let tables = make.tables;
        let number = make.random.random_range(0..2);
        let table = tables.get(number)?;
        let fitting: Vec<&Index> = table.indexes.iter().filter(|index| fits(table, index)).collect();
        let clustered =
            fitting.iter().find(|index| index.name == "PRIMARY" && make.random.random_ratio(1, 3));
        let index = clustered.or(fitting.choose(make.random)).copied()?;
        let columns = columns(table, alias, index);
        Some(Aim { number, table, index, columns, scope: make.scope(&[(number, alias)]) })
    }

    fn question(&self, condition: String, hint: &'static str) -> Question {
        let mut question = Question::plain(format!("{{{} a}}", self.number), &self.scope, condition);
        question.aim = Some(self.named("a", hint));
        question
    }

    fn named(&self, alias: &str, hint: &'static str) -> (String, String, &'static str) {
        (alias.to_owned(), self.index.name.clone(), hint)
    }
}

/// Returns the columns of an index.
fn columns(table: &Table, alias: &str, index: &Index) -> Vec<Column> {
    index.parts.iter().map(|part| qualified(alias, &table.columns[part.column])).collect()
}

/// Returns a query that aims at one path, if the tables allow it.
pub fn aimed(make: &mut Conditions<'_>) -> Option<Question> {
    match make.random.random_range(0..33) {
        0..=7 => merge(make),
        8..=12 => loose(make),
        13 => first_of_each(make),
        14 | 15 => in_order(make),
        16 => behind(make),
        17..=19 => matched(make),
        20..=23 => leaps(make),
        24..=27 => at_the_end(make),
        28 => one_row(make),
        29 => neighbours(make),
        _ => lookups(make),
    }
}

fn shown(make: &mut Conditions<'_>, question: &mut Question, scope: &Scope, first: Vec<Column>) {
    let more = some(make, scope, 3);
    question.items = first.iter().chain(&more).map(|column| column.name.clone()).collect();
}

/// Returns conditions on several indexes.
fn merge(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 1)?;
    // With an order, columns outside the index must be looked up in other indexes.
    let in_order = make.random.random_ratio(3, 5);
    let says = |index: &&Index| !in_order || index.name != aim.index.name;
    let mut indexes: Vec<&Index> = aim.table.indexes.iter().filter(says).collect();
    indexes.shuffle(make.random);
    let count = make.random.random_range(if in_order { 1..3 } else { 2..4 });
    let parts: Vec<String> = indexes
        .iter()
        .take(count)
        .map(|index| format!("({})", make.of_index(aim.table, "a", index)))
        .collect();
    let word = make.pick(&[" AND ", " OR "]);
    let mut condition = parts.join(word);
    if make.random.random_ratio(1, 3) {
        let index = indexes.last()?;
        condition = format!("({condition}) AND {}", make.of_index(aim.table, "a", index));
    }
    let mut question = aim.question(condition, if in_order { "ORDER_INDEX" } else { "INDEX_MERGE" });
    let mut keys = Vec::new();
    if in_order {
        keys.extend(aim.columns.first().cloned());
        order(make, &mut question, &aim, 0..1);
    } else if make.random.random() {
        // The clustered index gives the order in which found rows are fetched.
        let clustered = aim.table.indexes.iter().find(|index| index.clustered);
        if let Some(clustered) = clustered {
            let found = Aim { columns: columns(aim.table, "a", clustered), index: clustered, ..aim };
            keys.extend(found.columns.iter().cloned());
            order(make, &mut question, &found, 0..found.columns.len());
            shown(make, &mut question, &found.scope, keys);
            return Some(question);
        }
    }
    shown(make, &mut question, &aim.scope, keys);
    Some(question)
}

/// Returns the first rows in the order of `id`, among rows that are close together in it.
fn at_the_end(make: &mut Conditions<'_>) -> Option<Question> {
    let table = make.tables.first()?;
    let scope = make.scope(&[(0, "a")]);
    let group = make.random.random_range(0..=IDS / GROUPED);
    let condition = format!("a.g {} {group}", make.pick(&["=", "<=>", "<=>", ">=", "<="]));
    let mut question = Question::plain("{0 a}".to_owned(), &scope, condition);
    question.order = vec![format!("a.id{}", make.pick(&["", " DESC"]))];
    question.limit = Some((0, *[1, 5, 20].choose(make.random).unwrap_or(&1)));
    question.aim = Some(("a".to_owned(), table.indexes.first()?.name.clone(), "INDEX"));
    let id = scope.columns.first().cloned();
    shown(make, &mut question, &scope, id.into_iter().collect());
    Some(question)
}

/// Adds ORDER BY some parts of the index, forwards or backwards, often with LIMIT.
fn order(make: &mut Conditions<'_>, question: &mut Question, aim: &Aim<'_>, parts: std::ops::Range<usize>) {
    let backwards = make.random.random_bool(0.5);
    let keys = aim.columns.iter().zip(&aim.index.parts).skip(parts.start).take(parts.len());
    let key = |(column, part): (&Column, &super::tables::Part)| {
        format!("{}{}", column.name, if part.descending != backwards { " DESC" } else { "" })
    };
    question.order = keys.map(key).collect();
    if make.random.random_ratio(2, 3) {
        let offset = *[0, 0, 0, 2].choose(make.random).unwrap_or(&0);
        question.limit = Some((offset, *[1, 3, 10, 50].choose(make.random).unwrap_or(&1)));
    }
}

/// Returns groups of which the first entry is enough.
fn loose(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = if make.random.random() { Aim::repeating(make, "a") } else { Aim::new(make, "a", 1) }?;
    let most = (aim.columns.len() - 1).max(1);
    let count = make.random.random_range(0..most) + 1;
    let keys = &aim.columns[..count];
    let condition = match (make.random.random_range(0..5), aim.columns.first()) {
        (0, _) => make.of_index(aim.table, "a", aim.index),
        (1, Some(first)) if first.nullable => {
            let constant = first.constant(make.random);
            format!("({} IS NULL OR {} {} {constant})", first.name, first.name, make.pick(&["<", ">"]))
        }
        _ => "TRUE".to_owned(),
    };
    let mut question = aim.question(condition, "GROUP_INDEX");
    question.items = keys.iter().map(Column::exact).collect();
    match aim.columns.get(count) {
        Some(next) if make.random.random_ratio(4, 5) => match make.random.random_range(0..3) {
            0 | 1 => question.items.extend(["MIN", "MAX"].map(|end| next.extreme(end))),
            _ => question.items.push(extreme(make, next)),
        },
        _ if make.random.random() => {
            question.distinct = true;
            return Some(question);
        }
        _ => {}
    }
    question.group = keys.iter().map(|key| key.name.clone()).collect();
    if make.random.random_ratio(3, 4) {
        order(make, &mut question, &aim, 0..count);
    }
    Some(question)
}

/// Returns `k IN (..) ORDER BY v LIMIT n`.
fn first_of_each(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::repeating(make, "a")?;
    let [first, second, ..] = aim.columns.as_slice() else { return None };
    let condition = match make.random.random_range(0..7) {
        0 | 4 => "TRUE".to_owned(),
        5 => format!("{} IS NOT NULL", first.name),
        6 => format!("{} {} {}", first.name, make.pick(&["<=", ">="]), first.constant(make.random)),
        1 => format!("{} IS NULL OR {} = {}", first.name, first.name, first.constant(make.random)),
        _ => {
            let list: Vec<String> = (0..4).map(|_| first.constant(make.random)).collect();
            format!("{} IN ({})", first.name, list.join(", "))
        }
    };
    let mut question = aim.question(condition, "JOIN_INDEX");
    order(make, &mut question, &aim, 1..2);
    question.limit = Some((0, make.random.random_range(1..6)));
    shown(make, &mut question, &aim.scope, vec![second.clone()]);
    Some(question)
}

/// Returns the first rows in the order of an index, or in one that begins like it, that satisfy a condition on
/// another column.
fn in_order(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 1)?;
    let condition = match make.random.random_range(0..3) {
        0 => make.tree(&aim.scope, 1),
        1 => make.condition(&aim.scope, 1),
        _ => make.of_index(aim.table, "a", aim.index),
    };
    let mut question = aim.question(condition, "ORDER_INDEX");
    let count = make.random.random_range(0..aim.columns.len()) + 1;
    order(make, &mut question, &aim, 0..count);
    let mut keys = aim.columns[..count].to_vec();
    if make.random.random() {
        let more = some(make, &aim.scope, 1);
        question.order.extend(more.iter().map(|column| column.name.clone()));
        keys.extend(more);
    }
    question.limit = Some((0, *[1, 3, 20].choose(make.random).unwrap_or(&1)));
    shown(make, &mut question, &aim.scope, keys);
    Some(question)
}

/// Returns rows with, or without, partners that an index finds.
fn matched(make: &mut Conditions<'_>) -> Option<Question> {
    let inner = Aim::new(make, "x", 1)?;
    let outer = make.random.random_range(1..make.tables.len());
    let scope = make.scope(&[(outer, "a")]);
    let found = inner.columns.first()?;
    let alike: Vec<&Column> = scope.columns.iter().filter(|column| column.kind == found.kind).collect();
    let needle = (*alike.choose(make.random)?).clone();
    let more = match make.random.random_range(0..3) {
        0 => make.of_index(inner.table, "x", inner.index),
        1 => make.tree(&inner.scope, 1),
        _ => "TRUE".to_owned(),
    };
    let (not, table) = (make.pick(&["", "NOT "]), format!("{{{} x}}", inner.number));
    let (needle, found) = (needle.name, &found.name);
    let mut condition = match make.random.random_range(0..3) {
        0 => format!("{not}EXISTS (SELECT 1 FROM {table} WHERE {found} <=> {needle} AND ({more}))"),
        1 => format!("{not}EXISTS (SELECT 1 FROM {table} WHERE {found} = {needle} AND ({more}))"),
        _ => format!("{needle} {not}IN (SELECT {found} FROM {table} WHERE ({more}))"),
    };
    if make.random.random_ratio(1, 3) {
        condition = format!("{condition} AND {}", make.tree(&scope, 1));
    }
    let mut question = Question::plain(format!("{{{outer} a}}"), &scope, condition);
    let keys = match make.random.random_ratio(3, 4) {
        true => outer_order(make, &mut question, outer, &scope),
        false => Vec::new(),
    };
    shown(make, &mut question, &scope, keys);
    Some(question)
}

/// Adds the order of a table that others are joined to, by one of its indexes, or any; returns the order columns.
fn outer_order(
    make: &mut Conditions<'_>,
    question: &mut Question,
    outer: usize,
    scope: &Scope,
) -> Vec<Column> {
    let Table { columns, indexes, .. } = &make.tables[outer];
    let part = indexes.choose(make.random).and_then(|index| index.parts.first());
    let keys = match part.filter(|_| make.random.random_ratio(5, 6)) {
        Some(part) => vec![qualified("a", &columns[part.column])],
        None => some(make, scope, 1),
    };
    let direction = make.pick(&["", " DESC"]);
    question.order = keys.iter().map(|key| format!("{}{direction}", key.name)).collect();
    if make.random.random() {
        question.limit = Some((0, *[1, 5, 100].choose(make.random).unwrap_or(&1)));
    }
    keys
}

/// Returns conditions on a part behind one without a condition, or with a weak one.
fn leaps(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::repeating(make, "a")?;
    let [first, second, ..] = aim.columns.as_slice() else { return None };
    let point = match make.random.random_range(0..6) {
        0 if second.nullable => format!("{} IS NULL", second.name),
        5 if second.nullable => {
            format!("({} IS NULL OR {} = {})", second.name, second.name, second.constant(make.random))
        }
        1 | 2 => {
            let list: Vec<String> = (0..5).map(|_| second.constant(make.random)).collect();
            format!("{} IN ({})", second.name, list.join(", "))
        }
        _ => format!("{} = {}", second.name, second.constant(make.random)),
    };
    let (a, b) = (first.constant(make.random), first.constant(make.random));
    let condition = match make.random.random_range(0..4) {
        0 => point,
        1 => format!("{} BETWEEN {a} AND {b} AND {point}", first.name),
        2 => format!("{} IS NOT NULL AND {point}", first.name),
        _ => format!("{} {} {a} AND {point}", first.name, make.pick(&["<", ">", "<=", "<>"])),
    };
    let mut question = aim.question(condition, "SKIP_SCAN");
    let mut keys = Vec::new();
    if make.random.random_ratio(2, 3) {
        keys.push(first.clone());
        order(make, &mut question, &aim, 0..1);
    }
    // Of the index alone, or of the row.
    match make.random.random() {
        true => shown(make, &mut question, &aim.scope, keys),
        false => question.items = aim.columns.iter().map(|column| column.name.clone()).collect(),
    }
    Some(question)
}

/// Returns rows with some values of the first part, in the order of the next.
fn behind(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::repeating(make, "a")?;
    let [first, second, ..] = aim.columns.as_slice() else { return None };
    let one = format!("{} <=> {}", first.name, first.constant(make.random));
    let condition = match make.random.random_range(0..3) {
        0 => format!("{one} AND {}", make.tree(&aim.scope, 1)),
        1 => format!("({one} OR {} IS NULL)", first.name),
        _ => one,
    };
    let mut question = aim.question(condition, "ORDER_INDEX");
    order(make, &mut question, &aim, 1..2);
    match make.random.random() {
        true => shown(make, &mut question, &aim.scope, vec![second.clone()]),
        false => question.items = aim.columns.iter().map(|column| column.name.clone()).collect(),
    }
    Some(question)
}

/// Returns the row of a unique key, if there is one.
fn one_row(make: &mut Conditions<'_>) -> Option<Question> {
    let unique = |_: &Table, index: &Index| index.unique;
    let aim = Aim::at(make, "a", &unique)?;
    let keys: Vec<String> = aim
        .columns
        .iter()
        .map(|column| {
            format!("{} {} {}", column.name, make.pick(&["=", "=", "<=>"]), column.constant(make.random))
        })
        .collect();
    let mut condition = keys.join(" AND ");
    if make.random.random_ratio(1, 3) {
        condition = format!("{condition} AND {}", make.tree(&aim.scope, 1));
    }
    let mut question = aim.question(condition, "INDEX");
    if make.random.random() {
        question.limit = Some((0, make.random.random_range(1..3)));
    }
    shown(make, &mut question, &aim.scope, Vec::new());
    Some(question)
}

/// Returns rows whose unique keys lie between two that may exist, in their order.
fn neighbours(make: &mut Conditions<'_>) -> Option<Question> {
    let single = |_: &Table, index: &Index| index.unique && index.parts.len() == 1;
    let aim = Aim::at(make, "a", &single).or_else(|| Aim::at(make, "a", &|_, index| index.unique))?;
    let key = aim.columns.first()?;
    let (a, b) = key.range(make.random);
    let condition = format!("{} >= {a} AND {} {} {b}", key.name, key.name, make.pick(&["<", "<="]));
    let mut question = aim.question(condition, "ORDER_INDEX");
    order(make, &mut question, &aim, 0..1);
    shown(make, &mut question, &aim.scope, vec![key.clone()]);
    Some(question)
}

/// Returns a small table, and for each of its rows those that an index of a large one finds.
fn lookups(make: &mut Conditions<'_>) -> Option<Question> {
    let inner = Aim::new(make, "b", 1)?;
    let outer = make.random.random_range(1..make.tables.len());
    let left = make.scope(&[(outer, "a")]);
    let found = inner.columns.first()?;
    let alike: Vec<&Column> = left.columns.iter().filter(|column| column.kind == found.kind).collect();
    let needle = (*alike.choose(make.random)?).clone();
    let operator = make.pick(&["=", "=", "=", "<=>"]);
    let mut on = format!("{} {operator} {}", needle.name, found.name);
    // Conditions on the index, or on another whose entries may avoid fetching rows.
    if make.random.random_ratio(2, 3) {
        let index = inner.table.indexes.choose(make.random).unwrap_or(inner.index);
        on = format!("{on} AND ({})", make.of_index(inner.table, "b", index));
    }
    let word = make.pick(&["JOIN", "LEFT JOIN", "LEFT JOIN"]);
    let from = format!("{{{outer} a}} {word} {{{} b}} ON {on}", inner.number);
    let scope = make.scope(&[(outer, "a"), (inner.number, "b")]);
    let condition = match make.random.random_range(0..4) {
        0 => "TRUE".to_owned(),
        1 => make.tree(&left, 1),
        2 => make.condition(&inner.scope, 1),
        _ => format!("{} IS NULL", found.name),
    };
    let mut question = Question::plain(from, &scope, condition);
    question.aim = Some(inner.named("b", "JOIN_INDEX"));
    let keys =
        if make.random.random() { outer_order(make, &mut question, outer, &scope) } else { Vec::new() };
    shown(make, &mut question, &scope, keys);
    Some(question)
}
