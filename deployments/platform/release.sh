#!/bin/sh
# A release from a shell script: what to do about each exit code of `penstock run`.
#
#   release.sh SPEC.yaml
#
# Prints the folder of the published bundle, and nothing else, on standard output.
set -u

result=$(penstock run "$1" --json)
code=$?
case $code in
0) printf '%s\n' "$result" | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])' ;;
2) echo "The spec was refused: correct it." >&2 ;;
3) echo "The data were refused: tell whoever delivered them." >&2 ;;
4) echo "A gate refused: a methodologist reads the confidential report." >&2 ;;
5) echo "The budget of the data set is spent: nothing more may be released." >&2 ;;
6) echo "Reviewers must decide, or one refused. Once they approved, it publishes by itself." >&2 ;;
7) echo "An integrity check failed: stop everything, call the auditor." >&2 ;;
*) echo "It failed. Nothing is half published; the same command goes on where it stopped." >&2 ;;
esac
exit $code
