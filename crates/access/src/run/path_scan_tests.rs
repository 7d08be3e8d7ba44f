//! Access paths against every row: whichever index, with and without pushed conditions, covering or not, in order or not, with own
//! writes, for outer rows.

use crate::constraint::Bounds;
use crate::run::context::{Budget, Demand, ScanContext};
use crate::run::path_scan::PathScan;
use crate::testing::{self, column_expr, columns, condition, with_eval};
use crate::{
    AccessPath, Batches, Counters, IndexWalk, Located, LocatorSet, PathRequest, Permission, PointRead,
    ScanOrder, ScanPiece, Share, Source,
};
use leafline_expr::build::{and, column, compare};
use leafline_expr::{CompareOp, Expr, ExprKind, evaluate_condition, push_down_not};
use leafline_table::{Engine, Isolation, ReadAheadKind, ReadAheadSettings, ReadView, TableDef, TxnMode};
use leafline_types::{
    Batch, CancelToken, ColumnBuilder, ExprType, RowBlock, SqlType, Value, encode_part, value_at,
};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::sync::Arc;

/// The rows of a path: outer row, then the wanted values.
pub(crate) type Found = Vec<(u32, Vec<Value>)>;

pub(crate) fn run(path: &AccessPath, view: &ReadView, outer: Option<&Batch>) -> (Found, Counters) {
    let path = Arc::new(path.clone());
    let mut counters = Counters::default();
    let mut found = Vec::new();
    with_eval(|eval| {
        let mut cx = ScanContext { eval, view, counters: &mut counters, budget: &mut Budget::default() };
        let mut scan = PathScan::new(&path);
        match outer {
            Some(outer) => {
                scan.start_for(outer.clone(), false, Demand::Unknown, &mut cx).expect("a started scan")
            }
            // A scan of everything may come in the order of the pages.
            None if view.read_ahead().kind == ReadAheadKind::Physical => {
                scan.start(Demand::All, &mut cx).expect("a started scan")
            }
            None => scan.start(Demand::Unknown, &mut cx).expect("a started scan"),
        }
        while let Some(batch) = scan.next(&mut cx).expect("rows") {
            assert_eq!(batch.batch.rows, batch.tags.len());
            assert!(batch.batch.rows > 0);
            for (row, tag) in batch.tags.iter().enumerate() {
                let values = path.columns.iter().take(path.delivered).zip(&batch.batch.columns);
                let values = values
                    .map(|(column, array)| value_at(array, row, &path.table.columns[*column].ty))
                    .collect();
                found.push((*tag, values));
            }
        }
    });
    (found, counters)
}

pub(crate) fn expected(rows: &[Vec<Value>], conjuncts: &[Expr], wanted: &[usize]) -> Vec<Vec<Value>> {
    with_eval(|eval| {
        let passing =
            rows.iter().filter(|row| evaluate_condition(conjuncts, row, eval).expect("a condition"));
        passing.map(|row| wanted.iter().map(|column| row[*column].clone()).collect()).collect()
    })
}

pub(crate) fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<String> {
    rows.iter_mut().flatten().for_each(|value| {
        if let Value::Double(number) = value {
            *number += 0.0;
        }
    });
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}

fn random_wanted(rng: &mut SmallRng) -> Vec<usize> {
    let all: Vec<usize> = (0..columns().len()).collect();
    let count = rng.random_range(0..4);
    let mut wanted: Vec<usize> = all.choose_multiple(rng, count).copied().collect();
    wanted.sort_unstable();
    wanted
}

pub(crate) fn view(engine: &Arc<Engine>) -> ReadView {
    engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly).view()
}

/// Whether every row's key in the index is at least that of the row before.
fn assert_ordered(path: &AccessPath, rows: &[Vec<Value>], context: &str) {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for row in rows {
        let mut key = Vec::new();
        for (column, part) in path.index.key_columns.iter().zip(&path.index.key_parts) {
            let at = path.columns.iter().position(|known| known == column).expect("all columns are wanted");
            encode_part(part, &row[at], &mut key).expect("a value of the column");
        }
        keys.push(key);
    }
    if path.order == ScanOrder::Reverse {
        keys.reverse();
    }
    assert!(keys.is_sorted(), "{context}");
}

/// Checks that a point read finds the same rows in the same order as a scan, and counts the same. Returns whether the path has one.
fn check_point_read(
    rng: &mut SmallRng,
    path: &AccessPath,
    view: &ReadView,
    (found, counters): (&[Vec<Value>], &Counters),
    context: &str,
) -> bool {
    let path = Arc::new(path.clone());
    let output: Vec<usize> = (0..path.delivered).rev().collect();
    if !path.is_point_readable() || output.is_empty() {
        return false;
    }
    let mut scan = PointRead::new(&path, &output).expect("a scan");
    let (cancel, mut rows) = (CancelToken::new(), RowBlock::default());
    let mut read = |most: usize, scan: &mut PointRead| {
        let mut counted = Counters::default();
        let is_read = scan.read(&[], most, view, &cancel, &mut counted, &mut rows).expect("rows");
        let values = |row| (0..path.delivered).rev().map(|column| rows.get(row, column).to_value()).collect();
        let values: Vec<Vec<Value>> = (0..rows.rows()).map(values).collect();
        is_read.then_some((values, counted))
    };
    let Some((all, mut counted)) = read(usize::MAX, &mut scan) else { return false };
    if path.order == ScanOrder::Any {
        assert_eq!(sorted(all.clone()), sorted(found.to_vec()), "{context}");
    } else {
        assert_eq!(format!("{all:?}"), format!("{found:?}"), "{context}");
    }
    // Rows are fetched in other batches, and their pages are here now.
    counted.handler_read_rnd = counters.handler_read_rnd;
    counted.leafline_read_ahead_pages = counters.leafline_read_ahead_pages;
    assert_eq!(counted, *counters, "{context}");
    let most = rng.random_range(0..all.len() + 2);
    let (some, _) = read(most, &mut scan).expect("fewer rows are few, too");
    assert_eq!(some.len(), most.min(all.len()), "{context}");
    if !path.fetches() || path.order != ScanOrder::Any {
        assert_eq!(format!("{some:?}"), format!("{:?}", &all[..some.len()]), "{context}");
    }
    true
}

/// The pieces of a scan, one after the other, give the same rows, in the same order if that is relied upon. Returns how many there were.
fn check_pieces(
    rng: &mut SmallRng,
    path: &AccessPath,
    view: &ReadView,
    found: &[Vec<Value>],
    context: &str,
) -> usize {
    let path = Arc::new(path.clone());
    let share = Share { threads: rng.random_range(1..4), most_leaves: rng.random_range(1..4) };
    let most = share.threads * share.most_leaves;
    let (mut one_by_one, mut beforehand) = (Vec::new(), Vec::new());
    let mut counters = Counters::default();
    with_eval(|eval| {
        let mut cx = ScanContext { eval, view, counters: &mut counters, budget: &mut Budget::default() };
        let mut scan = PathScan::new(&path);
        let mut source = path.pieces(share, &mut cx).expect("pieces");
        while let Some(piece) = source.next_piece(&mut cx).expect("a piece") {
            one_by_one.push(rows_of_piece(&mut scan, &path, piece, &mut cx));
        }
        for piece in path.cut(most, &mut cx).expect("pieces") {
            beforehand.push(rows_of_piece(&mut scan, &path, piece, &mut cx));
        }
    });
    assert!(beforehand.len() <= most, "{share:?} {} {context}", beforehand.len());
    let pieces = one_by_one.len().min(beforehand.len());
    for all in [one_by_one.concat(), beforehand.concat()] {
        if path.order == ScanOrder::Any {
            assert_eq!(sorted(all), sorted(found.to_vec()), "{share:?} {context}");
        } else {
            assert_eq!(format!("{all:?}"), format!("{found:?}"), "{share:?} {context}");
        }
    }
    pieces
}

fn rows_of_piece(
    scan: &mut PathScan,
    path: &AccessPath,
    piece: ScanPiece,
    cx: &mut ScanContext<'_, '_>,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    scan.start_piece(piece, cx).expect("a started piece");
    while let Some(batch) = scan.next(cx).expect("rows") {
        let columns = || path.columns.iter().take(path.delivered).zip(&batch.batch.columns);
        let values =
            |row| columns().map(|(c, array)| value_at(array, row, &path.table.columns[*c].ty)).collect();
        rows.extend((0..batch.batch.rows).map(values));
    }
    rows
}

const READ_AHEAD: [ReadAheadKind; 4] =
    [ReadAheadKind::Automatic, ReadAheadKind::Physical, ReadAheadKind::Linear, ReadAheadKind::None];

const ONE_BY_ONE: Batches<'static> = Batches { ranges: Permission::NONE, keys: true };

fn batches(rng: &mut SmallRng) -> Batches<'static> {
    let batches = if rng.random() { Batches::ALL } else { ONE_BY_ONE };
    Batches { keys: rng.random(), ..batches }
}

fn check_all_paths(
    rng: &mut SmallRng,
    table: &Arc<TableDef>,
    rows: &[Vec<Value>],
    view: &ReadView,
    cases: usize,
) {
    let seed = testing::seed();
    let (mut points, mut leapt, mut merged, mut cut) = (0, 0, 0, 0);
    for case in 0..cases {
        let index = table.indexes.choose(rng).expect("an index");
        let mut among: Vec<usize> = index.key_columns.clone();
        if among.is_empty() || rng.random_ratio(1, 3) {
            among.push(rng.random_range(0..columns().len()));
        }
        let conjuncts: Vec<Expr> =
            (0..rng.random_range(0..4)).map(|_| push_down_not(condition(rng, &among, 3))).collect();
        let order = *[ScanOrder::Any, ScanOrder::Forward, ScanOrder::Reverse].choose(rng).expect("orders");
        let wanted = if order == ScanOrder::Any {
            random_wanted(rng)
        } else {
            (0..columns().len()).collect::<Vec<_>>()
        };
        let request = PathRequest {
            table,
            conjuncts: &conjuncts,
            wanted: &wanted,
            condition_pushdown: rng.random(),
            unpushed: &[],
            batches: batches(rng),
            deliver_locators: rng.random_ratio(1, 4),
        };
        let mut path = request.build(index, order);
        path.walk = if rng.random() { IndexWalk::Leaps } else { IndexWalk::EveryEntry };
        if rng.random_ratio(1, 3) {
            if !path.fetches() {
                path = AccessPath { order, ..request.build_scan() };
            }
            let set = Arc::new(locator_set(rng, table, &conjuncts, 2));
            path.source = match path.fetches() {
                true => Source::Fetched { rowid_filter: Some(set) },
                false => Source::Merged(set),
            };
            merged += 1;
        }
        let context =
            format!("seed {seed}, case {case}, {} by {}: {conjuncts:?} {path:?}", table.name, index.name);
        let kind = *READ_AHEAD.choose(rng).expect("a kind");
        let view = &view.clone().with_read_ahead(ReadAheadSettings { kind, ..ReadAheadSettings::default() });
        let (found, counters) = run(&path, view, None);
        assert!(path.leaps() || counters.leafline_leaps == 0, "{context}");
        leapt += usize::from(counters.leafline_leaps > 0);
        let found: Vec<Vec<Value>> = found.into_iter().map(|(_, row)| row).collect();
        if order != ScanOrder::Any {
            assert_ordered(&path, &found, &context);
        }
        assert!(path.fetches() || counters.leafline_rows_fetched == 0, "{context}");
        points += usize::from(check_point_read(rng, &path, view, (&found, &counters), &context));
        if path.can_be_cut() {
            cut += usize::from(check_pieces(rng, &path, view, &found, &context) > 1);
        }
        assert_eq!(sorted(found), sorted(expected(rows, &conjuncts, &wanted)), "{context}");
    }
    assert!(points > cases / 50, "seed {seed}: {points} of {cases} paths had a point read");
    assert!(leapt > cases / 60, "seed {seed}: {leapt} of {cases} paths leapt");
    assert!(cut > cases / 20, "seed {seed}: {cut} of {cases} paths had several pieces");
    assert!(merged > cases / 5, "seed {seed}: {merged} of {cases} paths had sets of locators");
}

/// Some set that has the locators of all rows for which the conditions are true.
fn locator_set(rng: &mut SmallRng, table: &Arc<TableDef>, conjuncts: &[Expr], depth: usize) -> LocatorSet {
    let branches = conjuncts.iter().position(|conjunct| matches!(conjunct.kind, ExprKind::Or(_)));
    match (rng.random_range(0..3), branches) {
        (0, _) if depth > 0 => {
            let sets = (0..rng.random_range(2..4)).map(|_| locator_set(rng, table, conjuncts, depth - 1));
            LocatorSet::All(sets.collect())
        }
        (1, Some(at)) if depth > 0 => {
            let ExprKind::Or(branches) = &conjuncts[at].kind else { unreachable!() };
            let of_branch = |branch: &Expr, rng: &mut SmallRng| {
                let mut conjuncts = conjuncts.to_vec();
                conjuncts[at] = branch.clone();
                locator_set(rng, table, &conjuncts, depth - 1)
            };
            LocatorSet::Any(branches.iter().map(|branch| of_branch(branch, rng)).collect())
        }
        _ => {
            let index = table.indexes.choose(rng).expect("an index");
            let is_decided = |conjunct: &&Expr| index.covers(conjunct.columns());
            let decided: Vec<Expr> = conjuncts.iter().filter(is_decided).cloned().collect();
            let request = PathRequest {
                table,
                conjuncts: &decided,
                wanted: &[],
                condition_pushdown: true,
                unpushed: &[],
                batches: Batches::ALL,
                deliver_locators: true,
            };
            let path = Arc::new(request.build(index, ScanOrder::Any));
            let expected = if rng.random() { f64::INFINITY } else { 10.0 };
            LocatorSet::Entries(Located { path, expected })
        }
    }
}

#[test]
fn every_path_delivers_the_rows_that_satisfy_the_conditions() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let engine = testing::engine();
    let rows = testing::rows(&mut rng, 700);
    for (name, primary) in [("by_id", &["id"][..]), ("by_two", &["-f", "id"]), ("hidden", &[])] {
        let table = testing::table(&engine, name, primary, &rows);
        check_all_paths(&mut rng, &table, &rows, &view(&engine), 120 * testing::scale());
    }
}

#[test]
fn paths_see_the_writes_of_their_own_transaction() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let engine = testing::engine();
    let mut rows = testing::rows(&mut rng, 200);
    let table = testing::table(&engine, "written", &["id"], &rows);
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    for id in 200..260 {
        let mut row = testing::rows(&mut rng, 1).swap_remove(0);
        row[0] = Value::Int(id);
        transaction.insert(&table, &row).expect("an insert");
        rows.push(row);
    }
    let locator = |row: &[Value]| {
        let mut key = Vec::new();
        encode_part(&table.clustered().key_parts[0], &row[0], &mut key).expect("an id");
        key
    };
    for _ in 0..40 {
        let at = rng.random_range(0..rows.len());
        let old = rows.swap_remove(at);
        assert!(transaction.delete(&table, &locator(&old), &old).expect("a delete"));
    }
    for _ in 0..60 {
        let at = rng.random_range(0..rows.len());
        let mut new = testing::rows(&mut rng, 1).swap_remove(0);
        new[0] = rows[at][0].clone();
        transaction.update(&table, &locator(&rows[at]), &rows[at], &new).expect("an update");
        rows[at] = new;
    }
    transaction.begin_statement();
    let view = transaction.view();
    check_all_paths(&mut rng, &table, &rows, &view, 150 * testing::scale());
}

fn outer_batch(rng: &mut SmallRng, rows: usize) -> (Batch, Vec<Vec<Value>>) {
    let all = columns();
    let values: Vec<Vec<Value>> =
        (0..rows).map(|_| (0..all.len()).map(|column| testing::value(rng, column)).collect()).collect();
    let columns = (0..all.len())
        .map(|column| {
            let mut builder = ColumnBuilder::for_type(&all[column].ty);
            values.iter().for_each(|row| builder.push_value(&row[column]).expect("a value"));
            builder.finish()
        })
        .collect();
    (Batch { columns, rows }, values)
}

#[test]
fn lookups_find_the_partners_of_each_outer_row() {
    let seed = testing::seed();
    let mut rng = SmallRng::seed_from_u64(seed);
    let engine = testing::engine();
    let rows = testing::rows(&mut rng, 300);
    let width = columns().len();
    let outer_column = |number: usize| {
        let def = &columns()[number];
        column(width + number, ExprType::column(def.ty.clone(), def.nullable, def.collation))
    };
    for (name, primary) in [("inner_by_id", &["id"][..]), ("inner_hidden", &[])] {
        let table = testing::table(&engine, name, primary, &rows);
        let view = view(&engine);
        let mut pairs = 0;
        for case in 0..100 * testing::scale() {
            let index = table.indexes.choose(&mut rng).expect("an index");
            let first = index.key_columns.first().copied().unwrap_or(0);
            let op = *[CompareOp::Eq, CompareOp::Eq, CompareOp::NullSafeEq, CompareOp::Lt]
                .choose(&mut rng)
                .expect("ops");
            let mut conjuncts =
                vec![compare(op, column_expr(first), outer_column(first)).expect("a comparison")];
            if rng.random() {
                let other = rng.random_range(0..width);
                let op = *[CompareOp::Le, CompareOp::Ne, CompareOp::Eq].choose(&mut rng).expect("ops");
                conjuncts.push(compare(op, outer_column(other), column_expr(other)).expect("a comparison"));
            }
            if rng.random() {
                conjuncts.push(push_down_not(condition(&mut rng, &[first, 1, 3], 1)));
            }
            let outer_count = rng.random_range(1..12);
            let (outer, outer_rows) = outer_batch(&mut rng, outer_count);
            let wanted = random_wanted(&mut rng);
            let request = PathRequest {
                table: &table,
                conjuncts: &conjuncts,
                wanted: &wanted,
                condition_pushdown: rng.random(),
                unpushed: &[],
                batches: batches(&mut rng),
                deliver_locators: false,
            };
            let mut path = request.build(index, ScanOrder::Any);
            path.walk = if rng.random() { IndexWalk::Leaps } else { IndexWalk::EveryEntry };
            let context =
                format!("seed {seed}, case {case}, {} by {}: {conjuncts:?}", table.name, index.name);
            let (found, _) = run(&path, &view, Some(&outer));
            pairs += found.len();
            for (tag, outer_row) in outer_rows.iter().enumerate() {
                let joined: Vec<Vec<Value>> =
                    rows.iter().map(|row| row.iter().chain(outer_row).cloned().collect()).collect();
                let mine = found
                    .iter()
                    .filter(|(found, _)| *found as usize == tag)
                    .map(|(_, row)| row.clone())
                    .collect();
                let wanted = expected(&joined, &conjuncts, &wanted);
                assert_eq!(sorted(mine), sorted(wanted), "outer row {outer_row:?}, {context}");
            }
        }
        assert!(pairs > 1000, "only {pairs} pairs were found");
    }
}

#[test]
fn pushed_conditions_save_row_fetches_and_are_counted() {
    let engine = testing::engine();
    let mut rng = SmallRng::seed_from_u64(7);
    let rows = testing::rows(&mut rng, 1000);
    let table = testing::table(&engine, "counted", &["id"], &rows);
    let view = view(&engine);
    // KEY (k, c, a): k = 'a' is the range; a = 3 is behind c and is tested on the entries.
    let literal = |value: Value| leafline_expr::build::literal(value);
    let conjuncts = [
        compare(CompareOp::Eq, column_expr(9), literal(Value::string("a"))).expect("a comparison"),
        compare(CompareOp::Eq, column_expr(1), literal(Value::Int(3))).expect("a comparison"),
    ];
    let index =
        table.indexes.iter().find(|index| index.key_columns.starts_with(&[9, 3, 1])).expect("the index");
    let count = |pushdown| {
        let request = PathRequest {
            table: &table,
            conjuncts: &conjuncts,
            wanted: &[5],
            condition_pushdown: pushdown,
            unpushed: &[],
            batches: Batches::ALL,
            deliver_locators: false,
        };
        let path = request.build(index, ScanOrder::Any);
        assert_eq!(path.pushes_conditions(), pushdown);
        let (found, counters) = run(&path, &view, None);
        (found.len() as u64, counters)
    };
    let in_range = rows.iter().filter(|row| row[9] == Value::string("a")).count() as u64;
    let (matching, on) = count(true);
    let (matching_off, off) = count(false);
    assert_eq!(matching, matching_off);
    assert!(matching > 0 && matching < in_range / 3);
    assert_eq!((on.leafline_rows_fetched, off.leafline_rows_fetched), (matching, in_range));
    assert_eq!((on.handler_icp_attempts, on.handler_icp_match), (in_range, matching));
    assert_eq!((off.handler_icp_attempts, off.handler_icp_match), (0, 0));
    assert_eq!((on.handler_read_key, on.handler_read_next), (1, matching));
    assert_eq!((off.handler_read_key, off.handler_read_next), (1, in_range));
}

#[test]
fn small_limits_examine_few_entries() {
    let engine = testing::engine();
    let mut rng = SmallRng::seed_from_u64(8);
    let rows = testing::rows(&mut rng, 1000);
    let table = testing::table(&engine, "limited", &["id"], &rows);
    let view = view(&engine);
    let request = PathRequest {
        table: &table,
        conjuncts: &[],
        wanted: &[1, 2],
        condition_pushdown: true,
        unpushed: &[],
        batches: Batches::ALL,
        deliver_locators: false,
    };
    let index = table.indexes.iter().find(|index| index.key_columns.first() == Some(&6)).expect("the index");
    let path = Arc::new(request.build(index, ScanOrder::Forward));
    let mut counters = Counters::default();
    with_eval(|eval| {
        let mut cx =
            ScanContext { eval, view: &view, counters: &mut counters, budget: &mut Budget::default() };
        let mut scan = PathScan::new(&path);
        scan.start(Demand::Rows(10), &mut cx).expect("a started scan");
        let first = scan.next(&mut cx).expect("rows").expect("rows");
        assert_eq!(first.batch.rows, 10);
    });
    assert_eq!(counters.leafline_entries_examined, 10);
    assert_eq!(counters.leafline_rows_fetched, 10);
}

#[test]
fn contradictory_conditions_read_nothing() {
    let bounds = Bounds::none();
    assert!(bounds.ranges.is_empty());
    let engine = testing::engine();
    let mut rng = SmallRng::seed_from_u64(9);
    let table = testing::table(&engine, "empty", &["id"], &testing::rows(&mut rng, 50));
    let literal = |value: i64| leafline_expr::build::literal(Value::Int(value));
    let id = || column(0, ExprType::numeric(SqlType::BIGINT, false));
    let conjuncts = [and(vec![
        compare(CompareOp::Gt, id(), literal(20)).expect("a comparison"),
        compare(CompareOp::Lt, id(), literal(10)).expect("a comparison"),
    ])];
    let request = PathRequest {
        table: &table,
        conjuncts: &conjuncts,
        wanted: &[0],
        condition_pushdown: true,
        unpushed: &[],
        batches: Batches::ALL,
        deliver_locators: false,
    };
    let path = request.build(table.clustered(), ScanOrder::Any);
    let (found, counters) = run(&path, &view(&engine), None);
    assert!(found.is_empty());
    assert_eq!(counters, Counters::default());
}

#[test]
fn rows_with_large_values_are_fetched_few_at_a_time() {
    let engine = testing::engine();
    let rows: Vec<Vec<Value>> = (0..12)
        .map(|id| vec![Value::Int(id), Value::Int(id * 5 % 12), Value::string("x".repeat(2 << 20))])
        .collect();
    let table = testing::table_of_texts(&engine, "large", &rows);
    let view = view(&engine);
    let orders = [ScanOrder::Any, ScanOrder::Forward, ScanOrder::Reverse];
    for (order, batches) in orders.iter().flat_map(|order| [(*order, Batches::ALL), (*order, ONE_BY_ONE)]) {
        let request = PathRequest {
            table: &table,
            conjuncts: &[],
            wanted: &[1, 2],
            condition_pushdown: true,
            unpushed: &[],
            batches,
            deliver_locators: false,
        };
        let index = table.indexes.iter().find(|index| index.key_columns.first() == Some(&1));
        let path = Arc::new(request.build(index.expect("the index"), order));
        let mut counters = Counters::default();
        let mut found = Vec::new();
        with_eval(|eval| {
            let mut cx =
                ScanContext { eval, view: &view, counters: &mut counters, budget: &mut Budget::default() };
            let mut scan = PathScan::new(&path);
            scan.start(Demand::All, &mut cx).expect("a started scan");
            while let Some(batch) = scan.next(&mut cx).expect("rows") {
                assert!(batch.batch.rows <= 5, "{order:?}: {} rows at a time", batch.batch.rows);
                for row in 0..batch.batch.rows {
                    let value = |column: usize, ty: &SqlType| value_at(&batch.batch.columns[column], row, ty);
                    found.push(value(0, &SqlType::BIGINT));
                    let text = value(1, &SqlType::Text { max_bytes: u32::MAX });
                    assert!(text == rows[0][2], "{order:?}: a value is another");
                }
            }
        });
        let number = |id: i64| Value::Int(id * 5 % 12);
        match order {
            ScanOrder::Any if path.batched => assert_eq!(found, (0..12).map(number).collect::<Vec<_>>()),
            ScanOrder::Any | ScanOrder::Forward => {
                assert_eq!(found, (0..12).map(Value::Int).collect::<Vec<_>>())
            }
            ScanOrder::Reverse => assert_eq!(found, (0..12).rev().map(Value::Int).collect::<Vec<_>>()),
        }
    }
}
