//! Delivers the rows of JSON_TABLE. The document is read whole; its rows are made part by part, as they are asked for.

use super::{BATCH_ROWS, BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::{BATCH_GROWTH, FIRST_JOINED_ROWS};
use leafline_expr::evaluate_scalar;
use leafline_planner::bound;
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, ColumnBuilder, ExprType, Json, MysqlError, Value};
use std::ops::Range;
use std::sync::Arc;

pub(super) struct JsonTable {
    table: Arc<bound::JsonTable>,
    types: Arc<[ExprType]>,
    /// The document and the places of its remaining parts; none before it is read.
    parts: Option<Parts>,
    /// The number of the last part whose rows were made.
    ordinal: u64,
    goal: usize,
}

#[derive(Default)]
struct Parts {
    document: Option<Json>,
    places: std::vec::IntoIter<Range<usize>>,
}

impl JsonTable {
    pub fn new(table: Arc<bound::JsonTable>, types: Arc<[ExprType]>) -> JsonTable {
        JsonTable { table, types, parts: None, ordinal: 0, goal: FIRST_JOINED_ROWS }
    }
}

impl Build for plan::JsonTable {
    fn build(&self, node: &Node, _builder: &Builder<'_>) -> BoxedOperator {
        Box::new(JsonTable::new(self.table.clone(), node.types.clone()))
    }
}

impl Operator for JsonTable {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        cx.eval.cancel.check()?;
        let level = &self.table.level;
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => {
                let document = evaluate_scalar(&self.table.document, &mut cx.eval)?;
                let (document, places) = level.parts(&document, &mut cx.eval)?.unzip();
                self.parts.insert(Parts { document, places: places.unwrap_or_default().into_iter() })
            }
        };
        let mut builders: Vec<ColumnBuilder> =
            self.types.iter().map(|ty| ColumnBuilder::with_capacity(&ty.sql, self.goal)).collect();
        let mut row = vec![Value::Null; self.types.len()];
        let mut rows = 0;
        while rows < self.goal
            && let Some((document, place)) = parts.document.as_ref().zip(parts.places.next())
        {
            self.ordinal += 1;
            level.rows((self.ordinal, document.at_place(place)), &mut row, &mut cx.eval, &mut |row| {
                rows += 1;
                let mut values = row.iter().zip(&mut builders);
                Ok(values.try_for_each(|(value, builder)| builder.push_value(value))?)
            })?;
        }
        self.goal = (self.goal * BATCH_GROWTH).min(BATCH_ROWS);
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        Ok((rows > 0).then_some(Batch { columns, rows }))
    }

    fn reset(&mut self) -> bool {
        (self.parts, self.ordinal) = (None, 0);
        true
    }
}
