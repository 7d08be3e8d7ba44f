//! The ranges that a scan walks, each with the outer rows it is for.

use crate::constraint::{Bounds, KeyRange};
use crate::run::locators::Locators;
use leafline_table::Direction;

/// A range to be walked, for some outer rows.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its keys, and what they pass.
    pub range: KeyRange,
    /// It is the rest of a range that begins elsewhere.
    pub continues: bool,
    /// Where its outer rows begin and end in the list of tags.
    tags: (usize, usize),
}

/// The facts about a walk of targets that are known when it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WalkKind {
    /// All of its rows will be asked for.
    pub all: bool,
    /// It is a part of a scan that other walks share.
    pub is_part: bool,
    /// The scan goes on in the part behind.
    pub goes_on: bool,
    /// Its targets are leaves, in the order of their pages.
    pub by_page: bool,
}

/// Ranges to be walked, in index order; or in that of their pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targets {
    targets: Vec<Target>,
    tags: Vec<u32>,
    exact: bool,
}

impl Targets {
    /// From the bounds for each outer row. Equal ranges are walked once for all of their outer rows.
    pub fn new(bounds: impl IntoIterator<Item = (u32, Bounds)>) -> Targets {
        let mut exact = true;
        let mut single: Vec<(KeyRange, u32)> = Vec::new();
        for (tag, bounds) in bounds {
            exact &= bounds.exact;
            single.extend(bounds.ranges.into_iter().map(|range| (range, tag)));
        }
        single.sort_by(|a, b| {
            a.0.lower.cmp(&b.0.lower).then_with(|| a.0.upper.cmp(&b.0.upper)).then(a.1.cmp(&b.1))
        });
        let mut targets: Vec<Target> = Vec::with_capacity(single.len());
        let mut tags = Vec::with_capacity(single.len());
        for (range, tag) in single {
            tags.push(tag);
            match targets.last_mut() {
                Some(last) if last.range == range => last.tags.1 = tags.len(),
                _ => targets.push(Target { range, continues: false, tags: (tags.len() - 1, tags.len()) }),
            }
        }
        Targets { targets, tags, exact }
    }

    /// The targets in index order.
    pub fn all(&self) -> &[Target] {
        &self.targets
    }

    /// Other ranges for the same outer rows.
    pub fn of(&self, targets: Vec<Target>) -> Targets {
        Targets { targets, tags: self.tags.clone(), exact: self.exact }
    }

    /// Whether every range is one whole key of `parts` parts.
    pub fn are_keys(&self, parts: usize) -> bool {
        self.targets.iter().all(|target| target.range.equal.parts == parts)
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Nothing the path's implied conditions reject passes.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// The starts of the ranges, each as often as it has outer rows, with these: for ranges that are whole keys.
    pub fn into_points(self) -> (Locators, Vec<u32>) {
        let mut locators = Locators::default();
        for target in &self.targets {
            for _ in self.tags_of(target) {
                locators.push(&target.range.lower);
            }
        }
        (locators, self.tags)
    }

    /// A range, by its place in index order.
    pub fn range(&self, position: usize) -> Option<&KeyRange> {
        self.targets.get(position).map(|target| &target.range)
    }

    /// The target at a position counted in the direction of the scan.
    pub fn at(&self, direction: Direction, position: usize) -> Option<&Target> {
        match direction {
            Direction::Forward => self.targets.get(position),
            Direction::Reverse => {
                self.targets.len().checked_sub(position + 1).and_then(|at| self.targets.get(at))
            }
        }
    }

    /// The outer rows that a target is for.
    pub fn tags_of(&self, target: &Target) -> &[u32] {
        &self.tags[target.tags.0..target.tags.1]
    }
}
