#!/usr/bin/env bash
# Query 6 of TPC-H over a month, by KEY (l_shipdate) and by the whole table: connections that run at the same time, and
# one statement that two threads share. Leafline and MariaDB in one run, in memory, on the same rows.
#
# usage: bench/e10_parallel.sh [scale] [runs]        (0.5 and 3 unless given)
# env:   WORK  where the databases go (kept for the next run)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin, and python3. Each connection has its own list of months,
# the same for both engines; answers must be equal. The first table has queries a second and the server's processor
# time per query with 1, 2 and 4 connections that share nothing (max_parallel_degree=1); the engines take turns, and of
# `runs` rounds the one with the least processor time counts. The second table is for Leafline alone: the least
# milliseconds from statement sent to answer read, with one thread and with two, and processor time. The third counts
# how often Leafline's readers wait for each other.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-0.5} runs=${2:-3}
work=${WORK:-$PWD/target/bench-e10}
pool=4096
tables=lineitem
indexes='CREATE INDEX i_l_shipdate ON lineitem (l_shipdate);'
. bench/common.sh
load_both

# Prints the processor time of a process in microseconds; its clock includes threads that have ended.
cpu() { python3 -c 'import sys, time; print(time.clock_gettime_ns((~int(sys.argv[1]) << 3) | 2) // 1000)' "$1"; }
now() { echo $(($(date +%s%N) / 1000)); }

month() { # its number
  printf '%d-%02d-01' $((1993 + $1 % 60 / 12)) $((1 + $1 % 12))
}
query() { # index or table, the number of the month
  local hint='FORCE INDEX (i_l_shipdate)'
  [ "$1" = index ] || hint='IGNORE INDEX (i_l_shipdate)'
  echo "SELECT SUM(l_extendedprice * l_discount) FROM lineitem $hint WHERE l_shipdate >= DATE '$(month "$2")'
    AND l_shipdate < DATE '$(month "$2")' + INTERVAL 1 MONTH AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;"
}

declare -A count=([index]=24 [table]=6)
RANDOM=10
for path in index table; do
  for connection in 1 2 3 4; do
    echo 'USE tpch;' >"$work/$path-$connection.sql"
    for _ in $(seq "${count[$path]}"); do
      query $path $((RANDOM % 60)) >>"$work/$path-$connection.sql"
    done
  done
done

single='--set max_parallel_degree=1'
socket=$work/mariadb.sock mariadb_start
# shellcheck disable=SC2086
socket=$work/leafline.sock leafline_start $single
declare -A pids=([leafline]=$leafline_pid [mariadb]=$mariadb_pid)

together() { # engine, index or table, connections: leaves answers, and elapsed and processor time in microseconds
  local connection before began clients=()
  socket=$work/$1.sock
  before=$(cpu "${pids[$1]}") began=$(now)
  for connection in $(seq "$3"); do
    client <"$work/$2-$connection.sql" >"$work/$1-$2-$3-$connection.answer" &
    clients+=($!)
  done
  wait "${clients[@]}"
  local elapsed=$(($(now) - began))
  echo "$elapsed $(($(cpu "${pids[$1]}") - before))"
}

for engine in leafline mariadb; do
  for path in index table; do together $engine $path 4 >/dev/null; done
done
printf 'scale %s, in memory, the better of %s rounds\n' "$scale" "$runs"
printf '%-6s %11s %14s %14s %14s %14s %9s\n' path connections 'leafline q/s' 'mariadb q/s' 'leafline ms' 'mariadb ms' 'cpu ratio'
for path in index table; do
  rm -f "$work"/"$path"-*.times
  for _ in $(seq "$runs"); do
    for connections in 1 2 4; do
      for engine in leafline mariadb; do
        together $engine $path $connections >>"$work/$path-$connections-$engine.times"
      done
      for connection in $(seq $connections); do
        cmp "$work"/{leafline,mariadb}-$path-$connections-"$connection".answer || { echo 'the answers differ' >&2; exit 1; }
      done
    done
  done
  for connections in 1 2 4; do
    for engine in leafline mariadb; do sort -n -k2 "$work/$path-$connections-$engine.times" | head -1; done | paste -s -d ' ' |
      awk -v path=$path -v connections=$connections -v queries=$((connections * count[$path])) '{
        printf "%-6s %11s %14.2f %14.2f %14.2f %14.2f %9.2f\n", path, connections, queries * 1e6 / $1, queries * 1e6 / $3,
          $2 / queries / 1000, $4 / queries / 1000, $2 / $4 }'
  done
done

socket=$work/leafline.sock
printf '\n%-6s %8s %14s %14s\n' path threads 'elapsed ms' 'cpu ms'
for path in index table; do
  for threads in 1 2; do
    rm -f "$work/one.cpu"
    {
      echo "USE tpch; SET max_parallel_degree = $threads;"
      for run in $(seq $((runs * count[$path]))); do
        echo "SELECT 'at', NOW(6);"
        query $path "$run"
        echo "SELECT 'at', NOW(6);"
      done
    } >"$work/one.sql"
    before=$(cpu "$leafline_pid")
    client <"$work/one.sql" >"$work/raw"
    spent=$(($(cpu "$leafline_pid") - before))
    grep '^at' "$work/raw" | cut -f2 | while read -r begun && read -r ended; do
      echo $((($(date -d "$ended" +%s%N) - $(date -d "$begun" +%s%N)) / 1000))
    done | sort -n | head -1 | awk -v path=$path -v threads=$threads -v spent=$spent -v queries=$((runs * count[$path])) \
      '{ printf "%-6s %8s %14.2f %14.2f\n", path, threads, $1 / 1000, spent / queries / 1000 }'
    grep -v '^at' "$work/raw" >"$work/one-$path-$threads.answer"
  done
  cmp "$work/one-$path-1.answer" "$work/one-$path-2.answer" || { echo 'the answers differ' >&2; exit 1; }
done

# Readers take a page with a latch, which writes to the page's frame, or without one; waits and restarts count
# conflicts between readers.
printf '\n%-6s %11s %14s %12s %10s\n' path connections 'page requests' 'latch waits' restarts
counters() { client -e 'SHOW GLOBAL STATUS' | awk '/^Innodb_buffer_pool_read_requests|^Leafline_(shared_latch_waits|optimistic_restarts)/ {print $2}'; }
for path in index table; do
  for connections in 1 4; do
    counters >"$work/before"
    together leafline $path $connections >/dev/null
    counters | paste "$work/before" - | awk '{ print $2 - $1 }' | paste -s -d ' ' |
      awk -v path=$path -v connections=$connections -v queries=$((connections * count[$path])) \
        '{ printf "%-6s %11s %14.0f %12.0f %10.0f\n", path, connections, $1 / queries, $3, $2 }'
  done
done
leafline_stop
mariadb_stop
