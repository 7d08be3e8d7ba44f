#!/usr/bin/env bash
# TPC-H Query 19 with and without index condition pushdown: Leafline and MariaDB in one run, on the same rows.
#
# usage: bench/e1_index_condition_pushdown.sh [scale] [runs]        (1 and 3 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured; 6 GB at scale 1; kept for the next run)
#        POOL  buffer pool of both, in MB (by default a tenth of what Leafline's data takes)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Each figure is from a server that was just started (cold); the
# median of the runs is printed. Answers must be equal.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-1} runs=${2:-3}
work=${WORK:-$PWD/target/bench-e1}
PATH=$PATH:/usr/sbin
mkdir -p "$work"
: >"$work/answers"

cargo build --release --quiet
leafline=$PWD/target/release/leafline
ours=$work/leafline-$scale theirs=$work/mariadb-$scale socket=$work/bench.sock
indexes='CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct);
         CREATE INDEX i_l_suppkey_partkey ON lineitem (l_partkey, l_suppkey);'

if [ ! -e "$ours/loaded" ]; then
  rm -rf "$ours"
  "$leafline" tpch "$ours" --scale "$scale"
  "$leafline" shell "$ours" -e "USE tpch; $indexes"
  touch "$ours/loaded"
fi
pool=${POOL:-$(($(du -sm "$ours/data" | cut -f1) / 10))}

mariadb_start() { # extra options
  mariadbd --no-defaults --user="$(id -un)" --datadir="$theirs" --socket="$socket" --skip-networking --pid-file="$work/pid" \
    --innodb-buffer-pool-size="${pool}M" --innodb-flush-method=O_DIRECT --innodb-buffer-pool-load-at-startup=0 \
    --innodb-buffer-pool-dump-at-shutdown=0 --local-infile=1 --innodb-log-file-size=512M "$@" >"$work/mariadb.log" 2>&1 &
  mariadb_pid=$!
  until mariadb --no-defaults -uroot -S "$socket" -e 'SELECT 1' >/dev/null 2>&1; do
    kill -0 $mariadb_pid || { cat "$work/mariadb.log"; exit 1; }
    sleep 0.1
  done
}
mariadb_stop() { kill "$mariadb_pid"; wait "$mariadb_pid" || true; }
mariadb_run() { mariadb --no-defaults --local-infile=1 -uroot -S "$socket" -N -B "$@"; }
trap 'kill ${mariadb_pid:-} ${leafline_pid:-} 2>/dev/null || true' EXIT

if [ ! -e "$theirs/loaded" ]; then
  rm -rf "$theirs"
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$theirs" --auth-root-authentication-method=normal >/dev/null
  loading_pool=$pool pool=1024
  mariadb_start --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite
  mariadb_run -e 'CREATE DATABASE tpch CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'
  for table in part lineitem; do
    "$leafline" shell "$ours" -N --format tab -e "SHOW CREATE TABLE tpch.$table" | cut -f2 |
      sed -z 's/\\n/\n/g; s/utf8mb4_0900_bin/utf8mb4_bin/g; s/Leafline/InnoDB/; s/,\n  KEY [^(]*([^)]*)//g' |
      mariadb_run tpch
    rm -f "$work/rows" && mkfifo "$work/rows"
    "$leafline" shell "$ours" --format tab -e "SELECT * FROM tpch.$table" >"$work/rows" &
    mariadb_run tpch -e "LOAD DATA LOCAL INFILE '$work/rows' INTO TABLE $table"
    wait $!
  done
  mariadb_run tpch -e "$indexes ANALYZE TABLE part, lineitem;"
  mariadb_stop
  pool=$loading_pool
  touch "$theirs/loaded"
fi

leafline_start() {
  "$leafline" serve "$ours" --port 0 --socket "$socket" --buffer-pool-size "${pool}M" >"$work/leafline.log" 2>&1 &
  leafline_pid=$!
  until mariadb --no-defaults -uroot -S "$socket" -e 'SELECT 1' >/dev/null 2>&1; do
    kill -0 $leafline_pid || { cat "$work/leafline.log"; exit 1; }
    sleep 0.1
  done
}
leafline_stop() { kill "$leafline_pid"; wait "$leafline_pid" || true; }

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
  } | mariadb_run >"$work/raw"
  ${1}_stop
  local begun ended
  begun=$(date -d "$(sed -n 1p "$work/raw")" +%s%N) ended=$(date -d "$(sed -n 3p "$work/raw")" +%s%N)
  echo $(((ended - begun) / 1000000)) >>"$work/times"
  sed '1d;3d' "$work/raw" | tr '\n\t' ' =' >"$work/out"
}
median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)] / 1000}'; }

printf 'scale %s, pool %s MB, cold, median of %s\n' "$scale" "$pool" "$runs"
printf '%-9s %-4s %-26s %8s  %s\n' engine ICP hint seconds 'answer, counters'
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
