//! Searches documents.

use super::super::args::bigint_or_null;
use super::{document, json, name, of_node, path, path_to_one};
use crate::function::{Call, Function};
use crate::{EvalContext, LikePattern};
use leafline_types::collation::Collation;
use leafline_types::convert::{returned, to_json};
use leafline_types::error::{MysqlError, errno};
use leafline_types::json::binary::ArrayView;
use leafline_types::json::{Item, Json, Node, View, order, text};
use leafline_types::statement::{CancelTicker, CancelToken};
use leafline_types::value::{Coercibility, Value};
use std::collections::HashSet;

pub(in super::super) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_EXTRACT", (2, usize::MAX), json, extract).documents(),
    Function::new("JSON_CONTAINS", (2, 3), bigint_or_null, contains).condition().documents(),
    Function::new("JSON_CONTAINS_PATH", (3, usize::MAX), bigint_or_null, contains_path)
        .condition()
        .documents(),
    Function::new("JSON_OVERLAPS", (2, 2), bigint_or_null, overlaps).condition().documents(),
    Function::new("JSON_SEARCH", (3, usize::MAX), json, search).documents(),
    Function::new("JSON_VALUE", (6, 6), json, json_value).documents().special(),
    Function::new("MEMBER OF", (2, 2), bigint_or_null, member_of).condition().documents().special(),
];

/// Returns what the paths select: the value of a single path without wildcards, otherwise an array of all that is
/// found; NULL if nothing is found.
fn extract(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let json = document(cx, call, values, 0)?;
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
    let mut bytes = 0;
    for path in &paths {
        for part in path.select(json.view(), cx.cancel)? {
            bytes += part.bytes().len();
            if bytes > cx.sql_mode.max_result {
                return Err(Json::too_large(cx.sql_mode.max_result));
            }
            found.push(part.to_node()?);
        }
    }
    if found.is_empty() { Ok(Value::Null) } else { of_node(&Node::Array(found)) }
}

/// Returns the value that a path leads to, in the call's type: see `build::json_value`. Arguments 4 and 5 give the
/// response to a wrong document or value, arguments 2 and 3 to a missing one.
fn json_value(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(path) = path(cx, call, values, 1)? else { return Ok(Value::Null) };
    let respond = |at: usize, error: MysqlError| match values[at] {
        Value::Int(0) => Ok(Value::Null),
        Value::Int(1) => Err(error),
        _ => Ok(values[at + 1].clone()),
    };
    let json = match document(cx, call, values, 0) {
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
    let (target, candidate) = (document(cx, call, values, 0)?, document(cx, call, values, 1)?);
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
    let mut comparison = Comparison { steps: cx.steps() };
    Ok(Value::Int(comparison.contains(part, candidate.view())?.into()))
}

/// Compares the parts of two documents, and checks for cancellation as it goes.
struct Comparison<'c> {
    steps: CancelTicker<'c>,
}

/// Up to this many pairs of cells are compared one by one.
const FEW_PAIRS: usize = 256;

impl Comparison<'_> {
    fn equal(&mut self, a: View<'_>, b: View<'_>) -> Result<bool, MysqlError> {
        self.steps.take(1 + a.bytes().len() + b.bytes().len())?;
        Ok(order::compare(a, b).is_eq())
    }

    /// Returns the keys of cells, for finding equal ones; with `scalars`, of scalars only.
    fn keys(&mut self, array: ArrayView<'_>, scalars: bool) -> Result<HashSet<Vec<u8>>, MysqlError> {
        let mut keys = HashSet::new();
        for cell in array.iter() {
            self.steps.take(1 + cell.bytes().len())?;
            if !scalars || is_scalar(cell) {
                keys.insert(order::key(cell));
            }
        }
        Ok(keys)
    }

    /// Whether the target contains all that is in the candidate: members of an object by their names; each cell of an
    /// array, or a value that is not an array, in some cell.
    fn contains(&mut self, target: View<'_>, candidate: View<'_>) -> Result<bool, MysqlError> {
        match (target.item(), candidate.item()) {
            (Item::Object(target), Item::Object(candidate)) => {
                for (name, wanted) in candidate.iter() {
                    let Some(found) = target.get(name) else { return Ok(false) };
                    if !self.contains(found, wanted)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Item::Array(target), Item::Array(candidate)) => {
                let many = target.len().saturating_mul(candidate.len()) > FEW_PAIRS;
                let scalars = if many { Some(self.keys(target, true)?) } else { None };
                // A scalar may also be in an array that is a cell.
                let has_arrays = target.iter().any(|cell| matches!(cell.item(), Item::Array(_)));
                for cell in candidate.iter() {
                    self.steps.take(1)?;
                    let found = match &scalars {
                        Some(scalars) if is_scalar(cell) => {
                            scalars.contains(&order::key(cell))
                                || has_arrays && self.has_cell(target, cell)?
                        }
                        _ => self.has_cell(target, cell)?,
                    };
                    if !found {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Item::Array(target), _) => self.has_cell(target, candidate),
            (Item::Object(_), _) | (_, Item::Object(_) | Item::Array(_)) => Ok(false),
            _ => self.equal(target, candidate),
        }
    }

    fn has_cell(&mut self, array: ArrayView<'_>, wanted: View<'_>) -> Result<bool, MysqlError> {
        for cell in array.iter() {
            if self.contains(cell, wanted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a cell of the array equals the value.
    fn has_equal(&mut self, array: ArrayView<'_>, v: View<'_>) -> Result<bool, MysqlError> {
        for cell in array.iter() {
            if self.equal(cell, v)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn overlap(&mut self, left: View<'_>, right: View<'_>) -> Result<bool, MysqlError> {
        match (left.item(), right.item()) {
            (Item::Array(left), Item::Array(right)) => {
                if left.len().saturating_mul(right.len()) <= FEW_PAIRS {
                    for cell in left.iter() {
                        if self.has_equal(right, cell)? {
                            return Ok(true);
                        }
                    }
                    return Ok(false);
                }
                let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
                let keys = self.keys(few, false)?;
                for cell in many.iter() {
                    self.steps.take(1 + cell.bytes().len())?;
                    if keys.contains(&order::key(cell)) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Item::Array(array), _) => self.has_equal(array, right),
            (_, Item::Array(array)) => self.has_equal(array, left),
            (Item::Object(left), Item::Object(right)) => {
                for (name, v) in left.iter() {
                    if let Some(other) = right.get(name)
                        && self.equal(v, other)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => self.equal(left, right),
        }
    }
}

fn is_scalar(view: View<'_>) -> bool {
    !matches!(view.item(), Item::Array(_) | Item::Object(_))
}

/// Whether argument `n` is `one`, not `all`; None for NULL.
fn wants_one(call: Call<'_>, values: &[Value], n: usize) -> Result<Option<bool>, MysqlError> {
    let Some(word) = call.text(values, n) else { return Ok(None) };
    match word.to_ascii_lowercase().as_slice() {
        b"one" => Ok(Some(true)),
        b"all" => Ok(Some(false)),
        _ => Err(MysqlError::json_bad_one_or_all(name(call))),
    }
}

fn contains_path(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(json) = document(cx, call, values, 0)? else { return Ok(Value::Null) };
    let Some(one) = wants_one(call, values, 1)? else { return Ok(Value::Null) };
    for n in 2..values.len() {
        let Some(path) = path(cx, call, values, n)? else { return Ok(Value::Null) };
        if path.first(json.view(), cx.cancel)?.is_some() == one {
            return Ok(Value::Int(one.into()));
        }
    }
    Ok(Value::Int((!one).into()))
}

fn overlaps(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (left, right) = (document(cx, call, values, 0)?, document(cx, call, values, 1)?);
    let (Some(left), Some(right)) = (left, right) else { return Ok(Value::Null) };
    let mut comparison = Comparison { steps: cx.steps() };
    Ok(Value::Int(comparison.overlap(left.view(), right.view())?.into()))
}

fn member_of(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(array) = document(cx, call, values, 1)? else { return Ok(Value::Null) };
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let wanted = to_json(&values[0], &call.args[0].ty.sql)?;
    let mut comparison = Comparison { steps: cx.steps() };
    let found = match array.view().item() {
        Item::Array(array) => comparison.has_equal(array, wanted.view())?,
        _ => comparison.equal(array.view(), wanted.view())?,
    };
    Ok(Value::Int(found.into()))
}

/// Returns the paths of strings that match a pattern: `JSON_SEARCH(document, 'one' or 'all', pattern [, escape [,
/// path ..]])`.
fn search(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(json) = document(cx, call, values, 0)? else { return Ok(Value::Null) };
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
        bytes: 0,
        most: cx.sql_mode.max_result,
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

/// A function that is called with a part and its path.
type Visitor<'a, 'f> = &'f mut dyn FnMut(View<'a>, &mut String) -> Result<(), MysqlError>;

/// Calls `f` with each part that is in `wanted`, and its path.
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

/// Calls `f` with each cell or member, and its path; `place` is the path of the value itself.
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

/// Writes a name in the form of a path: in quotes unless it is a word.
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
    /// The paths in the order in which they were found, and as a set.
    paths: Vec<String>,
    known: HashSet<String>,
    /// The length of the paths in bytes, and its limit.
    bytes: usize,
    most: usize,
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
                self.bytes += place.len();
                if self.bytes > self.most {
                    return Err(Json::too_large(self.most));
                }
                self.paths.push(place.clone());
            }
        }
        for_each_part(view, place, &mut |part, place| self.visit(part, place))
    }
}
