//! Scores rows in a search for words.

use super::super::context::EvalContext;
use super::super::datum::Datum;
use super::super::ir::{Expr, MatchCall};
use super::super::search::{Scorer, ScorerKey, bytes_of, text_of};
use leafline_types::column::ColumnBuilder;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// Returns the score of a row, given the values of the call's operands.
pub(super) fn score(
    call: &MatchCall,
    values: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    cx.cancel.check()?;
    let (columns, rest) = values.split_at(call.columns.len().min(values.len()));
    let [query, statistics, expansion @ ..] = rest else {
        return Err(MysqlError::internal("a search without its operands"));
    };
    if query.is_null() || columns.iter().all(Value::is_null) {
        return Ok(Value::Double(0.0));
    }
    let text = text_of(query);
    let (statistics, expansion) = (bytes_of(statistics), expansion.first().map_or(&[][..], bytes_of));
    let is_known = |known: &ScorerKey| {
        known.text == *text
            && known.statistics == statistics
            && known.expansion == expansion
            && known.search == *call.search
    };
    let make = || {
        let key = ScorerKey {
            search: (*call.search).clone(),
            text: text.to_string(),
            statistics: statistics.to_vec(),
            expansion: expansion.to_vec(),
        };
        let scorer = Scorer::new(&key)?;
        Ok((key, scorer))
    };
    let scorer = cx.state.searches.get(is_known, make)?;
    let texts: Vec<_> = columns.iter().map(text_of).collect();
    Ok(Value::Double(scorer.score(&texts)))
}

/// Returns the scores of the rows of a batch, given the values of the call's operands.
pub(super) fn scores(
    e: &Expr,
    call: &MatchCall,
    data: &[Datum],
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, rows);
    let mut values = vec![Value::Null; data.len()];
    for row in 0..rows {
        for ((value, datum), operand) in values.iter_mut().zip(data).zip(call.operands()) {
            *value = datum.value(row, &operand.ty.sql);
        }
        out.push_value(&score(call, &values, cx)?)?;
    }
    Ok(Datum::Array(out.finish()))
}
