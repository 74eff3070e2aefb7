# SPDX-License-Identifier: Apache-2.0
"""Every ordered atomic access in src/ and include/ names its partner.

The rule: a statement that contains memory_order_{acquire,release,acq_rel,seq_cst,consume} (or
memory_order::..., or __ATOMIC_...) has a tag `[room.name]` in a comment: on its line, on an earlier
line of the statement, or in the block of comments right above the statement, as in

    // release: publishes the payload; pairs with [ring.head]

Each tag belongs to at least two ordered accesses: both ends. Relaxed accesses need no tag. An
atomic access without an order (`flag.load()`) is seq_cst without a reason, and a fault. Prose notes
(*.md) do not count as an end.
"""

import re
from collections import Counter

from cpp_text import blank
from project_files import cpp_files, read

_order = re.compile(
    r"memory_order(?:_|::)(acquire|release|acq_rel|seq_cst|consume)\b"
    r"|__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST|CONSUME)\b"
)
_tag = re.compile(r"\[([a-z_]+\.[a-z0-9_]+)\]")
_orderless = re.compile(
    r"(?:\.|->)(?:load\(\)"
    r"|(?:fetch_(?:add|sub|or|and|xor)|exchange|compare_exchange_\w+)\((?!.*order).*\))"
)


def _explained_by(lines: list[str], code: list[str], number: int) -> str:
    """The comments that belong to the statement around line `number` (from 0)."""
    first = number
    while first > 0 and code[first - 1].strip() and not re.search(r"[;{}:]\s*$", code[first - 1]):
        first -= 1
    above = first
    while above > 0 and lines[above - 1].strip().startswith("//"):
        above -= 1
    own = [line[line.find("//") :] for line in lines[first : number + 1] if "//" in line]
    return "\n".join(lines[above:first] + own)


def faults_in(name: str, text: str) -> list[str]:
    lines, code = text.split("\n"), blank(text).split("\n")
    faults = []
    for number, line in enumerate(code):
        place = f"{name}:{number + 1}"
        if _orderless.search(line):
            faults.append(f"{place}: an atomic access without an order")
        if not _order.search(line):
            continue
        comment = _explained_by(lines, code, number)
        if not _tag.search(comment):
            faults.append(f"{place}: no tag [room.name] says what the access pairs with")
    return faults


def tags_in(text: str) -> list[str]:
    """Tags of statements with an ordered access, one for each access."""
    lines, code = text.split("\n"), blank(text).split("\n")
    found = []
    for number, line in enumerate(code):
        if _order.search(line):
            found += set(_tag.findall(_explained_by(lines, code, number)))
    return found


def lonely_tags(texts: list[str]) -> list[str]:
    count = Counter(tag for text in texts for tag in tags_in(text))
    return sorted(tag for tag, times in count.items() if times < 2)


def test_ordered_accesses_are_tagged():
    names = cpp_files("src", "include")
    assert [fault for name in names for fault in faults_in(name, read(name))] == []


def test_tags_have_both_ends():
    assert lonely_tags([read(name) for name in cpp_files("src", "include")]) == []


# --- the checks can fail --------------------------------------------------------------------------

_store = "    flag.store(1, std::memory_order_release);\n"


def test_an_access_without_tag_is_found():
    assert faults_in("a.cpp", _store)
    assert faults_in("a.cpp", "    // release: publishes the payload\n" + _store)
    assert faults_in("a.cpp", "    // release: publishes [ring.head]\n    f();\n" + _store)
    assert faults_in("a.cpp", "    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);\n")
    assert faults_in("a.cpp", "    f(flag.load());\n")
    assert faults_in("a.cpp", "    flag.fetch_add(1);\n")


def test_a_tagged_access_is_no_fault():
    assert not faults_in("a.cpp", "    // release: publishes the payload [ring.head]\n" + _store)
    assert not faults_in("a.cpp", "    g();\n    // release: a\n    // b [ring.head]\n" + _store)
    assert not faults_in("a.cpp", _store.rstrip() + "  // release: payload [ring.head]\n")
    assert not faults_in(
        "a.cpp",
        "    // acq_rel: joins [ring.head]\n    const int a =\n"
        "        b.fetch_add(1,\n            std::memory_order_acq_rel);\n",
    )
    assert not faults_in("a.cpp", "    flag.store(1, std::memory_order_relaxed);\n")


def test_a_tag_with_one_end_is_found():
    one = "    // release: payload [ring.head]\n" + _store
    other = "    // acquire: payload [ring.head]\n    flag.load(std::memory_order_acquire);\n"
    assert lonely_tags([one]) == ["ring.head"]
    assert lonely_tags([one, other]) == []
    assert lonely_tags([one, "// said in prose [ring.head]\n"]) == ["ring.head"]
