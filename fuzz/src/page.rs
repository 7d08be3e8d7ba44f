//! Fuzzes readers with a tree page of arbitrary bytes.

use crate::input::Input;
use leafline_btree::LeafFormat;
use leafline_btree::node::{Node, NodeBuilder, check, format_version};
use leafline_storage::page::set_kind;
use leafline_storage::{PAGE_HEADER, PageKind};

const PAGE: usize = 4096;

pub(crate) fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let key = input.bytes(16);
    let mut page = vec![0; PAGE];
    let body = input.rest();
    let len = body.len().min(PAGE - PAGE_HEADER);
    page[PAGE_HEADER..PAGE_HEADER + len].copy_from_slice(&body[..len]);
    let kind = if page[PAGE_HEADER] == 0 { PageKind::LEAF } else { PageKind::BRANCH };
    set_kind(&mut page, kind, format_version(LeafFormat::Plain));
    let Ok(node) = Node::open(&page) else { return };
    let sound = check(&node).is_ok();
    read(&node, key, sound);
}

/// Reads everything; all parts of a `sound` node must be readable.
fn read(node: &Node<'_>, key: &[u8], sound: bool) {
    let mut failed = node.lower_bound(key).is_err();
    if node.is_leaf() {
        for slot in 0..node.slots() {
            failed |= node.key(slot).is_err() || node.last_key(slot).is_err() || node.stamp(slot).is_err();
        }
        for position in 0..node.count() {
            failed |= node.entry(position, &mut Vec::new()).is_err();
        }
        failed |= node.for_each_entry(0..node.slots(), |_, _| Ok(())).is_err();
    } else {
        failed |= node.child_for(key).is_err() || node.child_before(Some(key)).is_err();
        failed |= node.children_before(key).is_err();
        for slot in 0..node.count() {
            failed |= node.child(slot).is_err() || node.child_lower(slot).is_err();
            failed |= node.child_upper(slot).is_err();
        }
    }
    assert!(!(sound && failed), "a node that was checked cannot be read");
    // The copy that a split or merge makes.
    let (lower, upper) = (node.lower_fence().to_vec(), node.upper_fence().map(<[u8]>::to_vec));
    if let Ok(mut copy) = NodeBuilder::like(node, &lower, upper.as_deref()) {
        let copied = copy.push_all(node, 0..node.slots());
        if sound {
            copied.expect("a sound node can be copied");
            let image = copy.finish().expect("a sound node can be copied");
            let copy = Node::open(&image).expect("the copy is a node");
            assert_eq!(copy.count(), node.count());
        }
    }
}
