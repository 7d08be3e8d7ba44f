//! The bytes of one tree page.

mod layout;

pub use layout::{InsertHistory, Node, NodeFault, NodeResult, common_prefix, head_of};

use leafline_storage::{RedoError, RedoHandler};

/// The redo handler of tree pages.
#[derive(Debug, Default, Clone, Copy)]
pub struct TreeRedo;

impl RedoHandler for TreeRedo {
    fn redo(&self, _kind: u8, _page: &mut [u8], _payload: &[u8]) -> Result<(), RedoError> {
        todo!()
    }
}
