# SPDX-License-Identifier: Apache-2.0
"""What pages name exists: links, files of the project, decisions, and the library's variables."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from pages import read_pages, root

_pages = read_pages()
_link = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
_path = re.compile(
    r"`((?:bench|build|cmake|docs|examples|include|python|scripts|src|studies|tests)/[\w./-]*)`"
)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def broken_links(name: str, text: str) -> list[str]:
    folder = (root / name).parent
    return [f"{name}: {link}" for link in _link.findall(without_code(text))
            if not (folder / link).exists()]


def missing_paths(name: str, text: str) -> list[str]:
    """Files that are named in `` and do not exist; a line about what is planned may name them."""
    return [
        f"{name}: {path}"
        for line in without_code(text).splitlines()
        if "planned" not in line
        for path in _path.findall(line)
        if not path.startswith("build/") and "NAME" not in path and not (root / path).exists()
    ]


@pytest.mark.parametrize("page", _pages, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert broken_links(page.name, page.text) == []


@pytest.mark.parametrize("page", _pages, ids=lambda page: page.name)
def test_paths_exist(page):
    assert missing_paths(page.name, page.text) == []


def test_every_page_is_linked():
    linked = {
        str((root / page.name).parent.joinpath(link).resolve().relative_to(root))
        for page in _pages
        for link in _link.findall(page.text)
    }
    assert sorted({page.name for page in _pages} - linked - {"README.md"}) == []


def notes() -> set[str]:
    """Pages that lie beside the code of the library."""
    return {str(path.relative_to(root)) for path in root.glob("src/**/*.md")}


def test_every_note_beside_the_code_is_listed():
    page = root / "docs/notes.md"
    listed = {
        str((page.parent / link).resolve().relative_to(root))
        for link in _link.findall(page.read_text(encoding="utf-8"))
    }
    assert len(notes()) > 10
    assert sorted(notes() - listed) == []


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(
        int(Path(page.name).name[:4]) for page in _pages if re.match(r"docs/adr/\d", page.name)
    )
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_readme_is_short():
    assert (root / "README.md").read_text(encoding="utf-8").count("\n") <= 150


# --- the page about installing --------------------------------------------------------------------

_install = (root / "docs/howto/install.md").read_text(encoding="utf-8")
_cmake_files = [
    *root.glob("*/CMakeLists.txt"), *root.glob("bench/**/CMakeLists.txt"), root / "CMakeLists.txt",
]
_cmake = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in _cmake_files}


def test_all_parts_can_be_switched_off_by_the_page():
    parts = re.findall(r"^ *selion_part\((\w+)", "\n".join(_cmake.values()), re.M)
    assert len(parts) >= 9
    assert [part for part in parts if f"`SELION_{part}`" not in _install] == []


def test_the_page_names_the_packages_that_a_build_asks_for():
    texts = [_cmake[f"{room}/CMakeLists.txt"] for room in ("src", "studies", "python")]
    asked = " ".join(re.findall(r"\(Debian: ([\w +-]+)\)", "\n".join(texts))).split()
    assert {"libtomlplusplus-dev", "libfabric-dev", "nlohmann-json3-dev"} <= set(asked)
    named = re.findall(r"[\w+-]+", _install)
    assert [name for name in asked if name not in named] == []


def test_packages_that_the_page_names_are_those_of_the_project():
    ours = (root / "scripts/setup/apt-packages.txt").read_text(encoding="utf-8").splitlines()
    lines = re.findall(r"^# apt-get install (.+)$", _install, re.M)
    assert len(lines) == 2
    assert [name for line in lines for name in line.split() if name not in ours] == []


# --- the page about machines ----------------------------------------------------------------------


def test_the_context_of_a_rank_is_told_field_by_field():
    header = (root / "include/selion/detail/rank_context.hpp").read_text(encoding="utf-8")
    start = r"^struct alignas\(line_bytes\) rank_context \{\n"
    body = re.search(start + r"(.*?)^\};", header, re.M | re.S)[1]
    fields = re.findall(r"^    [\w:<> *]+?[ *](\w+)(?: = [\w&]+)?;", body, re.M)
    assert {"rank", "own", "bypass_count", "beside", "processors"} <= set(fields)
    by_call = {"mapped_origin", "mapped_step", "first_heap", "mapped_count"}
    page = (root / "docs/howto/write-a-machine.md").read_text(encoding="utf-8")
    assert "`map_ranks(" in page
    assert [field for field in fields if field not in by_call and f"`{field}`" not in page] == []


# --- variables ------------------------------------------------------------------------------------

_print_knobs = """
#include <cstdio>
#include <selion/machines.hpp>
int main() {
    for (const selion::knob_info& knob : selion::knobs()) {
        std::printf("| `%s` | %s | %s |\\n", knob.name.c_str(), knob.default_value.c_str(),
                    knob.help.c_str());
    }
}
"""


def test_the_table_of_variables_is_the_library_s(tmp_path):
    (tmp_path / "knobs.cpp").write_text(_print_knobs, encoding="utf-8")
    build = Path(os.environ["TEST_BUILD_DIR"])
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    flags = re.search(r"^CMAKE_CXX_FLAGS:\w+=(.*)$", cache, re.M)[1].split()
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-I", root / "include", *flags, "knobs.cpp",
         "-o", "knobs", build / "src" / "libselion.a", "-lboost_context", "-lhwloc", "-lfmt",
         "-Wl,--strip-debug"],
        cwd=tmp_path, check=True,
    )
    told = subprocess.run([tmp_path / "knobs"], capture_output=True, text=True, check=True).stdout
    page = (root / "docs/reference/environment.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("| `SELION_")]
    assert shown == told.splitlines()


# --- the checks can fail --------------------------------------------------------------------------


def test_a_broken_link_is_found():
    assert broken_links("docs/a.md", "see [it](nowhere.md)") == ["docs/a.md: nowhere.md"]
    assert not broken_links("docs/a.md", "see [it](../README.md#limits), [b](https://b.example)")


def test_a_missing_path_is_found():
    assert missing_paths("a.md", "see `src/nowhere/`") == ["a.md: src/nowhere/"]
    assert not missing_paths("a.md", "`src/nowhere/` is planned; `src/base/` and `src/NAME/` not")


def test_what_has_to_be_installed_is_named():
    """Whoever installs by hand needs what ./quickstart installs, but for the tests' own."""
    lines = (root / "scripts/setup/apt-packages.txt").read_text(encoding="utf-8").splitlines()
    for_tests = {"libgtest-dev", "libgmock-dev", "librapidcheck-dev", "relacy-dev", "rumur"}
    needed = {line for line in lines if line and not line.startswith("#")} - for_tests
    page = (root / "docs/howto/install.md").read_text(encoding="utf-8")
    assert needed - set(re.findall(r"[\w+.-]+", page)) == set()
