#!/bin/sh
# A program whose standard library has another layout than the library's does not link, and the
# error names the mode. other-modes.sh <compiler> <prefix>
set -eu
compiler=$1 prefix=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(find "$prefix" -name 'libtimingwheel.*' -print -quit)
folder=${folder%/*}
for mode in _GLIBCXX_DEBUG _GLIBCXX_USE_CXX11_ABI=0; do
    if LC_ALL=C "$compiler" -std=c++20 -D$mode "$here/other-modes.cpp" -I"$prefix/include" \
        "$folder"/libtimingwheel*[!0-9] -o other-modes 2>other-modes.log; then
        echo "links with -D$mode"
        exit 1
    fi
    name=$(echo "${mode#_}" | tr '=' _)
    for class in ManualTimer:timingwheel CalendarExpression:timingwheel-calendar \
        TimerClient:timingwheel-kafka DurableTimer:timingwheel-store; do
        [ -e "$folder/lib${class#*:}.a" ] || [ -e "$folder/lib${class#*:}.so" ] || continue
        grep -q "${class%:*}\[abi:needs_a_library_built_with_$name\]" other-modes.log || {
            cat other-modes.log
            echo "the error does not say that ${class%:*} needs a library built with $mode"
            exit 1
        }
    done
done
