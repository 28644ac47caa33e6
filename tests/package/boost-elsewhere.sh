# Boost's headers where the compiler does not look: the .pc file says where they were when the
# library was built, and takes another folder.
# boost-elsewhere.sh <cmake> <compiler> <prefix> <program.cpp> <sources> <folder with boost/>
set -eu
cmake=$1 compiler=$2 prefix=$3 program=$4 sources=$5 boost=$6
work=$PWD/boost-elsewhere
rm -rf "$work"
mkdir -p "$work/other/include"
ln -s "$boost/boost" "$work/other/include/boost"

# expectFrom <folder> <flag>...: all of the program's Boost headers come from there.
expectFrom() {
    folder=$1
    shift
    # shellcheck disable=SC2046  # the flags are words
    "$compiler" -std=c++20 -M "$program" $(pkg-config --cflags "$@" timingwheel) |
        tr ' ' '\n' | grep /boost/ >"$work/headers"
    if grep -v "^$folder/" "$work/headers"; then
        echo "WRONG: Boost headers that are not in $folder"
        exit 1
    fi
    echo "ok: $(wc -l <"$work/headers") Boost headers are in $folder"
}

pcFile=$(find "$prefix" -name timingwheel.pc)
export PKG_CONFIG_PATH="${pcFile%/*}"
expectFrom "$work/other/include" --define-variable=boost_includedir="$work/other/include"

# A library that was built with such a Boost says so by itself. It need not be compiled for that.
# One that goes to a folder of its own, given by its whole path, is found there, by gdb, too.
"$cmake" -S "$sources" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DTIMINGWHEEL_BUILD_TESTS=OFF -DTIMINGWHEEL_BUILD_EXAMPLES=OFF -DTIMINGWHEEL_BUILD_DEMO=OFF \
    -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR="$work/libraries" \
    -DBoost_NO_BOOST_CMAKE=ON -DBoost_INCLUDE_DIR="$work/other/include" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
touch "$work/build/src/core/libtimingwheel.a"
"$cmake" --install "$work/build" --component timingwheel_Development >>"$work/log"
export PKG_CONFIG_PATH="$work/libraries/pkgconfig"
said=$(pkg-config --variable=boost_includedir timingwheel)
said="$said $(pkg-config --variable=libdir timingwheel)"
said="$said $(find "$work/prefix/share/gdb" -name '*.py' | sed "s|$work/prefix/share/gdb/auto-load||")"
wanted="$work/other/include $work/libraries $work/libraries/libtimingwheel.a-gdb.py"
if [ "$said" != "$wanted" ]; then
    echo "WRONG: it says $said, not $wanted"
    exit 1
fi
echo "ok: it says $said"
