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
here=$(dirname "$0") examples=$(dirname "$0")/../../docs/examples
for pair in calendar:"$examples/market-opening.cpp" kafka:"$here/consumer/kafka.cpp" \
    store:"$examples/orders-that-survive.cpp"; do
    component=${pair%%:*} example=${pair#*:}
    [ -e "${pcFile%/*}/timingwheel-$component.pc" ] || continue
    wanted="$option timingwheel-$component"
    # --static would ask for static libraries under librdkafka, too.
    [ "$component" != kafka ] || wanted="timingwheel-kafka rdkafka"
    # shellcheck disable=SC2046,SC2086
    "$compiler" -std=c++20 "$example" "$@" $(pkg-config --cflags --libs $wanted) \
        -o "pkg-config-$component"
    "./pkg-config-$component"
done
