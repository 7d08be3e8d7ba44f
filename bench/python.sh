#!/usr/bin/env bash
# Leafline's Python module beside the sqlite3 module of Python's library: rows inserted, looked up by key, read as tuples and as Arrow.
# Builds and installs the module in an environment of its own first. PYTHON: the interpreter, python3 unless told.
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
