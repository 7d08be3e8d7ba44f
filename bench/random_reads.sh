#!/usr/bin/env bash
# Random reads of 16 KiB pages in batches, data four times the buffer pool: Leafline's pool and fio on the same disk in one run.
#
# usage: bench/random_reads.sh [seconds] [requests in flight] [pool MiB]        (10, 64 and 256 unless given)
# env:   WORK  where the files go (a directory on the disk to be measured; they are removed afterwards)
#
# Needs fio. Three rounds, alternately; prints reads per second of both and the ratio of their medians.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10} depth=${2:-64} pool=${3:-256}
export WORK=${WORK:-$PWD/target}
cargo build --release --quiet -p leafline-storage --example random_reads
file=$WORK/fio-random-reads
trap 'rm -f "$file"' EXIT
fio_reads() {
  fio --name=reads --filename="$file" --size=$((4 * pool))m --rw=randread --bs=16k --direct=1 --ioengine=io_uring --iodepth="$depth" \
    --runtime="$seconds" --time_based --output-format=terse --terse-version=3 | cut -d';' -f8
}
fio --name=fill --filename="$file" --size=$((4 * pool))m --rw=write --bs=1m --direct=1 >/dev/null
ours=() theirs=()
for round in 1 2 3; do
  ours+=("$(target/release/examples/random_reads "$seconds" "$depth" "$pool")")
  theirs+=("$(fio_reads)")
  echo "round $round: Leafline ${ours[-1]} reads/s, fio ${theirs[-1]} reads/s"
done
median() { printf '%s\n' "$@" | sort -n | sed -n 2p; }
echo "ratio of medians: $(awk "BEGIN { printf \"%.2f\", $(median "${ours[@]}") / $(median "${theirs[@]}") }")"
