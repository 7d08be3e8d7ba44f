//! A plan, and the plans that it refers to by number.

use super::{Node, Operator, PointLock, PointPlan, PointRows, Scan};
use crate::params::SMALL_SCAN_ENTRIES;
use leafline_access::AccessPath;
use leafline_expr::{Expr, Search};
use leafline_table::{IndexDef, LockWait, TableDef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A query ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operator that delivers the result.
    pub root: Node,
    /// Number of nodes: ids are below it.
    pub node_count: usize,
    /// The point plan, which reads or changes the rows of one key without operators; `None` if the query needs the operators.
    pub point: Option<PointPlan>,
}

/// The plans of a statement that its other plans refer to by number.
#[derive(Clone, Debug, Default)]
pub struct PlanParts {
    /// The subqueries of expressions, by number. A subquery that became a join is included only where its own plan is needed as
    /// well.
    pub subqueries: BTreeMap<usize, SubqueryPlan>,
    /// The common tables that run by themselves.
    pub commons: BTreeMap<usize, CommonPlan>,
    /// The statement assigns user variables in its expressions; see [`leafline_expr::EvalContext::row_by_row`].
    pub row_by_row: bool,
    /// Whether the statement calls stored functions or fires triggers: it then runs in a transaction that these share.
    pub calls_programs: bool,
}

/// A common table ready to run.
#[derive(Clone, Debug)]
pub struct CommonPlan {
    /// The name of the common table.
    pub name: Arc<str>,
    /// The query.
    pub plan: Plan,
    /// The query depends on the rows of a query around it.
    pub is_dependent: bool,
}

impl PlanParts {
    /// Returns the subqueries that did not become joins, by number, but for those that an index answers.
    pub fn run_by_themselves(&self) -> impl Iterator<Item = (usize, &SubqueryPlan)> {
        let subqueries = self.subqueries.iter().map(|(number, subquery)| (*number, subquery));
        subqueries.filter(|(_, subquery)| !subquery.became_join && subquery.search.is_none())
    }

    /// Returns the plans of all subqueries and common tables, but for those that an index answers.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        let subqueries = self.subqueries.values().filter(|subquery| subquery.search.is_none());
        subqueries.map(|subquery| &subquery.plan).chain(self.commons.values().map(|common| &common.plan))
    }

    /// Whether a subquery locks rows.
    pub fn locks_rows(&self) -> bool {
        self.lock_wait().is_some()
    }

    /// Returns how the plans wait, like [`Plan::lock_wait`].
    pub fn lock_wait(&self) -> Option<LockWait> {
        self.plans().filter_map(Plan::lock_wait).max()
    }
}

/// A subquery ready to run.
#[derive(Clone, Debug)]
pub struct SubqueryPlan {
    /// The query.
    pub plan: Plan,
    /// The subquery depends on the rows of the query around it.
    pub is_dependent: bool,
    /// The subquery became a join. Its own plan runs only for rows that changed since they were read, or that are checked
    /// afterwards.
    pub became_join: bool,
    /// The search whose words it counts, which an index answers without the plan.
    pub search: Option<Arc<SearchPlan>>,
}

/// A search for words in a table.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// The table.
    pub table: Arc<TableDef>,
    /// The FULLTEXT index.
    pub index: Arc<IndexDef>,
    /// The rules and the mode.
    pub search: Arc<Search>,
    /// The words that are sought, a constant.
    pub query: Expr,
    /// The words of the rows that are found, WITH QUERY EXPANSION: a subquery.
    pub expansion: Option<Expr>,
}

impl Plan {
    /// Returns the point plan of a SELECT.
    pub fn point_rows(&self) -> Option<&PointRows> {
        match &self.point {
            Some(PointPlan::Rows(rows)) => Some(rows),
            _ => None,
        }
    }

    /// Returns the point plan of a row to change.
    pub fn point_lock(&self) -> Option<&PointLock> {
        match &self.point {
            Some(PointPlan::LockedRow(lock)) => Some(lock),
            _ => None,
        }
    }

    /// Calls `found` with every node, parents first.
    fn for_each_node<'p>(&'p self, found: &mut dyn FnMut(&'p Node)) {
        fn below<'p>(node: &'p Node, found: &mut dyn FnMut(&'p Node)) {
            found(node);
            node.inputs().into_iter().for_each(|input| below(input, found));
        }
        below(&self.root, found);
    }

    /// Returns the aliases of the tables whose rows the plan locks.
    pub fn locked(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.for_each_node(&mut |node| {
            if let Operator::LockRows(locking) = &node.operator {
                found.extend(locking.tables.iter().map(|table| &*table.alias));
            }
        });
        found
    }

    /// Whether the plan locks rows: then it runs in a transaction that holds the locks, and no row is shown before all are
    /// locked.
    pub fn locks_rows(&self) -> bool {
        self.lock_wait().is_some()
    }

    /// Returns how the plan waits for rows that others have locked, if it locks rows. If it locks several tables, the one with
    /// the shortest wait counts.
    pub fn lock_wait(&self) -> Option<LockWait> {
        let mut found = None;
        self.for_each_node(&mut |node| {
            if let Operator::LockRows(locking) = &node.operator {
                found = found.max(locking.tables.iter().map(|table| table.lock.wait).max());
            }
        });
        found
    }

    /// Calls `found` with every access path that the plan may use.
    pub fn for_each_path(&self, found: &mut dyn FnMut(&AccessPath)) {
        self.for_each_node(&mut |node| {
            if let Some(scan) = node.scan() {
                scan.path
                    .source
                    .locators()
                    .into_iter()
                    .flat_map(|set| set.paths())
                    .for_each(|path| found(path));
                found(&scan.path);
            }
        });
    }

    /// Returns the scans that might not have been chosen for other parameter values. `None`: an index is read in full although
    /// another had bounds, or by leaps, so that only planning again finds the best path for other values.
    pub fn chosen_by_value(&self) -> Option<Vec<Arc<Scan>>> {
        fn collect(node: &Node, alone: bool, chosen: &mut Vec<Arc<Scan>>) -> bool {
            let alone = alone && node.inputs().len() < 2 && node.operator.as_node().inner_scan().is_none();
            if let Some(scan) = node.scan() {
                let path = &scan.path;
                let only = alone && path.is_clustered() && scan.possible_keys.len() < 2;
                let settled = scan.possible_keys.is_empty()
                    || path.search().is_some()
                    || path.is_unique_lookup()
                    || path.constraint.is_correlated()
                    || if path.constraint.is_unbounded() {
                        scan.examined <= SMALL_SCAN_ENTRIES
                    } else {
                        only
                    };
                if !settled && (path.constraint.is_unbounded() || path.leaps()) {
                    return false;
                }
                if !settled {
                    chosen.push(scan.clone());
                }
            }
            node.inputs().into_iter().all(|input| collect(input, alone, chosen))
        }
        let mut chosen = Vec::new();
        collect(&self.root, true, &mut chosen).then_some(chosen)
    }
}
