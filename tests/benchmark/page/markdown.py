"""Tables, and pages with {{placeholders}}."""

import re


def table(header, rows):
    """The first column is text, the others are numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def textTable(header, rows):
    return table(header, rows).replace("---:", "---")


def fill(template, valueOf):
    """The template with what `valueOf(what stands in the braces)` says."""
    text = re.sub(r"{{(.*?)}}", lambda match: valueOf(match.group(1)), template)
    return re.sub(r"\n{3,}", "\n\n", text)
