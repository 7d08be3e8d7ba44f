#!/usr/bin/env bash
# The chosen plan by the best of all that hints can force: 124 queries, half of them drawn by seed, over a shop's tables.
#
# usage: bench/plan_quality.sh [thousands of orders]        (200 unless given)
# env:   WORK   where the database goes (a directory on the disk to be measured; kept for the next run)
#        DISKS  of "memory none ssd hdd" those to be measured: memory holds all pages, with the others the pool is 24 MiB and empty when a
#               query begins; ssd and hdd are emulated disks with one head
#        LEAFLINE_SEED  for the queries that are drawn, 1 unless given
#        LEAFLINE_ONLY  part of the names of the queries to be run; how the chosen plan and the best are run is printed, too
#
# Printed per query: milliseconds of the chosen and of the best plan, and their ratio; where it is over 1.3, the query with the hints of the best.
# All plans of a query must give the same rows.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WORK:-$PWD/target/bench-plans}
mkdir -p "$work"
for disk in ${DISKS:-memory none ssd hdd}; do
  LEAFLINE_THOUSANDS=${1:-200} LEAFLINE_PLACE=$work/shop-${1:-200} LEAFLINE_DISK=$disk \
    cargo test --release --quiet -p leafline-cli --test plan_quality -- --ignored --nocapture | grep --line-buffered -vE '^(running|test |$)'
done
