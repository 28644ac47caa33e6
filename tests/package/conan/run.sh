#!/usr/bin/env bash
# Makes the Conan package of the library in every way, and with the recipe for ConanCenter, and uses
# it; with --some, makes it once, static, besides the recipe; with --quick, makes it once, shared,
# and uses it; with --tests, the same, and has the recipe build and run the fast tests.
# Called by ./dev conan, which installs what is needed. Everything lands in build/conan; Conan asks
# no server for anything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=$PWD/tests/package/conan work=$PWD/build/conan
mkdir -p "$work"

say() { printf '   conan: %s\n' "$*"; }

# A command whose output matters only when it fails.
quietly() {
    local log=$work/log started=$SECONDS what=$1
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 60 "$log"; say "$what: FAILED, see $log"; exit 1; }
    say "$what: ok ($((SECONDS - started)) s)"
}

if ! cmp -s "$here/requirements.txt" "$work/venv/requirements.txt"; then
    say "getting the client from PyPI: $(cat "$here/requirements.txt")"
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/venv/"
fi
PATH=$work/venv/bin:$PATH
export CONAN_HOME=$work/home

# The versions that are installed: both profiles name them.
boost=$(sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"/\1/p' /usr/include/boost/version.hpp)
case $boost in *_*_*) ;; *) boost=${boost}_0 ;; esac # 1_74 means 1.74.0
export BOOST_VERSION=${boost//_/.}
GTEST_VERSION=$(pkg-config --modversion gtest)
export GTEST_VERSION
SQLITE_VERSION=$(pkg-config --modversion sqlite3)
RDKAFKA_VERSION=$(pkg-config --modversion rdkafka)
export SQLITE_VERSION RDKAFKA_VERSION

rm -rf "$CONAN_HOME"
quietly "profile" conan profile detect
conan remote disable '*' >/dev/null 2>&1
cat >>"$CONAN_HOME/global.conf" <<END
core:non_interactive=True
tools.build:jobs=2
tools.cmake.cmaketoolchain:generator=Ninja
tools.cmake.cmake_layout:test_folder=$work/test_package
tools.cmake.cmaketoolchain:user_presets=
END
conan export "$here/boost" --name=system-boost --version="$BOOST_VERSION" >/dev/null 2>&1
conan export "$here/date" --version=3.0.1 >/dev/null 2>&1
conan export "$here/sqlite3" --version="$SQLITE_VERSION" >/dev/null 2>&1
conan export "$here/librdkafka" --version="$RDKAFKA_VERSION" >/dev/null 2>&1

rm -f "$work/junit.xml"
# The words that docs/installing.md has for it.
# shellcheck disable=SC2016  # these are not the shell's backticks
read -ra create <<<"$(sed -n 's/.*`\(conan create [^`]*\)`.*/\1/p' docs/installing.md)"
if [ "${1-}" = --tests ]; then
    conan export "$here/gtest" --version="$GTEST_VERSION" >/dev/null 2>&1
    quietly "create, shared=True, with the recipe's tests" \
        "${create[@]}" -pr "$here/wrapper.profile" --build="timingwheel/*" \
        -o "timingwheel/*:shared=True" -c tools.build:skip_test=False
    grep -h "tests passed" "$work/log"
    find "$CONAN_HOME" -name junit.xml -exec cp {} "$work/" \;
    exit
fi
# From here on there is no GoogleTest: nobody who only uses the package needs it.
older=(-s compiler.cppstd=gnu17)
conan graph info . -pr "$here/wrapper.profile" "${older[@]}" --build=missing >"$work/log" 2>&1 || true
grep -q "gnu17) is lower than the required C++ standard (20)" "$work/log" ||
    { tail -n 60 "$work/log"; say "C++17: not refused"; exit 1; }
# Compiled in few pieces, which is quick.
few="{'CMAKE_UNITY_BUILD': 'ON', 'CMAKE_UNITY_BUILD_BATCH_SIZE': '100'}"
few=tools.cmake.cmaketoolchain:extra_variables=$few
if [ "${1-}" = --quick ]; then
    quietly "create, shared=True, and use it" \
        "${create[@]}" -pr "$here/wrapper.profile" --build="timingwheel/*" \
        -o "timingwheel/*:shared=True" -c "$few"
    exit
fi
pieces=()
if [ "${1-}" = --some ]; then pieces=(-c "$few"); fi
all=(-o "timingwheel/*:with_calendar=True" -o "timingwheel/*:with_kafka=True"
    -o "timingwheel/*:with_store=True")
for shared in False True; do
    [ "$shared,${1-}" != True,--some ] || continue
    options=(--build="timingwheel/*" -o "timingwheel/*:shared=$shared")
    [ "$shared,${1-}" = False,--some ] ||
        quietly "create, shared=$shared, [platform_requires]" \
            "${create[@]}" -pr "$here/platform.profile" "${pieces[@]}" "${options[@]}"
    quietly "create, shared=$shared, with all, [replace_requires]" \
        "${create[@]}" -pr "$here/wrapper.profile" "${pieces[@]}" "${options[@]}" \
        "${all[@]}"

    consumer=$work/consumer-$shared
    rm -rf "$consumer"
    quietly "a consumer installs it" conan install tests/package/consumer -of "$consumer" \
        -pr "$here/wrapper.profile" -s compiler.cppstd=20 "${pieces[@]}" \
        -o "timingwheel/*:shared=$shared" "${all[@]}"
    quietly "it finds the package and Boost::headers" cmake -S tests/package/consumer \
        -B "$consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$consumer/conan_toolchain.cmake"
    quietly "it builds" cmake --build "$consumer" -j2
    # shellcheck disable=SC2016  # $0 is the inner bash's
    quietly "it runs" bash -c '. "$0/conanrun.sh"; "$0/consumer"' "$consumer"
done

# The recipe for ConanCenter takes the archive of a release, made from what lies here.
release=$work/release recipe=$work/release/conan-center/all
made=$(python3 -B src/package/release.py --as-it-is --to "$release") || { say "$made"; exit; }
CMAKE_VERSION=$(cmake --version | sed -n 's/^cmake version //p')
export CMAKE_VERSION
asked=$(sed -n 's/^ *self.requires("boost\/\([^"]*\)".*/\1/p' "$recipe/conanfile.py")
version=$(sed -n 's/^ *"\(.*\)":$/\1/p' "$release/conan-center/config.yml")
conan export "$here/boost" --name=boost --version="$asked" >/dev/null 2>&1
center=("$recipe" --version="$version" --build=missing)
quietly "create by ConanCenter's recipe, and use it" \
    conan create "${center[@]}" -pr "$here/center.profile" -s build_type=Debug \
    -c "$few"
quietly "it asks for Boost's headers only" \
    conan graph info "${center[@]}" -pr "$here/center.profile" --filter=options
grep -q "header_only: True" "$work/log" || { cat "$work/log"; exit 1; }

for package in "$CONAN_HOME"/p/b/timin*/p; do
    quietly "ConanCenter's rules for what is packed" \
        python3 -B tests/package/conan-center.py package "$package"
done

# refused <what> <why> <option>...: the recipe says that this cannot be.
refused() {
    conan graph info "${center[@]}" -pr "$here/center.profile" "${@:3}" >"$work/log" 2>&1 || true
    grep -q "info_invalid: timingwheel/$version requires $2" "$work/log" ||
        { tail -n 60 "$work/log"; say "$1: not refused"; exit 1; }
    say "$1: refused"
}
refused "32 bits" "pointers of 64 bits" -s arch=x86
refused "g++ 10" "gcc 11" -s compiler=gcc -s compiler.version=10 -s compiler.cppstd=20
refused "clang 13" "clang 14" -s compiler=clang -s compiler.version=13 -s compiler.cppstd=20
