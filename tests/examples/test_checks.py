# SPDX-License-Identifier: Apache-2.0
"""The checks of the examples can fail: each is compiled with a mistake, which it must find."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from started import clean_environment, programs, root

_build = Path(os.environ.get("TEST_BUILD_DIR", programs.parent))

#: Program, a piece of it, the mistake in its place, what is said.
mistakes = {
    "ring": ("held.sum += world.rank() + 1;", "held.sum += 1;",
             "the token came back with sum 3000 "),
    "heat": ("seen);\n        world.barrier();", "seen);", "heat: cell ("),
    "histogram": ("value = first;", "value = first + 1;", " values, counted sequentially "),
    "fft_transpose": ("    const double scale = 1 /",
                      "    if (square.rows() > 0) square.row(0)[1] = std::nan(\"\");\n"
                      "    const double scale = 1 /", "there and back by nan"),
    "work_stealing": ("{ return at.local()->store->give_half(); }",
                      "{\n    loot given = at.local()->store->give_half();\n"
                      "    if (given.count > 1) --given.count;\n    return given;\n}",
                      " nodes down to depth "),
    "key_value": ("std::exchange(place->second, value)", "place->second", " wrong answers; "),
}


def cached(variable: str) -> str:
    """A variable of the build that the tests belong to."""
    text = (_build / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{variable}:\w+=(.*)$", text, re.M)
    return found[1] if found else ""


def compile_it(folder: Path, *arguments: object) -> None:
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-ffp-contract=off",
         *shlex.split(cached("CMAKE_CXX_FLAGS")), "-I", root / "include", "-I", root / "examples",
         f"-DSELION_CHECK_LEVEL={cached('SELION_CHECK_LEVEL')}", *arguments],
        cwd=folder, check=True, timeout=120,
    )


@pytest.fixture(scope="module")
def all_headers(tmp_path_factory) -> Path:
    """A header that stands for all of the library's, compiled but once."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "all.hpp").write_text("#include <selion/selion.hpp>\n", encoding="utf-8")
    compile_it(folder, "-x", "c++-header", "all.hpp", "-o", "all.hpp.gch")
    return folder / "all.hpp"


@pytest.mark.parametrize("program", mistakes)
def test_a_mistake_is_found(program, all_headers, tmp_path):
    right, wrong, said = mistakes[program]
    text = (root / "examples" / f"{program}.cpp").read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / "mistaken.cpp").write_text(text.replace(right, wrong), encoding="utf-8")
    compile_it(tmp_path, "-include", all_headers, "mistaken.cpp", "-o", "mistaken",
               _build / "src" / "libselion.a", "-lboost_context", "-lhwloc", "-lfmt")
    # On a simulated machine a mistake shows every time, or never.
    done = subprocess.run(
        [tmp_path / "mistaken"],
        env={**clean_environment(), "SELION_MACHINE": "sim:crossbar,ranks=3"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 1
    assert said in done.stderr
