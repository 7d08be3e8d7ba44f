#!/usr/bin/env bash
# Dumps and imports lineitem and part of TPC-H with their indexes, in Leafline and MariaDB: each step several times,
# one engine after the other, on the same rows.
#
#   bench/dump.sh [scale] [runs] [buffer pool, MB]
#
# Files go to $WORK; imports go to new databases with durable commits.
set -euo pipefail
cd "$(dirname "$0")/.."

scale=${1:-0.2} runs=${2:-3} pool=${3:-256}
work=${WORK:-/tmp/leafline-bench} tables='lineitem part'
indexes='ALTER TABLE lineitem ADD KEY by_part (l_partkey, l_suppkey), ADD KEY by_date (l_shipdate);'
. bench/common.sh
load_both
files=$work/dump-$scale
rm -rf "$files" && mkdir -p "$files"

timed() { # name, command...
  local name=$1 begun
  shift
  begun=$(date +%s%N)
  "$@"
  echo $((($(date +%s%N) - begun) / 1000000)) >>"$files/$name.times"
}
median_of() { median "$files/$1.times"; }

dump_own() { "$leafline" dump "$ours" tpch.lineitem tpch.part >"$files/own.sql" 2>/dev/null; }
dump_folder() { # format
  rm -rf "$files/folder" && "$leafline" dump "$ours" tpch.lineitem tpch.part --output "$files/folder" --format "$1" 2>/dev/null
}
dump_client() { mariadb-dump --no-defaults -uroot -S "$socket" --single-transaction --hex-blob tpch lineitem part >"$files/$1.sql"; }
dump_served() { "$leafline" dump "$ours" tpch.lineitem tpch.part >"$files/served.sql" 2>/dev/null; }
import_own() { rm -rf "$files/new" && "$leafline" import "$files/new" "$1" -D tpch --buffer-pool-size "${pool}M" 2>/dev/null; }
import_client() { client -e 'DROP DATABASE IF EXISTS new; CREATE DATABASE new' && client new <"$1"; }
import_live() { rm -rf "$files/new" && "$leafline" import "$files/new" --from "mysql://root@/tpch?socket=$socket" --buffer-pool-size "${pool}M" 2>/dev/null; }

for _ in $(seq "$runs"); do
  timed dump.own dump_own
  timed dump.folder dump_folder sql
  timed dump.csv dump_folder csv
  timed dump.parquet dump_folder parquet
done
socket=$ours/leafline.sock
leafline_start
for _ in $(seq "$runs"); do
  timed dump.served dump_served
  timed dump.client-of-leafline dump_client leafline-client
done
leafline_stop
socket=$work/bench.sock
mariadb_start
for _ in $(seq "$runs"); do
  timed dump.mariadb dump_client mariadb
  timed import.mariadb import_client "$files/mariadb.sql"
  timed import.live import_live
done
"$leafline" shell "$files/new" -N --format tab -e 'SELECT COUNT(*), SUM(l_quantity), MIN(l_comment) FROM tpch.lineitem' >"$files/live.answer"
client tpch -e 'SELECT COUNT(*), SUM(l_quantity), MIN(l_comment COLLATE utf8mb4_bin) FROM lineitem' >"$files/mariadb.answer"
cmp "$files/live.answer" "$files/mariadb.answer"
mariadb_stop
for _ in $(seq "$runs"); do
  timed import.own import_own "$files/own.sql"
  timed import.of-mariadb import_own "$files/mariadb.sql"
done
"$leafline" shell "$files/new" -N --format tab -e 'SELECT COUNT(*), SUM(l_quantity), MIN(l_comment) FROM tpch.lineitem' | cmp - "$files/mariadb.answer"

echo "scale $scale, buffer pool $pool MB, $(du -m "$files/own.sql" | cut -f1) MB of SQL, medians of $runs, seconds"
row() { # what, name, baseline
  awk -v what="$1" -v own="$(median_of "$2")" -v base="$(median_of "$3")" \
    'BEGIN {printf "| %s | %.2f | %.2f | %.1f |\n", what, own / 1000, base / 1000, base / own}'
}
printf '| step | Leafline | MariaDB | ratio |\n|---|---|---|---|\n'
row 'dump to one SQL file (MariaDB: mariadb-dump)' dump.own dump.mariadb
row 'the same of a database that is served' dump.served dump.mariadb
row 'to a directory, SQL' dump.folder dump.mariadb
row 'to a directory, CSV' dump.csv dump.mariadb
row 'to a directory, Parquet' dump.parquet dump.mariadb
row 'mariadb-dump of either server' dump.client-of-leafline dump.mariadb
row "import of Leafline's dump (MariaDB: mariadb, of its own)" import.own import.mariadb
row "import of MariaDB's dump" import.of-mariadb import.mariadb
row 'import from the live MariaDB server' import.live import.mariadb
