//! The plans that the optimizer compared, in the order in which it did: for `information_schema.OPTIMIZER_TRACE`.

use crate::plan::Considered;

/// The steps of planning a statement.
#[derive(Debug, Default)]
pub struct Trace {
    /// One after the other.
    pub steps: Vec<TraceStep>,
}

/// A comparison.
#[derive(Debug)]
pub enum TraceStep {
    /// The ways to read a table.
    Access {
        /// Its alias.
        table: String,
        /// For their order as well.
        for_order: bool,
        /// With their prices for one run; those that depend on other tables are for a row of these.
        ways: Vec<Considered>,
    },
    /// A way to join one more table.
    Join {
        /// The aliases of those that are joined already.
        joined: Vec<String>,
        /// The alias of the next.
        next: Vec<String>,
        /// How.
        how: String,
        /// Rows of the join.
        rows: f64,
        /// Its price, with what was joined before, microseconds.
        cost_us: f64,
        /// Nothing cheaper is known for these tables.
        cheapest: bool,
    },
    /// Rows in the order of an index, or sorted.
    Order {
        /// The price of the first, if there is such a plan, microseconds.
        in_order_us: Option<f64>,
        /// The price of the second, microseconds.
        sorted_us: f64,
        /// The first was taken.
        in_order: bool,
    },
}
