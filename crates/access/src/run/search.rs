//! Rows that a search for words finds: the search runs once in an execution, and its rows are taken by their scores.

use crate::error::Result;
use crate::path::Searched;
use crate::run::context::ScanContext;
use crate::run::locators::Locators;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array};
use leafline_expr::{EvalContext, FoundRows, Selection, evaluate_row, truth};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The rows that a search has found.
pub(crate) struct SearchedRows {
    /// All rows that the search has found, with their scores.
    pub rows: Arc<FoundRows>,
    /// The locators of those whose score meets the condition, in order.
    pub locators: Locators,
    /// Their scores.
    scores: Vec<f32>,
}

/// The part of the rows of a table in the order of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranked {
    /// Rows whose scores are above 0.
    Above,
    /// Rows whose scores are below 0, as those of some rows that a query has `~` for.
    Below,
    /// All that are found.
    All,
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
        let (mut locators, mut scores) = (Locators::default(), Vec::new());
        for (locator, score) in rows.iter() {
            if self.accepts(score, cx.eval)? {
                locators.push(locator);
                scores.push(score);
            }
        }
        // Other rows may take the place of those that were rejected.
        let lacks = most.is_some_and(|most| locators.len() < most) && locators.len() < rows.len();
        if lacks { self.collect(None, cx) } else { Ok(Some(SearchedRows { rows, locators, scores })) }
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
    pub fn by_score(&self, part: Ranked) -> Locators {
        let is_part = |score: f32| match part {
            Ranked::Above => score > 0.0,
            Ranked::Below => score < 0.0,
            Ranked::All => true,
        };
        let mut order: Vec<(f32, usize)> = self.scores.iter().copied().zip(0..).collect();
        order.retain(|(score, _)| is_part(*score));
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

/// The rows whose score is 0.
pub(crate) fn is_zero(scores: &ArrayRef) -> Selection {
    let scores = scores.as_primitive_opt::<Float64Type>();
    let rows = scores.map_or(0, |scores| scores.len());
    let is_zero = |row: usize| Some(scores.is_some_and(|scores| scores.value(row) == 0.0));
    Selection::from_bits((0..rows).map(is_zero).collect::<BooleanArray>().values().clone())
}

/// The scores of the rows whose locators a column has.
pub(crate) fn scores_of(rows: &FoundRows, locators: &ArrayRef) -> Result<ArrayRef> {
    let locators = locators.as_binary_opt::<i32>();
    let locators = locators.ok_or_else(|| MysqlError::internal("rows to score without locators"))?;
    Ok(score_column(rows, (0..locators.len()).map(|row| locators.value(row))))
}
