#!/usr/bin/env bash
# Full scans of a table whose pages are scattered in the file, cold, and of the same rows in order: Leafline and
# MariaDB in one run.
#
# usage: bench/e8_full_scan.sh [rows] [runs]        (1000000 and 3 unless given)
# env:   WORK   where the databases go (a directory on the disk to be measured)
#        DISKS  those to measure of "none ssd hdd"; ssd and hdd are models of a disk with one head (bench/disk_model.c)
#        KINDS  the values of Leafline's read_ahead to compare, "auto" unless given
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin, and a C compiler for the models. Table f was filled in
# random order, o holds the same rows in order. The pool is 30% of f. Answers must be equal. Printed: median seconds
# from statement sent to answer read, and the ratio. MariaDB runs once on hdd.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-3}
work=${WORK:-$PWD/target/bench-e8} scale=e8-$rows pool=$((62 * rows / 1000000))
[ "$pool" -ge 16 ] || pool=16
. bench/common.sh

define="CREATE DATABASE e8 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE e8;
  CREATE TABLE f (user_id INT, object_id INT, v INT, w INT, filler CHAR(88), PRIMARY KEY (user_id, object_id), KEY vw (v, w));
  CREATE TABLE o LIKE f;"
prime=1000003
[ "$rows" -lt $prime ] || { echo "fewer rows than $prime" >&2; exit 1; }

fill() { # each statement inserts a few rows from all over the table
  seq 1 "$rows" | awk -v p=$prime '{
    h = $1 * 611953 % p
    text = sprintf("%08d", h)
    text = text text text text text text text text text text text
    line = "(" int(h / 100) "," h % 100 "," $1 * 7919 % 100003 "," $1 % 1000 ",\"" text "\")"
    printf "%s%s", NR % 1000 == 1 ? (NR > 1 ? ";\nINSERT INTO f VALUES " : "INSERT INTO f VALUES ") : ",", line
  } END {print ";"}'
}

load() { # leafline or mariadb, its directory, options for a quick load
  [ ! -e "$2/loaded" ] || return 0
  local measured_pool=$pool
  pool=1024
  "$1_start" "${@:3}"
  client -e "$define"
  fill | client e8
  client e8 -e 'INSERT INTO o SELECT * FROM f ORDER BY user_id, object_id; ANALYZE TABLE f, o;' >/dev/null
  "$1_stop"
  pool=$measured_pool
  touch "$2/loaded"
}

[ -e "$theirs/loaded" ] || install_mariadb
[ -e "$ours/loaded" ] || rm -rf "$ours"
load leafline "$ours"
load mariadb "$theirs" --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite

sum="SELECT COUNT(*), SUM(v), MAX(filler) FROM"
names=(scan optimised dump check 'index build' 'secondary range')
queries=(
  "$sum f"
  "$sum o"
  "SELECT * FROM f"
  "CHECK TABLE f"
  "ALTER TABLE f ADD KEY wv (w, v)"
  "SELECT COUNT(*), SUM(w) FROM f FORCE INDEX (vw) WHERE v BETWEEN 10000 AND 90000"
)

measure() { # leafline or mariadb, disk, number of the query, kind of read-ahead
  local engine=$1 disk=$2 number=$3 kind=$4 times=$runs begun
  [ "$engine-$disk" != mariadb-hdd ] || times=1
  : >"$work/times"
  for _ in $(seq "$times"); do
    cold_start "$engine" "$disk"
    [ "$engine" = mariadb ] || client -e "SET GLOBAL read_ahead = '$kind'"
    begun=$(date +%s%N)
    client -q e8 -e "${queries[number]}" >"$work/answer"
    echo $((($(date +%s%N) - begun) / 1000)) >>"$work/times"
    [ "$number" != 4 ] || client e8 -e 'ALTER TABLE f DROP KEY wv'
    "${engine}_stop"
  done
  sort "$work/answer" | md5sum >"$work/$engine-$number.answer"
  median "$work/times"
}

printf '%-5s %-9s %-16s %9s %9s %7s\n' disk read_ahead what leafline mariadb ratio
for disk in ${DISKS:-none ssd hdd}; do
  for number in "${!names[@]}"; do
    theirs_took=$(measure mariadb "$disk" "$number" -)
    for kind in ${KINDS:-auto}; do
      ours_took=$(measure leafline "$disk" "$number" "$kind")
      cmp "$work/leafline-$number.answer" "$work/mariadb-$number.answer" || { echo "the answers differ: ${names[number]}" >&2; exit 1; }
      awk -v disk="$disk" -v kind="$kind" -v name="${names[number]}" -v a="$ours_took" -v b="$theirs_took" \
        'BEGIN {printf "%-5s %-9s %-16s %9.2f %9.2f %7.3f\n", disk, kind, name, a / 1e6, b / 1e6, a / b}'
    done
  done
done
