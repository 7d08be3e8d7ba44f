#!/usr/bin/env bash
# Bulk loads: a dump, LOAD DATA from a file of the server and from a file of the client, ALTER TABLE that adds several
# indexes, INSERT .. SELECT. Both servers get the same statements over their sockets, with durable commits, one server
# after the other, and must return the same answers; each run starts with empty databases.
#
#   bench/bulk.sh [rows] [runs] [buffer pool, MB]
#
# The column "written" counts the bytes that the server process has passed to the system from the beginning of a step
# to its end (/proc/PID/io), log and doublewrite included.
set -euo pipefail
cd "$(dirname "$0")/.."

rows=${1:-1000000} runs=${2:-3} pool=${3:-128}
work=${WORK:-/tmp/leafline-bench} scale=bulk tables='' indexes=''
. bench/common.sh
files=$work/bulk-$rows
steps=(dump load load_local indexes select)

make_files() { # A table of 210 bytes a row with two secondary indexes of random values, as a dump and as lines.
  [ ! -e "$files/made" ] || return 0
  mkdir -p "$files"
  awk -v rows="$rows" -v dir="$files" '
    function digits(count, text) { for (text = ""; count--; ) text = text (text == "" ? "" : "-") sprintf("%011d", rand() * 1e11); return text }
    BEGIN {
      srand(7); dump = dir "/dump.sql"; lines = dir "/rows.tsv"
      print "SET NAMES utf8mb4;\nSET UNIQUE_CHECKS=0, FOREIGN_KEY_CHECKS=0;\nDROP TABLE IF EXISTS `t`;" >dump
      print "CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `k` int NOT NULL, `u` bigint NOT NULL, `c` char(120) NOT NULL, `pad` char(60) NOT NULL," >dump
      print "PRIMARY KEY (`id`), KEY `k` (`k`), KEY `u` (`u`));\nLOCK TABLES `t` WRITE;\n/*!40000 ALTER TABLE `t` DISABLE KEYS */;" >dump
      for (id = 1; id <= rows; id++) {
        k = int(rand() * rows); u = sprintf("%.0f", rand() * 1e15); c = digits(10); pad = digits(5)
        printf "%d\t%d\t%s\t%s\t%s\n", id, k, u, c, pad >lines
        printf "%s(%d,%d,%s,\047%s\047,\047%s\047)", (id % 4500 == 1 ? "INSERT INTO `t` VALUES " : ","), id, k, u, c, pad >dump
        if (id % 4500 == 0 || id == rows) print ";" >dump
      }
      print "/*!40000 ALTER TABLE `t` ENABLE KEYS */;\nUNLOCK TABLES;" >dump
    }'
  touch "$files/made"
}

run_step() { # step
  case $1 in
    dump) client d <"$files/dump.sql" ;;
    load) client d -e "TRUNCATE t; LOAD DATA INFILE '$files/rows.tsv' INTO TABLE t" ;;
    load_local) client d -e "TRUNCATE t; LOAD DATA LOCAL INFILE '$files/rows.tsv' INTO TABLE t" ;;
    indexes) client d -e "ALTER TABLE t ADD KEY z1 (u, k), ADD KEY z2 (c)" ;;
    select) client d -e "CREATE TABLE s LIKE t; INSERT INTO s SELECT * FROM t" ;;
  esac
}

measure() { # engine, process
  local engine=$1 pid=$2 step begun written
  client -e 'CREATE DATABASE d'
  for step in "${steps[@]}"; do
    begun=$(date +%s%N) written=$(awk '/^write_bytes/ {print $2}' "/proc/$pid/io")
    run_step "$step"
    echo $((($(date +%s%N) - begun) / 1000000)) >>"$work/$engine.$step.times"
    echo $(($(awk '/^write_bytes/ {print $2}' "/proc/$pid/io") - written)) >>"$work/$engine.$step.written"
  done
  client d -e 'SELECT COUNT(*), SUM(k), SUM(u), MIN(c), MAX(pad) FROM s; SELECT COUNT(*) FROM s FORCE INDEX (u) WHERE u > 5e14
    UNION ALL SELECT SUM(k) FROM s FORCE INDEX (z1) WHERE u < 1e14' | tee "$work/$engine.bulk.answer" >/dev/null
}

make_files
for step in "${steps[@]}"; do rm -f "$work"/{leafline,mariadb}."$step".{times,written}; done
for _ in $(seq "$runs"); do
  install_mariadb
  mariadb_start --secure-file-priv=
  measure mariadb "$mariadb_pid"
  mariadb_stop
  rm -rf "$ours"
  leafline_start --set secure_file_priv= --set local_infile=ON
  measure leafline "$leafline_pid"
  leafline_stop
  cmp "$work/leafline.bulk.answer" "$work/mariadb.bulk.answer" || { echo 'the answers differ' >&2; exit 1; }
done

echo "$rows rows, pool $pool MB, median of $runs"
printf '%-11s %22s %22s %8s\n' step 'Leafline s, MB' 'MariaDB s, MB' ratio
for step in "${steps[@]}"; do
  for engine in leafline mariadb; do
    median "$work/$engine.$step.times"
    median "$work/$engine.$step.written"
  done | paste -s -d ' ' | awk -v step="$step" '{printf "%-11s %12.2f %9.0f %12.2f %9.0f %8.2f\n", step, $1 / 1e3, $2 / 1e6, $3 / 1e3, $4 / 1e6, $1 / $3}'
done
