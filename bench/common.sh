# Shared by the scripts of this folder: starts and stops Leafline and MariaDB with the same rows. To be sourced after
# `work`, `scale`, `tables`, `indexes` and `pool` (buffer pool of both, in MB; empty: a tenth of Leafline's data) are
# set.

PATH=$PATH:/usr/sbin
mkdir -p "$work"
[ -n "${NO_BUILD:-}" ] || cargo build --release --quiet
leafline=${CARGO_TARGET_DIR:-$PWD/target}/release/leafline
ours=$work/leafline-$scale theirs=$work/mariadb-$scale socket=$work/bench.sock
trap 'kill ${mariadb_pid:-} ${leafline_pid:-} 2>/dev/null || true' EXIT

# Turns TLS off: MariaDB's server does not offer it without a certificate of its own, and Leafline alone would pay for
# it.
client() { mariadb --no-defaults --skip-ssl --local-infile=1 -uroot -S "$socket" -N -B "$@"; }

wait_for() { # process, its log
  until client -e 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$1" || { cat "$2"; exit 1; }
    sleep 0.1
  done
}

mariadb_start() { # more options
  mariadbd --no-defaults --user="$(id -un)" --datadir="$theirs" --socket="$socket" --skip-networking --pid-file="$work/pid" \
    --innodb-buffer-pool-size="${pool}M" --innodb-flush-method=O_DIRECT --innodb-buffer-pool-load-at-startup=0 \
    --innodb-buffer-pool-dump-at-shutdown=0 --local-infile=1 --innodb-log-file-size=512M "$@" >"$work/mariadb.log" 2>&1 &
  mariadb_pid=$!
  wait_for $mariadb_pid "$work/mariadb.log"
}
mariadb_stop() { kill "$mariadb_pid"; wait "$mariadb_pid" || true; }

leafline_start() { # more options
  "$leafline" serve "$ours" --skip-networking --socket "$socket" --buffer-pool-size "${pool}M" "$@" >"$work/leafline.log" 2>&1 &
  leafline_pid=$!
  wait_for $leafline_pid "$work/leafline.log"
}
leafline_stop() { kill "$leafline_pid"; wait "$leafline_pid" || true; }

# Generates the rows in Leafline, copies definitions and rows to MariaDB, and then creates the indexes in both. Kept
# for the next run.
load_both() {
  if [ ! -e "$ours/loaded" ]; then
    rm -rf "$ours"
    "$leafline" tpch "$ours" --scale "$scale"
    [ -z "$indexes" ] || "$leafline" shell "$ours" -D tpch -e "$indexes"
    touch "$ours/loaded"
  fi
  pool=${pool:-$(($(du -sm "$ours/data" | cut -f1) / 10))}
  [ ! -e "$theirs/loaded" ] || return 0
  install_mariadb
  local measured_pool=$pool table
  pool=1024
  mariadb_start --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite
  client -e 'CREATE DATABASE tpch CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'
  for table in $tables; do
    "$leafline" shell "$ours" -N --format tab -e "SHOW CREATE TABLE tpch.$table" | cut -f2 |
      sed -z 's/\\n/\n/g; s/utf8mb4_0900_bin/utf8mb4_bin/g; s/Leafline/InnoDB/; s/,\n  KEY [^(]*([^)]*)//g' | client tpch
    rm -f "$work/rows" && mkfifo "$work/rows"
    "$leafline" shell "$ours" -N --format tab -e "SELECT * FROM tpch.$table" >"$work/rows" &
    client tpch -e "LOAD DATA LOCAL INFILE '$work/rows' INTO TABLE $table"
    wait $!
  done
  client tpch -e "$indexes ANALYZE TABLE ${tables// /, };"
  mariadb_stop
  pool=$measured_pool
  touch "$theirs/loaded"
}

# Creates MariaDB's empty database.
install_mariadb() {
  rm -rf "$theirs"
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$theirs" --auth-root-authentication-method=normal >/dev/null
}

# Writes the microseconds between each pair of marks in $work/raw to $work/times.
times_of_raw() {
  grep '^at' "$work/raw" | cut -f2 | while read -r begun && read -r ended; do
    echo $((($(date -d "$ended" +%s%N) - $(date -d "$begun" +%s%N)) / 1000))
  done >"$work/times"
}

# Runs a query several times (`runs`) on a server. Leaves the median microseconds, the answer and the counters that
# Leafline counted meanwhile in files of that name.
ask() { # name, leafline or mariadb, database, statements before the query, query, counters...
  local name=$work/$1 engine=$2 query=$5 counter
  {
    echo "USE $3; $4"
    echo "$query;"
    if [ "$engine" = leafline ]; then
      echo "FLUSH STATUS; $query;"
      for counter in "${@:6}"; do echo "SHOW STATUS LIKE '$counter';"; done
    fi
    for _ in $(seq "$runs"); do
      printf "SELECT 'at', NOW(6);\n%s;\nSELECT 'at', NOW(6);\n" "$query"
    done
  } | client >"$work/raw"
  times_of_raw
  median "$work/times" >"$name.time"
  grep -v '^at\|^Leafline' "$work/raw" | sort -u >"$name.answer"
  awk '/^Leafline/ {print $2}' "$work/raw" | paste -s -d ' ' >"$name.counters"
}

same_answers() { # query, names...
  local name
  for name in "${@:3}"; do
    cmp "$work/$2.answer" "$work/$name.answer" || { echo "the answers differ: $1" >&2; exit 1; }
  done
}

# Starts a server with an empty cache, on a model of a disk's reads (bench/disk_model.c): none, ssd or hdd.
cold_start() { # leafline or mariadb, disk, more options
  local engine=$1 disk=$2 iops=200 rate=104857600
  local leafline_cold=(--skip-warm-up) mariadb_cold=()
  local -n more=${engine}_cold
  if [ "$disk" = none ]; then
    "${engine}_start" "${more[@]}" "${@:3}"
    return
  fi
  [ "$disk" = hdd ] || { iops=5000 rate=262144000; }
  [ "$work/disk_model.so" -nt bench/disk_model.c ] ||
    cc -O2 -shared -fPIC -o "$work/disk_model.so" bench/disk_model.c -ldl -lpthread
  leafline_cold+=(--skip-innodb-use-native-aio --set "leafline_device=$disk") mariadb_cold+=(--innodb-use-native-aio=0)
  LD_PRELOAD=$work/disk_model.so HDDSIM_IOPS=$iops HDDSIM_BPS=$rate "${engine}_start" "${more[@]}" "${@:3}"
}

median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
