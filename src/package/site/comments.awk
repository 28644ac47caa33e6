# What Doxygen reads of a header: names as users write them, without inline namespaces. Comments use
# no commands, so an @ is an @; and "When" begins sentences, though a type has that name. Aligned
# lines, such as
#     /// Memory    64 bytes
#     /// Errors    std::bad_alloc: nothing
#     ///           has changed
# become a table. No line is added: the numbers in warnings are those of the header.
function hold(line) {
    if (NR > 1) print held
    held = line
}
/^namespace / { gsub(/::inline [A-Za-z0-9_]+/, "") }
!/\/\/\/     / {  # but in examples
    gsub(/@/, "\\@")
    gsub(/ When /, " %When ")
    sub(/struct std::hash</, "struct hash<")  # Doxygen 1.9.4 stumbles over it
}
match($0, /^ *\/\/\/ ? ? ?[A-Za-z0-9]([^ ]| [^ ])*  +[^ ]/) && !/^ *\/\/\/ ? ? ?-/ {
    start = match($0, /\/\/\/ /)
    lead = substr($0, 1, start + 3)
    rest = substr($0, start + 4)
    sub(/^ */, "", rest)
    gap = match(rest, /  +/)
    key = substr(rest, 1, gap - 1)
    column = RSTART + RLENGTH - 1 + length($0) - length(rest)
    lead = lead (isRow ? "</td></tr>" : "<table>") "<tr><td>"
    hold(lead key "</td><td>" substr(rest, gap + RLENGTH))
    isRow = 1
    next
}
isRow {
    # The text of a row goes on below its text.
    text = $0
    sub(/^ *\/\/\/ */, "", text)
    if (text == "" || length($0) - length(text) != column) {
        held = held "</td></tr></table>"
        isRow = 0
    }
}
{ hold($0) }
END { if (NR) print held }
