#!/usr/bin/env bash
# Compares the chosen plan with the best of all plans that hints can force: 124 queries, half of them drawn by seed,
# over a shop's tables.
#
# usage: bench/plan_quality.sh [thousands of orders]        (200 unless given)
# env:   WORK   where the database goes (a directory on the disk to be measured; kept for the next run)
#        DISKS  those to measure of "memory none ssd hdd": memory holds all pages; with the others the pool is 24 MiB and empty when a
#               query begins; ssd and hdd are emulated disks with one head
#        LEAFLINE_SEED  for the queries that are drawn, 1 unless given
#        LEAFLINE_ONLY  part of the names of the queries to run; the chosen plan and the best one are printed, too
#
# Printed per query: milliseconds of the chosen and of the best plan, and their ratio; for ratios over 1.3, the query
# with the hints of the best plan. All plans of a query must return the same rows.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WORK:-$PWD/target/bench-plans}
mkdir -p "$work"
for disk in ${DISKS:-memory none ssd hdd}; do
  LEAFLINE_THOUSANDS=${1:-200} LEAFLINE_PLACE=$work/shop-${1:-200} LEAFLINE_DISK=$disk \
    cargo test --release --quiet -p leafline-cli --test plan_quality -- --ignored --nocapture | grep --line-buffered -vE '^(running|test |$)'
done
