//! The queries of TPC-H bind.

use super::tpch_queries::{QUERIES, TABLES};
use super::{Tables, bind_with};

#[test]
fn every_query_binds() {
    let tables = Tables::new(TABLES);
    assert_eq!(QUERIES.len(), 22);
    for (number, sql, _) in QUERIES {
        if let Err(e) = bind_with(&tables, sql, true) {
            panic!("query {number}: {e}");
        }
    }
}

#[test]
fn query_1_charges_without_loss() {
    use crate::bound::BoundKind;
    let tables = Tables::new(TABLES);
    let BoundKind::Select(bound) = bind_with(&tables, QUERIES[0].1, true).expect("bound").kind else {
        panic!()
    };
    let types: Vec<_> = bound.output.iter().map(|o| o.expr.ty.sql.to_string()).collect();
    assert_eq!(
        types,
        [
            "char(1)",
            "char(1)",
            "decimal(37,2)",
            "decimal(37,2)",
            "decimal(53,4)",
            "decimal(65,6)",
            "decimal(19,6)",
            "decimal(19,6)",
            "decimal(19,6)",
            "bigint"
        ]
    );
    let aggregation = bound.aggregation.expect("aggregation");
    assert_eq!((aggregation.keys.len(), aggregation.aggregates.len()), (2, 8));
}
