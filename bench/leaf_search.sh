#!/usr/bin/env bash
# The possible gain for dense integer keys in a leaf: a binary search against computing the position of a key.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --quiet -p leafline-btree --example leaf_search
