# SPDX-License-Identifier: Apache-2.0
"""What a page of the documentation declares in C++, statement by statement.

    <!-- declarations -->     the block behind this mark holds declarations, simplified in the ways
    ```text                   that the page tells. What it cannot read ends in `Unreadable`.

A comment with `NAME<T>` behind the declaration of NAME says which template arguments it takes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pages import Page

mark = "declarations"


class Unreadable(Exception):
    """Says which line of which page."""


@dataclass(frozen=True)
class Text:
    """A part of a page."""

    page: str
    line: int
    text: str

    def part(self, start: int, end: int) -> "Text":
        skipped = len(self.text[start:end]) - len(self.text[start:end].lstrip())
        line = self.line + self.text.count("\n", 0, start + skipped)
        return Text(self.page, line, self.text[start:end].strip())

    @property
    def in_one_line(self) -> str:
        return " ".join(self.text.split())

    def unreadable(self) -> Unreadable:
        return Unreadable(f"{self.page}:{self.line}: not understood: {self.in_one_line}")


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str  # empty for those of a type that is there to be told from others
    default: str


@dataclass(frozen=True)
class Function:
    """Also a constructor, whose result is empty, and a conversion, whose name is `operator T`."""

    place: Text
    result: str
    name: str
    parameters: list[Parameter]
    letters: str = ""  # template arguments that a call must spell: <T>
    is_const: bool = False
    is_of_rvalues: bool = False  # && behind it
    is_static: bool = False
    is_explicit: bool = False


@dataclass(frozen=True)
class Field:
    place: Text
    type: str
    name: str
    default: str


@dataclass(frozen=True)
class Enumeration:
    place: Text
    name: str
    underlying: str
    values: list[str]


@dataclass(frozen=True)
class Alias:
    place: Text
    name: str
    letters: str
    type: str


@dataclass(frozen=True)
class Class:
    place: Text
    name: str
    letters: str  # of its template parameters: <T, N>
    base: str
    members: list["Declaration"]

    @property
    def fields(self) -> list[Field]:
        return [member for member in self.members if isinstance(member, Field)]


Declaration = Function | Field | Enumeration | Alias | Class


def marked_blocks(page: Page) -> list[Text]:
    """Code behind the mark; comments are still in it."""
    found, position = [], 0
    for block in page.blocks:
        start = f"```{block.language}\n"
        position = page.text.index(start + block.text, position) + len(start)
        if block.mark == mark:
            line = page.text.count("\n", 0, position) + 1
            found.append(Text(page.name, line, block.text))
    return found


def unmarked_signatures(page: Page) -> list[str]:
    """First lines of blocks that the compiler sees neither as declarations nor as a fragment: such
    a block has no other use on this page."""
    return [
        block.text.partition("\n")[0]
        for block in page.blocks
        if block.mark != mark and block.language not in ("cpp", "console")
    ]


def declarations(block: Text) -> list[Declaration]:
    code = re.sub(r"//[^\n]*", "", block.text)
    return _declarations(Text(block.page, block.line, code), _spelled_letters(block))


def _spelled_letters(block: Text) -> dict[tuple[int, str], str]:
    """What comments say, by line and name."""
    return {
        (line, name): letters
        for line, text in enumerate(block.text.splitlines(), block.line)
        for name, letters in re.findall(r"\b(\w+)(<\w+>)(?=\(|$)", text.partition("//")[2])
    }


def _statements(code: Text) -> Iterator[Text]:
    start = depth = 0
    for position, letter in enumerate(code.text):
        depth += (letter in "{(") - (letter in "})")
        if letter == ";" and depth == 0:
            yield code.part(start, position)
            start = position + 1
    rest = code.part(start, len(code.text))
    if rest.text:
        raise rest.unreadable()


_class = re.compile(
    r"(?:template <(?P<letters>[^>]*)> )?(?:class|struct) (?P<name>\w+)"
    r"(?: : public (?P<base>[\w:]+))? \{(?P<body>.*)\}",
    re.S,
)
_enumeration = re.compile(
    r"enum (?:class )?(?P<name>\w+)(?: : (?P<underlying>[\w:]+))? \{ (?P<values>\w+(?:, \w+)*) \}"
)
_alias = re.compile(r"using (?P<name>\w+) = (?P<type>.+)")
_function = re.compile(
    r"(?:template <class\.\.\. Args> )?(?P<static>static )?(?P<explicit>explicit )?"
    r"(?:(?P<result>[\w:<>,&* ]*?[ &*]))??(?P<name>operator\(\)|operator(?: [\w:]+|[^\w\s(]+)|\w+)"
    r"\((?P<parameters>.*)\)(?P<const> const)?(?P<rvalue> &&)?"
)
_fields = re.compile(
    r"(?!(?:class|struct|enum|union) )(?P<type>[\w:<>,* ]*?[\w>*]) (?P<names>\w+(?:, \w+)*)"
    r"(?: = (?P<default>.+))?"
)
_function_pointer = re.compile(
    r"(?P<left>[\w ]+\(\*)(?P<name>\w+)(?P<right>\)\([\w:,&* ]*\))(?: = (?P<default>.+))?"
)
_parameter = re.compile(r"(?P<type>.*?[ &*])(?P<name>\w+)(?: = (?P<default>.+))?")
_tags = ("as_future_t", "std::nullptr_t")  # parameters without a name


def _declarations(code: Text, spelled: dict[tuple[int, str], str]) -> list[Declaration]:
    found: list[Declaration] = []
    for place in _statements(code):
        text = place.in_one_line
        if match := _class.fullmatch(place.text):
            members = _declarations(place.part(*match.span("body")), spelled)
            letters = re.findall(r"(\w+)(?: = \w+)?(?:,|$)", match["letters"] or "")
            arguments = f"<{', '.join(letters)}>" if letters else ""
            found.append(Class(place, match["name"], arguments, match["base"] or "", members))
        elif match := _enumeration.fullmatch(text):
            values = match["values"].split(", ")
            found.append(Enumeration(place, match["name"], match["underlying"] or "", values))
        elif match := _alias.fullmatch(text):
            letters = spelled.get((place.line, match["name"]), "")
            found.append(Alias(place, match["name"], letters, match["type"]))
        elif match := _function_pointer.fullmatch(text):
            found.append(Field(place, match["left"] + match["right"], match["name"],
                               match["default"] or ""))
        elif match := _function.fullmatch(text):
            found.append(_read_function(place, match, spelled))
        elif match := _fields.fullmatch(text):
            found += [Field(place, match["type"], name, match["default"] or "")
                      for name in match["names"].split(", ")]
        else:
            raise place.unreadable()
    return found


def _read_function(place: Text, match: re.Match, spelled: dict[tuple[int, str], str]) -> Function:
    return Function(
        place, (match["result"] or "").strip(), match["name"],
        [_read_parameter(place, text) for text in split_at_commas(match["parameters"])],
        letters=spelled.get((place.line, match["name"]), ""),
        is_const=bool(match["const"]), is_of_rvalues=bool(match["rvalue"]),
        is_static=bool(match["static"]), is_explicit=bool(match["explicit"]),
    )


def _read_parameter(place: Text, text: str) -> Parameter:
    if text in _tags:
        return Parameter(text, "", "")
    match = _parameter.fullmatch(text)
    if not match:
        raise place.unreadable()
    return Parameter(match["type"].strip(), match["name"], match["default"] or "")


def split_at_commas(parameters: str) -> list[str]:
    """At commas that are not within brackets."""
    found, depth = [""], 0
    for letter in parameters:
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [text.strip() for text in found if text.strip()]


def functions_of(declared: list[Declaration]) -> list[Function]:
    """With those of classes."""
    found: list[Function] = []
    for each in declared:
        if isinstance(each, Function):
            found.append(each)
        elif isinstance(each, Class):
            found += functions_of(each.members)
    return found
