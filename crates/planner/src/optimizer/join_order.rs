//! Chooses the order and method of joins by dynamic programming over left-deep orders.
//!
//! For every set of members the search keeps the cheapest plan. Such a plan takes the cheapest plan for one member less and adds
//! that member, either read by itself and hashed, or looked up through an index by columns of the others. Combinations without a
//! condition between them are tried only where no other is left. Beyond [`MAX_EXHAUSTIVE_MEMBERS`] members the order is found
//! greedily. The queries of a statement together consider a bounded number of joins (`OptimizerContext::joins_considered`);
//! beyond the bound every order is found greedily, and in the end members are taken in their order.

use super::graph::{Graph, MemberSource, Relations};
use super::members::{JoinPlanner, PreparedMember};
use super::partial::{JoinPlanRef, Partial};
use crate::params::MAX_EXHAUSTIVE_MEMBERS;
use leafline_expr::Expr;
use leafline_types::MysqlError;
use std::collections::HashMap;
use std::rc::Rc;

impl JoinPlanner<'_, '_, '_> {
    /// Returns the members of a graph, and the cheapest plan for it.
    pub(super) fn joined(&mut self, graph: &Graph) -> Result<(Vec<PreparedMember>, JoinPlanRef), MysqlError> {
        let members = self.prepare(graph)?;
        let joined = self.join(graph, &members, None)?;
        let joined = self.filtered(joined, self.constant_conditions(graph));
        Ok((members, joined))
    }

    /// Returns the conditions of a graph that read none of its columns.
    pub(super) fn constant_conditions(&self, graph: &Graph) -> Vec<Expr> {
        let columns = self.columns();
        graph.conjuncts.iter().filter(|conjunct| columns.relations(conjunct).is_empty()).cloned().collect()
    }

    /// Prepares the members of a graph, each with the cheapest way to read it alone.
    pub(super) fn prepare(&mut self, graph: &Graph) -> Result<Vec<PreparedMember>, MysqlError> {
        graph
            .members
            .iter()
            .map(|member| {
                let own = match &member.source {
                    MemberSource::Relation(relation) => self.read_alone(*relation, member, graph)?,
                    MemberSource::Nest(nest) => {
                        let (_, nest) = self.joined(nest)?;
                        let on: Vec<_> =
                            member.attached.iter().flat_map(|attached| attached.conditions.iter()).collect();
                        self.filtered(nest, self.local_conjuncts(member.relations, on))
                    }
                };
                let relation = match member.source {
                    MemberSource::Relation(relation) => Some(relation),
                    MemberSource::Nest(_) => None,
                };
                let (relations, attached) = (member.relations, member.attached.clone());
                let needs = self.columns().needs_of(member);
                Ok(PreparedMember { relations, relation, attached, needs, own })
            })
            .collect()
    }

    /// Joins the members. With `first`, a plan for the member at that position, the other members are added to it and the order
    /// of its rows is kept.
    pub(super) fn join(
        &mut self,
        graph: &Graph,
        members: &[PreparedMember],
        first: Option<(usize, JoinPlanRef)>,
    ) -> Result<JoinPlanRef, MysqlError> {
        let keep_order = first.is_some();
        if members.len() == 1 {
            let only =
                first.map(|(_, first)| first).or_else(|| members.first().map(|member| member.own.clone()));
            return only.ok_or_else(|| MysqlError::internal("a join without members"));
        }
        if members.len() > MAX_EXHAUSTIVE_MEMBERS || !self.cx.may_search() {
            return self.join_greedily(graph, members, first);
        }
        let mut best: HashMap<u64, JoinPlanRef> = HashMap::new();
        match first {
            Some((position, first)) => {
                best.insert(1 << position, first);
            }
            None => {
                for (position, member) in members.iter().enumerate() {
                    if self.may_be_first(graph, members, position) {
                        best.insert(1 << position, member.own.clone());
                    }
                }
            }
        }
        let everything = (1u64 << members.len()) - 1;
        for set in 1..everything {
            let Some(left) = best.get(&set).cloned() else { continue };
            for position in self.next_members(graph, members, set, left.relations) {
                let joined = self.extend(graph, &left, &members[position], keep_order)?;
                let key = set | 1 << position;
                let cheaper =
                    |known: &JoinPlanRef| self.partly(&joined, self.share) < self.partly(known, self.share);
                let cheapest = best.get(&key).is_none_or(cheaper);
                let next = members[position].relations;
                self.note(|planner| planner.join_step(left.relations, next, &joined, cheapest));
                if cheapest {
                    best.insert(key, Rc::new(joined));
                }
            }
        }
        best.remove(&everything).ok_or_else(|| MysqlError::internal("no order of the joins was found"))
    }

    /// Returns the members that can be joined next: members that a condition connects, or all if there are none.
    fn next_members(
        &self,
        graph: &Graph,
        members: &[PreparedMember],
        set: u64,
        joined: Relations,
    ) -> Vec<usize> {
        let possible: Vec<usize> = (0..members.len())
            .filter(|position| set & (1 << position) == 0)
            .filter(|position| {
                let member = &members[*position];
                let attached = member.attached.as_ref();
                joined.contains(member.needs)
                    && attached.is_none_or(|attached| joined.contains(attached.after))
            })
            .collect();
        if graph.straight {
            return possible.into_iter().take(1).collect();
        }
        let possible = self.as_hinted(members, joined, possible);
        let connected: Vec<usize> = possible
            .iter()
            .copied()
            .filter(|position| self.are_connected(graph, joined, &members[*position]))
            .collect();
        if connected.is_empty() { possible } else { connected }
    }

    /// Returns the members that hints allow next; all if the hints cannot be followed.
    fn as_hinted(&self, members: &[PreparedMember], joined: Relations, possible: Vec<usize>) -> Vec<usize> {
        let orders = &self.select.hints.join_orders;
        if orders.is_empty() {
            return possible;
        }
        let is_here = |relation: &usize| {
            members.iter().any(|member| member.relations.contains(Relations::one(*relation)))
        };
        let all: Vec<usize> = (0..self.select.relations.len()).filter(is_here).collect();
        let allowed = |position: &usize| {
            let member = &members[*position];
            let known = joined.union(member.relations);
            let is_joined = |relation: usize| known.contains(Relations::one(relation));
            let mut own = all.iter().filter(|relation| member.relations.contains(Relations::one(**relation)));
            own.all(|relation| orders.iter().all(|order| order.allows(*relation, &is_joined, &all)))
        };
        let hinted: Vec<usize> = possible.iter().copied().filter(allowed).collect();
        if hinted.is_empty() { possible } else { hinted }
    }

    /// Whether STRAIGHT_JOIN, or else hints that can be followed, allow a member to be the first.
    pub(super) fn may_be_first(&self, graph: &Graph, members: &[PreparedMember], position: usize) -> bool {
        let alone = |at: &usize| {
            members.get(*at).is_some_and(|member| member.attached.is_none() && member.needs.is_empty())
        };
        let possible: Vec<usize> = (0..members.len()).filter(alone).collect();
        match graph.straight {
            true => position == 0 && possible.contains(&0),
            false => self.as_hinted(members, Relations::default(), possible).contains(&position),
        }
    }

    fn join_greedily(
        &mut self,
        graph: &Graph,
        members: &[PreparedMember],
        first: Option<(usize, JoinPlanRef)>,
    ) -> Result<JoinPlanRef, MysqlError> {
        let keep_order = first.is_some();
        let cheapest = || {
            let candidates =
                members.iter().enumerate().filter(|(at, _)| self.may_be_first(graph, members, *at));
            let start = candidates.min_by(|(_, a), (_, b)| a.own.rows.total_cmp(&b.own.rows));
            start.map(|(at, member)| (at, member.own.clone()))
        };
        let (position, mut joined) =
            first.or_else(cheapest).ok_or_else(|| MysqlError::internal("a join without members"))?;
        let mut set = 1u64 << position;
        while set != (1u64 << members.len()) - 1 {
            let mut best: Option<(usize, Partial)> = None;
            let mut next = self.next_members(graph, members, set, joined.relations);
            if !self.cx.may_compare() {
                next.truncate(1);
            }
            for position in next {
                let extended = self.extend(graph, &joined, &members[position], keep_order)?;
                let better = |known: &Partial| {
                    (extended.cost_us + extended.rows).total_cmp(&(known.cost_us + known.rows)).is_lt()
                };
                let cheapest = best.as_ref().is_none_or(|(_, known)| better(known));
                let next = members[position].relations;
                self.note(|planner| planner.join_step(joined.relations, next, &extended, cheapest));
                if cheapest {
                    best = Some((position, extended));
                }
            }
            let (position, extended) =
                best.ok_or_else(|| MysqlError::internal("no order of the joins was found"))?;
            set |= 1 << position;
            joined = Rc::new(extended);
        }
        Ok(joined)
    }
}
