#!/usr/bin/env bash
# What a leaf for dense integer keys could gain: a search in a leaf against computing the place of a key.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --quiet -p leafline-btree --example leaf_search
