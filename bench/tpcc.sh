#!/usr/bin/env bash
# TPC-C in the version of sysbench-tpcc (Percona-Lab/sysbench-tpcc), on Leafline and MariaDB in one run, with its
# consistency checks at the end: Unix socket, durable commits.
#
# usage: TPCC=directory bench/tpcc.sh [seconds] [warehouses] [rounds] [threads...]        (20, 4, 3 and 4 unless given)
# env:   TPCC   a clone of https://github.com/Percona-Lab/sysbench-tpcc
#        WORK   where the databases go (a directory on the disk to be measured)
#        POOL   the buffer pool of each, MB (1024)
#        LEVEL  RR (the default) or RC: the isolation level
#
# Needs sysbench, mariadbd and mariadb-install-db. The engines take turns. Printed: medians of transactions a second,
# of the 95th percentile of a transaction's milliseconds, of the errors a second after which a transaction was
# restarted (deadlocks; under RR, rows that others have changed since Leafline's snapshot), and the server's CPU time
# per transaction. Each check must pass in both.
set -euo pipefail
cd "$(dirname "$0")/.."
tpcc=$(realpath "${TPCC:?the directory of sysbench-tpcc}")
seconds=${1:-20} warehouses=${2:-4} rounds=${3:-3}
[ $# -gt 3 ] && threads="${*:4}" || threads=4
work=$(realpath -m "${WORK:-$PWD/target/bench-tpcc}") scale=tpcc pool=${POOL:-1024}
. bench/common.sh
rm -rf "$ours" "$theirs"

run() { # engine, threads, command
  (cd "$tpcc" && sysbench tpcc.lua --db-driver=mysql --mysql-socket="$work/$1.sock" --mysql-user=root --mysql-db=tpcc --tables=1 \
    --scale="$warehouses" --trx_level="${LEVEL:-RR}" --time="$seconds" --threads="$2" "$3")
}

install_mariadb
for engine in leafline mariadb; do
  socket=$work/$engine.sock
  ${engine}_start
  client -e 'CREATE DATABASE tpcc'
  run $engine 2 prepare >"$work/prepare-$engine"
done
declare -A pids=([leafline]=$leafline_pid [mariadb]=$mariadb_pid)
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

printf '%7s %-9s %12s %12s %12s %14s\n' threads engine tps '95 %, ms' errors/s 'CPU us a tx'
for count in $threads; do
  rm -f "$work"/figures-*
  for _ in $(seq "$rounds"); do
    for engine in leafline mariadb; do
      before=$(ticks "${pids[$engine]}")
      run $engine "$count" run >"$work/out"
      spent=$(($(ticks "${pids[$engine]}") - before))
      sed -n 's/.*transactions:.*(\([0-9.]*\) per sec.*/\1/p' "$work/out" >>"$work/figures-tps-$engine"
      sed -n 's/.*95th percentile: *//p' "$work/out" >>"$work/figures-late-$engine"
      sed -n 's/.*ignored errors:.*(\([0-9.]*\) per sec.*/\1/p' "$work/out" >>"$work/figures-errors-$engine"
      awk -v ticks="$spent" -v hz="$(getconf CLK_TCK)" '/transactions:/ {printf "%.0f\n", ticks * 1e6 / hz / $2}' "$work/out" >>"$work/figures-cpu-$engine"
    done
  done
  for engine in leafline mariadb; do
    printf '%7s %-9s' "$count" $engine
    for figure in tps late errors cpu; do printf ' %12s' "$(median "$work/figures-$figure-$engine")"; done
    echo
  done
done

for engine in leafline mariadb; do
  run $engine 1 check >"$work/check-$engine"
  failed=$(grep -c FAILED "$work/check-$engine" || true)
  passed=$(grep -c PASSED "$work/check-$engine" || true)
  echo "$engine: $passed checks passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || { grep FAILED "$work/check-$engine" >&2; exit 1; }
done
