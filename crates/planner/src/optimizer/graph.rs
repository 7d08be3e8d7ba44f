//! The join graph of a query block's FROM and WHERE: members that can be joined in any order that respects the outer joins.
//!
//! Inner joins dissolve into members and conjuncts. A left join makes its right side a member that may only come after the
//! relations its ON conditions mention. At any later place it gives the same rows, because it keeps each left row and reads only
//! those relations. A left join becomes an inner join when some conjunct rejects rows whose right side is NULL.

use super::factor::factored;
use super::null_rejection::rejects_null;
use crate::bound::{BoundSelect, ColumnOrigin, JoinTree, MAX_RELATIONS, RelationSource};
use leafline_access::JoinType;
use leafline_expr::{EvalContext, Expr, fold, push_down_not};
use leafline_types::MysqlError;

/// A set of relations of a query block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Relations(u64);

impl Relations {
    pub fn one(relation: usize) -> Relations {
        Relations(1 << relation)
    }

    pub fn union(self, other: Relations) -> Relations {
        Relations(self.0 | other.0)
    }

    pub fn contains(self, other: Relations) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn overlaps(self, other: Relations) -> bool {
        self.0 & other.0 != 0
    }

    pub fn without(self, other: Relations) -> Relations {
        Relations(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The members to join, and the conjuncts over them.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub members: Vec<Member>,
    /// Conditions on the joined rows.
    pub conjuncts: Vec<Expr>,
    /// Members are joined in their order.
    pub straight: bool,
}

/// A relation, or several joined on their own as the right side of a left, semi or anti join.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub relations: Relations,
    pub source: MemberSource,
    /// Set for the right side of a left, semi or anti join.
    pub attached: Option<Attached>,
}

#[derive(Clone, Debug)]
pub(super) enum MemberSource {
    Relation(usize),
    Nest(Graph),
}

/// How a member is attached by a left, semi or anti join.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    /// Never [`JoinType::Inner`].
    pub join_type: JoinType,
    pub conditions: Vec<Expr>,
    /// The relations that must be joined before.
    pub after: Relations,
}

/// The columns of a block by relation.
pub(super) struct ColumnMap<'a> {
    pub select: &'a BoundSelect,
}

impl ColumnMap<'_> {
    /// Returns the relation of a column.
    pub fn relation(&self, column: usize) -> Option<usize> {
        match self.select.columns.get(column)?.origin {
            ColumnOrigin::Relation { relation, .. } => Some(relation),
            ColumnOrigin::GroupKey(_)
            | ColumnOrigin::Aggregate(_)
            | ColumnOrigin::Window
            | ColumnOrigin::Level => None,
        }
    }

    /// Returns the relations that must be joined before a lateral query; none for other relations.
    pub fn needs(&self, relation: usize) -> Relations {
        match self.select.relations.get(relation).map(|relation| &relation.source) {
            Some(RelationSource::Lateral(lateral)) => {
                let needs = lateral
                    .outer
                    .iter()
                    .fold(Relations::default(), |all, expr| all.union(self.relations(expr)));
                if needs.is_empty() { Relations::one(lateral.after) } else { needs }
            }
            _ => Relations::default(),
        }
    }

    /// Returns the relations that must be joined before a member.
    pub fn needs_of(&self, member: &Member) -> Relations {
        match &member.source {
            MemberSource::Relation(relation) => self.needs(*relation),
            MemberSource::Nest(nest) => {
                let all = nest
                    .members
                    .iter()
                    .fold(Relations::default(), |all, member| all.union(self.needs_of(member)));
                all.without(member.relations)
            }
        }
    }

    /// Returns the relations that an expression reads.
    pub fn relations(&self, expr: &Expr) -> Relations {
        expr.columns()
            .into_iter()
            .filter_map(|column| self.relation(column))
            .fold(Relations::default(), |all, relation| all.union(Relations::one(relation)))
    }
}

/// Makes the graph of a block.
pub(super) fn build(select: &BoundSelect, eval: &mut EvalContext<'_>) -> Result<Graph, MysqlError> {
    if select.relations.len() > MAX_RELATIONS {
        return Err(MysqlError::too_many_tables(MAX_RELATIONS));
    }
    let columns = ColumnMap { select };
    let mut graph = Graph { members: Vec::new(), conjuncts: Vec::new(), straight: select.straight_join };
    if let Some(from) = &select.from {
        flatten(from, &columns, &mut graph, eval)?;
    }
    graph.conjuncts.extend(normalised(&select.filter, eval)?);
    simplify(&mut graph, &columns);
    Ok(graph)
}

/// Normalises conjuncts: computes constants, moves NOT to the leaves, factors ORs, and puts subqueries last because they cost
/// most.
pub(super) fn normalised(conditions: &[Expr], eval: &mut EvalContext<'_>) -> Result<Vec<Expr>, MysqlError> {
    let mut result = Vec::new();
    for condition in conditions {
        let condition = push_down_not(fold(condition.clone(), eval)?);
        for conjunct in leafline_expr::conjuncts(condition) {
            result.extend(factored(conjunct));
        }
    }
    result.sort_by_key(Expr::has_subquery);
    Ok(result)
}

fn flatten(
    tree: &JoinTree,
    columns: &ColumnMap<'_>,
    graph: &mut Graph,
    eval: &mut EvalContext<'_>,
) -> Result<Relations, MysqlError> {
    match tree {
        JoinTree::Relation(relation) => {
            let relations = Relations::one(*relation);
            graph.members.push(Member {
                relations,
                source: MemberSource::Relation(*relation),
                attached: None,
            });
            Ok(relations)
        }
        JoinTree::Inner { children, conditions, straight } => {
            let mut all = Relations::default();
            for child in children {
                all = all.union(flatten(child, columns, graph, eval)?);
            }
            graph.straight |= straight;
            graph.conjuncts.extend(normalised(conditions, eval)?);
            Ok(all)
        }
        JoinTree::Left { left, right, conditions } | JoinTree::Semi { left, right, conditions, .. } => {
            let join_type = match tree {
                JoinTree::Semi { negated: false, .. } => JoinType::Semi,
                JoinTree::Semi { negated: true, .. } => JoinType::Anti,
                _ => JoinType::LeftOuter,
            };
            let left = flatten(left, columns, graph, eval)?;
            let mut nest = Graph { members: Vec::new(), conjuncts: Vec::new(), straight: false };
            let right = flatten(right, columns, &mut nest, eval)?;
            let mut conditions = normalised(conditions, eval)?;
            let mentioned = conditions
                .iter()
                .fold(Relations::default(), |all, condition| all.union(columns.relations(condition)))
                .without(right);
            let after = if mentioned.is_empty() { left } else { mentioned };
            simplify(&mut nest, columns);
            let needs = nest
                .members
                .iter()
                .fold(Relations::default(), |all, member| all.union(columns.needs_of(member)));
            let needs = needs.without(right);
            if !needs.is_empty() && nest.members.len() > 1 {
                return Err(MysqlError::not_supported(
                    "LATERAL beside locked tables on one side of an outer join",
                ));
            }
            let after = after.union(needs);
            let source = match nest.members.as_mut_slice() {
                [only] if only.attached.is_none() => {
                    // Rows that the right side's own conditions reject do not match either.
                    conditions.append(&mut nest.conjuncts);
                    only.source.clone()
                }
                _ => MemberSource::Nest(nest),
            };
            graph.members.push(Member {
                relations: right,
                source,
                attached: Some(Attached { join_type, conditions, after }),
            });
            Ok(left.union(right))
        }
    }
}

/// Turns left joins into inner joins where no row with NULLs on the right side can pass.
fn simplify(graph: &mut Graph, columns: &ColumnMap<'_>) {
    loop {
        let rejected = graph.members.iter().position(|member| {
            if member.attached.as_ref().is_none_or(|attached| attached.join_type != JoinType::LeftOuter) {
                return false;
            }
            let inside = |column: usize| {
                columns
                    .relation(column)
                    .is_some_and(|relation| member.relations.contains(Relations::one(relation)))
            };
            let mut others = graph.conjuncts.iter().chain(
                graph.members.iter().filter(|other| other.attached.is_none()).flat_map(nested_conjuncts),
            );
            others.any(|conjunct| rejects_null(conjunct, &inside))
        });
        let Some(position) = rejected else { return };
        let member = graph.members.remove(position);
        if let Some(attached) = member.attached {
            graph.conjuncts.extend(attached.conditions);
        }
        match member.source {
            MemberSource::Nest(nest) => {
                graph.conjuncts.extend(nest.conjuncts);
                graph.straight |= nest.straight;
                let rest = graph.members.split_off(position);
                graph.members.extend(nest.members);
                graph.members.extend(rest);
            }
            source => {
                graph.members.insert(position, Member { relations: member.relations, source, attached: None })
            }
        }
    }
}

fn nested_conjuncts(member: &Member) -> &[Expr] {
    match &member.source {
        MemberSource::Nest(nest) => &nest.conjuncts,
        MemberSource::Relation(_) => &[],
    }
}
