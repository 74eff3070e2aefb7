# SPDX-License-Identifier: Apache-2.0
"""An installed Selion is found by CMake and by pkg-config, and programs built so run.

The shared library is built for this, without optimisation, in a folder that stays, so that a
second run only compiles what changed. Each source is compiled by itself here, as by whoever uses no
preset, so that an include that is missing is found."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

_source = Path(__file__).resolve().parents[2]
_consumer = Path(__file__).resolve().parent / "consumer"
_lapi_consumer = _consumer.with_name("lapi_consumer")
_scratch = Path(os.environ["TEST_BUILD_DIR"]) / "tests" / "install"
_options = ["PYTHON", "TESTS", "EXAMPLES", "BENCH", "STUDIES"]

pytestmark = pytest.mark.timeout(600)  # compiles


def run(*command: object, **environment: str) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment}, capture_output=True, text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_level() -> str:
    cache = (Path(os.environ["TEST_BUILD_DIR"]) / "CMakeCache.txt").read_text()
    return re.search(r"SELION_CHECK_LEVEL:\w+=(\d)", cache).group(1)


def build_shared(build: Path) -> None:
    run(
        "cmake", "-G", "Ninja", "-S", _source, "-B", build, "-D", "BUILD_SHARED_LIBS=ON",
        "-D", f"SELION_CHECK_LEVEL={check_level()}", "-D", "CMAKE_BUILD_TYPE=Debug",
        "-D", "CMAKE_CXX_FLAGS_DEBUG=-O0",
        *(f"-DSELION_{option}=OFF" for option in _options),
    )
    run("cmake", "--build", build, "-j", os.cpu_count())


@pytest.fixture(scope="module",
                params=["static", pytest.param("shared", marks=pytest.mark.long)])
def prefix(request):
    """Where a library is installed: the static one that the tests are part of, or a shared one."""
    build, target = Path(os.environ["TEST_BUILD_DIR"]), _scratch / request.param
    if request.param == "shared":
        build = _scratch / "build"
        build_shared(build)
    shutil.rmtree(target, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", target, "--component", "library")
    return target


def check_program(program: Path) -> None:
    for machine in ("threads:3", "processes:3"):
        # The check level is part of what a program is compiled with: it must come along.
        assert run(program, SELION_MACHINE=machine) == f"sum 6 check level {check_level()}\n"


def test_find_package(prefix, tmp_path):
    # Moved, to see that nothing holds the path that it was installed under.
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    run(
        "cmake", "-G", "Ninja", "-S", _consumer, "-B", tmp_path / "build",
        "-D", f"CMAKE_PREFIX_PATH={moved}",
    )
    run("cmake", "--build", tmp_path / "build")
    check_program(tmp_path / "build" / "consumer")


def test_pkg_config(prefix, tmp_path):
    is_static = not list(prefix.glob("lib*/**/libselion.so"))
    packages = next(prefix.glob("lib*/**/pkgconfig"))
    flags = run(
        "pkg-config", "--cflags", "--libs", *(["--static"] if is_static else []), "selion",
        PKG_CONFIG_PATH=str(packages),
    )
    program = tmp_path / "consumer"
    run(
        os.environ.get("CXX", "c++"), "-std=c++20", _consumer / "consumer.cpp", "-o", program,
        *shlex.split(flags), f"-Wl,-rpath,{packages.parent}",
    )
    check_program(program)


@pytest.mark.skipif(shutil.which("clang++-16") is None, reason="there is no clang++-16")
def test_programs_may_have_another_compiler_than_the_library(prefix, tmp_path):
    if list(prefix.glob("lib*/**/libselion.so")):
        pytest.skip("it is the headers that matter: once is enough")
    packages = next(prefix.glob("lib*/**/pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "--static", "selion",
                PKG_CONFIG_PATH=str(packages))
    source = _consumer.with_name("other_compiler") / "forms.cpp"
    run("clang++-16", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o",
        tmp_path / "forms", *shlex.split(flags))
    for machine in ("threads:3", "processes:3"):
        told = run(tmp_path / "forms", SELION_MACHINE=machine)
        assert told == "calls 11111 parts 322 elements 3\n"


def check_lapi_program(program: Path) -> None:
    assert run(program, SELION_MACHINE="processes:3") == "sum 6\n"


def test_find_package_of_lapi(prefix, tmp_path):
    run(
        "cmake", "-G", "Ninja", "-S", _lapi_consumer, "-B", tmp_path,
        "-D", f"CMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", tmp_path)
    check_lapi_program(tmp_path / "consumer")


@pytest.mark.parametrize("standard", ["c89", "c11"])
def test_pkg_config_of_lapi(prefix, tmp_path, standard):
    packages = next(prefix.glob("lib*/**/pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "--static", "selion-lapi",
                PKG_CONFIG_PATH=str(packages))
    program = tmp_path / "consumer"
    run(
        "gcc", f"-std={standard}", _lapi_consumer / "consumer.c", "-o", program,
        *shlex.split(flags), f"-Wl,-rpath,{packages.parent}",
    )
    check_lapi_program(program)


def test_only_the_api_is_exported(prefix):
    libraries = list(prefix.glob("lib*/**/libselion.so"))
    if not libraries:
        pytest.skip("a static library has no exports")
    names = [
        line.split(maxsplit=2)[2]
        for line in run("nm", "--dynamic", "--defined-only", "-C", libraries[0]).splitlines()
    ]
    assert any("selion::detail::barrier" in name for name in names)
    rooms = ("machine", "base", "onesided", "collectives", "lapi")
    hidden = tuple(f"selion::{room}::" for room in rooms)
    assert [name for name in names if name.startswith(hidden)] == []


def test_headers_are_installed(prefix):
    installed = {str(p.relative_to(prefix / "include")) for p in prefix.glob("include/**/*.h*")}
    expected = {str(p.relative_to(_source / "include")) for p in _source.glob("include/**/*.h*")}
    assert installed == expected and "selion/selion.hpp" in installed


def test_a_part_of_another_project_has_all_machines(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(outer LANGUAGES CXX)\n"
        f"add_subdirectory({_source} selion)\n"
        "foreach(part FABRIC TESTS EXAMPLES STUDIES BENCH PYTHON)\n"
        f"    get_directory_property(is_on DIRECTORY {_source} DEFINITION SELION_WITH_${{part}})\n"
        '    message(STATUS "${part} is ${is_on}")\n'
        "endforeach()\n"
    )
    told = run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build")
    found = subprocess.run(["pkg-config", "--exists", "libfabric >= 1.17", "pmix"])
    assert f"FABRIC is {'OFF' if found.returncode else 'ON'}" in told
    for part in ("TESTS", "EXAMPLES", "STUDIES", "BENCH", "PYTHON"):
        assert f"{part} is OFF" in told


def test_a_part_that_is_neither_on_nor_off_is_refused(tmp_path):
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", str(_source), "-B", str(tmp_path), "-D",
                           "SELION_STUDIES=of"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "SELION_STUDIES is 'of'; it can be AUTO, ON or OFF" in " ".join(done.stderr.split())


@pytest.mark.parametrize(("word", "is_built"), [("off", False), ("No", False), ("false", False),
                                                ("on", True), ("Yes", True), ("1", True),
                                                ("auto", True), ("AUTO", True)])
def test_words_for_parts_stand_in_upper_or_lower_case(tmp_path, word, is_built):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(parts NONE)\n"
        f"include({_source}/cmake/selion_parts.cmake)\n"
        'selion_part(MINE "A part")\nselion_decide(MINE)\nset(is_there FALSE)\n'
        'if(SELION_WITH_MINE)\nmessage(STATUS "it is built")\nendif()\n'
        'if(SELION_MINE STREQUAL "AUTO")\n'
        'selion_require(MINE is_there "it is not there")\nendif()\n'
    )
    told = run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build",
               f"-DSELION_MINE={word}")
    assert ("it is built" in told) == is_built
    assert ("mine is off: it is not there" in told) == (word.upper() == "AUTO")


def test_a_missing_dependency_is_named(prefix, tmp_path):
    if list(prefix.glob("lib*/**/libselion.so")):
        pytest.skip("a shared library brings its dependencies itself")
    done = subprocess.run(
        [
            "cmake", "-G", "Ninja", "-S", _consumer, "-B", tmp_path,
            "-D", f"CMAKE_PREFIX_PATH={prefix}",
        ],
        env={**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path)}, capture_output=True, text=True,
    )
    assert done.returncode != 0
    assert "selion needs hwloc (Debian: libhwloc-dev)" in " ".join(done.stderr.split())
