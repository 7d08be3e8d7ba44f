//! Subqueries that read the table which their statement changes.
//!
//! MySQL refuses such subqueries (1093; 1443 and 1288 through a view), unless the read runs by itself beforehand: a derived
//! table, a common table, or a view that cannot be merged. No subquery sees the statement's own changes: it reads the rows as
//! they were when the statement began.

use std::sync::Arc;

use leafline_expr::{Expr, ExprKind};
use leafline_table::{TableId, ViewDef};
use leafline_types::MysqlError;

use super::Binder;
use super::view_changes::Verb;
use crate::bound::{BoundSelect, RelationSource};

/// A reader of a table: the outermost view that the subquery reads through, and its alias.
pub(super) type Reader = Option<(Arc<ViewDef>, String)>;

/// The target of a statement: its name for the table, and the view.
pub(super) struct Target<'t> {
    pub(super) alias: &'t str,
    pub(super) view: Option<&'t ViewDef>,
}

impl Target<'_> {
    /// Returns the error for a subquery that reads the target.
    pub(super) fn is_read(&self, reader: &Reader, verb: Verb) -> MysqlError {
        let same =
            |left: &ViewDef, right: &ViewDef| left.database == right.database && left.name == right.name;
        match (self.view, reader) {
            (Some(view), Some((other, _))) if same(view, other) => MysqlError::update_table_used(self.alias),
            (_, Some((_, alias))) => MysqlError::view_prevents_change(alias, verb.name(), self.alias),
            (Some(_), None) => MysqlError::view_prevents_change(self.alias, verb.name(), self.alias),
            (None, None) => MysqlError::update_table_used(self.alias),
        }
    }
}

impl Binder<'_> {
    /// Returns the reader if a subquery in a query reads the table.
    pub(super) fn subqueries_read(&self, query: &BoundSelect, table: TableId) -> Option<Reader> {
        let mut found = None;
        query.for_each_expr(&mut |expr| {
            if found.is_none() {
                found = self.expression_reads(expr, table);
            }
        });
        found
    }

    /// Returns the reader if a subquery in an expression reads the table. A search for words may count the words of the table.
    pub(super) fn expression_reads(&self, expr: &Expr, table: TableId) -> Option<Reader> {
        let mut found = None;
        expr.visit(&mut |e| {
            if let ExprKind::Subquery(subquery) = &e.kind
                && let Some(bound) = self.subqueries.get(subquery.number)
            {
                found = found.take().or_else(|| self.query_reads(&bound.query, table));
            }
            found.is_none() && !matches!(e.kind, ExprKind::Match(_))
        });
        found
    }

    fn query_reads(&self, query: &BoundSelect, table: TableId) -> Option<Reader> {
        let in_relations = query.relations.iter().find_map(|relation| {
            let merge = relation.hints.merge.unwrap_or(self.context.derived_merge);
            let found = match &relation.source {
                RelationSource::Base(read) => (read.id == table).then_some(None),
                RelationSource::Derived(query) if relation.view.is_some() && merge && is_merged(query) => {
                    self.query_reads(query, table)
                }
                RelationSource::SetOperation(operation) => {
                    let steps = operation.steps.iter().map(|step| &step.operand);
                    std::iter::once(&operation.first)
                        .chain(steps)
                        .find_map(|query| self.query_reads(query, table))
                }
                _ => None,
            };
            match &relation.view {
                Some(view) => found.map(|_| Some((view.clone(), relation.alias.clone()))),
                None => found,
            }
        });
        in_relations.or_else(|| self.subqueries_read(query, table))
    }
}

/// Whether MySQL merges a derived table with this query into the query around it.
pub(super) fn is_merged(query: &BoundSelect) -> bool {
    query.is_join_and_filter()
        && !query.relations.iter().any(|relation| {
            matches!(relation.source, RelationSource::SetOperation(_) | RelationSource::Values(_))
        })
}
