//! What is in a document.

use super::super::args::bigint_or_null;
use super::super::{Call, Function};
use super::{document, json, name, of_node, path, path_to_one};
use crate::collation::Collation;
use crate::convert::{returned, to_json};
use crate::error::{MysqlError, errno};
use crate::expr::{EvalContext, LikePattern};
use crate::json::binary::ArrayView;
use crate::json::{Item, Json, Node, View, order, text};
use crate::statement::CancelToken;
use crate::value::{Coercibility, Value};
use std::collections::HashSet;

pub(in super::super) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_EXTRACT", (2, usize::MAX), json, extract).documents(),
    Function::new("JSON_CONTAINS", (2, 3), bigint_or_null, contains).documents(),
    Function::new("JSON_CONTAINS_PATH", (3, usize::MAX), bigint_or_null, contains_path).documents(),
    Function::new("JSON_OVERLAPS", (2, 2), bigint_or_null, overlaps).documents(),
    Function::new("JSON_SEARCH", (3, usize::MAX), json, search).documents(),
    Function::new("JSON_VALUE", (6, 6), json, json_value).documents().special(),
    Function::new("MEMBER OF", (2, 2), bigint_or_null, member_of).documents().special(),
];

/// What the paths select: the value that a single path without wildcards leads to, else an array of all that is found; NULL
/// where nothing is.
fn extract(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json = document(call, values, 0)?;
    let paths = (1..values.len()).map(|n| path(cx, call, values, n)).collect::<Result<Vec<_>, _>>()?;
    let (Some(json), Some(paths)) = (json, paths.into_iter().collect::<Option<Vec<_>>>()) else {
        return Ok(Value::Null);
    };
    if let [path] = paths.as_slice()
        && !path.is_ambiguous()
    {
        return Ok(path
            .first(json.view(), cx.cancel)?
            .map_or(Value::Null, |part| Value::Json(Json::of_view(part))));
    }
    let mut found: Vec<Node> = Vec::new();
    for path in &paths {
        found.extend(path.select(json.view(), cx.cancel)?.into_iter().map(View::to_node));
    }
    if found.is_empty() { Ok(Value::Null) } else { of_node(&Node::Array(found)) }
}

/// The value that a path leads to, as the type of the call: see `build::json_value`. What is wrong with the document or its value is a
/// matter of the arguments 4 and 5, what is not there of 2 and 3.
fn json_value(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(path) = path(cx, call, values, 1)? else { return Ok(Value::Null) };
    let respond = |at: usize, error: MysqlError| match values[at] {
        Value::Int(0) => Ok(Value::Null),
        Value::Int(1) => Err(error),
        _ => Ok(values[at + 1].clone()),
    };
    let json = match document(call, values, 0) {
        Ok(Some(json)) => json,
        Ok(None) => return Ok(Value::Null),
        Err(error) if error.code == errno::ER_INVALID_JSON_TEXT_IN_PARAM => {
            if values[4] != Value::Int(1) {
                cx.warnings.warn(error.clone());
            }
            return respond(4, error);
        }
        Err(error) => return Err(error),
    };
    match path.select(json.view(), cx.cancel)?.as_slice() {
        [] => respond(2, MysqlError::missing_json_value(name(call))),
        [part] => match returned(*part, &call.ty.sql) {
            Ok(v) => Ok(v),
            Err(error) => respond(4, error),
        },
        _ => respond(4, MysqlError::multiple_json_values(name(call))),
    }
}

fn contains(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (target, candidate) = (document(call, values, 0)?, document(call, values, 1)?);
    let (Some(target), Some(candidate)) = (target, candidate) else { return Ok(Value::Null) };
    let part = if values.len() > 2 {
        let Some(path) = path_to_one(cx, call, values, 2)? else { return Ok(Value::Null) };
        match path.first(target.view(), cx.cancel)? {
            Some(part) => part,
            None => return Ok(Value::Null),
        }
    } else {
        target.view()
    };
    Ok(Value::Int(is_contained(part, candidate.view()).into()))
}

/// Whether the target has all that is in the candidate: members of an object by their names; each cell of an array, or the value
/// that is none, in some cell.
fn is_contained(target: View<'_>, candidate: View<'_>) -> bool {
    match (target.item(), candidate.item()) {
        (Item::Object(target), Item::Object(candidate)) => candidate
            .iter()
            .all(|(name, wanted)| target.get(name).is_some_and(|found| is_contained(found, wanted))),
        (Item::Array(target), Item::Array(candidate)) => candidate.iter().all(|cell| has_cell(target, cell)),
        (Item::Array(target), _) => has_cell(target, candidate),
        (Item::Object(_), _) | (_, Item::Object(_) | Item::Array(_)) => false,
        _ => order::compare(target, candidate).is_eq(),
    }
}

fn has_cell(array: ArrayView<'_>, wanted: View<'_>) -> bool {
    array.iter().any(|cell| is_contained(cell, wanted))
}

/// Whether argument `n` says `one`; None for NULL.
fn wants_one(call: Call<'_>, values: &[Value], n: usize) -> Result<Option<bool>, MysqlError> {
    let Some(word) = call.text(values, n) else { return Ok(None) };
    match word.to_ascii_lowercase().as_slice() {
        b"one" => Ok(Some(true)),
        b"all" => Ok(Some(false)),
        _ => Err(MysqlError::json_bad_one_or_all(name(call))),
    }
}

fn contains_path(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(json) = document(call, values, 0)? else { return Ok(Value::Null) };
    let Some(one) = wants_one(call, values, 1)? else { return Ok(Value::Null) };
    for n in 2..values.len() {
        let Some(path) = path(cx, call, values, n)? else { return Ok(Value::Null) };
        if path.first(json.view(), cx.cancel)?.is_some() == one {
            return Ok(Value::Int(one.into()));
        }
    }
    Ok(Value::Int((!one).into()))
}

fn overlaps(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (left, right) = (document(call, values, 0)?, document(call, values, 1)?);
    let (Some(left), Some(right)) = (left, right) else { return Ok(Value::Null) };
    Ok(Value::Int(overlap(left.view(), right.view()).into()))
}

fn overlap(left: View<'_>, right: View<'_>) -> bool {
    let has = |array: ArrayView<'_>, v: View<'_>| array.iter().any(|cell| order::compare(cell, v).is_eq());
    match (left.item(), right.item()) {
        (Item::Array(left), Item::Array(right)) => left.iter().any(|cell| has(right, cell)),
        (Item::Array(array), _) => has(array, right),
        (_, Item::Array(array)) => has(array, left),
        (Item::Object(left), Item::Object(right)) => {
            left.iter().any(|(name, v)| right.get(name).is_some_and(|other| order::compare(v, other).is_eq()))
        }
        _ => order::compare(left, right).is_eq(),
    }
}

fn member_of(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(array) = document(call, values, 1)? else { return Ok(Value::Null) };
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let wanted = to_json(&values[0], &call.args[0].ty.sql)?;
    let found = match array.view().item() {
        Item::Array(array) => array.iter().any(|cell| order::compare(cell, wanted.view()).is_eq()),
        _ => order::compare(array.view(), wanted.view()).is_eq(),
    };
    Ok(Value::Int(found.into()))
}

/// The paths of strings that are like a pattern: `JSON_SEARCH(document, 'one' or 'all', pattern [, escape [, path ..]])`.
fn search(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(json) = document(call, values, 0)? else { return Ok(Value::Null) };
    let Some(one) = wants_one(call, values, 1)? else { return Ok(Value::Null) };
    let Some(pattern) = call.text(values, 2) else { return Ok(Value::Null) };
    let escape = match values.get(3).and_then(|_| call.text(values, 3)) {
        Some(escape) if !escape.is_empty() => {
            let escape = String::from_utf8_lossy(&escape).into_owned();
            let mut characters = escape.chars();
            let first = characters.next();
            if characters.next().is_some() {
                return Err(MysqlError::wrong_arguments("ESCAPE"));
            }
            first
        }
        _ => Some('\\'),
    };
    let ty = &call.args[2].ty;
    let collation =
        if ty.coercibility < Coercibility::Coercible { ty.collation } else { Collation::Utf8mb4Bin };
    let mut found = Found {
        pattern: LikePattern::new(&pattern, escape, collation),
        one,
        known: HashSet::new(),
        paths: Vec::new(),
        cancel: cx.cancel,
    };
    if values.len() < 5 {
        found.visit(json.view(), &mut "$".to_owned())?;
    }
    let mut paths = Vec::new();
    for n in 4..values.len() {
        let Some(path) = path(cx, call, values, n)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    for path in paths {
        let selected = path.select(json.view(), cx.cancel)?.into_iter().map(View::identity).collect();
        located(json.view(), &selected, &mut "$".to_owned(), &mut |view, place| found.visit(view, place))?;
    }
    let mut strings = found.paths.into_iter().map(Node::String);
    match (strings.len(), strings.next()) {
        (1, Some(only)) => of_node(&only),
        (_, Some(first)) => of_node(&Node::Array(std::iter::once(first).chain(strings).collect())),
        (_, None) => Ok(Value::Null),
    }
}

/// What is called with a part and its path.
type Visitor<'a, 'f> = &'f mut dyn FnMut(View<'a>, &mut String) -> Result<(), MysqlError>;

/// Calls `f` with each part that is one of those, and its path.
fn located<'a>(
    view: View<'a>,
    wanted: &HashSet<*const [u8]>,
    place: &mut String,
    f: Visitor<'a, '_>,
) -> Result<(), MysqlError> {
    if wanted.contains(&view.identity()) {
        f(view, place)?;
    }
    for_each_part(view, place, &mut |part, place| located(part, wanted, place, f))
}

/// Calls `f` with each cell or member, and its path; `place` is the path of the value around it.
fn for_each_part<'a>(view: View<'a>, place: &mut String, f: Visitor<'a, '_>) -> Result<(), MysqlError> {
    let end = place.len();
    match view.item() {
        Item::Array(array) => {
            for (n, cell) in array.iter().enumerate() {
                place.push_str(&format!("[{n}]"));
                f(cell, place)?;
                place.truncate(end);
            }
        }
        Item::Object(object) => {
            for (name, v) in object.iter() {
                place.push('.');
                put_name(name, place);
                f(v, place)?;
                place.truncate(end);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A name as a path has it: in quotes unless it is a word.
fn put_name(name: &str, out: &mut String) {
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    if first && characters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) {
        out.push_str(name);
    } else {
        text::put_quoted(name, out);
    }
}

struct Found<'c> {
    pattern: LikePattern,
    one: bool,
    /// The paths, in the order in which they were found, and to look them up.
    paths: Vec<String>,
    known: HashSet<String>,
    cancel: &'c CancelToken,
}

impl Found<'_> {
    fn visit(&mut self, view: View<'_>, place: &mut String) -> Result<(), MysqlError> {
        if self.one && !self.paths.is_empty() {
            return Ok(());
        }
        if let Item::String(s) = view.item() {
            self.cancel.check()?;
            if self.pattern.matches_unless(s.as_bytes(), self.cancel)? && self.known.insert(place.clone()) {
                self.paths.push(place.clone());
            }
        }
        for_each_part(view, place, &mut |part, place| self.visit(part, place))
    }
}
