#!/bin/sh
# Installs the commands of a release on Linux or a Mac, without compiler and Rust:
#
#   sh install.sh SOURCE [PREFIX]
#
# SOURCE: the folder, or the https address, where the archives of a release are, each with its .sha256, and their list, the
# file RELEASE. PREFIX: ~/.local by default. The archive for this system is taken and its sum compared; `openvm-metal` and
# `hologram` are put into PREFIX/bin, all other files into PREFIX/share/openvm-metal, which is replaced as a whole.
set -eu
unset CDPATH
umask 022

fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

[ $# -eq 1 ] || [ $# -eq 2 ] || fail "use: sh install.sh SOURCE [PREFIX]"
[ -n "$1" ] || fail "SOURCE is empty"
[ $# -eq 2 ] || [ -n "${HOME:-}" ] || fail "HOME is not set: name PREFIX"
prefix=${2-$HOME/.local}
[ -n "$prefix" ] || fail "PREFIX is empty"
source=${1%/}
case $source in -*) source=./$source ;; esac
case $prefix in -*) prefix=./$prefix ;; esac

case $(uname -s)-$(uname -m) in
Linux-x86_64) system=linux-x86_64 ;;
Linux-aarch64) system=linux-aarch64 ;;
Darwin-arm64) system=macos-arm64 ;;
Darwin-x86_64)
    # A terminal under Rosetta says so on Apple silicon, too.
    [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ] || fail "there is no archive for Macs with Intel processors"
    system=macos-arm64
    ;;
*) fail "there is no archive for $(uname -s) on $(uname -m): build it from source" ;;
esac

case $system in
linux-*) needs="glibc 2.28 or newer" ;;
*) needs="macOS 13 or newer" ;;
esac

work=$(mktemp -d)
new=
trap 'rm -rf "$work"; [ -z "$new" ] || rm -rf "$prefix/bin/$new" "$prefix/share/$new" "$prefix/share/$new.old"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# get FILE: a file of the release, into $work.
get() {
    case $source in
    https://*)
        command -v curl >/dev/null 2>&1 || fail "curl is not installed: download the release and name its folder"
        curl -q --proto =https --tlsv1.2 --fail --location --silent --show-error -o "$work/$1" "$source/$1" ||
            fail "cannot download $source/$1"
        ;;
    *://*) fail "SOURCE is neither a folder nor an https address: $source" ;;
    *) cp "$source/$1" "$work/$1" || fail "SOURCE is not a folder of a release: $source" ;;
    esac
}

# sum FILE: the SHA-256 sum of a file, 64 digits.
if command -v sha256sum >/dev/null 2>&1; then
    sum() { sha256sum <"$1" | cut -c1-64; }
    check_sums() { sha256sum -c SHA256SUMS >/dev/null; }
elif command -v shasum >/dev/null 2>&1; then
    sum() { shasum -a 256 <"$1" | cut -c1-64; }
    check_sums() { shasum -a 256 -c SHA256SUMS >/dev/null; }
else
    fail "neither sha256sum nor shasum is installed"
fi

get RELEASE
name=$(grep -- "-$system\$" "$work/RELEASE") || fail "the release has no archive for $system"
case $name in
*[!A-Za-z0-9._-]* | .* | -*) fail "the list RELEASE is damaged" ;;
esac
get "$name.tar.gz"
get "$name.tar.gz.sha256"
[ "$(sum "$work/$name.tar.gz")" = "$(cut -c1-64 "$work/$name.tar.gz.sha256")" ] ||
    fail "the archive $name.tar.gz is damaged: its SHA-256 sum differs"
tar -xzf "$work/$name.tar.gz" -C "$work" || fail "the archive $name.tar.gz cannot be unpacked"
(cd "$work/$name" && check_sums) || fail "a file of $name.tar.gz is damaged: its SHA-256 sum differs"

# The new files lie beside their places first: they are tried there, and a command that is running is not written to.
mkdir -p "$prefix/bin" "$prefix/share" || fail "cannot write to $prefix: name another PREFIX"
prefix=$(cd "$prefix" && pwd)
for command in openvm-metal hologram; do
    [ ! -d "$prefix/bin/$command" ] || fail "$prefix/bin/$command is a folder: remove it, or name another PREFIX"
done
new=.openvm-metal.$$
rm -rf "$prefix/bin/$new" "$prefix/share/$new"
mkdir "$prefix/bin/$new" "$prefix/share/$new" &&
    mv "$work/$name/openvm-metal" "$work/$name/hologram" "$prefix/bin/$new/" &&
    rm "$work/$name/SHA256SUMS" &&
    cp "$work/$name"/* "$prefix/share/$new/" || fail "cannot write to $prefix: name another PREFIX, or make room"
for command in openvm-metal hologram; do
    "$prefix/bin/$new/$command" --version >/dev/null ||
        fail "this system cannot run $command: it needs $needs, and a PREFIX whose files may be executed"
done
mv -f "$prefix/bin/$new/openvm-metal" "$prefix/bin/$new/hologram" "$prefix/bin/" &&
    { [ ! -e "$prefix/share/openvm-metal" ] || mv "$prefix/share/openvm-metal" "$prefix/share/$new.old"; } &&
    mv "$prefix/share/$new" "$prefix/share/openvm-metal" || fail "cannot write to $prefix: name another PREFIX"

printf '%s is installed: %s, %s\n' "$name" "$prefix/bin/openvm-metal" "$prefix/bin/hologram"
printf 'A first program and Python wheels: %s\n' "$prefix/share/openvm-metal"
case :${PATH:-}: in
*:"$prefix/bin":*) ;;
*) printf 'Add the folder to the path: export PATH="%s/bin:$PATH"\n' "$prefix" ;;
esac
