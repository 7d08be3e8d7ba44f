//! Measures what a leaf for dense integer keys could gain: finding a key in a present leaf, against computing its
//! place.
//!
//! `bench/leaf_search.sh`
//!
//! A dense leaf has an array of payloads of one width, at positions that follow from the keys, and neither slots nor
//! keys. The example reads such an array beside real leaves with the same rows, for dense and for random keys. It
//! draws leaves and keys at random from a set that fits the processor's caches, so that the difference is one of
//! work, not of memory.

use std::hint::black_box;
use std::time::Instant;

use leafline_btree::node::{Node, NodeBuilder, NodeResult};
use leafline_btree::{CommitTs, EntryFlags, EntryView};

const PAGE: usize = 16384;
/// Number of leaves: 1 MiB in all.
const LEAVES: usize = 64;
const LOOKUPS: usize = 2_000_000;

/// The generator xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * bound as u128) >> 64) as usize
    }
}

/// Makes a full leaf from the first of `keys` on. Returns it and how many keys it took.
fn leaf(keys: &[u64], payload: &[u8]) -> NodeResult<(Vec<u8>, usize)> {
    let first = keys[0].to_be_bytes();
    let mut taken = PAGE / (payload.len() + 12);
    loop {
        // The upper fence, and with it the common prefix, depend on how many keys there is room for.
        let upper = keys[taken].to_be_bytes();
        let mut builder = NodeBuilder::new(PAGE, 0, &first, Some(&upper))?;
        let entry = EntryView { flags: EntryFlags(0), commit_ts: CommitTs::NONE, payload };
        let prefix = leafline_btree::node::common_prefix(&first, &upper);
        let fits = keys[..taken]
            .iter()
            .all(|key| builder.push_leaf(&first[..prefix], &key.to_be_bytes()[prefix..], entry).is_ok());
        if fits {
            let mut page = vec![0; PAGE];
            builder.finish_into(&mut page)?;
            return Ok((page, taken));
        }
        taken -= 1;
    }
}

/// Returns the nanoseconds of one of `LOOKUPS` calls.
fn timed(mut lookup: impl FnMut(usize, usize) -> u64, per_leaf: usize) -> f64 {
    let mut best = f64::MAX;
    for round in 0..7 {
        let mut random = Random(0x9e37_79b9 + round);
        let begun = Instant::now();
        for _ in 0..LOOKUPS {
            black_box(lookup(random.below(LEAVES), random.below(per_leaf)));
        }
        best = best.min(begun.elapsed().as_secs_f64() * 1e9 / LOOKUPS as f64);
    }
    best
}

fn main() -> NodeResult<()> {
    println!("keys    payload  entries a leaf  in a dense one   search ns  computed ns");
    for dense in [true, false] {
        for width in [8_usize, 32, 100] {
            let mut random = Random(7);
            let count = LEAVES * (PAGE / width);
            let mut keys: Vec<u64> = (0..count)
                .map(|n| if dense { 1_000_000 + n as u64 } else { random.below(1 << 48) as u64 })
                .collect();
            keys.sort_unstable();
            keys.dedup();
            let payload = vec![7; width];
            let (mut pages, mut firsts, mut at, mut per_leaf) = (Vec::new(), Vec::new(), 0, usize::MAX);
            while pages.len() < LEAVES {
                let (page, taken) = leaf(&keys[at..], &payload)?;
                pages.push(page);
                firsts.push(at);
                at += taken;
                per_leaf = per_leaf.min(taken);
            }
            let nodes: Vec<Node<'_>> =
                pages.iter().map(|page| Node::open(page)).collect::<NodeResult<_>>()?;
            let search = timed(
                |leaf, n| {
                    let key = keys[firsts[leaf] + n].to_be_bytes();
                    let (slot, _) = nodes[leaf].lower_bound(&key).unwrap_or_default();
                    nodes[leaf].leaf_cell(slot).map_or(0, |cell| u64::from(cell.entry.payload[0]))
                },
                per_leaf,
            );
            let arrays: Vec<Vec<u8>> = (0..LEAVES).map(|_| vec![7; PAGE]).collect();
            let computed = timed(
                |leaf, n| {
                    let key = keys[firsts[leaf] + n];
                    let at = if dense { key - keys[firsts[leaf]] } else { n as u64 };
                    u64::from(arrays[leaf][96 + at as usize * width])
                },
                per_leaf.min((PAGE - 96) / width),
            );
            println!(
                "{:6} {width:8} {per_leaf:15} {:15} {search:11.1} {computed:12.1}",
                if dense { "dense" } else { "random" },
                (PAGE - 96) / (width + 1),
            );
        }
    }
    Ok(())
}
