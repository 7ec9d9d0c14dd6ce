#!/bin/sh
# Records the runs of this folder again: five of each side, alternating. Needs Node.
set -eu
cd "$(dirname "$0")"
rm -rf runs
mkdir -p runs/before runs/after
folder=$(mktemp -d)
for run in 1 2 3 4 5; do
  for side in before after; do
    cp "$side/report.js" "$folder/report.js"
    (cd "$folder" && node --cpu-prof --cpu-prof-name=run.cpuprofile report.js > /dev/null)
    # The same address wherever the runs are recorded.
    sed "s|file://$folder/|file:///tour/|g" "$folder/run.cpuprofile" | gzip -9n > "runs/$side/run-$run.cpuprofile.gz"
  done
done
rm -r "$folder"
