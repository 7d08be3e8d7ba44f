//! Reads the committed entries of a tree that nobody changes: in key order, or in the order of its pages
//! for a caller that sorts them anyway.

use crate::error::Result;
use crate::run::EntrySource;
use leafline_btree::{Cursor, Direction, LeafStep, LeavesByPage, RangeReadAhead, ReadAheadSettings, Tree};

/// Reads a tree one leaf at a time.
pub(crate) struct TreeSource {
    cursor: Cursor,
    /// The ends of each entry's key and payload in `bytes`.
    spans: Vec<(usize, usize)>,
    bytes: Vec<u8>,
    next: usize,
    begin: usize,
    more: bool,
    ahead: RangeReadAhead,
    by_page: Option<ByPage>,
}

/// The position of a walk in the order of the pages.
struct ByPage {
    leaves: LeavesByPage,
    next: usize,
}

impl TreeSource {
    /// Reads the live entries of `tree` in key order.
    pub(crate) fn new(tree: &Tree) -> TreeSource {
        let mut cursor = tree.clone().into_cursor();
        cursor.seek(&[]);
        let ahead = RangeReadAhead::new(ReadAheadSettings::default(), Direction::Forward, &[], None);
        let (spans, bytes) = (Vec::new(), Vec::new());
        TreeSource { cursor, spans, bytes, next: 0, begin: 0, more: true, ahead, by_page: None }
    }

    /// Returns whether `tree` has no live entries; false also if a few leaves do not tell.
    pub(crate) fn is_empty(tree: &Tree) -> Result<bool> {
        /// The number of leaves that are read.
        const LEAVES: usize = 16;
        let mut source = TreeSource::new(tree);
        for _ in 0..LEAVES {
            source.fill()?;
            if !source.spans.is_empty() {
                return Ok(false);
            }
            if !source.more {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the live entries of `tree` in any order.
    pub(crate) fn in_any_order(tree: &Tree) -> Result<TreeSource> {
        let mut source = TreeSource::new(tree);
        let leaves = tree.leaves_by_page(&[], None, LeavesByPage::MOST)?;
        let settings = ReadAheadSettings::default();
        if settings.visits_by_page(leaves.leaves.len(), leaves.missing, leaves.backward) {
            source.by_page = Some(ByPage { leaves, next: 0 });
        }
        Ok(source)
    }

    /// Goes to the next leaf in the order of the pages. Returns false if there is none.
    fn go_to_page(&mut self) -> Result<bool> {
        let Some(ByPage { leaves, next }) = &mut self.by_page else { return Ok(true) };
        let tree = self.cursor.tree();
        if *next == leaves.leaves.len() {
            let Some(resume) = leaves.resume.take() else { return Ok(false) };
            (*leaves, *next) = (tree.leaves_by_page(&resume, None, LeavesByPage::MOST)?, 0);
        }
        leaves.prefetch(tree.store(), *next)?;
        let Some(leaf) = leaves.leaves.get(*next) else { return Ok(false) };
        *next += 1;
        self.cursor.seek(&leaf.keys.lower);
        Ok(true)
    }

    fn fill(&mut self) -> Result<()> {
        if !self.go_to_page()? {
            self.more = false;
            return Ok(());
        }
        let by_page = self.by_page.as_ref();
        let upper =
            by_page.and_then(|ByPage { leaves, next }| leaves.leaves.get(*next - 1)?.keys.upper.clone());
        if by_page.is_none() {
            self.ahead.advance(&self.cursor)?;
        }
        let (mut spans, mut bytes) = (std::mem::take(&mut self.spans), std::mem::take(&mut self.bytes));
        let mut key = Vec::new();
        let more = self.cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            spans.clear();
            bytes.clear();
            for slot in slots {
                let entry = leaf.entry(slot);
                if entry.is_ghost() {
                    continue;
                }
                leaf.key_into(slot, &mut key);
                // The cursor may have skipped an empty leaf, to one that comes later in the order of the
                // pages.
                if upper.as_ref().is_some_and(|upper| key >= *upper) {
                    break;
                }
                bytes.extend_from_slice(&key);
                let key_end = bytes.len();
                bytes.extend_from_slice(entry.payload);
                spans.push((key_end, bytes.len()));
            }
            LeafStep::NextLeaf
        })?;
        // The end of the tree is not the end of a walk by pages.
        self.more = more || self.by_page.is_some();
        (self.spans, self.bytes, self.next, self.begin) = (spans, bytes, 0, 0);
        Ok(())
    }
}

impl EntrySource for TreeSource {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.next == self.spans.len() {
            if !self.more {
                return Ok(None);
            }
            self.spans.clear();
            self.next = 0;
            self.fill()?;
        }
        let (key_end, end) = self.spans[self.next];
        let begin = std::mem::replace(&mut self.begin, end);
        self.next += 1;
        Ok(Some((&self.bytes[begin..key_end], &self.bytes[key_end..end])))
    }
}
