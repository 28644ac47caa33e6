#!/usr/bin/env bash
# Asio's own test of system_timer, with nothing changed but the type's name: with the library's
# Boost, and with those other Asios that run.sh has unpacked. Its source comes from Debian, and is
# not kept. Exits with 77, and says why, where it cannot be had.
# asios-own.sh <compiler> <prefix> <static | shared>
set -euo pipefail
compiler=$1 prefix=$2 linkage=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
unpacked=$PWD
work=$PWD/asios-own
source=boost1.74 # the test has not changed since
mkdir -p "$work/lists/partial"
cd "$work"

skip() {
    echo "skipped: $*"
    exit 77
}

if [ ! -e system_timer.cpp ]; then
    command -v apt-get xz >/dev/null || skip "there is no apt, or no xz, to bring Boost's source"
    echo "deb-src http://deb.debian.org/debian bookworm main" >sources.list
    apt=(apt-get -q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/lists")
    { "${apt[@]}" update && "${apt[@]}" source --download-only "$source"; } >apt.log 2>&1 </dev/null ||
        skip "apt does not bring the source of $source: $(tail -n 1 apt.log)"
    tar -xJf "$source"*.orig.tar.xz --strip-components=4 --wildcards \
        '*/libs/asio/test/system_timer.cpp' '*/libs/asio/test/unit_test.hpp'
    rm "$source"*
fi

# run <name> <flag>...: in a folder of that name.
run() {
    local name=$1
    shift
    mkdir -p "$name"
    sed 's/boost::asio::system_timer\b/timingwheel::asio::system_timer/g
        s|<boost/asio/system_timer.hpp>|<timingwheel/asio/steady_timer.h>|' system_timer.cpp \
        >"$name/test.cpp"
    cp unit_test.hpp "$name"
    if [ "$name" = standalone ]; then
        sed -i 's|boost/asio|asio|; s/\bboost::asio/asio/g; s/boost::system::error_code/std::error_code/g; s/BOOST_ASIO/ASIO/g
            /^namespace boost {/d; /^} \/\/ namespace boost/d
            s/\([^:]\)asio::system_timer/\1::timingwheel::asio::system_timer/g' "$name"/*
        set -- "$@" -DTIMINGWHEEL_ASIO_STANDALONE
    fi
    (cd "$name" && exec sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" \
        "$PWD/test.cpp" "$@") >"$name/log" 2>&1 &&
        grep -q 'No errors detected' "$name/log" && echo "passed: $name"
}

running=()
run own -O0 &
running+=($!)
for other in boost standalone; do
    root=$unpacked/other-asio-$other/root/usr/include
    [ -d "$root" ] || continue
    run "$other" -O0 -I"$root" &
    running+=($!)
done
status=0
for each in "${running[@]}"; do wait "$each" || status=1; done
[ "$status" = 0 ] || tail -n 30 ./*/log
exit "$status"
