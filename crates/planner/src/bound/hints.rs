//! What hints say of blocks and relations: optimizer hints, and USE, FORCE and IGNORE INDEX.

use leafline_access::Strategy;
use std::collections::BTreeSet;

/// What optimizer hints say of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockHints {
    /// JOIN_FIXED_ORDER: as STRAIGHT_JOIN after SELECT.
    pub fixed_order: bool,
    /// JOIN_ORDER, JOIN_PREFIX and JOIN_SUFFIX.
    pub join_orders: Vec<JoinOrder>,
    /// SEMIJOIN and NO_SEMIJOIN, for a subquery.
    pub semijoin: Option<bool>,
    /// The relations for which hints about indexes were met, with the names of these.
    pub indexed: BTreeSet<(usize, String)>,
}

/// In which order some relations are to be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOrder {
    /// Where they stand among the others.
    pub place: JoinPlace,
    /// The relations, each once.
    pub relations: Vec<usize>,
}

/// Where relations stand in the order of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinPlace {
    /// Anywhere: others may be between them.
    Anywhere,
    /// Before all others.
    First,
    /// Behind all others.
    Last,
}

impl JoinOrder {
    /// Whether a relation may be joined next, to those for which `is_joined` says so. `all` are those that there are to join.
    pub fn allows(&self, next: usize, is_joined: &dyn Fn(usize) -> bool, all: &[usize]) -> bool {
        let listed = self.relations.iter().filter(|relation| all.contains(relation));
        let place = self.relations.iter().position(|relation| *relation == next);
        match (self.place, place) {
            (_, Some(place)) => {
                let mut before = self.relations.iter().take(place).filter(|relation| all.contains(relation));
                let mut others = all.iter().filter(|relation| !self.relations.contains(relation));
                before.all(|relation| is_joined(*relation))
                    && (self.place != JoinPlace::Last || others.all(|relation| is_joined(*relation)))
            }
            (JoinPlace::First, None) => listed.copied().all(is_joined),
            (JoinPlace::Last, None) => listed.copied().all(|relation| !is_joined(relation)),
            (JoinPlace::Anywhere, None) => true,
        }
    }
}

/// What hints say of a relation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableHints {
    /// USE, FORCE, IGNORE INDEX and the optimizer hints about indexes; for base tables.
    pub indexes: IndexHints,
    /// NO_ICP: indexes on whose entries no conditions are evaluated before rows are fetched.
    pub unpushed: Vec<usize>,
    /// SKIP_SCAN, NO_SKIP_SCAN.
    pub skip_scan: Option<Strategy>,
    /// INDEX_MERGE, NO_INDEX_MERGE.
    pub index_merge: Option<Strategy>,
    /// MRR, NO_MRR.
    pub multi_range_read: Option<Strategy>,
    /// BKA, NO_BKA.
    pub batched_keys: Option<bool>,
    /// MERGE, NO_MERGE.
    pub merge: Option<bool>,
    /// HASH_JOIN, BNL and their opposites.
    pub hash_join: Option<bool>,
    /// DERIVED_CONDITION_PUSHDOWN and its opposite.
    pub condition_pushdown: Option<bool>,
}

/// Index hints of a relation, by what an index would be used for. A hint without FOR is in all three.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexHints {
    /// For finding rows and joining.
    pub join: IndexChoice,
    /// For ORDER BY.
    pub order_by: IndexChoice,
    /// For GROUP BY.
    pub group_by: IndexChoice,
}

/// Which indexes may be used. Positions in `TableDef::indexes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChoice {
    /// USE and FORCE: no others. Empty: none at all (`USE INDEX ()`).
    pub only: Option<Vec<usize>>,
    /// FORCE: a table scan only if none of `only` can be used.
    pub forced: bool,
    /// IGNORE: none of these.
    pub ignored: Vec<usize>,
}
