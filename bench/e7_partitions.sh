#!/usr/bin/env bash
# Inserts by ascending id into a table with three indexes on random numbers, larger than the buffer pool together: one
# table without partitions, and one with ranges of the id. With partitions, inserts write to the indexes of the last
# partition alone, which stay in memory.
#
# usage: bench/e7_partitions.sh [rows] [rows of a partition] [buffer pool, MB]     (1000000, 100000 and 24 unless given)
# env:   WORK  where the databases go (a directory on the disk to be measured)
#
# Printed for each: seconds, rows per second, pages read and written.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} each=${2:-100000} pool=${3:-24}
work=${WORK:-$PWD/target/bench-e7}
mkdir -p "$work"
[ -n "${NO_BUILD:-}" ] || cargo build --release --quiet
leafline=${LEAFLINE:-${CARGO_TARGET_DIR:-$PWD/target}/release/leafline}

ranges=$(awk -v rows="$rows" -v each="$each" 'BEGIN {
  for (end = each; end < rows; end += each) printf "PARTITION p%d VALUES LESS THAN (%d), ", end / each, end
  printf "PARTITION m VALUES LESS THAN MAXVALUE" }')

inserts() {
  awk -v rows="$rows" 'BEGIN {
    srand(7)
    for (id = 1; id <= rows; id++) {
      if (id % 1000 == 1) printf "INSERT INTO t VALUES "
      printf "%s(%d,%d,%d,%d,\x27%050d\x27)", (id % 1000 == 1 ? "" : ","), id, rand() * 2e9, rand() * 2e9, rand() * 2e9, id
      if (id % 1000 == 0 || id == rows) print ";"
    } }'
}

for way in whole divided; do
  ours=$work/$way
  rm -rf "$ours"
  clause=
  [ "$way" = whole ] || clause="PARTITION BY RANGE (id) ($ranges)"
  "$leafline" shell "$ours" -e "CREATE DATABASE e7; USE e7; CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT,
    f CHAR(60), KEY (a), KEY (b), KEY (c)) $clause"
  begin=$(date +%s.%N)
  counts=$({ echo 'USE e7;'; inserts; echo "SHOW GLOBAL STATUS LIKE 'Innodb_pages_%';"; } |
    "$leafline" shell "$ours" --buffer-pool-size "${pool}M" -N | tr '\t\n' '  ')
  end=$(date +%s.%N)
  awk -v way="$way" -v rows="$rows" -v begin="$begin" -v end="$end" -v counts="$counts" 'BEGIN {
    printf "%-8s %7.1f s %9.0f rows/s  %s\n", way, end - begin, rows / (end - begin), counts }'
done
