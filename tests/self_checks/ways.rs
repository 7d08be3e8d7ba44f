//! Ways to run a query: hints, switches and costs that lead to different plans.

use super::questions::Question;
use super::tables::Table;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// The optimizer switches that a way may turn off.
const SWITCHES: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "rowid_filter",
    "index_condition_pushdown",
    "skip_scan",
    "mrr",
    "batched_key_access",
    "block_nested_loop",
    "derived_merge",
    "semijoin",
    "subquery_to_derived",
    "derived_condition_pushdown",
];

/// A random read takes long, so that fetching rows one by one is expensive.
const DEAR: &str = "leafline_device = 'reference', leafline_random_read_time = 100000";
/// Sequential reading is slow and random reads are fast, so that skipping is cheap.
const LEAPING: &str =
    "leafline_device = 'reference', leafline_random_read_time = 0.01, leafline_sequential_read_rate = 0.001";

/// Settings of the cost model; the first is the default. No single figure makes the planner choose each path, so the
/// settings range from far too little to far too much.
const CLIMATES: &[&str] = &[
    "leafline_device = 'auto'",
    "leafline_device = 'reference'",
    DEAR,
    LEAPING,
    "leafline_device = 'reference', leafline_cpu_factor = 0.001",
    "leafline_device = 'hdd', leafline_cpu_factor = 50",
    "leafline_device = 'ssd', leafline_cpu_factor = 20000",
];

const THREADS: &[&str] = &["1", "2", "4"];
const READ_AHEAD: &[&str] = &["auto", "auto", "logical", "linear", "physical", "none"];

/// A way to run a query.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The SET statement to run before the query.
    pub setting: String,
    /// The optimizer hints behind SELECT.
    pub hints: String,
    /// The index hint behind a table of FROM: its alias and the hint.
    forced: Option<(String, String)>,
    /// Whether `mrr` is on: rows are fetched in batches.
    pub batched: bool,
    /// Whether `batched_key_access` is on: rows that joins look up are fetched in batches.
    pub batched_keys: bool,
}

/// Returns the statement that turns every switch off.
pub fn everything_off() -> String {
    let off: Vec<String> = SWITCHES.iter().map(|switch| (*switch).to_owned()).collect();
    set(&off, "1", "none", CLIMATES[0])
}

/// Returns the switches: all on, except for the named ones.
fn switches(off: &[String]) -> String {
    let of = |switch: &&str| {
        let state = if off.iter().any(|off| off == switch) { "off" } else { "on" };
        format!("{switch}={state}")
    };
    SWITCHES.iter().map(of).collect::<Vec<_>>().join(",")
}

fn set(off: &[String], threads: &str, read_ahead: &str, climate: &str) -> String {
    format!(
        "SET optimizer_switch = '{}', innodb_parallel_read_threads = {threads}, read_ahead = '{read_ahead}', \
         leafline_random_read_time = 0, leafline_sequential_read_rate = 0, leafline_cpu_factor = 0, {climate}",
        switches(off)
    )
}

impl Way {
    /// The way with the default settings.
    pub fn plain() -> Way {
        let setting = set(&[], "1", "auto", CLIMATES[0]);
        Way { setting, batched: true, batched_keys: true, ..Way::default() }
    }

    /// Draws a way to run a query.
    pub fn new(question: &Question, tables: &[Table], random: &mut SmallRng) -> Way {
        let pick =
            |random: &mut SmallRng, of: &[&str]| of.choose(random).copied().unwrap_or_default().to_owned();
        let off: Vec<String> = match random.random_ratio(1, 3) {
            true => (0..random.random_range(1..3)).map(|_| pick(random, SWITCHES)).collect(),
            false => Vec::new(),
        };
        let is_on = |switch: &str| !off.iter().any(|off| off == switch);
        let (batched, batched_keys) = (is_on("mrr"), is_on("batched_key_access"));
        let (threads, read_ahead) = (pick(random, THREADS), pick(random, READ_AHEAD));
        let climate = pick(random, CLIMATES);
        let setting = set(&off, &threads, &read_ahead, &climate);
        let mut way = Way { setting, batched, batched_keys, ..Way::default() };
        let Some((number, alias)) = question.tables.choose(random) else { return way };
        let names = tables[*number].index_names();
        let Some(index) = names.choose(random) else { return way };
        let other = names.choose(random).unwrap_or(index);
        let (alias, index, aimed) = match &question.aim {
            Some((alias, index, hint)) if random.random_ratio(2, 3) => (alias, index.as_str(), Some(*hint)),
            _ => (alias, *index, None),
        };
        let hints = match random.random_range(0..22) {
            _ if aimed.is_some() && random.random_ratio(2, 3) => {
                // Costs at which the path is worth while.
                if random.random() {
                    let leaps = matches!(aimed, Some("GROUP_INDEX" | "SKIP_SCAN"));
                    let climate = if leaps { LEAPING } else { DEAR };
                    way.setting = set(&off, &threads, &read_ahead, climate);
                }
                // A hint that permits a path does not force its index.
                if aimed == Some("SKIP_SCAN") && random.random_ratio(2, 3) {
                    way.forced = Some((alias.clone(), format!(" FORCE INDEX ({index})")));
                }
                match aimed {
                    Some("JOIN_INDEX") if random.random_ratio(1, 3) => {
                        format!("JOIN_INDEX({alias} {index}) NO_BKA()")
                    }
                    Some("INDEX_MERGE") | None => format!("INDEX_MERGE({alias})"),
                    Some(hint) => format!("{hint}({alias} {index})"),
                }
            }
            0..6 => {
                let word = pick(random, &["FORCE", "FORCE", "FORCE", "USE", "IGNORE"]);
                way.forced = Some((alias.clone(), format!(" {word} INDEX ({index})")));
                String::new()
            }
            6 => format!("INDEX({alias} {index})"),
            7 => format!("INDEX_MERGE({alias} {index}, {other})"),
            8 | 9 => format!("INDEX_MERGE({alias})"),
            10 | 11 => format!("SKIP_SCAN({alias} {index})"),
            12 => pick(random, &["NO_MRR", "MRR", "NO_ICP", "NO_SKIP_SCAN"]) + &format!("({alias})"),
            13 => format!("MRR({alias} {index})"),
            14 => pick(random, &["NO_BKA", "NO_BKA", "BKA", "NO_BNL", "BNL"]) + &format!("({alias})"),
            15 | 16 => {
                let all = [
                    "NO_BNL()",
                    "NO_BNL() NO_BKA()",
                    "NO_BNL() NO_BKA()",
                    "JOIN_FIXED_ORDER()",
                    "NO_SEMIJOIN()",
                ];
                pick(random, &all)
            }
            17 => format!("JOIN_PREFIX({alias})"),
            18 | 19 if !question.order.is_empty() => format!("ORDER_INDEX({alias} {index})"),
            18 | 19 => format!("JOIN_INDEX({alias} {index})"),
            _ => String::new(),
        };
        way.batched &= !hints.starts_with("NO_MRR");
        way.batched_keys &= !hints.contains("NO_BKA");
        if !hints.is_empty() {
            way.hints = format!(" /*+ {hints} */");
        }
        way
    }

    /// The text of the query with the hints of this way.
    pub fn text(&self, question: &Question, tables: &[Table]) -> String {
        question.text(&self.hints, &|number, alias| {
            let hint = match &self.forced {
                Some((forced, hint)) if forced == alias => hint.as_str(),
                _ => "",
            };
            format!("{} {alias}{hint}", tables[number].name)
        })
    }
}
