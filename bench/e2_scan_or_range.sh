#!/usr/bin/env bash
# A range of a secondary index or the whole table: the plan that each engine chooses, and the time of each plan.
# Leafline and MariaDB in one run.
#
# usage: bench/e2_scan_or_range.sh [rows] [runs]        (1000000 and 3 unless given)
# env:   WORK      where the databases go (a directory on the disk to be measured; kept for the next run)
#        CELLS     pairs of pool and disk: the pool in percent of the table (200: in memory, the second of two queries is timed), of
#                  disks none, ssd and hdd; ssd and hdd are models of a disk with one head (bench/disk_model.c)
#        PERCENTS  of the rows, "2" unless given
#        ENGINES   "leafline mariadb" unless given
#        PLANS     those to measure of chosen, scan, range (without multi-range read), mrr, ordered (ORDER BY the index) and limit (LIMIT 10 of it)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin, and a C compiler for the models. Table t has rows of 150 bytes and an index on a random
# number, sk. Answers must be equal. Printed: median seconds from statement sent to answer read, seconds of CPU of the server, and rows fetched one by one
# or in batches. On hdd MariaDB is run once.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} runs=${2:-3}
work=${WORK:-$PWD/target/bench-e2} scale=e2-$rows pool=1024
. bench/common.sh

define="CREATE DATABASE e2 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE e2;
  CREATE TABLE t (id INT PRIMARY KEY, sk INT NOT NULL, a INT, b INT, filler CHAR(120) NOT NULL, KEY sk (sk));"
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT x.n * 1000 + y.n AS id FROM s x JOIN s y WHERE x.n * 1000 + y.n < $rows"
fill="INSERT INTO t SELECT id, id * 611953 % 1000003 * $rows DIV 1000003, id % 1000, id % 77, RPAD(id, 120, 'x') FROM ($numbers) n ORDER BY id; ANALYZE TABLE t;"

load() { # leafline or mariadb, its directory, options for a quick load
  [ ! -e "$2/loaded" ] || return 0
  "$1_start" "${@:3}"
  client -e "$define" >/dev/null
  client e2 -e "$fill" >/dev/null
  "$1_stop"
  touch "$2/loaded"
}

[ -e "$theirs/loaded" ] || install_mariadb
[ -e "$ours/loaded" ] || rm -rf "$ours"
load leafline "$ours"
load mariadb "$theirs" --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite

# Prints the text before the query, the hint behind the table's name, and the end of the query.
declare -A leafline_plans=(
  [chosen]='||' [scan]='|IGNORE INDEX (sk)|' [range]="SET optimizer_switch='mrr=off';|FORCE INDEX (sk)|" [mrr]='|FORCE INDEX (sk)|'
  [ordered]='|FORCE INDEX (sk)|ORDER BY sk' [limit]='||ORDER BY sk LIMIT 10'
)
mrr='mrr=on,mrr_cost_based=off'
declare -A mariadb_plans=(
  [chosen]='||' [scan]='|IGNORE INDEX (sk)|' [range]='|FORCE INDEX (sk)|' [mrr]="SET optimizer_switch='$mrr', mrr_buffer_size=4194304;|FORCE INDEX (sk)|"
  [ordered]='|FORCE INDEX (sk)|ORDER BY sk' [limit]='||ORDER BY sk LIMIT 10'
)

cpu() { awk -v per="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($12 + $13) / per}' "/proc/$1/stat"; } # of a process, seconds

measure() { # leafline or mariadb, disk, before, query: prints seconds, CPU seconds, rows fetched
  local engine=$1 disk=$2 times=$runs begun process before fetched=-
  [ "$engine-$disk" != mariadb-hdd ] || times=1
  : >"$work/times"
  : >"$work/cpu"
  for _ in $(seq "$times"); do
    cold_start "$engine" "$disk"
    process=${engine}_pid
    [ "$pool" -lt $((190 * rows / 1000000)) ] || client e2 -e "SELECT SUM(b) FROM t; $3 $4" >/dev/null
    client e2 -e 'SELECT COUNT(*) FROM t WHERE id < 2' >/dev/null
    before=$(cpu "${!process}") begun=$(date +%s%N)
    { echo "$3 $4;"; [ "$engine" = mariadb ] || echo "SHOW STATUS LIKE 'Leafline_rows_fetched';"; } | client -q e2 >"$work/answer"
    echo $((($(date +%s%N) - begun) / 1000)) >>"$work/times"
    echo "$before $(cpu "${!process}")" | awk '{print $2 - $1}' >>"$work/cpu"
    "${engine}_stop"
  done
  [ "$engine" = mariadb ] || fetched=$(sed -n 's/^Leafline_rows_fetched\t//p' "$work/answer")
  grep -v '^Leafline' "$work/answer" | sort | md5sum >"$work/$engine.answer"
  echo "$(median "$work/times" | awk '{print $1 / 1e6}') $(median "$work/cpu") $fetched"
}

[ -n "${CELLS:-}" ] || CELLS='200-none 38-none 77-none 38-ssd 38-hdd 77-hdd'
printf '%-10s %7s %-9s %-8s %9s %9s %9s\n' 'pool disk' percent plan engine seconds CPU fetched
for cell in $CELLS; do
  pool=$((190 * rows / 1000000 * ${cell%-*} / 100)) disk=${cell#*-}
  [ "$pool" -ge 8 ] || pool=8
  for percent in ${PERCENTS:-2}; do
    low=$((rows / 3)) high=$(awk -v rows="$rows" -v percent="$percent" 'BEGIN {print int(rows / 3 + rows * percent / 100)}')
    for plan in ${PLANS:-chosen scan range mrr ordered limit}; do
      rm -f "$work"/{leafline,mariadb}.answer
      for engine in ${ENGINES:-leafline mariadb}; do
        declare -n plans=${engine}_plans
        IFS='|' read -r first hint last <<<"${plans[$plan]}"
        read -r took burnt fetched <<<"$(measure "$engine" "$disk" "$first" "SELECT * FROM t $hint WHERE sk >= $low AND sk < $high $last")"
        printf '%-10s %7s %-9s %-8s %9.3f %9.2f %9s\n' "$cell" "$percent" $plan "$engine" "$took" "$burnt" "$fetched"
      done
      [ ! -e "$work/leafline.answer" ] || [ ! -e "$work/mariadb.answer" ] || same_answers "$plan $percent %" leafline mariadb
    done
  done
done
