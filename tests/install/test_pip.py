# SPDX-License-Identifier: Apache-2.0
"""`pip wheel .` makes a package that needs nothing of the source tree, no compiler, and no library
that not every system has.

It is built in build/release, as ./quickstart builds it, so that the library is not compiled again.
It is installed into a new environment with no more on its PATH than a shell finds in a bare system.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

_source = Path(__file__).resolve().parents[2]
_bare = ("env", "sh", "uname")  # what a script of a user may call

pytestmark = pytest.mark.timeout(600)  # compiles


def _run(line: list[str], **more) -> str:
    done = subprocess.run(line, capture_output=True, text=True, timeout=500, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    options = [f"--config-settings={each}" for each in (
        "build-dir=build/release", "cmake.define.SELION_EXAMPLES=AUTO",
        "cmake.define.SELION_BENCH=AUTO")]  # fmt: skip
    _run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", *options,
          "--wheel-dir", str(target), str(_source)], cwd=_source)  # fmt: skip
    (found,) = target.glob("selion-*.whl")
    return found


class Place:
    """A new environment that the wheel was installed into."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")])
        pip = [sys.executable, "-m", "pip", "--python", str(self.python)]
        _run([*pip, "install", "--no-deps", "--no-index", str(wheel)])
        # The packages that it depends on are those of the tests, behind its own.
        (self.packages,) = (folder / "env").glob("lib/python*/site-packages")
        (self.packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (folder / "links").mkdir()
        for name in _bare:
            (folder / "links" / name).symlink_to(shutil.which(name))

    def __call__(self, *line: str, **changes: str) -> str:
        env = {"PATH": f"{self.folder}/env/bin:{self.folder}/links", "HOME": str(self.folder),
               "LC_ALL": "C.UTF-8", **changes}  # fmt: skip
        return _run(list(line), cwd=self.folder, env=env)


@pytest.fixture(scope="module")
def place(tmp_path_factory, wheel) -> Place:
    return Place(tmp_path_factory.mktemp("place"), wheel)


def test_there_is_no_compiler(place):
    assert [name for name in ("cc", "c++", "g++", "cmake", "ninja", "mpirun")
            if shutil.which(name, path=f"{place.folder}/env/bin:{place.folder}/links")] == []


def test_it_is_imported_from_where_it_was_installed(place):
    asked = "import selion, selion._core as c; print(selion.__file__, c.__file__)"
    where = place("python", "-c", asked)
    assert [path.startswith(str(place.packages)) for path in where.split()] == [True, True]


def test_the_version(place):
    first, *facts = place("selion", "--version").splitlines()
    assert first.split()[-1] in (_source / "CMakeLists.txt").read_text()
    assert any(line.startswith("library") and str(place.packages) in line for line in facts)


def test_machines(place):
    assert "threads:N@C" in place("selion", "machines")


def test_a_program_of_processes(place):
    (place.folder / "ring.py").write_text(
        "import selion\n"
        "def main(world):\n"
        "    print(world.rank, int(world.all_reduce(world.rank, 'plus')))\n"
        "selion.run(main)\n"
    )
    lines = place("selion", "run", "-m", "processes:4", "python", "ring.py").splitlines()
    assert sorted(line.split()[-2:] for line in lines) == [[str(r), "6"] for r in range(4)]


def test_a_study(place):
    quick = ("study", "one-sided", "--quick", "--experiment", "bandwidth")
    said = place("selion", *quick, "--compare")
    assert "one-sided: 11 of 12 cells within tolerance" in said
    assert "host" in place("selion", "study")


def _needed(binary: Path) -> set[str]:
    said = _run(["readelf", "--dynamic", "--wide", str(binary)])
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", said))


def test_it_brings_what_not_every_system_has(place):
    """Everything but the C and C++ libraries lies in the package and is found there."""
    package = place.packages / "selion"
    binaries = [*package.glob("_core*.so"), *(package / "bin").iterdir(),
                *(package / "lib").iterdir()]  # fmt: skip
    assert len(binaries) > 10
    brought = {path.name for path in (package / "lib").iterdir()}
    system = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux.*)\.so")
    for binary in binaries:
        needed = {name for name in _needed(binary) if not system.match(name)}
        assert needed <= brought, binary
    found = _run(["ldd", str(package / "bin" / "study_host")], env={"PATH": os.environ["PATH"]})
    for name in brought & _needed(package / "bin" / "study_host"):
        assert re.search(rf"{re.escape(name)} => {re.escape(str(package))}/", found), found


def test_what_the_page_says_of_the_c_library(wheel, tmp_path):
    """docs/howto/run-a-program.md names the oldest C and C++ libraries that a wheel runs with."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    newest = {"GLIBC": (0,), "GLIBCXX": (0,)}
    for binary in [*tmp_path.glob("selion/_core*.so"), *(tmp_path / "selion/bin").iterdir(),
                   *(tmp_path / "selion/lib").iterdir()]:  # fmt: skip
        said = _run(["readelf", "--version-info", "--wide", str(binary)])
        for name in newest:
            for version in re.findall(rf"Name: {name}_([\d.]+)", said):
                newest[name] = max(newest[name], tuple(map(int, version.split("."))))
    page = (_source / "docs" / "howto" / "run-a-program.md").read_text(encoding="utf-8")
    for name, told in (("GLIBC", r"glibc (\d[\d.]*\d)"), ("GLIBCXX", r"GLIBCXX_(\d[\d.]*\d)")):
        promised = re.search(told, page)
        assert promised, f"the page does not say {told}"
        assert newest[name] <= tuple(map(int, promised[1].split("."))), (name, newest[name])
