//! What who watches a server may ask an instance for, without a session.
//!
//! Nothing of this reads pages of tables, but for [`page_map`](Instance::page_map), which reads branches, a bounded number of them.

mod history;
mod page_map;
mod statements;

pub use history::{History, Sample};
pub use leafline_planner::explain::{ActualStep, PlanPicture, PlanStep, RejectedPath};
pub use page_map::{IndexSize, PageMap};
pub use statements::{StatementFigures, StatementId};

use crate::instance::Instance;
use crate::statement_times::KindTimes;
use crate::status::{self, Is};
use crate::system_table::SYSTEM_DATABASE;
use leafline_table::{IndexDef, TableDef};

/// How often an index was used.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexUse {
    /// Its database.
    pub database: String,
    /// Its table.
    pub table: String,
    /// Its name.
    pub index: String,
    /// Runs of plans that may read it, but for the last few of each plan.
    pub uses: u64,
}

/// An index as it is stored.
struct StoredIndex<'i> {
    table: &'i TableDef,
    /// The partition's name, of a table that has any.
    partition: Option<&'i str>,
    /// The table, or its partition.
    stored: &'i TableDef,
    index: &'i IndexDef,
}

impl Instance {
    /// The status variables of the server as numbers, but for those that are made of others.
    pub fn status(&self) -> Vec<(&'static str, u64, Is)> {
        let storage = self.storage_counters();
        let (counters, commands) = (self.global_counters(), self.global_commands());
        status::observed((&counters, &commands), &storage, &self.gauges())
    }

    /// How long statements of each kind took.
    pub fn times_by_kind(&self) -> Vec<KindTimes> {
        self.statement_times().all()
    }

    /// Shows each index of the tables that are users', of each partition, until `each` has enough.
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

    /// How often each index was used, those of tables with partitions together.
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
