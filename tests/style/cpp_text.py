# SPDX-License-Identifier: Apache-2.0
"""As much C++ as the style checks need: text without comments and strings, braces and what they
open. It reads code that clang-format has laid out; macros that open braces are beyond it."""

import re
from dataclasses import dataclass

_blanked = re.compile(
    r'R"(?P<mark>[^()\\\s]{0,16})\((?:.|\n)*?\)(?P=mark)"'  # raw strings
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'"  # characters, not digit separators
    r"|//[^\n]*"
    r"|/\*(?:.|\n)*?\*/"
)


def blank(text: str) -> str:
    """The text with comments, strings and preprocessor lines replaced by spaces: same lines and
    columns."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    without = _blanked.sub(spaces, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, without, flags=re.M)


@dataclass(frozen=True)
class Block:
    """What one pair of braces holds. `kind` is namespace, type, function, control or other."""

    kind: str
    head: str  # the text before the brace, back to the last ; { or }
    first_line: int  # where the head begins
    last_line: int
    parents: tuple[str, ...]  # kinds, outermost first

    @property
    def lines(self) -> int:
        return self.last_line - self.first_line + 1

    @property
    def name(self) -> str:
        found = re.search(r"([\w:~]+)\s*\(", self.head)
        return found.group(1) if found else self.head.strip()


_type_head = re.compile(r"(^|\s)(class|struct|union|enum)\s[^()]*$")
_control_head = re.compile(r"^\W*(\}\s*)?(else\b|if\b|for\b|while\b|do\b|switch\b|try\b|catch\b)")


def _kind(head: str, parents: list[str]) -> str:
    head = head.strip()
    if re.match(r"(inline\s+)?namespace\b|extern\s*$", head):
        return "namespace"
    if _control_head.match(head):
        return "control"
    inside_function = "function" in parents
    # `template <class T>` is no type's head; a requires clause may hold anything.
    bare = re.sub(r"template\s*<[^{}]*?>\s*(?=\w)", "", head)
    bare = re.sub(r"\balignas\s*\([^()]*\)", "", bare)
    if _type_head.search(bare) and not bare.endswith("="):
        return "type"
    if "(" in head and not inside_function and not re.search(r"=\s*$", head):
        return "function"
    return "other"


def blocks(text: str) -> list[Block]:
    """All pairs of braces, in the order in which they close."""
    found: list[Block] = []
    open_blocks: list[tuple[str, str, int]] = []
    head_start = 0
    parentheses = 0
    code = blank(text)
    line_starts = [0] + [match.end() for match in re.finditer("\n", code)]

    def line_of(position: int) -> int:
        low, high = 0, len(line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if line_starts[middle] <= position else (low, middle)
        return low + 1

    for position, letter in enumerate(code):
        if letter in "()":
            parentheses += 1 if letter == "(" else -1
        elif letter == "{":
            head = code[head_start:position]
            lead = len(head) - len(head.lstrip())
            if re.search(r"[\w>\]]$", head):  # `member{0}`: an initialiser within a statement
                open_blocks.append(("initialiser", "", line_of(position)))
                continue
            kind = _kind(head, [kind for kind, _, _ in open_blocks])
            open_blocks.append((kind, " ".join(head.split()), line_of(head_start + lead)))
            head_start = position + 1
        elif letter == "}" and open_blocks:
            kind, head, first = open_blocks.pop()
            if kind == "initialiser":
                continue
            parents = tuple(kind for kind, _, _ in open_blocks)
            found.append(Block(kind, head, first, line_of(position), parents))
            head_start = position + 1
        elif letter == ";" and parentheses == 0:
            head_start = position + 1
    return found


def functions(text: str) -> list[Block]:
    """Functions that are not within another one."""
    return [block for block in blocks(text) if block.kind == "function"]


def deepest_nesting(text: str) -> list[tuple[Block, int]]:
    """Blocks of control (if, for, ...) that lie within more than other such blocks, with depth."""
    return [
        (block, block.parents.count("control") + 1)
        for block in blocks(text)
        if block.kind == "control"
    ]


def outside_functions(text: str) -> list[tuple[int, str]]:
    """Statements at namespace scope that open no brace: line and text."""
    code = list(blank(text))
    lines = "".join(code).split("\n")
    for block in blocks(text):
        if block.kind == "namespace":
            continue
        for number in range(block.first_line, block.last_line + 1):
            if "namespace" not in lines[number - 1]:
                lines[number - 1] = ""
    found = []
    statement, first = "", 0
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*((inline )?namespace\b.*\{|\})", line):
            statement = ""
            continue
        if not statement.strip():
            first = number
        statement += " " + line.strip()
        if line.rstrip().endswith(";"):
            found.append((first, statement.strip()))
            statement = ""
    return found
