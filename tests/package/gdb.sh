#!/usr/bin/env bash
# What gdb shows of a program whose library is optimised and has debug information: by the printers
# that the library installs, which gdb finds by itself if it is shared. Exits with 77, and says why,
# where there is no gdb.
# gdb.sh <compiler> <cmake> <build folder> <static|shared> <sources>
set -euo pipefail
compiler=$1 cmake=$2 build=$3 linkage=$4 sources=$5 prefix=$PWD/gdb
command -v gdb >/dev/null || { echo "skipped: gdb is not installed"; exit 77; }
rm -rf "$prefix"
mkdir "$prefix"
cd "$prefix"

for component in Runtime Development; do
    "$cmake" --install "$build" --prefix "$prefix" --component timingwheel_$component >log
done
library=$(find "$prefix/lib" -name 'libtimingwheel.so.*.*.*' -o -name libtimingwheel.a)
autoLoad=$prefix/share/gdb/auto-load
printers=$autoLoad$library-gdb.py
flags=(-std=c++20 -O2 -g "-Wl,-rpath,${library%/*}" -I "$prefix/include")

# The library once more, in one piece, in place of the one that is installed.
find "$sources/src/core" -name '*.cpp' | sort | sed 's|.*|#include "&"|' >all.cpp
if [ "$linkage" = shared ]; then
    soname=$(basename "${library%.*}")
    "$compiler" "${flags[@]}" -I "$sources/src" -fPIC -shared -Wl,-soname,"$soname" all.cpp \
        -pthread -o "$library"
    how=(-iex "add-auto-load-safe-path $autoLoad" -iex "add-auto-load-scripts-directory $autoLoad")
else
    "$compiler" "${flags[@]}" -I "$sources/src" -c all.cpp
    library=all.o
    how=(-iex "source $printers")
fi

show() {
    "$compiler" "${flags[@]}" "$sources/tests/package/inspected.cpp" "$library" -pthread -o inspected
    local expression expressions=()
    for expression in world-\>{none,pending,expired,cancelled,session.idle,unused.idle,wheel,timer} \
        garbage-\>{none,session.idle,wheel,timer}; do
        expressions+=(-ex "echo $expression\n" -ex "output $expression" -ex 'echo \n')
    done
    gdb -nx -q -batch "${how[@]}" -ex 'break look' -ex run "${expressions[@]}" inspected 2>&1 |
        sed -n '/^world->none/,$p' | paste -d ' ' - - | sed 's/0x[0-9a-f]*$/.../'
}

diff -u - <(show) <<'END'
world->none empty
world->pending pending, due at tick 1500, 11.500000000 s of its clock
world->expired expired, due at tick 5, 10.005000000 s of its clock
world->cancelled cancelled, due at tick 25, 10.025000000 s of its clock
world->session.idle pending, due at tick 40, 10.040000000 s of its clock
world->unused.idle never scheduled
world->wheel tick 0, 4 pending: 2 on level 0, 1 on level 1, 1 on level 11
world->timer 2 pending in 1 shards = {wheel of shard 0 = tick 5, 2 pending: 1 on level 1, 1 on level 2}
garbage->none unreadable: Cannot access memory at address ...
garbage->session.idle returned, due at tick 406913472214181285
garbage->wheel unreadable: Cannot access memory at address ...
garbage->timer unreadable: Cannot access memory at address ...
END

strip --strip-debug "$library"
diff -u - <(show | grep -v garbage) <<'END'
world->none empty
world->pending pending, due at tick 1500
world->expired expired, due at tick 5
world->cancelled cancelled, due at tick 25
world->session.idle pending, due at tick 40
world->unused.idle never scheduled
world->wheel tick 0, 4 pending: 2 on level 0, 1 on level 1, 1 on level 11
world->timer unreadable: There is no member named core_.
END
