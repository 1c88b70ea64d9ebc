#!/usr/bin/env bash
# A digest, a public key as one uncompressed point, and a signature over P-256.
set -euo pipefail
: "${UTILS_BIN:?UTILS_BIN is required}"
{ read -r digest && read -r x && read -r y && read -r signature; } < <("$UTILS_BIN" ecdsa)
exec "$(dirname "$0")/_prepare.sh" ecdsa "$digest" "04$x$y" "$signature"
