//! What who watches a server may ask an instance for, without a session.

use crate::instance::Instance;
use crate::statement_times::KindTimes;
use crate::status::{self, Is};
use crate::system_table::SYSTEM_DATABASE;

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

impl Instance {
    /// The status variables of the server as numbers, but for those that are made of others.
    pub fn status(&self) -> Vec<(&'static str, u64, Is)> {
        let storage = self.storage_counters();
        status::observed(&self.global_counters(), &storage, &self.gauges())
    }

    /// How long statements of each kind took.
    pub fn times_by_kind(&self) -> Vec<KindTimes> {
        self.statement_times().all()
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
