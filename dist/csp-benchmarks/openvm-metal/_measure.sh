#!/usr/bin/env bash
# Bytes of the proof and of what a prover keeps between runs: the executable and the proving keys. Circuit size: instructions.
set -euo pipefail
: "${STATE_JSON:?STATE_JSON is required}" "${SIZES_JSON:?SIZES_JSON is required}"
here=$(cd "$(dirname "$0")" && pwd)
keys=$(jq -r .keys "$STATE_JSON") target=$(jq -r .target "$STATE_JSON")
[ -f "$keys/proof" ] || "$here/_prove.sh" >/dev/null
bytes() { cat "$@" | wc -c | tr -d ' '; }
jq -n --argjson proof "$(bytes "$keys/proof")" \
    --argjson kept "$(bytes "$keys/$target.vmexe" "$keys"/*.pk)" \
    '{proof_size: $proof, preprocessing_size: $kept}' | tee "$SIZES_JSON"

jq '{input}' "$STATE_JSON" >"$keys/input.json"
count=$(openvm-metal run "$keys/$target.vmexe" --input "$keys/input.json" --mode meter --json | jq .instructions)
label=$(basename "$SIZES_JSON" | sed -E "s/^${target}_([^_]+)_.*$/\1/")
sizes=$here/circuit_sizes.json
[ -f "$sizes" ] || echo '{}' >"$sizes"
jq --arg target "$target" --arg size "$label" --argjson count "$count" '.[$target][$size] = $count' "$sizes" >"$sizes.new"
mv "$sizes.new" "$sizes"
