//! MATCH .. AGAINST.
//!
//! The columns must be those of a FULLTEXT index, in any order, of one stored table; columns of views and derived tables count as
//! the columns that they are made from. Scores depend on the whole table: a subquery counts its rows, and those that
//! contain each word. Its number names the search, which the FULLTEXT index answers. Equal searches of a block share
//! their subqueries.

use super::expression::{Bound, ExpressionBinder};
use super::scope::{BoundMatch, qualified};
use crate::authority::TableRights;
use crate::bound::merge::empty_block;
use crate::bound::{
    Aggregation, BlockColumn, BoundAggregate, BoundOutput, BoundSelect, BoundSubquery, ColumnId,
    ColumnOrigin, JoinTree, OrderKey, Relation, RelationSource, TableHints,
};
use leafline_expr::aggregate::{AggregateCall, MatchAggregate, MatchOptions};
use leafline_expr::subquery::subquery;
use leafline_expr::{CompareOp, Expr, ExprKind, MatchCall, Search, Subquery, SubqueryUse, build};
use leafline_syntax::ast::{self, SearchMode};
use leafline_table::{ColumnDef, IndexDef, IndexPart, TableDef};
use leafline_types::{ExprType, MysqlError, SqlType};
use leafline_words::MatchMode;
use std::sync::Arc;

/// The origin of a column: a stored table, the place where the statement reads it, and the position of the column.
struct Origin {
    table: Arc<TableDef>,
    /// The positions of the relations that lead to the table.
    path: Vec<usize>,
    ordinal: usize,
}

/// The columns of a search.
struct Searched {
    /// The relation of the block that they belong to.
    relation: usize,
    /// The stored table that they come from.
    table: Arc<TableDef>,
    /// The columns, with their positions in the table.
    columns: Vec<(usize, Expr)>,
}

impl ExpressionBinder<'_, '_, '_> {
    /// Binds a search.
    ///
    /// # Errors
    /// 1210 for columns of several tables or of no stored table, and for a query that is not constant; 1191 if no FULLTEXT index
    /// has these columns.
    pub(super) fn match_against(&mut self, search: &ast::MatchAgainst) -> Bound {
        let mut columns = Vec::with_capacity(search.columns.len());
        for name in &search.columns {
            let found = self.block.find(self.scope, self.clause, name)?;
            let id = found.ok_or_else(|| MysqlError::unknown_column(qualified(name), self.clause.name()))?;
            let column = self.binder.readable(self.block, self.block.column(id))?;
            columns.push((id, column));
        }
        let Searched { relation, table, columns } = self.searched(columns)?;
        let query = self.sought(&search.query)?;
        let mode = match search.mode {
            SearchMode::Natural => MatchMode::Natural,
            SearchMode::Expanded => MatchMode::Expanded,
            SearchMode::Boolean => MatchMode::Boolean,
        };
        let index = self.index_of(&table, &columns)?;
        let rules = index.words.as_deref().ok_or_else(MysqlError::no_fulltext_index)?;
        let search = Arc::new(Search { rules: rules.clone(), mode });
        let ordinals: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
        let of = |ordinal: &usize| Some(columns.iter().find(|(known, _)| known == ordinal)?.1.clone());
        let columns: Vec<Expr> = ordinals.iter().filter_map(of).collect();
        let same = |known: &&BoundMatch| {
            let ExprKind::Match(call) = &known.score.kind else { return false };
            known.relation == relation
                && call.search == search
                && call.columns == columns
                && call.query == query
        };
        if let Some(known) = self.block.matches.iter().find(same) {
            return Ok(known.score.clone());
        }
        let expansion =
            (mode == MatchMode::Expanded).then(|| self.words_of_found(&table, &ordinals, &query, &search));
        let asked = [&query].into_iter().chain(&expansion).cloned().collect();
        let statistics =
            self.over_table((&table, &ordinals), asked, (&search, MatchAggregate::Statistics), None);
        let call = MatchCall { search, columns, query, statistics, expansion };
        let ty = ExprType::numeric(SqlType::Double, false);
        let score = Expr { kind: ExprKind::Match(Box::new(call)), ty };
        self.block.matches.push(BoundMatch { relation, score: score.clone() });
        Ok(score)
    }

    /// Finds the stored table that all columns come from.
    fn searched(&self, columns: Vec<(ColumnId, Expr)>) -> Result<Searched, MysqlError> {
        let wrong = || MysqlError::wrong_arguments("MATCH");
        let mut found: Option<(usize, Origin)> = None;
        let mut positions = Vec::with_capacity(columns.len());
        for (id, column) in columns {
            let (relation, ordinal) = self.block.relation_of(id).ok_or_else(wrong)?;
            let of_block = self.block.relations.get(relation).ok_or_else(wrong)?;
            let origin = origin(of_block, ordinal, vec![relation]).ok_or_else(wrong)?;
            positions.push((origin.ordinal, column));
            match &found {
                Some((_, first)) if first.path != origin.path => return Err(wrong()),
                Some(_) => {}
                None => found = Some((relation, origin)),
            }
        }
        let (relation, origin) = found.ok_or_else(wrong)?;
        Ok(Searched { relation, table: origin.table, columns: positions })
    }

    /// Returns the FULLTEXT index that has exactly these columns.
    fn index_of<'t>(
        &self,
        table: &'t TableDef,
        columns: &[(usize, Expr)],
    ) -> Result<&'t IndexDef, MysqlError> {
        let usable = |index: &&Arc<IndexDef>| {
            let has = |column: usize| index.parts.iter().any(|part| part.column == column);
            let is_asked = |part: &IndexPart| columns.iter().any(|(known, _)| *known == part.column);
            (!index.invisible || self.binder.context.use_invisible_indexes)
                && columns.iter().all(|(column, _)| has(*column))
                && index.parts.iter().all(is_asked)
        };
        table.fulltext().find(usable).map(Arc::as_ref).ok_or_else(MysqlError::no_fulltext_index)
    }

    /// Binds the words that are sought.
    fn sought(&mut self, query: &ast::Expr) -> Bound {
        let query = self.bind(query)?;
        let reads_rows = query.any(&mut |e| matches!(e.kind, ExprKind::Outer(_)));
        if !query.is_constant() || query.is_volatile() || query.has_subquery() || reads_rows {
            return Err(MysqlError::wrong_arguments("AGAINST"));
        }
        if query.ty.sql.is_string() {
            return Ok(query);
        }
        build::cast(query, build::CastTarget::Char(None), self.binder.context.collation)
    }

    /// Makes a subquery that collects the words of the rows that a query finds.
    fn words_of_found(
        &mut self,
        table: &Arc<TableDef>,
        ordinals: &[usize],
        query: &Expr,
        search: &Arc<Search>,
    ) -> Expr {
        let natural = Arc::new(Search { mode: MatchMode::Natural, ..(**search).clone() });
        let asked = || vec![query.clone()];
        let statistics =
            self.over_table((table, ordinals), asked(), (&natural, MatchAggregate::Statistics), None);
        let columns = texts_of(table, ordinals);
        let call = MatchCall { search: natural, columns, query: query.clone(), statistics, expansion: None };
        let ty = ExprType::numeric(SqlType::Double, false);
        let found = Expr { kind: ExprKind::Match(Box::new(call)), ty };
        self.over_table((table, ordinals), asked(), (search, MatchAggregate::Words), Some(found))
    }

    /// Makes a subquery with an aggregate over the rows of a table for which a condition holds.
    fn over_table(
        &mut self,
        (table, ordinals): (&Arc<TableDef>, &[usize]),
        asked: Vec<Expr>,
        (search, makes): (&Arc<Search>, MatchAggregate),
        condition: Option<Expr>,
    ) -> Expr {
        let types = types_of(table);
        let texts = texts_of(table, ordinals).into_iter();
        let options = MatchOptions { search: search.clone(), makes, columns: ordinals.len() };
        let call = AggregateCall::of_matches(texts.chain(asked).collect(), options);
        let out = types.len();
        let ty = call.ty.clone();
        let mut columns: Vec<BlockColumn> = types
            .into_iter()
            .enumerate()
            .map(|(ordinal, ty)| BlockColumn { origin: ColumnOrigin::Relation { relation: 0, ordinal }, ty })
            .collect();
        columns.push(BlockColumn { origin: ColumnOrigin::Aggregate(0), ty: ty.clone() });
        let relation = Relation {
            alias: table.name.clone(),
            database: table.database.clone(),
            source: RelationSource::Base(table.clone()),
            columns: 0..out,
            hints: TableHints::default(),
            lock: None,
            view: None,
            generated: Default::default(),
            granted: TableRights::EVERYTHING,
        };
        let query = BoundSelect {
            relations: vec![relation],
            columns,
            from: Some(JoinTree::Relation(0)),
            filter: condition.into_iter().collect(),
            aggregation: Some(Aggregation {
                keys: Vec::new(),
                aggregates: vec![BoundAggregate { call, out }],
                rollup: None,
            }),
            output: vec![BoundOutput::unnamed(build::column(out, ty.clone()))],
            ..empty_block()
        };
        let number = self.binder.subqueries.len();
        self.binder.subqueries.push(BoundSubquery { query, is_dependent: false });
        let question = SubqueryUse::Value;
        let (needle, outer) = (Vec::new(), Vec::new());
        subquery(Subquery { number, question, needle, outer, is_volatile: false }, ty)
    }
}

/// Returns the types of a table's columns.
fn types_of(table: &TableDef) -> Vec<ExprType> {
    let of = |column: &ColumnDef| ExprType::column(column.ty.clone(), column.nullable, column.collation);
    table.columns.iter().map(of).collect()
}

/// Returns the columns of a table that a search is about.
fn texts_of(table: &TableDef, ordinals: &[usize]) -> Vec<Expr> {
    let types = types_of(table);
    let of = |ordinal: &usize| types.get(*ordinal).map(|ty| build::column(*ordinal, ty.clone()));
    ordinals.iter().filter_map(of).collect()
}

/// Follows a column of a relation to the stored table that it comes from.
fn origin(relation: &Relation, ordinal: usize, mut path: Vec<usize>) -> Option<Origin> {
    let query = match &relation.source {
        RelationSource::Base(table) => return Some(Origin { table: table.clone(), path, ordinal }),
        RelationSource::Derived(query) => query,
        RelationSource::Common(common) if common.recursion.is_none() => &common.query,
        _ => return None,
    };
    let column = query.output.get(ordinal)?.expr.as_column()?;
    let ColumnOrigin::Relation { relation, ordinal } = query.columns.get(column)?.origin else { return None };
    path.push(relation);
    origin(query.relations.get(relation)?, ordinal, path)
}

/// Orders the rows of one table that WHERE searches by descending score, unless the query says how rows are ordered. InnoDB finds
/// rows in this order.
pub(super) fn order_by_score(bound: &mut BoundSelect, block: &[BoundMatch]) {
    let has_order = !bound.order_by.is_empty()
        || bound.aggregation.is_some()
        || !bound.windows.is_empty()
        || bound.distinct
        || bound.relations.len() != 1;
    if has_order || block.is_empty() {
        return;
    }
    let score = bound.filter.iter().find_map(|condition| match &condition.kind {
        ExprKind::Match(_) => Some(condition.clone()),
        ExprKind::Compare { op: CompareOp::Gt | CompareOp::Ge, left, right, .. }
            if matches!(left.kind, ExprKind::Match(_)) && right.is_constant() =>
        {
            Some((**left).clone())
        }
        _ => None,
    });
    bound.order_by.extend(score.map(|expr| OrderKey { expr, descending: true }));
}
