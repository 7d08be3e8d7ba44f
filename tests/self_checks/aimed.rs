//! Queries that ask for a certain way to be run: what random ones seldom come to.

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
    fn new(make: &mut Conditions<'t>, alias: &str, parts: usize) -> Option<Aim<'t>> {
        let tables = make.tables;
        let number = make.random.random_range(0..2);
        let table = tables.get(number)?;
        let fitting: Vec<&Index> = table.indexes.iter().filter(|index| index.parts.len() >= parts).collect();
        let clustered =
            fitting.iter().find(|index| index.name == "PRIMARY" && make.random.random_ratio(1, 3));
        let index = clustered.or(fitting.choose(make.random)).copied()?;
        let columns = index.parts.iter().map(|part| qualified(alias, &table.columns[part.column])).collect();
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

/// A query that is aimed at one path, if the tables allow for it.
pub fn aimed(make: &mut Conditions<'_>) -> Option<Question> {
    match make.random.random_range(0..9) {
        0 | 1 => merge(make),
        2 => loose(make),
        3 => first_of_each(make),
        4 => in_order(make),
        5 => matched(make),
        6 => leaps(make),
        7 => at_the_end(make),
        _ => lookups(make),
    }
}

fn shown(make: &mut Conditions<'_>, question: &mut Question, scope: &Scope, first: Vec<Column>) {
    let more = some(make, scope, 3);
    question.items = first.iter().chain(&more).map(|column| column.name.clone()).collect();
}

/// Conditions on several indexes.
fn merge(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 1)?;
    // With an order, what the index does not say has to be asked of others.
    let in_order = make.random.random_ratio(2, 5);
    let says = |index: &&Index| !in_order || index.name != aim.index.name;
    let mut indexes: Vec<&Index> = aim.table.indexes.iter().filter(says).collect();
    indexes.shuffle(make.random);
    let count = make.random.random_range(if in_order { 1..3 } else { 2..4 });
    let parts: Vec<String> = indexes
        .iter()
        .take(count)
        .map(|index| format!("({})", make.of_index(aim.table, "a", index)))
        .collect();
    let word = make.pick(&[" AND ", " AND ", " OR "]);
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
    }
    shown(make, &mut question, &aim.scope, keys);
    Some(question)
}

/// The first rows in the order of `id` of those that lie close together in it.
fn at_the_end(make: &mut Conditions<'_>) -> Option<Question> {
    let table = make.tables.first()?;
    let scope = make.scope(&[(0, "a")]);
    let group = make.random.random_range(0..=IDS / GROUPED);
    let condition = format!("a.g {} {group}", make.pick(&["=", "=", ">=", "<="]));
    let mut question = Question::plain("{0 a}".to_owned(), &scope, condition);
    question.order = vec![format!("a.id{}", make.pick(&["", " DESC"]))];
    question.limit = Some((0, *[1, 5, 20].choose(make.random).unwrap_or(&1)));
    question.aim = Some(("a".to_owned(), table.indexes.first()?.name.clone(), "INDEX"));
    let id = scope.columns.first().cloned();
    shown(make, &mut question, &scope, id.into_iter().collect());
    Some(question)
}

/// ORDER BY some parts of the index, its way or the other way round, often with LIMIT.
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

/// Groups of which the first entry is enough.
fn loose(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 1)?;
    let count = make.random.random_range(0..aim.columns.len()) + 1;
    let keys = &aim.columns[..count];
    let condition = match make.random.random_range(0..3) {
        0 => make.of_index(aim.table, "a", aim.index),
        _ => "TRUE".to_owned(),
    };
    let mut question = aim.question(condition, "GROUP_INDEX");
    question.items = keys.iter().map(Column::exact).collect();
    match aim.columns.get(count) {
        Some(next) if make.random.random_ratio(2, 3) => question.items.push(extreme(make, next)),
        _ if make.random.random() => {
            question.distinct = true;
            return Some(question);
        }
        _ => {}
    }
    question.group = keys.iter().map(|key| key.name.clone()).collect();
    if make.random.random() {
        order(make, &mut question, &aim, 0..count);
    }
    Some(question)
}

/// `k IN (..) ORDER BY v LIMIT n`.
fn first_of_each(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 2)?;
    let [first, second, ..] = aim.columns.as_slice() else { return None };
    let condition = match make.random.random_range(0..4) {
        0 => "TRUE".to_owned(),
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

/// The first rows in the order of an index, or in one that begins like it, that pass a condition on something else.
fn in_order(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 1)?;
    let condition = match make.random.random() {
        true => make.tree(&aim.scope, 1),
        false => make.condition(&aim.scope, 1),
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

/// Rows with, or without, partners that an index finds.
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
    shown(make, &mut question, &scope, Vec::new());
    Some(question)
}

/// Something of a part behind one of which nothing, or little, is said.
fn leaps(make: &mut Conditions<'_>) -> Option<Question> {
    let aim = Aim::new(make, "a", 2)?;
    let [first, second, ..] = aim.columns.as_slice() else { return None };
    let point = match make.random.random_range(0..5) {
        0 if second.nullable => format!("{} IS NULL", second.name),
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
    if make.random.random_ratio(1, 2) {
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

/// A small table, and for each of its rows those that an index of a large one finds.
fn lookups(make: &mut Conditions<'_>) -> Option<Question> {
    let inner = Aim::new(make, "b", 1)?;
    let outer = make.random.random_range(1..make.tables.len());
    let left = make.scope(&[(outer, "a")]);
    let found = inner.columns.first()?;
    let alike: Vec<&Column> = left.columns.iter().filter(|column| column.kind == found.kind).collect();
    let needle = (*alike.choose(make.random)?).clone();
    let operator = make.pick(&["=", "=", "=", "<=>"]);
    let mut on = format!("{} {operator} {}", needle.name, found.name);
    // Of the index, or of another whose entries may spare fetching rows.
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
    let mut keys = Vec::new();
    if make.random.random() {
        // The order of the small table, by one of its indexes, or any.
        let Table { columns, indexes, .. } = &make.tables[outer];
        let part = indexes.choose(make.random).and_then(|index| index.parts.first());
        match part.filter(|_| make.random.random_ratio(2, 3)) {
            Some(part) => keys.push(qualified("a", &columns[part.column])),
            None => keys.extend(some(make, &scope, 1)),
        }
        question.order = keys.iter().map(|key| key.name.clone()).collect();
        if make.random.random() {
            question.limit = Some((0, *[1, 5, 100].choose(make.random).unwrap_or(&1)));
        }
    }
    shown(make, &mut question, &scope, keys);
    Some(question)
}
