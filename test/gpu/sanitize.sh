#!/bin/bash
# Every kernel case under one tool of compute-sanitizer, in many processes side by side: they take turns at the GPU, and most of their time is
# instrumenting what they load, so that a batch is of neighbouring cases. On a GPU host (test/gpu/README.md):
#
#   bash test/gpu/sanitize.sh racecheck [PATTERN]       # memcheck, initcheck, synccheck; PATTERN: of cases, as grep -E has it
#
# Prints how many cases passed, what the tool reported, and in which batch. JOBS: processes (14); SECONDS_AT_MOST: of all (560); PART: 1/2 for the
# first half of the batches, where several GPUs share them (CUDA_VISIBLE_DEVICES). FROM_END=1/1: the last of a part first, for what a run before did
# not reach; with 1/2 the first half of these again. OUT: a folder for the names of the cases that passed.
set -u
tool=$1 pattern=${2:-.}
jobs=${JOBS:-14} seconds=${SECONDS_AT_MOST:-560} part=${PART:-1/1}
scratch=$(mktemp -d)
node="sh .gpu-host/run.sh node"
$node dist/gpu/run.js --list | grep -E "$pattern" > "$scratch/cases"
split -l 16 -a 4 "$scratch/cases" "$scratch/batch."
# Which come first is left to chance: time may be over before all have.
share() { awk -v n="${1#*/}" -v i="${1%/*}" 'NR % n == i - 1'; }
order() { [ -z "${FROM_END:-}" ] && cat || tac | share "$FROM_END"; }
ls "$scratch"/batch.* | share "$part" | sort -R --random-source=<(yes) | order > "$scratch/batches"
one() {
  mkdir "$scratch/$1"
  awk -v n="$jobs" -v i="$1" 'NR % n == i' "$scratch/batches" | while read -r batch; do
    mapfile -t names < "$batch"
    OUT=$scratch/$1 compute-sanitizer --tool "$tool" --target-processes all \
      $node dist/gpu/run.js --jobs 1 --timeout 300 "${names[@]}" > "$scratch/$1.log" 2>&1 < /dev/null
    # A filter is a part of a name: cases of other batches may run along, and count once each.
    grep -a "^PASS\|^FAIL" "$scratch/$1.log" | sed 's/ ([0-9.]* s).*//' >> "$scratch/results.$1"
    grep -a "SUMMARY" "$scratch/$1.log" >> "$scratch/summaries.$1"
    grep -aq "SUMMARY: 0\|0 errors\|0 hazards" "$scratch/$1.log" || { echo "== ${batch##*/}"; head -c 4000 "$scratch/$1.log"; }
  done
}
export -f one
export jobs scratch tool node
for ((i = 0; i < jobs; i++)); do timeout "$seconds" bash -c "one $i" & done
wait
[ -z "${OUT:-}" ] || sort -u "$scratch"/results.* | grep ^PASS > "$OUT/$tool.${part%/*}${FROM_END:+.end.${FROM_END%/*}}"
echo "$tool: $(sort -u "$scratch"/results.* | grep -c ^PASS) of $(cat $(cat "$scratch/batches") | wc -l) cases passed, $(cat "$scratch"/results.* | grep -c ^FAIL) failed"
sed 's/^=* *//' "$scratch"/summaries.* | sort | uniq -c
cat "$scratch"/results.* | grep ^FAIL | sort -u | head -20
