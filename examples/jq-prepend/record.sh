#!/bin/sh
# Records the runs of this folder: jq 1.6 of Debian 12 with two versions of a filter, five times each, in turns.
# Needs jq, perf (package linux-perf) and a release build of perfblame.
#
#   examples/jq-prepend/record.sh target/release/perfblame
set -eu
perfblame=$(realpath "${1:?usage: record.sh PERFBLAME}")
cd "$(dirname "$0")"

# Groups generated records, then collects numbers in a list: before, each is put at its end; after, at its start, which
# copies the list each time.
filter='[range(60000) | {id: ., name: ("user" + tostring)}] | group_by(.id % 97) | map(length) as $sizes
  | [range(2500)] | reduce .[] as $x ([]; STEP) | length, ($sizes | add)'
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
for run in 1 2 3 4 5; do
  for side in before after; do
    case $side in before) step='. + [$x]' ;; after) step='[$x] + .' ;; esac
    perf record --quiet -e cpu-clock -F 997 --call-graph dwarf,16384 -o "$scratch/perf.data" \
      -- jq -n "$(printf '%s' "$filter" | sed "s/STEP/$step/")" > "$scratch/out"
    "$perfblame" convert --quiet "$scratch/perf.data" "$side/$run.pb.gz"
  done
done
