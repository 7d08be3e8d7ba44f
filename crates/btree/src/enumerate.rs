//! Which leaf pages hold a range, in key order, from branch pages only.
//!
//! For read-ahead, and to find many keys' leaves before fetching them in one batch. Branches are copied and looked at then, so
//! what is returned may be stale at once: it is for prefetching, and readers find their way by key.

use leafline_storage::PageNo;

use crate::descend::Target;
use crate::error::{OnPage, Result};
use crate::node::{Node, NodeResult};
use crate::optimistic::Walk;
use crate::tree::Tree;

/// Leaves in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafList {
    /// The leaf pages.
    pub pages: Vec<PageNo>,
    /// Where to ask for the rest; `None`: that was all.
    pub resume: Option<Vec<u8>>,
}

impl Tree {
    /// The leaf that holds `key`.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn leaf_of(&self, key: &[u8]) -> Result<PageNo> {
        if let Walk::There(reference) = self.find_reference(Target::Key(key), 0) {
            return Ok(reference.page);
        }
        let Some(branch) = self.branch(key, 1)? else { return Ok(self.root()) };
        let page = branch.page_no();
        let node = Node::open(&branch).on(page)?;
        node.child_for(key).and_then(|slot| node.child(slot)).on(page)
    }

    /// The leaves that hold keys in `[lower, upper)` (`None` is the end of the tree), at most `max` of them.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn leaves(&self, lower: &[u8], upper: Option<&[u8]>, max: usize) -> Result<LeafList> {
        let mut list = LeafList { pages: Vec::new(), resume: None };
        if upper.is_some_and(|upper| lower >= upper) {
            return Ok(list);
        }
        let mut at = lower.to_vec();
        loop {
            if list.pages.len() >= max {
                list.resume = Some(at);
                return Ok(list);
            }
            let Some(branch) = self.branch(&at, 1)? else {
                list.pages.push(self.root());
                return Ok(list);
            };
            let page = branch.page_no();
            let node = Node::open(&branch).on(page)?;
            let range = children_in(&node, &at, upper).on(page)?;
            for slot in range.clone() {
                if list.pages.len() == max {
                    list.resume = Some(node.child_lower(slot).on(page)?);
                    return Ok(list);
                }
                list.pages.push(node.child(slot).on(page)?);
            }
            match node.upper_fence() {
                Some(fence) if range.end == node.count() && upper.is_none_or(|upper| fence < upper) => {
                    at = fence.to_vec();
                }
                _ => return Ok(list),
            }
        }
    }
}

/// The slots of a branch whose children hold keys in `[lower, upper)`; `lower` is on the branch.
pub(crate) fn children_in(
    node: &Node<'_>,
    lower: &[u8],
    upper: Option<&[u8]>,
) -> NodeResult<std::ops::Range<usize>> {
    let first = node.child_for(lower)?;
    let end = match upper {
        Some(upper) => node.children_before(upper)?,
        None => node.count(),
    };
    Ok(first..end.max(first + 1))
}
