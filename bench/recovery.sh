#!/usr/bin/env bash
# The time to open a database after a crash: random updates of data four times the buffer pool, then an end without a
# checkpoint.
#
# usage: bench/recovery.sh [updates] [pool MiB] [log MiB]        (100000, 64 and 1024 unless given)
# env:   WORK  where the database goes (a directory on the disk to be measured; removed afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
export WORK=${WORK:-$PWD/target}
cargo run --release --quiet -p leafline-btree --example recovery -- "$@"
