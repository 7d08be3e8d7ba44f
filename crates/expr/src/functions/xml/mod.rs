//! `EXTRACTVALUE(document, xpath)` and `UPDATEXML(document, xpath, replacement)`.
//!
//! An invalid document gives NULL and warning 1525, an invalid expression error 1105.

mod evaluate;

use super::args::{Made, bigint, string};
use crate::function::{Call, Function, Volatility};
use crate::xml::{Bounds, Document, Failure, XPath};
use crate::{EvalContext, Expr};
use evaluate::Evaluator;
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
    let parse = || Ok((Box::from(&*path), XPath::parse(&String::from_utf8_lossy(&path))?));
    let xpath = cx.state.xpaths.get(|known| **known == *path, parse)?;
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
