//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: validation of documents against JSON Schema, draft 4.
//!
//! Keywords are checked in MySQL's order, which follows from reading the document from its beginning: the type of a
//! value, its members or cells, properties of the whole, and finally `enum`, `allOf`, `anyOf`, `oneOf` and `not`. The
//! first failure is reported. Keywords whose values have a kind that the draft does not allow are ignored.

use super::super::args::bigint_or_null;
use super::{document, json, of_node};
use crate::EvalContext;
use crate::function::{Call, Function};
use leafline_types::error::MysqlError;
use leafline_types::json::binary::{ArrayView, ObjectView};
use leafline_types::json::node::{Key, Members, Node};
use leafline_types::json::{Item, Json, View, order};
use leafline_types::statement::CancelTicker;
use leafline_types::value::Value;

pub(in super::super) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_SCHEMA_VALID", (2, 2), bigint_or_null, |cx, call, values| {
        Ok(match failure(cx, call, values)? {
            None => Value::Null,
            Some(failure) => Value::Int(failure.is_none().into()),
        })
    })
    .condition()
    .documents(),
    Function::new("JSON_SCHEMA_VALIDATION_REPORT", (2, 2), json, report).documents(),
];

/// The number of references that may be followed before a part of the document is entered.
const MAX_REFERENCES: usize = 100;

/// The keyword that a document violates, with the places in schema and document.
#[derive(Debug, PartialEq)]
struct Failure {
    keyword: &'static str,
    schema_location: String,
    document_location: String,
}

/// Validates the second argument against the schema, which is the first; None if one is NULL.
fn failure(
    cx: &EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
) -> Result<Option<Option<Failure>>, MysqlError> {
    let Some(schema) = document(cx, call, values, 0)? else { return Ok(None) };
    let Item::Object(_) = schema.view().item() else {
        let name = super::name(call);
        return Err(MysqlError::json_type_required(1, name, "object"));
    };
    let Some(json) = document(cx, call, values, 1)? else { return Ok(None) };
    let mut validator = Validator {
        root: schema.view(),
        schema: "#".into(),
        document: "#".into(),
        references: 0,
        steps: cx.steps(),
    };
    match validator.check(schema.view(), json.view()) {
        Ok(()) => Ok(Some(None)),
        Err(Stop::Failed(failure)) => Ok(Some(Some(failure))),
        Err(Stop::Error(error)) => Err(error),
    }
}

fn report(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(failure) = failure(cx, call, values)? else { return Ok(Value::Null) };
    let mut members = Members::new();
    members.insert(Key("valid".to_owned()), Node::Bool(failure.is_none()));
    if let Some(Failure { keyword, schema_location, document_location }) = failure {
        let reason = format!(
            "The JSON document location '{document_location}' failed requirement '{keyword}' at JSON Schema location \
             '{schema_location}'"
        );
        let mut text =
            |name: &str, text: &str| members.insert(Key(name.to_owned()), Node::String(text.into()));
        text("reason", &reason);
        text("schema-location", &schema_location);
        text("document-location", &document_location);
        text("schema-failed-keyword", keyword);
    }
    of_node(&Node::Object(members))
}

/// Why a check ended.
enum Stop {
    Failed(Failure),
    Error(MysqlError),
}

impl From<MysqlError> for Stop {
    fn from(error: MysqlError) -> Self {
        Stop::Error(error)
    }
}

struct Validator<'s> {
    root: View<'s>,
    /// The place in the schema, as a pointer.
    schema: String,
    /// The place in the document, as a pointer.
    document: String,
    /// The number of references that lead to the place in the schema.
    references: usize,
    steps: CancelTicker<'s>,
}

impl<'s> Validator<'s> {
    fn require(&self, keyword: &'static str, holds: bool) -> Result<(), Stop> {
        if holds {
            return Ok(());
        }
        let (schema_location, document_location) = (self.schema.clone(), self.document.clone());
        Err(Stop::Failed(Failure { keyword, schema_location, document_location }))
    }

    /// Runs a check at another place of the schema, and, if `part` is given, of the document.
    fn inside(
        &mut self,
        legs: &[&str],
        part: Option<&str>,
        schema: View<'s>,
        value: View<'_>,
    ) -> Result<(), Stop> {
        let (schema_length, document_length) = (self.schema.len(), self.document.len());
        legs.iter().for_each(|leg| put_leg(leg, &mut self.schema));
        let references = self.references;
        if let Some(part) = part {
            put_leg(part, &mut self.document);
            self.references = 0;
        }
        self.check(schema, value)?;
        self.references = references;
        self.schema.truncate(schema_length);
        self.document.truncate(document_length);
        Ok(())
    }

    /// Whether a value fits a schema at the same place of the document; the reason of a failure is dropped.
    fn fits(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool, Stop> {
        let (schema_length, document_length) = (self.schema.len(), self.document.len());
        let references = self.references;
        let checked = self.check(schema, value);
        self.references = references;
        self.schema.truncate(schema_length);
        self.document.truncate(document_length);
        match checked {
            Ok(()) => Ok(true),
            Err(Stop::Failed(_)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    fn check(&mut self, schema: View<'s>, value: View<'_>) -> Result<(), Stop> {
        // The cost of a check, besides that of the value.
        const CHECK: usize = 256;
        self.steps.take(CHECK)?;
        let Item::Object(schema) = schema.item() else { return Ok(()) };
        if let Some(Item::String(reference)) = schema.get("$ref").map(View::item) {
            return self.follow(reference, value);
        }
        if let Some(types) = schema.get("type") {
            self.require("type", is_of_type(types, &value.item()))?;
        }
        match value.item() {
            Item::Object(members) => self.object(schema, members)?,
            Item::Array(cells) => self.array(schema, cells)?,
            Item::String(text) => self.string(schema, text)?,
            Item::Int(_) | Item::UInt(_) | Item::Double(_) | Item::Decimal(_) => {
                self.number(schema, value)?
            }
            _ => {}
        }
        self.combined(schema, value)
    }

    /// Follows `$ref`, a pointer into the schema.
    fn follow(&mut self, reference: &str, value: View<'_>) -> Result<(), Stop> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(MysqlError::not_supported("references to external resources in JSON Schema").into());
        };
        self.references += 1;
        if self.references > MAX_REFERENCES {
            return Err(MysqlError::json_document_too_deep().into());
        }
        let mut found = Some(self.root);
        for leg in pointer.split('/').skip(1) {
            let leg = leg.replace("~1", "/").replace("~0", "~");
            found = match found.map(View::item) {
                Some(Item::Object(members)) => members.get(&leg),
                Some(Item::Array(cells)) => leg.parse().ok().and_then(|at| cells.get(at)),
                _ => None,
            };
        }
        // A reference that leads nowhere asks for nothing.
        let Some(schema) = found else { return Ok(()) };
        let around = std::mem::replace(&mut self.schema, reference.to_owned());
        self.check(schema, value)?;
        self.schema = around;
        Ok(())
    }

    fn object(&mut self, schema: ObjectView<'s>, members: ObjectView<'_>) -> Result<(), Stop> {
        let properties = object_of(schema, "properties");
        let patterns = object_of(schema, "patternProperties");
        for (name, value) in members.iter() {
            let mut known = false;
            if let Some(inner) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                self.inside(&["properties", name], Some(name), inner, value)?;
            }
            for (pattern, inner) in patterns.iter().flat_map(|patterns| patterns.iter()) {
                self.steps.take(COMPILATION + name.len())?;
                if regex(pattern)?.is_match(name) {
                    known = true;
                    self.inside(&["patternProperties", pattern], Some(name), inner, value)?;
                }
            }
            if known {
                continue;
            }
            match schema.get("additionalProperties") {
                Some(inner) if matches!(inner.item(), Item::Object(_)) => {
                    self.inside(&["additionalProperties"], Some(name), inner, value)?;
                }
                Some(inner) => {
                    let allowed = !matches!(inner.item(), Item::Bool(false));
                    self.require("additionalProperties", allowed)?;
                }
                None => {}
            }
        }
        if let Some(Item::Array(names)) = schema.get("required").map(View::item) {
            let is_there = |name: View<'_>| match name.item() {
                Item::String(name) => members.get(name).is_some(),
                _ => true,
            };
            self.require("required", names.iter().all(is_there))?;
        }
        let count = members.len() as u64;
        self.require("minProperties", size(schema, "minProperties").is_none_or(|least| count >= least))?;
        self.require("maxProperties", size(schema, "maxProperties").is_none_or(|most| count <= most))?;
        self.dependencies(schema, members)
    }

    fn dependencies(&mut self, schema: ObjectView<'s>, members: ObjectView<'_>) -> Result<(), Stop> {
        let Some(dependencies) = object_of(schema, "dependencies") else { return Ok(()) };
        for (_, wanted) in dependencies.iter().filter(|(name, _)| members.get(name).is_some()) {
            let holds = match wanted.item() {
                Item::Array(names) => names.iter().all(|name| match name.item() {
                    Item::String(name) => members.get(name).is_some(),
                    _ => true,
                }),
                _ => {
                    let nodes =
                        members.iter().map(|(name, value)| Ok((Key(name.to_owned()), value.to_node()?)));
                    let whole = Json::new(&Node::Object(nodes.collect::<Result<_, MysqlError>>()?))?;
                    self.fits(wanted, whole.view())?
                }
            };
            self.require("dependencies", holds)?;
        }
        Ok(())
    }

    fn array(&mut self, schema: ObjectView<'s>, cells: ArrayView<'_>) -> Result<(), Stop> {
        let items = schema.get("items");
        for (at, cell) in cells.iter().enumerate() {
            let place = at.to_string();
            let own = match items.map(View::item) {
                Some(Item::Object(_)) => items.map(|inner| (vec!["items"], inner)),
                Some(Item::Array(each)) => match (each.get(at), schema.get("additionalItems")) {
                    (Some(inner), _) => Some((vec!["items", place.as_str()], inner)),
                    (None, Some(inner)) if matches!(inner.item(), Item::Object(_)) => {
                        Some((vec!["additionalItems"], inner))
                    }
                    (None, Some(inner)) => {
                        let allowed = !matches!(inner.item(), Item::Bool(false));
                        self.require("additionalItems", allowed)?;
                        None
                    }
                    (None, None) => None,
                },
                _ => None,
            };
            if let Some((legs, inner)) = own {
                self.inside(&legs, Some(&place), inner, cell)?;
            }
        }
        let count = cells.len() as u64;
        self.require("minItems", size(schema, "minItems").is_none_or(|least| count >= least))?;
        self.require("maxItems", size(schema, "maxItems").is_none_or(|most| count <= most))?;
        if matches!(schema.get("uniqueItems").map(View::item), Some(Item::Bool(true))) {
            let mut keys: Vec<Vec<u8>> = cells.iter().map(order::key).collect();
            keys.sort_unstable();
            self.require("uniqueItems", keys.windows(2).all(|pair| pair[0] != pair[1]))?;
        }
        Ok(())
    }

    fn string(&mut self, schema: ObjectView<'s>, text: &str) -> Result<(), Stop> {
        let length = text.chars().count() as u64;
        self.require("minLength", size(schema, "minLength").is_none_or(|least| length >= least))?;
        self.require("maxLength", size(schema, "maxLength").is_none_or(|most| length <= most))?;
        match schema.get("pattern").map(View::item) {
            Some(Item::String(pattern)) => self.require("pattern", regex(pattern)?.is_match(text)),
            _ => Ok(()),
        }
    }

    fn number(&mut self, schema: ObjectView<'s>, value: View<'_>) -> Result<(), Stop> {
        let exclusive = |name| matches!(schema.get(name).map(View::item), Some(Item::Bool(true)));
        if let Some(least) = schema.get("minimum").filter(|bound| is_number(&bound.item())) {
            let order = order::compare(value, least);
            self.require("minimum", order.is_gt() || order.is_eq() && !exclusive("exclusiveMinimum"))?;
        }
        if let Some(most) = schema.get("maximum").filter(|bound| is_number(&bound.item())) {
            let order = order::compare(value, most);
            self.require("maximum", order.is_lt() || order.is_eq() && !exclusive("exclusiveMaximum"))?;
        }
        let step =
            schema.get("multipleOf").and_then(|step| number_of(&step.item())).filter(|step| *step > 0.0);
        if let Some((number, step)) = number_of(&value.item()).zip(step) {
            let quotient = number / step;
            self.require("multipleOf", (quotient - quotient.round()).abs() < 1e-9)?;
        }
        Ok(())
    }

    fn combined(&mut self, schema: ObjectView<'s>, value: View<'_>) -> Result<(), Stop> {
        if let Some(Item::Array(values)) = schema.get("enum").map(View::item) {
            self.require("enum", values.iter().any(|one| order::compare(one, value).is_eq()))?;
        }
        let schemas = |name| match schema.get(name).map(View::item) {
            Some(Item::Array(schemas)) => Some(schemas),
            _ => None,
        };
        for (keyword, enough) in [
            ("allOf", (|fit, all| fit == all) as fn(usize, usize) -> bool),
            ("anyOf", |fit, _| fit > 0),
            ("oneOf", |fit, _| fit == 1),
        ] {
            let Some(schemas) = schemas(keyword) else { continue };
            let mut fit = 0;
            for inner in schemas.iter() {
                fit += usize::from(self.fits(inner, value)?);
            }
            self.require(keyword, enough(fit, schemas.len()))?;
        }
        match schema.get("not") {
            Some(inner) => {
                let holds = !self.fits(inner, value)?;
                self.require("not", holds)
            }
            None => Ok(()),
        }
    }
}

/// Appends a leg to a pointer.
fn put_leg(leg: &str, out: &mut String) {
    out.push('/');
    out.push_str(&leg.replace('~', "~0").replace('/', "~1"));
}

fn object_of<'s>(schema: ObjectView<'s>, name: &str) -> Option<ObjectView<'s>> {
    match schema.get(name)?.item() {
        Item::Object(members) => Some(members),
        _ => None,
    }
}

fn size(schema: ObjectView<'_>, name: &str) -> Option<u64> {
    match schema.get(name)?.item() {
        Item::Int(n) => u64::try_from(n).ok(),
        Item::UInt(n) => Some(n),
        _ => None,
    }
}

/// Compiling a regular expression costs as much as examining this many bytes.
const COMPILATION: usize = 1 << 14;

fn regex(pattern: &str) -> Result<regex::Regex, MysqlError> {
    regex::RegexBuilder::new(pattern)
        .size_limit(1 << 22)
        .build()
        .map_err(|_| MysqlError::regexp_illegal_argument())
}

fn is_number(item: &Item<'_>) -> bool {
    matches!(item, Item::Int(_) | Item::UInt(_) | Item::Double(_) | Item::Decimal(_))
}

fn number_of(item: &Item<'_>) -> Option<f64> {
    Some(match item {
        Item::Int(n) => *n as f64,
        Item::UInt(n) => *n as f64,
        Item::Double(n) => *n,
        Item::Decimal(n) => n.to_f64(),
        _ => return None,
    })
}

/// Whether a value is of the type, or one of the types, that a schema names.
fn is_of_type(types: View<'_>, item: &Item<'_>) -> bool {
    let is = |name: &str| match name {
        "null" => matches!(item, Item::Null),
        "boolean" => matches!(item, Item::Bool(_)),
        "object" => matches!(item, Item::Object(_)),
        "array" => matches!(item, Item::Array(_)),
        "number" => is_number(item),
        "integer" => matches!(item, Item::Int(_) | Item::UInt(_)),
        "string" => {
            !is_number(item) && !matches!(item, Item::Null | Item::Bool(_) | Item::Object(_) | Item::Array(_))
        }
        _ => false,
    };
    match types.item() {
        Item::String(name) => is(name),
        Item::Array(names) => names.iter().any(|name| matches!(name.item(), Item::String(name) if is(name))),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::statement::CancelToken;

    /// Returns the keyword that fails, with its places in the schema and the document.
    fn check(schema: &str, document: &str) -> Option<(&'static str, String, String)> {
        let (schema, document) = (Json::parse(schema).unwrap(), Json::parse(document).unwrap());
        let never = CancelToken::new();
        let mut validator = Validator {
            root: schema.view(),
            schema: "#".into(),
            document: "#".into(),
            references: 0,
            steps: CancelTicker::new(&never, 1 << 18),
        };
        match validator.check(schema.view(), document.view()) {
            Ok(()) => None,
            Err(Stop::Failed(f)) => Some((f.keyword, f.schema_location, f.document_location)),
            Err(Stop::Error(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn each_keyword_passes_and_fails() {
        for (schema, good, bad, keyword) in [
            (r#"{"type": "integer"}"#, "1", "1.5", "type"),
            (r#"{"type": ["string", "null"]}"#, "null", "1", "type"),
            (r#"{"minimum": 1}"#, "1", "0.5", "minimum"),
            (r#"{"minimum": 1, "exclusiveMinimum": true}"#, "1.1", "1", "minimum"),
            (r#"{"maximum": 1}"#, "1.0", "2", "maximum"),
            (r#"{"maximum": 1, "exclusiveMaximum": true}"#, "0", "1", "maximum"),
            (r#"{"multipleOf": 0.1}"#, "0.3", "0.35", "multipleOf"),
            (r#"{"minLength": 2}"#, r#""éé""#, r#""é""#, "minLength"),
            (r#"{"maxLength": 2}"#, r#""éé""#, r#""abc""#, "maxLength"),
            (r#"{"pattern": "^a+$"}"#, r#""aa""#, r#""ab""#, "pattern"),
            (r#"{"minItems": 1}"#, "[1]", "[]", "minItems"),
            (r#"{"maxItems": 1}"#, "[1]", "[1, 2]", "maxItems"),
            (r#"{"uniqueItems": true}"#, "[1, 2]", "[1, 1.0]", "uniqueItems"),
            (r#"{"items": [{}], "additionalItems": false}"#, "[1]", "[1, 2]", "additionalItems"),
            (r#"{"required": ["a"]}"#, r#"{"a": 1}"#, r#"{"b": 1}"#, "required"),
            (r#"{"minProperties": 1}"#, r#"{"a": 1}"#, "{}", "minProperties"),
            (r#"{"maxProperties": 0}"#, "{}", r#"{"a": 1}"#, "maxProperties"),
            (
                r#"{"properties": {"a": {}}, "additionalProperties": false}"#,
                r#"{"a": 1}"#,
                r#"{"b": 1}"#,
                "additionalProperties",
            ),
            (r#"{"dependencies": {"a": ["b"]}}"#, r#"{"a": 1, "b": 1}"#, r#"{"a": 1}"#, "dependencies"),
            (r#"{"dependencies": {"a": {"required": ["c"]}}}"#, r#"{"b": 1}"#, r#"{"a": 1}"#, "dependencies"),
            (r#"{"enum": [1, "a", null]}"#, r#""a""#, "2", "enum"),
            (r#"{"allOf": [{"type": "number"}, {"minimum": 3}]}"#, "3", "2", "allOf"),
            (r#"{"anyOf": [{"type": "string"}, {"minimum": 3}]}"#, "3", "2", "anyOf"),
            (r#"{"oneOf": [{"type": "integer"}, {"minimum": 3}]}"#, "2", "4", "oneOf"),
            (r#"{"not": {"type": "null"}}"#, "1", "null", "not"),
        ] {
            assert_eq!(check(schema, good), None, "{schema} {good}");
            let failed = Some((keyword, "#".to_owned(), "#".to_owned()));
            assert_eq!(check(schema, bad), failed, "{schema} {bad}");
        }
    }

    #[test]
    fn failures_tell_where() {
        let schema = r##"{"definitions": {"n": {"type": "number"}}, "properties": {"a/b": {"items": {"$ref": "#/definitions/n"}}, "c": {"minimum": 3}},
            "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": {"type": "boolean"}}"##;
        let place = |document: &str| {
            check(schema, document).map(|(keyword, schema, place)| (keyword, schema + " " + &place))
        };
        assert_eq!(place(r#"{"a/b": [1, 2], "c": 3, "x1": "", "z": true}"#), None);
        assert_eq!(place(r#"{"a/b": [1, "2"]}"#), Some(("type", "#/definitions/n #/a~1b/1".into())));
        assert_eq!(place(r#"{"c": 2}"#), Some(("minimum", "#/properties/c #/c".into())));
        assert_eq!(place(r#"{"x1": 1}"#), Some(("type", "#/patternProperties/^x #/x1".into())));
        assert_eq!(place(r#"{"z": 1}"#), Some(("type", "#/additionalProperties #/z".into())));
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = Json::parse(r##"{"$ref": "#"}"##).unwrap();
        let never = CancelToken::new();
        let mut validator = Validator {
            root: schema.view(),
            schema: "#".into(),
            document: "#".into(),
            references: 0,
            steps: CancelTicker::new(&never, 1 << 18),
        };
        let ended = validator.check(schema.view(), schema.view());
        assert!(matches!(ended, Err(Stop::Error(error)) if error.code == 3157));
        let list = r##"{"properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}}"##;
        assert_eq!(check(list, r#"{"v": 1, "next": {"v": 2, "next": {}}}"#), None);
        let failed = check(list, r#"{"v": 1, "next": {"v": "2"}}"#);
        assert_eq!(failed.map(|(_, _, place)| place).as_deref(), Some("#/next/v"));
    }
}
