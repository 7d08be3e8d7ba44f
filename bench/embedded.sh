#!/usr/bin/env bash
# Compares Leafline with redb, LMDB, fjall, RocksDB and SQLite as embedded engines: point reads, range scans, random
# inserts, durable updates. The first run builds them all, which takes a while. RocksDB's build needs libclang (Debian:
# libclang-dev).
#
#   bench/embedded.sh [--rows N] [--seconds N] [--rounds N] [--only WORKLOAD] [--data beyond-memory] [--engine NAME]...
#       [--threads 1,2] [--keys int,text] [--memory BYTES] [--page-size BYTES]
#
# With LIMIT=BYTES each engine has its own process, whose memory, page cache included, is limited to LIMIT (control
# groups, as root). A quarter of it is the engine's cache, the rest is for its other buffers and the page cache.
# Leafline, which bypasses the page cache, gets all but 48 MiB for its buffer pool: 32 MiB are its log's buffers.
set -euo pipefail
cd "$(dirname "$0")/embedded"
engines=${ENGINES:-leafline lmdb redb fjall rocksdb sqlite}
cargo build --release --quiet
binary="${CARGO_TARGET_DIR:-target}/release/embedded"
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT

limited() { # limited ENGINE ARGUMENTS...: in a control group of its own
    local engine=$1 group cache=$((LIMIT / 4))
    shift
    [ "$engine" = leafline ] && cache=$((LIMIT - 48 * 1024 * 1024))
    if [ -d /sys/fs/cgroup/memory ]; then
        group=/sys/fs/cgroup/memory/leafline-bench
        mkdir -p $group
        echo "$LIMIT" > $group/memory.limit_in_bytes
    else
        group=/sys/fs/cgroup/leafline-bench
        mkdir -p $group
        echo "$LIMIT" > $group/memory.max
    fi
    (echo $BASHPID > $group/cgroup.procs; exec "$binary" --engine "$engine" --memory $cache "$@") ||
        echo "$engine did not get through" >&2
    rmdir $group
}

if [ -n "${LIMIT:-}" ]; then
    for engine in $engines; do limited "$engine" "$@"; done | tee "$figures" >&2
else
    "$binary" "$@" | tee "$figures" >&2
fi

# Prints one line per workload, one column per engine; the last column is Leafline's figure by the best of the others.
awk -F'\t' -v engines="$engines" '
    { row = $2 " | " $3 " | " $4; if (!(row in seen)) { seen[row] = 1; rows[++count] = row }; rate[row, $1] = $5 }
    END {
        n = split(engines, name, " ")
        printf "| keys | threads | workload |"; for (i = 1; i <= n; i++) printf " %s |", name[i]; print " Leafline by best other |"
        printf "|---|---|---|"; for (i = 0; i <= n; i++) printf "---|"; print ""
        for (r = 1; r <= count; r++) {
            best = 0
            printf "| %s |", rows[r]
            for (i = 1; i <= n; i++) {
                figure = rate[rows[r], name[i]]
                printf " %s |", figure == "" ? "-" : figure
                if (name[i] != "leafline" && figure + 0 > best) best = figure + 0
            }
            printf " %s |\n", best ? sprintf("%.2f", rate[rows[r], "leafline"] / best) : "-"
        }
    }' "$figures"
