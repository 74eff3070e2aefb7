# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, read as text: names in namespace `selion` itself, and the names
and defaults of parameters, which the compiler does not compare."""

import re
from functools import cache

from pages import root
from signatures import split_at_commas

_comment = r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*"  # and what the preprocessor reads
_literal = r"\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'"
_not_code = re.compile(f"{_comment}|{_literal}", re.M | re.S)

# Brackets that have none in them: round ones, and others with what may make them a namespace.
_innermost = re.compile(
    r"(?P<round>\([^(){}]*\))|(?P<space>\bnamespace [\w:]*)?\s*\{(?P<body>[^(){}]*)\}"
)
_body = "\N{WHITE SQUARE}"

_type = re.compile(
    r"\b(?:class|struct|union|enum class|enum|concept|using)"
    r"(?: SELION_API| alignas\(\)| \[\[\w+\]\])* (\w+)"
)
_function = re.compile(r"\b(?!(?:requires|noexcept|alignas|decltype|static_assert)\b)(\w+) ?\(\)")
_constant = re.compile(r"\bconstexpr [\w: ]+ (\w+)\b")


def public_headers() -> list[str]:
    """Their texts."""
    paths = sorted((root / "include/selion").glob("*.hpp"))
    return [path.read_text(encoding="utf-8") for path in paths]


def names_in(header: str) -> set[str]:
    """Functions, types, concepts and constants of namespace selion."""
    return {name for each in _statements(header) if (name := _name_of(each))}


def _statements(header: str) -> list[str]:
    """Declarations in namespace selion, with nothing left between their brackets."""
    found: list[str] = []

    def emptied(match: re.Match) -> str:
        if match["round"]:
            return "\N{WHITE CIRCLE}"
        if not match["space"]:
            return _body
        if match["space"] == "namespace selion":
            found.extend(re.split(rf";|{_body}(?!\s*[;,])", match["body"]))
        return ";"

    code, count = _not_code.sub(" ", header), 1
    while count:
        code, count = _innermost.subn(emptied, code)
    return [" ".join(each.replace("\N{WHITE CIRCLE}", "()").split()) for each in found]


def _name_of(declaration: str) -> str:
    """Empty for an operator, and for what declares nothing."""
    text, count = declaration.replace("->", ""), 1
    while count:
        text, count = re.subn(r"<[^<>]*>", "", text)
    if "operator" in text:
        return ""
    found = _type.search(text) or _function.search(text) or _constant.search(text)
    return found[1] if found else ""


@cache
def _all_headers() -> str:
    code = "\n".join(re.sub(_comment, "", text, flags=re.M | re.S) for text in public_headers())
    return " ".join(code.replace("[[maybe_unused]]", "").split())


@cache
def parameter_lists(function: str) -> list[list[tuple[str, str]]]:
    """Names and defaults of each declaration (and each call) of a function, whatever its class. The
    place in the program is left out."""
    code, found = _all_headers(), []
    for match in re.finditer(rf"\b{re.escape(function)} ?\(", code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += (code[end] in "({") - (code[end] in ")}")
            end += 1
        parts = [part.partition(" = ") for part in split_at_commas(code[match.end():end - 1])]
        parameters = [(_last_word(left), default) for left, _, default in parts]
        found.append(parameters[:-1] if parameters[-1:] and parameters[-1][0] == "site"
                     else parameters)
    return found


def takes_any_number(function: str) -> bool:
    """Whether one of its declarations has a parameter pack."""
    pack = rf"\b{re.escape(function)} ?\([^;{{}}]*\.\.\. \w+[,)]"
    return re.search(pack, _all_headers()) is not None


def _last_word(text: str) -> str:
    """The name of a parameter; of one without a name its type."""
    words = re.findall(r"\w+", text)
    return words[-1] if words else ""
