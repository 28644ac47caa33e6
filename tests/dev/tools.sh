# For ./dev and the runners in bash: sourced, from the project's root.
# shellcheck shell=bash

asked=${0#"$PWD/"}

say() { printf '== %s\n' "$*"; }

# What is refused has installed and built nothing.
refuse() {
    printf '%s: %s\n' "$asked" "$1" >&2
    exit 2
}

# The script's own first comment is its help.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# takes <what may be there, with blanks between> <argument>...
takes() {
    local one may=$1
    for one in "${@:2}"; do
        case $one in
            -h | --help) usage; exit 0 ;;
        esac
        [[ " $may " == *" $one "* ]] || refuse "there is no \"$one\"${may:+, only $may}"
    done
}

need() { tests/dev/need "$@"; }

# step <name> <what> <command>...: one line, and build/log/<name>.log. What the command printed is
# shown where it fails, without what passed.
step() {
    local log=build/log/$1.log what=$2 began=$SECONDS status=0 watcher=
    shift 2
    mkdir -p build/log
    : >"$log"
    printf '== %s' "$what"
    if [ -t 1 ]; then
        while sleep 1 && kill -0 $$ 2>/dev/null; do
            printf '\r== %s %s ' "$what" "$(tail -c 400 "$log" | grep -aoE '[0-9]+/[0-9]+' | tail -n 1)"
        done &
        watcher=$!
    fi
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ -n "$watcher" ]; then
        kill $watcher
        wait $watcher 2>/dev/null || true
        printf '\r\e[K== %s' "$what"
    fi
    printf ': %s s\n' $((SECONDS - began))
    if [ $status -ne 0 ]; then
        grep -avE '^\[[0-9]+/[0-9]+\]|^ *[0-9]+/[0-9]+ Test .* (Passed|\*\*\*Skipped)|^ +Start +[0-9]+:' "$log" |
            tail -n 150 | fold -s -w 110 || true
        say "that failed (status $status); all of it is in $log"
    fi
    return $status
}
