//! Fuzzes opening a store whose log was damaged.

use crate::input::Input;
use leafline_btree::{Change, CommitTs, LeafFormat, Tree, TreeRedo};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, HandlerId, NoReplay, RedoHandler, Result, Store, StoreOptions};
use std::sync::{Arc, LazyLock};

/// The store before the damage: some commits since the last checkpoint.
static SOUND: LazyLock<SimulatedEnv> = LazyLock::new(|| {
    let env = SimulatedEnv::new();
    let store = open(&env).expect("a new store");
    for round in 0..20 {
        let format = if round % 2 == 0 { LeafFormat::Plain } else { LeafFormat::Packed };
        let mut reservation = store.reserve(4, 64 << 10).expect("room");
        let segment = store.create_segment(&mut reservation).expect("a segment");
        let tree = Tree::create(&store, &mut reservation, segment, format).expect("a tree");
        drop(reservation);
        for key in 0..10u8 {
            let mut reservation = store.reserve(8, tree.worst_case_log(1, 100)).expect("room");
            let put =
                Change::Put { payload: vec![key; 100].into(), ts: CommitTs(round + 1), has_previous: false };
            tree.modify(&mut reservation, &[key], CommitTs(0), &mut |_| put.clone()).expect("a change");
        }
    }
    store.wait_durable(store.log_end()).expect("a flush");
    // Not closed, so that the commits are only in the log.
    let image = env.snapshot();
    drop(store);
    image
});

pub(crate) fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let env = SOUND.snapshot();
    // A page number may be anything: the file then grows until the disk is full.
    env.set_space_limit(Some(64 << 20));
    let Ok(mut files) = env.list("wal") else { return };
    files.sort();
    while !input.is_empty() {
        let Some(file) = files.get(usize::from(input.u8()) % files.len().max(1)) else { return };
        let offset = u64::from(input.u16()) * 8;
        let len = usize::from(input.u8() % 32) + 1;
        let bytes = input.bytes(len);
        let name = format!("wal/{file}");
        // Beyond the end of the file there is nothing to damage.
        let _ = env.damage(&name, offset, &mut |block| {
            let len = bytes.len().min(block.len());
            block[..len].copy_from_slice(&bytes[..len]);
        });
    }
    // A store or an error are both right; a panic or unbounded memory is not.
    let _ = open(&env).and_then(|store| store.close());
}

fn open(env: &SimulatedEnv) -> Result<Store> {
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 256 * 4096,
        log_capacity_bytes: 1 << 20,
        io_threads: 1,
        background: false,
        ..StoreOptions::default()
    };
    let handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)> = vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
    Store::open(Arc::new(env.clone()), options, handlers, &mut NoReplay)
}
