# Builds and runs a stranger's program with nothing but pkg-config.
# pkg-config.sh <compiler> <prefix> <static|shared> <program.cpp> [flag...]
set -eu
compiler=$1 prefix=$2 linkage=$3 program=$4
shift 4
pcFile=$(find "$prefix" -name timingwheel.pc)
export PKG_CONFIG_PATH="${pcFile%/*}"
export LD_LIBRARY_PATH="${pcFile%/pkgconfig/*}"
option=; [ "$linkage" = shared ] || option=--static

# shellcheck disable=SC2046,SC2086  # the flags are words, and there may be no option
"$compiler" -std=c++20 "$program" "$@" $(pkg-config --cflags --libs $option timingwheel) \
    -o pkg-config-consumer
./pkg-config-consumer
for pair in calendar:market-opening store:orders-that-survive; do
    component=${pair%:*} example=${pair#*:}
    [ -e "${pcFile%/*}/timingwheel-$component.pc" ] || continue
    # shellcheck disable=SC2046,SC2086
    "$compiler" -std=c++20 "$(dirname "$0")/../../docs/examples/$example.cpp" "$@" \
        $(pkg-config --cflags --libs $option "timingwheel-$component") -o "pkg-config-$component"
    "./pkg-config-$component"
done
