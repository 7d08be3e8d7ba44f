//! Figures of an instance for monitoring, which needs no session.
//!
//! No function here reads pages of tables, except [`page_map`](Instance::page_map), which reads a bounded
//! number of branches.

mod history;
mod page_map;
mod statements;

pub use history::{History, Sample};
pub use leafline_planner::explain::{ActualStep, PlanPicture, PlanStep, RejectedPath};
pub use page_map::{IndexSize, PageMap};
pub use statements::{StatementFigures, StatementId};

use crate::instance::Instance;
use crate::statement_times::KindTimes;
use crate::status::{self, StatusKind};
use crate::system_table::SYSTEM_DATABASE;
use leafline_table::{IndexDef, TableDef};

/// Number of uses of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexUse {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The index.
    pub index: String,
    /// Executions of plans that may read it, without the last few of each plan.
    pub uses: u64,
}

/// A stored index: of a table or of a partition.
struct StoredIndex<'i> {
    table: &'i TableDef,
    /// Name of the partition, if the table has any.
    partition: Option<&'i str>,
    /// The table or its partition.
    stored: &'i TableDef,
    index: &'i IndexDef,
}

impl Instance {
    /// The status variables of the server as numbers, without derived ones.
    pub fn status(&self) -> Vec<(&'static str, u64, StatusKind)> {
        let storage = self.storage_counters();
        let (counters, commands) = (self.global_counters(), self.global_commands());
        status::observed((&counters, &commands), &storage, &self.gauges())
    }

    /// Times of statements of each kind.
    pub fn times_by_kind(&self) -> Vec<KindTimes> {
        self.statement_times().all()
    }

    /// Calls `each` for every index of users' tables, once for each partition, until it returns false.
    fn for_each_index(&self, each: &mut dyn FnMut(StoredIndex<'_>) -> bool) {
        let catalog = self.engine().catalog();
        let names =
            catalog.databases().map(|database| &database.name).filter(|name| *name != SYSTEM_DATABASE);
        for table in names.flat_map(|name| catalog.tables(name)) {
            for (at, stored) in table.stored().enumerate() {
                let partition = table.partitioning.as_ref().map(|all| all.name(at));
                let partition = partition.as_deref();
                let show = |index| each(StoredIndex { table, partition, stored, index });
                if !stored.indexes.iter().map(|index| &**index).all(show) {
                    return;
                }
            }
        }
    }

    /// Number of uses of each index; the partitions of a table count together.
    pub fn uses_by_index(&self) -> Vec<IndexUse> {
        let catalog = self.engine().catalog();
        let mut found = Vec::new();
        let names =
            catalog.databases().map(|database| &database.name).filter(|name| *name != SYSTEM_DATABASE);
        for table in names.flat_map(|name| catalog.tables(name)) {
            for index in &table.indexes {
                let uses = self.index_uses().of(index.id);
                let (database, table, index) =
                    (table.database.clone(), table.name.clone(), index.name.clone());
                found.push(IndexUse { database, table, index, uses });
            }
        }
        found
    }
}
