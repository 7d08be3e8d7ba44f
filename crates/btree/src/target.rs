//! The target of a descent.

use crate::node::{Node, NodeResult};

/// The target of a descent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'k> {
    /// The node that holds the key.
    Key(&'k [u8]),
    /// The node that holds the last entry before the key; `None` is the end of the tree.
    Before(Option<&'k [u8]>),
}

impl Target<'_> {
    /// Returns the slot of the branch's child that the target is behind.
    pub fn child(self, node: &Node<'_>) -> NodeResult<usize> {
        match self {
            Target::Key(key) => node.child_for(key),
            Target::Before(key) => node.child_before(key),
        }
    }

    /// Returns whether the target is within the node's fences.
    pub fn is_on(self, node: &Node<'_>) -> bool {
        match self {
            Target::Key(key) => node.covers(key),
            Target::Before(Some(key)) => {
                let within = node.upper_fence().is_none_or(|upper| key <= upper);
                within && (key > node.lower_fence() || node.lower_fence().is_empty())
            }
            Target::Before(None) => node.upper_fence().is_none(),
        }
    }
}
