#!/usr/bin/env bash
# The longest time that a writer is blocked while its table is altered, in each way that allows concurrent writers.
#
#   bench/schema_stalls.sh [rows] [writers] [buffer pool, MB] [flush policy] [words]     (500000, 8, 128 and 1 unless given)
# With words, the script runs only the steps that have one of them in their names.
# env:   WORK  where the files go (a directory on the disk to be measured; they are removed afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$(mktemp -d "${WORK:-$PWD/target}/schema-stalls.XXXXXX")
trap 'rm -rf "$directory"' EXIT
echo "$(date -u +%F), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
cargo run --release --quiet -p leafline-cli --example schema_stalls -- "$directory/db" "$@"
echo "load $(cut -d' ' -f1 /proc/loadavg)"
