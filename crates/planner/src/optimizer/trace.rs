//! The plans that the optimizer compared, in order, for `information_schema.OPTIMIZER_TRACE`.

use crate::plan::Considered;

/// The steps of planning a statement.
#[derive(Debug, Default)]
pub struct Trace {
    /// The steps in order.
    pub steps: Vec<TraceStep>,
}

/// A comparison.
#[derive(Debug)]
pub enum TraceStep {
    /// The access paths of a table.
    Access {
        /// The alias of the table.
        table: String,
        /// Paths were compared for their order as well.
        for_order: bool,
        /// The paths with their prices for one run; paths that depend on other tables are priced for one outer row.
        ways: Vec<Considered>,
    },
    /// One more table joined.
    Join {
        /// The aliases of the tables joined already.
        joined: Vec<String>,
        /// The aliases of the next table.
        next: Vec<String>,
        /// The join method.
        how: String,
        /// Rows of the join.
        rows: f64,
        /// The price, with the earlier joins, microseconds.
        cost_us: f64,
        /// No cheaper plan is known for these tables.
        cheapest: bool,
    },
    /// A choice between rows in the order of an index and sorted rows.
    Order {
        /// The price of the ordered plan, if there is one, microseconds.
        in_order_us: Option<f64>,
        /// The price of the sorted plan, microseconds.
        sorted_us: f64,
        /// The ordered plan was taken.
        in_order: bool,
    },
}
