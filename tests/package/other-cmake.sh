#!/usr/bin/env bash
# Another CMake: finds the installed package, with a Boost that has CMake files and with one of
# headers alone, and runs a program. A CMake that the sources accept configures them as well, in
# the same two ways.
# other-cmake.sh <cmake, or a version from PyPI: 3.22.*> <compiler> <prefix> <folder with boost/>
# Exits with 77, and says why, where that version cannot be had.
set -euo pipefail
cmake=$1 compiler=$2 prefix=$3 boost=$4 work=$PWD/other-cmake-${1//[!0-9a-zA-Z]/}
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$work"
log=$work/log

skip() {
    echo "skipped: $*"
    exit 77
}

# A command whose output matters only when it fails.
quietly() { "$@" >"$log" 2>&1 </dev/null || { cat "$log"; exit 1; }; }

if ! command -v "$cmake" >/dev/null; then
    venv=$work/venv
    if [ ! -e "$venv/installed" ]; then
        rm -rf "$venv"
        python3 -m venv "$venv" >"$log" 2>&1 || skip "Python makes no virtual environment"
        "$venv/bin/pip" install -q --disable-pip-version-check "cmake==$cmake" >"$log" 2>&1 ||
            skip "PyPI does not bring cmake $cmake: $(tail -n 1 "$log")"
        touch "$venv/installed"
    fi
    cmake=$venv/bin/cmake
fi
version=$("$cmake" --version | sed -n 's/^cmake version //p')
echo "CMake $version"

headers=$work/headers
mkdir -p "$headers"
ln -sfn "$boost/boost" "$headers/boost"
# The CMake files that would be found first, also by the path without /usr.
files=$(find "${boost%/*}"/{lib,share} -type d -path '*/cmake/Boost-*' -prune 2>/dev/null |
    sed 'p; s:^/usr/:/:' | paste -sd ';') || true
# shellcheck disable=SC2034  # both are used by name
withCMakeFiles=()
# shellcheck disable=SC2034
headersAlone=(-DCMAKE_IGNORE_PATH="$files" -DBoost_INCLUDE_DIR="$headers")

# generate <source folder> <build folder> <option>...: says so where it warns of what is outdated.
generate() {
    quietly "$cmake" -S "$1" -B "$2" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=Release "${@:3}"
    if grep -A 5 "CMake \(Warning\|Deprecation\)" "$log"; then exit 1; fi
}

for kind in withCMakeFiles headersAlone; do
    declare -n options=$kind
    rm -rf "$work/consumer-$kind" "$work/sources-$kind"
    generate "$sources/tests/package/consumer" "$work/consumer-$kind" \
        -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}"
    if grep -q "^Boost_DIR.*NOTFOUND" "$work/consumer-$kind/CMakeCache.txt"; then
        [ $kind = headersAlone ]
    else
        [ $kind = withCMakeFiles ]
    fi || { echo "WRONG: this is not Boost $kind"; exit 1; }
    echo "ok: finds the package, $kind"
    if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ]; then
        generate "$sources" "$work/sources-$kind" -DTIMINGWHEEL_BUILD_TESTS=OFF \
            -DTIMINGWHEEL_BUILD_EXAMPLES=OFF -DTIMINGWHEEL_BUILD_DEMO=OFF "${options[@]}"
        echo "ok: configures the sources, $kind"
    fi
done
quietly "$cmake" --build "$work/consumer-headersAlone"
"$work/consumer-headersAlone/consumer"
