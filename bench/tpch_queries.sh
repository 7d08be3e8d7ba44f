#!/usr/bin/env bash
# The TPC-H queries of bench/tpch with everything in memory: Leafline and MariaDB in one run, on the same rows, with the same
# indexes. Answers must be equal.
#
# usage: bench/tpch_queries.sh [scale] [runs]        (0.1 and 5 unless given)
# env:   WORK  where the databases go (kept for the next run)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Printed: median milliseconds, from statement sent to answer read, and
# the ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-0.1} runs=${2:-5}
work=${WORK:-$PWD/target/bench-tpch}
pool=4096
tables='region nation supplier customer part partsupp orders lineitem'
indexes='CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct);
         CREATE INDEX i_l_shipdate ON lineitem (l_shipdate);
         CREATE INDEX i_o_custkey ON orders (o_custkey);
         CREATE INDEX i_o_orderdate ON orders (o_orderdate);'
. bench/common.sh
load_both

for engine in leafline mariadb; do
  ${engine}_start
  for query in bench/tpch/q*.sql; do
    name=$(basename "$query" .sql)
    {
      echo 'USE tpch;'
      cat "$query" "$query"
      for _ in $(seq "$runs"); do
        echo "SELECT 'at', NOW(6);"
        cat "$query"
        echo "SELECT 'at', NOW(6);"
      done
    } | client >"$work/raw"
    grep '^at' "$work/raw" | cut -f2 | while read -r begun && read -r ended; do
      echo $((($(date -d "$ended" +%s%N) - $(date -d "$begun" +%s%N)) / 1000))
    done >"$work/times"
    median "$work/times" >"$work/$engine-$name.time"
    grep -v '^at' "$work/raw" >"$work/$engine-$name.answer"
  done
  ${engine}_stop
done

printf 'scale %s, in memory, median of %s\n%-6s %12s %12s %7s\n' "$scale" "$runs" query 'leafline ms' 'mariadb ms' ratio
for query in bench/tpch/q*.sql; do
  name=$(basename "$query" .sql)
  cmp "$work/leafline-$name.answer" "$work/mariadb-$name.answer" || { echo "$name: the answers differ" >&2; exit 1; }
  paste "$work/leafline-$name.time" "$work/mariadb-$name.time" |
    awk -v name="$name" '{printf "%-6s %12.1f %12.1f %7.2f\n", name, $1 / 1000, $2 / 1000, $1 / $2}'
done
