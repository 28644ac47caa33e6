# Builds and runs a stranger's program with nothing but pkg-config.
# pkg-config.sh <module> <compiler> <prefix> <static|shared> <program.cpp> [flag...]
set -eu
module=$1 compiler=$2 prefix=$3 linkage=$4 program=$5
shift 5
pcFile=$(find "$prefix" -name timingwheel.pc)
export PKG_CONFIG_PATH="${pcFile%/*}"
export LD_LIBRARY_PATH="${pcFile%/pkgconfig/*}"
wanted=$module
[ "$linkage" = shared ] || wanted="--static $module"
# --static would ask for static libraries under librdkafka, too.
[ "$module" != timingwheel-kafka ] || wanted="$module rdkafka"

# shellcheck disable=SC2046,SC2086  # the flags are words
"$compiler" -std=c++20 "$program" "$@" $(pkg-config --cflags --libs $wanted) -o "consumer-of-$module"
"./consumer-of-$module"
