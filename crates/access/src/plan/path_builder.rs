//! From a table, an index and conditions to an access path.
//!
//! Conditions come with the table's columns by ordinal and outer columns behind them: `Column(i)` is column `i` of the
//! table for `i` below its number of columns, and outer column `i - columns` beyond. In the path they are
//! renumbered as [`AccessPath`] says, outer columns keeping their number.

use crate::constraint::{Built, Constraint, Implied, IndexKeyPart};
use crate::error::Result;
use crate::path::pruning::outer_column;
use crate::path::{AccessPath, Condition, IndexWalk, Pruning, ScanOrder, Source};
use crate::plan::candidate::position_in;
use crate::plan::permission::Permission;
use leafline_expr::{EvalContext, Expr};
use leafline_table::{IndexDef, TableDef};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request for a path: table, conjuncts, columns.
#[derive(Clone, Debug)]
pub struct PathRequest<'a> {
    /// The table.
    pub table: &'a Arc<TableDef>,
    /// Conditions, all to be true.
    pub conjuncts: &'a [Expr],
    /// Ordinals of the columns to deliver, in order.
    pub wanted: &'a [usize],
    /// Whether conditions may be evaluated on index entries before rows are fetched.
    pub condition_pushdown: bool,
    /// Positions of indexes in the table on whose entries they may not.
    pub unpushed: &'a [usize],
    /// How rows are fetched by an index.
    pub batches: Batches<'a>,
    /// Deliver the clustered keys too.
    pub deliver_locators: bool,
}

/// Which paths fetch rows many at a time, sorted.
#[derive(Clone, Copy, Debug)]
pub struct Batches<'a> {
    /// Paths by these indexes (multi-range read).
    pub ranges: Permission<'a>,
    /// Of these, also those whose ranges depend on outer rows: for many of them at a time (batched key access).
    pub keys: bool,
}

impl Batches<'_> {
    /// All of them.
    pub const ALL: Batches<'static> = Batches { ranges: Permission::GIVEN, keys: true };
}

impl PathRequest<'_> {
    /// Whether a path along an index fetches rows in batches.
    fn fetches_batches(&self, index: &IndexDef, for_outer_rows: bool) -> bool {
        // Rows that are read from the table itself are in its order.
        let in_order = index.is_clustered() && !for_outer_rows;
        let by_index = self.batches.ranges.holds_for(position_in(self.table, index));
        in_order || by_index && (self.batches.keys || !for_outer_rows)
    }

    /// The table with no more partitions than the conditions leave, as far as it is known before rows of other tables are; `None` if it
    /// is not partitioned.
    pub(crate) fn narrowed_table(&self, eval: &mut EvalContext<'_>) -> Result<Option<Arc<TableDef>>> {
        let (Some(partitioning), Some(pruning)) =
            (&self.table.partitioning, Pruning::of(self.table, self.conjuncts))
        else {
            return Ok(None);
        };
        let possible = match pruning.values().all(Expr::is_constant_for_planning) {
            true => pruning.possible(partitioning, eval)?,
            false => return Ok(Some(self.table.clone())),
        };
        Ok(Some(Arc::new(self.table.with_partitions(|number| possible.has(number)))))
    }

    /// Whether the partitions that are left depend on no parameter.
    pub(crate) fn is_pruned_by_literals(&self) -> bool {
        let literal = |value: &Expr| value.as_literal().is_some();
        Pruning::of(self.table, self.conjuncts).is_some_and(|pruning| pruning.values().all(literal))
    }

    fn width(&self) -> usize {
        self.table.columns.len()
    }

    /// The columns of the table that a condition reads.
    pub(crate) fn own_columns(&self, conjunct: &Expr) -> BTreeSet<usize> {
        conjunct.columns().into_iter().filter(|column| *column < self.width()).collect()
    }

    /// Whether conditions may be evaluated on the entries of an index before rows are fetched.
    pub(crate) fn pushes(&self, index: &IndexDef) -> bool {
        let is_it = |position: &usize| self.table.indexes.get(*position).is_some_and(|at| at.id == index.id);
        self.condition_pushdown && !self.unpushed.iter().any(is_it)
    }

    /// The scan of the whole table.
    pub fn build_scan(&self) -> AccessPath {
        let implied = vec![Implied::No; self.conjuncts.len()];
        self.build_with(
            self.table.clustered(),
            ScanOrder::Any,
            Built { constraint: Constraint::unbounded(), implied },
        )
    }

    /// The path along an index.
    pub fn build(&self, index: &Arc<IndexDef>, order: ScanOrder) -> AccessPath {
        self.build_with(index, order, self.constrain(index))
    }

    /// Returns the constraint that the conjuncts put on an index.
    pub(crate) fn constrain(&self, index: &IndexDef) -> Built {
        let width = self.width();
        let parts: Vec<IndexKeyPart> = index
            .key_columns
            .iter()
            .zip(&index.key_parts)
            .map(|(column, key)| IndexKeyPart { column: *column, key: key.clone() })
            .collect();
        Constraint::build(&parts, self.conjuncts, &|column| (column < width).then_some(column))
    }

    pub(crate) fn build_with(&self, index: &Arc<IndexDef>, order: ScanOrder, built: Built) -> AccessPath {
        let width = self.width();
        let everything: BTreeSet<usize> = self
            .conjuncts
            .iter()
            .flat_map(|conjunct| self.own_columns(conjunct))
            .chain(self.wanted.iter().copied())
            .collect();
        let source = match index.is_clustered() {
            true => Source::Rows,
            false if index.covers(everything) => Source::Entries,
            false => Source::Fetched { rowid_filter: None },
        };
        let fetches = matches!(source, Source::Fetched { .. });
        let pushes = self.pushes(index);
        let tests = !fetches || pushes;
        let constraint = if tests { built.constraint } else { built.constraint.without_key_filter() };
        let mut on_entries = Vec::new();
        let mut on_rows = Vec::new();
        for (conjunct, implied) in self.conjuncts.iter().zip(&built.implied) {
            let implied = match implied {
                Implied::No | Implied::Nearly => false,
                Implied::ByRanges => true,
                Implied::ByTests => tests,
            };
            let pushed =
                fetches && pushes && !conjunct.is_volatile() && index.covers(self.own_columns(conjunct));
            if pushed { &mut on_entries } else { &mut on_rows }.push((conjunct, implied));
        }
        let index_condition_columns: Vec<usize> = on_entries
            .iter()
            .flat_map(|(conjunct, _)| self.own_columns(conjunct))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut columns = self.wanted.to_vec();
        for (conjunct, _) in &on_rows {
            for column in self.own_columns(conjunct) {
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        let batched = self.fetches_batches(index, constraint.is_correlated());
        AccessPath {
            table: self.table.clone(),
            index: index.clone(),
            constraint: constraint
                .map_values(&mut |value| value.map_columns(&mut |column| outer_column(column, width))),
            order,
            walk: IndexWalk::EveryEntry,
            source,
            index_conditions: self.renumbered(&on_entries, &index_condition_columns),
            index_condition_columns,
            residual_filter: self.renumbered(&on_rows, &columns),
            delivered: self.wanted.len(),
            columns,
            merged: None,
            batched,
            deliver_locators: self.deliver_locators,
            scores: None,
            pruning: Pruning::of(self.table, self.conjuncts).map(Arc::new),
        }
    }

    fn renumbered(&self, conditions: &[(&Expr, bool)], columns: &[usize]) -> Vec<Condition> {
        let width = self.width();
        conditions
            .iter()
            .map(|(conjunct, implied)| Condition {
                expr: conjunct.map_columns(&mut |column| match column.checked_sub(width) {
                    Some(outer) => columns.len() + outer,
                    None => {
                        let own = columns.iter().position(|own| *own == column);
                        own.expect("conditions are on columns that are read")
                    }
                }),
                implied: *implied,
            })
            .collect()
    }
}

impl AccessPath {
    /// Returns the path with its outer columns renumbered: from those of the conditions to positions in the outer batches.
    #[must_use]
    pub fn map_outer(mut self, map: &mut dyn FnMut(usize) -> usize) -> AccessPath {
        self.constraint = self.constraint.map_values(&mut |value| value.map_columns(map));
        self.pruning =
            self.pruning.map(|pruning| Arc::new(pruning.map_values(&mut |value| value.map_columns(map))));
        for (conditions, width) in [
            (&mut self.index_conditions, self.index_condition_columns.len()),
            (&mut self.residual_filter, self.columns.len()),
        ] {
            for condition in conditions {
                condition.expr = condition.expr.map_columns(&mut |column| match column.checked_sub(width) {
                    Some(outer) => width + map(outer),
                    None => column,
                });
            }
        }
        self
    }
}
