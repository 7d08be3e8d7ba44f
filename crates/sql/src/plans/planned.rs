//! A statement that is bound and planned once and executed many times.

use super::parameters::Parameters;
use super::{KeptRead, TableUse};
use crate::digest::Digest;
use crate::index_uses::PlanExecutions;
use crate::plan_facts::PlanFacts;
use crate::result::ColumnMeta;
use crate::settings::Settings;
use leafline_planner::bound::{BoundDelete, BoundInsert, BoundUpdate};
use leafline_planner::plan::{Plan, PlanParts, PointRows, RowLimit, Scan};
use leafline_syntax::ast::{Explain, ExplainFormat, Into, StatementKind};
use leafline_table::{Catalog, TableId};
use leafline_types::{MysqlError, Value};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A statement that is ready to run, and the versions that it is valid for.
pub(crate) struct Planned {
    pub(crate) work: Arc<Work>,
    pub(crate) parts: Arc<PlanParts>,
    /// Warnings that binding gave, raised again at each execution.
    pub(crate) warnings: Vec<MysqlError>,
    /// Types of the parameters that the plan assumes.
    pub(crate) parameters: Parameters,
    /// True if the plan contains values of variables.
    pub(crate) reads_variables: bool,
    /// Version of the catalog.
    pub(crate) catalog_version: u64,
    /// Version of the session's own tables.
    pub(crate) own_tables: u64,
    /// The accounts and roles under which the privileges were checked: [`Access::key`](crate::accounts::Access::key).
    pub(crate) access: (u64, u64),
    /// True if the account may see the plan.
    pub(crate) explainable: bool,
    /// The tables of the statement.
    pub(crate) uses: Vec<TableUse>,
    pub(crate) settings: Settings,
    pub(crate) database: Option<String>,
    /// The tables read, with their row counts when the plan was made.
    pub(crate) sizes: Vec<(TableId, u64)>,
    pub(crate) chosen: ValueDependence,
    /// Limit of a hint, milliseconds.
    pub(crate) max_execution_time: Option<u64>,
    /// The reader of the point plan, from its first use on.
    pub(crate) kept_read: Mutex<Option<Box<KeptRead>>>,
    pub(crate) digest: Arc<Digest>,
    pub(crate) facts: PlanFacts,
    pub(crate) runs: PlanExecutions,
}

/// How the choice of the plan depends on the values of parameters.
pub(crate) enum ValueDependence {
    /// The choice depended on the costs of these scans, which are estimated again for other values; an empty
    /// list suits all values.
    Scans(Vec<Arc<Scan>>),
    /// The plan is used for these values alone, and for that many more runs.
    For(Vec<Value>, AtomicU32),
}

/// The plan of a statement while it runs, for other sessions to explain.
#[derive(Clone)]
pub(crate) struct RunningPlan {
    pub(crate) work: Arc<Work>,
    pub(crate) parts: Arc<PlanParts>,
    pub(crate) explainable: bool,
}

impl fmt::Debug for RunningPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningPlan").finish_non_exhaustive()
    }
}

pub(crate) enum Work {
    Select {
        plan: Arc<Plan>,
        columns: Arc<[ColumnMeta]>,
        /// The LIMIT of a statement with SQL_CALC_FOUND_ROWS, which the plan does not contain.
        window: Option<RowLimit>,
    },
    Insert {
        insert: Box<BoundInsert>,
        plan: Option<Arc<Plan>>,
    },
    Update {
        update: Box<BoundUpdate>,
        plan: Arc<Plan>,
    },
    Delete {
        delete: Box<BoundDelete>,
        plan: Arc<Plan>,
    },
    Explain {
        work: Box<Work>,
        how: ExplainForm,
    },
    /// A SELECT whose rows go into variables or a file.
    Into {
        work: Box<Work>,
        into: Into,
    },
}

impl Work {
    /// Sets the LIMIT that is applied to the rows of a SELECT.
    pub(crate) fn set_window(&mut self, limit: Option<RowLimit>) {
        if let Work::Select { window, .. } = self {
            *window = limit;
        }
    }

    /// True if executing it runs a SELECT.
    pub(crate) fn runs_query(&self) -> bool {
        match self {
            Work::Select { .. } | Work::Into { .. } => true,
            Work::Explain { work, how } => *how == ExplainForm::Analyze && work.runs_query(),
            Work::Insert { .. } | Work::Update { .. } | Work::Delete { .. } => false,
        }
    }

    /// Wraps the work as its statement asks: into variables or a file, or explained as `how` says.
    pub(crate) fn for_statement(
        self,
        kind: &StatementKind,
        how: Option<ExplainForm>,
    ) -> Result<Work, MysqlError> {
        if let (
            StatementKind::SelectInto { into: Into::Variables(variables), .. },
            Work::Select { columns, .. },
        ) = (kind, &self)
            && columns.len() != variables.len()
        {
            return Err(MysqlError::wrong_number_of_columns_in_select());
        }
        match (how, kind) {
            (Some(ExplainForm::Analyze), _) if !matches!(self, Work::Select { .. }) => {
                Err(MysqlError::not_supported("EXPLAIN ANALYZE of a statement that writes"))
            }
            // An explained INTO is not executed.
            (Some(how), _) => Ok(Work::Explain { work: Box::new(self), how }),
            (None, StatementKind::SelectInto { into, .. }) => {
                Ok(Work::Into { work: Box::new(self), into: into.clone() })
            }
            (None, _) => Ok(self),
        }
    }

    /// The plan and the columns of a query that returns the rows of the plan unchanged.
    fn query(&self) -> Option<(&Arc<Plan>, &Arc<[ColumnMeta]>)> {
        match self {
            Work::Select { plan, columns, window: None } => Some((plan, columns)),
            _ => None,
        }
    }

    /// The plan of the rows that the statement reads.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Work::Select { plan, .. } | Work::Update { plan, .. } | Work::Delete { plan, .. } => Some(plan),
            Work::Insert { plan, .. } => plan.as_deref(),
            Work::Explain { work, .. } | Work::Into { work, .. } => work.plan(),
        }
    }
}

impl Planned {
    /// The columns of the result.
    pub(crate) fn columns(&self) -> &[ColumnMeta] {
        match &*self.work {
            Work::Select { columns, .. } => columns,
            _ => &[],
        }
    }

    /// The plan, if the statement is a query that returns the rows of the plan unchanged.
    pub(crate) fn query(&self) -> Option<(&Arc<Plan>, &Arc<[ColumnMeta]>)> {
        self.work.query()
    }

    /// The point plan of a query without subqueries, common tables and warnings. Its rows may go into variables.
    pub(crate) fn point_query(&self) -> Option<(&PointRows, &Arc<[ColumnMeta]>)> {
        let (plan, columns) = match &*self.work {
            Work::Into { work, into: Into::Variables(_) } => work.query(),
            work => work.query(),
        }?;
        plan.point_rows().filter(|_| self.is_plain()).map(|rows| (rows, columns))
    }

    /// The target of a query's rows, if they do not go to the client.
    pub(crate) fn into(&self) -> Option<&Into> {
        match &*self.work {
            Work::Into { into, .. } => Some(into),
            _ => None,
        }
    }

    /// True if the tables of the plan are in `now` as they were in `catalog`.
    pub(crate) fn has_tables_of(&self, catalog: &Catalog, now: &Catalog) -> bool {
        catalog.version() == now.version()
            || self.sizes.iter().all(|(table, _)| {
                match (catalog.table_by_id(*table), now.table_by_id(*table)) {
                    (Some(then), Some(now)) => Arc::ptr_eq(then, now),
                    _ => false,
                }
            })
    }

    pub(crate) fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    /// Time limit of a query, milliseconds; 0 for none.
    pub(crate) fn time_limit(&self, settings: &Settings) -> u64 {
        self.max_execution_time.unwrap_or(settings.max_execution_time)
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    pub(crate) fn parts(&self) -> &Arc<PlanParts> {
        &self.parts
    }

    /// True if the plan has no subqueries, no common tables and no warnings.
    pub(crate) fn is_plain(&self) -> bool {
        self.warnings.is_empty() && self.parts.subqueries.is_empty() && self.parts.commons.is_empty()
    }

    /// The reader of the point plan; it is made at its first use.
    pub(crate) fn kept_read(
        &self,
        rows: &PointRows,
        columns: &[ColumnMeta],
    ) -> Result<MutexGuard<'_, Option<Box<KeptRead>>>, MysqlError> {
        let mut kept = self.kept_read.lock();
        if kept.is_none() {
            *kept = Some(Box::new(KeptRead::new(rows, columns)?));
        }
        Ok(kept)
    }

    /// Ids of the indexes that the plans read.
    pub(crate) fn indexes(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let plans = self.work.plan().into_iter().chain(self.parts.plans());
        plans.for_each(|plan| {
            plan.for_each_path(&mut |path| {
                found.insert(path.index.id);
            })
        });
        let searches = self.parts.subqueries.values().filter_map(|subquery| subquery.search.as_ref());
        found.extend(searches.map(|search| search.index.id));
        found
    }

    /// Estimated cost with its subqueries and common tables, microseconds.
    pub(crate) fn cost_us(&self) -> f64 {
        let once = self.parts.run_by_themselves().filter(|(_, subquery)| !subquery.is_dependent);
        let once = once.map(|(_, subquery)| subquery);
        let commons = self.parts.commons.values().map(|common| &common.plan);
        let parts = once.map(|subquery| &subquery.plan).chain(commons);
        self.work.plan().into_iter().chain(parts).map(|plan| plan.root.estimate.cost_us).sum()
    }

    /// Estimated rows: of the result, or to be changed.
    pub(crate) fn expected_rows(&self) -> f64 {
        self.work.plan().map_or(0.0, |plan| plan.root.estimate.rows)
    }
}

/// The form of EXPLAIN's output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplainForm {
    Table,
    Tree,
    Json,
    /// The tree with measured figures, after the statement was run.
    Analyze,
}

impl ExplainForm {
    /// The form that an EXPLAIN asks for; `explain_format` where it does not say.
    pub(crate) fn of(explain: &Explain, settings: &Settings) -> ExplainForm {
        match explain.analyze {
            true => ExplainForm::Analyze,
            false => ExplainForm::with_format(explain.format.unwrap_or(settings.explain_format)),
        }
    }

    pub(crate) fn with_format(format: ExplainFormat) -> ExplainForm {
        match format {
            ExplainFormat::Traditional => ExplainForm::Table,
            ExplainFormat::Json => ExplainForm::Json,
            ExplainFormat::Tree => ExplainForm::Tree,
        }
    }
}
