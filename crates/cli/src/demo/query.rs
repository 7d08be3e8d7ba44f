//! TPC-H Query 19 with TPC's validation parameters, and the ways in which the demo runs it.

/// One way to run the query.
pub struct Variant {
    /// Its name in the table of results.
    pub name: &'static str,
    /// Its description, in one line.
    pub story: &'static str,
    /// The index hint after `lineitem`.
    hint: &'static str,
    /// Whether conditions are pushed into the index.
    pushdown: bool,
}

/// Every way, slow ones first.
pub const WAYS: [Variant; 4] = [
    Variant {
        name: "full scan",
        story: "No index: every row of lineitem is read, and nearly all are thrown away.",
        hint: " IGNORE INDEX (i_l_partkey, i_l_suppkey_partkey)",
        pushdown: true,
    },
    Variant {
        name: "index, without pushdown",
        story: "The index finds the rows of each part; each is fetched from the table before its quantity, ship mode and \
                instructions are looked at.",
        hint: " FORCE INDEX (i_l_partkey)",
        pushdown: false,
    },
    Variant {
        name: "index, with pushdown",
        story: "The same index holds quantity, ship mode and instructions: they are tested on the index entry, and only \
                rows that pass are fetched.",
        hint: " FORCE INDEX (i_l_partkey)",
        pushdown: true,
    },
    Variant {
        name: "as the optimizer chooses",
        story: "No hint: two indexes begin with l_partkey, and the optimizer has to see which one filters before fetching.",
        hint: "",
        pushdown: true,
    },
];

impl Variant {
    /// Returns the query.
    pub fn query(&self) -> String {
        QUERY.trim_end().trim_end_matches(';').replacen(HINTED, &format!("{HINTED}{}", self.hint), 1)
    }

    /// Returns the statement that sets the way's switches.
    pub fn switch(&self) -> String {
        let on = if self.pushdown { "on" } else { "off" };
        format!("SET optimizer_switch = 'index_condition_pushdown={on}'")
    }
}

/// The indexes: names and statements.
pub const INDEXES: [(&str, &str); 2] = [
    (
        "i_l_partkey",
        "CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct)",
    ),
    ("i_l_suppkey_partkey", "CREATE INDEX i_l_suppkey_partkey ON lineitem (l_partkey, l_suppkey)"),
];

/// The query without a hint, shared with the benchmarks.
const QUERY: &str = include_str!("../../../../bench/tpch/q19.sql");
const HINTED: &str = "FROM lineitem";

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_syntax::{LexMode, parse};

    #[test]
    fn every_statement_is_sql() {
        for way in WAYS {
            for sql in [way.query(), way.switch(), format!("EXPLAIN {}", way.query())] {
                assert!(parse(&sql, LexMode::default()).is_ok(), "{sql}");
            }
            assert!(way.query().contains(way.hint), "{}", way.query());
        }
        for (name, sql) in INDEXES {
            assert!(parse(sql, LexMode::default()).is_ok() && sql.contains(name));
        }
    }
}
