# SPDX-License-Identifier: Apache-2.0
"""The code of the documentation compiles, and its programs print what the pages show."""

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pages import Example, Page, read_pages, root

_build = Path(os.environ["TEST_BUILD_DIR"])
_pages = {page.name: page for page in read_pages()}
_seconds = 60


@cache
def cached(variable: str) -> str:
    """A variable of the build that the tests belong to."""
    cache_text = (_build / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{variable}:\w+=(.*)$", cache_text, re.M)
    return found[1] if found else ""


def compile_command(page: Page) -> list[str]:
    # Only the page about the inside of the library sees the inside.
    inside = ["-I", str(root / "src")] if page.name.endswith("write-a-machine.md") else []
    return [*plain_command(), *inside]


def plain_command() -> list[str]:
    return [
        os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic",
        "-Wconversion", "-Wshadow", "-Werror", "-fopenmp", "-I", str(root / "include"),
        f"-DSELION_CHECK_LEVEL={cached('SELION_CHECK_LEVEL')}",
        *shlex.split(cached("CMAKE_CXX_FLAGS")),
    ]


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def all_headers(tmp_path_factory) -> list[str]:
    """Options by which the headers, which all programs include, are compiled but once."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "all.hpp").write_text("#include <selion/selion.hpp>\n", encoding="utf-8")
    run([*plain_command(), "-x", "c++-header", "all.hpp", "-o", "all.hpp.gch"], folder)
    return ["-include", str(folder / "all.hpp")]


@pytest.fixture(scope="module")
def built(tmp_path_factory, all_headers):
    """Makes a folder with a page's files and programs, once for each page."""

    @cache
    def build(name: str) -> Path:
        page = _pages[name]
        folder = tmp_path_factory.mktemp(Path(name).stem)
        for file, text in page.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        libraries = [str(_build / "src" / "libselion.a"), "-lboost_context", "-lhwloc", "-lfmt",
                     "-Wl,--strip-debug"]  # of the library: most of what linking takes
        for program in page.programs:
            source = [*all_headers, f"{program}.cpp"]
            run([*compile_command(page), *source, "-o", program, *libraries], folder)
        return folder

    return build


def masked(lines: list[str], varies: bool) -> Counter:
    """Lines in any order, since ranks print when they like; without their numbers if these vary."""
    kept = (re.sub(r"\d+(\.\d+)?( [KMGT]iB)?", "N", line) if varies else line for line in lines)
    return Counter(line.rstrip() for line in kept if line.strip())


def printed_by(command: str, folder: Path) -> str:
    """All that a command line prints, to both streams."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SELION_")}
    clean["PATH"] = f"{Path(sys.executable).parent}:{clean['PATH']}"  # the command selion
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=clean, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_seconds,
    )
    return done.stdout


def printed(example: Example, folder: Path) -> Counter:
    """What its commands print, one after another."""
    texts = (printed_by(command, folder) for command in example.commands)
    return masked([line for text in texts for line in text.splitlines()], example.varies)


def with_more_time(example: Example) -> Example:
    """The same in the end: on a slow host a program may not have come so far within a second."""

    def change(lines: list[str]) -> list[str]:
        short = r"(SELION_HANG_TIMEOUT=|waited for |\bsleep )1\b"
        return [re.sub(short, r"\g<1>5", line) for line in lines]

    return replace(example, commands=change(example.commands), output=change(example.output))


@pytest.mark.parametrize("name", [name for name, page in _pages.items() if page.programs])
def test_programs_compile(name, built):
    built(name)


def test_the_report_that_a_page_reads(built, tmp_path):
    """It explains figures that are the same at every run; rows may be left out."""
    program = built("docs/howto/use-coherent-memory.md") / "walking"
    done = subprocess.run(
        [sys.executable, "-m", "selion", "cache-advice", "-m", "sim:now-ultrasparc,ranks=4",
         str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=_seconds)
    assert done.returncode == 0, done.stderr
    page = _pages["docs/howto/read-a-cache-report.md"]
    [block] = [each for each in page.blocks if each.text.startswith("$ selion cache-advice")]
    shown = [line for line in block.text.splitlines()[1:] if line != "..."]
    printed_lines = iter(done.stdout.splitlines())
    assert [line for line in shown if line not in printed_lines] == []  # in this order


def test_speed_ups_that_a_page_shows(built, tmp_path):
    """Those in virtual time, which are the same at every run."""
    program = built("docs/howto/measure-speed-up.md") / "pi"
    page = _pages["docs/howto/measure-speed-up.md"]
    shown = [block.text for block in page.blocks if block.text.startswith("$ selion scale -m sim:")]
    assert len(shown) == 2
    for text in shown:
        line, table = text.split("\n", 1)
        words = [str(program) if word == "./pi" else word for word in shlex.split(line)[2:]]
        done = subprocess.run([sys.executable, "-m", "selion", *words], cwd=tmp_path, text=True,
                              capture_output=True, timeout=_seconds)
        assert (done.stdout, done.stderr) == (table, "")


@pytest.mark.parametrize("name", [name for name, page in _pages.items() if page.fragments])
def test_fragments_compile(name, tmp_path, all_headers):
    page = _pages[name]
    text = "#include <selion/selion.hpp>\n"
    for number, block in enumerate(page.fragments):
        given = block.mark.removeprefix("given: ") if block.mark.startswith("given: ") else ""
        text += f"{given}\nvoid fragment_{number}([[maybe_unused]] selion::world& world) {{\n"
        text += f"{block.text}}}\n"
    (tmp_path / "fragments.cpp").write_text(text, encoding="utf-8")
    command = [*compile_command(page), "-Wno-unused-function", *all_headers, "-fsyntax-only",
               "fragments.cpp"]
    run(command, tmp_path)


_examples = [
    pytest.param(name, example, id=f"{name}: {example.commands[0]}")
    for name, page in _pages.items()
    for example in page.examples
]


@pytest.mark.skipif(
    cached("SELION_CHECK_LEVEL") != "2" or "-fsanitize" in cached("CMAKE_CXX_FLAGS"),
    reason="the pages show what the checking build prints, without a sanitizer's words",
)
@pytest.mark.parametrize(("name", "example"), _examples)
def test_programs_print_what_the_page_shows(name, example, built):
    folder = built(name)
    found = printed(example, folder)
    slower = with_more_time(example)
    if found != masked(example.output, example.varies) and slower != example:
        example, found = slower, printed(slower, folder)
    assert found == masked(example.output, example.varies)


def test_there_are_examples():
    assert len(_examples) >= 15
    assert "README.md" in {example.values[0] for example in _examples}


# --- the checks can fail --------------------------------------------------------------------------

_sample = Page(
    "sample.md",
    "```cpp\n// a.cpp\nint main() {}\n```\n"
    "<!-- given: int n; -->\n```cpp\nn = 1;\n```\n"
    "<!-- output varies -->\n```console\n$ A=1 ./a\n5 s\n```\n"
    "```console\n$ ./b\n```\n",
)


def test_blocks_are_told_apart():
    assert _sample.programs == ["a"]
    assert [block.mark for block in _sample.fragments] == ["given: int n;"]
    assert [(example.commands, example.output) for example in _sample.examples] == [
        (["A=1 ./a"], ["5 s"])
    ]


def test_times_of_a_page_are_longer_the_second_time():
    commands = ["SELION_HANG_TIMEOUT=1 ./a & sleep 1; kill $!"]
    slower = with_more_time(Example(commands, ["a rank has waited for 1 s", "sleep 10"], False))
    assert slower.commands == ["SELION_HANG_TIMEOUT=5 ./a & sleep 5; kill $!"]
    assert slower.output == ["a rank has waited for 5 s", "sleep 10"]


def test_other_output_is_found():
    assert masked(["b", "a 1"], False) == masked(["a 1", "b"], False)
    assert masked(["a 1"], False) != masked(["a 2"], False)
    assert masked(["a 1"], True) == masked(["a 22.5"], True)
    assert masked(["a 1"], True) != masked(["b 1"], True)
