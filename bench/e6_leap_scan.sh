#!/usr/bin/env bash
# Conditions behind the first part of an index, and GROUP BY from an index: Leafline and MariaDB in one run, in memory,
# on the same rows.
#
# usage: bench/e6_leap_scan.sh [rows] [runs]        (1000000 and 7 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Tables t10 and t1000 have an index (k, v), with 10 and
# 1,000 values of k and 100,000 of v; in u the first part is nearly unique. Answers must be equal. Printed: median
# milliseconds from statement sent to answer read, the ratio, and entries examined and leaps of Leafline.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-7}
work=${WORK:-$PWD/target/bench-e6} scale=e6 pool=2048
. bench/common.sh
rm -rf "$ours"

define="CREATE DATABASE e6 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE e6;
  CREATE TABLE t10 (id INT PRIMARY KEY, k INT, v INT, f CHAR(60), KEY kv (k, v));
  CREATE TABLE t1000 LIKE t10;
  CREATE TABLE u LIKE t10;"
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT a.n * 1000 + b.n AS id FROM s a JOIN s b WHERE a.n * 1000 + b.n < $rows"
fill="INSERT INTO t10 SELECT id, id % 10, id * 7919 % 100003 % 100000, 'x' FROM ($numbers) n;
  INSERT INTO t1000 SELECT id, id % 1000, v, f FROM t10;
  INSERT INTO u SELECT id, id - id % 2, v, f FROM t10;
  ANALYZE TABLE t10, t1000, u;"

queries=(
  "SELECT COUNT(id) FROM {t} WHERE v = 5"
  "SELECT COUNT(f) FROM {t} WHERE v = 5"
  "SELECT id, f FROM {t} WHERE v = 5 ORDER BY k DESC, v DESC"
  "SELECT COUNT(f) FROM {t} WHERE k BETWEEN {k} * 0.3 AND {k} * 0.7 AND v = 5"
  "SELECT COUNT(f) FROM {t} WHERE k BETWEEN {k} * 0.3 AND {k} * 0.7 AND v IN (5, 500, 5000)"
  "SELECT k, MIN(v) FROM {t} GROUP BY k ORDER BY k"
  "SELECT k, MAX(v) FROM {t} WHERE v < 50000 GROUP BY k ORDER BY k"
  "SELECT COUNT(DISTINCT k) FROM {t}"
  "SELECT COUNT(f) FROM {t} WHERE k = 1 AND v < 100 OR v = 3"
  "SELECT id, v FROM {t} WHERE k IN (1, 2, 3, 4, 5) ORDER BY v, id LIMIT 10"
  "SELECT k, v FROM {t} WHERE (k, v) > (3, 50000) ORDER BY k, v LIMIT 20"
)
cases=()
for query in "${queries[@]}"; do
  for distinct in 10 1000; do
    spelled=${query//'{t}'/t$distinct}
    cases+=("${spelled//'{k}'/$distinct}")
  done
done
cases+=("SELECT COUNT(*) FROM u WHERE k BETWEEN $((rows / 10)) AND $((rows / 2)) AND v = 5")

install_mariadb
for engine in leafline mariadb; do
  ${engine}_start
  client -e "$define" >/dev/null
  client e6 -e "$fill" >/dev/null
  number=0
  for query in "${cases[@]}"; do
    ask $engine-$number $engine e6 '' "$query" Leafline_entries_examined Leafline_leaps
    number=$((number + 1))
  done
  ${engine}_stop
done

printf '%10s %10s %7s %10s %8s  %s\n' 'leafline' 'mariadb' ratio examined leaps query
number=0
for query in "${cases[@]}"; do
  same_answers "$query" {leafline,mariadb}-$number
  paste -d ' ' "$work"/{leafline,mariadb}-$number.time "$work/leafline-$number.counters" |
    awk -v query="$query" '{printf "%10.2f %10.2f %7.3f %10s %8s  %s\n", $1 / 1000, $2 / 1000, $1 / $2, $3, $4, query}'
  number=$((number + 1))
done
