//! The plans of a statement, by their digests.

/// Number of plans that are told apart; a plan that was forgotten counts again when it comes back.
const KNOWN: usize = 16;

/// Number of plans, and time of the last change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plans {
    /// Number of different plans.
    pub count: u64,
    /// Time at which the plan last changed, microseconds since 1970; `None` with one plan.
    pub changed: Option<i64>,
    /// The latest plans, the current one last.
    known: Vec<u64>,
}

impl Plans {
    /// Restores stored figures, with the last plan if there was one.
    pub fn of(count: u64, changed: Option<i64>, last: Option<u64>) -> Plans {
        Plans { count, changed, known: last.into_iter().collect() }
    }

    /// The current plan.
    pub fn last(&self) -> Option<u64> {
        self.known.last().copied()
    }

    /// Notes a new plan, which is used from now on.
    pub fn note(&mut self, plan: u64, now: i64) {
        let last = self.last();
        if last == Some(plan) {
            return;
        }
        if last.is_some() {
            self.changed = Some(now);
        }
        match self.known.iter().position(|known| *known == plan) {
            Some(at) => {
                self.known.remove(at);
            }
            None => {
                self.count += 1;
                if self.known.len() == KNOWN {
                    self.known.remove(0);
                }
            }
        }
        self.known.push(plan);
    }

    /// Starts again with the current plan alone.
    pub fn reset(&mut self) {
        let last = self.last();
        *self = Plans::of(u64::from(last.is_some()), None, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_counted_once_and_changes_have_a_time() {
        let mut plans = Plans::default();
        plans.note(7, 1);
        plans.note(7, 2);
        assert_eq!((plans.count, plans.changed, plans.last()), (1, None, Some(7)));
        plans.note(8, 3);
        plans.note(7, 4);
        assert_eq!((plans.count, plans.changed, plans.last()), (2, Some(4), Some(7)));
        (100..200).for_each(|plan| plans.note(plan, 5));
        assert_eq!((plans.count, plans.known.len()), (102, KNOWN));
        plans.reset();
        assert_eq!((plans.count, plans.changed, plans.last()), (1, None, Some(199)));
    }
}
