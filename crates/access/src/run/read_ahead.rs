//! Which leaves a scan of targets comes to, for read-ahead ([`leafline_table::ReadAhead`]).
//!
//! Of a few targets all leaves are asked for, and of many whose rows will all be; else of many the first leaf of each, as most have no more; where the scan
//! turns out to go on in one, the rest of it. A leaf that the scan will leap over is left out: its bounds in the branch page say that no key in it
//! is accepted.

use crate::constraint::KeyRange;
use crate::counters::Counters;
use crate::error::Result;
use crate::params::{
    BRANCH_LEAVES_AT_A_TIME, FIRST_LEAVES_AT_A_TIME, FIRST_WINDOW_OF_ALL, FIRST_WINDOW_OF_PART,
    FIRST_WINDOW_OF_TARGETS, LEAPS_OVER_LEAF, TARGETS_READ_WHOLE, WINDOW_TARGETS,
};
use crate::path::AccessPath;
use crate::run::targets::{Targets, WalkKind};
use leafline_btree::{Course, LeafRef, LeafWalk};
use leafline_storage::PageNo;
use leafline_table::{Direction, EntryCursor, ReadView, Tree};
use leafline_types::key::KeyPart;

/// More bytes than a separator cuts off the values it stands for.
const CUT_OFF: [u8; 64] = [0; 64];

/// The read-ahead of one scan.
pub(crate) struct ReadAhead {
    ahead: leafline_btree::ReadAhead,
    place: ReadAheadPosition,
    /// All rows of the walk will be asked for.
    all: bool,
}

/// The leaves that are not asked for yet.
#[derive(Default)]
struct ReadAheadPosition {
    /// A target, counted in the direction of the scan, of which all leaves are wanted.
    whole: Option<usize>,
    target: usize,
    /// Where the rest of the target begins (in reverse: ends); `None`: nothing of it is asked for.
    from: Option<From>,
}

/// A position in a target; `None` is the end of the tree.
struct From(Option<Vec<u8>>);

/// Leaves of targets, in the order of the scan.
struct TargetLeafOrder<'s> {
    place: &'s mut ReadAheadPosition,
    path: &'s AccessPath,
    targets: &'s Targets,
    direction: Direction,
    current: usize,
    /// All rows will be asked for.
    all: bool,
}

impl ReadAhead {
    /// For scans of a view.
    pub fn new(view: &ReadView) -> ReadAhead {
        let ahead = leafline_btree::ReadAhead::new(view.read_ahead());
        ReadAhead { ahead, place: ReadAheadPosition::default(), all: false }
    }

    /// A new walk begins.
    pub fn start(&mut self, targets: &Targets, kind: WalkKind) {
        self.place = ReadAheadPosition::default();
        self.all = kind.all;
        match kind {
            WalkKind { by_page: true, .. } => self.ahead.start_by_page(FIRST_WINDOW_OF_PART),
            WalkKind { is_part: true, .. } => self.ahead.start_at_once(FIRST_WINDOW_OF_PART),
            WalkKind { all: true, .. } if targets.len() > 1 => self.ahead.start_at_once(FIRST_WINDOW_OF_ALL),
            _ if targets.len() > 1 => self.ahead.start_at_once(FIRST_WINDOW_OF_TARGETS),
            _ => self.ahead.start(),
        }
    }

    /// The cursor is about to visit what follows, for target number `current`.
    pub fn advance(
        &mut self,
        cursor: &EntryCursor,
        path: &AccessPath,
        targets: &Targets,
        (direction, current): (Direction, usize),
        counters: &mut Counters,
    ) -> Result<()> {
        let all = self.all;
        let mut course = TargetLeafOrder { place: &mut self.place, path, targets, direction, current, all };
        let pages = self.ahead.advance(cursor.tree(), cursor.leaf(), cursor.position(), &mut course)?;
        counters.leafline_read_ahead_pages += pages;
        Ok(())
    }

    /// The scan left its leaf for a place that its course does not know.
    pub fn leapt(&mut self) {
        self.ahead.leapt();
    }
}

impl Course for TargetLeafOrder<'_> {
    fn begin(&mut self, position: Option<&[u8]>) {
        self.place.whole = Some(self.current);
        self.place.target = self.current;
        self.place.from = Some(From(position.map(<[u8]>::to_vec)));
    }

    fn next(&mut self, tree: &Tree, most: usize) -> leafline_btree::Result<Vec<PageNo>> {
        let mut pages: Vec<PageNo> = Vec::new();
        let (mut targets, mut leaves) = (0, 0);
        while pages.len() < most && (targets < WINDOW_TARGETS || pages.is_empty()) {
            let Some(target) = self.targets.at(self.direction, self.place.target) else { break };
            if self.targets.len() > TARGETS_READ_WHOLE && self.place.whole != Some(self.place.target) {
                let room = (most - pages.len()).min(FIRST_LEAVES_AT_A_TIME);
                targets += self.first_leaves(tree, room, &mut pages)?;
                continue;
            }
            targets += 1;
            let rest = self.rest_of(tree, &target.range, (&mut pages, most), &mut leaves)?;
            match rest {
                Some(rest) => self.place.from = Some(From(Some(rest))),
                None => self.go_on(),
            }
            if leaves > BRANCH_LEAVES_AT_A_TIME {
                break;
            }
        }
        Ok(pages)
    }
}

impl TargetLeafOrder<'_> {
    /// To the next target.
    fn go_on(&mut self) {
        self.place.target += 1;
        self.place.from = None;
    }

    /// The leaves that the scan visits first for each of the next targets, up to `most` and up to one that is wanted as a whole. How
    /// many targets these are.
    fn first_leaves(
        &mut self,
        tree: &Tree,
        most: usize,
        pages: &mut Vec<PageNo>,
    ) -> leafline_btree::Result<usize> {
        let begun = self.place.target;
        let in_full = self.all && !self.path.is_unique_lookup();
        let whole = self.place.whole.filter(|whole| *whole > begun).unwrap_or(usize::MAX);
        let end = self.targets.len().min(begun + most).min(whole);
        let (targets, own) = (self.targets, self.direction);
        let ends = |direction: Direction| {
            (begun..end).map(move |at| {
                let range = targets.at(own, at).map(|target| &target.range);
                match direction {
                    Direction::Forward => range.map(|range| range.lower.as_slice()),
                    Direction::Reverse => range.and_then(|range| range.upper.as_deref()),
                }
            })
        };
        let firsts = tree.find_leaves(self.direction, ends(self.direction))?;
        let lasts = match in_full {
            true => tree.find_leaves(self.direction.opposite(), ends(self.direction.opposite()))?,
            false => Vec::new(),
        };
        for (at, first) in firsts.iter().enumerate() {
            push(pages, first.page());
            let goes_on = lasts.get(at).is_some_and(|last| last.page() != first.page());
            if goes_on && let Some(target) = self.targets.at(self.direction, begun + at) {
                let mut leaves = 0;
                let most = pages.len() + BRANCH_LEAVES_AT_A_TIME;
                self.rest_of(tree, &target.range, (pages, most), &mut leaves)?;
            }
        }
        (self.place.target, self.place.from) = (end, None);
        Ok(end - begun)
    }

    /// Leaves of what is left of a range. Returns where the rest of it begins, if there is one.
    fn rest_of(
        &self,
        tree: &Tree,
        range: &KeyRange,
        (pages, most): (&mut Vec<PageNo>, usize),
        leaves: &mut usize,
    ) -> leafline_btree::Result<Option<Vec<u8>>> {
        let (lower, upper) = (range.lower.as_slice(), range.upper.as_deref());
        let (lower, upper) = match (self.direction, &self.place.from) {
            (_, None) => (lower, upper),
            (Direction::Forward, Some(From(Some(from)))) => (lower.max(from), upper),
            (Direction::Forward, Some(From(None))) => return Ok(None),
            (Direction::Reverse, Some(From(from))) => (lower, from.as_deref().or(upper)),
        };
        let skips = self.path.leaps() && !range.key_filter.accepts_all();
        let parts = &self.path.index.key_parts;
        tree.for_each_leaf(self.direction, lower, upper, &mut |leaf| {
            *leaves += 1;
            if pages.len() >= most || *leaves > BRANCH_LEAVES_AT_A_TIME {
                return LeafWalk::Stop;
            }
            let over = if skips { leapt_over(parts, range, &leaf) } else { None };
            match (over, self.direction) {
                (Some(next), Direction::Forward) => return LeafWalk::SkipTo(next),
                (Some(_), Direction::Reverse) => {}
                (None, _) => push(pages, leaf.page),
            }
            LeafWalk::Next
        })
    }
}

/// The scan comes to a page, unless it is there.
fn push(pages: &mut Vec<PageNo>, page: PageNo) {
    if pages.last() != Some(&page) {
        pages.push(page);
    }
}

/// If a scan of the range leaps over the leaf: to a key that is not in it.
fn leapt_over(parts: &[KeyPart], range: &KeyRange, leaf: &LeafRef) -> Option<Vec<u8>> {
    let end = leaf.keys.upper.as_ref()?;
    let mut first = leaf.keys.lower.as_slice().max(&range.lower).to_vec();
    for _ in 0..LEAPS_OVER_LEAF {
        // No key lies between a beginning and the same with zeros behind it, but one that agrees with it in all of its parts.
        first.extend_from_slice(&CUT_OFF);
        if range.key_filter.accepts(parts, &first, range.equal) {
            return None;
        }
        first = match range.key_filter.next_from(parts, &first, range.equal) {
            Some(next) => next,
            None => range.upper.clone()?,
        };
        if first >= *end {
            return Some(first);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{IndexWalk, ScanOrder};
    use crate::testing;
    use crate::{Batches, PathRequest};
    use leafline_expr::CompareOp;
    use leafline_expr::build::{column, compare, literal};
    use leafline_table::{Isolation, TxnMode};
    use leafline_types::{ExprType, SqlType, Value};
    use std::collections::BTreeSet;

    #[test]
    fn leaves_that_the_scan_leaps_over_are_not_asked_for_and_all_others_are() {
        let engine = testing::engine();
        let rows: Vec<Vec<Value>> =
            (0..30_000).map(|id| [id, id / 3_000, id % 3_000].map(Value::Int).to_vec()).collect();
        let table = testing::table_of_pairs(&engine, "pairs", &rows);
        let view = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadOnly).view();
        let index = &table.indexes[1];
        let tree = engine.tree(index).expect("a tree");
        let all = tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves").pages;
        for order in [ScanOrder::Forward, ScanOrder::Reverse] {
            let v = column(2, ExprType::numeric(SqlType::BIGINT, false));
            let wanted = literal(Value::Int(1_500));
            let conjuncts = [compare(CompareOp::Eq, v, wanted).expect("a comparison")];
            let request = PathRequest {
                table: &table,
                conjuncts: &conjuncts,
                wanted: &[0],
                condition_pushdown: true,
                unpushed: &[],
                batches: Batches::ALL,
                deliver_locators: false,
            };
            let mut path = request.build(index, order);
            path.walk = IndexWalk::Leaps;
            let targets = testing::with_eval(|eval| path.targets(eval)).expect("targets");
            let direction = if order == ScanOrder::Reverse { Direction::Reverse } else { Direction::Forward };
            let mut place = ReadAheadPosition::default();
            let mut course = TargetLeafOrder {
                place: &mut place,
                path: &path,
                targets: &targets,
                direction,
                current: 0,
                all: false,
            };
            course.begin((direction == Direction::Forward).then_some(&[][..]));
            let mut asked = Vec::new();
            loop {
                let pages = course.next(&tree, 3).expect("pages");
                if pages.is_empty() {
                    break;
                }
                asked.extend(pages);
            }
            // The leaves that have such an entry, as a cursor meets them.
            let mut needed = BTreeSet::new();
            let mut cursor = view.entries(&table, index).expect("a cursor");
            cursor.seek(&[]);
            let range = &targets.all()[0].range;
            loop {
                let mut found = false;
                let more = cursor.visit(Direction::Forward, &mut |entry| {
                    found |= range.key_filter.accepts(&path.index.key_parts, entry.key, range.equal);
                    leafline_table::EntryStep::Next
                });
                if found {
                    needed.insert(cursor.leaf().1);
                }
                if !more.expect("a visit") {
                    break;
                }
            }
            assert_eq!(needed.len(), 10);
            let distinct: BTreeSet<PageNo> = asked.iter().copied().collect();
            assert!(needed.is_subset(&distinct), "{order:?}");
            assert!(
                asked.len() <= needed.len() + 2 && asked.len() * 3 < all.len(),
                "{order:?}: {}",
                asked.len()
            );
            assert_eq!(distinct.len(), asked.len(), "{order:?}: each once");
        }
    }
}
