#!/usr/bin/env bash
# One proof of the whole execution, by the device in OPENVM_METAL_DEVICE, else the best one.
set -euo pipefail
: "${STATE_JSON:?STATE_JSON is required}"
keys=$(jq -r .keys "$STATE_JSON") target=$(jq -r .target "$STATE_JSON")
jq '{input}' "$STATE_JSON" >"$keys/input.json"
openvm-metal prove stark "$keys/$target.vmexe" --input "$keys/input.json" --proof "$keys/proof" --vk "$keys/proof.vk" \
    --app-pk "$keys/app.pk" --agg-prefix-pk "$keys/agg_prefix.pk" --agg-pk "$keys/internal_recursive.pk"
