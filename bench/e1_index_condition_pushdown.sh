#!/usr/bin/env bash
# TPC-H Query 19 with and without index condition pushdown: Leafline and MariaDB in one run, on the same rows.
#
# usage: bench/e1_index_condition_pushdown.sh [scale] [runs]        (1 and 3 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured; 6 GB at scale 1; kept for the next run)
#        POOL  buffer pool of both, in MB (by default a tenth of the size of Leafline's data)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Each figure is from a server that was just started
# (cold); the script prints the median of the runs. Answers must be equal.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-1} runs=${2:-3}
work=${WORK:-$PWD/target/bench-e1}
pool=${POOL:-}
tables='part lineitem'
indexes='CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct);
         CREATE INDEX i_l_suppkey_partkey ON lineitem (l_partkey, l_suppkey);'
. bench/common.sh
load_both
: >"$work/answers"

# One cold run: prints milliseconds of the query to $work/times, its answer and counters to $work/out.
measure() { # engine, icp, hint
  ${1}_start
  {
    echo "USE tpch; SET optimizer_switch='index_condition_pushdown=$2'; FLUSH STATUS;"
    echo 'SELECT NOW(6);'
    sed "s/FROM lineitem/FROM lineitem $3/" bench/tpch/q19.sql
    echo 'SELECT NOW(6);'
    echo "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads';"
    echo "SHOW STATUS LIKE 'Handler_read_next'; SHOW STATUS LIKE 'Leafline_rows_fetched';"
    echo "SHOW STATUS LIKE 'Handler_icp%';"
  } | client >"$work/raw"
  ${1}_stop
  local begun ended
  begun=$(date -d "$(sed -n 1p "$work/raw")" +%s%N) ended=$(date -d "$(sed -n 3p "$work/raw")" +%s%N)
  echo $(((ended - begun) / 1000000)) >>"$work/times"
  sed '1d;3d' "$work/raw" | tr '\n\t' ' =' >"$work/out"
}

printf 'scale %s, pool %s MB, cold, median of %s\n' "$scale" "$pool" "$runs"
printf '%-9s %-4s %-26s %8s  %s\n' engine ICP hint ms 'answer, counters'
for hint in 'FORCE INDEX (i_l_partkey)' ''; do
  for icp in on off; do
    [ -z "$hint" ] && [ $icp = off ] && continue
    for engine in leafline mariadb; do
      : >"$work/times"
      for _ in $(seq "$runs"); do measure $engine $icp "$hint"; done
      cut -d' ' -f1 "$work/out" >>"$work/answers"
      printf '%-9s %-4s %-26s %8s  %s\n' $engine $icp "${hint:-none}" "$(median "$work/times")" "$(cat "$work/out")"
    done
  done
done
if [ "$(sort -u "$work/answers" | wc -l)" != 1 ]; then
  echo 'the answers differ' >&2
  exit 1
fi
