"""Tables, sentences, pages with {{placeholders}}, and parts of pages between marks."""

import re

MARKS = "<!-- written by {0}: begin -->\n", "<!-- written by {0}: end -->"


def table(header, rows, left=1):
    """The first columns are text, the others are numbers."""
    lines = [header, ["---"] * left + ["---:"] * (len(header) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def textTable(header, rows):
    return table(header, rows, left=len(header))


def joined(words):
    words = list(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def fill(template, valueOf):
    """The template with what `valueOf(what stands in the braces)` says."""
    text = re.sub(r"{{(.*?)}}", lambda match: valueOf(match.group(1)), template)
    return re.sub(r"\n{3,}", "\n\n", text)


def withPart(page, command, text):
    """The page with what belongs between the marks of a command. REQUIRES: it has them."""
    begin, end = (mark.format(command) for mark in MARKS)
    before, rest = page.split(begin)
    return f"{before}{begin}{text}{end}{rest.split(end)[1]}"
