# What docs/README.md lists, one a line: the question or case, a tab, and the path from the root. A
# heading begins a part, in a line without a tab. Further links of a row have their own names.
function entry(title, link) {
    sub(/#.*/, "", link)
    link = link ~ /^\.\.\// ? substr(link, 4) : "docs/" link
    if (link == "docs/" || link in seen) return
    seen[link]
    gsub(/`/, "", title)
    print title "\t" link
}
function entries(text, title,    at, found) {
    while (match(text, /\[[^]]+\]\([^):]+\)/)) {
        found = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        at = index(found, "](")
        entry(title == "" ? substr(found, 1, at - 1) : title, substr(found, at + 2))
        title = ""
    }
}
/^## / { print substr($0, 4); isPart = 1; next }
!/^\|/ { if (isPart) entries($0, ""); next }
{
    split($0, cells, / *\| */)
    if (cells[3] ~ /`\.\/dev docs`/) entry(cells[2], "../reference/index.html")
    entries(cells[3], cells[2])
}
