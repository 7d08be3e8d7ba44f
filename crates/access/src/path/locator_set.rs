//! Sets of rows, by the locators that indexes give.

use super::AccessPath;
use super::searched::Searched;
use leafline_table::IndexDef;
use std::fmt;
use std::sync::Arc;

/// Rows of a table, by the locators that its indexes give.
#[derive(Clone, Debug)]
pub enum LocatorSet {
    /// The rows whose entries an index has in some ranges.
    Entries(Located),
    /// The rows that a search for words finds.
    Search(Box<Searched>),
    /// The rows that are in all of several sets, of which the first is expected to be the smallest.
    All(Vec<LocatorSet>),
    /// The rows that are in any of several sets.
    Any(Vec<LocatorSet>),
}

/// The entries of an index that name rows.
#[derive(Clone, Debug)]
pub struct Located {
    /// The path to them. It is covering, and delivers locators and nothing else.
    pub path: Arc<AccessPath>,
    /// How many entries it is expected to examine.
    pub expected: f64,
}

impl Located {
    /// Whether the entries come in the order of their locators.
    pub fn is_in_order(&self) -> bool {
        let (equal, used) = (self.path.constraint.equal_parts(), self.path.constraint.used_parts());
        self.path.is_clustered() || (used == equal && continues_as_locator(&self.path, equal))
    }
}

impl LocatorSet {
    /// The paths that it is made from, in the order in which they are read.
    pub fn paths(&self) -> Vec<&Arc<AccessPath>> {
        match self {
            LocatorSet::Entries(located) => vec![&located.path],
            LocatorSet::Search(_) => Vec::new(),
            LocatorSet::All(sets) | LocatorSet::Any(sets) => {
                sets.iter().flat_map(LocatorSet::paths).collect()
            }
        }
    }

    /// The indexes that it is made from, in the order in which they are read.
    pub fn indexes(&self) -> Vec<&Arc<IndexDef>> {
        match self {
            LocatorSet::Entries(located) => vec![&located.path.index],
            LocatorSet::Search(searched) => vec![&searched.index],
            LocatorSet::All(sets) | LocatorSet::Any(sets) => {
                sets.iter().flat_map(LocatorSet::indexes).collect()
            }
        }
    }

    /// Returns the set along other paths.
    pub(crate) fn map_paths(&self, map: &dyn Fn(&AccessPath) -> AccessPath) -> LocatorSet {
        let all = |sets: &[LocatorSet]| sets.iter().map(|set| set.map_paths(map)).collect();
        match self {
            LocatorSet::Entries(located) => {
                LocatorSet::Entries(Located { path: Arc::new(map(&located.path)), ..*located })
            }
            LocatorSet::Search(searched) => LocatorSet::Search(searched.clone()),
            LocatorSet::All(sets) => LocatorSet::All(all(sets)),
            LocatorSet::Any(sets) => LocatorSet::Any(all(sets)),
        }
    }

    /// How many entries are expected to be examined for it.
    pub fn expected(&self) -> f64 {
        match self {
            LocatorSet::Entries(located) => located.expected,
            LocatorSet::Search(searched) => searched.expected,
            LocatorSet::All(sets) | LocatorSet::Any(sets) => sets.iter().map(LocatorSet::expected).sum(),
        }
    }

    /// Whether a set of entries, or one that is made of others, comes in the order of the locators, without a sort.
    pub fn is_in_order(&self) -> bool {
        match self {
            LocatorSet::Entries(located) => located.is_in_order(),
            LocatorSet::Search(_) => true,
            LocatorSet::All(sets) | LocatorSet::Any(sets) => sets.iter().all(LocatorSet::is_in_order),
        }
    }
}

/// As MySQL names it in EXPLAIN: `intersect(a,b)`, `union(a,b)` or, where locators have to be sorted, `sort_union(a,b)`.
impl fmt::Display for LocatorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, sets) = match self {
            LocatorSet::Entries(located) => return f.write_str(&located.path.index.name),
            LocatorSet::Search(searched) => return f.write_str(&searched.index.name),
            LocatorSet::All(sets) if self.is_in_order() => ("intersect", sets),
            LocatorSet::All(sets) => ("sort_intersect", sets),
            LocatorSet::Any(sets) if self.is_in_order() => ("union", sets),
            LocatorSet::Any(sets) => ("sort_union", sets),
        };
        write!(f, "{name}(")?;
        for (at, set) in sets.iter().enumerate() {
            write!(f, "{}{set}", if at > 0 { "," } else { "" })?;
        }
        f.write_str(")")
    }
}

/// Are the parts of an index behind the first `parts` those of the locator, so that among entries equal in the first, these are in the
/// order of their locators, and begin with the bytes of these?
pub(crate) fn continues_as_locator(path: &AccessPath, parts: usize) -> bool {
    let (index, clustered) = (&path.index, path.table.clustered());
    parts >= index.parts.len()
        && index.key_columns.get(parts..) == Some(&clustered.key_columns)
        && index.key_parts.get(parts..) == Some(&clustered.key_parts)
}
