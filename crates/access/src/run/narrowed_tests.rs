//! Paths that are narrowed by runtime filters, and paths whose ranges are merged, against every row.

use crate::run::path_scan_tests::{expected, run, sorted, view};
use crate::testing::{self, column_expr, columns, condition, with_eval};
use crate::{
    AccessPath, Batches, Budget, Counters, Demand, FilterValues, IndexWalk, PathRequest, PathScan,
    RuntimeFilter, ScanContext, ScanOrder,
};
use leafline_expr::build::{compare, in_list, literal, or};
use leafline_expr::{CompareOp, Expr, ExprKind, push_down_not};
use leafline_table::{ReadView, TableDef};
use leafline_types::{Value, encode_part, value_at};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::sync::Arc;

/// Some path to all columns, with the conditions that it is for.
fn random_path(rng: &mut SmallRng, table: &Arc<TableDef>, order: ScanOrder) -> (AccessPath, Vec<Expr>) {
    let index = table.indexes.choose(rng).expect("an index");
    let mut among: Vec<usize> = index.key_columns.clone();
    among.push(rng.random_range(0..columns().len()));
    let mut conjuncts: Vec<Expr> =
        (0..rng.random_range(0..3)).map(|_| push_down_not(condition(rng, &among, 2))).collect();
    if let (true, Some(first)) = (rng.random(), index.key_columns.first()) {
        let values = (0..rng.random_range(1..6)).map(|_| literal(testing::value(rng, *first))).collect();
        conjuncts.extend(in_list(column_expr(*first), values, false));
    }
    let wanted: Vec<usize> = (0..columns().len()).collect();
    let request = PathRequest {
        table,
        conjuncts: &conjuncts,
        wanted: &wanted,
        condition_pushdown: rng.random(),
        unpushed: &[],
        batches: Batches::ALL,
        deliver_locators: false,
    };
    let mut path = request.build(index, order);
    path.walk = if rng.random() { IndexWalk::Leaps } else { IndexWalk::EveryEntry };
    (path, conjuncts)
}

/// The rows that a path delivers when a scan is told of a filter.
fn run_narrowed(
    path: &AccessPath,
    filter: &Arc<RuntimeFilter>,
    examined: f64,
    view: &ReadView,
) -> Vec<Vec<Value>> {
    let path = Arc::new(path.clone());
    let (mut counters, mut budget, mut found) = (Counters::default(), Budget::default(), Vec::new());
    with_eval(|eval| {
        let mut cx = ScanContext { eval, view, counters: &mut counters, budget: &mut budget };
        let mut scan = PathScan::new(&path);
        scan.narrow(&path, vec![filter.clone()], examined, &mut cx);
        scan.start(Demand::All, &mut cx).expect("a started scan");
        while let Some(batch) = scan.next(&mut cx).expect("rows") {
            for row in 0..batch.batch.rows {
                let values = path.columns.iter().take(path.delivered).zip(&batch.batch.columns);
                found.push(
                    values.map(|(c, array)| value_at(array, row, &path.table.columns[*c].ty)).collect(),
                );
            }
        }
    });
    found
}

#[test]
fn what_a_filter_lets_pass_is_delivered() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let engine = testing::engine();
    let rows = testing::rows(&mut rng, 700);
    let table = testing::table(&engine, "t", &["id"], &rows);
    let view = view(&engine);
    let (mut made, mut fewer) = (0, 0);
    for case in 0..600 * testing::scale() {
        let (path, conjuncts) = random_path(&mut rng, &table, ScanOrder::Any);
        let column = rng.random_range(0..columns().len());
        let values: Vec<Value> =
            (0..rng.random_range(0..12)).map(|_| testing::value(&mut rng, column)).collect();
        let is_one = |value: &Value| compare(CompareOp::Eq, column_expr(column), literal(value.clone()));
        let Ok(equalities) = values.iter().map(is_one).collect::<Result<Vec<Expr>, _>>() else { continue };
        let domain = equalities.iter().find_map(|equality| match &equality.kind {
            ExprKind::Compare { domain, .. } => Some(*domain),
            _ => None,
        });
        let Some(mut filter) = domain.and_then(|domain| FilterValues::new(&table, column, domain)) else {
            continue;
        };
        if !values.iter().all(|value| filter.add(value.clone())) {
            continue;
        }
        made += 1;
        let examined = *[0.0, 1e9].choose(&mut rng).expect("numbers");
        let context =
            format!("seed {seed}, case {case}, column {column} of {values:?}: {conjuncts:?} {path:?}");
        let found = sorted(run_narrowed(&path, &Arc::new(filter.finish()), examined, &view));
        let wanted: Vec<usize> = (0..columns().len()).collect();
        let without = sorted(expected(&rows, &conjuncts, &wanted));
        let all: Vec<Expr> = conjuncts.iter().cloned().chain([or(equalities)]).collect();
        for row in sorted(expected(&rows, &all, &wanted)) {
            assert!(found.binary_search(&row).is_ok(), "{row} is lacking: {context}");
        }
        assert!(found.iter().all(|row| without.binary_search(row).is_ok()), "{context}");
        fewer += usize::from(found.len() < without.len());
    }
    assert!(made > 100 && fewer > 20, "seed {seed}: {made} filters, {fewer} of use");
}

#[test]
fn merged_ranges_come_in_the_order_of_what_is_behind() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let engine = testing::engine();
    let rows = testing::rows(&mut rng, 700);
    let table = testing::table(&engine, "t", &["id"], &rows);
    let view = view(&engine);
    let (mut points, mut others) = (0, 0);
    for case in 0..600 * testing::scale() {
        let order = if rng.random() { ScanOrder::Forward } else { ScanOrder::Reverse };
        let (mut path, conjuncts) = random_path(&mut rng, &table, order);
        // Where the parts have no single values, what is read is sorted.
        let parts = rng.random_range(1..=path.index.key_parts.len());
        path.merged = Some(parts);
        let several = parts <= path.constraint.point_parts();
        let context = format!("seed {seed}, case {case}, {parts} parts: {conjuncts:?} {path:?}");
        let (found, _) = run(&path, &view, None);
        let found: Vec<Vec<Value>> = found.into_iter().map(|(_, row)| row).collect();
        let key = |row: &Vec<Value>| {
            let mut key = Vec::new();
            for (column, part) in path.index.key_columns.iter().zip(&path.index.key_parts).skip(parts) {
                encode_part(part, &row[*column], &mut key).expect("a value of the column");
            }
            key
        };
        let mut keys: Vec<Vec<u8>> = found.iter().map(key).collect();
        if order == ScanOrder::Reverse {
            keys.reverse();
        }
        assert!(keys.is_sorted(), "{context}");
        let wanted: Vec<usize> = (0..columns().len()).collect();
        let is_more = found.len() > 1;
        assert_eq!(sorted(found), sorted(expected(&rows, &conjuncts, &wanted)), "{context}");
        *if several { &mut points } else { &mut others } += usize::from(is_more);
    }
    assert!(points > 20 && others > 50, "seed {seed}: {points} of single values, {others} of others");
}
