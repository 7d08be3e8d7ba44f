//! The share of a table that all conditions let pass, put together from what each path knows of some of them.
//!
//! A dive counts what lies in a path's ranges, and conditions on its entries are evaluated on a sample of these: of the
//! conditions that a path covers so, the share that passes is known as it is, correlation included. Of conditions that
//! no path covers each is asked about by itself. Groups of conditions that different paths cover, and those conditions, are taken to be
//! independent, unless sampled rows of the table say otherwise: of those that pass the group that leaves fewest, what share
//! passes the others, and which columns determine which. They are not asked what share passes that group: rows that pass it may lie together, where no
//! sampled leaf is.

use super::selectivity::Selectivity;
use crate::error::Result;
use leafline_expr::{EvalContext, Expr};

/// The selectivity of some conditions on a table, as one path knows it.
#[derive(Clone, Debug)]
pub(crate) struct PartialSelectivity {
    /// Per condition, whether it is covered.
    pub covers: Vec<bool>,
    /// The share of the table's rows that passes all of those.
    pub share: f64,
    /// It was counted, not seen in a sample of entries.
    pub is_counted: bool,
}

impl PartialSelectivity {
    fn size(&self) -> usize {
        self.covers.iter().filter(|covered| **covered).count()
    }

    fn overlaps(&self, covered: &[bool]) -> bool {
        self.covers.iter().zip(covered).any(|(mine, other)| *mine && *other)
    }
}

/// The share of the rows that passes all `conditions`.
pub(crate) fn joint_selectivity(
    conditions: &[Expr],
    known: &[PartialSelectivity],
    selectivity: &Selectivity<'_>,
    eval: &EvalContext<'_>,
) -> Result<f64> {
    let mut best: Vec<&PartialSelectivity> = known.iter().filter(|known| known.size() > 0).collect();
    // The paths that cover most conditions come first, then counted ones, then the ones that leave the fewest rows.
    best.sort_by(|a, b| {
        let sure = b.is_counted.cmp(&a.is_counted);
        b.size().cmp(&a.size()).then(sure).then(a.share.total_cmp(&b.share))
    });
    let counted = best.iter().filter(|known| known.is_counted);
    let least = counted.map(|known| known.share).fold(1.0, f64::min);
    let mut covered = vec![false; conditions.len()];
    // Independent groups: a share, and the positions of its conditions.
    let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
    for known in best {
        if !known.overlaps(&covered) {
            covered.iter_mut().zip(&known.covers).for_each(|(covered, mine)| *covered |= mine);
            let covers = known.covers.iter().enumerate().filter(|(_, covers)| **covers);
            groups.push((known.share, covers.map(|(at, _)| at).collect()));
        }
    }
    for (at, (condition, _)) in
        conditions.iter().zip(&covered).enumerate().filter(|(_, (_, covered))| !**covered)
    {
        groups.push((selectivity.of(condition, eval)?, vec![at]));
    }
    let fewest = groups.iter().enumerate().min_by(|a, b| a.1.0.total_cmp(&b.1.0)).map(|(at, _)| at);
    let Some(fewest) = fewest else { return Ok(1.0) };
    let (first, of_first) = groups.swap_remove(fewest);
    if groups.is_empty() {
        return Ok(first);
    }
    let (given, asked): (Vec<_>, Vec<_>) =
        conditions.iter().cloned().enumerate().partition(|(at, _)| of_first.contains(at));
    let expressions = |numbered: Vec<(usize, Expr)>| numbered.into_iter().map(|(_, condition)| condition);
    let (given, asked): (Vec<Expr>, Vec<Expr>) = (expressions(given).collect(), expressions(asked).collect());
    let mut others = 1.0;
    for (share, of_group) in groups {
        let alone = if of_group.len() == 1 { of_group.first() } else { None };
        others *= match alone.and_then(|at| conditions.get(*at)) {
            Some(condition) => selectivity.beside(&given, condition, share)?,
            None => share,
        };
    }
    let hits = selectivity.hits(&given, &asked, eval)?;
    Ok(first * hits.map_or(others, |hits| hits.bound(others)).min(least / first.max(f64::MIN_POSITIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{StatementSamples, Statistics};
    use crate::testing::{engine, table_of_texts, with_eval};
    use leafline_expr::CompareOp;
    use leafline_expr::build::{column, compare, literal};
    use leafline_types::{ExprType, SqlType, Value};

    fn equal_to_one(ordinal: usize) -> Expr {
        let number =
            column(ordinal, ExprType::column(SqlType::BIGINT, false, leafline_types::Collation::Binary));
        compare(CompareOp::Eq, number, literal(Value::Int(1))).expect("numbers")
    }

    fn known(covers: &[bool], share: f64) -> PartialSelectivity {
        PartialSelectivity { covers: covers.to_vec(), share, is_counted: true }
    }

    #[test]
    fn what_is_known_beats_a_guess_and_rows_beat_independence() {
        let engine = engine();
        let row = |id: i64| vec![Value::Int(id), Value::Int(i64::from(id <= 40)), Value::Null];
        let rows: Vec<Vec<Value>> = (1..=100).map(row).collect();
        let table = table_of_texts(&engine, "t", &rows);
        let statistics = Statistics::new();
        let samples = StatementSamples::default();
        let share = |conditions: &[Expr], known: &[PartialSelectivity], looks: bool| {
            let selectivity = Selectivity::new(&engine, (&statistics, &samples), &table, looks);
            with_eval(|eval| joint_selectivity(conditions, known, &selectivity, eval)).expect("a share")
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        let three = [equal_to_one(1), equal_to_one(1), equal_to_one(1)];
        let (all, first) = (known(&[true, true, true], 0.7), known(&[true, false, false], 0.9));
        let second = known(&[false, true, false], 0.5);
        close(share(&three, &[], false), 0.001);
        close(share(&three, &[first.clone(), all], false), 0.7);
        close(share(&three, &[first.clone(), second.clone()], false), 0.9 * 0.5 * 0.1);
        // All rows were seen: the conditions go together. But there are no more rows than a path counted.
        close(share(&three, &[first.clone(), second], true), 0.4);
        close(share(&three, &[first, known(&[false, true, false], 0.01)], true), 0.01);
        // Where one condition is all there is, what its path knows stands.
        close(share(&three[..1], &[known(&[true], 0.3)], true), 0.3);
        close(share(&three[..1], &[], true), 0.4);
    }
}
