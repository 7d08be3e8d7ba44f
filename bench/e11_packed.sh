#!/usr/bin/env bash
# Packed indexes: Leafline, packed and not, InnoDB, and MyISAM, packed and not, in one run, on the same rows, in memory.
#
# usage: bench/e11_packed.sh [rows] [runs]        (200000 and 9 unless given)
# env:   WORK  where the databases go
#        COLLATION  of the strings, known to both engines (bytes without padding unless given)
#
# Needs mariadbd and mariadb-install-db in PATH or /usr/sbin. Each kind of key has a table (id INT UNSIGNED, k ..., KEY
# k (k), KEY id (id)); the first table is that of E11: id = c = 1..100000. ALTER TABLE builds all indexes from existing
# rows. Answers must be equal. Printed: bytes of the index k (of both indexes for E11), and bytes an entry; then the
# least milliseconds of joins by the index (a lookup a row), ranges forward and backward, and LIKE, and the ratio of
# Leafline packed to Leafline not packed and to the others.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-200000} runs=${2:-9}
work=${WORK:-$PWD/target/bench-e11} scale=e11 pool=1024
. bench/common.sh
rm -rf "$ours" "$theirs"

engines=(packed plain innodb myisam_packed myisam_plain)
numbers="WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999)
  SELECT x.n * 1000 + y.n + 1 AS id FROM s x JOIN s y WHERE x.n * 1000 + y.n <"

# Each kind: name, rows, type of k, its value for a number.
kinds=(
  "numbers|100000|VARCHAR(20)|id"
  "urls|$rows|VARCHAR(120)|CONCAT('https://www.example.org/shop/category-', id % 50, '/products/item-', LPAD(id * 7919 % 1000003, 7, '0'), '.html')"
  "uuids|$rows|VARCHAR(36)|CONCAT_WS('-', LEFT(MD5(id), 8), SUBSTR(MD5(id), 9, 4), SUBSTR(MD5(id), 13, 4), SUBSTR(MD5(id), 17, 4), RIGHT(MD5(id), 12))"
  "words|$rows|VARCHAR(40)|ELT(id % 8 + 1, 'confirmed', 'cancelled', 'shipped', 'delivered', 'returned', 'waiting', 'paid', 'new')"
  "integers|$rows|INT|id * 7919 % 1000003"
  "times|$rows|DATETIME|TIMESTAMP('2020-01-01') + INTERVAL id * 7919 % 1000003 MINUTE"
)

# Prints the queries over the table of a kind; each line has a name and a query.
questions() { # kind
  cat <<'Q'
join by k|SELECT COUNT(*), SUM(b.id) FROM probes p JOIN {t} b FORCE INDEX (k) ON b.k = p.k
join by id|SELECT COUNT(*), SUM(LENGTH(b.k)) FROM probes p JOIN {t} b FORCE INDEX (id) ON b.id = p.id
scan of k|SELECT COUNT(k), MAX(k) FROM (SELECT k FROM {t} FORCE INDEX (k) ORDER BY k LIMIT 1000000000) x
scan of k DESC|SELECT COUNT(k), MAX(k) FROM (SELECT k FROM {t} FORCE INDEX (k) ORDER BY k DESC LIMIT 1000000000) x
LIKE, LIMIT 1|SELECT COUNT(*), MAX(k) FROM (SELECT k FROM {t} FORCE INDEX (k) WHERE k LIKE '%abc%' ORDER BY k LIMIT 1) x
LIKE, DESC|SELECT COUNT(*), MAX(k) FROM (SELECT k FROM {t} FORCE INDEX (k) WHERE k LIKE '%abc%' ORDER BY k DESC LIMIT 1) x
Q
}

# Creates and fills the tables in the database of an engine.
fill() { # engine
  local engine=$1 kind name number type value probes options= pack collation=utf8mb4_nopad_bin
  case $engine in
    packed | plain) pack=$([ "$engine" = packed ] && echo 1 || echo 0) options="PACK_KEYS = $pack" collation=utf8mb4_0900_bin ;;
    innodb) options='ENGINE = InnoDB' ;;
    myisam_*) pack=$([ "$engine" = myisam_packed ] && echo 1 || echo 0) options="ENGINE = MyISAM PACK_KEYS = $pack" ;;
  esac
  echo "CREATE DATABASE $engine CHARACTER SET utf8mb4 COLLATE ${COLLATION:-$collation}; USE $engine;"
  for kind in "${kinds[@]}"; do
    IFS='|' read -r name number type value <<<"$kind"
    # Each of the few distinct values has many rows.
    probes=50000
    [ "$name" != words ] || probes=8
    echo "CREATE TABLE $name (id INT UNSIGNED, k $type) $options; INSERT INTO $name SELECT id, $value FROM ($numbers $number) n;
      ALTER TABLE $name ADD KEY k (k), ADD KEY id (id); ANALYZE TABLE $name;"
    echo "CREATE TABLE ${name}_probes (id INT UNSIGNED, k $type) ${options%PACK_KEYS*};
      INSERT INTO ${name}_probes SELECT id, k FROM $name WHERE id % 3 = 0 ORDER BY id * 7919 % 1000003 LIMIT $probes;"
  done
}

# Prints the bytes of the index k, and of both indexes.
sizes() { # engine, kind
  case $1 in
    packed | plain)
      "$leafline" inspect "$ours" --table "$1.$2" --format tab | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {pages[$2] = $at["Leaves"] + $at["Branches"]} END {print pages["k"] * 16384, (pages["k"] + pages["id"]) * 16384}' ;;
    innodb)
      client -e "SELECT SUM(IF(index_name = 'k', stat_value, 0)) * 16384, SUM(stat_value) * 16384 FROM mysql.innodb_index_stats
        WHERE database_name = 'innodb' AND table_name = '$2' AND stat_name = 'size' AND index_name IN ('k', 'id')" ;;
    myisam_*)
      # The file holds both indexes; the size of k alone is the size of a copy without the other one.
      client -e "USE $1; CREATE TABLE alone LIKE $2; ALTER TABLE alone DROP KEY id; ALTER TABLE alone DISABLE KEYS; INSERT INTO alone SELECT * FROM $2; ALTER TABLE alone ENABLE KEYS;
        SELECT INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = '$1' AND TABLE_NAME = 'alone';
        SELECT INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = '$1' AND TABLE_NAME = '$2'; DROP TABLE alone" | paste -s -d ' ' ;;
  esac
}

install_mariadb
declare -A server=([packed]=leafline [plain]=leafline [innodb]=mariadb [myisam_packed]=mariadb [myisam_plain]=mariadb)
for side in leafline mariadb; do
  ${side}_start
  client -e 'SET GLOBAL key_buffer_size = 1073741824' 2>/dev/null || true
  [ $side = leafline ] && batch='' || batch="SET optimizer_switch = 'mrr=off'; SET join_cache_level = 0;"
  for engine in "${engines[@]}"; do
    [ "${server[$engine]}" = $side ] || continue
    fill "$engine" | client >/dev/null
    for kind in "${kinds[@]}"; do
      name=${kind%%|*}
      while IFS='|' read -r label query; do
        query=${query//'{t}'/$name} query=${query//probes/${name}_probes}
        ask "$engine-$name-${label//[ ,]/_}" other "$engine" "$batch" "$query"
        sort -n "$work/times" | head -1 >"$work/$engine-$name-${label//[ ,]/_}.time"
      done < <(questions)
      [ $side = leafline ] || sizes "$engine" "$name" >"$work/$engine-$name.size"
    done
  done
  ${side}_stop
done
for engine in packed plain; do
  for kind in "${kinds[@]}"; do sizes $engine "${kind%%|*}" >"$work/$engine-${kind%%|*}.size"; done
done

printf '| key | rows | Leafline packed | not packed | InnoDB | MyISAM packed | not packed | packed, bytes an entry | to not packed | to InnoDB | to MyISAM packed |\n'
printf '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
for kind in "${kinds[@]}"; do
  IFS='|' read -r name number _ <<<"$kind"
  for column in 1 2; do
    sizes=$(for engine in "${engines[@]}"; do awk -v at=$column '{print $at}' "$work/$engine-$name.size"; done | paste -s -d ' ')
    echo "$sizes" | awk -v name="$name, $([ $column = 1 ] && echo k || echo both)" -v rows="$number" \
      '{printf "| %s | %d | %d | %d | %d | %d | %d | %.1f | %.2f | %.2f | %.2f |\n", name, rows, $1, $2, $3, $4, $5, $1 / rows, $1 / $2, $1 / $3, $1 / $4}'
  done
done
printf '\n| key, query | Leafline packed ms | not packed | InnoDB | MyISAM packed | not packed | packed to not packed | to InnoDB | to MyISAM packed |\n'
printf '|---|---:|---:|---:|---:|---:|---:|---:|---:|\n'
for kind in "${kinds[@]}"; do
  name=${kind%%|*}
  while IFS='|' read -r label _; do
    file=$name-${label//[ ,]/_}
    same_answers "$file" "packed-$file" "plain-$file" "innodb-$file" "myisam_packed-$file" "myisam_plain-$file"
    for engine in "${engines[@]}"; do cat "$work/$engine-$file.time"; done | paste -s -d ' ' |
      awk -v name="$name, $label" '{printf "| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f |\n", name, $1 / 1000, $2 / 1000, $3 / 1000, $4 / 1000, $5 / 1000, $1 / $2, $1 / $3, $1 / $4}'
  done < <(questions)
done
