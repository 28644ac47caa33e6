#!/bin/sh
# as-a-user.sh <folder of a release>: a program of one's own, by each way from these files alone.
# As root in a bare Debian 12. It needs the network for apt and pip, and minutes of compiling.
set -eux
release=$(realpath "$1") work=$(mktemp -d)
apt-get update -q
apt-get install -y -q g++ cmake make libboost-dev pkg-config python3-venv
cd "$release" && sha256sum --check SHA256SUMS
cd "$work"
cat >program.cpp <<'END'
#include <timingwheel/timingwheel.h>

#include <cstdio>

int main() {
    timingwheel::SystemTimer timer;
    timer.newTimeout([] { std::puts("it runs"); }, std::chrono::milliseconds{50});
    timer.drain();
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(program LANGUAGES CXX)
if(ARCHIVE)
    include(FetchContent)
    FetchContent_Declare(timingwheel URL ${ARCHIVE})
    FetchContent_MakeAvailable(timingwheel)
else()
    find_package(timingwheel 0.1 REQUIRED)
endif()
add_executable(program program.cpp)
target_link_libraries(program PRIVATE timingwheel::timingwheel)
END
# took <way>: says so, of what has passed since it was called last.
began=$(date +%s)
took() {
    { set +x; } 2>/dev/null
    echo "== $1: $(($(date +%s) - began)) s"
    began=$(date +%s)
    set -x
}
# built <folder> <option of CMake>...: the program says that it runs.
built() {
    folder=$1
    shift
    cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release "$@"
    cmake --build "$folder" --parallel 2
    "$folder/program" | grep 'it runs'
}

: one header
mkdir header
sed 's|<timingwheel/timingwheel.h>|"timingwheel.hpp"|' program.cpp >header/program.cpp
printf '#define TIMINGWHEEL_IMPLEMENTATION\n#include "timingwheel.hpp"\n' >header/timingwheel.cpp
g++ -std=c++20 -O2 -pthread -Wall -Wextra -I "$release" header/*.cpp -o header/program
header/program | grep 'it runs'
took "one header"

: the archive
archive=$(echo "$release"/timingwheel-[0-9]*.tar.gz)
built archive -DARCHIVE="$archive"
took "CMake, from the archive"

: Conan. The archive may not be yet where the recipe says
python3 -m venv venv
venv/bin/pip install -q 'conan>=2.0.15,<3'
venv/bin/conan profile detect
cp -r "$release/conan-center/all" recipe
sed -i "s|url: .*|url: \"file://$archive\"|" recipe/conandata.yml
version=$(sed -n 's/^ *"\(.*\)":$/\1/p' "$release/conan-center/config.yml")
boost=$(sed -n 's|.*self.requires("\(boost/[^"]*\)".*|\1|p' recipe/conanfile.py) # by apt, here
printf '[platform_tool_requires]\ncmake/3.25.1\n[platform_requires]\n%s\n' "$boost" \
    >>"$(venv/bin/conan profile path default)"
venv/bin/conan remote disable '*'
set -- -s compiler.cppstd=20 --build=missing
venv/bin/conan create recipe --version="$version" "$@"
venv/bin/conan install --requires="timingwheel/$version" "$@" -g CMakeDeps -g CMakeToolchain -of conan
built with-conan -DCMAKE_TOOLCHAIN_FILE=conan/conan_toolchain.cmake
took "Conan, with its installation"

: the Debian packages
apt-get install -y -q "$release"/*.deb
built installed
# shellcheck disable=SC2046  # words
g++ -std=c++20 program.cpp $(pkg-config --cflags --libs timingwheel) -o by-pkg-config
./by-pkg-config | grep 'it runs'
timingwheel-kafka --version
systemd-analyze verify /usr/lib/systemd/system/timingwheel-kafka.service || [ $? -eq 127 ]
took "Debian packages"
: all ways lead there
