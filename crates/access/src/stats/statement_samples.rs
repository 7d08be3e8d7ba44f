//! Which sampled rows pass the conditions of the statement that is planned: evaluated once, however many paths ask.
//!
//! The answers hold for one statement, as conditions may depend on its parameters, its time and its settings.

use super::order_spread::{first_rows, share_in_order, span_in_order};
use super::table::{Hits, TableSample};
use crate::error::Result;
use leafline_expr::{EvalContext, Expr};
use leafline_table::{TableDef, TableId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Table, order, number of sampled rows, column.
type SpanKey = (TableId, (usize, bool), usize, usize);

/// The sampled rows of the tables of a statement, and which of them pass its conditions.
#[derive(Debug, Default)]
pub struct StatementSamples {
    tables: RefCell<HashMap<TableId, OfTable>>,
    /// The results of [`span_in_order`].
    spans: RefCell<HashMap<SpanKey, f64>>,
    /// How many access paths were priced: what planning takes grows with that.
    priced: Cell<usize>,
}

#[derive(Debug)]
struct OfTable {
    sample: Arc<TableSample>,
    /// The rows that pass conditions; `None` where these cannot be evaluated.
    passing: HashMap<Vec<Expr>, Option<Rc<[usize]>>>,
}

impl StatementSamples {
    /// How many access paths were priced for the statement.
    pub fn paths_priced(&self) -> usize {
        self.priced.get()
    }

    pub(crate) fn note_price(&self) {
        self.priced.set(self.priced.get() + 1);
    }

    /// The rows of a table that the statement is planned by, taken when it first asks.
    pub(crate) fn sample(
        &self,
        table: &TableDef,
        take: impl FnOnce() -> Result<Arc<TableSample>>,
    ) -> Result<Arc<TableSample>> {
        if let Some(known) = self.tables.borrow().get(&table.id) {
            return Ok(known.sample.clone());
        }
        let sample = take()?;
        let of_table = OfTable { sample: sample.clone(), passing: HashMap::new() };
        self.tables.borrow_mut().insert(table.id, of_table);
        Ok(sample)
    }

    /// The sampled rows that pass conditions over the columns of the table. `None` if they cannot be evaluated, or no sample was taken.
    fn passing(&self, table: &TableDef, conditions: &[Expr], eval: &EvalContext<'_>) -> Option<Rc<[usize]>> {
        self.tables.borrow_mut().get_mut(&table.id)?.passing(conditions, eval)
    }

    /// The share of the rows, in an order, that holds the share `wanted` of those for which the conditions hold.
    pub(crate) fn share_in_order(
        &self,
        sample: &TableSample,
        table: &TableDef,
        order: (usize, bool),
        (conditions, wanted): (&[Expr], f64),
        eval: &EvalContext<'_>,
    ) -> Result<f64> {
        let passing = |conditions: &[Expr]| self.passing(table, conditions, eval);
        share_in_order(sample, table, order, conditions, wanted, &passing)
    }

    /// Returns the result of [`span_in_order`] for about as many rows.
    pub(crate) fn span_in_order(
        &self,
        sample: &TableSample,
        table: &TableDef,
        order: (usize, bool),
        share: f64,
        column: usize,
    ) -> Result<f64> {
        let key = (table.id, order, first_rows(sample.counts().0, share), column);
        if let Some(known) = self.spans.borrow().get(&key) {
            return Ok(known.max(share));
        }
        let found = span_in_order(sample, table, order, share, column)?;
        self.spans.borrow_mut().insert(key, found);
        Ok(found)
    }

    /// Of the sampled rows that pass the conditions that are `given`, how many pass those that are `asked` about; both are over the columns of
    /// the table. `None` if they cannot be evaluated, or no sample was taken.
    pub(super) fn hits(
        &self,
        table: &TableDef,
        given: &[Expr],
        asked: &[Expr],
        eval: &EvalContext<'_>,
    ) -> Option<Hits> {
        let mut tables = self.tables.borrow_mut();
        let of_table = tables.get_mut(&table.id)?;
        let passed = of_table.passing(asked, eval)?;
        let given = if given.is_empty() { None } else { Some(of_table.passing(given, eval)?) };
        Some(of_table.sample.hits(given.as_deref(), &passed))
    }
}

impl OfTable {
    fn passing(&mut self, conditions: &[Expr], eval: &EvalContext<'_>) -> Option<Rc<[usize]>> {
        if let Some(known) = self.passing.get(conditions) {
            return known.clone();
        }
        let found: Option<Rc<[usize]>> = self.sample.passing(conditions, eval).map(Rc::from);
        self.passing.insert(conditions.to_vec(), found.clone());
        found
    }
}
