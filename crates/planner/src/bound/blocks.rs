//! Visits the query blocks of a statement, one inside the other, and the stored tables that they read.

use super::{BoundKind, BoundSelect, BoundSubquery, InsertRows, Relation, RelationSource};
use leafline_table::TableDef;
use std::collections::BTreeSet;

/// Calls `found` with every stored table that a query reads.
pub fn tables_of_query(
    query: &BoundSelect,
    subqueries: &[BoundSubquery],
    found: &mut dyn FnMut(&TableDef, &Relation),
) {
    let mut found = |block: &BoundSelect, _| tables_of_block(block, found);
    let mut blocks = Blocks { found: &mut found, commons: BTreeSet::new() };
    subqueries.iter().for_each(|subquery| blocks.select(&subquery.query, true));
    blocks.select(query, false);
}

/// Calls `found` with every stored table that a statement reads.
pub fn tables_of(
    bound: &BoundKind,
    subqueries: &[BoundSubquery],
    found: &mut dyn FnMut(&TableDef, &Relation),
) {
    blocks_of(bound, subqueries, &mut |block, _| tables_of_block(block, found));
}

fn tables_of_block(block: &BoundSelect, found: &mut dyn FnMut(&TableDef, &Relation)) {
    for relation in &block.relations {
        if let RelationSource::Base(table) = &relation.source {
            found(table, relation);
        }
    }
}

/// Calls `found` with every query block of a statement, and whether it is a subquery of an expression.
pub fn blocks_of(bound: &BoundKind, subqueries: &[BoundSubquery], found: &mut dyn FnMut(&BoundSelect, bool)) {
    let mut blocks = Blocks { found, commons: BTreeSet::new() };
    subqueries.iter().for_each(|subquery| blocks.select(&subquery.query, true));
    match bound {
        BoundKind::Select(block) => blocks.select(block, false),
        BoundKind::Insert(insert) => {
            if let InsertRows::Select(block) = &insert.rows {
                blocks.select(block, false);
            }
        }
        BoundKind::Update(update) => blocks.select(&update.rows, false),
        BoundKind::Delete(delete) => blocks.select(&delete.rows, false),
    }
}

/// A visit of the blocks of queries.
struct Blocks<'f> {
    found: &'f mut dyn FnMut(&BoundSelect, bool),
    /// Numbers of the common tables that were visited.
    commons: BTreeSet<usize>,
}

impl Blocks<'_> {
    fn select(&mut self, block: &BoundSelect, is_subquery: bool) {
        (self.found)(block, is_subquery);
        for relation in &block.relations {
            match &relation.source {
                RelationSource::Derived(inner) => self.select(inner, false),
                RelationSource::Lateral(lateral) => self.select(&lateral.query, false),
                RelationSource::SetOperation(operation) => {
                    self.select(&operation.first, is_subquery);
                    operation.steps.iter().for_each(|step| self.select(&step.operand, is_subquery));
                }
                RelationSource::Common(table) if self.commons.insert(table.number) => {
                    self.select(&table.query, false);
                    let steps = table.recursion.iter().flat_map(|recursion| &recursion.steps);
                    steps.for_each(|step| self.select(step, false));
                }
                RelationSource::Base(_)
                | RelationSource::Common(_)
                | RelationSource::Values(_)
                | RelationSource::JsonTable(_)
                | RelationSource::WorkTable(_) => {}
            }
        }
    }
}
