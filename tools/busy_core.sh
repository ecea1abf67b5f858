#!/usr/bin/env bash
# Run `make test` as a slow and busy machine does: on one core, which three endless loops share with it.
#
#   python -m tools busy        three times, on core 0
#   RUNS=1 CORE=1 python -m tools busy
#
# The loops end with this script, even if it is killed.
set -euo pipefail
cd "$(dirname "$0")/.."
core=${CORE:-0}
loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true' EXIT
for _ in 1 2 3; do
  taskset -c "$core" bash -c 'while kill -0 "$PPID" 2>/dev/null; do :; done' &
  loops+=($!)
done
for run in $(seq "${RUNS:-3}"); do
  begun=$(date +%s)
  taskset -c "$core" make test
  echo "Run $run on core $core, with three busy loops beside it: green after $(($(date +%s) - begun)) s"
done
