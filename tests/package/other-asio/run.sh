#!/usr/bin/env bash
# Builds and runs a program whose Asio is another than that of the Boost which the library was
# compiled with. It comes from Debian, and is unpacked, not installed: two versions of Boost cannot
# be. Exits with 77, and says why, where it cannot be had.
# run.sh <boost | standalone> <the library's Boost> <compiler> <prefix> <static | shared>
set -euo pipefail
which=$1 libraryBoost=$2 compiler=$3 prefix=$4 linkage=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$PWD/other-asio-$which
mkdir -p "$work"
log=$work/apt.log

skip() {
    echo "skipped: $*"
    exit 77
}

# The newest Boost but the library's own: 1.81 in Debian 12.
package() {
    if [ "$which" = standalone ]; then
        apt-cache pkgnames libasio-dev
    else
        apt-cache pkgnames libboost1. | grep -x 'libboost1\.[0-9]*-dev' |
            grep -vx "libboost$(echo "$libraryBoost" | cut -d. -f1,2)-dev" | sort -V | tail -n 1
    fi
}

download() (cd "$work" && apt-get -q download "$(package)") >"$log" 2>&1 </dev/null

if [ ! -e "$work/unpacked" ]; then
    command -v apt-get dpkg-deb >/dev/null || skip "there is no apt, which would bring another Asio"
    # The lists may be missing, or old.
    if ! download; then
        apt-get -q update >>"$log" 2>&1 </dev/null || true
        download || skip "apt does not bring another Asio: $(tail -n 1 "$log")"
    fi
    dpkg-deb -x "$work"/*.deb "$work/root"
    rm "$work"/*.deb
    touch "$work/unpacked"
fi

flags=(-O0 -I"$work/root/usr/include")
[ "$which" = boost ] || flags+=(-DSTANDALONE)
cd "$work"
sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" "$here/other-asio.cpp" "${flags[@]}"
[ "$linkage" = static ] || exit 0

# The timers of timingwheel/asio, in Asio of this version, and its executors: compiled in one piece,
# which is quicker.
tests=$here/../..
[ "$which" = boost ] || flags+=(-DTIMINGWHEEL_ASIO_STANDALONE -DASIO_DISABLE_EPOLL)
for each in unit/asio/{SteadyTimer,SharedTimer,AnyAsioTimer,Deadline,AsiosExecutors}Test.cpp \
    support/{AllocationCounter,Figure,LeakListener}.cpp; do
    echo "#include \"$each\""
done >tests.cpp
exec sh "$here/../pkg-config.sh" timingwheel "$compiler" "$prefix" "$linkage" tests.cpp \
    "${flags[@]}" -DBOOST_ASIO_DISABLE_EPOLL -I"$tests" -lgtest_main -lgtest
