#!/bin/sh
# The notes of the probes, as a tracer finds them in the library: probes.sh <readelf> <library>
set -eu
readelf=$1 library=$2

# Each with the number of its arguments, in as many places as the compiler has put it.
wanted="arm 3
cancel 1
cascade 2
dispatch 2
expire 2
intake 3
place 2
run 5
schedule 2
wake 3"
found=$("$readelf" --notes "$library" |
    awk '$1 == "Provider:" && $2 == "timingwheel" { isOurs = 1 }
         $1 == "Name:" { name = $2 }
         $1 == "Arguments:" && isOurs { print name, gsub(/-8@/, ""); isOurs = 0 }' | sort -u)
if [ "$found" != "$wanted" ]; then
    printf '%s has the probes\n%s\ninstead of\n%s\n' "$library" "$found" "$wanted"
    exit 1
fi
echo "$library has ten probes, in $("$readelf" --notes "$library" | grep -c stapsdt) places"
