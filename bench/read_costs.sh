#!/usr/bin/env bash
# The cost of reads of tables in memory: processor time of Leafline's server per entry, row, leap and sought key.
#
# usage: bench/read_costs.sh [rows] [rounds]        (1000000 and 9 unless given)
# env:   WORK    where the database goes
#        BEFORE  another build of leafline to compare: both take turns, round by round
#
# Tables of `rows` rows whose first key part has 1,000 and 100,000 values, and one with search keys spread all over it;
# all in memory. Printed per query: nanoseconds per unit (the processor time of whole statements by the number of their
# units), medians of rounds; cycles at the frequency that the system reports; with BEFORE, its nanoseconds and the
# ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} rounds=${2:-9}
work=${WORK:-$PWD/target/bench-read-costs} scale=costs pool=2048
. bench/common.sh
rm -rf "$ours"
keys=10000

define="CREATE DATABASE costs; USE costs;
  CREATE TABLE t1000 (id INT PRIMARY KEY, k INT, v INT, f CHAR(60), KEY kv (k, v));
  CREATE TABLE t100000 LIKE t1000;
  CREATE TABLE u (id INT PRIMARY KEY, s INT NOT NULL, f CHAR(60), KEY s (s));
  CREATE TABLE sought (n INT PRIMARY KEY, s INT NOT NULL);"
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT a.n * 1000 + b.n AS id FROM s a JOIN s b WHERE a.n * 1000 + b.n < $rows"
fill="INSERT INTO t1000 SELECT id, id % 1000, id * 7919 % 100003 % 100000, 'x' FROM ($numbers) n;
  INSERT INTO t100000 SELECT id, id % 100000, v, f FROM t1000;
  INSERT INTO u SELECT id, id * 7919 % 1000003, 'x' FROM ($numbers) n;
  INSERT INTO sought SELECT id, id * 97 % 1000003 FROM t1000 WHERE id < $keys;
  ANALYZE TABLE t1000, t100000, u, sought;"
list=$(awk -v keys=$keys 'BEGIN {for (n = 0; n < keys; n++) printf "%s%d", n ? ", " : "", n * 97 % 1000003}')

# Each case: the unit, the number of units or the counter that has it, and the query.
cases=(
  "entry, covering, counted|$rows|SELECT COUNT(*) FROM u FORCE INDEX (s)"
  "entry, covering|$rows|SELECT SUM(s) FROM u FORCE INDEX (s)"
  "row, clustered|$rows|SELECT COUNT(f) FROM u"
  "leap over 1,000 prefixes|Leafline_leaps|SELECT COUNT(id) FROM t1000 WHERE v = 5"
  "the same, descending|Leafline_leaps|SELECT COUNT(id) FROM (SELECT id FROM t1000 WHERE v = 5 ORDER BY k DESC, v DESC LIMIT 100000) d"
  "group of 1,000, MIN|Leafline_leaps|SELECT SUM(m) FROM (SELECT MIN(v) AS m FROM t1000 GROUP BY k) g"
  "group of 100,000, DISTINCT|Leafline_leaps|SELECT COUNT(*) FROM (SELECT DISTINCT k FROM t100000) d"
  "key of an IN list, covering|$keys|SELECT COUNT(s) FROM u WHERE s IN ($list)"
  "key of an IN list, with its row|$keys|SELECT COUNT(f) FROM u WHERE s IN ($list)"
  "key of an IN list of primary keys|$keys|SELECT COUNT(f) FROM u WHERE id IN ($list)"
  "key of an IN list, covering, threads|$keys|SELECT COUNT(s) FROM u WHERE s IN ($list)"
  "key of a join by lookups, covering|$keys|SELECT COUNT(u.s) FROM sought STRAIGHT_JOIN u FORCE INDEX (s) ON u.s = sought.s"
  "key of a join by lookups, with its row|$keys|SELECT COUNT(u.f) FROM sought STRAIGHT_JOIN u FORCE INDEX (s) ON u.s = sought.s"
)

# Prints the processor time of the server in nanoseconds, in ticks of 10 ms.
processor_time() { awk '{print ($14 + $15) * 10000000}' /proc/"$leafline_pid"/stat; }

# Prints the nanoseconds of one run, on average over 0.4 s of runs, and the number of its units.
measure() { # number
  local name unit query degree begun runs=0 took=0
  IFS='|' read -r name unit query <<<"${cases[$1]}"
  [[ $name = *threads ]] && degree=2 || degree=1
  echo "SET max_parallel_degree = $degree; $query; FLUSH STATUS; $query; SHOW STATUS LIKE '$unit';" | client costs >"$work/raw"
  [[ $unit =~ ^[0-9]+$ ]] || unit=$(awk '/^Leafline/ {print $2}' "$work/raw")
  head -1 "$work/raw" >>"$work/answers-$1"
  { echo "SET max_parallel_degree = $degree;"; for _ in $(seq 20); do echo "$query;"; done; } >"$work/queries"
  begun=$(processor_time)
  while [ $took -lt 400000000 ]; do
    client costs <"$work/queries" >/dev/null
    runs=$((runs + 20)) took=$(($(processor_time) - begun))
  done
  echo "$((took / runs)) $unit"
}

leafline_start
client -e "$define" >/dev/null
client costs -e "$fill" >/dev/null
leafline_stop
rm -f "$work"/answers-* "$work"/now-* "$work"/before-*
now=$leafline
for _ in $(seq "$rounds"); do
  for build in now before; do
    [ $build = now ] || [ -n "${BEFORE:-}" ] || continue
    [ $build = now ] && leafline=$now || leafline=$BEFORE
    leafline_start
    client -e "LOAD INDEX INTO CACHE costs.t1000, costs.t100000, costs.u, costs.sought" >/dev/null
    for number in "${!cases[@]}"; do
      measure "$number" >>"$work/$build-$number"
    done
    leafline_stop
  done
done

hertz=$(awk -F: '/cpu MHz/ {print $2; exit}' /proc/cpuinfo)
printf '| unit | units | ns | cycles |%s\n|---|---:|---:|---:|%s\n' "${BEFORE:+ before, ns | ratio |}" "${BEFORE:+---:|---:|}"
for number in "${!cases[@]}"; do
  [ "$(sort -u "$work/answers-$number" | wc -l)" = 1 ] || { echo "the answers differ: ${cases[$number]:0:200}" >&2; exit 1; }
  for build in now before; do
    [ ! -e "$work/$build-$number" ] || awk '{print $1 / ($2 ? $2 : 1)}' "$work/$build-$number" >"$work/$build-$number.ns"
  done
  units=$(awk 'END {print $2}' "$work/now-$number")
  ns=$(median "$work/now-$number.ns")
  printf '| %s | %s | %.1f | %.0f |' "${cases[$number]%%|*}" "$units" "$ns" "$(awk "BEGIN {print $ns * $hertz / 1000}")"
  if [ -n "${BEFORE:-}" ]; then
    before=$(median "$work/before-$number.ns")
    printf ' %.1f | %.2f |' "$before" "$(awk "BEGIN {print $ns / $before}")"
  fi
  echo
done
