//! Moves the constant of a comparison to the grid of values that a column can have, in the direction that keeps the
//! meaning.
//!
//! For values on the grid, `x < 1.5` means `x <= 1`, `x = 1.5` is never true and `x <> 1.5` always. The evaluator's
//! kernels and the key ranges of `domain` share this rule.

use super::ir::CompareOp;
use leafline_types::decimal::Decimal;

/// A comparison with a constant, for all values of a grid that are not NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GridComparison<T> {
    /// FALSE for all.
    Never,
    /// TRUE for all.
    Always,
    /// This comparison, with a constant on the grid.
    Compare(CompareOp, T),
}

impl<T> GridComparison<T> {
    /// Makes a comparison that is TRUE for all or for none.
    pub(super) fn constant(truth: bool) -> Self {
        if truth { GridComparison::Always } else { GridComparison::Never }
    }

    /// Applies `f`, which must keep the order, to the constant.
    pub(super) fn map<U>(self, f: impl FnOnce(T) -> U) -> GridComparison<U> {
        match self {
            GridComparison::Never => GridComparison::Never,
            GridComparison::Always => GridComparison::Always,
            GridComparison::Compare(op, v) => GridComparison::Compare(op, f(v)),
        }
    }
}

/// Narrows `x op c`; `below` is the largest value of the grid that is not above `c`, and `exact` says that it equals
/// `c`.
pub(super) fn to_grid<T>(op: CompareOp, below: T, exact: bool) -> GridComparison<T> {
    if exact {
        return GridComparison::Compare(op, below);
    }
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => GridComparison::Never,
        CompareOp::Ne => GridComparison::Always,
        CompareOp::Lt | CompareOp::Le => GridComparison::Compare(CompareOp::Le, below),
        CompareOp::Gt | CompareOp::Ge => GridComparison::Compare(CompareOp::Gt, below),
    }
}

/// Narrows `x op c` for a `c` above or below the whole grid.
pub(super) fn beyond<T>(op: CompareOp, above: bool) -> GridComparison<T> {
    GridComparison::constant(match op {
        CompareOp::Eq | CompareOp::NullSafeEq => false,
        CompareOp::Ne => true,
        CompareOp::Lt | CompareOp::Le => above,
        CompareOp::Gt | CompareOp::Ge => !above,
    })
}

/// Narrows `x op c` for the multiples `x` of 10^-scale; the new constant counts these multiples.
pub(super) fn to_scale(op: CompareOp, c: &Decimal, scale: u8) -> GridComparison<i128> {
    let fits = |d: Option<Decimal>| d.and_then(|d| d.unscaled_i128());
    if c.scale() <= scale {
        // More than 38 digits do not fit 128 bits.
        return match fits(c.round(scale.into())) {
            Some(v) => GridComparison::Compare(op, v),
            None => beyond(op, !c.is_negative()),
        };
    }
    let Some(toward_zero) = fits(c.truncate(scale.into())) else { return beyond(op, !c.is_negative()) };
    let exact = *c == Decimal::from_i128(toward_zero, scale);
    let below = if !exact && c.is_negative() { toward_zero - 1 } else { toward_zero };
    to_grid(op, below, exact)
}

/// Narrows `x op c` for integers `x` from `low` to `high`.
pub(super) fn to_range(narrowed: GridComparison<i128>, low: i128, high: i128) -> GridComparison<i128> {
    match narrowed {
        GridComparison::Compare(op, c) if c > high => beyond(op, true),
        GridComparison::Compare(op, c) if c < low => beyond(op, false),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CompareOp::*;

    const OPS: [CompareOp; 6] = [Eq, Ne, Lt, Le, Gt, Ge];

    /// The narrowed comparison agrees with the exact one for every value of the grid around the constant.
    #[test]
    fn narrowing_keeps_the_meaning_on_the_grid() {
        for text in ["0", "1.5", "-1.5", "1", "-1", "0.001", "-0.001", "2.999", "-2.999", "1.50", "-3"] {
            let c = Decimal::parse(text).unwrap();
            for scale in [0u8, 1, 2] {
                for op in OPS {
                    let narrowed = to_scale(op, &c, scale);
                    for x in -400i128..400 {
                        let truth = match narrowed {
                            GridComparison::Never => false,
                            GridComparison::Always => true,
                            GridComparison::Compare(op, c) => op.holds(x.cmp(&c)),
                        };
                        let expected = op.holds(Decimal::from_i128(x, scale).cmp(&c));
                        assert_eq!(truth, expected, "{x}e-{scale} {op} {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn constants_beyond_the_range_decide_for_all() {
        let at = |op, c: i128| to_range(GridComparison::Compare(op, c), -128, 127);
        assert_eq!(at(Lt, 128), GridComparison::Always);
        assert_eq!(at(Gt, 128), GridComparison::Never);
        assert_eq!(at(Eq, -129), GridComparison::Never);
        assert_eq!(at(Ne, -129), GridComparison::Always);
        assert_eq!(at(Ge, -129), GridComparison::Always);
        assert_eq!(at(Le, 127), GridComparison::Compare(Le, 127));
        let huge = Decimal::parse("1e60").unwrap();
        assert_eq!(to_scale(Lt, &huge, 2), GridComparison::Always);
        assert_eq!(to_scale(Lt, &huge.negate(), 2), GridComparison::Never);
    }
}
