#!/bin/sh
# rustc, as openvm-metal has cargo call it for guests. Packages of the guest's workspace get a map of its folder, which the
# standard library does not get: it is compiled once for all guests of a target folder. Programs are linked with the crate openvm
# though they do not name it: it has the entry point.
rustc=$1
shift
guest= program= openvm= previous=
for argument do
    case "$previous $argument" in
        "--target riscv32im-risc0-zkvm-elf") guest=1 ;;
        "--crate-type bin") program=1 ;;
        "--extern "*=*/libopenvm-*.rlib)
            name=${argument%%=*}
            openvm=${name##*:}=${argument#*=} ;;
    esac
    previous=$argument
done
if [ -n "$guest" ]; then
    case $CARGO_MANIFEST_DIR/ in
        "$OPENVM_METAL_WORKSPACE"/*) set -- "$@" "--remap-path-prefix=$OPENVM_METAL_WORKSPACE=/guest" ;;
    esac
    if [ -n "$program" ] && [ -n "$openvm" ]; then
        set -- "$@" -Z unstable-options --extern "force:$openvm"
    fi
fi
exec "$rustc" "$@"
