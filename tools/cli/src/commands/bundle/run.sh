#!/bin/sh
# Runs what `plan` lists, one after the other, and writes results.json and results.txt.
#
#   ./run.sh [--out DIR] [--budget SECONDS] [--tiny] [ARGUMENTS OF THE PROGRAMS]
#
# --out DIR         where the results go (results, beside this script)
# --budget SECONDS  the time for all runs (340): what does not fit in any more is skipped
# --tiny            small sizes, for the emulator
#
# The device is $BATON_DEVICE, or gpu. A run that takes longer than the plan allows is ended. The script ends with 0 when no
# run failed; what was skipped is named and is no failure.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 5
out=$here/results
budget=340
tiny=no
while [ $# -ge 1 ]; do
    case $1 in
        --out | --budget)
            [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; exit 2; }
            if [ "$1" = --out ]; then out=$2; else budget=$2; fi
            shift ;;
        --tiny) tiny=yes ;;
        *) break ;;
    esac
    shift
done
case $budget in
    '' | *[!0-9]*) echo "error: --budget takes a number of seconds, not \`$budget\`" >&2; exit 2 ;;
esac
device=${BATON_DEVICE:-gpu}
mkdir -p "$out" || exit 5
out=$(cd "$out" && pwd) || exit 5

scratch=$(mktemp -d) || exit 5
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/runs"

# A file's text as a JSON string: control characters other than tab and line end are left out.
string() {
    printf '"'
    tr -d '\000-\010\013-\037\177' <"$1" |
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$(printf '\t')/\\\\t/g" |
        awk '{ printf "%s%s", separator, $0; separator = "\\n" }'
    printf '"'
}

words() {
    printf '%s\n' "$*" >"$scratch/words"
    string "$scratch/words"
}

# To the terminal, and to the readable log.
say() {
    printf '%s\n' "$*"
    printf '%s\n' "$*" >>"$scratch/log"
}

within() {
    seconds=$1
    shift
    if command -v timeout >/dev/null; then
        timeout -k 5 "$seconds" "$@"
    else
        "$@"
    fi
}

passed=0
failed=0
skipped=0

# record PROGRAM ARGUMENTS STATUS EXIT_CODE SECONDS: one entry, with the files report, out and err.
record() {
    report=$(tail -n 1 "$scratch/report" 2>/dev/null | grep '^{.*}$') || report=null
    {
        [ ! -s "$scratch/runs" ] || printf ',\n'
        printf '  {"program": %s, "arguments": %s, ' "$(words "$1")" "$(words "$2")"
        printf '"status": "%s", "exit_code": %s, "seconds": %s,\n' "$3" "$4" "$5"
        printf '   "report": %s,\n' "$report"
        printf '   "output": %s,\n' "$(string "$scratch/out")"
        printf '   "errors": %s}' "$(string "$scratch/err")"
    } >>"$scratch/entry"
    cat "$scratch/entry" >>"$scratch/runs"
    rm -f "$scratch/entry"
}

skip() {
    skipped=$((skipped + 1))
    say "skipped  $1 $2: $3"
    rm -f "$scratch/report"
    : >"$scratch/out"
    printf '%s\n' "$3" >"$scratch/err"
    record "$1" "$2" skipped null 0
}

gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
start=$(date +%s)
say "baton $(sed 's/.*"baton": *"\([^"]*\)".*/\1/;q' "$here/bundle.json"), $(date -u +%Y-%m-%dT%H:%M:%SZ), $(uname -srm)"
say "GPU: ${gpu:-none that nvidia-smi knows}; device: $device"
say ""

cd "$out" || exit 5
while IFS='|' read -r seconds program arguments small; do
    if [ "$seconds" = skip ]; then
        skip "$program" "" "$arguments"
        continue
    fi
    [ $tiny = no ] || arguments=$small
    left=$((budget - ($(date +%s) - start)))
    if [ $left -le 0 ]; then
        skip "$program" "$arguments" "the budget of $budget seconds is used up"
        continue
    fi
    [ "$seconds" -le $left ] || seconds=$left
    rm -f "$scratch/report"
    began=$(date +%s)
    # The plan's arguments are words without quotes.
    # shellcheck disable=SC2086
    within "$seconds" "$here/bin/$program" $arguments --device "$device" --report "$scratch/report" \
        "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    took=$(($(date +%s) - began))
    if [ $code -eq 0 ]; then
        status=passed
        passed=$((passed + 1))
    else
        status=failed
        [ $code -ne 124 ] || echo "ended after $seconds seconds" >>"$scratch/err"
        failed=$((failed + 1))
    fi
    say "$status   $program $arguments ($took s)"
    sed 's/^/    /' "$scratch/out" >>"$scratch/log"
    if [ -s "$scratch/err" ]; then
        sed 's/^/    /' "$scratch/err" >>"$scratch/log"
        [ $status = passed ] || sed 's/^/    /' "$scratch/err"
    fi
    record "$program" "$arguments" $status $code $took
done <"$here/plan"

say ""
say "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - start)) s"
{
    printf '{"bundle": %s,\n' "$(cat "$here/bundle.json")"
    printf ' "date": "%s", "machine": %s,\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(words "$(uname -srm)")"
    printf ' "gpu": %s, "device": %s, "tiny": %s,\n' "$(words "$gpu")" "$(words "$device")" \
        "$([ $tiny = yes ] && echo true || echo false)"
    printf ' "runs": [\n%s\n ],\n' "$(cat "$scratch/runs")"
    printf ' "passed": %s, "failed": %s, "skipped": %s, "seconds": %s}\n' \
        "$passed" "$failed" "$skipped" "$(($(date +%s) - start))"
} >"$out/results.json" || exit 5
cp "$scratch/log" "$out/results.txt" || exit 5
echo "results: $out/results.txt, $out/results.json"
[ "$failed" -eq 0 ]
