//! The plans that a statement had, by their digests.

/// Plans that are told apart; the one that was forgotten first counts anew should it come back.
const KNOWN: usize = 16;

/// How many plans there were, and when the last one came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plans {
    /// Different ones.
    pub count: u64,
    /// When a plan was made that was not the one before it, microseconds since 1970; none while there was but one.
    pub changed: Option<i64>,
    /// The last ones, the last of all at the end.
    known: Vec<u64>,
}

impl Plans {
    /// Of one plan in what was kept, if there was one.
    pub fn of(count: u64, changed: Option<i64>, last: Option<u64>) -> Plans {
        Plans { count, changed, known: last.into_iter().collect() }
    }

    /// The last one.
    pub fn last(&self) -> Option<u64> {
        self.known.last().copied()
    }

    /// A plan was made and is used from now on.
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

    /// Begins to count with the plan that is in use.
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
