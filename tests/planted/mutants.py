"""Small mistakes that nobody thought of: found in C++ sources, drawn by lot, compiled in together.

A place is a piece of the syntax tree and what might stand there instead. `rewritten` puts the drawn
ones into the text so that a process says which of them it makes: `a < b` becomes
`(is(17) ? (a <= b) : (a < b))`. What must be known while compiling is left alone.
"""

import random
import re
from dataclasses import dataclass, field

import tree_sitter
import tree_sitter_cpp

KINDS = ["condition", "comparison", "statement", "off by one", "arithmetic", "wrong member",
         "wrong state", "memory order", "lock"]  # fmt: skip

# Where the compiler has to know the value, or where a mistake would be none of the library's.
FIXED = {"static_assert_declaration", "template_argument_list", "enumerator", "enumerator_list",
         "noexcept", "requires_clause", "concept_definition", "alignas_qualifier", "decltype",
         "array_declarator", "bitfield_clause", "template_parameter_list", "attribute_declaration",
         "preproc_def", "preproc_function_def", "preproc_include", "preproc_if", "preproc_elif",
         "sizeof_expression", "alignof_expression", "requires_expression",
         "constraint_conjunction", "friend_declaration", "using_declaration",
         "default_method_clause"}  # fmt: skip
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|",
         "|": "&"}  # fmt: skip
CONTROL = {"if_statement", "while_statement", "for_statement", "do_statement"}
# Orders that are weaker, and allowed for all that had the stronger one.
WEAKER = {"acquire": ["relaxed"], "release": ["relaxed"], "acq_rel": ["relaxed"],
          "seq_cst": ["relaxed"]}  # fmt: skip
LITERAL = re.compile(rb"[0-9][0-9']*(?:[uU]?[lL]{0,2})$")
UNSEEN = re.compile(rb"\bTIMINGWHEEL_(?:EXPORT|NO_INLINE|API)\b|\[\[\w+\]\]")
CHECK = re.compile(r"\b(?:check(?!ed)\w*|broken)\(")
STREAMED = re.compile(r"\"|^(?:out|message|stream)\b|std::to_string")
LOCKS = re.compile(r"^(?:std::(?:lock_guard|unique_lock|scoped_lock)|Section)\b")


@dataclass
class Place:
    """What might stand there instead: several things, of which one is drawn."""

    file: str
    kind: str
    start: int
    end: int
    line: int
    old: str
    choices: list
    form: str = "expression"
    new: str = ""
    number: int = 0  # among all places of these sources
    at: str = ""  # the line where it begins

    def text(self):
        new = f" -> {self.new}" if self.new else ""
        what = {"statement": "left out: ", "lock": "not held: "}.get(self.form, "")
        return f"{what}{self.old}{new}"


def flat(text):
    """On one line, without comments."""
    if isinstance(text, bytes):
        text = text.decode()
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip()


def parsed(source):
    """The tree; what would confuse the parser is blank for it. An `#else` is not looked into."""
    def blank(match):
        return re.sub(rb"[^\n]", b" ", match.group(0))

    source = re.sub(rb"^#else.*?^#endif", blank, source, flags=re.DOTALL | re.MULTILINE)
    source = re.sub(rb"^[ ]*#.*$", blank, UNSEEN.sub(blank, source), flags=re.MULTILINE)
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language())).parse(source)


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def value(node):
    return flat(node.text)


@dataclass
class Names:
    """Members that have one type, and enumerators of one enumeration: each instead of another."""

    members: dict = field(default_factory=dict)  # class -> name -> type
    states: dict = field(default_factory=dict)  # enumeration -> names

    def read(self, tree):
        for node in walk(tree.root_node):
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if name is None or body is None:
                continue
            if node.type in ("class_specifier", "struct_specifier"):
                mine = self.members.setdefault(value(name).split("::")[-1].split("<")[0], {})
                for member in body.named_children:
                    self.readMember(member, mine)
            elif node.type == "enum_specifier":
                self.states[value(name).split("::")[-1]] = [
                    value(e.child_by_field_name("name"))
                    for e in body.named_children if e.type == "enumerator"]  # fmt: skip

    def readMember(self, member, mine):
        kind = member.child_by_field_name("type")
        if member.type != "field_declaration" or kind is None:
            return
        words = [value(c) for c in member.children if c.type in
                 ("storage_class_specifier", "type_qualifier")]  # fmt: skip
        if "static" in words:
            return
        for declarator in member.children_by_field_name("declarator"):
            stars = ""
            while declarator.type in ("pointer_declarator", "array_declarator"):
                stars += declarator.type[0]
                inner = declarator.child_by_field_name("declarator")
                declarator = inner or declarator.children[-1]
            if declarator.type == "field_identifier":
                mine[value(declarator)] = " ".join([*sorted(words), value(kind), stars])

    def siblings(self, name, scope):
        homes = [c for c in self.members if name in self.members[c]]
        if scope in homes:
            homes = [scope]
        if len(homes) != 1:
            return []
        mine = self.members[homes[0]]
        return [other for other in mine if other != name and mine[other] == mine[name]]


def scopeOf(node):
    """The class whose function, or whose body, the node is in."""
    while node is not None:
        if node.type == "function_definition":
            declarator = node.child_by_field_name("declarator")
            match = re.match(r"[^(]*?(\w+)::~?\w+\s*\(", value(declarator)) if declarator else None
            if match:
                return match.group(1)
        if node.type in ("class_specifier", "struct_specifier"):
            name = node.child_by_field_name("name")
            return value(name).split("::")[-1] if name else ""
        node = node.parent
    return ""


def isFixed(node):
    if node.type in FIXED or node.type == "ERROR":
        return True
    if node.type in ("declaration", "field_declaration", "function_definition"):
        words = [value(c) for c in node.children if c.type in
                 ("type_qualifier", "storage_class_specifier")]  # fmt: skip
        if node.type != "function_definition" and "constexpr" in words:
            return True
        return node.type == "function_definition" and "consteval" in words
    if node.type == "call_expression":
        return value(node.child_by_field_name("function")) in ("assert", "static_assert")
    return False


def isCheck(node):
    """checkInvariants() and what it calls, like an assertion, is no part of what timers do."""
    if node.type != "function_definition":
        return False
    return CHECK.search(value(node.child_by_field_name("declarator"))) is not None


class Finder:
    """The places of a file."""

    def __init__(self, file, source, names):
        self.file, self.source, self.names = file, source, names
        self.places = []
        self.visit(parsed(source).root_node)

    def add(self, kind, node, choices, form="expression"):
        text = self.source[node.start_byte:node.end_byte]
        if choices and b"\n#" not in text:
            row = node.start_point[0]
            self.places.append(Place(self.file, kind, node.start_byte, node.end_byte, row + 1,
                                     flat(text), choices, form,
                                     at=flat(self.source.split(b"\n")[row])))  # fmt: skip

    def visit(self, node):
        if isFixed(node) or isCheck(node):
            return
        visitor = getattr(self, "visit_" + node.type, None)
        if visitor:
            visitor(node)
        if node.type in CONTROL:
            self.control(node)
        skipped = None
        if node.type == "case_statement":
            skipped = node.child_by_field_name("value")
        if node.type == "if_statement" and any(c.type == "constexpr" for c in node.children):
            skipped = node.child_by_field_name("condition")
        for child in node.children:
            if child != skipped:
                self.visit(child)

    def control(self, node):
        if any(c.type == "constexpr" for c in node.children):
            return
        condition = node.child_by_field_name("condition")
        if condition is not None and condition.type == "condition_clause":
            condition = condition.child_by_field_name("value")
        if condition is not None and condition.type == "parenthesized_expression":
            condition = condition.named_children[0]
        if condition is None or condition.type in ("declaration", "condition_declaration"):
            return
        if condition.type in ("true", "false"):
            return
        choices = ["false"]
        if node.type == "if_statement":
            choices = ["true", "false", f"!({value(condition)})"]
        self.add("condition", condition, choices, "condition")

    def visit_conditional_expression(self, node):
        condition = node.child_by_field_name("condition")
        self.add("condition", condition, [f"!({value(condition)})"], "condition")

    def visit_binary_expression(self, node):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = value(node.child_by_field_name("operator"))
        a, b = value(left), value(right)
        if operator in BOUNDARY:
            self.add("comparison", node, [f"{a} {BOUNDARY[operator]} {b}"])
        elif operator in ("&&", "||"):
            other = "||" if operator == "&&" else "&&"
            self.add("condition", node, [a, b, f"({a}) {other} ({b})"], "condition")
        elif STREAMED.search(value(node)):
            pass
        elif operator in ("+", "-") and right.type == "number_literal":
            self.add("off by one", node, [a])
        elif operator in OTHER and "literal" not in left.type + right.type + "x":
            self.add("arithmetic", node, [f"{a} {OTHER[operator]} {b}"])
        elif operator in ("*", "/", "%", "&", "|"):
            self.add("arithmetic", node, [f"{a} {OTHER[operator]} {b}"])

    def visit_unary_expression(self, node):
        operand = node.child_by_field_name("argument")
        operator = value(node.child_by_field_name("operator"))
        if operator in ("!", "not"):
            self.add("condition", node, [value(operand)], "condition")
        elif operator == "-" and operand.type != "number_literal":
            self.add("arithmetic", node, [value(operand)])

    def visit_number_literal(self, node):
        if not LITERAL.match(node.text) or node.parent.type == "subscript_argument_list":
            return
        parent = node.parent
        if re.search(rb"\bvirtual\b.*= 0;$", self.source.split(b"\n")[node.start_point[0]]):
            return
        if parent.type == "binary_expression" and \
                value(parent.child_by_field_name("operator")) in ("+", "-", "<<", ">>"):
            return  # has a place of its own
        digits = re.match(r"[0-9']+", value(node)).group(0)
        number, rest = int(digits.replace("'", "")), value(node)[len(digits):]
        self.add("off by one", node, [f"{n}{rest}" for n in (number + 1, number - 1) if n >= 0])

    def visit_true(self, node):
        self.add("condition", node, ["false"])

    def visit_false(self, node):
        self.add("condition", node, ["true"])

    def visit_expression_statement(self, node):
        inner = node.named_children[0] if node.named_children else None
        if inner is None or inner.type not in ("call_expression", "assignment_expression",
                                               "update_expression", "delete_expression",
                                               "co_await_expression"):  # fmt: skip
            return
        if re.match(r"static_cast<void>|assert\b|static_assert\b", value(node)):
            return
        self.add("statement", node, [""], "statement")

    def visit_return_statement(self, node):
        if not node.named_children:
            self.add("statement", node, [""], "statement")

    def visit_continue_statement(self, node):
        self.add("statement", node, [""], "statement")

    def visit_break_statement(self, node):
        up = node.parent
        while up is not None and up.type not in CONTROL | {"for_range_loop", "switch_statement",
                                                           "case_statement"} - {"if_statement"}:
            up = up.parent
        if up is not None and "loop" in up.type + "loop" and up.type not in ("case_statement",
                                                                            "switch_statement"):
            self.add("statement", node, [""], "statement")

    def visit_call_expression(self, node):
        function = value(node.child_by_field_name("function"))
        arguments = node.child_by_field_name("arguments")
        if function in ("std::min", "std::max"):
            other = "std::max" if function == "std::min" else "std::min"
            self.add("comparison", node, [other + value(arguments)])
        orders = list(re.finditer(r"std::memory_order_(\w+)", value(arguments)))
        if orders and "memory_order" in value(arguments).split("(", 1)[1]:
            self.orders(node, value(node))

    def orders(self, node, text):
        if any("memory_order" in value(call) for argument in node.child_by_field_name("arguments")
               .children for call in walk(argument) if call.type == "call_expression"):
            return  # an inner call has it
        choices = [text[:m.start(1)] + weaker + text[m.end(1):]
                   for m in re.finditer(r"std::memory_order_(\w+)", text)
                   for weaker in WEAKER.get(m.group(1), [])]  # fmt: skip
        self.add("memory order", node, choices)

    def member(self, node, base=""):
        others = self.names.siblings(value(node), scopeOf(node))
        return [base + other for other in others]

    def visit_identifier(self, node):
        if node.parent.type in ("function_declarator", "init_declarator", "parameter_declaration",
                                "field_initializer", "qualified_identifier", "declaration",
                                "designated_initializer", "optional_parameter_declaration"):
            if node.parent.type != "init_declarator" or \
                    node.parent.child_by_field_name("declarator") == node:
                return
        if value(node).endswith("_"):
            self.add("wrong member", node, self.member(node))

    def visit_field_expression(self, node):
        name = node.child_by_field_name("field")
        if node.parent.type == "call_expression" and \
                node.parent.child_by_field_name("function") == node:
            return
        if name.type == "field_identifier":
            base = value(node)[: -len(value(name))]
            if base == "this->" or not value(name).endswith("_"):
                others = [o for o in self.member(name, base)
                          if base == "this->" or not o.endswith("_")]  # fmt: skip
                self.add("wrong member", node, others)

    def visit_qualified_identifier(self, node):
        scope, _, name = value(node).rpartition("::")
        if node.parent.type in ("qualified_identifier", "case_statement"):
            return
        states = self.names.states.get(scope.split("::")[-1], [])
        if name in states:
            self.add("wrong state", node, [f"{scope}::{s}" for s in states if s != name])

    def visit_declaration(self, node):
        kind = node.child_by_field_name("type")
        declarator = node.child_by_field_name("declarator")
        if kind is None or declarator is None or not LOCKS.match(value(kind)):
            return
        if declarator.type != "init_declarator":
            return
        initial = declarator.child_by_field_name("value")
        if initial is not None and len(initial.named_children) == 1:
            self.add("lock", node, [""], "lock")


# ---- drawing -----------------------------------------------------------------------------------


def find(sources):
    """All places, numbered; `sources` is file -> bytes."""
    names = Names()
    for source in sources.values():
        names.read(parsed(source))
    places = [place for file, source in sorted(sources.items())
              for place in Finder(file, source, names).places]  # fmt: skip
    for number, place in enumerate(places, 1):
        place.number = number
    return places


def ordered(places, seed):
    """For each kind its places in the order in which they are drawn: a beginning of it has of each
    file about as many as its share is, and one change is chosen for each."""
    result = {}
    for kind in KINDS:
        lot = random.Random(f"{seed} {kind}")
        byFile = {}
        for place in places:
            if place.kind == kind:
                byFile.setdefault(place.file, []).append(place)
        ranks = []
        for mine in byFile.values():
            lot.shuffle(mine)
            for index, place in enumerate(mine):
                place.new = lot.choice(place.choices)
                ranks.append(((index + lot.random()) / len(mine), place))
        result[kind] = [place for _, place in sorted(ranks, key=lambda rank: rank[0])]
    return result


def shares(count, sizes):
    """`count` in equal parts over the kinds; what one has too few for goes to the others."""
    parts = dict.fromkeys(sizes, 0)
    while sum(parts.values()) < min(count, sum(sizes.values())):
        kind = min((k for k in parts if parts[k] < sizes[k]), key=lambda k: parts[k])
        parts[kind] += 1
    return parts


def draw(order, count, dropped=frozenset()):
    """So many mutants, by their numbers; `dropped` has those of the places that do not compile."""
    usable = {kind: [p for p in mine if p.number not in dropped] for kind, mine in order.items()}
    parts = shares(count, {kind: len(mine) for kind, mine in usable.items()})
    return sorted((p for kind, mine in usable.items() for p in mine[: parts[kind]]),
                  key=lambda place: place.number)  # fmt: skip


# ---- rewriting ---------------------------------------------------------------------------------


def wrapped(place, text):
    chosen = f"::timingwheel_mutant::is({place.number})"
    if place.form == "statement":
        return f"{{ if (!{chosen}) {text} }}"
    if place.form == "lock":
        name, lock = re.search(r"(\w+)\s*[{(](.*)[})];", text).groups()
        if text.startswith("Section"):
            return f"::timingwheel_mutant::WithoutSection without{place.number}{{{chosen}}}; {text}"
        if "unique_lock" in text:
            return f"auto {name} = ::timingwheel_mutant::held({chosen}, {lock});"
        return f"::timingwheel_mutant::Guard {name}{{{chosen}, {lock}}};"
    old = f"static_cast<bool>({text})" if place.form == "condition" else f"({text})"
    return f"({chosen} ? ({place.new}) : {old})"


def rewritten(source, places):
    """The text with all of the places, of which each can be chosen where it runs."""
    inner = sorted(places, key=lambda p: (p.start, -p.end, p.number))

    def render(start, end, mine):
        text, at = "", start
        while mine:
            first = mine[0]
            within = [p for p in mine[1:] if p.end <= first.end]
            mine = mine[1 + len(within):]
            text += source[at:first.start].decode()
            text += wrapped(first, flat(render(first.start, first.end, within)))
            at = first.end
        return text + source[at:end].decode()

    return render(0, len(source), inner)
