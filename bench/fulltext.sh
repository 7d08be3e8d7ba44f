#!/usr/bin/env bash
# FULLTEXT of Leafline, InnoDB and SQLite's FTS5 on the same documents: size, build, searches.
#
#   bench/fulltext.sh [documents] [searches of each kind]                       (500000 and 20 unless given)
# env:   WORK      where the databases go (a directory on the disk to be measured; they are removed afterwards)
#        LEAFLINE  another binary of the server, such as one of another commit
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d "${WORK:-$PWD/target}/fulltext.XXXXXX") scale=fulltext pool=1024
. bench/common.sh
leafline=${LEAFLINE:-$leafline}
trap 'kill ${mariadb_pid:-} ${leafline_pid:-} 2>/dev/null || true; sleep 1; rm -rf "$work"' EXIT
install_mariadb
for engine in leafline mariadb; do
  socket=$work/$engine.sock
  if [ $engine = leafline ]; then leafline_start --set local_infile=1; else mariadb_start; fi
  client -e 'CREATE DATABASE bench CHARACTER SET utf8mb4'
done
echo "$(date -u +%F), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
python3 bench/fulltext.py "$work" "$work/leafline.sock" "$leafline_pid" "$work/mariadb.sock" "$mariadb_pid" \
  "${1:-500000}" "${2:-20}"
echo "load $(cut -d' ' -f1 /proc/loadavg)"
