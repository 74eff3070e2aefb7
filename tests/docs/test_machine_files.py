# SPDX-License-Identifier: Apache-2.0
"""The page on machine files has the keys that the library reads, and its example is one."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from pages import root

_page = (root / "docs/reference/machine-files.md").read_text(encoding="utf-8")

# Headings of the page, and where a key that does not exist makes the library list those that do. A
# table that takes any name refuses one that is all but a key.
_tables = {
    "[machine]": "crossbar,machine.no_such_key",
    "[clock]": "crossbar,clock.no_such_key",
    "[processor]": "crossbar,processor.no_such_key",
    "[memory]": "crossbar,memory.no_such_key",
    "[network] of kind crossbar": "crossbar,network.no_such_key",
    "[network] of kind mesh": "epiphany-iii,network.no_such_key",
    "[network] of kind torus": "bluegene-p,network.no_such_key",
    "[network] of kind bus": "multispert,network.no_such_key",
    "[node]": "this-host,node.no_such_key",
    "[reception]": "crossbar,reception.no_such_key",
    "[operations.CLASS]": "crossbar,operations.put.no_such_key",
    "[coherence]": "now-ultrasparc,coherence.readhit_us",
    "[offload]": "multispert,offload.cal_us",
}

_explain = """
#include <cstdio>
#include <selion/error.hpp>
#include <selion/machines.hpp>
int main(int, char** argv) try {
    std::fputs(selion::explain_machine(argv[1]).c_str(), stdout);
} catch (const selion::error& trouble) {
    std::puts(trouble.what());
    return 2;
}
"""


@pytest.fixture(scope="module")
def explain(tmp_path_factory):
    """Prints what the library says of a machine."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "explain.cpp").write_text(_explain, encoding="utf-8")
    build = Path(os.environ["TEST_BUILD_DIR"])
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    flags = re.search(r"^CMAKE_CXX_FLAGS:\w+=(.*)$", cache, re.M)[1].split()
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-I", root / "include", *flags, "explain.cpp",
         "-o", "explain", build / "src" / "libselion.a", "-lboost_context", "-lhwloc", "-lfmt",
         "-Wl,--strip-debug"],
        cwd=folder, check=True,
    )
    return lambda machine: subprocess.run(
        [folder / "explain", machine], capture_output=True, text=True, check=False
    )


def section(title: str) -> str:
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^### |\Z)", _page, re.M | re.S)
    assert found, f"the page has no section {title}"
    return found[1]


def keys_of(text: str) -> list[str]:
    return re.findall(r"^\| `([\w]+)` \|", text, re.M)


def test_every_section_with_keys_is_checked():
    headings = re.findall(r"^### (.*)$", _page, re.M)
    assert {title for title in headings if keys_of(section(title))} == set(_tables)


@pytest.mark.parametrize("title", _tables)
def test_keys(explain, title):
    said = explain(f"sim:{_tables[title]}=1").stdout
    legal = re.search(r"legal are ([^()]*)", said)
    assert legal, said
    assert sorted(keys_of(section(title))) == sorted(legal[1].strip().split(", "))


def test_units(explain):
    said = "".join(explain(f"sim:{spec}=1").stdout for spec in _tables.values())
    named = re.findall(r"([A-Z_]{4,}): ([a-z_ ]+)[;)]", said)
    assert named
    for placeholder, units in named:
        row = re.search(rf"^\| `{placeholder}` \| (.*) \|$", _page, re.M)
        assert row, placeholder
        assert re.findall(r"`(\w+)`", row[1]) == units.split(), placeholder


def test_machines(explain):
    shown = dict(re.findall(r"^\| `([\w-]+)` \| (\d+) \| ", _page, re.M))
    assert set(shown) == {path.stem for path in (root / "machines").glob("*.toml")}
    for name, ranks in shown.items():
        assert f"\nShape: {ranks} rank" in explain(name).stdout


def test_the_machine_of_the_how_to_is_one(explain, tmp_path):
    how_to = (root / "docs/howto/write-a-machine-file.md").read_text(encoding="utf-8")
    text, option, cluster = re.findall(r"^```toml\n(.*?)^```$", how_to, re.M | re.S)
    (tmp_path / "lab.toml").write_text(f"{text}\n{option}", encoding="utf-8")
    said = explain(f"{tmp_path}/lab.toml,lag=2")
    assert said.returncode == 0, said.stdout
    shown = re.search(r"^lab: .*?^Network: ", how_to, re.M | re.S)[0]
    assert said.stdout.startswith(shown)
    (tmp_path / "cluster.toml").write_text(cluster, encoding="utf-8")
    shape = re.search(r"^It has `(.*?)`", how_to, re.M)[1]
    assert f"\nShape: {shape}\n" in explain(f"{tmp_path}/cluster.toml").stdout


def test_a_mistake_of_the_how_to_is_one(explain, tmp_path):
    how_to = (root / "docs/howto/write-a-machine-file.md").read_text(encoding="utf-8")
    text = re.search(r"^```toml\n(.*?)^```$", how_to, re.M | re.S)[1]
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    option, sentence = re.search(
        r"^\$ selion machines --explain \./lab\.toml,(.*)\nselion machines: \./(.*)$", how_to, re.M
    ).groups()
    assert explain(f"{tmp_path}/lab.toml,{option}").stdout == f"{tmp_path}/{sentence}\n"


def test_the_example_is_a_machine(explain, tmp_path):
    text = re.search(r"^```toml\n(.*?)^```$", _page, re.M | re.S)[1]
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    done = explain(f"{tmp_path}/mine.toml,wire=glass,lag=5")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("two-boards: two boards with a slow wire")
    assert "network.port_mb_per_s" in done.stdout and "112 mb_per_s" in done.stdout
