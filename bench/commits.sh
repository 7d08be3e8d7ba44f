#!/usr/bin/env bash
# Durable commits per second by 1, 2, 8 and 32 threads, next to a bare loop of one write and one sync on the same disk.
#
# usage: bench/commits.sh [seconds per figure] [bytes of a commit]        (3 and 300 unless given)
# env:   WORK  where the files go (a directory on the disk to be measured; they are removed afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
export WORK=${WORK:-$PWD/target}
cargo run --release --quiet -p leafline-storage --example commits -- "$@"
