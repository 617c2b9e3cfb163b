# SPDX-License-Identifier: MIT
"""The places of a C file that can be changed, and the file rewritten so that each of them asks at run time whether it
is.

A place is an operator, a condition, a number, a call. In the rewritten file it reads `rw_mutant` (switch.h): with the
place's number there it does the changed thing, with any other the usual one. Operands are evaluated once and in the
same order. What must be constant (sizes of arrays, cases, static data) and what a macro holds is left alone. libclang
tells where expressions begin and end; everything else is text."""

import dataclasses
import re
import sys

try:
    import clang.cindex as cindex
except ImportError:  # a Python that is not Debian's: the module is nothing but Python
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import clang.cindex as cindex
    except ImportError:
        cindex = None

NEEDED = "python3-clang-14"  # Debian's package

COMPARED = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
COMPUTED = {"+": ("-",), "-": ("+",), "*": ("/",), "|": ("&",), "&": ("|",), "<<": (">>",), ">>": ("<<",)}
LOGICAL = {"&&": ("||",), "||": ("&&",)}
ASSIGNED = {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="}
STEPS = {"++": "--", "--": "++"}

HIDDEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"
                    r"\b(?:static_assert|_Static_assert)\([^;]*;", re.S | re.M)
CALL = re.compile(r"(?m)^\t+(?!(?:char|int|void|bool|float|double|u?int\d+_t)\b)"
                  r"([a-z_][\w.>\[\]-]*\([^;{}]*\);)[ \t]*$")
WORDS = re.compile(r"\b(return true|return false|continue|break);")
# What stands beside a comparison, where it has no effects of its own; and what is done with the two.
PLAIN = r"([A-Za-z_][\w.\[\]]*(?:->[\w.\[\]]+)*)"
LEFT = re.compile(r"(?:[(,?:] ?|= |\breturn )" + PLAIN + " $")
RIGHT = re.compile(" " + PLAIN)
CHOSEN = re.compile(rf"\s+\? {PLAIN}\s+: {PLAIN}(?=[;,)])")
DIFFERENCE = re.compile(rf"\s+\? {PLAIN} - {PLAIN}\s+: 0(?=[;,)])")
DIFFERENT = re.compile(rf"if \({PLAIN} != {PLAIN}\)\n\t+return {PLAIN} $")
KEPT = re.compile(rf"\)\n\t+{PLAIN} = {PLAIN};(?!\s*else\b)")
# A comparison of whole elements for qsort(3): where in its return an operator may stand.
SORTED = re.compile(r"\b(\w+) a = \*\(const \1 \*\)left, b = \*\(const \1 \*\)right;\s+return \(a (?:> b\) - \(a )?$")
NUMBER = re.compile(r"[1-9]\d{0,8}")


@dataclasses.dataclass
class Place:
    """text[start:end] becomes `other`."""
    start: int
    end: int
    other: str
    number: int = 0

    def describe(self, text):
        line = text.count("\n", 0, self.start) + 1
        return line, f"{' '.join(text[self.start:self.end].split())!r} -> {' '.join(self.other.split())!r}"

    def changed(self, text):
        return text[:self.start] + self.other + text[self.end:]

    def is_either_of_equals(self, text):
        """`a < b ? a : b`, or `if (a < b) a = b;`, where < becomes <=: of two that are equal either is the same, so
        nobody can tell. Nor behind `if (a != b)`, where they never are; nor does it matter which of two equal numbers
        qsort(3) puts first, and of `a > b ? a - b : 0` both are 0."""
        operator = text[self.start:self.end]
        if {operator, self.other} not in ({"<", "<="}, {">", ">="}):
            return False
        if (SORTED.search(text[:self.start]) and text.startswith((" b) - (a < b);", " b);"), self.end)
            and "bsearch(" not in text):
            return True
        before, behind = LEFT.search(text[:self.start]), RIGHT.match(text, self.end)
        if not before or not behind:
            return False
        compared = {before.group(1), behind.group(1)}
        different = DIFFERENT.search(text[:self.start])
        if (different and text.startswith((" ?", ";"), behind.end())
            and different.group(1, 2, 3) == (before.group(1), behind.group(1), before.group(1))):
            return True
        difference = DIFFERENCE.match(text, behind.end())
        if operator in (">", ">=") and difference and difference.groups() == (before.group(1), behind.group(1)):
            return True
        chosen, kept = CHOSEN.match(text, behind.end()), KEPT.match(text, behind.end())
        return bool(chosen and set(chosen.groups()) == compared or
                    kept and text[:before.start(1)].endswith("if (") and set(kept.groups()) == compared)


@dataclasses.dataclass
class Edit:
    """What stands at text[start:end] in the rewritten file. write(inner) makes it; inner(from, to) is a rewritten
    part."""
    start: int
    end: int
    places: list
    write: object


def blank(text):
    """The code with comments, strings and directives as spaces: positions stay."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def bounds(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


class File:
    """text: bytes as latin-1, so that libclang's positions are indices. `dropped`: lines whose places are not
    wanted."""

    def __init__(self, path, text, arguments, dropped=()):
        self.path, self.text, self.code = path, text, blank(text)
        self.dropped = dropped
        self.edits = []
        unit = cindex.Index.create().parse(str(path), args=arguments,
                                           unsaved_files=[(str(path), text.encode("latin-1"))],
                                           options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        self.errors = [str(one) for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
        own = [cursor for cursor in unit.cursor.get_children()
               if cursor.location.file and cursor.location.file.name == str(path)]
        self.macros = [bounds(cursor) for cursor in own if cursor.kind == cindex.CursorKind.MACRO_INSTANTIATION]
        self.bodies = []
        for cursor in own:
            if cursor.kind == cindex.CursorKind.FUNCTION_DECL and cursor.is_definition():
                for child in cursor.get_children():
                    if child.kind == cindex.CursorKind.COMPOUND_STMT:
                        self.bodies.append(bounds(child))
                        self.visit(child)
        self.find_words()
        self.edits.sort(key=lambda edit: (edit.start, -edit.end))
        self.places = [place for edit in self.edits for place in edit.places]
        for number, place in enumerate(self.places, 1):
            place.number = number

    def add(self, start, end, places, write):
        lines = {self.text.count("\n", 0, at) + 1 for place in places for at in (place.start, place.end)}
        if not lines & set(self.dropped):
            self.edits.append(Edit(start, end, places, write))

    def in_macro(self, *positions):
        return any(start < at < end for start, end in self.macros for at in positions)

    def visit(self, cursor):
        kind, kinds = cursor.kind, cindex.CursorKind
        children = list(cursor.get_children())
        if kind in (kinds.STRUCT_DECL, kinds.UNION_DECL, kinds.ENUM_DECL, kinds.TYPEDEF_DECL, kinds.CXX_UNARY_EXPR,
                    kinds.GENERIC_SELECTION_EXPR,
                    kinds.STATIC_ASSERT, kinds.ASM_STMT):
            return
        if kind == kinds.VAR_DECL:
            # Its name, sizes, and behind "=" its value.
            begin = cursor.location.offset
            children = [child for child in children if "=" in self.code[begin:bounds(child)[0]]]
            if cursor.storage_class == cindex.StorageClass.STATIC:
                return
        if kind == kinds.CASE_STMT:
            children = children[-1:]
        if kind == kinds.BINARY_OPERATOR and len(children) == 2:
            self.binary(*children)
        elif kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR and len(children) == 2:
            self.assignment(*children)
        elif kind == kinds.UNARY_OPERATOR and len(children) == 1:
            self.step(cursor, children[0])
        elif kind == kinds.INTEGER_LITERAL:
            self.number(cursor)
        elif kind == kinds.IF_STMT or kind == kinds.WHILE_STMT:
            self.condition(cursor, children[0])
        elif kind == kinds.DO_STMT:
            self.condition(cursor, children[1])
        for child in children:
            self.visit(child)

    def between(self, first, second):
        """The operator that stands there; None: none that is spelled in this file."""
        (start, end), (other_start, other_end) = bounds(first), bounds(second)
        if not start < end <= other_start < other_end or self.in_macro(start, end, other_start, other_end):
            return None
        return self.code[end:other_start].strip()

    @staticmethod
    def is_pointer(cursor):
        kinds = cindex.TypeKind
        return (cursor.type.get_canonical().kind in (kinds.POINTER, kinds.CONSTANTARRAY, kinds.INCOMPLETEARRAY,
                                                     kinds.VARIABLEARRAY))

    @staticmethod
    def is_bit_field(cursor):
        while cursor.kind in (cindex.CursorKind.UNEXPOSED_EXPR, cindex.CursorKind.PAREN_EXPR):
            cursor = next(cursor.get_children(), None)
            if cursor is None:
                return False
        return (cursor.kind == cindex.CursorKind.MEMBER_REF_EXPR and cursor.referenced is not None
                and cursor.referenced.is_bitfield())

    def operand(self, cursor):
        """Before what may be a bit-field, whose type a variable cannot have: what it is promoted to is the same."""
        return "+" if self.is_bit_field(cursor) else ""

    def binary(self, first, second):
        operator = self.between(first, second)
        others = COMPARED.get(operator) or COMPUTED.get(operator) or LOGICAL.get(operator)
        if not others:
            return
        if (operator == "+" and self.is_pointer(second) or operator == "-" and self.is_pointer(first)
            and self.is_pointer(second)):
            return  # no other operator takes these
        (start, end), (other_start, other_end) = bounds(first), bounds(second)
        at = self.code.index(operator, end)
        places = [Place(at, at + len(operator), other) for other in others]
        if operator in LOGICAL:
            def write(inner):
                differs = "!=" if operator == "&&" else "=="
                return (f"({{ _Bool rw_a{places[0].number} = !!({inner(start, end)}); (rw_a{places[0].number} "
                        f"{differs} RW_MUTANT({places[0].number})) ? "
                        f"!!({inner(other_start, other_end)}) : rw_a{places[0].number}; }})")
        else:
            def write(inner):
                a, b = f"rw_a{places[0].number}", f"rw_b{places[0].number}"
                changed = "".join(f"RW_MUTANT({place.number}) ? {a} {place.other} {b} : " for place in places)
                return (f"({{ __auto_type {a} = {self.operand(first)}({inner(start, end)}); "
                        f"__auto_type {b} = {self.operand(second)}({inner(other_start, other_end)}); {changed}{a} "
                        f"{operator} {b}; }})")
        self.add(start, other_end, places, write)

    def assignment(self, first, second):
        operator = self.between(first, second)
        if operator not in ASSIGNED:
            return
        (start, end), (other_start, other_end) = bounds(first), bounds(second)
        at = self.code.index(operator, end)
        place = Place(at, at + len(operator), ASSIGNED[operator])
        value = "(void)" if "_Atomic" in first.type.spelling else ""  # clang has no value of the two that are atomic

        def write(inner):
            what = inner(start, end)
            return (f"({{ __auto_type rw_b{place.number} = {self.operand(second)}({inner(other_start, other_end)}); "
                    f"RW_MUTANT({place.number}) ? "
                    f"{value}({what} {place.other} rw_b{place.number}) : {value}({what} {operator} "
                    f"rw_b{place.number}); }})")
        self.add(start, other_end, [place], write)

    def step(self, cursor, operand):
        (start, end), (inner_start, inner_end) = bounds(cursor), bounds(operand)
        if not start <= inner_start < inner_end <= end or self.in_macro(start, end, inner_start, inner_end):
            return
        before, after = self.code[start:inner_start].strip(), self.code[inner_end:end].strip()
        operator = before or after
        if operator not in STEPS or before and after:
            return
        at = self.code.index(operator, start if before else inner_end)
        place = Place(at, at + 2, STEPS[operator])

        def write(inner):
            what = inner(inner_start, inner_end)
            usual, other = (f"{operator}{what}", f"{place.other}{what}") if before else (f"{what}{operator}",
                                                                                         f"{what}{place.other}")
            return f"(RW_MUTANT({place.number}) ? {other} : {usual})"
        self.add(start, end, [place], write)

    def number(self, cursor):
        start, end = bounds(cursor)
        if (self.in_macro(start, end) or not NUMBER.fullmatch(self.code[start:end])
            or re.match(r"\s*\]\s*=[^=]", self.code[end:])):
            return
        place = Place(start, end, str(int(self.code[start:end]) + 1))
        self.add(start, end, [place], lambda inner: f"({self.code[start:end]} + RW_MUTANT({place.number}))")

    def condition(self, statement, cursor):
        start, end = bounds(cursor)
        if (not re.match(r"(if|while|do)\b", self.code[bounds(statement)[0]:]) or start >= end
            or self.in_macro(start, end)):
            return
        place = Place(start, end, f"!({self.text[start:end]})")
        self.add(start, end, [place], lambda inner: f"RW_MUTANT({place.number}) != !!({inner(start, end, True)})")

    def find_words(self):
        for start, end in self.bodies:
            for match in CALL.finditer(self.code, start, end):
                self.call(*match.span(1))
            for match in WORDS.finditer(self.code, start, end):
                self.word(match)

    def call(self, start, end):
        before = self.code[:start].rstrip()
        if not before.endswith((";", "{", "}", ")", ":")) and not re.search(r"\b(else|do)$", before):
            return  # the end of a longer expression
        place = Place(start, end, ";")
        self.add(start, end, [place], lambda inner: f"{{ if (!RW_MUTANT({place.number})) {inner(start, end, True)} }}")

    def word(self, match):
        start, end = match.span()
        if self.in_macro(start, end):
            return
        written = {"return true": ("return false;", "return !RW_MUTANT({0});"),
                   "return false": ("return true;", "return RW_MUTANT({0});"),
                   "continue": ("break;", "{{ if (RW_MUTANT({0})) break; continue; }}"),
                   "break": (";", "{{ if (!RW_MUTANT({0})) break; }}")}
        other, rewritten = written[match.group(1)]
        place = Place(start, end, other)
        self.add(start, end, [place], lambda inner: rewritten.format(place.number))

    def rewritten(self, header):
        """The file that asks; header: of switch.h, where it lies."""
        count = len(self.edits)

        def part(start, end, begin):
            """text[start:end], with the edits from number `begin` on that lie in it."""
            out, at, index = [], start, begin
            while index < count and self.edits[index].start < end:
                edit = self.edits[index]
                if edit.start < at or edit.end > end:
                    index += 1
                    continue
                out.append(self.text[at:edit.start])
                out.append(edit.write(lambda a, b, whole=False, own=index: part(a, b, own + 1)))
                at = edit.end
                index += 1
            return "".join(out) + self.text[at:end]

        return f'#include "{header}"\n#line 1 "{self.path}"\n' + part(0, len(self.text), 0)
