//! Ways to use indexes that may be allowed, forbidden and demanded: by switches in general, by hints for a table.

/// A hint about a strategy for the indexes of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// It is to be used, or not to be.
    pub wanted: bool,
    /// With these indexes: positions in the table. `None`: with any.
    pub indexes: Option<Vec<usize>>,
    /// With these the opposite, as another hint says: only of what is asked for each index by itself ([`Permission::holds_for`]).
    pub opposite: Vec<usize>,
}

impl Strategy {
    /// Whether it names some indexes, and none of these.
    pub fn is_of_others(&self, positions: &[usize]) -> bool {
        let named = self.indexes.iter().flatten().chain(&self.opposite);
        self.indexes.is_some() && !named.into_iter().any(|index| positions.contains(index))
    }

    fn names(&self, position: usize) -> bool {
        self.indexes.as_ref().is_none_or(|indexes| indexes.contains(&position))
    }
}

/// Where a way to use indexes may be gone.
#[derive(Clone, Copy, Debug)]
pub struct Permission<'a> {
    /// The switch, which holds where no hint says anything.
    pub switch: bool,
    /// The table's hint.
    pub hint: Option<&'a Strategy>,
}

impl Permission<'_> {
    /// Allowed throughout.
    pub const GIVEN: Permission<'static> = Permission { switch: true, hint: None };
    /// Forbidden throughout.
    pub const NONE: Permission<'static> = Permission { switch: false, hint: None };

    /// Whether the index at this position is to be used so, if it is used. For indexes that the hint does not name the switch decides.
    pub fn holds_for(&self, position: usize) -> bool {
        if let Some(strategy) = self.hint.filter(|strategy| strategy.opposite.contains(&position)) {
            return !strategy.wanted;
        }
        self.hint.filter(|strategy| strategy.names(position)).map_or(self.switch, |strategy| strategy.wanted)
    }

    /// May the index at this position be used so? Of a demand for some, others are not meant.
    pub fn allows(&self, position: usize) -> bool {
        let meant = |strategy: &Strategy| !strategy.wanted || strategy.names(position);
        self.hint.is_none_or(meant) && self.holds_for(position)
    }

    /// Whether it is to be used wherever it can be, whatever it costs.
    pub fn is_demand(&self) -> bool {
        self.hint.is_some_and(|strategy| strategy.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stands_above_the_switch() {
        let named = |wanted| Strategy { wanted, indexes: Some(vec![1]), opposite: Vec::new() };
        let (demand, veto) = (named(true), named(false));
        for switch in [true, false] {
            let demanded = Permission { switch, hint: Some(&demand) };
            assert!(demanded.allows(1) && !demanded.allows(2) && demanded.is_demand());
            assert!(demanded.holds_for(1) && demanded.holds_for(2) == switch);
            let vetoed = Permission { switch, hint: Some(&veto) };
            assert!(!vetoed.allows(1) && vetoed.allows(2) == switch && !vetoed.is_demand());
            assert!(!vetoed.holds_for(1) && vetoed.holds_for(2) == switch);
            let all = Strategy { wanted: false, indexes: None, opposite: Vec::new() };
            assert!(!Permission { switch, hint: Some(&all) }.allows(2));
        }
        let both = Strategy { opposite: vec![2], ..named(true) };
        for switch in [true, false] {
            let of = Permission { switch, hint: Some(&both) };
            assert!(of.holds_for(1) && !of.holds_for(2) && of.holds_for(3) == switch);
        }
        assert!(Permission::GIVEN.allows(0) && !Permission::NONE.allows(0));
    }
}
