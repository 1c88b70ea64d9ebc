#!/usr/bin/env bash
# Compares key, program and virtual machine with those that _prepare.sh made.
set -euo pipefail
: "${STATE_JSON:?STATE_JSON is required}"
keys=$(jq -r .keys "$STATE_JSON") target=$(jq -r .target "$STATE_JSON")
openvm-metal verify stark "$keys/proof" --agg-vk "$keys/internal_recursive.vk" --baseline "$keys/$target.baseline.json"
