#!/usr/bin/env bash
# The longest time that a writer is stopped while its table is altered: an index added, the table optimized, its primary key changed.
#
#   bench/schema_stalls.sh [rows] [writers] [buffer pool, MB]        (500000, 8 and 128 unless given)
# env:   WORK  where the files go (a directory on the disk to be measured; they are removed afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$(mktemp -d "${WORK:-$PWD/target}/schema-stalls.XXXXXX")
trap 'rm -rf "$directory"' EXIT
cargo run --release --quiet -p leafline --example schema_stalls -- "$directory/db" "$@"
