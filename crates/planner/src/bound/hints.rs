//! Hints of blocks and relations: optimizer hints, and USE, FORCE and IGNORE INDEX.

use leafline_access::Strategy;
use std::collections::BTreeSet;

/// The optimizer hints of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockHints {
    /// JOIN_FIXED_ORDER: join as with STRAIGHT_JOIN after SELECT.
    pub fixed_order: bool,
    /// JOIN_ORDER, JOIN_PREFIX and JOIN_SUFFIX.
    pub join_orders: Vec<JoinOrder>,
    /// SEMIJOIN and NO_SEMIJOIN, for a subquery.
    pub semijoin: Option<bool>,
    /// Relations and names of index hints that the block has had so far.
    pub indexed: BTreeSet<(usize, String)>,
}

/// A required order of some relations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOrder {
    /// The position of these relations among the others.
    pub place: JoinPlace,
    /// The relations, each once.
    pub relations: Vec<usize>,
}

/// The position of some relations in the order of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinPlace {
    /// Anywhere; other relations may stand between them.
    Anywhere,
    /// Before all other relations.
    First,
    /// After all other relations.
    Last,
}

impl JoinOrder {
    /// Whether relation `next` may be joined after the relations for which `is_joined` is true. `all` are the relations to join.
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

/// The hints of a relation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableHints {
    /// USE, FORCE, IGNORE INDEX and the optimizer hints about indexes; for base tables.
    pub indexes: IndexHints,
    /// NO_ICP: indexes without index condition pushdown.
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
    /// HASH_JOIN, BNL, NO_HASH_JOIN, NO_BNL.
    pub hash_join: Option<bool>,
    /// DERIVED_CONDITION_PUSHDOWN, NO_DERIVED_CONDITION_PUSHDOWN.
    pub condition_pushdown: Option<bool>,
}

/// The index hints of a relation, by the purpose of an index. A hint without FOR counts for all three purposes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexHints {
    /// Indexes to find rows and to join.
    pub join: IndexChoice,
    /// Indexes for ORDER BY.
    pub order_by: IndexChoice,
    /// Indexes for GROUP BY.
    pub group_by: IndexChoice,
}

/// The indexes that may be used, as positions in `TableDef::indexes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChoice {
    /// USE and FORCE: only these indexes. An empty list allows none (`USE INDEX ()`).
    pub only: Option<Vec<usize>>,
    /// FORCE: allow a table scan only if no index of `only` can be used.
    pub forced: bool,
    /// IGNORE: none of these indexes.
    pub ignored: Vec<usize>,
}
