"""Small mistakes that nobody thought of: found in C++ sources, drawn at random, compiled together.

A place is a piece of the syntax tree and what might stand there instead. `rewritten` puts the drawn
ones into the text so that a process says which of them it makes: `a < b` becomes
`(is(17) ? (a <= b) : (a < b))`. What must be known while compiling is left alone.
"""

import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import tree_sitter
import tree_sitter_cpp

KINDS = ["condition", "comparison", "statement", "off by one", "arithmetic", "wrong member",
         "wrong state", "memory order", "lock"]  # fmt: skip

# Where the compiler has to know the value, or where a mistake would be none of the library's. What
# is missing here does not compile, and is drawn anew.
FIXED = {"ERROR", "static_assert_declaration", "template_argument_list", "requires_clause",
         "concept_definition", "friend_declaration", "enumerator_list"}  # fmt: skip
# checkInvariants() and what it calls is, like an assertion, no part of what timers do.
CHECK = re.compile(r"\bcheck(?!ed)\w*\(")
LOOPS = {"while_statement", "for_statement", "do_statement", "for_range_loop"}
CALLS = {"call_expression", "assignment_expression", "update_expression", "delete_expression"}
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPUTED = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|",
            "|": "&"}  # fmt: skip
STREAMED = re.compile(r"\"|^(?:out|message|stream)\b|std::to_string")
LOCKS = re.compile(r"^(?:std::(?:lock_guard|unique_lock|scoped_lock)|(?:Shard|Flat)?Hold)\b")
HOLD = re.compile(r"^(?:return )?(?:Shard|Flat)?Hold\b")  # a variable, or for a statement alone
ORDER = re.compile(r"std::memory_order_(acquire|release|acq_rel|seq_cst)")


@dataclass
class Place:
    """What might stand there instead: several things, of which one is drawn."""

    file: str
    kind: str
    start: int
    end: int
    line: int
    at: str  # the line where it begins
    old: str
    choices: list
    form: str  # how it is compiled in
    new: str = ""
    number: int = 0  # among all places of these sources

    def told(self):
        new = f" -> {self.new}" if self.new else ""
        what = {"statement": "left out: ", "lock": "not held: ", "held": "not held: "}
        what = what.get(self.form, "")
        return f"{self.number:>5} {self.file}:{self.line}: {self.kind}: {what}{self.old}{new}"


def flat(text):
    """On one line, without comments."""
    text = re.sub(rb"//[^\n]*", b"", text)
    return re.sub(r"\s+", " ", text.decode()).strip()


def parsed(source):
    """The tree; what would confuse the parser is blank for it, or is only for a newer Asio."""
    blank = rb"^#(?:else|if TIMINGWHEEL_ASIO).*?^#endif|\bTIMINGWHEEL_(?:EXPORT|API)\b|^ *#[^\n]*$"
    source = re.sub(blank, lambda found: re.sub(rb"[^\n]", b" ", found[0]), source,
                    flags=re.DOTALL | re.MULTILINE)  # fmt: skip
    language = tree_sitter.Language(tree_sitter_cpp.language())
    return tree_sitter.Parser(language).parse(source).root_node


def text(node):
    return flat(node.text) if node is not None else ""


def field(node, name):
    return node.child_by_field_name(name) if node is not None else None


def words(node):
    return {text(child) for child in node.children
            if child.type in ("type_qualifier", "storage_class_specifier")}  # fmt: skip


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def declared(member):
    """The names that a declaration of members declares, each with its type."""
    for declarator in member.children_by_field_name("declarator"):
        kind = [*sorted(words(member)), text(field(member, "type"))]
        while declarator.type in ("pointer_declarator", "array_declarator"):
            kind.append(declarator.type)
            declarator = field(declarator, "declarator")
        if declarator.type == "field_identifier":
            yield text(declarator), kind


class Names:
    """Members that have one type, and enumerators of one enumeration: each instead of another."""

    def __init__(self, trees):
        self.members, self.states = defaultdict(dict), defaultdict(list)
        for node in (node for tree in trees for node in walk(tree)):
            body, name = field(node, "body"), text(field(node, "name")).split("::")[-1]
            if body is None or not name:
                continue
            if node.type == "enum_specifier":
                self.states[name].append([text(field(one, "name")) for one in body.named_children
                                          if one.type == "enumerator"])  # fmt: skip
            elif node.type in ("class_specifier", "struct_specifier"):
                for member in body.named_children:
                    if member.type == "field_declaration" and "static" not in words(member):
                        self.members[name] |= dict(declared(member))

    def others(self, node, isPrivate):
        """Members that might be meant instead of the one that the node names."""
        name, scope = text(node), scopeOf(node)
        homes = {one: members for one, members in self.members.items() if name in members}
        if scope not in homes and len(homes) != 1:
            return []
        mine = homes.get(scope) or homes.popitem()[1]
        return [other for other in mine if other != name and mine[other] == mine[name]
                and other.endswith("_") == isPrivate]  # fmt: skip


def scopeOf(node):
    """The class whose function, or whose body, the node is in."""
    while node is not None:
        found = node.type == "function_definition" and re.match(
            r"[^(]*?(\w+)::~?\w+\s*\(", text(field(node, "declarator")))  # fmt: skip
        if found:
            return found[1]
        if node.type in ("class_specifier", "struct_specifier"):
            return text(field(node, "name")).split("::")[-1]
        node = node.parent
    return ""


def isFixed(node):
    if node.type in ("declaration", "field_declaration"):
        return "constexpr" in words(node)
    if node.type == "function_definition":
        return "consteval" in words(node) or CHECK.search(text(field(node, "declarator")))
    if node.type == "call_expression":
        return text(field(node, "function")) in ("assert", "static_assert")
    return node.type in FIXED


def isConstexpr(node):
    return any(child.type == "constexpr" for child in node.children)


def changes(node, names):
    """(kind, node, what might stand there instead, how it is compiled in)"""
    kind, parent = node.type, node.parent
    if kind in ("expression_statement", "return_statement") and HOLD.match(text(node)):
        yield "lock", node, [""], "held"
    if kind in LOOPS | {"if_statement"} and not isConstexpr(node):
        condition = field(node, "condition")
        while condition is not None and condition.type in ("condition_clause",
                                                           "parenthesized_expression"):
            condition = field(condition, "value") or condition.named_children[0]
        if condition is not None and condition.type != "declaration":
            others = ["true", "false", f"!({text(condition)})"]
            yield "condition", condition, others if kind not in LOOPS else ["false"], "condition"
    elif kind == "conditional_expression":
        condition = field(node, "condition")
        yield "condition", condition, [f"!({text(condition)})"], "condition"
    elif kind == "binary_expression":
        yield from ofBinary(node)
    elif kind == "unary_expression":
        operator, operand = text(field(node, "operator")), field(node, "argument")
        if operator == "!":
            yield "condition", node, [text(operand)], "condition"
        elif operator == "-":
            yield "arithmetic", node, [text(operand)], ""
    elif kind in ("true", "false"):
        yield "condition", node, ["false" if kind == "true" else "true"], ""
    elif kind == "number_literal":
        found = re.fullmatch(r"([0-9][0-9']*)([uU]?[lL]{0,2})", text(node))
        if found and parent.type != "subscript_argument_list" and text(
                field(parent, "operator")) not in ("+", "-", "<<", ">>"):  # fmt: skip
            number = int(found[1].replace("'", ""))
            wrong = [number + 1, number - 1] if number else [1]
            yield "off by one", node, [f"{n}{found[2]}" for n in wrong], ""
    elif kind == "expression_statement" and node.named_children:
        if node.named_children[0].type in CALLS and not re.match(
                r"static_cast<void>|assert\b|static_assert\b", text(node)):  # fmt: skip
            yield "statement", node, [""], "statement"
    elif kind == "continue_statement" or (kind == "return_statement" and not node.named_children):
        yield "statement", node, [""], "statement"
    elif kind == "break_statement":
        while parent.type not in LOOPS | {"case_statement"}:
            parent = parent.parent
        if parent.type in LOOPS:
            yield "statement", node, [""], "statement"
    elif kind == "call_expression":
        function, arguments = text(field(node, "function")), field(node, "arguments")
        if function in ("std::min", "std::max"):
            other = "std::max" if function == "std::min" else "std::min"
            yield "comparison", node, [other + text(arguments)], ""
        isOuter = any("memory_order" in text(one) for child in arguments.children
                      for one in walk(child) if one.type == "call_expression")  # fmt: skip
        whole = text(node)
        # A fence for the compiler alone is a mistake that cannot be made at run time: to look up
        # which one is chosen calls a function, and that is such a fence, too.
        isOuter = isOuter or function.endswith("atomic_signal_fence")
        weaker = [f"{whole[:one.start(1)]}relaxed{whole[one.end(1):]}"
                  for one in ORDER.finditer(whole, len(function))]  # fmt: skip
        yield "memory order", node, [] if isOuter else weaker, ""
    elif kind == "identifier" and text(node).endswith("_"):
        if parent.type != "declaration":
            yield "wrong member", node, names.others(node, isPrivate=True), ""
    elif kind == "field_expression":
        name, isOurs = field(node, "field"), text(field(node, "argument")) == "this"
        isCalled = parent.type == "call_expression" and field(parent, "function") == node
        if not isCalled and (isOurs or not text(name).endswith("_")):
            base = text(node)[: -len(text(name))]
            yield "wrong member", node, [base + other for other in names.others(name, isOurs)], ""
    elif kind == "qualified_identifier" and parent.type not in (kind, "case_statement"):
        scope, _, name = text(node).rpartition("::")
        for states in names.states.get(scope.split("::")[-1], []):
            if name in states:
                yield "wrong state", node, [f"{scope}::{s}" for s in states if s != name], ""
    elif kind == "declaration" and LOCKS.match(text(field(node, "type"))):
        initial = field(field(node, "declarator"), "value")
        if initial is not None and len(initial.named_children) == 1:
            yield "lock", node, [""], "lock"


def ofBinary(node):
    left, right = field(node, "left"), field(node, "right")
    a, operator, b = text(left), text(field(node, "operator")), text(right)
    if operator in COMPARED:
        yield "comparison", node, [f"{a} {COMPARED[operator]} {b}"], ""
    elif operator in ("&&", "||"):
        other = "||" if operator == "&&" else "&&"
        yield "condition", node, [a, b, f"({a}) {other} ({b})"], "condition"
    elif STREAMED.search(text(node)):
        pass
    elif operator in ("+", "-") and right.type == "number_literal":
        yield "off by one", node, [a], ""
    elif operator in ("*", "/", "%", "&", "|") or (
            operator in COMPUTED and "literal" not in left.type + right.type):  # fmt: skip
        yield "arithmetic", node, [f"{a} {COMPUTED[operator]} {b}"], ""


def visit(node, names):
    if isFixed(node):
        return
    yield from changes(node, names)
    known = isConstexpr(node) and field(node, "condition")
    for child in node.children:
        if child != known:
            yield from visit(child, names)


def find(sources):
    """All places, numbered; `sources` is file -> bytes."""
    trees = {file: parsed(source) for file, source in sorted(sources.items())}
    names, places = Names(trees.values()), []
    for file, tree in trees.items():
        lines = sources[file].split(b"\n")
        for kind, node, choices, form in visit(tree, names):
            old, row = sources[file][node.start_byte : node.end_byte], node.start_point[0]
            isPure = re.search(rb"\bvirtual\b.*= 0;$", lines[row])
            if choices and not isPure:
                places.append(Place(file, kind, node.start_byte, node.end_byte, row + 1,
                                    flat(lines[row]), flat(old), choices, form,
                                    number=len(places) + 1))  # fmt: skip
    return places


def ordered(places, seed):
    """For each kind its places in the order in which they are drawn, with one change each. Both
    depend on the seed and on the place, and not on others: a change elsewhere draws the same."""
    turns, seen = {}, Counter()
    for place in places:
        words = (place.kind, place.file, place.at, place.old)
        seen[words] += 1
        lot = random.Random(f"{seed} {words} {seen[words]}")
        turns[place.number] = lot.random()
        place.new = lot.choice(place.choices)
    return {kind: sorted((place for place in places if place.kind == kind),
                         key=lambda place: turns[place.number]) for kind in KINDS}  # fmt: skip


def draw(order, count, dropped=frozenset()):
    """So many mutants, an equal part of each kind; what one has too few for goes to the others.
    `dropped` has the numbers of those that do not compile."""
    left = [[place for place in mine if place.number not in dropped] for mine in order.values()]
    drawn = []
    while len(drawn) < count and any(left):
        for mine in left:
            if mine and len(drawn) < count:
                drawn.append(mine.pop(0))
    return sorted(drawn, key=lambda place: place.number)


def wrapped(place, old):
    chosen = f"::timingwheel_mutant::is({place.number})"
    if place.form == "statement":
        return f"{{ if (!{chosen}) {old} }}"
    without = f"::timingwheel_mutant::WithoutHold without{place.number}{{{chosen}}};"
    if place.form == "held":
        return f"{{ {without} {old} }}"
    if place.form == "lock":
        name, lock = re.search(r"(\w+)\s*[{(](.*)[})];", old).groups()
        if HOLD.match(old):
            return f"{without} {old}"
        if "unique_lock" in old:
            return f"auto {name} = ::timingwheel_mutant::held({chosen}, {lock});"
        return f"::timingwheel_mutant::Guard {name}{{{chosen}, {lock}}};"
    kept = f"static_cast<bool>({old})" if place.form == "condition" else f"({old})"
    return f"({chosen} ? ({place.new}) : {kept})"


def rewritten(source, places):
    """The text with all of the places, of which each can be chosen where it runs."""

    def render(start, end, mine):
        done, at = b"", start
        while mine:
            first, *rest = mine
            within = [place for place in rest if place.end <= first.end]
            mine = rest[len(within) :]
            inner = flat(render(first.start, first.end, within))
            done += source[at : first.start] + wrapped(first, inner).encode()
            at = first.end
        return done + source[at:end]

    return render(0, len(source), sorted(places, key=lambda p: (p.start, -p.end, p.number)))
