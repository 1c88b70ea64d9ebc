#!/usr/bin/env bash
# A message of INPUT_SIZE bytes.
set -euo pipefail
: "${UTILS_BIN:?UTILS_BIN is required}" "${INPUT_SIZE:?INPUT_SIZE is required}"
message=$("$UTILS_BIN" keccak -n "$INPUT_SIZE" | sed -n 1p)
exec "$(dirname "$0")/_prepare.sh" keccak "$message"
