//! Finds the indexes that could serve a statement: what the statement asks of each of its tables, and lists
//! of columns made of that.
//!
//! To learn what a condition says about a column, the code derives its constraint for an index on that column
//! alone, so that every kind of constraint is recognized. A list begins with the columns that are fixed to a
//! value (by constants, or by the rows of one other table of a join), the most demanded first. Then comes one
//! column that lies in a range, or the columns of a wanted order. Each list also exists extended by the other
//! columns that the statement reads, so that its index is covering.

use leafline_access::constraint::{Constraint, IndexKeyPart};
use leafline_expr::{Expr, ExprKind};
use leafline_planner::bound::{BoundSelect, ColumnOrigin, JoinTree, RelationSource};
use leafline_table::{IndexPart, TableDef, TableId};
use leafline_types::{KeyPart, SqlType};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Limit of the lists for one table of a statement; shorter lists come first.
const MOST: usize = 32;
/// Limit of the columns of an extended list.
const MOST_COVERING: usize = 8;
/// Limit of the tried columns with ranges.
const MOST_RANGES: usize = 3;

/// The columns that a statement needs of one of its tables, by position.
#[derive(Debug)]
pub(super) struct ColumnDemand {
    pub table: Arc<TableDef>,
    /// Columns equal to a value that is known when the statement begins.
    pub equal: BTreeSet<usize>,
    /// Columns in a list of values.
    listed: BTreeSet<usize>,
    ranges: BTreeSet<usize>,
    /// Columns in branches of ORs.
    either: BTreeSet<usize>,
    /// Columns equal to columns of another relation, by its position. The output of a subquery counts as
    /// compared with the outer query.
    joined: BTreeMap<usize, BTreeSet<usize>>,
    /// Columns of wanted orders, with true for descending.
    orders: Vec<Vec<(usize, bool)>>,
    used: BTreeSet<usize>,
}

/// Columns of a possible index.
#[derive(Clone, Debug)]
pub(super) struct CandidateIndex {
    pub parts: Vec<IndexPart>,
    /// True for a list extended by all columns that the statement reads.
    pub is_extended: bool,
}

/// Number of executions that fix a column to a value.
pub(super) type Demand = HashMap<(TableId, usize), f64>;

/// The needs of a query block, for each of its tables.
pub(super) fn wanted(block: &BoundSelect, is_subquery: bool) -> Vec<ColumnDemand> {
    let mut found = Vec::new();
    for (relation, source) in block.relations.iter().enumerate() {
        let RelationSource::Base(table) = &source.source else { continue };
        let mut wanted = ColumnDemand {
            table: table.clone(),
            equal: BTreeSet::new(),
            listed: BTreeSet::new(),
            ranges: BTreeSet::new(),
            either: BTreeSet::new(),
            joined: BTreeMap::new(),
            orders: Vec::new(),
            used: BTreeSet::new(),
        };
        let of = RelationRef { block, relation, width: table.columns.len() };
        of.conditions().iter().for_each(|condition| wanted.condition(&of, condition));
        if is_subquery {
            let delivered = block.output.iter().filter_map(|output| of.column(&output.expr)).collect();
            wanted.joined.insert(block.relations.len(), delivered);
        }
        wanted.orders(&of);
        block.for_each_expr(&mut |expr| {
            wanted.used.extend(expr.columns().into_iter().filter_map(|column| of.ordinal(column)));
        });
        found.push(wanted);
    }
    found
}

/// A relation of a block.
struct RelationRef<'b> {
    block: &'b BoundSelect,
    relation: usize,
    width: usize,
}

impl RelationRef<'_> {
    /// The relation and position of a column of the block.
    fn origin(&self, column: usize) -> Option<(usize, usize)> {
        match self.block.columns.get(column)?.origin {
            ColumnOrigin::Relation { relation, ordinal } => Some((relation, ordinal)),
            ColumnOrigin::GroupKey(key) => {
                let key = self.block.aggregation.as_ref()?.keys.get(key)?;
                self.origin(key.expr.as_column()?)
            }
            _ => None,
        }
    }

    fn ordinal(&self, column: usize) -> Option<usize> {
        self.origin(column).filter(|(relation, _)| *relation == self.relation).map(|(_, ordinal)| ordinal)
    }

    /// The column of the relation that an expression consists of.
    fn column(&self, expr: &Expr) -> Option<usize> {
        self.ordinal(expr.as_column()?)
    }

    /// The conditions of WHERE and joins. Columns of the relation have their positions; columns of others
    /// come after them.
    fn conditions(&self) -> Vec<Expr> {
        fn of_tree<'t>(tree: &'t JoinTree, found: &mut Vec<&'t Expr>) {
            match tree {
                JoinTree::Relation(_) => {}
                JoinTree::Inner { children, conditions, .. } => {
                    children.iter().for_each(|child| of_tree(child, found));
                    found.extend(conditions);
                }
                JoinTree::Left { left, right, conditions }
                | JoinTree::Semi { left, right, conditions, .. } => {
                    of_tree(left, found);
                    of_tree(right, found);
                    found.extend(conditions);
                }
            }
        }
        let mut found: Vec<&Expr> = self.block.filter.iter().collect();
        self.block.from.iter().for_each(|tree| of_tree(tree, &mut found));
        let renumber = |column: usize| self.ordinal(column).unwrap_or(self.width + column);
        found.into_iter().map(|expr| expr.map_columns(&mut |column| renumber(column))).collect()
    }
}

impl ColumnDemand {
    fn condition(&mut self, of: &RelationRef<'_>, condition: &Expr) {
        let columns = condition.columns();
        for column in columns.iter().copied().filter(|column| *column < of.width) {
            let Some(constraint) = self.constraint(column, condition) else { continue };
            let is_fixed = constraint.equal_parts() == 1;
            if constraint.is_correlated() {
                let partners = columns.iter().filter_map(|column| column.checked_sub(of.width));
                for (partner, _) in partners.filter_map(|column| of.origin(column)).filter(|_| is_fixed) {
                    self.joined.entry(partner).or_default().insert(column);
                }
            } else if is_fixed {
                self.equal.insert(column);
            } else if matches!(condition.kind, ExprKind::InList { .. }) {
                self.listed.insert(column);
            } else {
                self.ranges.insert(column);
            }
        }
        if let ExprKind::Or(branches) = &condition.kind {
            for branch in branches {
                let conditions = if let ExprKind::And(all) = &branch.kind {
                    &all[..]
                } else {
                    std::slice::from_ref(branch)
                };
                for condition in conditions {
                    let own = condition.columns().into_iter().filter(|column| *column < of.width);
                    let bound = own.filter(|column| self.constraint(*column, condition).is_some());
                    self.either.extend(bound.collect::<Vec<_>>());
                }
            }
        }
    }

    /// The constraint of a condition on an index of one column, if it bounds the column.
    fn constraint(&self, column: usize, condition: &Expr) -> Option<Constraint> {
        let width = self.table.columns.len();
        let definition = self.table.columns.get(column)?;
        let key = KeyPart {
            ty: definition.ty.clone(),
            collation: definition.collation,
            nullable: definition.nullable,
            descending: false,
            prefix: None,
        };
        let own = |column: usize| (column < width).then_some(column);
        let built = Constraint::build(&[IndexKeyPart { column, key }], std::slice::from_ref(condition), &own);
        (!built.constraint.is_unbounded()).then_some(built.constraint)
    }

    /// Collects ORDER BY, GROUP BY, DISTINCT and MIN or MAX as far as they concern this table alone.
    fn orders(&mut self, of: &RelationRef<'_>) {
        let block = of.block;
        let order = block.order_by.iter().map(|key| Some((of.column(&key.expr)?, key.descending)));
        let mut orders: Vec<Option<Vec<(usize, bool)>>> = vec![order.collect()];
        if let Some(aggregation) = &block.aggregation {
            let keys = aggregation.keys.iter().map(|key| Some((of.column(&key.expr)?, false)));
            let keys: Option<Vec<_>> = keys.collect();
            let arguments = aggregation.aggregates.iter().flat_map(|aggregate| &aggregate.call.args);
            for column in arguments.filter_map(|argument| of.column(argument)) {
                // The least and the greatest value of a group are at its ends.
                orders.push(keys.clone().map(|keys| keys.into_iter().chain([(column, false)]).collect()));
            }
            orders.push(keys);
        }
        if block.distinct {
            let outputs = block.output.iter().map(|output| Some((of.column(&output.expr)?, false)));
            orders.push(outputs.collect());
        }
        self.orders.extend(orders.into_iter().flatten().filter(|order| !order.is_empty()));
    }

    /// The lists of columns that an index could have.
    pub fn lists(&self, demand: &Demand) -> Vec<CandidateIndex> {
        let mut fixed: Vec<usize> = self.equal.iter().copied().collect();
        let wanted = |column: &usize| demand.get(&(self.table.id, *column)).copied().unwrap_or(0.0);
        fixed.sort_by(|a, b| wanted(b).total_cmp(&wanted(a)).then(a.cmp(b)));
        let none = BTreeSet::new();
        let every: BTreeSet<usize> = self.joined.values().flatten().copied().collect();
        let joins = [&none].into_iter().chain(self.joined.values()).chain([&every]);
        let mut lists = CandidateIndexes { wanted: self, found: Vec::new(), is_extended: false };
        for joined in joins {
            let base: Vec<(usize, bool)> =
                fixed.iter().chain(joined).map(|column| (*column, false)).collect();
            let listed: Vec<(usize, bool)> = self.listed.iter().map(|column| (*column, false)).collect();
            lists.add([&base[..], &listed].concat());
            for range in self.ranges.iter().take(MOST_RANGES) {
                lists.add([&base[..], &listed, &[(*range, false)]].concat());
            }
            for order in &self.orders {
                lists.add([&base[..], order].concat());
            }
        }
        for column in self.either.iter().chain(&self.listed).chain(&self.ranges) {
            lists.add(vec![(*column, false)]);
        }
        lists.is_extended = true;
        let short = lists.found.clone();
        for CandidateIndex { parts: list, .. } in short {
            let primary = self.table.clustered_key().unwrap_or_default();
            let is_there = |column: usize| {
                list.iter().chain(primary).any(|part| part.column == column && part.prefix.is_none())
            };
            let others = self.used.iter().filter(|column| !is_there(**column)).map(|column| (*column, false));
            let parts = list.iter().map(|part| (part.column, part.descending));
            let all: Vec<(usize, bool)> = parts.chain(others).collect();
            if all.len() <= MOST_COVERING && all.iter().all(|(column, _)| self.can_be_part(*column)) {
                lists.add(all);
            }
        }
        lists.found.sort_by_key(|list| list.parts.len());
        lists.found.truncate(MOST);
        lists.found
    }

    /// True if a whole column can be a part of an index and can be named.
    fn can_be_part(&self, column: usize) -> bool {
        self.table
            .columns
            .get(column)
            .is_some_and(|column| !column.is_hidden() && !column.ty.is_large() && column.ty != SqlType::Json)
    }
}

/// Collects lists.
struct CandidateIndexes<'w> {
    wanted: &'w ColumnDemand,
    found: Vec<CandidateIndex>,
    is_extended: bool,
}

impl CandidateIndexes<'_> {
    /// Adds a list, each column at its first position, unless an index begins with it.
    fn add(&mut self, columns: Vec<(usize, bool)>) {
        let mut parts: Vec<IndexPart> = Vec::with_capacity(columns.len());
        for (column, descending) in columns {
            if !self.wanted.can_be_part(column) {
                break;
            }
            if !parts.iter().any(|part| part.column == column) {
                parts.push(IndexPart { column, descending, prefix: None });
            }
        }
        let is_there = |parts: &[IndexPart]| {
            self.wanted
                .table
                .ordered_indexes()
                .iter()
                .any(|index| index.parts.get(..parts.len()) == Some(parts))
        };
        let is_known = self.found.iter().any(|known| known.parts == parts);
        if !parts.is_empty() && !is_known && !is_there(&parts) {
            self.found.push(CandidateIndex { parts, is_extended: self.is_extended });
        }
    }
}
