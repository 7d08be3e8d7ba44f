//! Fuzzes redo records of arbitrary bytes on a page that is sound at first.

use crate::input::Input;
use leafline_btree::node::{Node, NodeBuilder, TreeRedo, check};
use leafline_btree::{CommitTs, EntryFlags, EntryView, LeafFormat};
use leafline_storage::PageNo;
use leafline_storage::RedoHandler;

const PAGE: usize = 4096;

pub(crate) fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let shape = input.u8();
    let mut page = vec![0; PAGE];
    if build(&mut page, shape).is_none() {
        return;
    }
    while !input.is_empty() {
        let kind = input.u8();
        let len = usize::from(input.u16()) % 512;
        let payload = input.bytes(len);
        let before = page.clone();
        if TreeRedo.redo(kind, &mut page, payload).is_err() {
            // Recovery stops here; a page that was changed in part is not used.
            page = before;
            continue;
        }
        let Ok(node) = Node::open(&page) else {
            page = before;
            continue;
        };
        let _ = check(&node);
    }
}

/// Makes a leaf, plain or packed, or a branch, with free space or nearly full.
fn build(page: &mut [u8], shape: u8) -> Option<()> {
    let (level, full) = (shape & 1, shape & 2 != 0);
    let mut builder =
        NodeBuilder::new(PAGE, level, b"aaa", (shape & 4 != 0).then_some(b"aaz".as_slice())).ok()?;
    if level == 0 && shape & 8 != 0 {
        builder = builder.in_format(LeafFormat::Packed);
    }
    let prefix = if shape & 4 != 0 { b"".as_slice() } else { b"aa" };
    for n in 0..if full { 60u8 } else { 10 } {
        let suffix = [prefix, &[b'b', n, n]].concat();
        if level == 0 {
            let payload = vec![n; 50];
            let entry =
                EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload: &payload };
            builder.push_leaf(&suffix, &[], entry).ok()?;
        } else {
            let suffix: &[u8] = if n == 0 { b"" } else { &suffix };
            builder.push_child(suffix, &[], PageNo(100 + u64::from(n))).ok()?;
        }
    }
    builder.finish_into(page).ok()
}
