//! The share of a table's rows that conditions let pass, each by itself.
//!
//! A condition on one column that says which values it takes is looked up in the column's histogram; of any other, histograms or a rule
//! of thumb say what they make of its parts. Either way it is evaluated on sampled rows, too, and counts as far as these do not
//! contradict it: a histogram spreads the rows of a bucket evenly over its values, which rows need not be. Of a column that is equal
//! to something unknown, each value is as likely as it is frequent on average.

use super::guess::guess_selectivity;
use super::sample::quietly;
use super::statement_samples::StatementSamples;
use super::statistics::Statistics;
use super::table::{Hits, TableSample, part_of};
use crate::constraint::{Constraint, Implied, IndexKeyPart};
use crate::error::Result;
use leafline_expr::{CompareOp, EvalContext, Expr, ExprKind, evaluate_scalar};
use leafline_table::{Core, TableDef};
use leafline_types::Value;
use std::sync::Arc;

/// A table whose conditions are asked about. Their columns are those of the table by ordinal; those beyond belong to others.
pub struct Selectivity<'a> {
    engine: &'a Core,
    statistics: &'a Statistics,
    table: &'a TableDef,
    /// Without it there are only rules of thumb.
    looks: bool,
    samples: &'a StatementSamples,
}

/// A condition on one column, as a histogram can answer it.
enum Said {
    /// The share of the rows that pass.
    Share(f64),
    /// No more than that.
    AtMost(f64),
    /// Nothing that a histogram could tell.
    Nothing,
}

impl<'a> Selectivity<'a> {
    /// Of conditions on a table. With `looks` its rows are looked at, if need be.
    pub fn new(
        engine: &'a Core,
        (statistics, samples): (&'a Statistics, &'a StatementSamples),
        table: &'a TableDef,
        looks: bool,
    ) -> Self {
        Selectivity { engine, statistics, samples, table, looks }
    }

    fn sample(&self) -> Result<Arc<TableSample>> {
        self.samples.sample(self.table, || self.statistics.rows(self.engine, self.table))
    }

    /// Of the sampled rows that pass the conditions that are `given`, how many pass those that are `asked` about. `None` if nothing is to be
    /// looked at, or they cannot be evaluated.
    pub(crate) fn hits(
        &self,
        given: &[Expr],
        asked: &[Expr],
        eval: &EvalContext<'_>,
    ) -> Result<Option<Hits>> {
        match self.looks {
            true => {
                self.sample()?;
                Ok(self.samples.hits(self.table, given, asked, eval))
            }
            false => Ok(None),
        }
    }

    /// The share of the rows that a condition that lets pass the `share` of all lets pass of those that pass the conditions that are
    /// `given`. Where one of these says of a column what it is equal to, and that determines what the condition asks, all pass: who
    /// asks for a city and its country has the right one in mind.
    pub(crate) fn beside(&self, given: &[Expr], condition: &Expr, share: f64) -> Result<f64> {
        let (Some(asked), true) = (self.equal_column(condition), self.looks) else { return Ok(share) };
        let mut most: f64 = 0.0;
        for known in given.iter().filter_map(|known| self.equal_column(known)).filter(|known| *known != asked)
        {
            most = most.max(self.sample()?.dependency(self.table, known, asked)?);
        }
        Ok(most + (1.0 - most) * share)
    }

    fn equal_column(&self, condition: &Expr) -> Option<usize> {
        self.compared_column(condition).filter(|(op, _)| *op == CompareOp::Eq).map(|(_, column)| column)
    }

    /// The column that a condition says is equal, or not, to something in which there is no column of the table.
    fn compared_column(&self, condition: &Expr) -> Option<(CompareOp, usize)> {
        let ExprKind::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), left, right, .. } = &condition.kind
        else {
            return None;
        };
        let width = self.table.columns.len();
        let of_others = |side: &Expr| side.columns().iter().all(|column| *column >= width);
        let sides = [(left, right), (right, left)].into_iter();
        let column = sides
            .filter(|(_, other)| of_others(other))
            .find_map(|(side, _)| side.as_column().filter(|column| *column < width))?;
        Some((*op, column))
    }

    /// The share of the rows that all of the conditions let pass, taken to be independent.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn of_all<'e>(
        &self,
        conditions: impl IntoIterator<Item = &'e Expr>,
        eval: &EvalContext<'_>,
    ) -> Result<f64> {
        let mut share = 1.0;
        for condition in conditions {
            share *= self.of(condition, eval)?;
        }
        Ok(share)
    }

    /// The share of the rows that a condition lets pass.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn of(&self, condition: &Expr, eval: &EvalContext<'_>) -> Result<f64> {
        if !self.looks {
            return Ok(guess_selectivity(condition));
        }
        let width = self.table.columns.len();
        let columns = condition.columns();
        let is_own = columns.iter().all(|column| *column < width);
        if !is_own || condition.is_volatile() || !condition.is_constant_for_planning() {
            return self.of_unknown(condition, eval);
        }
        let said = match columns.len() {
            1 => self.said(condition, columns.iter().copied().min().unwrap_or(0), eval)?,
            _ => Said::Nothing,
        };
        let share = match said {
            Said::Share(share) => share,
            Said::AtMost(most) => self.of_parts(condition, eval)?.min(most),
            Said::Nothing => self.of_parts(condition, eval)?,
        };
        let hits = self.hits(&[], std::slice::from_ref(condition), eval)?;
        Ok(hits.map_or(share, |hits| hits.bound(share)))
    }

    /// A condition by what it is put together of.
    fn of_parts(&self, condition: &Expr, eval: &EvalContext<'_>) -> Result<f64> {
        Ok(match &condition.kind {
            ExprKind::And(args) => self.of_all(args, eval)?,
            ExprKind::Or(args) => {
                let mut none = 1.0;
                for arg in args {
                    none *= 1.0 - self.of(arg, eval)?;
                }
                1.0 - none
            }
            ExprKind::Not(arg) => 1.0 - self.of(arg, eval)?,
            _ => guess_selectivity(condition),
        })
    }

    /// A condition that cannot be evaluated yet.
    fn of_unknown(&self, condition: &Expr, eval: &EvalContext<'_>) -> Result<f64> {
        let Some((op, column)) = self.compared_column(condition) else {
            return self.of_parts(condition, eval);
        };
        let distinct = self.statistics.distinct_values(self.engine, self.table, column)?;
        let histogram = self.statistics.histogram(self.engine, self.table, column)?;
        let not_null = 1.0 - histogram.map_or(0.0, |known| known.nulls());
        let equal = not_null / distinct.max(1.0);
        Ok(if op == CompareOp::Eq { equal } else { not_null - equal })
    }

    /// The share of rows that a condition on a column lets pass, by the column's histogram.
    fn said(&self, condition: &Expr, column: usize, eval: &EvalContext<'_>) -> Result<Said> {
        let Some(definition) = self.table.columns.get(column) else { return Ok(Said::Nothing) };
        let part = [IndexKeyPart { column, key: part_of(definition) }];
        let built = Constraint::build(&part, std::slice::from_ref(condition), &Some);
        if built.constraint.is_unbounded() {
            return Ok(Said::Nothing);
        }
        let values = quietly(eval, |quiet| {
            let values = built.constraint.values().iter();
            values.map(|value| evaluate_scalar(value, quiet)).collect::<std::result::Result<Vec<Value>, _>>()
        });
        let Ok(values) = values else { return Ok(Said::Nothing) };
        let bounds = built.constraint.instantiate(&values);
        let Some(histogram) = self.statistics.histogram(self.engine, self.table, column)? else {
            return Ok(Said::Nothing);
        };
        let share = histogram.share_of(&bounds.ranges);
        let is_exact = bounds.exact && built.implied.first() == Some(&Implied::ByRanges);
        Ok(if is_exact { Said::Share(share) } else { Said::AtMost(share) })
    }
}
