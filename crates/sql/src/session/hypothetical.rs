//! Hypothetical indexes, which only EXPLAIN takes into account.
//!
//! They belong to the session: nothing is built, logged or shown to others, and they end with the session or
//! with their table. They are stored as requested and added to a definition on demand. One that no longer
//! fits its table (a column is gone, an index has its name) is left out.

use super::Session;
use leafline_planner::SystemRows;
use leafline_planner::binder::{CatalogLookup, StoredFunction};
use leafline_table::{Engine, ForeignKeyDef, IndexSpec, TableDef, TableId, ViewDef};
use leafline_types::MysqlError;
use std::sync::Arc;

/// Hypothetical indexes of any tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct HypotheticalIndexes(Vec<Hypothetical>);

#[derive(Clone, Debug)]
struct Hypothetical {
    table: TableId,
    spec: IndexSpec,
    id: u64,
}

impl HypotheticalIndexes {
    /// Adds an index with the id `id`.
    pub fn push(&mut self, table: TableId, spec: IndexSpec, id: u64) {
        self.0.push(Hypothetical { table, spec, id });
    }

    /// The table together with its hypothetical indexes.
    pub fn on(&self, engine: &Engine, table: Arc<TableDef>) -> Arc<TableDef> {
        let id = table.id;
        let mut with = table;
        for index in self.0.iter().filter(|index| index.table == id) {
            if let Ok(more) = with.with_hypothetical_index(&index.spec, index.id, engine.limits()) {
                with = Arc::new(more);
            }
        }
        with
    }

    /// Their ids.
    fn ids(&self) -> Vec<u64> {
        self.0.iter().map(|index| index.id).collect()
    }
}

impl Session {
    /// The table with the session's hypothetical indexes of it.
    pub(crate) fn with_hypothetical(&self, table: Arc<TableDef>) -> Arc<TableDef> {
        self.objects.hypothetical.on(self.instance.engine(), table)
    }

    /// CREATE INDEX .. HYPOTHETICAL.
    ///
    /// # Errors
    /// The errors of building the index.
    pub(crate) fn create_hypothetical(
        &mut self,
        table: Arc<TableDef>,
        spec: IndexSpec,
    ) -> Result<(), MysqlError> {
        let id = IndexSpec::hypothetical_number();
        let present = self.with_hypothetical(table);
        present.with_hypothetical_index(&spec, id, self.instance.engine().limits())?;
        self.objects.hypothetical.push(present.id, spec, id);
        self.objects.own_tables.definitions_changed();
        Ok(())
    }

    /// Drops a hypothetical index. Returns false if the table has none of this name.
    pub(crate) fn drop_hypothetical(&mut self, table: &Arc<TableDef>, name: &str) -> bool {
        let with = self.with_hypothetical(table.clone());
        let Some(index) = with.index(name).filter(|index| index.is_hypothetical()) else { return false };
        self.objects.hypothetical.0.retain(|known| known.id != index.id);
        self.instance.statistics().forget_hypothetical(&[index.id]);
        self.objects.own_tables.definitions_changed();
        true
    }

    /// Drops all when the session is reset or ends.
    pub(super) fn forget_hypothetical(&mut self) {
        let forgotten = std::mem::take(&mut self.objects.hypothetical);
        if !forgotten.0.is_empty() {
            self.instance.statistics().forget_hypothetical(&forgotten.ids());
            self.objects.own_tables.definitions_changed();
        }
    }
}

/// The catalog as EXPLAIN sees it.
pub(crate) struct CatalogWithHypothetical<'s>(pub &'s Session);

impl CatalogLookup for CatalogWithHypothetical<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        Ok(self.0.with_hypothetical(CatalogLookup::table(self.0, database, name)?))
    }

    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        CatalogLookup::own_table(self.0, database, name).map(|table| self.0.with_hypothetical(table))
    }

    fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.0.view(database, name)
    }

    fn schema_table(&self, database: &str, name: &str) -> Result<Option<SystemRows>, MysqlError> {
        self.0.schema_table(database, name)
    }

    fn stored_function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>, MysqlError> {
        self.0.stored_function(database, name)
    }

    fn has_triggers(&self, table: &TableDef) -> bool {
        self.0.has_triggers(table)
    }

    fn references(&self, database: &str, name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        self.0.references(database, name)
    }
}

#[cfg(test)]
mod tests {
    use crate::session::{Outcome, Session};
    use crate::{Instance, InstanceOptions};
    use leafline_storage::device::SimulatedEnv;
    use leafline_types::{SqlType, value_at};
    use std::sync::Arc;

    fn run(session: &mut Session, sql: &str) {
        if let Outcome::Rows(mut rows) = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
        {
            while rows.next_batch(session).unwrap().is_some() {}
        }
    }

    fn text(session: &mut Session, sql: &str) -> String {
        let Ok(Outcome::Rows(mut rows)) = session.execute(sql) else { panic!("{sql}") };
        let batch = rows.next_batch(session).unwrap().unwrap();
        let text = value_at(&batch.columns[0], 0, &SqlType::Text { max_bytes: u32::MAX });
        while rows.next_batch(session).unwrap().is_some() {}
        text.as_str().unwrap().to_owned()
    }

    /// Estimated cost of a query, microseconds.
    fn cost(session: &mut Session, sql: &str) -> f64 {
        let json = text(session, &format!("EXPLAIN FORMAT=JSON {sql}"));
        let cost = json.split("\"query_cost\": \"").nth(1).and_then(|rest| rest.split('"').next());
        cost.and_then(|cost| cost.parse().ok()).unwrap_or_else(|| panic!("{json}"))
    }

    fn filled() -> Arc<Instance> {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut session = instance.connect().unwrap();
        for sql in [
            // Prices are compared, which depend on how the trees were built.
            "SET leafline_bulk_load_rows = 0",
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, a INT NOT NULL, b INT, c INT, s VARCHAR(30), pad CHAR(200))",
            "INSERT INTO d.t WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199) \
             SELECT x.i * 200 + y.i, (x.i * 200 + y.i) * 7919 % 2000, y.i % 12, x.i, CONCAT('name', y.i), 'p' \
             FROM n x JOIN n y WHERE x.i < 100",
            "CREATE TABLE d.u LIKE d.t",
            "INSERT INTO d.u SELECT * FROM d.t",
        ] {
            run(&mut session, sql);
        }
        instance
    }

    #[test]
    fn prices_are_about_those_of_the_index_when_it_is_built() {
        let instance = filled();
        let mut session = instance.connect().unwrap();
        // The price must not depend on pages in memory.
        run(&mut session, "SET leafline_device = 'reference'");
        for (columns, condition) in [
            ("a", "a = 77"),
            ("a, b", "a = 77 AND b > 3"),
            ("b, a", "b = 7 AND a BETWEEN 100 AND 300"),
            ("c", "c = 44"),
            ("c, a", "c BETWEEN 10 AND 12 AND a < 100"),
            ("s", "s = 'name5'"),
            ("s, c", "s LIKE 'name19%' AND c = 7"),
            ("a DESC, id", "a > 1990"),
            ("b", "b IS NULL"),
        ] {
            run(&mut session, &format!("CREATE INDEX i ON d.t ({columns}) HYPOTHETICAL"));
            run(&mut session, &format!("CREATE INDEX i ON d.u ({columns})"));
            for select in ["id", "*"] {
                let price = |session: &mut Session, table: &str| {
                    let query = format!("SELECT {select} FROM d.{table} FORCE INDEX (i) WHERE {condition}");
                    cost(session, &query)
                };
                let (supposed, built) = (price(&mut session, "t"), price(&mut session, "u"));
                let off = (supposed / built).max(built / supposed);
                assert!(off < 4.0, "({columns}) {select} {condition}: {supposed} for {built}");
            }
            run(&mut session, "DROP INDEX i ON d.t");
            run(&mut session, "DROP INDEX i ON d.u");
        }
    }

    #[test]
    fn each_session_has_its_own() {
        let instance = filled();
        let (mut one, mut other) = (instance.connect().unwrap(), instance.connect().unwrap());
        run(&mut one, "CREATE INDEX i ON d.t (a) HYPOTHETICAL");
        run(&mut other, "CREATE INDEX i ON d.t (c) HYPOTHETICAL");
        let explain = |session: &mut Session, format: &str| {
            text(session, &format!("EXPLAIN FORMAT={format} SELECT * FROM d.t WHERE a = 5"))
        };
        assert!(explain(&mut one, "TREE").contains("Index lookup on t using i (hypothetical)"));
        assert!(explain(&mut one, "JSON").contains("\"using_hypothetical_index\": true"));
        assert!(!explain(&mut other, "TREE").contains("hypothetical"));
        let analyzed = text(&mut one, "EXPLAIN ANALYZE SELECT * FROM d.t WHERE a = 5");
        assert!(analyzed.contains("Table scan on t"), "{analyzed}");
        one.reset();
        assert!(!explain(&mut one, "TREE").contains("hypothetical"));
    }
}
