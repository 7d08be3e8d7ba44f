//! Runs the plans of a query, and records their measurements.

use super::Query;
use super::plans::{hints, shape};
use super::rows::rows_of;
use leafline::{Connection, Database, DiskModel, OpenOptions};
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number of runs of a plan in memory; the best run counts.
const RUNS: usize = 5;
/// The most milliseconds of a plan in memory; no chosen plan takes that long.
const MOST_MILLIS: u64 = 5_000;
/// Plans that seem better than the chosen one by this factor are measured again, and the chosen one with them.
const DOUBTFUL: f64 = 1.1;
/// MySQL's number of "maximum statement execution time exceeded".
const TOO_LONG: u16 = 3024;

/// The state of the pages when a query begins.
pub struct Place {
    path: PathBuf,
    options: OpenOptions,
    /// Whether the database is opened anew for every run.
    cold: bool,
    open: Option<(Connection, Database)>,
    /// The prepared statement.
    prepared: String,
}

/// The measurements of a query's plans.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The cost of the chosen plan, in microseconds or as a count.
    pub chosen: f64,
    /// The cost of the best plan.
    pub best: f64,
    /// The hints that force the best plan.
    pub hints: String,
    /// The number of different plans.
    pub plans: usize,
}

impl Place {
    /// Makes a place with a pool that holds everything.
    pub fn in_memory(path: &Path) -> Place {
        Place {
            path: path.into(),
            options: OpenOptions::new().buffer_pool_size(1 << 30),
            cold: false,
            open: None,
            prepared: String::new(),
        }
    }

    /// Makes a place: `memory`; or `none`, `ssd` or `hdd`, with a small pool that is empty when a query begins.
    pub fn on(path: &Path, disk: &str) -> Place {
        let place = Place::in_memory(path);
        let cold = OpenOptions::new().buffer_pool_size(24 << 20).warm_up(false);
        let options = match disk {
            "memory" => return place,
            "none" => cold,
            "ssd" => cold.emulated_disk(DiskModel::SSD),
            "hdd" => cold.emulated_disk(DiskModel::HDD),
            other => panic!("LEAFLINE_DISK={other} is none of memory, none, ssd and hdd"),
        };
        Place { options, cold: true, ..place }
    }

    fn connection(&mut self) -> &mut Connection {
        let Place { path, options, cold, open, .. } = self;
        let open = open.get_or_insert_with(|| {
            let database = options.open(path).expect("the database");
            let mut connection = database.connect().expect("a connection");
            let warm = if *cold { "DO 0" } else { "LOAD INDEX INTO CACHE customer, orders, item, product" };
            for sql in ["USE shop", warm] {
                rows_of(connection.session(), sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            (connection, database)
        });
        &mut open.0
    }

    fn reopen_if_cold(&mut self) {
        if let Some((connection, database)) = self.open.take_if(|_| self.cold) {
            drop(connection);
            database.close().expect("an orderly end");
        }
    }

    fn must(&mut self, sql: &str) -> Vec<String> {
        rows_of(self.connection().session(), sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Returns the hints of plans that differ, first those of the chosen one.
    fn plans(&mut self, query: &Query) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let different = |hints: &String| {
            let sql = hinted(query, hints);
            seen.insert(shape(&self.must(&format!("EXPLAIN FORMAT=TREE {sql}"))))
        };
        hints(query).into_iter().filter(different).collect()
    }

    /// Runs the query with these hints for at most `most` microseconds; returns the time and the rows. None if it
    /// would take longer.
    fn run(&mut self, query: &Query, hints: &str, most: f64) -> Option<(f64, Vec<String>)> {
        let sql = hinted(query, hints);
        self.reopen_if_cold();
        let statement = match self.cold {
            // Statistics are sampled once, not by every query. The pages read for them would help some plans.
            true => {
                self.must(&format!("EXPLAIN {sql}"));
                self.empty_pool();
                sql.as_str()
            }
            // Later runs use the plan of the first.
            false => {
                self.prepare(&sql);
                "EXECUTE prepared"
            }
        };
        // A cached plan is used again only if the settings are unchanged.
        let millis = if self.cold { ((most / 1000.0).ceil() as u64).max(1) } else { MOST_MILLIS };
        self.must(&format!("SET max_execution_time = {millis}"));
        let begun = Instant::now();
        let found = rows_of(self.connection().session(), statement);
        let took = begun.elapsed().as_secs_f64() * 1e6;
        if self.cold {
            self.must("SET max_execution_time = 0");
        }
        match found {
            Ok(rows) => Some((took, rows)),
            Err(MysqlError { code: TOO_LONG, .. }) => None,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Evicts all pages except those that the size of a table needs: branch pages, which are cached in a database in
    /// use.
    fn empty_pool(&mut self) {
        let (_, database) = self.open.as_ref().expect("it is open");
        database.instance().engine().store().evict_clean_pages();
        for table in ["customer", "orders", "item", "product"] {
            self.must(&format!("EXPLAIN SELECT COUNT(*) FROM {table}"));
        }
    }

    fn prepare(&mut self, sql: &str) {
        if self.prepared != sql {
            self.must(&format!("PREPARE prepared FROM '{}'", sql.replace('\\', "\\\\").replace('\'', "''")));
            sql.clone_into(&mut self.prepared);
        }
    }

    fn least(&mut self, query: &Query, hints: &str, most: f64, rows: &[String]) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..if self.cold { 1 } else { RUNS } {
            let Some((took, found)) = self.run(query, hints, most) else { break };
            assert!(found == rows, "{} with /*+ {hints} */ gives other rows: {}", query.name, query.sql);
            least = least.min(took);
            if least > most {
                break;
            }
        }
        least
    }

    /// Returns the times of a query's plans.
    pub fn time(&mut self, query: &Query) -> Measured {
        let plans = self.plans(query);
        let (_, rows) = self.run(query, "", 3.6e9).expect("no query takes an hour");
        let mut chosen = self.least(query, "", 3.6e9, &rows);
        let mut times = Vec::new();
        for hints in plans.iter().skip(1) {
            times.push((self.least(query, hints, chosen * 1.5, &rows), hints));
        }
        let mut best = (chosen, String::new());
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (took, hints) in times.into_iter().take(3) {
            if chosen < took * DOUBTFUL {
                break;
            }
            chosen = chosen.min(self.least(query, "", 3.6e9, &rows));
            let took = took.min(self.least(query, hints, chosen * 1.5, &rows));
            if took < best.0 {
                best = (took, hints.clone());
            }
        }
        Measured { chosen, best: best.0.min(chosen), hints: best.1, plans: plans.len() }
    }

    /// Returns the output of EXPLAIN, and how many pages planning reads.
    pub fn explain(&mut self, query: &Query, hints: &str) -> String {
        let sql = hinted(query, hints);
        self.reopen_if_cold();
        self.must(&format!("EXPLAIN {sql}"));
        let before = self.pages_read();
        if self.cold {
            self.empty_pool();
            self.must(&format!("EXPLAIN {sql}"));
        }
        let planning = self.pages_read() - before;
        if self.cold {
            self.empty_pool();
        }
        let tree = self.must(&format!("EXPLAIN ANALYZE {sql}")).concat();
        format!("{planning} pages read to plan, {} in all\n{tree}", self.pages_read() - before)
    }

    fn pages_read(&mut self) -> u64 {
        let status = self.must("SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'");
        status.iter().filter_map(|row| row.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// Returns the counts of a query's plans: entries, and, weighted, seeks and rows fetched, which take much longer.
    pub fn count(&mut self, query: &Query) -> Measured {
        let plans = self.plans(query);
        let mut rows = None;
        let mut counted = Vec::new();
        for hints in &plans {
            self.must("FLUSH STATUS");
            let found = self.must(&hinted(query, hints));
            let rows = rows.get_or_insert_with(|| found.clone());
            assert!(&found == rows, "{} with /*+ {hints} */ gives other rows: {}", query.name, query.sql);
            let mut count = |name: &str| -> f64 {
                let status = self.must(&format!("SHOW STATUS LIKE '{name}'"));
                status.iter().filter_map(|row| row.rsplit(' ').next()?.parse::<f64>().ok()).sum()
            };
            let apart = count("Leafline_rows_fetched") + count("Handler_read_key");
            counted.push(count("Leafline_entries_examined") + 20.0 * apart + 1000.0);
        }
        let best = (0..plans.len()).min_by(|a, b| counted[*a].total_cmp(&counted[*b])).unwrap_or(0);
        Measured { chosen: counted[0], best: counted[best], hints: plans[best].clone(), plans: plans.len() }
    }
}

fn hinted(query: &Query, hints: &str) -> String {
    query.sql.replace("{}", &if hints.is_empty() { String::new() } else { format!("/*+ {hints} */") })
}

/// The measurements of all queries.
pub struct Report(Vec<(String, String, Measured)>);

impl Report {
    pub fn new() -> Report {
        Report(Vec::new())
    }

    pub fn add(&mut self, query: &Query, measured: Measured) {
        self.0.push((query.name.clone(), query.sql.clone(), measured));
    }

    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> =
            self.0.iter().map(|(_, _, measured)| measured.chosen / measured.best).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    pub fn median(&self) -> f64 {
        self.ratios().get(self.0.len() / 2).copied().unwrap_or(1.0)
    }

    /// Returns the queries whose chosen plan is worse than the best by more than `factor`.
    pub fn worse_than(&self, factor: f64) -> Vec<&(String, String, Measured)> {
        self.0.iter().filter(|(_, _, measured)| measured.chosen > measured.best * factor).collect()
    }

    pub fn print_last(&self) {
        let Some((name, sql, measured)) = self.0.last() else { return };
        let Measured { chosen, best, hints, plans } = measured;
        let ratio = chosen / best;
        println!("| {name} | {:.2} | {:.2} | {ratio:.2} | {plans} | {hints} |", chosen / 1e3, best / 1e3);
        if ratio > 1.3 {
            let sql: String = sql.replace("{}", &format!("/*+ {hints} */")).chars().take(400).collect();
            println!("    {sql}");
        }
    }

    pub fn print_sums(&self, disk: &str) {
        let (all, worst) = (self.0.len(), self.ratios().last().copied().unwrap_or(1.0));
        println!(
            "\n{disk}: {all} queries, median {:.3}, {} over 1.3, {} over 2, worst {worst:.2}",
            self.median(),
            self.worse_than(1.3).len(),
            self.worse_than(2.0).len()
        );
    }
}
