#!/usr/bin/env bash
# What a row costs that a prepared statement inserts, changes or deletes, in one large transaction: Leafline beside SQLite, by time of processor.
#
#   bench/row_statements.sh [rows] [rounds]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo run --release --quiet -p leafline-cli --example row_statements -- "$work/data" "$@"
