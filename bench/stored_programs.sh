#!/usr/bin/env bash
# Stored programs of Leafline and MariaDB: loops, procedures of single-row statements, triggers. The servers take turns.
#
#   bench/stored_programs.sh [rounds] [part of an operation's name]                      (5 and all unless given)
# env:   WORK      where the databases go (a directory on the disk to be measured; they are removed afterwards)
#        LEAFLINE  another binary of the server, such as one of another commit
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d "${WORK:-$PWD/target}/stored-programs.XXXXXX") scale=programs pool=512
[ -n "${NO_BUILD:-}" ] || cargo build --release --quiet -p leafline-cli --example stored_programs
. bench/common.sh
leafline=${LEAFLINE:-$leafline}
trap 'kill ${mariadb_pid:-} ${leafline_pid:-} 2>/dev/null || true; sleep 1; rm -rf "$work"' EXIT
install_mariadb
for engine in leafline mariadb; do
  socket=$work/$engine.sock
  ${engine}_start
done
echo "$(date -u +%F), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
"${CARGO_TARGET_DIR:-target}"/release/examples/stored_programs "$work/leafline.sock" "$leafline_pid" "$work/mariadb.sock" \
  "$mariadb_pid" "${1:-5}" "${2:-}"
echo "load $(cut -d' ' -f1 /proc/loadavg)"
