#!/usr/bin/env bash
# Inserts into a table whose three secondary indexes, on random values, are several times the buffer pool, on a model
# of a rotating disk's reads (bench/disk_model.c): Leafline with change_buffering all and InnoDB with
# innodb_change_buffering all.
#
# usage: bench/e7_hdd.sh [rows before] [pool MB] [seconds]        (800000, 24 and 120 unless given)
# env:   WORK  where the databases go
#
# The rows before are inserted without the model, enough to fill the change buffer; then the server restarts on the
# model, with its backlog. Printed: rows a second in each third of the seconds. One client inserts a thousand rows a
# statement, each durable when it is answered, and stops at the end of a statement. Answers must be equal where both
# have the same rows.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-800000} pool=${2:-24} seconds=${3:-120}
work=${WORK:-$PWD/target/bench-e7-hdd}
scale=e7hdd tables='' indexes=''
. bench/common.sh

statements() { # first row, how many: a thousand a statement
  python3 - "$1" "$2" <<'PYTHON'
import random, sys
first, count = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(first)
value = lambda: draw.randrange(1 << 30)
for start in range(first, first + count, 1000):
    print("INSERT INTO t VALUES " + ",".join(
        f"({id},{value()},{value()},{value()},'{'x' * 60}')" for id in range(start, start + 1000)) + ";")
    print("SELECT 'at', UNIX_TIMESTAMP(NOW(6));")
PYTHON
}
statements 0 "$rows" >"$work/before.sql"
statements "$rows" $((20000 * seconds)) >"$work/timed.sql"

run() { # name, leafline or mariadb, engine of the table, options of the server...
  local name=$1 server=$2 engine=$3 began
  "${server}_start" "${@:4}"
  client -e 'CREATE DATABASE e7'
  client e7 -e "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, filler VARCHAR(80), KEY a (a), KEY b (b), KEY c (c)) ENGINE=$engine"
  client e7 <"$work/before.sql" >/dev/null
  "${server}_stop"
  cold_start "$server" hdd "${@:4}"
  began=$(client -e 'SELECT UNIX_TIMESTAMP(NOW(6))')
  timeout "$seconds" mariadb --no-defaults -uroot -S "$socket" -N -B -n e7 <"$work/timed.sql" >"$work/$name.at" || true
  awk -v name="$name" -v began="$began" -v seconds="$seconds" '/^at/ { third = int(($2 - began) * 3 / seconds); rows[third > 2 ? 2 : third] += 1000 }
    END { printf "%-14s %8d %8d %8d\n", name, rows[0] * 3 / seconds, rows[1] * 3 / seconds, rows[2] * 3 / seconds }' "$work/$name.at"
  # Compares the answers without the model, over the rows that both have.
  kill -9 "$([ "$server" = leafline ] && echo "$leafline_pid" || echo "$mariadb_pid")"
  { wait; } 2>/dev/null || true
  "${server}_start" "${@:4}"
  client e7 -e "SELECT COUNT(*), SUM(a), SUM(b) FROM t FORCE INDEX (a) WHERE id < $rows; SELECT SUM(c) FROM t FORCE INDEX (c) WHERE c >= 0 AND id < $rows" >"$work/$name.sums"
  "${server}_stop"
}

printf '%s rows before, pool of %s MB, %s seconds\n' "$rows" "$pool" "$seconds"
rm -rf "$ours"
run leafline-all leafline Leafline --set change_buffering=all
rm -rf "$ours"
install_mariadb
run innodb-all mariadb InnoDB --innodb-change-buffering=all --innodb-flush-log-at-trx-commit=1
cmp "$work/leafline-all.sums" "$work/innodb-all.sums" || { echo 'the answers differ' >&2; exit 1; }
