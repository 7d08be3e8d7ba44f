//! Relations that hold between answers, whatever the plans.
//!
//! * *partitions* (ternary logic partitioning, Rigger and Su, OOPSLA 2020): the rows where `p` is true, false and
//!   NULL together are all rows;
//! * *no optimization* (NoREC, Rigger and Su, ESEC/FSE 2020): as many rows pass a WHERE as rows have `p` true in the
//!   select list;
//! * *divided*: a table with partitions returns the same rows as a table without partitions that has the same
//!   content;
//! * *changes*: DELETE removes, in a transaction that is rolled back, as many rows as SELECT finds, and leaves the
//!   others.

use super::asking::{Asking, Database, Rows};
use super::conditions::Conditions;
use super::tables::Table;
use super::traffic::Traffic;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::fmt::Debug;

/// Conditions tried on the tables of a seed.
const CONDITIONS: usize = 60;

struct Relations {
    asking: Asking,
    checks: u64,
    failed: u64,
}

/// Runs one seed. Returns the number of checks, and the number that ended by an error.
pub fn run(seed: u64) -> (u64, u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let database = Database::new(4096);
    let tables: Vec<Table> = (0..3).map(|number| Table::new(number, &mut random)).collect();
    let mut traffic = Traffic::new(tables.len());
    let mut relations = Relations { asking: database.connect(seed), checks: 0, failed: 0 };
    for sql in ["CREATE DATABASE s", "USE s"] {
        relations.asking.execute(sql);
    }
    for (number, table) in tables.iter().enumerate() {
        relations.asking.execute(&table.definition);
        for sql in traffic.fill(number, table, &mut random) {
            relations.asking.execute(&sql);
        }
        if !table.partitions.is_empty() {
            let (name, whole) = (&table.name, whole(table));
            relations.asking.execute(&format!("CREATE TABLE {whole} LIKE {name}"));
            relations.asking.execute(&format!("ALTER TABLE {whole} REMOVE PARTITIONING"));
            relations.asking.execute(&format!("INSERT INTO {whole} SELECT * FROM {name}"));
        }
    }
    for _ in 0..CONDITIONS {
        let number = random.random_range(0..tables.len());
        let mut make = Conditions { tables: &tables, random: &mut random };
        let scope = make.scope(&[(number, "a")]);
        let p = make.condition(&scope, 3);
        let p =
            super::questions::with_tables(&p, &|number, alias| format!("{} {alias}", tables[number].name));
        relations.condition(&tables[number].name, &p);
        if !tables[number].partitions.is_empty() {
            relations.divided(&tables[number], &p);
        }
        let index = tables[number].index_names().choose(&mut random).map(|name| (*name).to_owned());
        relations.change(&tables[number].name, index.as_deref(), &p);
    }
    assert_eq!(relations.asking.unexpected, Vec::<String>::new());
    let counts = (relations.checks, relations.failed);
    drop(relations);
    database.close();
    counts
}

/// The name of the table with the same rows and no partitions.
fn whole(table: &Table) -> String {
    format!("{}_whole", table.name)
}

impl Relations {
    /// Makes one check. An error on either side ends it, because SQL does not define which expressions are evaluated,
    /// and when.
    fn same<T: PartialEq + Debug>(
        &mut self,
        (one, other): (Result<T, u16>, Result<T, u16>),
        what: &str,
        sql: &str,
    ) {
        match (one, other) {
            (Ok(one), Ok(other)) => {
                assert_eq!(one, other, "LEAFLINE_SEED={}: {what}: {sql}", self.asking.seed);
                self.checks += 1;
            }
            _ => self.failed += 1,
        }
    }

    fn divided(&mut self, table: &Table, p: &str) {
        let mut rows = |table: &str| self.asking.rows(&format!("SELECT id, rev FROM {table} a WHERE {p}"));
        let (parts, all) = (rows(&table.name), rows(&whole(table)));
        self.same((parts, all), "divided", &format!("{p}, {}", table.partitions));
    }

    fn condition(&mut self, table: &str, p: &str) {
        let rows = |asking: &mut Asking, condition: &str| -> Rows {
            asking.rows(&format!("SELECT id, rev FROM {table} a WHERE {condition}"))
        };
        let all = rows(&mut self.asking, "TRUE");
        let parts = (|| {
            let mut parts = rows(&mut self.asking, p)?;
            parts.extend(rows(&mut self.asking, &format!("NOT ({p})"))?);
            parts.extend(rows(&mut self.asking, &format!("({p}) IS NULL"))?);
            parts.sort_unstable();
            Ok(parts)
        })();
        self.same((all, parts), "partitions", p);

        let passed = self.asking.number(&format!("SELECT COUNT(*) FROM {table} a WHERE {p}"));
        let counted = self.asking.number(&format!("SELECT SUM(({p}) IS TRUE) FROM {table} a"));
        self.same((passed, counted), "no optimization", p);
    }

    fn change(&mut self, table: &str, index: Option<&str>, p: &str) {
        let count = self.asking.number(&format!("SELECT COUNT(*) FROM {table} a WHERE {p}"));
        let rest = self.asking.rows(&format!("SELECT id, rev FROM {table} a WHERE ({p}) IS NOT TRUE"));
        let hint = index.map(|index| format!("/*+ INDEX(a {index}) */ ")).unwrap_or_default();
        let sql = format!("DELETE {hint}FROM {table} AS a WHERE {p}");
        self.asking.execute("BEGIN");
        let (deleted, left) = match self.asking.change(&sql) {
            Ok(affected) => {
                (Ok(affected as i64), self.asking.rows(&format!("SELECT id, rev FROM {table} a")))
            }
            // DELETE fails where SELECT warns: values of the wrong form, and a table that a statement changes and
            // reads.
            Err(code) => (Err(code), Err(code)),
        };
        self.asking.execute("ROLLBACK");
        self.same((count, deleted), "changes", &sql);
        self.same((rest, left), "what is left", &sql);
    }
}
