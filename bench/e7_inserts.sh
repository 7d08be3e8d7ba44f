#!/usr/bin/env bash
# Inserts into a table with three secondary indexes that outgrow the buffer pool: id ascending, values of the indexes
# random (or ascending). Leafline with change_buffering all and none, InnoDB with innodb_change_buffering all and none,
# and MyRocks, if the server has its plugin; all get the same statements.
#
# usage: bench/e7_inserts.sh [rows] [pool MB] [random or ascending] [systems]       (1500000, 64, random and all of them unless given)
# env:   WORK  where the databases go; SYSTEMS  the systems to run, in this order
#
# One client inserts a thousand rows a statement, each statement durable when it is answered. The table has rows a
# second in each sixth of the rows, the bytes that the server has written (write_bytes of /proc/PID/io, so the page
# cache counts when it is flushed), and for Leafline the time until its change buffer was empty, and a thousand reads
# by an index before and after that. Answers must be equal.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1500000} pool=${2:-64} order=${3:-random}
systems=${SYSTEMS:-leafline-all leafline-none innodb-all innodb-none myrocks}
work=${WORK:-$PWD/target/bench-e7}
scale=e7 tables='' indexes=''
. bench/common.sh
batches=6 batch=$((rows / 6))

script() { # number of the batch
  python3 - "$1" "$batch" "$order" <<'PYTHON'
import random, sys
number, batch, order = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draw = random.Random(number)
first = number * batch
for start in range(first, first + batch, 1000):
    def value(id):
        return draw.randrange(1 << 30) if order == "random" else id
    print("INSERT INTO t VALUES " + ",".join(
        f"({id},{value(id)},{value(id)},{value(id)},'{'x' * 60}')"
        for id in range(start, min(start + 1000, first + batch))) + ";")
PYTHON
}
for number in $(seq 0 $((batches - 1))); do script "$number" >"$work/batch-$number.sql"; done
python3 - >"$work/reads.sql" <<'PYTHON'
import random
draw = random.Random(99)
for _ in range(1000):
    low = draw.randrange(1 << 30)
    print(f"SELECT COUNT(*), MIN(id) FROM t WHERE a BETWEEN {low} AND {low + 20000};")
PYTHON
sums='SELECT COUNT(*), SUM(a), SUM(id) FROM t FORCE INDEX (a); SELECT SUM(b) FROM t FORCE INDEX (b) WHERE b >= 0; SELECT SUM(c) FROM t FORCE INDEX (c) WHERE c >= 0;'

now() { date +%s%N; }
written() { awk '/^write_bytes/ {print $2}' "/proc/$1/io"; }
status() { client -e "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }
timed() { local began; began=$(now); client e7 <"$1" >"$2"; echo $((($(now) - began) / 1000000)); }

run() { # name, engine of the table, process
  local began before number rates=() name=$1
  client -e 'CREATE DATABASE e7'
  client e7 -e "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, filler VARCHAR(80), KEY a (a), KEY b (b), KEY c (c)) ENGINE=$2"
  before=$(written "$3")
  for number in $(seq 0 $((batches - 1))); do
    began=$(now)
    client e7 <"$work/batch-$number.sql"
    rates+=($((batch * 1000 / (($(now) - began) / 1000000))))
  done
  printf '%-14s %s %10s MB\n' "$name" "$(printf '%9s' "${rates[@]}")" $((($(written "$3") - before) / 1000000))
  [[ $name != leafline-all ]] || {
    local during drained backlog
    backlog=$(status Leafline_change_buffer_bytes)
    during=$(timed "$work/reads.sql" "$work/$name.reads")
    began=$(now)
    while [ "$(status Leafline_change_buffer_bytes)" != 0 ]; do sleep 0.2; done
    drained=$((($(now) - began) / 1000000))
    printf '  backlog %s bytes, reads during it %s ms, gone after %s ms, reads then %s ms; %s MB written in all\n' "$backlog" "$during" "$drained" \
      "$(timed "$work/reads.sql" "$work/$name.reads-after")" $((($(written "$3") - before) / 1000000))
    cmp "$work/$name.reads" "$work/$name.reads-after"
  }
  client e7 -e "$sums" >"$work/$name.sums"
}

printf '%s rows, pool of %s MB, %s values, batches of %s\n' "$rows" "$pool" "$order" "$batch"
for name in $systems; do
  case $name in
    leafline-*)
      rm -rf "$ours"
      leafline_start --set "change_buffering=${name#*-}"
      run "$name" Leafline "$leafline_pid"
      leafline_stop
      rm -rf "$ours"
      ;;
    innodb-*)
      install_mariadb
      mariadb_start --innodb-change-buffering="${name#*-}" --innodb-flush-log-at-trx-commit=1
      run "$name" InnoDB "$mariadb_pid"
      mariadb_stop
      ;;
    myrocks)
      install_mariadb
      if ! mariadb_start --plugin-load-add=ha_rocksdb --rocksdb-block-cache-size="${pool}M" --rocksdb-flush-log-at-trx-commit=1; then
        echo 'MyRocks is not there'
        continue
      fi
      run "$name" RocksDB "$mariadb_pid"
      mariadb_stop
      ;;
  esac
  cmp "$work/${systems%% *}.sums" "$work/$name.sums" || { echo 'the answers differ' >&2; exit 1; }
done
