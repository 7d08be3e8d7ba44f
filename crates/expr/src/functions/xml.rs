//! `EXTRACTVALUE(document, xpath)` and `UPDATEXML(document, xpath, replacement)`.
//!
//! An invalid document gives NULL and warning 1525, an invalid expression error 1105.

use std::sync::Arc;

use super::args::{Made, bigint, string};
use super::{Call, Function, Volatility};
use crate::xml::{Bounds, Document, Evaluator, Failure, XPath};
use crate::{EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::output::Stop;
use leafline_types::value::{ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("EXTRACTVALUE", (2, 2), text_type, extract_value),
    Function::new("UPDATEXML", (3, 3), text_type, update_xml),
    // The values of these depend on the user variables that the expression names.
    Function::new("EXTRACTVALUE_BY_VARIABLES", (2, 2), text_type, extract_value)
        .volatility(Volatility::Volatile)
        .special(),
    Function::new("UPDATEXML_BY_VARIABLES", (3, 3), text_type, update_xml)
        .volatility(Volatility::Volatile)
        .special(),
];

/// Returns the function to call for `name` with these arguments: the one for expressions that may name user
/// variables, or `name` itself.
pub(crate) fn by_variables(name: &str, args: &[Expr]) -> Option<&'static str> {
    let by_variables = match name {
        "EXTRACTVALUE" if args.len() == 2 => "EXTRACTVALUE_BY_VARIABLES",
        "UPDATEXML" if args.len() == 3 => "UPDATEXML_BY_VARIABLES",
        _ => return None,
    };
    let names_none = args[1].as_literal().is_some_and(|v| v.as_str().is_none_or(|path| !path.contains('$')));
    (!names_none).then_some(by_variables)
}

/// The parsed expressions of a statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct XPathCache(Vec<(Box<[u8]>, Arc<XPath>)>);

/// The number of expressions that are kept; a statement seldom has more that stay the same from row to row.
const KEPT: usize = 8;

impl XPathCache {
    fn get(&mut self, text: &[u8]) -> Result<Arc<XPath>, MysqlError> {
        if let Some((_, xpath)) = self.0.iter().find(|(known, _)| **known == *text) {
            return Ok(xpath.clone());
        }
        let xpath = Arc::new(XPath::parse(&String::from_utf8_lossy(text))?);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((text.into(), xpath.clone()));
        Ok(xpath)
    }
}

fn text_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    bigint(args)?;
    if let Some(path) = args[1].as_literal().and_then(Value::as_str) {
        XPath::parse(path)?;
    }
    let texts: Vec<&Expr> = args.iter().collect();
    string("extractvalue", &texts, u32::MAX.into(), true)
}

/// Parses the document and the expression of a call, and calls a function with both; NULL if either is NULL, or the
/// document is invalid.
fn with_document<'c>(
    cx: &mut EvalContext<'c>,
    call: Call<'_>,
    values: &[Value],
    work: impl FnOnce(&mut Evaluator<'_, '_, '_, 'c>, &XPath) -> Result<Value, MysqlError>,
) -> Result<Value, MysqlError> {
    let (Some(text), Some(path)) = (call.text(values, 0), call.text(values, 1)) else {
        return Ok(Value::Null);
    };
    let xpath = cx.state.xpaths.get(&path)?;
    let mut bounds = Bounds::new(cx.steps(), cx.memory);
    match Document::parse(&text, &mut bounds) {
        Ok(document) => {
            let (collation, row) = (call.ty.collation, call.row);
            let mut evaluator = Evaluator { document: &document, bounds: &mut bounds, cx, row, collation };
            work(&mut evaluator, &xpath)
        }
        Err(Failure::Malformed(reason)) => {
            cx.warnings.warn(MysqlError::wrong_value("XML", reason));
            Ok(Value::Null)
        }
        Err(Failure::Error(error)) => Err(error),
    }
}

fn extract_value(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    with_document(cx, call, values, |evaluator, xpath| {
        if let Some(nodes) = evaluator.found(xpath)? {
            let text = evaluator.text_of(&nodes)?;
            return call.string(text);
        }
        let value = evaluator.computed(xpath)?;
        let text = value.as_literal().and_then(|v| leafline_types::convert::to_text(v, &value.ty.sql));
        text.map_or(Ok(Value::Null), |text| call.string(text.as_bytes()))
    })
}

fn update_xml(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(text), Some(new)) = (call.text(values, 0), call.text(values, 2)) else {
        return Ok(Value::Null);
    };
    let mut place = None;
    let found = with_document(cx, call, values, |evaluator, xpath| {
        let Some(nodes) = evaluator.found(xpath)? else { return Ok(Value::Null) };
        if let [node] = nodes[..] {
            place = Some(evaluator.document.place(node));
        }
        Ok(Value::Int(nodes.len() as i64))
    })?;
    match (found, place) {
        (Value::Null, _) => Ok(Value::Null),
        // Only a single node is replaced.
        (_, None) => call.string(text),
        (_, Some(place)) => call.made(cx, values, |out| {
            let (before, after) = (&text[..place.start], &text[place.end..]);
            for part in [before, &new, after] {
                out.push(part)?;
            }
            Ok::<_, Stop>(Made::String)
        }),
    }
}
