//! Changes through views: decides which views can be changed, and finds the tables that change.
//!
//! In UPDATE, DELETE and INSERT a view is first bound as a derived table, and names, values and conditions over its columns. Then
//! its own relations replace it. The expressions that the change needs (assigned columns, new values) stand in the select list
//! meanwhile, and are over stored columns afterwards, as are the conditions of WITH CHECK OPTION.
//!
//! A view can be changed if it is a join and a filter over at least one table, or view that can be changed. A column of the view
//! can be changed if it is a column of such a table.

use std::sync::Arc;

use leafline_expr::{Expr, ExprKind};
use leafline_table::{CheckOption, TableDef, ViewAlgorithm, ViewDef};
use leafline_types::{MysqlError, Value};

use super::Binder;
use crate::bound::merge::{is_nullable, merge};
use crate::bound::{
    BoundOutput, BoundSelect, ColumnId, ColumnOrigin, JoinTree, Relation, RelationSource, ViewCheck,
};
use leafline_syntax::{Privilege, Privileges};

/// The statements that change tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Insert => "INSERT",
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
        }
    }

    /// Returns the privilege that the statement needs.
    pub(super) fn privilege(self) -> Privilege {
        match self {
            Verb::Insert => Privilege::Insert,
            Verb::Update => Privilege::Update,
            Verb::Delete => Privilege::Delete,
        }
    }
}

/// The privileges that a change through views asks of the definers of these views.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The privileges on the whole of each table and view below.
    pub(super) whole: Privileges,
    /// The places in the select list of the columns that get values, with the privilege that it takes.
    pub(super) columns: Vec<(usize, Privilege)>,
}

/// A view of a statement that its own relations have replaced.
#[derive(Debug)]
pub(super) struct Expansion {
    /// The view.
    pub(super) view: Arc<ViewDef>,
    /// The name by which the statement refers to the view.
    pub(super) alias: String,
    /// The relations of the view, by position in the block.
    pub(super) relations: Vec<usize>,
    /// The places of the view's conditions in the select list.
    checks: Vec<usize>,
}

impl Expansion {
    /// Returns the name of the view, as errors write it.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.view.database, self.view.name)
    }

    /// Checks that the definer of the view around a relation has the privileges for the change.
    ///
    /// # Errors
    /// 1356 for the view that the statement names.
    fn check_definer(&self, rows: &BoundSelect, at: usize, asked: &Asked) -> Result<(), MysqlError> {
        let Some(relation) = rows.relations.get(at) else { return Ok(()) };
        let mut may = relation.granted.whole().has_all(asked.whole);
        for (place, wanted) in asked.columns.iter().filter(|(_, wanted)| !relation.granted.has(*wanted)) {
            let output = rows.output.get(*place).and_then(|output| output.expr.as_column());
            if let Some((of, ordinal)) = output.and_then(|column| origin(rows, column))
                && of == at
            {
                may &= relation.granted.on_column(&relation.column_name(ordinal)).has(*wanted);
            }
        }
        match may {
            true => Ok(()),
            false => Err(MysqlError::view_invalid(&self.view.database, &self.view.name)),
        }
    }

    /// Returns the view's conditions on rows, over the columns of the block.
    pub(super) fn checks(&self, rows: &BoundSelect) -> Vec<ViewCheck> {
        let conditions = self.checks.iter().filter_map(|at| rows.output.get(*at));
        conditions.map(|output| ViewCheck { view: self.name(), condition: output.expr.clone() }).collect()
    }
}

/// Returns the relation that a column of a block belongs to, and its position there.
pub(super) fn origin(block: &BoundSelect, column: ColumnId) -> Option<(usize, usize)> {
    match block.columns.get(column).map(|column| column.origin) {
        Some(ColumnOrigin::Relation { relation, ordinal }) => Some((relation, ordinal)),
        _ => None,
    }
}

impl Binder<'_> {
    /// Returns the view of a relation and its query, if rows can be changed through it.
    pub(super) fn updatable<'r>(
        &self,
        relation: &'r Relation,
    ) -> Option<(&'r Arc<ViewDef>, &'r BoundSelect)> {
        let (Some(view), RelationSource::Derived(query)) = (&relation.view, &relation.source) else {
            return None;
        };
        (view.algorithm != ViewAlgorithm::TempTable && self.can_be_changed(query)).then_some((view, query))
    }

    /// Whether rows can be changed through a view with this query.
    pub(super) fn can_be_changed(&self, query: &BoundSelect) -> bool {
        let lateral = |relation: &Relation| matches!(relation.source, RelationSource::Lateral(_));
        let has_table = query.relations.iter().any(|relation| match &relation.source {
            RelationSource::Base(_) => true,
            _ => self.updatable(relation).is_some(),
        });
        query.is_join_and_filter()
            && has_table
            && !query.relations.iter().any(lateral)
            && !query.output.iter().any(|output| has_dependent_subquery(&output.expr))
            && !self.reads_own_tables(query)
    }

    /// Whether a subquery of a view's query reads a table that is in the view's FROM, too.
    fn reads_own_tables(&self, query: &BoundSelect) -> bool {
        query.relations.iter().any(|relation| match &relation.source {
            RelationSource::Base(table) => self.subqueries_read(query, table.id).is_some(),
            _ => false,
        })
    }

    /// Returns the stored column behind a column of a relation, if it can be changed. `name` is the name of the column.
    ///
    /// # Errors
    /// 1288 if rows cannot be changed through the relation, 1348 if the column is an expression.
    pub(super) fn stored_column<'r>(
        &self,
        relation: &'r Relation,
        ordinal: usize,
        (name, verb): (&str, Verb),
    ) -> Result<(&'r Arc<TableDef>, usize), MysqlError> {
        if let RelationSource::Base(table) = &relation.source {
            return Ok((table, ordinal));
        }
        let read_only = || MysqlError::non_updatable_table(&relation.alias, verb.name());
        let (_, query) = self.updatable(relation).ok_or_else(read_only)?;
        let column = query.output.get(ordinal).and_then(|output| output.expr.as_column());
        let column = column.ok_or_else(|| MysqlError::non_updatable_column(name))?;
        let (below, ordinal) = origin(query, column).ok_or_else(read_only)?;
        let below = query.relations.get(below).ok_or_else(read_only)?;
        self.stored_column(below, ordinal, (name, verb))
            .map_err(|error| if error.code == read_only().code { read_only() } else { error })
    }

    /// Replaces the view at a position of a block, which can be changed, and the views in it by their relations. The block's
    /// select list holds the expressions that the change needs; the views' conditions on rows are added behind them.
    ///
    /// # Errors
    /// 1235 for a view with expressions as columns on the inner side of an outer join: they would have to be NULL there. 1356 if the
    /// definer of a view lacks a privilege that the change takes.
    pub(super) fn expand(
        &self,
        rows: &mut BoundSelect,
        at: usize,
        asked: &Asked,
    ) -> Result<Option<Expansion>, MysqlError> {
        let Some(relation) = rows.relations.get(at) else { return Ok(None) };
        let Some((view, _)) = self.updatable(relation) else { return Ok(None) };
        let (view, alias) = (view.clone(), relation.alias.clone());
        let mut expansion = Expansion { view, alias, relations: Vec::new(), checks: Vec::new() };
        self.expand_into(rows, (at, asked), false, &mut expansion)?;
        Ok(Some(expansion))
    }

    fn expand_into(
        &self,
        rows: &mut BoundSelect,
        (at, asked): (usize, &Asked),
        cascaded: bool,
        expansion: &mut Expansion,
    ) -> Result<(), MysqlError> {
        let relation = rows.relations.get(at);
        let Some((view, query)) = relation.and_then(|relation| self.updatable(relation)) else {
            expansion.relations.push(at);
            return Ok(());
        };
        let nullable = rows.from.as_ref().is_some_and(|from| is_nullable(from, at, false));
        if nullable && query.output.iter().any(|output| output.expr.as_column().is_none()) {
            return Err(MysqlError::not_supported(
                "changes through a view with expressions on the inner side of an outer join",
            ));
        }
        let cascades = cascaded || view.check_option == CheckOption::Cascaded;
        let checked = match cascades || view.check_option == CheckOption::Local {
            true => conditions(query),
            false => Vec::new(),
        };
        let (behind, added) = (rows.relations.len(), query.relations.len().saturating_sub(1));
        let numbers = merge(rows, at);
        for condition in checked {
            let renumbered = condition.map_columns(&mut |id| numbers[&id]);
            expansion.checks.push(rows.output.len());
            rows.output.push(BoundOutput::unnamed(renumbered));
        }
        std::iter::once(at).chain(behind..behind + added).try_for_each(|at| {
            expansion.check_definer(rows, at, asked)?;
            self.expand_into(rows, (at, asked), cascades, expansion)
        })
    }
}

/// Returns the conditions that rows of a query meet: WHERE, and ON of inner joins.
fn conditions(query: &BoundSelect) -> Vec<Expr> {
    fn of_joins(tree: &JoinTree, found: &mut Vec<Expr>) {
        if let JoinTree::Inner { children, conditions, .. } = tree {
            children.iter().for_each(|child| of_joins(child, found));
            found.extend_from_slice(conditions);
        }
    }
    let mut found = Vec::new();
    query.from.iter().for_each(|tree| of_joins(tree, &mut found));
    found.extend_from_slice(&query.filter);
    found
}

fn has_dependent_subquery(expr: &Expr) -> bool {
    expr.any(&mut |e| matches!(&e.kind, ExprKind::Subquery(subquery) if !subquery.outer.is_empty()))
}

/// Rewrites a condition over the columns of a block as one over the columns of one relation, by position; columns of other
/// relations become NULL.
pub(super) fn over_relation(condition: Expr, relation: &Relation) -> Result<Expr, MysqlError> {
    condition.transform(&mut |mut e| {
        if let ExprKind::Column(id) = e.kind {
            e.kind = match relation.columns.contains(&id) {
                true => ExprKind::Column(id - relation.columns.start),
                false => ExprKind::Literal(Value::Null),
            };
        }
        Ok(e)
    })
}
