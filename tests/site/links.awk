# links.awk <list of files> <page>...: each link of the pages leads to a file of the list, with the
# anchor that it names, and nothing is loaded from elsewhere.
FILENAME == ARGV[1] { isThere[$0]; next }
FNR == 1 { ++pages }
{
    rest = $0
    while (match(rest, /<[a-z]+|[ \t](href|src|id|name)="[^"]*"/)) {
        found = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (found ~ /^</) { tag = found; continue }
        value = found
        gsub(/^[^"]*"|"$/, "", value)
        if (found ~ /^.(id|name)/) isThere[FILENAME "#" value]
        else if (value !~ /^[a-z]+:/) links[FILENAME "\t" value]
        else if (tag != "<a" && value !~ /^(data|javascript):/)
            bad[FILENAME ": " tag " loads " value]
    }
}
END {
    for (link in links) {
        split(link, of, "\t")
        target = of[2]
        if (target ~ /^#/ || target == "") target = of[1] target
        else {
            if (target !~ /^\//) { sub(/[^\/]*$/, "", of[1]); target = of[1] target }
            gsub(/\/\.\//, "/", target)
            while (sub(/[^\/]+\/\.\.\//, "", target)) {}
        }
        sub(/[?].*|#$/, "", target)
        file = target
        sub(/#.*/, "", file)
        ++count
        if (target ~ /#nested-classes$/) continue  # Doxygen 1.9.4, where none is public
        if (!(file in isThere) || !(target in isThere)) bad[link " leads nowhere"]
    }
    for (one in bad) { print one; isBad = 1 }
    print count " links of " pages " pages"
    exit isBad || !count
}
