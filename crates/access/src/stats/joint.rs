//! What conditions leave of a table, put together from what the paths know of some of them each.
//!
//! A dive counts what lies in a path's ranges, and conditions on its entries are evaluated on a sample of these: of the
//! conditions that a path covers so, the share that passes is known as it is, correlation included. Of conditions that
//! no path covers there is a rule of thumb. Groups of conditions that different paths cover are taken to be independent.

use super::guess::guess_selectivity;
use super::sample::Sample;
use leafline_types::expr::Expr;

/// What one path knows of the conditions on its table.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Per condition, whether it is covered.
    pub covers: Vec<bool>,
    /// The share of the table's rows that passes all of those.
    pub share: f64,
}

impl Known {
    fn size(&self) -> usize {
        self.covers.iter().filter(|covered| **covered).count()
    }

    fn overlaps(&self, covered: &[bool]) -> bool {
        self.covers.iter().zip(covered).any(|(mine, other)| *mine && *other)
    }
}

/// The share of the rows that passes all `conditions`. `sample`: rows of the table looked at for it, if any were.
pub(crate) fn joint_selectivity(conditions: &[Expr], known: &[Known], sample: Sample) -> f64 {
    let mut best: Vec<&Known> = known.iter().filter(|known| known.size() > 0).collect();
    // Those that cover most come first, of these the ones that leave the fewest rows.
    best.sort_by(|a, b| b.size().cmp(&a.size()).then(a.share.total_cmp(&b.share)));
    let least = best.iter().map(|known| known.share).fold(1.0, f64::min);
    let mut covered = vec![false; conditions.len()];
    let mut share = 1.0;
    let mut groups = 0;
    for known in best {
        if !known.overlaps(&covered) {
            share *= known.share;
            covered.iter_mut().zip(&known.covers).for_each(|(covered, mine)| *covered |= mine);
            groups += 1;
        }
    }
    let guessed = conditions.iter().zip(&covered).filter(|(_, covered)| !**covered);
    let unknown = guessed.clone().count();
    share *= guessed.map(|(condition, _)| guess_selectivity(condition)).product::<f64>();
    if unknown == 0 && groups <= 1 {
        return share;
    }
    sample.selectivity(share).min(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::column_expr;
    use leafline_types::Value;
    use leafline_types::expr::CompareOp;
    use leafline_types::expr::build::{compare, literal};

    fn equalities(columns: usize) -> Vec<Expr> {
        let one = || literal(Value::Int(1));
        (0..columns).map(|_| compare(CompareOp::Eq, column_expr(1), one()).expect("numbers")).collect()
    }

    fn known(covers: &[bool], share: f64) -> Known {
        Known { covers: covers.to_vec(), share }
    }

    #[test]
    fn what_is_known_beats_a_guess() {
        let three = equalities(3);
        let nothing = Sample::default();
        let all = known(&[true, true, true], 0.7);
        let first = known(&[true, false, false], 0.9);
        let second = known(&[false, true, false], 0.5);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        close(joint_selectivity(&three, &[], nothing), 0.001);
        close(joint_selectivity(&three, &[first.clone(), all], nothing), 0.7);
        close(joint_selectivity(&three, &[first.clone(), second.clone()], nothing), 0.9 * 0.5 * 0.1);
        // A sample of rows saw the conditions together; but there are no more rows than a path counted.
        let sample = Sample { seen: 100, share: 0.4 };
        close(joint_selectivity(&three, &[first.clone(), second], sample), 0.4);
        close(joint_selectivity(&three, &[first, known(&[false, true, false], 0.01)], sample), 0.01);
    }
}
