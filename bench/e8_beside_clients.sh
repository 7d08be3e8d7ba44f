#!/usr/bin/env bash
# A full scan of a fragmented table next to eight OLTP clients: how much each slows the other. Leafline and MariaDB in
# one run.
#
# usage: bench/e8_beside_clients.sh [rows] [seconds]        (1000000 and 15 unless given)
# env:   WORK   where the databases go (bench/e8_full_scan.sh makes them)
#        DISKS  those to measure of "none ssd hdd"; ssd and hdd are models of a disk with one head (bench/disk_model.c)
#        RATE   transactions a second that the clients begin together (100 unless given)
#
# Needs the programs that bench/e8_full_scan.sh needs, and sysbench. The clients run sysbench's oltp_read_write over a
# table of 100,000 rows, which fits in the pool, at a fixed rate below the limits of both engines. The script takes
# their 99th percentile each second, and prints the median of the seconds, without a scan and while one scan runs after
# the other, and the time of a scan meanwhile. MariaDB's scan on hdd runs once, and its clients are measured until it
# ends.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} seconds=${2:-15} rate=${RATE:-100}
work=${WORK:-$PWD/target/bench-e8} scale=e8-$rows pool=$((62 * rows / 1000000))
[ "$pool" -ge 16 ] || pool=16
. bench/common.sh
for loaded in "$ours/loaded" "$theirs/loaded"; do
  [ -e "$loaded" ] || { echo "run bench/e8_full_scan.sh $rows first, with the same WORK" >&2; exit 1; }
done

scan='SELECT COUNT(*), SUM(v), MAX(filler) FROM f'
oltp=(sysbench oltp_read_write --db-driver=mysql --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest --table-size=100000
  --threads=8 --percentile=99 --report-interval=1)

prepare() { # leafline or mariadb, its directory
  [ ! -e "$2/sysbench" ] || return 0
  "$1_start"
  client -e 'DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest'
  "${oltp[@]}" prepare >/dev/null
  "$1_stop"
  touch "$2/sysbench"
}
prepare leafline "$ours"
prepare mariadb "$theirs"

percentile() { # the clients' report: prints the median of the seconds' 99th percentiles in ms, without the first two seconds
  sed -n 's/.*(ms,99%): \([0-9.]*\).*/\1/p' "$1" | tail -n +3 | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}

measure() { # leafline or mariadb, disk: prints 99th percentiles without and with scans, and the mean time of a scan in seconds
  local engine=$1 disk=$2 scans=0 began clients
  cold_start "$engine" "$disk"
  "${oltp[@]}" --time="$seconds" run >/dev/null
  "${oltp[@]}" --time="$seconds" --rate="$rate" run >"$work/quiet"
  "${oltp[@]}" --time=3600 --rate="$rate" run >"$work/beside" &
  clients=$!
  sleep 2
  began=$(date +%s%N)
  until [ $((($(date +%s%N) - began) / 1000000000)) -ge "$seconds" ]; do
    client e8 -e "$scan" >"$work/$engine-beside.answer"
    scans=$((scans + 1))
  done
  began=$((($(date +%s%N) - began) / scans / 1000))
  kill $clients
  wait $clients 2>/dev/null || true
  "${engine}_stop"
  echo "$(percentile "$work/quiet") $(percentile "$work/beside") $began"
}

printf '%-5s %-9s %12s %12s %7s %10s\n' disk engine 'quiet p99 ms' 'beside p99' ratio 'scan s'
for disk in ${DISKS:-none ssd hdd}; do
  for engine in leafline mariadb; do
    measure $engine "$disk" | awk -v disk="$disk" -v engine=$engine \
      '{printf "%-5s %-9s %12.2f %12.2f %7.2f %10.2f\n", disk, engine, $1, $2, $2 / $1, $3 / 1e6}'
  done
  cmp "$work/leafline-beside.answer" "$work/mariadb-beside.answer" || { echo 'the answers differ' >&2; exit 1; }
done
