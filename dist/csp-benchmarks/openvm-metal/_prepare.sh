#!/usr/bin/env bash
# Builds the guest of a target and its keys, once, and writes its input and the state of a run.
#   _prepare.sh TARGET INPUT...    an input is a value in hexadecimal without prefix
set -euo pipefail
: "${STATE_JSON:?STATE_JSON is required}"
here=$(cd "$(dirname "$0")" && pwd)
target=$1
shift
keys=$here/keys/$target
if [ ! -f "$keys/done" ]; then
    mkdir -p "$keys"
    openvm-metal build "$here/guests/$target" >&2
    cp "$here/guests/$target"/target/openvm/release/*.vmexe "$keys/$target.vmexe"
    cp "$here/guests/$target/openvm.toml" "$keys/$target.openvm.toml"
    openvm-metal keygen "$keys/$target.vmexe" --out "$keys" >&2
    openvm-metal setup "$keys/$target.vmexe" --out "$keys" >&2
    openvm-metal commit "$keys/$target.vmexe" --out "$keys" >&2
    touch "$keys/done"
fi
# The orchestrator prepares each run anew: the state is all that a run needs.
values=$(printf '"0x01%s",' "$@")
printf '{"target":"%s","keys":"%s","input":[%s]}\n' "$target" "$keys" "${values%,}" >"$STATE_JSON"
