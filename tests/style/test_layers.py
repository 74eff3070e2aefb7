# SPDX-License-Identifier: Apache-2.0
"""A room includes only what lies under it; public headers show nothing of what we build on."""

import re

from project_files import cpp_files, read

# What each room of src/ may include besides itself: these rooms and all that they may include.
below = {
    "base": [],
    "meters/record": ["base"],
    "machine/host": ["base"],
    "machine": ["meters/record", "machine/host"],
    "machine/fiber": ["base"],
    "machine/node": ["machine", "machine/fiber"],
    "machine/sim/engine": ["machine", "machine/fiber"],
    "machine/sim/model": ["machine/sim/engine"],
    "machine/sim/wires": ["machine/sim/model"],
    "machine/sim/description": ["machine/sim/model"],
    "machine/sim": ["machine/sim/wires", "machine/sim/description"],
    "machine/threads": ["machine/node"],
    "machine/processes": ["machine/node", "machine/threads"],
    "machine/fabric": ["machine/node"],
    "machine/workers": ["machine/node"],
    "onesided": ["machine"],
    "collectives": ["onesided"],
    "coherence": ["world"],
    "offload": ["world", "machine/workers"],
    "world": ["collectives", "machine/workers"],
    "lapi": ["world"],
    "arrays": ["world", "coherence", "offload"],
}
# The one file that knows every kind of machine.
exceptions = {
    "src/machine/registry.cpp": [
        "machine/threads", "machine/processes", "machine/sim", "machine/fabric",
    ],
}

# Benchmarks of parts that no public header shows.
inside = ("bench/simulator/",)

# Which rooms of src/ may use which library.
libraries = {
    r"fmt/": ["*"],
    r"nlohmann/": ["*"],
    r"hwloc": ["machine"],
    r"boost/": ["machine"],
    r"toml\+\+/": ["machine"],
    r"rdma/": ["machine/fabric"],
    r"pmix": ["machine/fabric"],
}

_include = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.M)

_standard = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
    coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype deque exception execution filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map
    memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio
    regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
    stop_token streambuf string string_view strstream syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    version""".split()
)


def includes(text: str) -> list[str]:
    return [match[1:-1] for match in _include.findall(text)]


def room_of(path: str) -> str | None:
    """The deepest room that holds a path relative to src/, or None."""
    folder = path.rsplit("/", 1)[0]
    rooms = [room for room in below if folder == room or folder.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def reachable(room: str) -> set[str]:
    found = {room}
    for lower in below[room]:
        found |= reachable(lower)
    return found


def faults_of_source(name: str, text: str) -> list[str]:
    """What a file below src/ includes without right."""
    own = room_of(name.removeprefix("src/"))
    if own is None:
        return [f"{name} is in no room of tests/style/test_layers.py"]
    allowed = reachable(own).union(exceptions.get(name, ()))
    faults = []
    for target in includes(text):
        room = room_of(target) if "/" in target else None
        if room is not None and room not in allowed:
            faults.append(f"{name} includes {target}, which is not below {own}")
        for library, rooms in libraries.items():
            is_free = "*" in rooms or own in rooms or own.split("/")[0] in rooms
            if re.match(library, target) and not is_free:
                faults.append(f"{name} includes {target}; only {', '.join(rooms)} may")
    return faults


def faults_of_public_header(name: str, text: str) -> list[str]:
    return [
        f"{name} includes {target}; public headers include std and other public headers"
        for target in includes(text)
        if target not in _standard and not target.startswith("selion/")
    ]


def faults_of_user(name: str, text: str) -> list[str]:
    """Examples, studies and benchmarks see public headers only."""
    if name.startswith(inside):
        return []
    return [
        f"{name} includes {target}, which is not public"
        for target in includes(text)
        if room_of(target) is not None and "/" in target or target.startswith("selion/detail/")
    ]


def test_sources_include_what_lies_below():
    faults = [fault for name in cpp_files("src") for fault in faults_of_source(name, read(name))]
    assert faults == []


def test_public_headers_include_public_headers():
    faults = [
        fault
        for name in cpp_files("include")
        for fault in faults_of_public_header(name, read(name))
    ]
    assert faults == []


def test_examples_studies_and_benchmarks_use_public_headers():
    faults = [
        fault
        for name in cpp_files("examples", "studies", "bench")
        for fault in faults_of_user(name, read(name))
    ]
    assert faults == []


# --- the checks can fail --------------------------------------------------------------------------


def test_an_upward_include_is_found():
    assert faults_of_source("src/base/a.cpp", '#include "machine/spec.hpp"\n')
    assert faults_of_source("src/onesided/a.cpp", '#include "collectives/a.hpp"\n')
    assert faults_of_source("src/offload/a.cpp", '#include "coherence/a.hpp"\n')
    assert faults_of_source("src/machine/threads/a.cpp", '#include "machine/processes/a.hpp"\n')
    assert faults_of_source("src/machine/spec.cpp", '#include "machine/threads/threads.hpp"\n')
    assert faults_of_source("src/rumpus/a.cpp", "")
    assert faults_of_source("src/onesided/a.cpp", "#include <hwloc.h>\n")


def test_downward_includes_are_no_fault():
    assert not faults_of_source("src/world/a.cpp", '#include "machine/machine.hpp"\n')
    assert not faults_of_source("src/machine/threads/a.cpp", '#include "machine/node/bell.hpp"\n')
    assert not faults_of_source("src/machine/registry.cpp", '#include "machine/threads/a.hpp"\n')
    assert not faults_of_source("src/machine/node/bind.cpp", "#include <hwloc.h>\n")


def test_a_private_include_of_a_public_header_is_found():
    assert faults_of_public_header("include/selion/a.hpp", "#include <fmt/format.h>\n")
    assert faults_of_public_header("include/selion/a.hpp", '#include "base/units.hpp"\n')
    assert faults_of_public_header("include/selion/a.hpp", "#include <stdio.h>\n")
    assert not faults_of_public_header("include/selion/a.hpp", "#include <span>\n")


def test_a_private_include_of_an_example_is_found():
    assert faults_of_user("examples/a.cpp", '#include "machine/machine.hpp"\n')
    assert faults_of_user("examples/a.cpp", "#include <selion/detail/rank_context.hpp>\n")
    assert not faults_of_user("examples/a.cpp", '#include "mesh.hpp"\n#include <selion/run.hpp>\n')
    assert faults_of_user("bench/a.cpp", '#include "machine/machine.hpp"\n')
    assert not faults_of_user("bench/simulator/a.cpp", '#include "machine/machine.hpp"\n')
