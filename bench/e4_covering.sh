#!/usr/bin/env bash
# Covering scans: Leafline, MariaDB and SQLite in one run, in memory, on the same rows; then with a concurrent writer.
#
# usage: bench/e4_covering.sh [rows] [runs]        (1000000 and 9 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured)
#
# Needs mariadbd, mariadb-install-db and sqlite3 in PATH or /usr/sbin. SQLite reports whole milliseconds. Table t has
# KEY sk (sk), KEY sk_cov (sk, a, b, c) and 100 further bytes. One thread reads (innodb_parallel_read_threads = 1).
# Answers must be equal. Printed: the least milliseconds, and millions of entries a second of Leafline; then medians of
# Leafline and MariaDB, alone and while a writer changes up to 1 % of the rows a second, each in sk_cov, their ratio,
# changes a second, and the number of rows that a scan of Leafline visits because entries are newer than its snapshot.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-9}
work=${WORK:-$PWD/target/bench-e4} scale=e4 pool=2048
. bench/common.sh
rm -rf "$ours" "$theirs" "$work/sqlite"

columns="(id INT PRIMARY KEY, sk INT NOT NULL, a INT NOT NULL, b INT NOT NULL, c INT, f CHAR(100))"
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT x.n * 1000 + y.n AS id FROM s x JOIN s y WHERE x.n * 1000 + y.n < $rows"
fill="INSERT INTO t SELECT id, id * 7919 % 1000003, id % 1000, id % 77, id % 5, 'x' FROM ($numbers) n;"
indexes="CREATE INDEX sk ON t (sk); CREATE INDEX sk_cov ON t (sk, a, b, c);"
low=400000 high=420000

# Each query: the entries it reads, and its text.
cases=(
  "$rows SELECT COUNT(*) FROM t"
  "$rows SELECT COUNT(sk) FROM t"
  "$rows SELECT COUNT(c) FROM t {sk_cov}"
  "$rows SELECT SUM(sk) FROM t {sk}"
  "$rows SELECT SUM(b) FROM t {sk_cov} WHERE sk >= 0"
  "$rows SELECT SUM(a * 2 + b), MAX(c) FROM t {sk_cov} WHERE sk >= 0"
  "$rows SELECT a, SUM(b) FROM t {sk_cov} WHERE sk >= 0 GROUP BY a ORDER BY a LIMIT 3"
  "$rows SELECT COUNT(*) FROM t {sk_cov} WHERE sk >= 0 AND b = 5"
  "$((rows / 50)) SELECT COUNT(*) FROM t WHERE sk BETWEEN $low AND $high"
  "$((rows / 50)) SELECT SUM(a), SUM(b) FROM t WHERE sk BETWEEN $low AND $high"
  "$rows SELECT COUNT(f) FROM t"
)

# Prints a query of the list in an engine's dialect.
spelled() { # engine, number
  local query=${cases[$2]#* }
  if [ "$1" = sqlite ]; then
    query=${query//'{'/INDEXED BY }
    echo "${query//'}'/}"
  else
    query=${query//'{'/FORCE INDEX (}
    echo "${query//'}'/)}"
  fi
}

# Prints the least and the median of $work/times.
figures() { echo "$(sort -n "$work/times" | head -1) $(median "$work/times")"; }

# The queries that run again with a writer.
with_writer=(4 5 7)

# Runs a query several times: the least and the median microseconds, and the answer.
measure() { # engine, number, file for the times
  {
    echo 'USE e4;'
    [ "$1" = mariadb ] || echo 'SET innodb_parallel_read_threads = 1;'
    for _ in $(seq "$runs"); do
      printf "SELECT 'at', NOW(6);\n%s;\nSELECT 'at', NOW(6);\n" "$(spelled "$1" "$2")"
    done
  } | client >"$work/raw"
  times_of_raw
  figures >"$work/$1-$2.$3"
}

status() { client -e "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }

# Prints statements that change one row in a hundred a second, ten at a time.
writes() { # seconds
  awk -v rows="$rows" -v seconds="$1" 'BEGIN {
    print "USE e4; SET @begun = UNIX_TIMESTAMP(NOW(6));"
    batches = rows / 1000
    for (batch = 1; batch <= seconds * batches; batch++) {
      list = batch * 79070 % rows
      for (row = 1; row < 10; row++) list = list "," (batch * 10 + row) * 7907 % rows
      print "UPDATE t SET a = a + 1 WHERE id IN (" list ");"
      if (batch % 10 == 0)
        print "SELECT SLEEP(GREATEST(0, " batch / batches " - (UNIX_TIMESTAMP(NOW(6)) - @begun))) INTO @slept;"
    }
  }'
}

install_mariadb
writes 60 >"$work/writes"
for engine in leafline mariadb; do
  ${engine}_start
  client -e "CREATE DATABASE e4 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE e4; CREATE TABLE t $columns; $fill $indexes ANALYZE TABLE t;" >/dev/null
  for number in "${!cases[@]}"; do
    measure $engine "$number" quiet
    grep -v '^at' "$work/raw" | sort -u >"$work/$engine-$number.answer"
  done
  for number in "${with_writer[@]}"; do
    client <"$work/writes" >/dev/null 2>"$work/writer.log" &
    writer=$!
    sleep 1
    updates=$(status Handler_update) begun=$(date +%s%N) lookups=$(status Leafline_covering_lookups)
    measure $engine "$number" busy
    changes=$(((($(status Handler_update) - updates) * 1000000) / (($(date +%s%N) - begun) / 1000)))
    lookups=$((($(status Leafline_covering_lookups) - ${lookups:-0}) / runs))
    kill $writer 2>/dev/null || true
    wait $writer || true
    echo "$changes $lookups" >"$work/$engine-$number.changes"
  done
  ${engine}_stop
done

sqlite3 "$work/sqlite" "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE t $columns; $fill $indexes ANALYZE;" >/dev/null
for number in "${!cases[@]}"; do
  {
    echo "PRAGMA cache_size = -2000000;"
    echo "$(spelled sqlite "$number");"
    echo .timer on
    for _ in $(seq "$runs"); do echo "$(spelled sqlite "$number");"; done
  } | sqlite3 -separator "$(printf '\t')" "$work/sqlite" >"$work/raw"
  sed -n 's/^Run Time: real \([0-9.]*\).*/\1/p' "$work/raw" | awk '{print int($1 * 1000000)}' >"$work/times"
  figures >"$work/sqlite-$number.quiet"
  grep -v '^Run Time' "$work/raw" | sort -u >"$work/sqlite-$number.answer"
done

printf '| query | Leafline ms | MariaDB ms | ratio | SQLite ms | ratio | Leafline, million entries a second |\n|---|---:|---:|---:|---:|---:|---:|\n'
for number in "${!cases[@]}"; do
  for other in mariadb sqlite; do
    cmp "$work/leafline-$number.answer" "$work/$other-$number.answer" ||
      { echo "the answers of $other differ: ${cases[$number]#* }" >&2; exit 1; }
  done
  paste -d ' ' "$work"/{leafline,mariadb,sqlite}-"$number".quiet |
    awk -v query="$(spelled leafline "$number")" -v entries="${cases[$number]%% *}" \
      'function ratio(a, b) { return b > 0 ? sprintf("%.3f", a / b) : "-" }
       {printf "| `%s` | %.2f | %.2f | %s | %d | %s | %.1f |\n", query, $1 / 1000, $3 / 1000, ratio($1, $3), $5 / 1000, ratio($1, $5), entries / $1}'
done
printf '\n| query, with a writer | engine | ms | quiet | ratio | rows changed a second | rows visited a scan |\n|---|---|---:|---:|---:|---:|---:|\n'
for number in "${with_writer[@]}"; do
  for engine in leafline mariadb; do
    paste -d ' ' "$work/$engine-$number".{busy,quiet,changes} |
      awk -v query="$(spelled leafline "$number")" -v engine=$engine \
        '{printf "| `%s` | %s | %.2f | %.2f | %.2f | %d | %s |\n", query, engine, $2 / 1000, $4 / 1000, $2 / $4, $5, $6}'
  done
done
