//! How the rows that pass conditions are spread over the order of a column: whether the first few of them come early in it, or late.
//!
//! Sampled rows that pass have a place in the order; what is asked for lies between the places of two of them, or a little before the first. Where too few
//! pass all conditions, they are taken to come as late as those do that pass the one whose rows come last.

use super::table::TableSample;
use crate::error::Result;
use crate::params::{SPREAD_LEAST_PASSING, SPREAD_LEAST_ROWS, SPREAD_MOST_GAIN};
use leafline_expr::Expr;
use leafline_table::TableDef;
use std::rc::Rc;

/// Evaluates conditions on the sampled rows: the rows that pass, `None` if they cannot be evaluated.
type EntrySelectivity<'p> = dyn Fn(&[Expr]) -> Option<Rc<[usize]>> + 'p;

/// The share of the rows, in the order of a column or its reverse, that holds the share `wanted` of those for which the conditions hold.
/// Conditions that cannot be evaluated make no difference; `passing` evaluates them on the sampled rows.
///
/// # Errors
/// Values that are not of the column's type.
pub(super) fn share_in_order(
    sample: &TableSample,
    table: &TableDef,
    (column, reverse): (usize, bool),
    conditions: &[Expr],
    wanted: f64,
    passing: &EntrySelectivity<'_>,
) -> Result<f64> {
    let Some(places) = sample.places_in_order(table, column)? else { return Ok(wanted) };
    let place = |row: &usize| places.get(*row).map(|place| if reverse { 1.0 - place } else { *place });
    let share = |conditions: &[Expr]| {
        let passed = passing(conditions)?;
        let places: Vec<f64> = passed.iter().filter_map(place).collect();
        (places.len() >= 2)
            .then(|| (places.len(), share_until(places, wanted).max(wanted / SPREAD_MOST_GAIN)))
    };
    Ok(match share(conditions) {
        Some((SPREAD_LEAST_PASSING.., share)) => share,
        _ => {
            let each = conditions.iter().filter_map(|condition| share(std::slice::from_ref(condition)));
            each.map(|(_, share)| share).fold(wanted, f64::max)
        }
    })
}

/// The place, from 0 to 1, before which the share `wanted` of rows lies of which some have these places.
fn share_until(mut places: Vec<f64>, wanted: f64) -> f64 {
    places.sort_unstable_by(f64::total_cmp);
    let rows = places.len() as f64;
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return wanted };
    // How far before the first there may be others: about as far as they are from each other.
    let apart = ((last - first) / (rows - 1.0).max(1.0)).max(0.25 / rows);
    let start = (0.0, (first - 2.0 * apart).max(0.0));
    let seen = places.iter().enumerate().map(|(row, place)| ((row as f64 + 0.5) / rows, *place));
    let mut before = start;
    for (share, place) in seen.chain([(1.0, 1.0)]) {
        if wanted <= share {
            let part = (wanted - before.0) / (share - before.0).max(f64::MIN_POSITIVE);
            return before.1 + (place - before.1) * part;
        }
        before = (share, place);
    }
    1.0
}

/// The share of the values of `column` among which are those of the rows that come first in an order, a share of all: little where both go
/// together.
///
/// # Errors
/// Values that are not of their column's type.
pub(crate) fn span_in_order(
    sample: &TableSample,
    table: &TableDef,
    (ordered, reverse): (usize, bool),
    share: f64,
    column: usize,
) -> Result<f64> {
    let places = (sample.places_in_order(table, ordered)?, sample.places_in_order(table, column)?);
    let (Some(order), Some(places)) = places else { return Ok(1.0) };
    let wanted = first_rows(order.len(), share);
    if wanted >= order.len() {
        return Ok(1.0);
    }
    let mut rows: Vec<usize> = (0..order.len()).collect();
    let by_order = |a: &usize, b: &usize| order[*a].total_cmp(&order[*b]);
    match reverse {
        false => rows.select_nth_unstable_by(wanted, by_order),
        true => rows.select_nth_unstable_by(wanted, |a, b| by_order(b, a)),
    };
    let found = rows.iter().take(wanted).map(|row| places[*row]);
    let (least, most) =
        found.fold((1.0, 0.0), |(least, most): (f64, f64), place| (least.min(place), most.max(place)));
    // Of n places drawn at random a range of length 1 has (n - 1) / (n + 1) between the first and the last.
    let seen = wanted as f64;
    Ok(((most - least) * (seen + 1.0) / (seen - 1.0)).clamp(share, 1.0))
}

/// How many of the sampled rows are looked at for a share of all: few do not tell how far their values spread.
pub(super) fn first_rows(rows: usize, share: f64) -> usize {
    ((rows as f64 * share).ceil() as usize).max(SPREAD_LEAST_ROWS).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{StatementSamples, Statistics};
    use crate::testing::{engine, table_of_texts, with_eval};
    use leafline_expr::build::{column, compare, literal};
    use leafline_expr::{CompareOp, EvalContext};
    use leafline_types::{ExprType, SqlType, Value};

    #[test]
    fn rows_at_the_end_of_an_order_are_seen_to_come_late() {
        let engine = engine();
        // Of the last tenth all pass; of all one in five does, evenly spread.
        let row = |id: i64| vec![Value::Int(id), Value::Int(i64::from(id > 900)), Value::Null];
        let rows: Vec<Vec<Value>> = (1..=1000).map(row).collect();
        let table = table_of_texts(&engine, "t", &rows);
        let (statistics, samples) = (Statistics::new(), StatementSamples::default());
        let sample = samples.sample(&table, || statistics.rows(&engine, &table)).expect("rows");
        let number = |at: usize| {
            column(at, ExprType::column(SqlType::BIGINT, false, leafline_types::Collation::Binary))
        };
        let compared = |at: usize, op: CompareOp, value: i64| {
            compare(op, number(at), literal(Value::Int(value))).expect("numbers")
        };
        let share = |conditions: &[Expr], reverse: bool| {
            let spread = |eval: &mut EvalContext<'_>| {
                samples.share_in_order(&sample, &table, (0, reverse), (conditions, 0.1), eval)
            };
            with_eval(spread).expect("a share")
        };
        let (late, early) = (compared(1, CompareOp::Eq, 1), compared(1, CompareOp::Eq, 0));
        assert!(share(std::slice::from_ref(&late), false) > 0.3);
        assert!(share(std::slice::from_ref(&late), true) < 0.05);
        let even = share(std::slice::from_ref(&early), false);
        assert!((even - 0.1).abs() < 0.02, "{even}");
        assert!((share(&[], false) - 0.1).abs() < 0.01);
        let span = |share: f64| span_in_order(&sample, &table, (0, true), share, 1).expect("a share");
        assert!(span(0.05) < 0.1 && span(0.5) > 0.4, "{} {}", span(0.05), span(0.5));
        // Together with a condition on the order itself.
        assert!(share(&[early, compared(0, CompareOp::Lt, 100)], true) > 0.5);
    }
}
