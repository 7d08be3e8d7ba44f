#!/usr/bin/env bash
# Random updates of data four times the buffer pool while checkpoints run: throughput by the second, and the ratio of the slowest
# second to the median one.
#
# usage: bench/sustained_updates.sh [seconds] [threads] [pool MiB] [log MiB]        (40, 2, 64 and 64 unless given)
# env:   WORK  where the database goes (a directory on the disk to be measured; removed afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
export WORK=${WORK:-$PWD/target}
cargo run --release --quiet -p leafline-btree --example sustained_updates -- "$@"
