#!/usr/bin/env bash
# Joins that narrow scans, merge ranges, replace lookups by hashing, and read both ends of groups: Leafline and MariaDB
# in one run, in memory, on the same rows.
#
# usage: bench/joins.sh [rows] [runs]        (1000000 and 7 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Each row of table f has a d (of 10,000) and an e (of
# 1,000), and a key (k, v) of 1,000 and a million values. Answers must be equal. Printed: median milliseconds from
# statement sent to answer read, the ratio, Leafline's milliseconds with the switch of the last column off, and the
# entries that Leafline examined.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-7}
work=${WORK:-$PWD/target/bench-joins} scale=joins pool=2048
. bench/common.sh
rm -rf "$ours"

define="CREATE DATABASE j CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE j;
  CREATE TABLE f (id INT PRIMARY KEY, d INT, e INT, amount DECIMAL(10,2), k INT, v INT, note VARCHAR(60), pad CHAR(60), KEY kv (k, v), KEY v (v));
  CREATE TABLE d (id INT PRIMARY KEY, name INT, word VARCHAR(20));
  CREATE TABLE e (id INT PRIMARY KEY, name INT, word VARCHAR(20));
  CREATE TABLE skewed (id INT PRIMARY KEY, kind INT, ref INT, KEY kind (kind));"
numbers() {
  echo "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT a.n * 1000 + b.n AS id FROM s a JOIN s b WHERE a.n * 1000 + b.n < $1"
}
fill="INSERT INTO f SELECT id, id * 7919 % 10000, id * 104729 % 1009 % 1000, id % 977, id * 31 % 1000, id * 7919 % 1000003, CONCAT('note ', id), 'x' FROM ($(numbers "$rows")) n;
  INSERT INTO d SELECT id, id % 200, CONCAT('d', id) FROM ($(numbers 10000)) n;
  INSERT INTO e SELECT id, id % 50, CONCAT('e', id) FROM ($(numbers 1000)) n;
  INSERT INTO skewed SELECT id, IF(id % 10 = 0, id, 7), id * 7919 % 1000003 FROM ($(numbers "$rows")) n;
  ANALYZE TABLE f, d, e, skewed;"

cases=(
  "runtime_filter SELECT COUNT(*), SUM(f.amount), MIN(f.note) FROM f JOIN d ON d.id = f.d WHERE d.name = 7"
  "runtime_filter SELECT COUNT(*), SUM(f.amount), MIN(f.note) FROM f JOIN d ON d.id = f.d JOIN e ON e.id = f.e WHERE d.name < 40 AND e.name < 5"
  "runtime_filter SELECT COUNT(*), SUM(f.amount), MIN(f.note) FROM f WHERE f.d IN (SELECT id FROM d WHERE name < 20)"
  "runtime_filter SELECT COUNT(*), SUM(g.n) FROM (SELECT id, COUNT(*) AS n FROM f GROUP BY id) g JOIN d ON d.id = g.id WHERE d.name = 7"
  "runtime_filter SELECT COUNT(*), SUM(f.amount) FROM f JOIN d ON d.id = f.d WHERE d.name <> 7"
  "ordered_merge SELECT k, v, pad FROM f WHERE k IN (3, 50, 200, 700, 999) ORDER BY v LIMIT 10"
  "ordered_merge SELECT k, v, pad FROM f WHERE k IN (3, 50, 200, 700, 999) ORDER BY v DESC LIMIT 10"
  "ordered_merge SELECT k, v FROM f WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20) AND v > 500000 ORDER BY v LIMIT 100"
  "ordered_merge SELECT k, v, pad FROM f WHERE k IN (3, 50, 200, 700, 999) AND amount > 300 ORDER BY v LIMIT 10"
  "block_nested_loop SELECT COUNT(*), SUM(f.k) FROM skewed s JOIN f ON f.v = s.ref WHERE s.kind = (SELECT MIN(7) FROM d)"
  "skip_scan SELECT k, MIN(v), MAX(v) FROM f GROUP BY k ORDER BY k"
)

install_mariadb
for engine in leafline mariadb; do
  ${engine}_start
  client -e "$define" >/dev/null
  client j -e "$fill" >/dev/null
  number=0
  for case in "${cases[@]}"; do
    switch=${case%% *} query=${case#* }
    for state in on off; do
      [ $engine = leafline ] || [ $state = on ] || continue
      set_up=
      [ $engine = mariadb ] || set_up="SET optimizer_switch = '$switch=$state';"
      ask $engine-$number-$state $engine j "$set_up" "$query" Leafline_entries_examined
    done
    number=$((number + 1))
  done
  ${engine}_stop
done

printf '%10s %10s %7s %10s %10s %10s  %s\n' 'leafline' 'mariadb' ratio 'ours, off' examined 'off' query
number=0
for case in "${cases[@]}"; do
  same_answers "$case" leafline-$number-{on,off} mariadb-$number-on
  paste -d ' ' "$work"/{leafline-$number-on,mariadb-$number-on,leafline-$number-off}.time "$work"/leafline-$number-{on,off}.counters |
    awk -v query="$case" '{printf "%10.2f %10.2f %7.3f %10.2f %10s %10s  %s\n", $1 / 1000, $2 / 1000, $1 / $2, $3 / 1000, $4, $5, query}'
  number=$((number + 1))
done
