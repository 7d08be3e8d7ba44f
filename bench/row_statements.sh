#!/usr/bin/env bash
# The cost of a row that a prepared statement inserts, changes or deletes in one large transaction: Leafline and
# SQLite, by processor time.
#
#   bench/row_statements.sh [rows] [rounds]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo run --release --quiet -p leafline-cli --example row_statements -- "$work/data" "$@"
