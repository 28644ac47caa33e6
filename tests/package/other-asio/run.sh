#!/usr/bin/env bash
# Builds and runs a program whose Asio is another than that of the Boost which the library was
# compiled with. It comes from Debian, and is unpacked, not installed: two versions of Boost cannot
# be. Exits with 77, and says why, where it cannot be had.
#
# boost        the newest Boost that this Debian has, but the library's own: 1.81 in Debian 12
# newest       the newest of Debian sid; and the reverse, a library that was compiled with that, in
#              a program with the Boost that is installed
# standalone   Asio alone; and a program that has both
#
# run.sh <boost | newest | standalone> <the library's Boost> <compiler> <prefix> <static | shared>
set -euo pipefail
which=$1 libraryBoost=$2 compiler=$3 prefix=$4 linkage=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$PWD/other-asio-$which
mkdir -p "$work/lists/partial"
log=$work/apt.log

skip() {
    echo "skipped: $*"
    exit 77
}

apt=()
if [ "$which" = newest ]; then
    echo "deb http://deb.debian.org/debian sid main" >"$work/sources.list"
    apt=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
fi

package() {
    if [ "$which" = standalone ]; then
        apt-cache pkgnames libasio-dev
    else
        apt-cache "${apt[@]}" pkgnames libboost1. | grep -x 'libboost1\.[0-9]*-dev' |
            grep -vx "libboost$(echo "$libraryBoost" | cut -d. -f1,2)-dev" | sort -V | tail -n 1
    fi
}

download() (cd "$work" && apt-get -q "${apt[@]}" download "$(package)") >"$log" 2>&1 </dev/null

if [ ! -e "$work/unpacked" ]; then
    command -v apt-get dpkg-deb >/dev/null || skip "there is no apt, which would bring another Asio"
    # The lists may be missing, or old.
    if ! download; then
        apt-get -q "${apt[@]}" update >>"$log" 2>&1 </dev/null || true
        download || skip "apt does not bring another Asio: $(tail -n 1 "$log")"
    fi
    dpkg-deb -x "$work"/*.deb "$work/root"
    rm -r "$work"/*.deb "$work/lists"
    touch "$work/unpacked"
fi

other=$work/root/usr/include
flags=(-O0 -I"$other")
[ "$which" != standalone ] || flags+=(-DSTANDALONE)
cd "$work"
[ "$which" = standalone ] || grep -h '^#define BOOST_LIB_VERSION' "$other/boost/version.hpp"
sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" "$here/other-asio.cpp" "${flags[@]}"
if [ "$which" = standalone ]; then
    "$compiler" -std=c++20 -O0 -I"$prefix/include" -c "$here/both.cpp" -o boosts.o
    sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" "$here/both.cpp" boosts.o \
        "${flags[@]}" -DTIMINGWHEEL_ASIO_STANDALONE
fi
[ "$linkage" = static ] || exit 0

# The timers of timingwheel/asio, in Asio of this version, and its executors: compiled in one piece,
# which is quicker.
tests=$here/../..
[ "$which" != standalone ] || flags+=(-DTIMINGWHEEL_ASIO_STANDALONE -DASIO_DISABLE_EPOLL)
for each in \
    unit/components/asio/{SteadyTimer,SharedTimer,AnyAsioTimer,Deadline,AsyncSleep,AsiosExecutors}Test.cpp \
    support/{AllocationCounter,Figure,LeakListener}.cpp; do
    echo "#include \"$each\""
done >tests.cpp
sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" tests.cpp \
    "${flags[@]}" -DBOOST_ASIO_DISABLE_EPOLL -I"$tests" -lgtest_main -lgtest
[ "$which" = newest ] || exit 0

# The reverse.
sources=$tests/..
find "$sources/src/core" -name '*.cpp' -printf '#include "%p"\n' >library.cpp
"$compiler" -std=c++20 -O0 -I"$other" -I"$sources/include" -I"$sources/src" -c library.cpp -o library.o
"$compiler" -std=c++20 -O0 -I"$sources/include" "$here/other-asio.cpp" library.o -pthread -o reverse
./reverse
