#!/usr/bin/env bash
# The insert benchmark (Callaghan): inserts rows into a table with three secondary indexes on random values until it is
# several times the buffer pool, then reads the indexes while rows are inserted and the oldest deleted. Leafline,
# InnoDB, MyRocks and SQLite in one run, on the same rows.
#
# usage: bench/insert_benchmark.sh [rows] [pool MB]        (2000000 and 64 unless given)
# env:   WORK     where the databases go (a directory on the disk to be measured)
#        ENGINES  those to measure of "leafline innodb innodb-buffered rocksdb sqlite"; innodb is MariaDB's default, without a change buffer
#        DISK     none (this machine's), ssd or hdd: models of a disk with one head, of reads alone (bench/disk_model.c); not for MyRocks and SQLite, which
#                 read through the page cache
#        QUERIES  of each of two readers (20000 unless given)
#
# Needs mariadbd, mariadb-install-db and, for MyRocks, its plugin in PATH or /usr/sbin and the default places; sqlite3.
# Commits are durable, 1,000 rows each. Printed: rows a second per part of the load, bytes that reached the disk for a
# row (of the process, as the kernel counts them), bytes of the files for a row, queries a second while 2,000 rows a
# second are inserted and as many deleted; answers must be equal. The script draws the load to
# WORK/insert_benchmark.svg.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-2000000} pool=${2:-64} disk=${DISK:-none} queries=${QUERIES:-20000}
work=${WORK:-$PWD/target/bench-inserts} scale=inserts
. bench/common.sh
parts=20 each=$((rows / parts))

columns='id INT PRIMARY KEY, at INT NOT NULL, register INT NOT NULL, customer INT NOT NULL, product INT NOT NULL, price INT NOT NULL, data VARCHAR(20) NOT NULL'
keys=('price, customer' 'register, price, customer' 'price, at, customer')

rows_of() { # first number, count: prints statements of 1,000 rows
  awk -v first="$1" -v count="$2" 'BEGIN {
    srand(first)
    for (i = 0; i < count; i++) {
      row = sprintf("(%d,%d,%d,%d,%d,%d,\"%010d%010d\")", first + i, int(rand() * 1e9), int(rand() * 1000), int(rand() * 100000),
        int(rand() * 10000), int(rand() * 50000), int(rand() * 1e9), int(rand() * 1e9))
      gsub("\"", "\047", row)
      printf "%s%s", i % 1000 ? "," : i ? ";\nINSERT INTO purchases VALUES " : "INSERT INTO purchases VALUES ", row
    }
    print ";"
  }'
}

queries_of() { # the number of the reader
  awk -v seed="$1" -v count="$queries" 'BEGIN {
    srand(seed)
    for (i = 0; i < count; i++) {
      if (i % 3 == 0) printf "SELECT price, customer FROM purchases WHERE price >= %d ORDER BY price, customer LIMIT 10;\n", int(rand() * 50000)
      if (i % 3 == 1) printf "SELECT register, price, customer FROM purchases WHERE register = %d AND price >= %d ORDER BY price, customer LIMIT 10;\n", int(rand() * 1000), int(rand() * 50000)
      if (i % 3 == 2) printf "SELECT price, at, customer FROM purchases WHERE price >= %d ORDER BY price, at, customer LIMIT 10;\n", int(rand() * 50000)
    }
  }'
}

start() { # an engine: starts it on its directory
  case $1 in
  leafline) cold_start leafline "$disk" ;;
  innodb) cold_start mariadb "$disk" ;;
  innodb-buffered)
    cold_start mariadb "$disk"
    client -e "SET GLOBAL innodb_change_buffering = 'all'"
    ;;
  rocksdb) mariadb_start --plugin-load-add=ha_rocksdb --rocksdb-block-cache-size="${pool}M" --rocksdb-db-write-buffer-size="$((pool / 4))M" --default-storage-engine=rocksdb ;;
  esac
}
stop() { case $1 in leafline) leafline_stop ;; sqlite) ;; *) mariadb_stop ;; esac; }
process() { case $1 in leafline) echo "$leafline_pid" ;; sqlite) echo self ;; *) echo "$mariadb_pid" ;; esac; }
ask_engine() { # an engine: runs the statements of standard input
  case $1 in
  sqlite) # its processes end with each call: their bytes are added up
    { printf 'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-%d;\n' $((pool * 1024)); cat; } |
      python3 -c 'import resource, subprocess, sys
subprocess.run(["sqlite3", "-batch", "-separator", "\t", sys.argv[1]], check=True)
with open(sys.argv[2], "r+") as total:
    sum = int(total.read()) + 512 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock
    total.seek(0)
    total.write(str(sum))' "$sqlite_file" "$work/sqlite.written" | sed '/^wal$/d'
    ;;
  *) client bench ;;
  esac
}
written() { # an engine: prints the bytes its server has written; for SQLite, its shell's
  [ "$1" = sqlite ] && { cat "$work/sqlite.written"; return; }
  awk '/^write_bytes/ {print $2}' "/proc/$(process "$1")/io"
}

: >"$work/rates"
printf '%-16s %12s %12s %12s %14s %14s %12s %10s\n' engine 'first, r/s' 'last, r/s' 'least, r/s' 'written, B/r' 'files, B/r' 'queries/s' 'drained s'
for engine in ${ENGINES:-leafline innodb innodb-buffered rocksdb sqlite}; do
  ours=$work/leafline-inserts theirs=$work/$engine-inserts sqlite_file=$work/sqlite-inserts
  rm -rf "$ours" "$theirs" "$sqlite_file"*
  echo 0 >"$work/sqlite.written"
  case $engine in leafline | sqlite) ;; *) install_mariadb ;; esac
  [ $engine = sqlite ] || { start $engine; client -e 'CREATE DATABASE bench CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'; }
  {
    echo "CREATE TABLE purchases ($columns);"
    for key in "${!keys[@]}"; do echo "CREATE INDEX k$key ON purchases (${keys[key]});"; done
  } | ask_engine $engine
  before=$(written $engine)
  for part in $(seq $parts); do
    began=$(date +%s%N)
    rows_of $(((part - 1) * each + 1)) $each | ask_engine $engine
    echo "$engine $part $((each * 1000000 / (($(date +%s%N) - began) / 1000)))" >>"$work/rates"
  done
  # The bytes that a clean shutdown writes, and its time, count for the rows, too.
  began=$(date +%s%N)
  bytes=$(($(written $engine) - before))
  if [ $engine != sqlite ]; then
    pid=$(process $engine)
    kill "$pid"
    while [ -e "/proc/$pid/io" ]; do
      last=$(awk '/^write_bytes/ {print $2}' "/proc/$pid/io" 2>/dev/null || true)
      [ -z "$last" ] || bytes=$((last - before))
      sleep 0.05
    done
    wait "$pid" || true
  fi
  drained=$((($(date +%s%N) - began) / 1000000))
  case $engine in leafline) files=$ours ;; sqlite) files=$sqlite_file ;; *) files=$theirs ;; esac
  # The size of InnoDB and Leafline excludes the logs, whose size is fixed.
  case $engine in
  leafline) size=$(du -sk "$ours/data" | cut -f1) ;;
  rocksdb) size=$(du -sk "$theirs/#rocksdb" | cut -f1) ;;
  sqlite) size=$(du -sk "$sqlite_file" | cut -f1) ;;
  *) size=$(du -sk "$theirs/bench" | cut -f1) ;;
  esac
  [ $engine = sqlite ] || start $engine
  # Runs the readers while rows are inserted and deleted.
  per_second=-
  if [ $engine != sqlite ]; then
    (
      next=$((rows + 1)) oldest=1
      while :; do
        { rows_of $next 1000; echo "DELETE FROM purchases WHERE id >= $oldest AND id < $((oldest + 1000));"; } | client bench
        next=$((next + 1000)) oldest=$((oldest + 1000))
        sleep 0.5
      done
    ) &
    writer=$!
    began=$(date +%s%N) readers=()
    for reader in 1 2; do
      queries_of $reader | client bench >/dev/null &
      readers+=($!)
    done
    wait "${readers[@]}"
    per_second=$((2 * queries * 1000000 / (($(date +%s%N) - began) / 1000)))
    kill $writer
    wait $writer 2>/dev/null || true
  fi
  echo "SELECT COUNT(*), SUM(price), SUM(customer % 1000) FROM purchases WHERE id > $((rows / 2)) AND id <= $rows AND price >= 0;" | ask_engine $engine >"$work/$engine.answer"
  [ ! -e "$work/first.answer" ] || [ $engine = leafline ] || cmp "$work/first.answer" "$work/$engine.answer" || { echo 'the answers differ' >&2; exit 1; }
  cp "$work/$engine.answer" "$work/first.answer"
  stop $engine
  grep "^$engine " "$work/rates" | awk -v engine=$engine -v bytes="$bytes" -v size="$size" -v rows="$rows" -v queries="$per_second" -v drained="$drained" '
    NR == 1 {first = least = $3} {last = $3; if ($3 < least) least = $3}
    END {printf "%-16s %12d %12d %12d %14.0f %14.0f %12s %10.1f\n", engine, first, last, least, bytes / rows, size * 1024 / rows, queries, drained / 1000}'
done
rm -f "$work/first.answer"

# Draws the plot: a line per engine, rows a second over rows loaded.
awk -v parts=$parts -v each=$each '
  {if (!($1 in line)) {order[++engines] = $1} if ($3 > most) most = $3; rate[$1, $2] = $3; line[$1] = 1}
  END {
    split("#0b6e4f #c0392b #e67e22 #2980b9 #7f8c8d", colour, " ")
    width = 720; height = 360; left = 70; top = 20
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", width + 200, height + 70
    printf "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
    for (tick = 0; tick <= 4; tick++) {
      y = top + height - tick / 4 * height
      printf "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d</text>\n", left, left + width, y, y, left - 6, y + 4, most * tick / 4
    }
    for (tick = 0; tick <= 4; tick++)
      printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.1f million</text>\n", left + tick / 4 * width, top + height + 18, parts * each * tick / 4 / 1e6
    printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">rows in the table</text>\n", left + width / 2, top + height + 38
    printf "<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\">rows a second</text>\n", top + height / 2, top + height / 2
    for (number = 1; number <= engines; number++) {
      name = order[number]
      printf "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colour[number]
      for (part = 1; part <= parts; part++) printf "%.1f,%.1f ", left + (part - 0.5) / parts * width, top + height - rate[name, part] / most * height
      printf "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", left + width + 12, top + 16 * number, colour[number], name
    }
    print "</svg>"
  }' "$work/rates" >"$work/insert_benchmark.svg"
