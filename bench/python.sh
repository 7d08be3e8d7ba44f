#!/usr/bin/env bash
# Compares Leafline's Python module with the sqlite3 module of Python's library: inserts, lookups by key, rows read as
# tuples and as Arrow. Builds the module and installs it in its own environment first. PYTHON: the interpreter, python3
# unless given.
#
#   bench/python.sh [--rows N] [--lookups N] [--rounds N]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install pyarrow .
"$work/venv/bin/python" bench/python.py "$work" "$@"
