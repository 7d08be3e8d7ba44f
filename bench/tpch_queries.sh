#!/usr/bin/env bash
# The TPC-H queries of bench/tpch with everything in memory: Leafline and MariaDB in one run, on the same rows, with the same
# indexes. Answers must be equal.
#
# usage: bench/tpch_queries.sh [scale] [runs]        (0.1 and 5 unless given)
# env:   WORK  where the databases go (kept for the next run)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin, and python3. Printed: median milliseconds from statement sent to answer read, mean
# milliseconds of processor time of the server per query, and the ratios.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-0.1} runs=${2:-5}
work=${WORK:-$PWD/target/bench-tpch}
pool=4096
tables='region nation supplier customer part partsupp orders lineitem'
indexes='CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct);
         CREATE INDEX i_l_shipdate ON lineitem (l_shipdate);
         CREATE INDEX i_o_custkey ON orders (o_custkey);
         CREATE INDEX i_o_orderdate ON orders (o_orderdate);'
. bench/common.sh
load_both

# Writes the processor time of a server in nanoseconds; the process's clock includes threads that have ended.
cat >"$work/note_cpu" <<'END'
#!/usr/bin/env python3
import os, sys, time
with open(os.path.join(os.path.dirname(sys.argv[0]), 'cpu'), 'a') as noted:
    print(time.clock_gettime_ns((~int(sys.argv[1]) << 3) | 2), file=noted)
END
chmod +x "$work/note_cpu"
note_cpu() { echo "\\! $work/note_cpu $1"; } # as a command of the client

for engine in leafline mariadb; do
  ${engine}_start
  process=${engine}_pid
  for query in bench/tpch/q*.sql; do
    name=$(basename "$query" .sql)
    rm -f "$work/cpu"
    {
      echo 'USE tpch;'
      cat "$query" "$query"
      note_cpu "${!process}"
      for _ in $(seq "$runs"); do
        echo "SELECT 'at', NOW(6);"
        cat "$query"
        echo "SELECT 'at', NOW(6);"
      done
      note_cpu "${!process}"
    } | client >"$work/raw"
    grep '^at' "$work/raw" | cut -f2 | while read -r begun && read -r ended; do
      echo $((($(date -d "$ended" +%s%N) - $(date -d "$begun" +%s%N)) / 1000))
    done >"$work/times"
    median "$work/times" >"$work/$engine-$name.time"
    awk -v runs="$runs" 'NR == 1 {before = $1} END {print ($1 - before) / runs / 1000}' "$work/cpu" >"$work/$engine-$name.cpu"
    grep -v '^at' "$work/raw" >"$work/$engine-$name.answer"
  done
  ${engine}_stop
done

printf 'scale %s, in memory, %s runs\n' "$scale" "$runs"
printf '%-6s %12s %12s %7s %12s %12s %7s\n' query 'leafline ms' 'mariadb ms' ratio 'leafline cpu' 'mariadb cpu' ratio
for query in bench/tpch/q*.sql; do
  name=$(basename "$query" .sql)
  cmp "$work/leafline-$name.answer" "$work/mariadb-$name.answer" || { echo "$name: the answers differ" >&2; exit 1; }
  paste "$work"/{leafline,mariadb}-"$name".{time,cpu} |
    awk -v name="$name" '{printf "%-6s %12.1f %12.1f %7.2f %12.1f %12.1f %7.2f\n", name, $1 / 1000, $3 / 1000, $1 / $3, $2 / 1000, $4 / 1000, $2 / $4}'
done
