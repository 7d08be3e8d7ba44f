//! Reads one member and joins one more: the steps of the search for a join order.

use super::equalities::Class;
use super::factor;
use super::graph::{Attached, ColumnMap, Graph, Member, Relations};
use super::partial::{HashKey, JoinPlanRef, Partial, Step};
use super::settings::{HintedIndexes, OptimizerContext};
use crate::bound::{BoundSelect, RelationSource};
use crate::params::{ANTI_JOIN_LEAST_SHARE, AVOIDED_SCAN_US, KEY_SPAN_LEAST_ROWS, MAX_KEPT_CANDIDATES};
use leafline_access::{
    BaseRelation, Batches, Candidate, JoinType, PathRequest, Permission, Price, ScanOrder,
};
use leafline_expr::build::join_keys;
use leafline_expr::{CompareDomain, CompareOp, Expr, ExprKind};
use leafline_table::TableDef;
use leafline_types::MysqlError;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Plans the joins of one block.
pub(super) struct JoinPlanner<'p, 'c, 'a> {
    pub select: &'p BoundSelect,
    pub cx: &'p mut OptimizerContext<'c, 'a>,
    /// Columns that are needed above the joins.
    pub required: BTreeSet<usize>,
    /// Relations with a row in every joined row, whose scores may be columns.
    pub scorable: Relations,
    /// All conditions of the block, at every level.
    pub conditions: Vec<Expr>,
    pub classes: Vec<Class>,
    /// Consider reading whole indexes for their order.
    pub every_index: bool,
    /// The share of the joined rows that will be read.
    pub share: f64,
    pub(super) distinct_values: HashMap<usize, f64>,
    /// The shares of pairs that are equal in two columns.
    pub(super) equal_pairs: HashMap<(usize, usize), Option<f64>>,
    pub(super) looked_up: HashMap<(usize, bool, Vec<Expr>), Rc<Vec<Candidate>>>,
    /// The plans of relations that are not stored tables. The search for joins runs several times, and each such plan may hold
    /// further searches.
    pub(super) planned: HashMap<usize, JoinPlanRef>,
}

/// A member of a graph with the cheapest way to read it alone.
pub(super) struct PreparedMember {
    pub relations: Relations,
    pub relation: Option<usize>,
    pub attached: Option<Attached>,
    /// The relations that must be joined before.
    pub needs: Relations,
    /// The plan to read the member alone; of a lateral query, the plan of one run.
    pub own: JoinPlanRef,
}

/// The conjuncts that decide whether a left and a right row match, by the sides that they read.
pub(super) struct JoinConditions {
    /// Conjuncts on the right member alone.
    local: Vec<Expr>,
    /// Conjuncts on the right member that follow from others; for estimates only.
    derived: Vec<Expr>,
    /// Conjuncts on both sides.
    pub join_conjuncts: Vec<Expr>,
    /// Conjuncts on the joined rows, evaluated after NULLs are filled in.
    after: Vec<Expr>,
    pub join_type: JoinType,
}

impl<'p> JoinPlanner<'p, '_, '_> {
    pub fn columns(&self) -> ColumnMap<'p> {
        ColumnMap { select: self.select }
    }

    /// Returns the conjuncts among `conditions` that read only the given relations.
    pub(super) fn local_conjuncts<'e>(
        &self,
        relations: Relations,
        conditions: impl IntoIterator<Item = &'e Expr>,
    ) -> Vec<Expr> {
        let columns = self.columns();
        conditions
            .into_iter()
            .filter(|condition| {
                let mentioned = columns.relations(condition);
                !mentioned.is_empty() && relations.contains(mentioned)
            })
            .cloned()
            .collect()
    }

    /// Returns the conjuncts that ORs over several relations imply for these relations alone.
    fn derived_conjuncts<'e>(
        &self,
        relations: Relations,
        conditions: impl IntoIterator<Item = &'e Expr>,
    ) -> Vec<Expr> {
        let columns = self.columns();
        let inside = |used: &BTreeSet<usize>| {
            !used.is_empty()
                && used.iter().all(|column| {
                    columns.relation(*column).is_some_and(|found| relations.contains(Relations::one(found)))
                })
        };
        conditions
            .into_iter()
            .filter(|condition| !relations.contains(columns.relations(condition)))
            .filter_map(|condition| factor::implied_for(condition, &inside))
            .collect()
    }

    /// Plans the cheapest way to read a relation alone.
    pub(super) fn read_alone(
        &mut self,
        relation: usize,
        member: &Member,
        graph: &Graph,
    ) -> Result<JoinPlanRef, MysqlError> {
        let conditions = match &member.attached {
            Some(attached) => attached.conditions.as_slice(),
            None => graph.conjuncts.as_slice(),
        };
        let mut local = self.local_conjuncts(member.relations, conditions);
        local.extend(self.derived_conjuncts(member.relations, conditions));
        let bound = self.select.relations.get(relation);
        match bound.map(|bound| &bound.source) {
            Some(RelationSource::Base(table)) => {
                let table = table.clone();
                let candidates = self.candidates(relation, &table, &local, &[], Relations::one(relation))?;
                let read = candidates
                    .iter()
                    .map(|candidate| self.access(relation, candidate.clone()))
                    .min_by(|a, b| self.partly(a, self.share).total_cmp(&self.partly(b, self.share)));
                read.map(Rc::new).ok_or_else(|| MysqlError::internal("a table without access path"))
            }
            Some(_) => {
                let read = self.source(relation, member.relations)?;
                let bound = self.relation(relation)?;
                // The conditions of a lateral query are evaluated where it is joined.
                let local =
                    if matches!(bound.source, RelationSource::Lateral(_)) { Vec::new() } else { local };
                Ok(self.filtered(read, local))
            }
            None => Err(MysqlError::internal("a relation that is not there")),
        }
    }

    /// Plans the rows of a relation that is not a stored table.
    fn source(&mut self, relation: usize, relations: Relations) -> Result<JoinPlanRef, MysqlError> {
        if let Some(planned) = self.planned.get(&relation) {
            return Ok(planned.clone());
        }
        let bound = self.relation(relation)?;
        let columns = &self.select.columns[bound.columns.clone()];
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let node = super::sources::plan_source(bound, types, self.cx)?;
        let read = Rc::new(Partial {
            rows: node.estimate.rows,
            cost_us: node.estimate.cost_us,
            startup_us: node.estimate.cost_us,
            relations,
            empty: false,
            step: Step::Derived { relation, node },
        });
        self.planned.insert(relation, read.clone());
        Ok(read)
    }

    /// Makes the plan to read a table along a candidate.
    pub(super) fn access(&self, relation: usize, candidate: Candidate) -> Partial {
        let price = candidate.price(1.0, self.cx.planner.model);
        let forced = self.select.relations.get(relation).is_some_and(|bound| bound.hints.indexes.join.forced);
        let last_resort = if forced && candidate.path.is_table_scan() { AVOIDED_SCAN_US } else { 0.0 };
        let literal = candidate.path.constraint.values().iter().all(|value| value.as_literal().is_some());
        Partial {
            relations: Relations::one(relation),
            rows: candidate.rows,
            cost_us: price.total_us + last_resort,
            startup_us: price.startup_us,
            empty: candidate.empty && literal,
            step: Step::Access { relation, candidate },
        }
    }

    /// Adds a filter by further conditions.
    pub(super) fn filtered(&self, input: JoinPlanRef, conditions: Vec<Expr>) -> JoinPlanRef {
        if conditions.is_empty() {
            return input;
        }
        let selectivity: f64 = conditions.iter().map(leafline_access::stats::guess_selectivity).product();
        Rc::new(Partial {
            relations: input.relations,
            rows: input.rows * selectivity,
            cost_us: input.cost_us + input.rows * self.cx.planner.model.cpu.filter,
            startup_us: input.startup_us,
            empty: input.empty,
            step: Step::Filter { input, conditions },
        })
    }

    /// Returns the candidates for a relation under conditions. Candidates deliver the columns that are needed beyond these
    /// conditions.
    pub(super) fn candidates(
        &mut self,
        relation: usize,
        table: &Arc<TableDef>,
        conditions: &[Expr],
        derived: &[Expr],
        joined: Relations,
    ) -> Result<Rc<Vec<Candidate>>, MysqlError> {
        let key = (relation, self.every_index, conditions.to_vec());
        if let Some(known) = self.looked_up.get(&key) {
            return Ok(known.clone());
        }
        let found = Rc::new(self.compared(relation, table, (conditions, derived), joined, None)?);
        self.note(|planner| planner.access_step(relation, &found));
        if self.looked_up.len() >= MAX_KEPT_CANDIDATES {
            self.looked_up.clear();
        }
        self.looked_up.insert(key, found.clone());
        Ok(found)
    }

    /// Returns the candidates anew; or, with `ranked`, the candidate whose rows come in the order of that score, if there is one.
    pub(super) fn compared(
        &mut self,
        relation: usize,
        table: &Arc<TableDef>,
        (conditions, derived): (&[Expr], &[Expr]),
        joined: Relations,
        ranked: Option<&Expr>,
    ) -> Result<Vec<Candidate>, MysqlError> {
        let wanted = self.wanted(relation, conditions, joined);
        let scored = self.scored(relation, conditions, ranked, joined);
        let bound = &self.select.relations[relation];
        let (start, width) = (bound.columns.start, table.columns.len());
        let renumber = |condition: &Expr| {
            condition.map_columns(&mut |column| {
                if bound.columns.contains(&column) { column - start } else { width + column }
            })
        };
        let conjuncts: Vec<Expr> = conditions.iter().map(renumber).collect();
        let derived: Vec<Expr> = derived.iter().map(renumber).collect();
        let base = BaseRelation {
            request: PathRequest {
                table,
                conjuncts: &conjuncts,
                wanted: &wanted,
                condition_pushdown: self.cx.switches.index_condition_pushdown,
                unpushed: &bound.hints.unpushed,
                batches: Batches {
                    ranges: Permission {
                        switch: self.cx.switches.multi_range_read,
                        hint: bound.hints.multi_range_read.as_ref(),
                    },
                    keys: bound.hints.batched_keys.unwrap_or(self.cx.switches.batched_key_access),
                },
                deliver_locators: bound.lock.is_some(),
            },
            derived_conjuncts: &derived,
            allowed: &HintedIndexes(match self.every_index {
                true => &bound.hints.indexes.order_by,
                false => &bound.hints.indexes.join,
            }),
            every_index: self.every_index,
            skip_scan: Permission {
                switch: self.cx.switches.skip_scan,
                hint: bound.hints.skip_scan.as_ref(),
            },
            merging: self.cx.switches.merging(bound.hints.index_merge.as_ref()),
            scored: &scored,
            // A table alone and unordered only has its own paths to compare.
            sample_rows: self.select.relations.len() > 1 || !self.select.order_by.is_empty(),
        };
        Ok(match ranked {
            Some(search) => self.cx.planner.ranked(&base, &renumber(search))?.into_iter().collect(),
            None => self.cx.planner.candidates(&base, self.cx.eval)?,
        })
    }

    /// Returns the ordinals of a relation's columns that are still needed when the conditions `evaluated` are done and the
    /// relations of `joined` are joined.
    pub(super) fn wanted(&self, relation: usize, evaluated: &[Expr], joined: Relations) -> Vec<usize> {
        let bound = &self.select.relations[relation];
        let mut needed: BTreeSet<usize> = self.required.clone();
        // WHERE and ON may hold the same condition twice: each evaluated condition settles one of them. Equalities of classes
        // settle none.
        let of_class = |condition: &&Expr| self.classes.iter().any(|class| class.says(condition));
        let mut settled: HashMap<&Expr, usize> = HashMap::new();
        evaluated
            .iter()
            .filter(|condition| !of_class(condition))
            .for_each(|condition| *settled.entry(condition).or_default() += 1);
        for condition in &self.conditions {
            match settled.get_mut(condition).filter(|times| **times > 0) {
                Some(times) => *times -= 1,
                None => needed.extend(condition.columns()),
            }
        }
        for class in &self.classes {
            if class.members().iter().any(|member| !joined.contains(member.relations)) {
                needed.extend(class.members().iter().map(|member| member.column));
            }
        }
        needed
            .into_iter()
            .filter(|column| bound.columns.contains(column))
            .map(|column| column - bound.columns.start)
            .collect()
    }

    /// Whether a condition connects the relations joined so far and a member.
    pub(super) fn are_connected(&self, graph: &Graph, joined: Relations, member: &PreparedMember) -> bool {
        let columns = self.columns();
        let both = joined.union(member.relations);
        let connects = |condition: &Expr| {
            let mentioned = columns.relations(condition);
            mentioned.overlaps(joined) && mentioned.overlaps(member.relations) && both.contains(mentioned)
        };
        match &member.attached {
            Some(attached) => attached.conditions.iter().any(connects),
            None => {
                graph.conjuncts.iter().any(connects)
                    || self.classes.iter().any(|class| class.connects(joined, member.relations))
            }
        }
    }

    fn matching(&self, graph: &Graph, left: Relations, member: &PreparedMember) -> JoinConditions {
        let columns = self.columns();
        let right = member.relations;
        let both = left.union(right);
        let newly_known = |condition: &&Expr| {
            let mentioned = columns.relations(condition);
            both.contains(mentioned) && mentioned.overlaps(right)
        };
        let on_both = |condition: &&Expr| columns.relations(condition).overlaps(left);
        let known: Vec<Expr> = graph.conjuncts.iter().filter(newly_known).cloned().collect();
        match &member.attached {
            None => JoinConditions {
                local: known.iter().filter(|condition| !on_both(condition)).cloned().collect(),
                derived: self.derived_conjuncts(right, &graph.conjuncts),
                join_conjuncts: self
                    .classes
                    .iter()
                    .filter_map(|class| class.between(left, right))
                    .chain(known.iter().filter(on_both).cloned())
                    .collect(),
                after: Vec::new(),
                join_type: JoinType::Inner,
            },
            Some(Attached { join_type, conditions, .. }) => JoinConditions {
                local: self.local_conjuncts(right, conditions),
                derived: self.derived_conjuncts(right, conditions),
                join_conjuncts: conditions
                    .iter()
                    .filter(|condition| {
                        !right.contains(columns.relations(condition))
                            || columns.relations(condition).is_empty()
                    })
                    .cloned()
                    .collect(),
                after: known,
                join_type: *join_type,
            },
        }
    }

    /// Joins one more member in the cheapest way.
    pub(super) fn extend(
        &mut self,
        graph: &Graph,
        left: &JoinPlanRef,
        member: &PreparedMember,
        keep_order: bool,
    ) -> Result<Partial, MysqlError> {
        self.cx.eval.cancel.check()?;
        self.cx.joins_considered += 1;
        let matching = self.matching(graph, left.relations, member);
        let joining = self.joining_all(&matching.join_conjuncts)?;
        let pairs = left.rows * member.own.rows * joining;
        let with_partner = left.rows.min(pairs);
        let rows = match matching.join_type {
            JoinType::Inner => pairs,
            JoinType::LeftOuter => pairs.max(left.rows),
            JoinType::Semi => with_partner,
            JoinType::Anti => (left.rows - with_partner).max(left.rows * ANTI_JOIN_LEAST_SHARE),
        };
        let best = match self.lateral(left, member, &matching, rows) {
            Some(lateral) => lateral,
            None => {
                let lookup = self.lookup(left, member, &matching, rows, keep_order)?;
                let hashed = self.hash(left, member, &matching, rows, keep_order);
                match lookup {
                    Some(lookup)
                        if !self.may_hash(member)
                            || self.partly(&lookup, self.share) <= self.partly(&hashed, self.share) =>
                    {
                        lookup
                    }
                    _ => hashed,
                }
            }
        };
        if matching.after.is_empty() {
            return Ok(best);
        }
        let filtered = self.filtered(Rc::new(best), matching.after);
        Ok(Rc::unwrap_or_clone(filtered))
    }

    /// Whether a member that can be looked up may also be joined by hash.
    pub(super) fn may_hash(&self, member: &PreparedMember) -> bool {
        let bound = member.relation.map(|relation| &self.select.relations[relation]);
        bound.and_then(|bound| bound.hints.hash_join).unwrap_or(self.cx.switches.hash_join)
    }

    /// Joins a lateral query, which runs for each left row.
    fn lateral(
        &self,
        left: &JoinPlanRef,
        member: &PreparedMember,
        matching: &JoinConditions,
        rows: f64,
    ) -> Option<Partial> {
        let (relation, Step::Derived { node, .. }) = (member.relation?, &member.own.step) else {
            return None;
        };
        let source = &self.select.relations.get(relation)?.source;
        if !matches!(source, RelationSource::Lateral(_)) {
            return None;
        }
        Some(Partial {
            relations: left.relations.union(member.relations),
            rows,
            cost_us: left.cost_us + left.rows.max(1.0) * member.own.cost_us,
            startup_us: left.startup_us + member.own.cost_us,
            empty: left.empty,
            step: Step::Lateral {
                left: left.clone(),
                relation,
                node: node.clone(),
                conditions: matching.local.iter().chain(&matching.join_conjuncts).cloned().collect(),
                join_type: matching.join_type,
            },
        })
    }

    /// Joins a member by a lookup for each left row, if it has an index for that.
    fn lookup(
        &mut self,
        left: &JoinPlanRef,
        member: &PreparedMember,
        matching: &JoinConditions,
        rows: f64,
        keep_order: bool,
    ) -> Result<Option<Partial>, MysqlError> {
        let Some(relation) = member.relation else { return Ok(None) };
        let Some(RelationSource::Base(table)) =
            self.select.relations.get(relation).map(|bound| &bound.source)
        else {
            return Ok(None);
        };
        let table = table.clone();
        let conditions: Vec<Expr> = matching.join_conjuncts.iter().chain(&matching.local).cloned().collect();
        let joined = left.relations.union(member.relations);
        let candidates = self.candidates(relation, &table, &conditions, &matching.derived, joined)?;
        let model = self.cx.planner.model;
        let mut best: Option<(Price, &Candidate)> = None;
        for candidate in candidates.iter().filter(|candidate| candidate.path.constraint.is_correlated()) {
            let mut price = self.for_rows_of(left, candidate)?.price(left.rows.max(1.0), model);
            if !matching.join_type.delivers_partners() {
                // The first match ends a lookup.
                price.total_us /= candidate.rows.max(1.0);
            }
            if best.as_ref().is_none_or(|(known, _)| price.total_us < known.total_us) {
                best = Some((price, candidate));
            }
        }
        let fallback = best.and_then(|(price, candidate)| {
            self.fallback_of_lookup(left, member, matching, (candidate, price), keep_order)
        });
        Ok(best.map(|(price, candidate)| Partial {
            relations: joined,
            rows,
            cost_us: left.cost_us + price.total_us + left.rows * model.cpu.hash_probe + rows * model.cpu.row,
            startup_us: left.startup_us + price.startup_us,
            empty: left.empty,
            step: Step::Lookup {
                left: left.clone(),
                relation,
                candidate: candidate.clone().ordered(ScanOrder::Any),
                join_type: matching.join_type,
                keep_order,
                fallback,
            },
        }))
    }

    /// Adjusts a candidate for the left rows, if these belong to one table and their keys come from its index. Few rows are not
    /// worth the estimate.
    fn for_rows_of(&mut self, left: &Partial, candidate: &Candidate) -> Result<Candidate, MysqlError> {
        let values = candidate.path.constraint.equal_values();
        let column = values.first().and_then(|value| value.and_then(Expr::as_column));
        let outer = match &left.step {
            Step::Filter { input, .. } => &input.step,
            step => step,
        };
        let (Some(column), Step::Access { relation, candidate: outer }, KEY_SPAN_LEAST_ROWS..) =
            (column, outer, left.rows)
        else {
            return Ok(candidate.clone());
        };
        let bound = &self.select.relations[*relation];
        match column.checked_sub(bound.columns.start) {
            Some(ordinal) if ordinal < outer.path.table.columns.len() => {
                Ok(self.cx.planner.for_rows_of(outer, ordinal, candidate, self.cx.eval)?)
            }
            _ => Ok(candidate.clone()),
        }
    }

    /// Joins a member by hash.
    fn hash(
        &self,
        left: &JoinPlanRef,
        member: &PreparedMember,
        matching: &JoinConditions,
        rows: f64,
        keep_order: bool,
    ) -> Partial {
        let cpu = &self.cx.planner.model.cpu;
        let right = &member.own;
        let (keys, conditions) = self.hash_keys(&matching.join_conjuncts, left.relations, member.relations);
        // Only the side that streams keeps its unmatched rows.
        let build_left = matching.join_type == JoinType::Inner && !keep_order && left.rows < right.rows;
        let (build, probe) = if build_left { (left.rows, right.rows) } else { (right.rows, left.rows) };
        let pairs = match matching.join_type {
            _ if keys.is_empty() => build * probe,
            JoinType::Inner | JoinType::LeftOuter => rows,
            // Without further conditions the first candidate decides, and no pair is evaluated.
            JoinType::Semi | JoinType::Anti if conditions.is_empty() => 0.0,
            JoinType::Semi | JoinType::Anti => probe.max(rows),
        };
        // Left rows that match no candidate are known only at the end of a batch.
        let loses_order = keep_order && matching.join_type == JoinType::LeftOuter && !conditions.is_empty();
        let unordered = if loses_order { f64::INFINITY } else { 0.0 };
        let cost =
            unordered + build * cpu.hash_build + probe * cpu.hash_probe + pairs * (cpu.row + cpu.filter);
        let streamed = if build_left { right } else { left };
        let cost = cost - self.filtered_probe(&keys, matching.join_type, rows, streamed);
        let startup =
            if build_left { left.cost_us + right.startup_us } else { right.cost_us + left.startup_us };
        Partial {
            relations: left.relations.union(member.relations),
            rows,
            cost_us: left.cost_us + right.cost_us + cost,
            startup_us: startup + build * cpu.hash_build,
            empty: left.empty || (right.empty && matching.join_type == JoinType::Inner),
            step: Step::Hash {
                left: left.clone(),
                right: right.clone(),
                keys,
                conditions,
                join_type: matching.join_type,
                keep_order,
                build_left,
            },
        }
    }

    /// Separates the conditions of a join that can be keys of a hash join from the others.
    pub(super) fn hash_keys(
        &self,
        joining: &[Expr],
        left: Relations,
        right: Relations,
    ) -> (Vec<HashKey>, Vec<Expr>) {
        let (mut keys, mut conditions) = (Vec::new(), Vec::new());
        for condition in joining {
            match self.hash_key(condition, left, right) {
                Some(key) => keys.push(key),
                None => conditions.push(condition.clone()),
            }
        }
        (keys, conditions)
    }

    /// Returns the time that a runtime filter saves a hash join of that many `rows`: the scan of the probe side drops rows
    /// without match, so that the join does not look them up. Further savings depend on the place of the column and are not
    /// counted.
    fn filtered_probe(&self, keys: &[HashKey], join: JoinType, rows: f64, probe: &Partial) -> f64 {
        let cpu = &self.cx.planner.model.cpu;
        let told = self.cx.switches.runtime_filter
            && matches!(probe.step, Step::Access { .. })
            && matches!(join, JoinType::Inner | JoinType::Semi)
            && keys.iter().any(|key| !key.null_safe)
            && rows <= probe.rows * self.cx.filtering.most_left;
        if told { (probe.rows - rows) * cpu.hash_probe } else { 0.0 }
    }

    /// Returns an equality between expressions over each side as the key of a hash join.
    fn hash_key(&self, condition: &Expr, left: Relations, right: Relations) -> Option<HashKey> {
        let ExprKind::Compare { op, left: a, right: b, domain } = &condition.kind else { return None };
        let null_safe = match op {
            CompareOp::Eq => false,
            CompareOp::NullSafeEq => true,
            _ => return None,
        };
        let columns = self.columns();
        let (of_a, of_b) = (columns.relations(a), columns.relations(b));
        if of_a.is_empty() || of_b.is_empty() || condition.is_volatile() {
            return None;
        }
        let (l, r) = if left.contains(of_a) && right.contains(of_b) {
            (a, b)
        } else if left.contains(of_b) && right.contains(of_a) {
            (b, a)
        } else {
            return None;
        };
        // A text that is not a date is not NULL, but its hash key would be.
        let text_as_date =
            matches!(domain, CompareDomain::DateTime) && (l.ty.sql.is_string() || r.ty.sql.is_string());
        if null_safe && text_as_date {
            return None;
        }
        let (left, right) = join_keys(l.as_ref().clone(), r.as_ref().clone(), *domain)?;
        Some(HashKey { left, right, null_safe, domain: *domain })
    }
}
