#!/usr/bin/env bash
# Conditions on several indexes of one table: Leafline and MariaDB in one run, in memory, on the same rows.
#
# usage: bench/e5_index_merge.sh [rows] [runs]        (1000000 and 7 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Table t has x and y with rows / 10,000 values each, an
# index on each and one on both (ignored unless it is measured), r with a value for each 100 rows, and b with one value
# in all rows. Answers must be equal. Printed: median milliseconds from statement sent to answer read, the ratio, and
# entries examined and rows fetched by Leafline; for each plan, the same with index merge switched off.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-7}
work=${WORK:-$PWD/target/bench-e5} scale=e5 pool=2048
. bench/common.sh
rm -rf "$ours"

values=$((rows / 10000))
define="CREATE DATABASE e5 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE e5;
  CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT, r INT, b INT, pad CHAR(100), KEY x (x), KEY y (y), KEY r (r), KEY b (b), KEY xy (x, y));"
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT a.n * 1000 + b.n AS id FROM s a JOIN s b WHERE a.n * 1000 + b.n < $rows"
fill="INSERT INTO t SELECT id, id * 7919 % 1000003 % $values, id * 104729 % 999983 % $values, id * 31 % 1000033 % ($rows DIV 100), 1, 'x' FROM ($numbers) n;
  ANALYZE TABLE t;"

cases=(
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (x, y, r) WHERE x = 3 AND y = 5"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE x = 3 AND y = 5"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE r = 3 AND b = 1"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE x = 3 AND r BETWEEN 5 AND 9"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE x = 3 OR y = 5"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE x = 3 OR r BETWEEN 5 AND 9 OR id < 1000"
  "SELECT COUNT(pad), SUM(id) FROM t IGNORE INDEX (xy) WHERE (x = 3 OR x = 4) AND (y = 5 OR r = 7)"
  "SELECT id, pad FROM t IGNORE INDEX (xy) WHERE x = 3 OR y = 5 ORDER BY id DESC LIMIT 10"
)

install_mariadb
for engine in leafline mariadb; do
  ${engine}_start
  client -e "$define" >/dev/null
  client e5 -e "$fill" >/dev/null
  number=0
  for query in "${cases[@]}"; do
    for merge in on off; do
      ask $engine-$number-$merge $engine e5 "SET optimizer_switch = 'index_merge=$merge';" "$query" Leafline_entries_examined Leafline_rows_fetched
    done
    number=$((number + 1))
  done
  ${engine}_stop
done

printf '%10s %10s %7s %10s %10s %10s %10s  %s\n' 'leafline' 'mariadb' ratio 'ours, off' 'theirs, off' examined fetched query
number=0
for query in "${cases[@]}"; do
  same_answers "$query" {leafline,mariadb}-$number-{on,off}
  paste -d ' ' "$work"/{leafline,mariadb}-$number-{on,off}.time "$work/leafline-$number-on.counters" |
    awk -v query="$query" '{printf "%10.2f %10.2f %7.3f %10.2f %10.2f %10s %10s  %s\n", $1 / 1000, $3 / 1000, $1 / $3, $2 / 1000, $4 / 1000, $5, $6, query}'
  number=$((number + 1))
done
