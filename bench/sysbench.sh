#!/usr/bin/env bash
# sysbench's OLTP workloads on Leafline and MariaDB in one run: Unix socket, durable commits, everything in memory.
#
# usage: bench/sysbench.sh [seconds] [rounds] [threads...]        (5, 3 and 1 4 unless given)
# env:   WORK       where the databases go (a directory on the disk to be measured)
#        WORKLOADS  those to run; ROWS  rows of the table (100,000)
#        PS         auto: prepared statements (the default); disable: text
#
# Needs sysbench, mariadbd and mariadb-install-db. Server and client have a core each. The engines take turns. Printed:
# medians of transactions a second, and the server's CPU time per query in microseconds.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-5} rounds=${2:-3}
[ $# -gt 2 ] && threads="${*:3}" || threads='1 4'
workloads=${WORKLOADS:-oltp_point_select oltp_read_only oltp_read_write oltp_update_index oltp_insert}
work=${WORK:-$PWD/target/bench-sysbench} scale=sysbench pool=1024
. bench/common.sh
rm -rf "$ours" "$theirs"

run() { # engine, threads, workload, command
  taskset -c 1 sysbench --db-driver=mysql --mysql-socket="$work/$1.sock" --mysql-user=root --mysql-db=sbtest --tables=1 \
    --table-size="${ROWS:-100000}" --db-ps-mode="${PS:-auto}" --time="$seconds" --threads="$2" "$3" "$4"
}

mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$theirs" --auth-root-authentication-method=normal >/dev/null
for engine in leafline mariadb; do
  socket=$work/$engine.sock
  ${engine}_start
  client -e 'CREATE DATABASE sbtest'
  run $engine 1 oltp_point_select prepare >/dev/null
done
declare -A pids=([leafline]=$leafline_pid [mariadb]=$mariadb_pid)
for pid in "${pids[@]}"; do taskset -acp 0 "$pid" >/dev/null; done

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
printf '%-20s %7s %-9s %12s %14s\n' workload threads engine 'tps' 'us per query'
for workload in $workloads; do
  for count in $threads; do
    rm -f "$work"/tps-* "$work"/cpu-*
    for _ in $(seq "$rounds"); do
      for engine in leafline mariadb; do
        before=$(ticks "${pids[$engine]}")
        run $engine "$count" "$workload" run >"$work/out"
        spent=$(($(ticks "${pids[$engine]}") - before))
        sed -n 's/.*transactions:.*(\([0-9.]*\) per sec.*/\1/p' "$work/out" >>"$work/tps-$engine"
        queries=$(awk '/total:/ { print $2; exit }' "$work/out")
        awk "BEGIN { printf \"%.1f\\n\", $spent * 1e6 / $(getconf CLK_TCK) / $queries }" >>"$work/cpu-$engine"
      done
    done
    for engine in leafline mariadb; do
      printf '%-20s %7s %-9s %12s %14s\n' "$workload" "$count" $engine "$(median "$work/tps-$engine")" "$(median "$work/cpu-$engine")"
    done
  done
done
