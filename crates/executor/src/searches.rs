//! Runs searches for words: each once in an execution, whoever asks for its counts, its rows or their scores.
//!
//! A FULLTEXT index answers a search. Where it cannot, for a snapshot that is older than the index
//! or for a query that its entries say too little about, the texts of the whole table are read.

use super::known_searches::SearchKey;
use super::subplans::Runner;
use leafline_access::{Batches, Budget, Counters, Demand, PathRequest, PathScan, ScanContext};
use leafline_expr::{EvalContext, FoundRows, Scorer, ScorerKey, evaluate_scalar, text_of};
use leafline_planner::plan::{SearchPlan, locator_type};
use leafline_types::{MysqlError, Value, value_at};
use std::sync::Arc;

impl Runner<'_> {
    /// Returns the rows that a search finds, `most` of them with the highest scores.
    pub(super) fn found(
        &self,
        plan: &SearchPlan,
        number: usize,
        most: Option<usize>,
        cx: &mut EvalContext<'_>,
    ) -> Result<Arc<FoundRows>, MysqlError> {
        let text = evaluate_scalar(&plan.query, cx)?;
        if text.is_null() {
            return Ok(Arc::default());
        }
        let expansion =
            plan.expansion.as_ref().map(|expansion| evaluate_scalar(expansion, cx)).transpose()?;
        let expansion = match expansion {
            Some(Value::Bytes(words)) => words.to_vec(),
            _ => Vec::new(),
        };
        let text = text_of(&text).into_owned();
        let key = SearchKey { index: plan.index.id, is_boolean: plan.search.is_boolean(), text, expansion };
        if let Some(known) = self.subplans.searches().known(&key, most) {
            return Ok(known);
        }
        let (rows, most) = match self.by_index(plan, &key, most, cx)? {
            Some(rows) => (rows, most),
            None => (self.by_texts(plan, &key, number, cx)?, None),
        };
        self.memory.take(rows.memory())?;
        self.subplans.add_remembered(rows.memory());
        let rows = Arc::new(rows);
        self.subplans.searches().add(key, most, &rows);
        Ok(rows)
    }

    /// Searches the index; `None` if it cannot answer.
    fn by_index(
        &self,
        plan: &SearchPlan,
        key: &SearchKey,
        most: Option<usize>,
        cx: &EvalContext<'_>,
    ) -> Result<Option<FoundRows>, MysqlError> {
        let SearchPlan { table, index, search, .. } = plan;
        let query = search.query(&key.text, &key.expansion)?;
        if self.view.core().is_quarantined(index) {
            return Ok(None);
        }
        // The answer depends on all rows, also on those that have none of the words.
        self.view.register(table, table.clustered(), &[(&[], None)])?;
        let Some(mut found) = self.view.search(table, index, &query, most, cx.cancel)? else {
            return Ok(None);
        };
        if most.is_some() {
            found.rows.sort_by(|a, b| a.locator.cmp(&b.locator));
        }
        let mut rows = FoundRows::new(found.statistics.encode());
        found.rows.iter().for_each(|row| rows.push(&row.locator, row.score));
        Ok(Some(rows))
    }

    /// Searches the texts of the table.
    fn by_texts(
        &self,
        plan: &SearchPlan,
        key: &SearchKey,
        number: usize,
        cx: &mut EvalContext<'_>,
    ) -> Result<FoundRows, MysqlError> {
        let SearchPlan { table, index, search, .. } = plan;
        let statistics = self.counted(number, cx)?;
        let scorer = Scorer::new(&ScorerKey {
            search: (**search).clone(),
            text: key.text.clone(),
            statistics: statistics.clone(),
            expansion: key.expansion.clone(),
        })?;
        let columns: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
        let request = PathRequest {
            table,
            conjuncts: &[],
            wanted: &columns,
            condition_pushdown: false,
            unpushed: &[],
            batches: Batches::ALL,
            deliver_locators: true,
        };
        let types: Vec<_> = columns.iter().filter_map(|column| table.columns.get(*column)).collect();
        let (mut counters, mut budget) = (Counters::default(), Budget::default());
        let mut scan_cx =
            ScanContext { eval: cx, view: self.view, counters: &mut counters, budget: &mut budget };
        let mut scan = PathScan::new(&Arc::new(request.build_scan()));
        scan.start(Demand::All, &mut scan_cx)?;
        let mut rows = FoundRows::new(statistics);
        while let Some(found) = scan.next(&mut scan_cx)? {
            scan_cx.eval.cancel.check()?;
            for row in 0..found.batch.rows {
                let columns = found.batch.columns.iter().zip(&types);
                let values: Vec<Value> =
                    columns.map(|(array, column)| value_at(array, row, &column.ty)).collect();
                let score = scorer.score(&values.iter().map(text_of).collect::<Vec<_>>());
                let locator =
                    found.batch.columns.last().map(|locators| value_at(locators, row, &locator_type().sql));
                if let (true, Some(Value::Bytes(locator))) = (score != 0.0, locator) {
                    rows.push(&locator, score);
                }
            }
        }
        self.count(counters);
        Ok(rows)
    }
}
