#!/bin/sh
# Runs every program of this bundle, one after the other, and writes one JSON log.
#
#   ./run.sh [--log FILE] [--limit SECONDS] [ARGUMENTS OF THE PROGRAMS]
#
# The log goes to results.json beside this script unless --log names another file. A program that
# runs longer than the limit (300 seconds) is ended. Without arguments the programs get
# `--device gpu`. The script ends with 0 when every program did.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 5
log=$here/results.json
limit=300
while [ $# -ge 2 ]; do
    case $1 in
        --log) log=$2 ;;
        --limit) limit=$2 ;;
        *) break ;;
    esac
    shift 2
done
[ $# -gt 0 ] || set -- --device gpu

scratch=$(mktemp -d) || exit 5
trap 'rm -rf "$scratch"' EXIT

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

within_limit() {
    if command -v timeout >/dev/null; then
        timeout -k 10 "$limit" "$@"
    else
        "$@"
    fi
}

gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null)

passed=0
failed=0
runs=
for program in "$here"/bin/*; do
    name=$(basename "$program")
    printf '%s ... ' "$name"
    start=$(date +%s)
    within_limit "$program" "$@" --json >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    seconds=$(($(date +%s) - start))
    if [ $code -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok ($seconds s)"
    else
        failed=$((failed + 1))
        echo "FAILED (exit code $code, $seconds s)"
        sed 's/^/    /' "$scratch/err"
    fi
    # The last line is the program's report where it is an object; the rest is what it printed.
    report=$(tail -n 1 "$scratch/out" | grep '^{.*}$') || report=null
    if [ "$report" = null ]; then
        cp "$scratch/out" "$scratch/text"
    else
        sed '$d' "$scratch/out" >"$scratch/text"
    fi
    {
        [ -z "$runs" ] || printf ',\n'
        printf '  {"program": %s, "arguments": %s, ' "$(words "$name")" "$(words "$@")"
        printf '"exit_code": %s, "seconds": %s,\n' "$code" "$seconds"
        printf '   "report": %s,\n' "$report"
        printf '   "output": %s,\n' "$(string "$scratch/text")"
        printf '   "errors": %s}' "$(string "$scratch/err")"
    } >>"$scratch/runs"
    runs=some
done

{
    printf '{"bundle": %s,\n' "$(cat "$here/bundle.json")"
    printf ' "machine": %s,\n "gpu": %s,\n' "$(words "$(uname -srm)")" "$(words "$gpu")"
    printf ' "runs": [\n%s\n ],\n' "$(cat "$scratch/runs")"
    printf ' "passed": %s, "failed": %s}\n' "$passed" "$failed"
} >"$log" || exit 5

echo "$passed passed, $failed failed; log: $log"
[ "$failed" -eq 0 ]
