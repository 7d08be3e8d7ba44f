#!/usr/bin/env bash
# Leafline beside redb, LMDB, fjall, RocksDB and SQLite as embedded engines: point reads, range scans, random inserts, durable updates.
# The first run builds them all, which takes a while. RocksDB's build needs libclang (Debian: libclang-dev).
#
#   bench/embedded.sh [--rows N] [--seconds N] [--engine NAME]... [--threads 1,2] [--keys int,text] [--memory BYTES]
set -euo pipefail
cd "$(dirname "$0")/embedded"
exec cargo run --release --quiet -- "$@"
