//! Turns the chosen plan into operators, whose columns are positions in the batches of their inputs.

use super::block_node::{BlockNode, bind, locator_column, node, score_column, score_type};
use super::members::JoinPlanner;
use super::partial::{FallbackJoin, HashKey, Partial, Step};
use crate::bound::{Relation, RelationSource};
use crate::plan::{self, Considered, HashFallback, Node, Operator, locator_type};
use leafline_access::{Candidate, Demand, JoinType};
use leafline_expr::{Expr, ExprKind};
use leafline_types::{ExprType, MysqlError};
use std::sync::Arc;

impl<'p> JoinPlanner<'p, '_, '_> {
    /// Makes the operators of a partial plan.
    pub(super) fn emit(&self, partial: &Partial) -> Result<BlockNode, MysqlError> {
        match &partial.step {
            Step::Access { relation, candidate } => self.emit_access(partial, *relation, candidate),
            Step::Derived { relation, node: input } => {
                let bound = self.relation(*relation)?;
                let layout = bound.columns.clone().collect();
                if !matches!(bound.source, RelationSource::Derived(_)) {
                    return Ok(BlockNode { node: input.clone(), layout });
                }
                let types = input.types.to_vec();
                let operator = Operator::DerivedTable(plan::DerivedTable {
                    input: Box::new(input.clone()),
                    alias: bound.alias.as_str().into(),
                });
                let node = node(operator, types, partial.rows, partial.cost_us);
                Ok(BlockNode { node, layout })
            }
            Step::Filter { input, conditions } => {
                let input = self.emit(input)?;
                let conditions = input.bind_all(conditions)?.into();
                let types = input.node.types.to_vec();
                let operator = Operator::Filter(plan::Filter { input: Box::new(input.node), conditions });
                Ok(BlockNode {
                    node: node(operator, types, partial.rows, partial.cost_us),
                    layout: input.layout,
                })
            }
            Step::Lookup { left, relation, candidate, join_type, keep_order, fallback } => {
                let left = self.emit(left)?;
                let fallback = fallback.as_ref();
                self.emit_lookup(partial, left, (*relation, candidate), (*join_type, *keep_order), fallback)
            }
            Step::Lateral { left, relation, node: inner, conditions, join_type } => {
                let left = self.emit(left)?;
                self.emit_lateral(partial, left, *relation, inner, (conditions, *join_type))
            }
            Step::Hash { left, right, keys, conditions, join_type, keep_order, build_left } => {
                let (left, right) = (self.emit(left)?, self.emit(right)?);
                let how = (*join_type, *keep_order, *build_left);
                self.emit_hash(partial, left, right, keys, conditions, how)
            }
        }
    }

    pub(super) fn relation(&self, relation: usize) -> Result<&'p Relation, MysqlError> {
        let found = self.select.relations.get(relation);
        found.ok_or_else(|| MysqlError::internal("a relation that is not there"))
    }

    fn types(&self, layout: &[usize]) -> Vec<ExprType> {
        let ty = |column: &usize| match self.select.columns.get(*column) {
            Some(column) => column.ty.clone(),
            None if *column >= score_column(self.select, 0) => score_type(),
            None => locator_type(),
        };
        layout.iter().map(ty).collect()
    }

    fn delivered(&self, relation: usize, candidate: &Candidate) -> Result<Vec<usize>, MysqlError> {
        let start = self.relation(relation)?.columns.start;
        let path = &candidate.path;
        let columns = path.columns.iter().take(path.delivered).map(|ordinal| start + ordinal);
        let locator = path.deliver_locators.then(|| locator_column(self.select, relation));
        let score = path.scores.map(|_| score_column(self.select, relation));
        Ok(columns.chain(locator).chain(score).collect())
    }

    fn emit_access(
        &self,
        partial: &Partial,
        relation: usize,
        candidate: &Candidate,
    ) -> Result<BlockNode, MysqlError> {
        let layout = self.delivered(relation, candidate)?;
        let types = self.types(&layout);
        let scan = self.scan(relation, candidate, &[])?;
        let operator = Operator::Scan(Arc::new(scan));
        Ok(BlockNode { node: node(operator, types, partial.rows, partial.cost_us), layout })
    }

    fn emit_lookup(
        &self,
        partial: &Partial,
        left: BlockNode,
        (relation, candidate): (usize, &Candidate),
        (join_type, keep_order): (JoinType, bool),
        fallback: Option<&FallbackJoin>,
    ) -> Result<BlockNode, MysqlError> {
        let inner = Arc::new(self.scan(relation, candidate, &left.layout)?);
        let mut layout = left.layout.clone();
        if join_type.delivers_partners() {
            layout.extend(self.delivered(relation, candidate)?);
        }
        let fallback =
            fallback.map(|fallback| self.emit_fallback(&left, fallback, &layout)).transpose()?.flatten();
        let operator = Operator::LookupJoin(plan::LookupJoin {
            outer: Box::new(left.node),
            inner,
            join_type,
            keep_order,
            fallback,
        });
        let types = self.types(&layout);
        Ok(BlockNode { node: node(operator, types, partial.rows, partial.cost_us), layout })
    }

    /// Makes the hash join that a lookup join falls back to; `None` if it does not deliver the needed columns.
    fn emit_fallback(
        &self,
        left: &BlockNode,
        fallback: &FallbackJoin,
        wanted: &[usize],
    ) -> Result<Option<Box<HashFallback>>, MysqlError> {
        let right = self.emit(&fallback.right)?;
        let (mut keys, mut null_safe) = (Vec::new(), Vec::new());
        for key in &fallback.keys {
            keys.push((left.bind(&key.left)?, right.bind(&key.right)?));
            null_safe.push(key.null_safe);
        }
        let mut layout = left.layout.clone();
        layout.extend(right.layout);
        let conditions: Result<Vec<Expr>, _> =
            fallback.conditions.iter().map(|condition| bind(condition, &layout)).collect();
        let position = |column: &usize| layout.iter().position(|known| known == column);
        let Some(columns) = wanted.iter().map(position).collect() else { return Ok(None) };
        Ok(Some(Box::new(HashFallback {
            after: fallback.after as u64,
            build: right.node,
            keys: keys.into(),
            null_safe: null_safe.into(),
            conditions: conditions?.into(),
            columns,
        })))
    }

    fn emit_lateral(
        &self,
        partial: &Partial,
        left: BlockNode,
        relation: usize,
        inner: &Node,
        (conditions, join_type): (&[Expr], JoinType),
    ) -> Result<BlockNode, MysqlError> {
        let bound = self.relation(relation)?;
        let RelationSource::Lateral(lateral) = &bound.source else {
            return Err(MysqlError::internal("a lateral join of something else"));
        };
        let captures = left.bind_all(&lateral.outer)?.into();
        let mut layout = left.layout;
        layout.extend(bound.columns.clone());
        let conditions: Result<Vec<Expr>, _> =
            conditions.iter().map(|condition| bind(condition, &layout)).collect();
        let join = plan::LateralJoin {
            outer: left.node,
            inner: inner.clone(),
            captures,
            conditions: conditions?.into(),
            join_type,
            alias: bound.alias.as_str().into(),
        };
        let types = self.types(&layout);
        let operator = Operator::LateralJoin(Box::new(join));
        Ok(BlockNode { node: node(operator, types, partial.rows, partial.cost_us), layout })
    }

    fn emit_hash(
        &self,
        partial: &Partial,
        left: BlockNode,
        right: BlockNode,
        keys: &[HashKey],
        conditions: &[Expr],
        (join_type, keep_order, build_left): (JoinType, bool, bool),
    ) -> Result<BlockNode, MysqlError> {
        let (mut pairs, mut null_safe, mut domains) = (Vec::new(), Vec::new(), Vec::new());
        for key in keys {
            let (l, r) = (left.bind(&key.left)?, right.bind(&key.right)?);
            pairs.push(if build_left { (r, l) } else { (l, r) });
            null_safe.push(key.null_safe);
            domains.push(key.domain);
        }
        let (probe, build) = if build_left { (right, left) } else { (left, right) };
        let mut layout = probe.layout;
        let delivered = layout.len();
        layout.extend(build.layout);
        let conditions: Result<Vec<Expr>, _> =
            conditions.iter().map(|condition| bind(condition, &layout)).collect();
        if !join_type.delivers_partners() {
            layout.truncate(delivered);
        }
        let join = plan::HashJoin {
            probe: probe.node,
            build: build.node,
            keys: pairs.into(),
            null_safe: null_safe.into(),
            conditions: conditions?.into(),
            join_type,
            keep_order,
            build_is_first: build_left,
            domains: domains.into(),
            filters: Vec::new(),
        };
        let types = self.types(&layout);
        let operator = Operator::HashJoin(Box::new(join));
        Ok(BlockNode { node: node(operator, types, partial.rows, partial.cost_us), layout })
    }

    /// Makes the scan, with its description for EXPLAIN. `outer`: the columns at the positions of the outer rows.
    fn scan(
        &self,
        relation: usize,
        candidate: &Candidate,
        outer: &[usize],
    ) -> Result<plan::Scan, MysqlError> {
        let bound = self.relation(relation)?;
        let path = &candidate.path;
        let references =
            path.constraint.equal_values().into_iter().map(|value| self.reference(value)).collect();
        let mut missing = None;
        let mapped = path.clone().map_outer(&mut |column| {
            outer.iter().position(|known| *known == column).unwrap_or_else(|| {
                missing = Some(column);
                0
            })
        });
        if let Some(column) = missing {
            return Err(MysqlError::internal(format_args!(
                "outer column {column} is not delivered to a lookup"
            )));
        }
        let mapped = match &bound.source {
            RelationSource::Base(table) if table.is_partitioned() => mapped.over(table),
            _ => mapped,
        };
        let indexes = &path.table.indexes;
        let possible_keys = candidate
            .possible
            .iter()
            .filter_map(|position| indexes.get(*position))
            .map(|index| index.name.as_str().into())
            .collect();
        let filtered = if candidate.examined > 0.0 { candidate.rows / candidate.examined } else { 1.0 };
        Ok(plan::Scan {
            id: 0,
            path: Arc::new(mapped),
            alias: bound.alias.as_str().into(),
            demand: Demand::Unknown,
            possible_keys,
            examined: candidate.examined,
            filters: Vec::new(),
            filtered: (filtered * 100.0).clamp(0.0, 100.0),
            references,
            partitions: path.table.partitioning.as_ref().filter(|_| self.cx.explains).map(|left| {
                let names = left.partitions.iter().map(|partition| left.name(partition.number));
                names.collect::<Vec<_>>().join(",").into()
            }),
            considered: if self.cx.explains { self.considered(relation) } else { Vec::new() },
        })
    }

    /// Returns the access paths that were compared for a relation.
    fn considered(&self, relation: usize) -> Vec<Considered> {
        let of_relation = self.looked_up.iter().filter(|((known, ..), _)| *known == relation);
        let mut considered: Vec<Considered> = of_relation
            .flat_map(|(_, candidates)| candidates.iter())
            .map(|candidate| self.as_considered(candidate))
            .collect();
        let rank = |considered: &Considered| {
            (
                considered.path.constraint.is_correlated(),
                considered.path.index.id,
                considered.path.order as u8,
            )
        };
        considered.sort_by(|a, b| a.cost_us.total_cmp(&b.cost_us).then_with(|| rank(a).cmp(&rank(b))));
        considered
    }

    /// Returns EXPLAIN's word for the value that a key part is compared with.
    fn reference(&self, value: Option<&Expr>) -> Arc<str> {
        let Some(value) = value else { return "const".into() };
        match &value.kind {
            ExprKind::Column(column) => {
                let relation = self.columns().relation(*column).and_then(|at| self.select.relations.get(at));
                let Some(relation) = relation else { return "func".into() };
                let name = relation.column_name(*column - relation.columns.start);
                if relation.database.is_empty() {
                    format!("{}.{name}", relation.alias).into()
                } else {
                    format!("{}.{}.{name}", relation.database, relation.alias).into()
                }
            }
            _ if value.columns().is_empty() => "const".into(),
            _ => "func".into(),
        }
    }
}
