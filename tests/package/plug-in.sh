#!/bin/sh
# The library inside a shared object that a program loads. plug-in.sh <compiler> <prefix>
set -eu
compiler=$1 prefix=$2
here=$(cd "$(dirname "$0")" && pwd)
pcFile=$(find "$prefix" -name timingwheel.pc)
export PKG_CONFIG_PATH="${pcFile%/*}"
export LD_LIBRARY_PATH="${pcFile%/pkgconfig/*}"
# shellcheck disable=SC2046  # the flags are words
"$compiler" -std=c++20 -fPIC -shared -DPLUG_IN "$here/plug-in.cpp" \
    $(pkg-config --cflags --libs --static timingwheel) -o plug-in.so
"$compiler" -std=c++20 "$here/plug-in.cpp" -ldl -o plug-in-host
./plug-in-host ./plug-in.so
