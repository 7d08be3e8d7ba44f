#!/usr/bin/env bash
# Heaps and clustered tables: the same rows under primary keys of several lengths, in memory.
#
# usage: bench/heap.sh [rows] [rounds]        (200000 and 5 unless given)
# env:   WORK  where the database goes
#
# Needs the mariadb client. For each kind of primary key a table (id ..., k INT, s VARCHAR(40), pad CHAR(100), KEY k
# (k), KEY s (s)), clustered and as a heap, each with packed secondary indexes and without; rows are inserted in an
# order unrelated to that of the key, except for `ascending`. Answers must be equal. Printed: pages of 16 KiB of rows
# and indexes, the least processor time of the server per query of all rounds, and the ratio of the heap to the
# clustered table.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-200000} rounds=${2:-5}
work=${WORK:-$PWD/target/bench-heap} scale=heap pool=2048
. bench/common.sh
rm -rf "$ours"

# Each kind: name, type of the key, its value for a number.
kinds=(
  "ascending|INT UNSIGNED|id"
  "integers|INT UNSIGNED|id * 7919 % 1000003"
  "uuids|VARCHAR(36)|CONCAT_WS('-', LEFT(MD5(id), 8), SUBSTR(MD5(id), 9, 4), SUBSTR(MD5(id), 13, 4), SUBSTR(MD5(id), 17, 4), RIGHT(MD5(id), 12))"
  "urls|VARCHAR(120)|CONCAT('https://www.example.org/shop/category-', id % 50, '/products/item-', LPAD(id * 7919 % 1000003, 7, '0'), '.html')"
)
variants=(clustered heap clustered_packed heap_packed)
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT x.n * 1000 + y.n + 1 AS id FROM s x JOIN s y WHERE x.n * 1000 + y.n < $rows"

options() { # variant
  local engine=Leafline pack=0
  [[ $1 != heap* ]] || engine=MyISAM
  [[ $1 != *packed ]] || pack=1
  echo "ENGINE = $engine PACK_KEYS = $pack"
}

# Each case: label, repetitions in a round, and query.
questions() {
  cat <<'Q'
rows by k, a lookup each|5|SELECT COUNT(*), SUM(LENGTH(b.pad)) FROM probes p JOIN {t} b FORCE INDEX (k) ON b.k = p.k
rows by s, a lookup each|5|SELECT COUNT(*), SUM(LENGTH(b.pad)) FROM probes p JOIN {t} b FORCE INDEX (s) ON b.s = p.s
rows of a range of k|40|SELECT COUNT(*), SUM(LENGTH(pad)) FROM {t} FORCE INDEX (k) WHERE k BETWEEN 100000 AND 300000
k alone|100|SELECT COUNT(*), SUM(k) FROM {t} FORCE INDEX (k) WHERE k >= 0
id and k|100|SELECT COUNT(*), MAX(id) FROM {t} FORCE INDEX (k) WHERE k BETWEEN 100000 AND 300000
rows by primary key|5|SELECT COUNT(*), SUM(LENGTH(b.pad)) FROM probes p JOIN {t} b FORCE INDEX (PRIMARY) ON b.id = p.id
rows in the order of the primary key|40|SELECT SUM(LENGTH(pad)) FROM (SELECT pad FROM {t} FORCE INDEX (PRIMARY) ORDER BY id LIMIT 50000) x
all rows|40|SELECT COUNT(*), SUM(LENGTH(pad)) FROM {t} IGNORE INDEX (PRIMARY, k, s)
Q
}

# Prints the processor time of the server, in hundredths of a second.
used() { awk '{print $14 + $15}' "/proc/$leafline_pid/stat"; }

leafline_start
{
  echo 'CREATE DATABASE heap CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin; USE heap;'
  for kind in "${kinds[@]}"; do
    IFS='|' read -r name type value <<<"$kind"
    for variant in "${variants[@]}"; do
      echo "CREATE TABLE ${name}_$variant (id $type PRIMARY KEY, k INT UNSIGNED NOT NULL, s VARCHAR(40) NOT NULL, pad CHAR(100) NOT NULL) $(options "$variant");
        INSERT INTO ${name}_$variant SELECT $value, id * 104729 % 1000003, CONCAT('user-', MD5(id)), REPEAT('x', 100) FROM ($numbers) n;
        ALTER TABLE ${name}_$variant ADD KEY k (k), ADD KEY s (s); ANALYZE TABLE ${name}_$variant;"
    done
    echo "CREATE TABLE ${name}_probes AS SELECT id, k, s FROM ${name}_clustered ORDER BY MD5(CONCAT(k, 'x')) LIMIT 50000;"
  done
} | client >/dev/null
batch="SET optimizer_switch = 'mrr=off,batched_key_access=off';"
for kind in "${kinds[@]}"; do
  name=${kind%%|*}
  while IFS='|' read -r label runs query; do
    file=${label//[ ,]/_}
    query=${query//probes/${name}_probes}
    # The cases alternate within each round, so that other load on the machine affects all of them.
    for round in $(seq 0 "$rounds"); do
      for variant in "${variants[@]}"; do
        asked=${query//'{t}'/${name}_$variant}
        before=$(used)
        { echo "$batch"; for _ in $(seq "$runs"); do echo "$asked;"; done; } | client heap | sort -u >"$work/$variant-$name-$file.answer"
        # Round 0 warms up.
        [ "$round" != 0 ] || { rm -f "$work/$variant-$name-$file.times" && continue; }
        echo "$(used) $before $runs" | awk '{print ($1 - $2) * 10 / $3}' >>"$work/$variant-$name-$file.times"
      done
    done
    for variant in "${variants[@]}"; do
      sort -n "$work/$variant-$name-$file.times" | sed -n 1p >"$work/$variant-$name-$file.time"
    done
    same_answers "$query" "${variants[@]/%/-$name-$file}"
  done < <(questions)
done
leafline_stop

printf '| key | tree | clustered | heap | packed: clustered | heap | heap to clustered | packed |\n|---|---|---:|---:|---:|---:|---:|---:|\n'
for kind in "${kinds[@]}"; do
  name=${kind%%|*}
  for tree in rows primary k s all; do
    pages=$(for variant in "${variants[@]}"; do
      "$leafline" inspect "$ours" --table "heap.${name}_$variant" --format tab 2>/dev/null | awk -F'\t' -v tree="$tree" -v heap="${variant%_packed}" '
        NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {pages = $at["Leaves"] + $at["Branches"]; all += pages
         of = $2 == "k" || $2 == "s" ? $2 : $2 == "PRIMARY" && heap == "heap" ? "primary" : "rows"; sum[of] += pages}
        END {print tree == "all" ? all : sum[tree] + 0}'
    done | paste -s -d ' ')
    echo "$pages" | awk -v name="$name" -v tree="$tree" 'function ratio(a, b) {return b ? sprintf("%.2f", a / b) : "-"}
      {printf "| %s | %s | %d | %d | %d | %d | %s | %s |\n", name, tree, $1, $2, $3, $4, ratio($2, $1), ratio($4, $3)}'
  done
done
printf '\n| key | query | clustered ms | heap | packed: clustered | heap | heap to clustered | packed |\n|---|---|---:|---:|---:|---:|---:|---:|\n'
for kind in "${kinds[@]}"; do
  name=${kind%%|*}
  while IFS='|' read -r label _; do
    times=$(for variant in "${variants[@]}"; do cat "$work/$variant-$name-${label//[ ,]/_}.time"; done | paste -s -d ' ')
    echo "$times" | awk -v name="$name" -v label="$label" \
      '{printf "| %s | %s | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f |\n", name, label, $1, $2, $3, $4, $2 / $1, $4 / $3}'
  done < <(questions)
done
