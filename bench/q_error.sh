#!/usr/bin/env bash
# The errors of row estimates per kind of condition: median, 90th percentile and greatest q-error, and the planning
# time of long lists.
#
# usage: bench/q_error.sh [thousands of rows / 40]        (5, which is 200,000 rows, unless given)
# env:   LEAFLINE_Q_ERRORS=1 prints every estimate that is off by more than five times
set -euo pipefail
cd "$(dirname "$0")/.."
LEAFLINE_TEST_SCALE=${1:-5} cargo test --release --quiet -p leafline-cli --test q_error -- --nocapture | grep -E '^\||seed| for '
