//! Chooses indexes greedily: each round adds the index that gains most, priced together with the indexes
//! chosen before (Chaudhuri and Narasayya, VLDB 1997). A candidate is considered for a statement if it makes
//! the statement cheaper alone, or together with the statement's other candidates. A chosen index is left out
//! again if indexes chosen later do nearly as well.

use super::candidates::{CandidateIndex, Demand};
use super::pricing::{Priced, Proposal};
use super::workload::{Query, beginning};
use super::{Advice, part_list, table_name};
use crate::session::{HypotheticalIndexes, Session};
use leafline_syntax::quoted;
use leafline_table::TableId;
use leafline_types::MysqlError;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Least gain of an index, as a share of the cost of all statements.
const LEAST_GAIN: f64 = 0.01;
/// Least saving of an index for one statement, as a share of its cost, to be considered for the statement.
const LEAST_SAVED: f64 = 0.02;
/// Largest size of an index that holds all columns of a statement, as a share of its table.
const MOST_OF_TABLE: f64 = 0.75;
/// Number of candidates that are compared: the ones that save most alone.
const MOST_COMPARED: usize = 64;
/// Greatest number of proposed indexes.
const MOST_CHOSEN: usize = 32;
/// Least loss without an index, as a share of what the statements that read it gain, to keep the index.
const LEAST_SHARE: f64 = 0.05;
/// An index is as good as the best one if the remaining cost is at most this many times as high; the smallest
/// of them is taken.
const ABOUT: f64 = 1.1;

/// The workload, and the indexes chosen for it.
pub(super) struct Chooser {
    pub queries: Vec<Query>,
    /// Prices of the queries with existing indexes alone.
    pub base: Vec<Priced>,
    proposals: Vec<Proposal>,
    /// For each proposal, the numbers of the queries that it is considered for.
    relevant: Vec<BTreeSet<usize>>,
    /// Chosen proposals, each with the prices of all queries from its choice on.
    chosen: Vec<(usize, Vec<Priced>)>,
}

impl Chooser {
    /// Prices the queries, and keeps the ones that can be priced.
    pub fn new(session: &mut Session, all: Vec<Query>) -> Result<Chooser, MysqlError> {
        let (mut queries, mut base) = (Vec::new(), Vec::new());
        for query in all {
            session.cancel.check()?;
            if let Ok(priced) = session.price(&query, &HypotheticalIndexes::default()) {
                queries.push(query);
                base.push(priced);
            }
        }
        Ok(Chooser { queries, base, proposals: Vec::new(), relevant: Vec::new(), chosen: Vec::new() })
    }

    /// Prices of all queries with all chosen indexes.
    pub fn prices(&self) -> &[Priced] {
        self.chosen.last().map_or(&self.base, |(_, prices)| prices)
    }

    /// The proposals that were chosen.
    pub fn proposals(&self) -> impl Iterator<Item = &Proposal> {
        self.chosen.iter().filter_map(|(at, _)| self.proposals.get(*at))
    }

    /// Removes the statistics of the proposals.
    pub fn forget(&self, session: &Session) {
        let ids: Vec<u64> = self.proposals.iter().map(|proposal| proposal.id).collect();
        session.instance.statistics().forget_hypothetical(&ids);
    }

    /// Collects the proposals and chooses among them.
    ///
    /// # Errors
    /// 1317, 3024, and errors of reading pages.
    pub fn choose(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        self.collect(session)?;
        let least = total(&self.queries, &self.base) * LEAST_GAIN;
        while self.chosen.len() < MOST_CHOSEN {
            let mut gains: Vec<(usize, f64)> = Vec::new();
            for at in 0..self.proposals.len() {
                session.cancel.check()?;
                let Some(proposal) = self.proposals.get(at) else { continue };
                if self.proposals().any(|chosen| chosen.begins_with(proposal)) {
                    // A prefix of a chosen index would be redundant.
                    continue;
                }
                let gain = self.gain(session, at)?;
                if gain > least.max(1.0) {
                    gains.push((at, gain));
                }
            }
            let Some(best) = gains.iter().map(|(_, gain)| *gain).max_by(f64::total_cmp) else { break };
            let bytes = |at: usize| self.proposals.get(at).map_or(0.0, |proposal| proposal.bytes);
            let now = total(&self.queries, self.prices());
            let good = gains.into_iter().filter(|(_, gain)| now - gain <= (now - best) * ABOUT);
            let Some((next, _)) = good.min_by(|a, b| bytes(a.0).total_cmp(&bytes(b.0))) else { break };
            let prices = self.prices_with(session, &self.supposed(Some(next)))?;
            self.chosen.push((next, prices));
        }
        self.leave_out_unused();
        self.leave_out_replaced(session)?;
        self.note_outweighed(session, least)
    }

    /// Notes, for each table without a chosen index, the index that saves reads most, if its writes outweigh
    /// that.
    fn note_outweighed(&self, session: &mut Session, least: f64) -> Result<(), MysqlError> {
        let mut best: BTreeMap<TableId, (usize, f64)> = BTreeMap::new();
        for (at, proposal) in self.proposals.iter().enumerate() {
            session.cancel.check()?;
            let reads = self.gain(session, at)? + proposal.writes_us;
            let chosen = self.proposals().any(|chosen| chosen.table.id == proposal.table.id);
            let (_, most) = best.entry(proposal.table.id).or_insert((at, 0.0));
            if reads > least.max(*most).max(1.0) && !chosen {
                best.insert(proposal.table.id, (at, reads));
            }
        }
        let worth_a_note = best.into_values().filter(|(_, reads)| *reads > 0.0);
        let notes = worth_a_note.filter_map(|(at, reads)| {
            let Proposal { table, parts, writes_us, .. } = self.proposals.get(at)?;
            Some(format!(
                "Not worth it: an index of {} ({}) would save reads {reads:.0} us and cost writes {writes_us:.0} us",
                table_name(table),
                part_list(table, parts)
            ))
        });
        let notes: Vec<String> = notes.collect();
        notes.into_iter().for_each(|text| session.warnings.note(MysqlError::unknown_error(text)));
        Ok(())
    }

    /// Prices all queries with the indexes of `supposed`.
    fn prices_with(
        &self,
        session: &mut Session,
        supposed: &HypotheticalIndexes,
    ) -> Result<Vec<Priced>, MysqlError> {
        let price = |query| {
            session.cancel.check()?;
            session.price(query, supposed)
        };
        self.queries.iter().map(price).collect()
    }

    /// Makes the proposals, and finds the queries that each is for.
    fn collect(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        let mut demand = Demand::new();
        for query in &self.queries {
            for wanted in &query.wanted {
                for column in &wanted.equal {
                    *demand.entry((wanted.table.id, *column)).or_default() += query.runs;
                }
            }
        }
        let mut known: HashMap<(TableId, String), Option<usize>> = HashMap::new();
        let mut saved: Vec<f64> = Vec::new();
        for (number, (query, base)) in self.queries.iter().zip(&self.base).enumerate() {
            let mut own = Vec::new();
            for wanted in &query.wanted {
                for CandidateIndex { parts, is_extended } in wanted.lists(&demand) {
                    session.cancel.check()?;
                    let key = (wanted.table.id, part_list(&wanted.table, &parts));
                    let at = match known.get(&key) {
                        Some(at) => *at,
                        None => {
                            let priced = self.queries.iter().zip(&self.base);
                            let made = session.propose(&wanted.table, &parts, priced)?;
                            // An extended index is refused if it is nearly a second copy of the table.
                            let most = session.table_bytes(&wanted.table)? * MOST_OF_TABLE;
                            let made = made.filter(|proposal| !is_extended || proposal.bytes <= most);
                            let at = made.map(|proposal| {
                                self.proposals.push(proposal);
                                self.relevant.push(BTreeSet::new());
                                saved.push(0.0);
                                self.proposals.len() - 1
                            });
                            known.insert(key, at);
                            at
                        }
                    };
                    own.extend(at);
                }
            }
            own.sort_unstable();
            own.dedup();
            let mut all = HypotheticalIndexes::default();
            for at in &own {
                let Some(proposal) = self.proposals.get(*at) else { continue };
                proposal.suppose(&mut all);
                let mut alone = HypotheticalIndexes::default();
                proposal.suppose(&mut alone);
                let saves = base.cost_us - session.price(query, &alone)?.cost_us;
                if saves > base.cost_us * LEAST_SAVED {
                    self.relevant.get_mut(*at).map(|relevant| relevant.insert(number));
                    saved.get_mut(*at).into_iter().for_each(|saved| *saved += saves * query.runs);
                }
            }
            // Some indexes gain only together.
            let together = session.price(query, &all)?;
            for at in own {
                if self.proposals.get(at).is_some_and(|proposal| together.indexes.contains(&proposal.id)) {
                    self.relevant.get_mut(at).map(|relevant| relevant.insert(number));
                    let saves = (base.cost_us - together.cost_us) * query.runs;
                    saved.get_mut(at).into_iter().for_each(|saved| *saved = saved.max(saves));
                }
            }
        }
        let mut order: Vec<f64> = saved.clone();
        order.sort_by(|a, b| b.total_cmp(a));
        let least = order.get(MOST_COMPARED).copied().unwrap_or(0.0);
        for (relevant, saved) in self.relevant.iter_mut().zip(saved) {
            if saved <= least {
                relevant.clear();
            }
        }
        // An index that begins with a good candidate is considered for the candidate's queries, too.
        let compared: Vec<usize> = (0..self.proposals.len())
            .filter(|at| self.relevant.get(*at).is_some_and(|of| !of.is_empty()))
            .collect();
        let mut more: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        for (long, short) in
            compared.iter().flat_map(|long| compared.iter().map(move |short| (*long, *short)))
        {
            if let (Some(one), Some(other)) = (self.proposals.get(long), self.proposals.get(short))
                && one.begins_with(other)
            {
                more.push((long, self.relevant.get(short).cloned().unwrap_or_default()));
            }
        }
        for (long, statements) in more {
            self.relevant.get_mut(long).into_iter().for_each(|relevant| relevant.extend(&statements));
        }
        Ok(())
    }

    /// The chosen indexes, and one more.
    fn supposed(&self, more: Option<usize>) -> HypotheticalIndexes {
        let mut supposed = HypotheticalIndexes::default();
        let chosen = self.chosen.iter().map(|(at, _)| *at).chain(more);
        chosen.filter_map(|at| self.proposals.get(at)).for_each(|proposal| proposal.suppose(&mut supposed));
        supposed
    }

    /// Saving of one more index, less its cost in writes; microseconds.
    fn gain(&self, session: &mut Session, at: usize) -> Result<f64, MysqlError> {
        let (Some(proposal), Some(relevant)) = (self.proposals.get(at), self.relevant.get(at)) else {
            return Ok(0.0);
        };
        let supposed = self.supposed(Some(at));
        let mut gain = -proposal.writes_us;
        for number in relevant {
            let (Some(query), Some(now)) = (self.queries.get(*number), self.prices().get(*number)) else {
                continue;
            };
            gain += query.runs * (now.cost_us - session.price(query, &supposed)?.cost_us);
        }
        Ok(gain)
    }

    /// Removes chosen indexes that no query reads any more, and prefixes of other chosen indexes.
    fn leave_out_unused(&mut self) {
        let Some((_, last)) = self.chosen.last() else { return };
        let used: BTreeSet<u64> = last.iter().flat_map(|priced| priced.indexes.iter().copied()).collect();
        let proposals = &self.proposals;
        self.chosen.retain(|(at, _)| proposals.get(*at).is_some_and(|proposal| used.contains(&proposal.id)));
        let chosen: Vec<usize> = self.chosen.iter().map(|(at, _)| *at).collect();
        let is_needed = |at: usize| {
            let others =
                chosen.iter().filter(|other| **other != at).filter_map(|other| proposals.get(*other));
            let of = proposals.get(at);
            of.is_some_and(|of| !others.into_iter().any(|other| other.begins_with(of)))
        };
        self.chosen.retain(|(at, _)| is_needed(*at));
    }

    /// Removes chosen indexes that others replace nearly as well, the one with the least loss first.
    fn leave_out_replaced(&mut self, session: &mut Session) -> Result<(), MysqlError> {
        loop {
            let mut needless: Option<(usize, f64)> = None;
            for position in 0..self.chosen.len() {
                let Some(loss) = self.loss_if_replaced(session, position)? else { continue };
                if needless.is_none_or(|(_, least)| loss < least) {
                    needless = Some((position, loss));
                }
            }
            let Some((position, _)) = needless else { return Ok(()) };
            let kept: Vec<usize> = self.chosen.iter().map(|(at, _)| *at).collect();
            self.chosen.clear();
            for (_, at) in kept.into_iter().enumerate().filter(|(other, _)| *other != position) {
                let prices = self.prices_with(session, &self.supposed(Some(at)))?;
                self.chosen.push((at, prices));
            }
        }
    }

    /// Cost of leaving out one chosen index, less what that saves in writes; microseconds. `None` if the
    /// index is needed: a statement that reads it would read no other index of its table, or the statements
    /// would lose much of their gain.
    fn loss_if_replaced(&self, session: &mut Session, position: usize) -> Result<Option<f64>, MysqlError> {
        let left_out = self.chosen.get(position).and_then(|(at, _)| self.proposals.get(*at));
        let Some(left_out) = left_out else { return Ok(None) };
        let mut others = HypotheticalIndexes::default();
        let (mut of_table, mut loss, mut gained) = (BTreeSet::new(), -left_out.writes_us, 0.0);
        for other in self.proposals().filter(|proposal| proposal.id != left_out.id) {
            other.suppose(&mut others);
            if other.table.id == left_out.table.id {
                of_table.insert(other.id);
            }
        }
        for ((query, base), now) in self.queries.iter().zip(&self.base).zip(self.prices()) {
            if !now.indexes.contains(&left_out.id) {
                continue;
            }
            session.cancel.check()?;
            let without = session.price(query, &others)?;
            if without.indexes.is_disjoint(&of_table) {
                return Ok(None);
            }
            loss += query.runs * (without.cost_us - now.cost_us);
            gained += query.runs * (base.cost_us - now.cost_us);
        }
        Ok((loss < gained * LEAST_SHARE).then_some(loss))
    }

    /// The chosen indexes, as rows of advice.
    ///
    /// # Errors
    /// 1317 and 3024.
    pub fn advice(&self, session: &Session) -> Result<Vec<Advice>, MysqlError> {
        session.cancel.check()?;
        let mut before = &self.base;
        let mut advice = Vec::with_capacity(self.chosen.len());
        for (at, after) in &self.chosen {
            let Some(proposal) = self.proposals.get(*at) else { continue };
            let name = proposal.spec.name.as_deref().unwrap_or_default();
            let parts = part_list(&proposal.table, &proposal.parts);
            advice.push(Advice {
                table: proposal.table.clone(),
                action: "CREATE INDEX",
                statement: format!(
                    "CREATE INDEX {} ON {} ({parts})",
                    quoted(name),
                    table_name(&proposal.table)
                ),
                undo: Some(format!("DROP INDEX {} ON {}", quoted(name), table_name(&proposal.table))),
                before_us: total(&self.queries, before),
                after_us: total(&self.queries, after),
                writes_us: proposal.writes_us,
                bytes: proposal.bytes,
                why: self.why(before, after),
                verified: None,
            });
            before = after;
        }
        Ok(advice)
    }

    /// Says how many statements gain, and which one most.
    fn why(&self, before: &[Priced], after: &[Priced]) -> String {
        let saved = |at: usize| match (self.queries.get(at), before.get(at), after.get(at)) {
            (Some(query), Some(before), Some(after)) => query.runs * (before.cost_us - after.cost_us),
            _ => 0.0,
        };
        let better = (0..self.queries.len()).filter(|at| saved(*at) > 0.0);
        let count = better.clone().count();
        let most = better.max_by(|a, b| saved(*a).total_cmp(&saved(*b)));
        let Some((query, before, after)) =
            most.and_then(|at| Some((self.queries.get(at)?, before.get(at)?, after.get(at)?)))
        else {
            return String::new();
        };
        format!(
            "{count} of {} statements gain, most of all: {} ({:.3} to {:.3} ms each time)",
            self.queries.len(),
            beginning(&query.sql),
            before.cost_us / 1000.0,
            after.cost_us / 1000.0
        )
    }
}

impl Proposal {
    fn begins_with(&self, first: &Proposal) -> bool {
        self.table.id == first.table.id && self.parts.starts_with(&first.parts)
    }

    fn suppose(&self, supposed: &mut HypotheticalIndexes) {
        supposed.push(self.table.id, self.spec.clone(), self.id);
    }
}

/// Cost of all statements, each as often as it runs; microseconds.
pub(super) fn total(queries: &[Query], prices: &[Priced]) -> f64 {
    queries.iter().zip(prices).map(|(query, priced)| query.runs * priced.cost_us).sum()
}
