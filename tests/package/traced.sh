#!/usr/bin/env bash
# Traces the probes of a program by docs/examples/timers.bt, and compares how often each step comes.
# Exits with 77, and says why, where that is not allowed.
# traced.sh <compiler> <prefix> <static|shared> <script>
set -euo pipefail
compiler=$1 prefix=$2 linkage=$3 script=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
    echo "skipped: $*"
    exit 77
}

command -v bpftrace >/dev/null || skip "bpftrace is not installed"
pcFile=$(find "$prefix" -name timingwheel.pc)
export PKG_CONFIG_PATH="${pcFile%/*}" LD_LIBRARY_PATH="$PWD"
wanted=timingwheel
if [ "$linkage" = static ]; then
    wanted+=" --static" traced=$PWD/traced
else
    # A copy: other tests run programs with the library meanwhile, and are traced with it.
    cp -P "${pcFile%/pkgconfig/*}"/libtimingwheel.so* .
    traced=$PWD/libtimingwheel.so
fi
# shellcheck disable=SC2046,SC2086  # the flags are words
"$compiler" -std=c++20 -O2 "$here/inspected.cpp" $(pkg-config --cflags --libs $wanted) -o traced

# It takes root, and a kernel with BPF and uprobes.
bpftrace -e "uprobe:$PWD/traced:main { } BEGIN { exit(); }" >traced.log 2>&1 ||
    skip "nobody may trace here: $(grep -v RLIMIT_MEMLOCK traced.log | head -n 1)"

# Once a second has passed for it, it traces all.
fail() {
    cat traced.log
    exit 1
}
bpftrace "$script" "$traced" >traced.log 2>&1 &
tracer=$!
trap 'kill $tracer 2>/dev/null || true' EXIT
until grep -q '^..:..:..$' traced.log; do
    kill -0 $tracer || fail
    sleep 0.1
done
./traced
kill -INT $tracer
wait $tracer || fail

# A busy machine may change how often the others come, but all do.
counted=$(sed -n 's/^@steps\[\(.*\)\]: \(.*\)/\1 \2/p' traced.log |
    awk '{ sum[$1] += $2 } END { for (step in sum) print step, sum[step] }' | sort |
    sed -E 's/^(arm|cascade|place|wake) [1-9].*/\1/')
diff -u - <(echo "$counted") <<'END' || fail
arm
cancel 5
cascade
dispatch 10
expire 11
intake 17
place
run 11
schedule 16
wake
END
grep -q '^@late_us:' traced.log || fail
echo "traced all ten probes of $traced"
