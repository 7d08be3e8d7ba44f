//! Scores rows in a search for words.

use super::super::context::EvalContext;
use super::super::ir::MatchCall;
use super::super::search::{Scorer, ScorerKey, bytes_of, text_of};
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
    Ok(Value::Double(scorer.score(&texts).into()))
}
