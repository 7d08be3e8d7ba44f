//! Rows that a search for words finds: the search runs once in an execution, and its rows are taken by their scores.

use crate::error::Result;
use crate::path::Searched;
use crate::run::context::ScanContext;
use crate::run::locators::Locators;
use arrow_array::{Array, ArrayRef, Float64Array};
use leafline_expr::{EvalContext, FoundRows, evaluate_row, truth};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The rows that a search has found.
pub(crate) struct SearchedRows {
    /// All rows that the search has found, with their scores.
    pub rows: Arc<FoundRows>,
    /// The locators of those whose score meets the condition, in order.
    pub locators: Locators,
}

impl Searched {
    /// The rows, or `most` with the highest scores; `None` if rows that are not found meet the condition, too.
    pub(crate) fn collect(
        &self,
        most: Option<usize>,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<SearchedRows>> {
        if self.accepts(0.0, cx.eval)? {
            return Ok(None);
        }
        let rows = cx.eval.search(self.number, most)?;
        let mut locators = Locators::default();
        for (locator, score) in rows.iter() {
            if self.accepts(score, cx.eval)? {
                locators.push(locator);
            }
        }
        // Other rows may take the place of those that were rejected.
        let lacks = most.is_some_and(|most| locators.len() < most) && locators.len() < rows.len();
        if lacks { self.collect(None, cx) } else { Ok(Some(SearchedRows { rows, locators })) }
    }

    fn accepts(&self, score: f32, eval: &mut EvalContext<'_>) -> Result<bool> {
        if self.is_certain() {
            return Ok(score != 0.0);
        }
        let value = evaluate_row(&self.condition, &[Value::Double(score.into())], eval)?;
        Ok(truth(&value, eval)? == Some(true))
    }
}

impl SearchedRows {
    /// The locators in the order of descending scores, those with equal ones in their own order.
    pub fn by_score(&self) -> Locators {
        let scored = |at: usize| (self.rows.score_of(self.locators.get(at)), at);
        let mut order: Vec<(f32, usize)> = (0..self.locators.len()).map(scored).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut sorted = Locators::default();
        order.into_iter().for_each(|(_, at)| sorted.push(self.locators.get(at)));
        sorted
    }
}

/// The scores of some rows as a column.
pub(crate) fn score_column<'l>(rows: &FoundRows, locators: impl Iterator<Item = &'l [u8]>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(locators.map(|locator| rows.score_of(locator).into())))
}

/// The scores of the rows whose locators a column has.
pub(crate) fn scores_of(rows: &FoundRows, locators: &ArrayRef) -> Result<ArrayRef> {
    use arrow_array::cast::AsArray;
    let locators = locators.as_binary_opt::<i32>();
    let locators = locators.ok_or_else(|| MysqlError::internal("rows to score without locators"))?;
    Ok(score_column(rows, (0..locators.len()).map(|row| locators.value(row))))
}
